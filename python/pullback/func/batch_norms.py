"""Batch norms that transforms admit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Makes all batch norms of a module normalize by their batch alone, in place, and gives the module.

    They have no running statistics afterwards, which `vmap` could not write to.

    >>> import pullback
    >>> from pullback.func import replace_all_batch_norm_modules_, vmap
    >>> net = replace_all_batch_norm_modules_(pullback.nn.Sequential(pullback.nn.BatchNorm1d(2)))
    >>> vmap(net)(pullback.randn(3, 4, 2)).shape
    pullback.Size([3, 4, 2])
    """
    from ..nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.track_running_stats = False
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
    return root
