"""The names that mixed precision had on the CPU; `pullback.amp` has them."""

from typing import Any

from .._warnings import warn
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast

__all__ = ["GradScaler", "autocast"]


def _deprecated(old: str) -> None:
    warn(f"`torch.cpu.amp.{old}(args...)` is deprecated. Please use `torch.amp.{old}('cpu', args...)`.", FutureWarning)


class autocast(_autocast):
    """`pullback.amp.autocast` for the CPU: what is lowered is lowered on it."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`pullback.amp.GradScaler` for the CPU: it scales."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _deprecated("GradScaler")
        super().__init__("cpu", *args, **options)
