"""Functions that PyTorch has under `torch.functional` and under `torch`."""

from __future__ import annotations

import pullback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul "
    "einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive "
    "unravel_index"
).split()
__all__ = [name for name in _NAMES if hasattr(pullback, name)]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(pullback, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
