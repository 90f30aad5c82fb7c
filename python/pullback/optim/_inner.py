"""What optimisers that were copied out of PyTorch import from its `optimizer` module."""

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, device

DeviceDict = dict[device | None, Tensor]
# Parts of docstrings: options that are accepted and change nothing.
_params_doc = "params: parameters, pairs of names and parameters, or groups of them."
_foreach_doc = "foreach: accepted; a step is one call."
_fused_doc = "fused: accepted; a step is one call."
_capturable_doc = "capturable: accepted; nothing is captured."
_differentiable_doc = "differentiable: whether steps are recorded."
_maximize_doc = "maximize: whether to go up instead of down."
_foreach_supported_types = [Tensor]


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Puts views of the real and imaginary parts in the place of complex tensors."""
    from .. import view_as_real

    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = view_as_real(p)
            for tensors in state_and_grads:
                tensors[i] = view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of counts of steps."""
    double = not is_fused and _core.get_default_dtype() == _core.float64
    return _core.float64 if double else _core.float32


def _stack_if_compiling(x: Any) -> Any:
    """The argument: nothing is compiled."""
    return x


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """A decorator that gives the function back: nothing is compiled."""
    return lambda function: function


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; other things as they are."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices on which lists of tensors are one kernel in PyTorch."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices on which steps are one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raises RuntimeError for a parameter that is not floating."""
    if not p.is_floating_point():
        raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors, got {p.dtype}")
