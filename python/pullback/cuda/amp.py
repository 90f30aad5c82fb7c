"""The names that mixed precision had on CUDA devices; `pullback.amp` has them."""

from typing import Any

from .._warnings import warn
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(old: str) -> None:
    warn(
        f"`torch.cuda.amp.{old}(args...)` is deprecated. Please use `torch.amp.{old}('cuda', args...)`.", FutureWarning
    )


class autocast(_autocast):
    """`pullback.amp.autocast` for CUDA devices: there are none, so everything keeps its dtype."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`pullback.amp.GradScaler` for CUDA devices: there are none, so nothing is scaled."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _deprecated("GradScaler")
        super().__init__("cuda", *args, **options)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`pullback.amp.custom_fwd` for CUDA devices."""
    _deprecated("custom_fwd")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`pullback.amp.custom_bwd` for CUDA devices."""
    _deprecated("custom_bwd")
    return _custom_bwd(bwd, device_type="cuda")
