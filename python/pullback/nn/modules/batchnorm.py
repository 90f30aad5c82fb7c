"""Norms over a batch."""

from __future__ import annotations

from ... import Tensor, int64, ones, tensor, zeros
from ... import empty as _empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """What norms with running statistics have in common."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(_empty(num_features, **options)) if wanted else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **options) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets what was seen: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, and nothing seen."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # Version 1 did not count batches.
            known = self.num_batches_tracked
            keep = known is not None and not known.is_meta
            state_dict[key] = known if keep else tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        training, tracks = self.training, self.track_running_stats
        if training and tracks and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # The mean over all batches.
                momentum = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        by_batch = training or (mean is None and var is None)
        if training and not tracks:
            mean = var = None
        try:
            return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)
        except RuntimeError as error:
            _tell_remedies(self, mean, error)
            raise


def _tell_remedies(module: Any, mean: Any, error: RuntimeError) -> None:
    """Where a batch cannot be written into the running statistics, says what can be done."""
    if mean is not None and module.training and "vmap" in str(error):
        raise RuntimeError(
            f"{type(module).__name__}: vmap gives each member statistics of its own, and the module has one set of "
            "buffers. Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
            "updated in place, were not batched. "
            "Give each member its buffers, functional_call(module, (params, buffers), …) with stack_module_state(); "
            "or use "
            "GroupNorm, track_running_stats=False, or eval()"
        ) from error


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What norms without a known number of channels have in common."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # Sizes are not known: neither parameters nor buffers are made here.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        options = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives parameters and buffers the number of channels of the argument."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for t in (self.weight, self.bias, self.running_mean, self.running_var):
            if t is not None:
                t.materialize((self.num_features,))
        self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C) or (N, C, L) over the batch, then scaled and shifted.

    In training the statistics are those of the batch, and running ones learn from them by `momentum` (None: the mean
    over all
    batches); after `eval()` the running ones are used.

    >>> import pullback
    >>> m = pullback.nn.BatchNorm1d(2, affine=False)
    >>> m(pullback.tensor([[1.0, 0.0], [3.0, 4.0]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> m.running_mean
    tensor([0.2000, 0.2000])

    Raises ValueError for another number of dimensions, or one value per channel in training.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for (N, C, H, W).

    >>> import pullback
    >>> pullback.nn.BatchNorm2d(3)(pullback.randn(2, 3, 4, 4)).shape
    pullback.Size([2, 3, 4, 4])

    Raises ValueError for another number of dimensions.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for (N, C, D, H, W).

    >>> import pullback
    >>> pullback.nn.BatchNorm3d(3)(pullback.randn(2, 3, 2, 4, 4)).shape
    pullback.Size([2, 3, 2, 4, 4])

    Raises ValueError for another number of dimensions.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> m = pullback.nn.LazyBatchNorm1d()
    >>> m(pullback.randn(4, 3)).shape, m.num_features
    (pullback.Size([4, 3]), 3)
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyBatchNorm2d()(pullback.randn(2, 3, 4, 4)).shape
    pullback.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` whose number of channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyBatchNorm3d()(pullback.randn(2, 3, 2, 4, 4)).shape
    pullback.Size([2, 3, 2, 4, 4])
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """A batch norm for any number of dimensions. Statistics are those of this process, the only one there is.

    >>> import pullback
    >>> pullback.nn.SyncBatchNorm(3)(pullback.randn(2, 3, 4)).shape
    pullback.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError(
                "SyncBatchNorm number of input channels should be non-zero; give (N, C, *) with a C above 0"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with all batch norms in it replaced by this class."""
        out = module
        if isinstance(module, _BatchNorm):
            out = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                out.weight, out.bias = module.weight, module.bias
            out.running_mean, out.running_var = module.running_mean, module.running_var
            out.num_batches_tracked = module.num_batches_tracked
            out.training = module.training
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out
