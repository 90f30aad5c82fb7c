"""Pooling under names that say what is returned."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d` and the places of the maxima, whatever `return_indices` says."""
    return F.adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` and the places of the maxima, whatever `return_indices` says."""
    return F.adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool3d` and the places of the maxima, whatever `return_indices` says."""
    return F.adaptive_max_pool3d(input, output_size, True)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """`fractional_max_pool2d` and the places of the maxima, whatever `return_indices` says."""
    return F.fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """`fractional_max_pool3d` and the places of the maxima, whatever `return_indices` says."""
    return F.fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)
