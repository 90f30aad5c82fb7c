"""`Module`, the base of all layers and networks."""

from __future__ import annotations

from ... import Tensor, bfloat16, empty_like, float16, float32, float64, no_grad
from ... import device as Device
from ... import dtype as DType
from ..._warnings import warn
from ..parameter import Parameter, is_lazy
from ._calling import (
    register_module_backward_hook as register_module_backward_hook,
)
from ._calling import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from ._calling import (
    register_module_forward_hook as register_module_forward_hook,
)
from ._calling import (
    register_module_forward_pre_hook as register_module_forward_pre_hook,
)
from ._calling import (
    register_module_full_backward_hook as register_module_full_backward_hook,
)
from ._calling import (
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
)
from ._calling import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from ._calling import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from ._global_hooks import GLOBAL
from ._registry import registry_of
from ._state import Stateful
from ._state import _IncompatibleKeys as _IncompatibleKeys
from ._state import _WrappedHook as _WrappedHook
from ._structure import _addindent as _addindent
from ._structure import typename

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_forward_hooks = GLOBAL.forward
_global_forward_pre_hooks = GLOBAL.forward_pre
_global_backward_hooks = GLOBAL.backward
_global_backward_pre_hooks = GLOBAL.backward_pre


def __getattr__(name: str) -> Any:
    if name == "T_destination":
        from typing import TypeVar

        globals()[name] = TypeVar("T_destination", bound="dict[str, Any]")
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Module(Stateful):
    """The base of all layers and networks.

    Tensors of class `Parameter` and modules that are set as attributes are registered: `parameters()`, `to()`,
    `state_dict()` and others find them. A subclass calls `super().__init__()` first and defines `forward`, which a
    call of
    the module runs between its hooks.

    >>> import pullback
    >>> from pullback import nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.first = nn.Linear(2, 3)
    ...         self.scale = nn.Parameter(pullback.ones(3))
    ...     def forward(self, x):
    ...         return self.first(x).relu() * self.scale
    >>> net = Net()
    >>> [name for name, _ in net.named_parameters()]
    ['scale', 'first.weight', 'first.bias']
    >>> net(pullback.ones(4, 2)).shape
    pullback.Size([4, 3])
    """

    T_destination: Any = "T_destination"
    call_super_init: bool = False
    _compiled_call_impl: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = registry_of(self)
        own["_buffers"] = registry_of(self)
        own["_modules"] = registry_of(self)
        own["_non_persistent_buffers_set"] = set()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # Finding

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; "" is this one.

        Raises AttributeError if there is none, or something else of that name.
        """
        module: Any = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        found: Module = module
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a dotted name, in the place of the one there. With `strict` there must be one.

        Raises:
            ValueError: for an empty name.
            AttributeError: if the modules on the way do not exist, or something else has the name.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name. Raises AttributeError if there is none."""
        _, name, found = self._member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. Raises AttributeError if there is none."""
        module, name, found = self._member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        buffer: Tensor = found
        return buffer

    # Conversions

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the elements of parameters, their gradients and buffers by what `fn` gives; the parameters stay
        objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                made = fn(param)
            if made is param:
                kept = param
            elif _keeps_object(param, made):
                param.data = made
                kept = param
            else:
                kept = made if isinstance(made, Parameter) else Parameter(made, param.requires_grad)
                self._parameters[name] = kept
            if is_lazy(param) or param.grad is None:
                continue
            held = param.grad
            with no_grad():
                grad = fn(held)
            if grad is held:
                kept.grad = held
            elif kept is param and _keeps_object(held, grad):
                held.data = grad
            else:
                kept.grad = grad.requires_grad_(held.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` with each module below this one and then with this one.

        >>> import pullback
        >>> from pullback import nn
        >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> _ = net.apply(lambda m: nn.init.ones_(m.weight) if isinstance(m, nn.Linear) else None)
        >>> net[0].weight.sum().item()
        4.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`.

        A dtype casts floating point and complex tensors alone; `memory_format` is that of tensors of four and five
        dimensions.

        Raises TypeError for a dtype that is neither floating point nor complex.
        """
        device, dtype, memory_format = _target(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers."
            )

        def convert(t: Tensor) -> Tensor:
            casts = dtype is not None and (t.is_floating_point() or t.is_complex())
            place = device if device is not None else t.device
            try:
                if memory_format is not None and t.dim() in (4, 5):
                    return t.to(place, dtype if casts else None, memory_format=memory_format)
                return t.to(place, dtype if casts else None)
            except NotImplementedError as error:
                if t.is_meta:
                    raise NotImplementedError(
                        f"{error} Please use Module.to_empty() instead of Module.to() when moving "
                        "module "
                        "from meta to a different device."
                    ) from None
                raise

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Gives parameters and buffers memory on a device without initialising it; for modules of device `meta`."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def _cast(self, dtype: DType) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Floating point parameters and buffers as float32."""
        return self._cast(float32)

    def double(self) -> Self:
        """Floating point parameters and buffers as float64."""
        return self._cast(float64)

    def half(self) -> Self:
        """Floating point parameters and buffers as float16."""
        return self._cast(float16)

    def bfloat16(self) -> Self:
        """Floating point parameters and buffers as bfloat16."""
        return self._cast(bfloat16)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers as a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """Parameters and buffers on the CPU, where they are."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Raises RuntimeError: this library computes on the CPU."""
        raise RuntimeError(f"Module.cuda(): there is no device {device or 'cuda'!r}: pullback computes on the CPU")

    def share_memory(self) -> Self:
        """Moves parameters and buffers into memory that processes see in common: see `Tensor.share_memory_`."""
        for t in [*self.parameters(), *self.buffers()]:
            t.share_memory_()
        return self

    # Modes

    def train(self, mode: bool = True) -> Self:
        """Sets `training` of this module and all below it, which layers such as Dropout and BatchNorm look at.

        Raises ValueError if `mode` is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Takes the gradients of all parameters away, or fills them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for programs that compile their modules; calls run as before."""

    def _replicate_for_data_parallel(self) -> Module:
        replica: Module = type(self).__new__(type(self))
        replica.__dict__.update(self.__getstate__())
        for name in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[name] = registry_of(replica, () if name == "_parameters" else dict(self.__dict__[name]))
        return replica


