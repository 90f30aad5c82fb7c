"""The names that mixed precision had on CUDA devices; `pullback.amp` has them."""

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as custom_bwd
from ..amp import custom_fwd as custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """`pullback.amp.autocast` for CUDA devices: there are none, so everything keeps its dtype."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`pullback.amp.GradScaler` for CUDA devices: there are none, so nothing is scaled."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("cuda", *args, **options)
