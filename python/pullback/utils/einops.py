"""Makes the package `einops` know tensors: import this module once. Derivatives and transforms go through it.

>>> import pullback
>>> import pullback.utils.einops  # doctest: +SKIP
>>> import einops  # doctest: +SKIP
>>> einops.rearrange(pullback.ones(2, 3), "a b -> b a").shape  # doctest: +SKIP
pullback.Size([3, 2])
"""

from importlib import import_module
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Backend"]

try:
    _AbstractBackend: Any = import_module("einops._backends").AbstractBackend
except ImportError:
    raise ModuleNotFoundError(
        "pullback.utils.einops needs the package einops: pip install einops", name="einops"
    ) from None
_f = _core.functions


class Backend(_AbstractBackend):  # type: ignore[misc]
    """What einops asks of tensors. It finds the class by itself."""

    framework_name = "pullback"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return _core.from_numpy(x)

    def to_numpy(self, x: Tensor) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Any:
        return _f["arange"](start, stop)

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        name = {"min": "amin", "max": "amax"}.get(operation, operation)
        if name in ("any", "all", "prod"):
            for k in sorted(axes, reverse=True):
                x = _f[name](x, k)
            return x
        return _f[name](x, tuple(axes)) if len(tuple(axes)) else x

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        return x.permute(*axes)

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Any:
        return _f["stack"](tensors)

    def add_axes(self, x: Any, n_axes: int, pos2len: dict[int, int]) -> Any:
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x = x.unsqueeze(position)
            sizes[position] = length
        return x.expand(sizes)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x.unsqueeze(new_position)

    def tile(self, x: Tensor, repeats: Any) -> Tensor:
        return x.repeat(*repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Any:
        return _f["cat"](tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.is_floating_point or x.dtype.is_complex

    def einsum(self, pattern: str, *x: Tensor) -> Any:
        return _f["einsum"](pattern, *x)