def _keeps_object(param: Any, made: Tensor) -> bool:
    """Whether the elements of a parameter can become those of `made`, or a new parameter has to be made."""
    return bool(param.is_meta == made.is_meta)


def _target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, DType | None, Any]:
    """The device, dtype and memory format that arguments of `to` name: (device, dtype), (dtype) or (tensor), then
    flags."""
    given = dict(kwargs)
    if given.pop("copy", False):
        raise RuntimeError(".to() does not accept copy argument")
    memory_format = given.pop("memory_format", None)
    given.pop("non_blocking", None)
    if args and isinstance(args[0], (Tensor, DType)):
        places: tuple[str, ...] = ("tensor" if isinstance(args[0], Tensor) else "dtype", "non_blocking")
    else:
        places = ("device", "dtype", "non_blocking")
    for name, value in zip(places, args, strict=False):
        if name in given:
            raise TypeError(f"to(): got several values for argument '{name}'")
        given[name] = value
    given.pop("non_blocking", None)
    like, device, dtype = (given.pop(name, None) for name in ("tensor", "device", "dtype"))
    if given:
        raise TypeError(f"to(): got an unexpected keyword argument '{next(iter(given))}'")
    if device is not None and (isinstance(device, bool) or not isinstance(device, (str, int, Device))):
        raise TypeError(f"to(): argument 'device' must be a device, got {typename(device)}")
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError(f"to(): argument 'dtype' must be a dtype, got {typename(dtype)}")
    return (device, dtype, memory_format) if like is None else (like.device, like.dtype, memory_format)
