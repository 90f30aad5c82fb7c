"""Transforms, and how they combine."""

from __future__ import annotations

import copy
from functools import reduce
from typing import Any

import pullback as pb

from . import constraints
from .utils import _sum_rightmost

__all__ = [
    "CatTransform",
    "ComposeTransform",
    "IndependentTransform",
    "ReshapeTransform",
    "StackTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function with `_call`, `_inverse` and `log_abs_det_jacobian(x, y)`, from `domain` to `codomain`.

    With `cache_size=1` it remembers the last pair (x, y), so that the inverse of what it gave is exact.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> Any:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> Any:
        """The dimensions of one event, where they are those of its image."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """Whether it rises (1) or falls (-1), of transforms of single numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        return self is other

    def _look_up(self, arg: Any, at: int, compute: Any) -> Any:
        if self._cache_size and self._cached_x_y[at] is arg:
            return self._cached_x_y[1 - at]
        result = compute(arg)
        if self._cache_size:
            self._cached_x_y = (result, arg) if at else (arg, result)
        return result

    def __call__(self, x: Any) -> Any:
        return self._look_up(x, 0, self._call)

    def _inv_call(self, y: Any) -> Any:
        return self._look_up(y, 1, self._inverse)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward function")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """`log |dy / dx|` of each event."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the image of a tensor of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what has an image of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def __init__(self, transform: Any) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> Any:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._inv == other._inv)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def _widened(constraint: Any, event_dim: int) -> Any:
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """One transform after the other.

    >>> D = pullback.distributions
    >>> D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])(pullback.tensor(0.0))
    tensor(3.)
    """

    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: reduce(lambda s, p: s * p.sign, self.parts, 1))

    def __init__(self, parts: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and bool(self.parts == other.parts)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for p in reversed(self.parts):
            dims = max(dims + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        return _widened(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for p in self.parts:
            dims = max(dims + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        return _widened(self.parts[-1].codomain, dims)

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for p in self.parts:
            x = p(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return pb.zeros_like(x)
        total, dims = 0.0, self.domain.event_dim
        for i, p in enumerate(self.parts):
            after = y if i == len(self.parts) - 1 else p(x)
            total = total + _sum_rightmost(p.log_abs_det_jacobian(x, after), dims - p.domain.event_dim)
            dims, x = dims + p.codomain.event_dim - p.domain.event_dim, after
        return total

    def forward_shape(self, shape: Any) -> Any:
        return reduce(lambda s, p: p.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return reduce(lambda s, p: p.inverse_shape(s), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform: Any = ComposeTransform([])


def _enough(dims: int, needed: int) -> None:
    if dims < needed:
        raise ValueError(f"Too few dimensions on input: {dims}, where {needed} make an event")


class IndependentTransform(Transform):
    """Takes more dimensions of the batch as part of the event."""

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    def _call(self, x: Any) -> Any:
        _enough(x.dim(), self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        _enough(y.dim(), self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = pb.Size(in_shape), pb.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {in_shape}, {out_shape}")

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Any, end: Any, by: Any) -> Any:
    _enough(len(shape), len(end))
    cut = len(shape) - len(end)
    if shape[cut:] != end:
        raise ValueError(f"Shape mismatch: expected {end} but got {shape[cut:]}")
    return shape[:cut] + by


class _Several(Transform):
    """A transform for each part along `dim`."""

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    def with_cache(self, cache_size: int = 1) -> Any:
        new = super().with_cache(cache_size)
        new.transforms = [t.with_cache(cache_size) for t in self.transforms]
        return new

    def _split(self, z: Any) -> Any:
        if not -z.dim() <= self.dim < z.dim():
            raise AssertionError(f"dim {self.dim} out of range for a tensor with {z.dim()} dimensions")
        if z.size(self.dim) != self.length:
            raise AssertionError(f"size({self.dim}) = {z.size(self.dim)} must equal length {self.length}")
        return self._parts(z)

    def _call(self, x: Any) -> Any:
        return self._join([t(part) for t, part in zip(self.transforms, self._split(x), strict=True)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._split(y), strict=True)], self.dim)

    def _volumes(self, x: Any, y: Any) -> Any:
        for t, u, v in zip(self.transforms, self._split(x), self._split(y), strict=True):
            yield t, t.log_abs_det_jacobian(u, v)

    length: Any

    def _parts(self, z: Any) -> Any: ...

    def _join(self, parts: Any, dim: int) -> Any: ...


class CatTransform(_Several):
    """A transform for each of `lengths` indices along `dim`."""

    length = property(lambda self: sum(self.lengths))
    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _parts(self, z: Any) -> Any:
        return z.split(self.lengths, self.dim)

    def _join(self, parts: Any, dim: int) -> Any:
        return pb.cat(parts, dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        dims = self.event_dim
        volumes = [_sum_rightmost(v, dims - t.event_dim) for t, v in self._volumes(x, y)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + dims
        return pb.cat(volumes, dim) if dim < 0 else sum(volumes)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Several):
    """A transform for each index along `dim`."""

    length = property(lambda self: len(self.transforms))

    def _parts(self, z: Any) -> Any:
        return z.unbind(self.dim)

    def _join(self, parts: Any, dim: int) -> Any:
        return pb.stack(parts, dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return pb.stack([v for _, v in self._volumes(x, y)], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
