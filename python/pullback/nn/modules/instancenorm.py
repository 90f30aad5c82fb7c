"""Norms over each channel of each instance."""

from __future__ import annotations

from ... import Tensor
from ..._warnings import warn
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase, _tell_remedies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


def _normalized(layer: Any, input: Tensor) -> Tensor:
    by_instance = layer.training or not layer.track_running_stats
    momentum = layer.momentum if layer.momentum is not None else 0.0
    mean, var = layer.running_mean, layer.running_var
    try:
        return F.instance_norm(input, mean, var, layer.weight, layer.bias, by_instance, momentum, layer.eps)
    except RuntimeError as error:
        _tell_remedies(layer, mean, error)
        raise


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        alone = self._get_no_batch_dim()
        if input.dim() not in (alone, alone + 1):
            raise ValueError(f"expected {alone}D or {alone + 1}D input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            old = [n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if old:
                names = " and ".join(f'"{prefix + n}"' for n in old)
                errors.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                    "track_running_stats=False. "
                    "If the state dict comes from a version that tracked them by default, remove them from it, or set "
                    "track_running_stats=True"
                )
                for n in old:
                    state_dict.pop(prefix + n)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channels = input.dim() - self._get_no_batch_dim()
        if input.size(channels) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features ({self.num_features}), "
                    f"but got: {input.size(channels)}."
                )
            warn(
                f"input's size at dim={channels} does not match num_features. You can silence this warning by not "
                "passing "
                "in num_features, which is not used because affine=False"
            )
        if channels == 0:
            return _normalized(self, input.unsqueeze(0)).squeeze(0)
        return _normalized(self, input)


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each instance: (N, C, L) or (C, L).

    >>> import pullback
    >>> pullback.nn.InstanceNorm1d(3)(pullback.randn(2, 3, 5)).shape
    pullback.Size([2, 3, 5])

    Raises ValueError for another number of dimensions, or one element per channel.
    """


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for (N, C, H, W) or (C, H, W).

    >>> import pullback
    >>> pullback.nn.InstanceNorm2d(3)(pullback.randn(2, 3, 5, 5)).shape
    pullback.Size([2, 3, 5, 5])
    """

    def _get_no_batch_dim(self) -> int:
        return 3


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for (N, C, D, H, W) or (C, D, H, W).

    >>> import pullback
    >>> pullback.nn.InstanceNorm3d(3)(pullback.randn(2, 3, 2, 5, 5)).shape
    pullback.Size([2, 3, 2, 5, 5])
    """

    def _get_no_batch_dim(self) -> int:
        return 4


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives parameters and buffers the number of channels of the argument."""
        batched = input if input.dim() > self._get_no_batch_dim() else input.unsqueeze(0)
        super().initialize_parameters(batched)


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An `InstanceNorm1d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyInstanceNorm1d()(pullback.randn(2, 3, 5)).shape
    pullback.Size([2, 3, 5])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An `InstanceNorm2d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyInstanceNorm2d()(pullback.randn(2, 3, 5, 5)).shape
    pullback.Size([2, 3, 5, 5])
    """

    cls_to_become = InstanceNorm2d

    def _get_no_batch_dim(self) -> int:
        return 3


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An `InstanceNorm3d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyInstanceNorm3d()(pullback.randn(2, 3, 2, 5, 5)).shape
    pullback.Size([2, 3, 2, 5, 5])
    """

    cls_to_become = InstanceNorm3d

    def _get_no_batch_dim(self) -> int:
        return 4
