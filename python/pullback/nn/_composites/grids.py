"""Grids of places in images."""

from __future__ import annotations

from ... import Tensor, cat, linspace, ones
from ..._warnings import warn
from ._flags import check_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places of `grid_sample` at which an image of shape `size` looks under affine maps, one for each instance.

    Places go from -1 to 1, from the middles of the first elements to those of the last with `align_corners`, and else
    from edge to edge. For (N, C, H, W) `theta` is (N, 2, 3) and the grid (N, H, W, 2), for (N, C, D, H, W) (N, 3, 4)
    and (N, D, H, W, 3).

    >>> import pullback
    >>> same = pullback.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> pullback.nn.functional.affine_grid(same, (1, 1, 2, 2), align_corners=False)[0, 0]
    tensor([[-0.5000, -0.5000],
            [ 0.5000, -0.5000]])

    Raises:
        ValueError: if `theta` is no batch of such maps of floating point numbers.
        NotImplementedError: for sizes of other numbers of dimensions.
    """
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior is align_corners=False: the corners are the edges of the "
            "first and last elements. Give align_corners=True if the grid was made for their middles."
        )
        align_corners = False
    check_flags("affine_grid", align_corners=align_corners)
    sizes = [int(n) for n in size]
    _check(theta, sizes)
    if align_corners and min(sizes[2:]) == 1:
        warn(
            "Along a dimension of size 1, align_corners=True puts the only element in the middle. See the "
            "documentation of affine_grid for details."
        )
    batch, rest = sizes[0], sizes[2:]
    n = len(rest)
    parts = []
    for d in reversed(range(n)):
        shape = [1] * (n + 1)
        shape[d] = rest[d]
        parts.append(_places(rest[d], align_corners, theta).reshape(shape).expand(*rest, 1))
    homogeneous = cat([*parts, ones(*rest, 1, dtype=theta.dtype)], -1).reshape(1, -1, n + 1)
    return homogeneous.matmul(theta.transpose(1, 2)).reshape(batch, *rest, n)


def _places(count: int, align_corners: bool, like: Tensor) -> Tensor:
    if count <= 1:
        return like.new_zeros(count)
    places = linspace(-1.0, 1.0, count, dtype=like.dtype)
    return places if align_corners else places * (count - 1) / count


def _check(theta: Tensor, sizes: list[int]) -> None:
    n = len(sizes) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {tuple(sizes)}."
        )
    if not theta.is_floating_point():
        raise ValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}; convert it with theta.float()"
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {tuple(sizes)}. "
            f"Got {tuple(theta.shape)}."
        )
    if min(sizes) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(sizes)}; give sizes above 0")
    if theta.shape[0] != sizes[0]:
        raise ValueError(
            f"Expected one map for each of the {sizes[0]} instances of size {tuple(sizes)}, got {theta.shape[0]}"
        )
