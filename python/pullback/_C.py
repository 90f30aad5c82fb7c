"""The names of PyTorch's inside that programs use: what they ask has one answer here, and their switches do nothing."""

from __future__ import annotations

from types import ModuleType

from . import _core
from . import cuda as _cuda
from ._absent import absent
from .futures import Future as Future
from .overrides import DisableTorchFunction as DisableTorchFunction
from .overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overrides import _EnableTorchFunction as _EnableTorchFunction
from .overrides import _get_overloaded_args as _get_overloaded_args
from .overrides import _is_torch_function_mode_enabled as _is_torch_function_mode_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_disabled_torch_function_impl = _core.overrides._disabled_torch_function_impl
# Classes that PyTorch's inside and its face share.
Generator, Size, Tensor = _core.Generator, _core.Size, _core.Tensor
TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)
_LinAlgError, _OutOfMemoryError = _core.linalg.LinAlgError, _cuda.OutOfMemoryError
device, dtype, layout, memory_format = _core.device, _core.dtype, _core.layout, _core.memory_format


def _is_torch_function_enabled() -> bool:
    """Whether classes answer calls."""
    return bool(_core.overrides._asking() == 0)


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes answer calls."""
    return bool(_core.overrides._asking() == 2)


def _set_grad_enabled(enabled: bool) -> None:
    """Whether operators record, in this thread from now on."""
    _core.set_grad_enabled(enabled)


def _get_tracing_state() -> None:
    """None: no program is being traced by TorchScript."""


def _is_tracing() -> bool:
    """False."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Does nothing: nobody counts calls."""


def _get_privateuse1_backend_name() -> str:
    """The name of the device of other people's making, which is not here."""
    return "privateuseone"


def _get_accelerator(check: bool | None = None) -> Any:
    """What computes: the CPU."""
    return device("cpu")


def _has_mps() -> bool:
    """False."""
    return False


class _Keys(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(f"type object 'DispatchKey' has no attribute {name!r}")
        return name


class DispatchKey(metaclass=_Keys):
    """Names of what PyTorch chooses kernels by; there is one kernel of each operator here."""


class DispatchKeySet(frozenset["str"]):
    """A set of such names."""

    def __new__(cls, *keys: Any) -> DispatchKeySet:
        return super().__new__(cls, keys)

    def add(self, key: str) -> DispatchKeySet:
        return DispatchKeySet(*self, key)

    has = frozenset.__contains__


class _ExcludeDispatchKeyGuard:
    """A context that changes nothing: no kernel is chosen by keys."""

    def __init__(self, keys: Any) -> None:
        self.keys = keys

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass


class _Functions(ModuleType):
    """Functions of layers, under the name that PyTorch's inside has for them."""

    @staticmethod
    def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """What arguments of `Module.to` ask for: device, dtype, whether not to wait, order in memory."""
        if _core.overrides.has_torch_function_variadic(*args):
            answer: Any = _core.overrides.handle_torch_function(_Functions._parse_to, args, *args, **kwargs)
            return answer  # type: ignore[no-any-return]
        from .nn.modules.module import _target

        place, kind, order = _target(args, kwargs)
        waits_not = kwargs.get("non_blocking", next((x for x in args[1:] if isinstance(x, bool)), False))
        return None if place is None else device(place), kind, waits_not, order

    def __getattr__(self, name: str) -> Any:
        from .nn import functional

        found = getattr(functional, name, None)
        if found is None or name[:1] == "_":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return found


_nn = _Functions("pullback._C._nn")
__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass"]
_absent = absent(__name__)


def __getattr__(name: str) -> Any:
    if name.startswith(("_jit_set_", "_jit_override_", "_jit_can_")):
        # Switches of a compiler that is not here, which were off before.
        return lambda *args: False
    return _absent(name)
