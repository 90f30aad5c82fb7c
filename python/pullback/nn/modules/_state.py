"""State dicts: what a module's tensors are saved as, and how they are loaded."""

from __future__ import annotations

from _weakref import ref
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from ... import Tensor, no_grad
from ..._warnings import warn
from ...utils.hooks import RemovableHandle
from ..parameter import Parameter, is_lazy
from ._calling import Called
from ._registry import HooksAttribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    class _Keys(NamedTuple):
        missing_keys: list[str]
        unexpected_keys: list[str]
else:
    _Keys = namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))

EXTRA = "_extra_state"


class _IncompatibleKeys(_Keys):
    """What `load_state_dict` found missing in the state dict, and what it could not use."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class _WithModule:
    """A hook that gets its module as the first argument. It does not keep the module alive."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module = ref(module)

    def __call__(self, *args: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("the module of this hook does not exist any more")
        return self.hook(module, *args)

    def __getstate__(self) -> Any:
        return self.hook, self.module()

    def __setstate__(self, state: Any) -> None:
        self.hook, module = state
        self.module = ref(module)


class _WrappedHook:
    """A hook with or without its module as PyTorch's files have it."""

    hook: Callable[..., Any]
    with_module: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            self.module = ref(state["module"])

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args) if self.with_module else self.hook(*args)


class _PostHook:
    """A hook on state dicts that changes them in place, and returns nothing."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, *args: Any) -> None:
        if self.hook(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None")


class Stateful(Called):
    """State dicts and what is loaded from them."""

    # Goes into the metadata of state dicts; a class whose keys have changed loads by it what older versions saved.
    _version: int = 1
    dump_patches: bool = False
    _state_dict_hooks: Any = HooksAttribute("_state_dict_hooks")
    _state_dict_pre_hooks: Any = HooksAttribute("_state_dict_pre_hooks")
    _load_state_dict_pre_hooks: Any = HooksAttribute("_load_state_dict_pre_hooks")
    _load_state_dict_post_hooks: Any = HooksAttribute("_load_state_dict_post_hooks")

    def get_extra_state(self) -> Any:
        """What `state_dict` saves beside parameters and buffers; subclasses define it together with
        `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: define it in your class, "
            "beside "
            "set_extra_state()"
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave when the state dict was made."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: define it in your class, "
            "beside "
            "get_extra_state()"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers of the module and all below it by their dotted names.

        The tensors share memory with the module's, detached unless `keep_vars`. `destination` is a dict that takes
        them.

        >>> import pullback
        >>> list(pullback.nn.Linear(2, 3).state_dict(prefix="out."))
        ['out.weight', 'out.bias']
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=…, prefix=…, "
                "keep_vars=…)",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self.__dict__.get("_state_dict_pre_hooks", {}).values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            out = hook(self, destination, prefix, local_metadata)
            destination = destination if out is None else out
        return destination

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads what belongs to this module itself; subclasses change here what older versions saved."""
        for hook in self.__dict__.get("_load_state_dict_pre_hooks", {}).values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        saved = {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}
        local = {n: t for n, t in (*self._parameters.items(), *saved.items()) if t is not None}
        for name, param in local.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one(name, param, key, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else local):
                        unexpected_keys.append(key)

    def _load_one(self, name: str, param: Tensor, key: str, given: Any, assign: bool) -> str | None:
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                "from checkpoint "
                f"but received {type(given)}"
            )
        if is_lazy(given):
            # Nothing to copy: neither has a shape.
            return None if is_lazy(param) else f"size mismatch for {key}: the one in the checkpoint has no shape yet"
        lazy = is_lazy(param)
        if not lazy and param.dim() == 0 and given.dim() == 1 and given.numel() == 1:
            given = given[0]
        if not lazy and given.shape != param.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
                f"the shape in current model is {param.shape}."
            )
        if param.is_meta and not given.is_meta and not assign:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, "
                "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to "
                "their "
                "corresponding key in the module instead of copying them in place?)"
            )
            return None
        try:
            with no_grad():
                if not assign:
                    param.copy_(given)
                    return None
                if isinstance(param, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(param.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=param.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {param.size()} '
                "and whose "
                f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies tensors of a state dict into parameters and buffers, or puts them in their place with `assign`.

        Gives the keys that were missing and those that nothing here is named.

        >>> import pullback
        >>> a, b = pullback.nn.Linear(2, 3), pullback.nn.Linear(2, 3)
        >>> b.load_state_dict(a.state_dict())
        <All keys matched successfully>

        Raises:
            TypeError: if `state_dict` is no mapping.
            RuntimeError: for tensors of another shape, and with `strict` for keys that are missing or not known.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        own: Any = OrderedDict(state_dict)
        if metadata is not None:
            own._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []

        def load(module: Any, part: Any, prefix: str) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(part, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(below)}, below)
            for hook in module.__dict__.get("_load_state_dict_post_hooks", {}).values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, own, "")
        if strict:
            for kind, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    # Hooks

    def _hook(self, hooks: Any, hook: Any) -> RemovableHandle:
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before `state_dict` collects."""
        return self._hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change the dict in
        place."""
        return self._hook(self._state_dict_hooks, _PostHook(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if isinstance(hook, _PostHook):
            raise RuntimeError("this hook is registered by register_state_dict_post_hook")
        return self._hook(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return self._hook(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before
        `load_state_dict` loads this module."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after `load_state_dict`; it may change the lists of keys in place."""
        return self._hook(self._load_state_dict_post_hooks, hook)
