"""The few names of PyTorch's inside that programs for `__torch_function__` use."""

from . import _core
from ._absent import absent
from .overrides import DisableTorchFunction as DisableTorchFunction
from .overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overrides import _EnableTorchFunction as _EnableTorchFunction
from .overrides import _get_overloaded_args as _get_overloaded_args
from .overrides import _is_torch_function_mode_enabled as _is_torch_function_mode_enabled

_disabled_torch_function_impl = _core.overrides._disabled_torch_function_impl


def _is_torch_function_enabled() -> bool:
    """Whether classes answer calls."""
    return bool(_core.overrides._asking() == 0)


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes answer calls."""
    return bool(_core.overrides._asking() == 2)


__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass"]
__getattr__ = absent(__name__)
