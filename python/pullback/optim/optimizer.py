"""What all optimisers have in common: groups of parameters, state, hooks, saving."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from .. import Tensor, enable_grad, set_grad_enabled
from .._warnings import warn
from ..utils.hooks import RemovableHandle
from ._grouping import grouped
from ._inner import DeviceDict as DeviceDict
from ._inner import _capturable_doc as _capturable_doc
from ._inner import _device_dtype_check_for_fused as _device_dtype_check_for_fused
from ._inner import _differentiable_doc as _differentiable_doc
from ._inner import _disable_dynamo_if_unsupported as _disable_dynamo_if_unsupported
from ._inner import _dispatch_sqrt as _dispatch_sqrt
from ._inner import _foreach_doc as _foreach_doc
from ._inner import _foreach_supported_types as _foreach_supported_types
from ._inner import _fused_doc as _fused_doc
from ._inner import _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices
from ._inner import _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices
from ._inner import _get_scalar_dtype as _get_scalar_dtype
from ._inner import _maximize_doc as _maximize_doc
from ._inner import _params_doc as _params_doc
from ._inner import _stack_if_compiling as _stack_if_compiling
from ._inner import _to_scalar as _to_scalar
from ._inner import _view_as_real as _view_as_real

Group: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
Closure: TypeAlias = Callable[[], Any]

__all__ = [
    "Optimizer",
    "ParamsT",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]


class _Required:
    """The default of an option that each group must have."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_HOOKS = (
    *("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"),
    *("_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks"),
    *("_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks"),
)


def _added(hooks: OrderedDict[int, Any], hook: Callable[..., Any], first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before each step of every optimiser. It returns None, or new arguments of
    the step as a pair `(args, kwargs)`.
    """
    return _added(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after each step of every optimiser."""
    return _added(_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step that calls the hooks before and after it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not (_pre_hooks or _post_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
            return step(self, *args, **kwargs)
        given: tuple[Any, ...] = (self, *args)
        for hook in (*_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, given, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{type(self).__name__}.step(): a pre hook must return None or a tuple of "
                        f"(new_args, new_kwargs), but got {changed}"
                    )
                given, kwargs = changed
        result = step(*given, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_post_hooks.values()):
            hook(self, given, kwargs)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """The base of all optimisers. `params` are tensors, pairs of a name and a tensor, or groups: dicts with such under
    `"params"` and options that differ from `defaults`.

    Derive from it to write one: `step` reads `self.param_groups` and keeps what it needs in `self.state[parameter]`.

    >>> import pullback
    >>> class Descent(pullback.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @pullback.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> w = pullback.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Descent([w], lr=0.25).step()
    >>> w
    tensor([0.5000], requires_grad=True)

    Raises:
        TypeError: if `params` is a tensor or a set, or something among the parameters is no tensor.
        ValueError: if there are no parameters, one is no leaf, or one is in two groups.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, params: ParamsT, defaults: Group) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}; put it into a list"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _prepare(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ------------------------------------------------------------ steps
    def step(self, closure: Closure | None = None) -> Any:
        """One step. `closure`, if given, computes the loss and its gradients again; the step returns what it
        returns.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    _group_tensors_by_device_and_dtype = staticmethod(grouped)

    def _cuda_graph_capture_health_check(self) -> None:
        """Does nothing: steps are not captured."""

    _accelerator_graph_capture_health_check = _cuda_graph_capture_health_check

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Takes the gradients of all parameters away; with `set_to_none=False` they become zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    @staticmethod
    def _evaluated(closure: Closure | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    # ------------------------------------------------------------ groups
    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        items = [given] if isinstance(given, Tensor) else list(given)
        names = [item[0] for item in items if isinstance(item, tuple)]
        params = [item[1] if isinstance(item, tuple) else item for item in items]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing; "
                    "module.named_parameters() gives pairs"
                )
            param_group["param_names"] = names
        for p in params:
            self._check_parameter(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _check_parameter(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(p).__module__}.{type(p).__name__}"
            )
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError(
                "can't optimize a non-leaf Tensor: its gradient is not kept; give the tensor that it was computed "
                "from, "
                "call retain_grad() on it, or detach() it and requires_grad_()"
            )

    def _check_group(self, group: Group) -> None:
        params = set(group["params"])
        if len(params) != len(group["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters, which are updated twice in each step; "
                "in future, this will cause an error"
            )
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                how = "with names" if "param_names" in group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {how} to the optimizer"
                )
            if not params.isdisjoint(other["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    # ------------------------------------------------------------ hooks
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it returns None or a pair of new arguments."""
        return _added(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step."""
        return _added(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` before `state_dict`. With `prepend` it comes before those that there are."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` with what `state_dict` is about to return; it may give another one."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` with what is about to be loaded; it may give another one."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` after `load_state_dict`."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------ saving
    def state_dict(self) -> StateDict:
        """What `load_state_dict` continues from: `"state"` by the numbers of parameters, and `"param_groups"` in which
        these numbers stand for the parameters. The tensors are those of the optimiser, no copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(p)] if isinstance(p, Tensor) else p: entry for p, entry in self.state.items()}
        out: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, out)
            out = out if changed is None else changed
        return out

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Continues from what `state_dict` gave, here or in PyTorch. Parameters are matched by their order; states get
        the dtype of their parameter, the options of groups those of the dict.

        Raises:
            ValueError: if the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, here are {len(groups)}"
            )
        for i, (group, other) in enumerate(zip(groups, saved, strict=True)):
            if len(group["params"]) != len(other["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"group {i} has {len(other['params'])} parameters, here {len(group['params'])}"
                )
        numbers = chain.from_iterable(g["params"] for g in saved)
        by_number = dict(zip(numbers, chain.from_iterable(g["params"] for g in groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, entry in state_dict["state"].items():
            p = by_number.get(number)
            state[number if p is None else p] = entry if p is None else _fitted(p, entry, _is_single(saved, number))
        for group, other in zip(groups, saved, strict=True):
            other["params"] = group["params"]
            if "param_names" in group:
                other.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step that is recorded if the optimiser is differentiable, and not otherwise: for classes that are derived."""

    @functools.wraps(step)
    def moded(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return step(self, *args, **kwargs)

    return moded


def _get_value(x: Any) -> Any:
    """The number in a tensor, or the number."""
    return x.item() if isinstance(x, Tensor) else x


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Devices on which steps can be captured: none of them is here."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool, use_fused: bool = False) -> Any:
    """Whether an optimiser takes its fused or its list form if the program does not say: on the CPU neither."""
    return False, False


def _is_single(groups: list[Group], number: Any) -> bool:
    """Whether the count of steps of this parameter is kept in single precision."""
    group: Group = next((g for g in groups if number in g["params"]), {})
    return bool(group.get("fused") or group.get("capturable"))


def _fitted(p: Tensor, value: Any, single: bool, key: Any = None) -> Any:
    """A saved value with the dtype that belongs to the parameter. The count of steps keeps its own."""
    if isinstance(value, Tensor):
        if key == "step":
            from .. import float32

            return value.to(float32) if single else value
        return value.to(p.dtype) if p.is_floating_point() else value
    if isinstance(value, Mapping):
        return {k: _fitted(p, v, single, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_fitted(p, v, single) for v in value)  # type: ignore[call-arg]
    return value
