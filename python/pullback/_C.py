"""The few names of PyTorch's inside that programs for `__torch_function__` use."""

from . import _core
from ._absent import absent
from .overrides import DisableTorchFunction as DisableTorchFunction
from .overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overrides import _EnableTorchFunction as _EnableTorchFunction
from .overrides import _get_overloaded_args as _get_overloaded_args

_disabled_torch_function_impl = _core.overrides._disabled_torch_function_impl
__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass"]
__getattr__ = absent(__name__)
