"""Parameters that are functions of other tensors.

A parametrized module gets a class of its own, in which the parameter is a property that computes it from what lies
under
`module.parametrizations`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager

from ... import Tensor, no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """While it is open, each parametrized tensor is computed once.

    >>> import pullback
    >>> from pullback.nn.utils import parametrizations, parametrize
    >>> m = parametrizations.weight_norm(pullback.nn.Linear(2, 3))
    >>> with parametrize.cached():
    ...     m.weight is m.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _name(o: object) -> str:
    return type(o).__name__


class ParametrizationList(ModuleList):
    """The functions of one parametrized tensor, and the tensors that the first one takes: `original`, or `original0`,
    ….

    Raises ValueError where the functions do not fit the tensor.
    """

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {_name(new)}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                original.data = new.detach()
            _register(self, "original", original)
        else:
            self._register_several(new, original)
        if not unsafe:
            self._check(shape, dtype)

    def _register_several(self, tensors: Any, original: Any) -> None:
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {_name(t)}."
                )
            if isinstance(original, Parameter):
                t = Parameter(t, original.requires_grad)
            t.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", t)

    def _check(self, shape: Any, dtype: Any) -> None:
        made = self()
        if not isinstance(made, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {_name(made)}.")
        for what, before, after in (("dtype", dtype, made.dtype), ("shape", shape, made.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
                )

    def right_inverse(self, value: Any) -> None:
        """Sets the original tensors so that the parametrized one is `value`, by the functions' `right_inverse`.

        Raises RuntimeError if a function has none, and ValueError for what does not fit the original tensors.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_name(module)} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {_name(value)}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                self.original.data = value.detach()
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_name(value)}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    "length "
                    f"{len(value)}."
                )
            for i, t in enumerate(value):
                original = getattr(self, f"original{i}")
                if not isinstance(t, Tensor):
                    raise ValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element {i} of type {_name(t)}"
                    )
                if original.dtype != t.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {t.dtype} while `original{i}` has dtype "
                        f"{original.dtype}"
                    )
                original.data = t.detach()

    def forward(self) -> Tensor:
        first, *rest = list(self)
        x: Tensor
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for function in rest:
            x = function(x)
        return x


def _inject_new_class(module: Any) -> None:
    base = type(module)

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and load it "
            "into a "
            "module that is parametrized in the same way"
        )

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            cls: Any = type(self)
            replica = memo[id(self)] = cls.__new__(cls)
            replica.__setstate__(copy.deepcopy(Module.__getstate__(self), memo))
        return memo[id(self)]

    members: dict[str, Any] = {"__getstate__": __getstate__}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _inject_property(module: Any, name: str) -> None:
    def get(self: Any) -> Any:
        functions = self.parametrizations[name]
        if not _cache_enabled:
            return functions()
        key = (id(module), name)
        if _cache.get(key) is None:
            _cache[key] = functions()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Makes a parameter or buffer of a module the result of `parametrization`, a module, of the tensor that it was.

    A further one is applied behind those that there are. If it has a `right_inverse`, the first value stays, and may
    be set.
    `unsafe` allows it to change dtype and shape, and skips the checks.

    >>> import pullback
    >>> from pullback import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> m = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> pullback.equal(m.weight, m.weight.mT), [name for name, _ in m.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])

    Raises ValueError for a name that is no tensor of the module, or a parametrization that does not fit.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif module._parameters.get(tensor_name, module._buffers.get(tensor_name)) is not None:
        original = getattr(module, tensor_name)
        functions = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = functions
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_next(before: Tensor, parametrization: Any) -> None:
    """Whether a further parametrization keeps dtype and shape, forth and back."""
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_name(after)}.")
    for what in ("dtype", "shape"):
        if getattr(before, what) != getattr(after, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.weight.{what}: {getattr(before, what)}\n"
                f"parametrization(module.weight).{what}: {getattr(after, what)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_name(back)}")
    for what in ("dtype", "shape"):
        if getattr(before, what) != getattr(back, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as the tensor, "
                "unless the "
                f"`unsafe` flag is enabled.\nmodule.weight.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of this name."""
    found = getattr(module, "parametrizations", None)
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Takes the parametrizations of a tensor away; it keeps its value, or else gets the one that it was computed from.

    Raises ValueError if there are none, or `leave_parametrized` is False and there are several original tensors.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    functions = module.parametrizations[tensor_name]
    if functions.is_tensor:
        original = functions.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    else:
        if not leave_parametrized:
            raise ValueError(
                "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                "sequence of tensors."
            )
        with no_grad():
            value = getattr(module, tensor_name)
        learns = any(getattr(functions, f"original{i}").requires_grad for i in range(functions.ntensors))
        original = Parameter(value) if learns else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Gives a module the parametrizations of another one, and the tensors under them."""
    if is_parametrized(from_module):
        for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for function in from_module.parametrizations[name]:
                register_parametrization(to_module, name, function)
            source, target = from_module.parametrizations[name], to_module.parametrizations[name]
            for n in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
                setattr(target, n, getattr(source, n))
    return to_module
