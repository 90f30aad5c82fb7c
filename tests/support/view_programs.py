"""Programs of views and writes, as steps for tensors and for a model of arrays.

The model knows of a tensor which places of which memory it shows: an array of their numbers, and NumPy's views of
it. Memory holds complex numbers, with a row for each element of the base: a step of 1e-30 along the imaginary axis
carries the exact derivative by that element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from support import strategies as s

STEP = 1e-30


class Shown(NamedTuple):
    """What a tensor shows: the places of a memory."""

    memory: int
    places: np.ndarray
    detached: bool = False


class Step(NamedTuple):
    says: str
    on_tensors: Callable[[list[Any]], None]
    on_model: Callable[[Model], None]


class Model:
    """All memories, and what the program's tensors show of them."""

    def __init__(self, base: np.ndarray, derivatives: bool = True):
        flat = base.reshape(-1).astype(complex)
        rows = flat + STEP * 1j * np.eye(flat.size) if derivatives else flat[None]
        self.memories = [rows]
        self.whole = [np.arange(flat.size)]
        self.shown = [Shown(0, self.whole[0].reshape(base.shape))]

    def value(self, i: int) -> np.ndarray:
        """The numbers of a tensor behind a dimension of rows."""
        memory, places, detached = self.shown[i]
        values = self.memories[memory][:, places]
        return values.real + 0j if detached else values

    def write(self, i: int, values: np.ndarray, recorded: bool = True) -> None:
        """Writes that nobody records, by detached tensors or without gradients, leave the derivatives as they were."""
        memory, places, detached = self.shown[i]
        kept = self.memories[memory][:, places].imag
        self.memories[memory][:, places] = values if recorded and not detached else values.real + 1j * kept

    def new(self, values: np.ndarray, order: list[int]) -> None:
        """A memory for these numbers, which lie in it with their dimensions in this order."""
        in_memory = values.transpose(0, *(d + 1 for d in order))
        self.memories.append(in_memory.reshape(values.shape[0], -1).copy())
        self.whole.append(np.arange(self.memories[-1].shape[1]))
        places = self.whole[-1].reshape(in_memory.shape[1:]).transpose(np.argsort(order))
        self.shown.append(Shown(len(self.memories) - 1, places))

    def view(self, i: int, places: np.ndarray, detached: bool = False) -> None:
        self.shown.append(Shown(self.shown[i].memory, places, detached or self.shown[i].detached))

    def turn(self, i: int, places: np.ndarray) -> None:
        self.shown[i] = self.shown[i]._replace(places=places)

    def distinct(self, i: int) -> bool:
        places = self.shown[i].places
        return bool(np.unique(places).size == places.size)

    def overlap(self, i: int, j: int) -> bool:
        """Whether two tensors share places without being the same view."""
        a, b = self.shown[i], self.shown[j]
        if a.memory != b.memory or np.array_equal(a.places, b.places):
            return False
        return bool(np.intersect1d(a.places, b.places).size)


def strided(whole: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> np.ndarray:
    steps = tuple(n * whole.itemsize for n in stride)
    return np.lib.stride_tricks.as_strided(whole[offset:], size, steps, writeable=False)


# ---------------------------------------------------------------- views
Pair = tuple[str, Callable[[Any], Any], Callable[[np.ndarray], Any]]


def transposed(draw: Any, p: np.ndarray) -> Pair:
    a, b = draw(st.integers(-p.ndim, p.ndim - 1)), draw(st.integers(-p.ndim, p.ndim - 1))
    return f"transpose({a}, {b})", lambda t: t.transpose(a, b), lambda p: p.swapaxes(a, b)


def sliced(draw: Any, p: np.ndarray) -> Pair:
    index = draw(s.indices(p.shape, arrays_too=False))
    return f"[{index}]", lambda t: t[index], lambda p: p[index if Ellipsis in index else (*index, ...)]


def selected(draw: Any, p: np.ndarray) -> Pair:
    dim = draw(st.integers(-p.ndim, p.ndim - 1))
    at = draw(st.integers(-p.shape[dim], p.shape[dim] - 1))
    return f"select({dim}, {at})", lambda t: t.select(dim, at), lambda p: _at(p, dim, at)


def _at(p: np.ndarray, dim: int, at: int) -> np.ndarray:
    return np.asarray(np.moveaxis(p, dim, 0)[at, ...])


def viewed(draw: Any, p: np.ndarray) -> Pair:
    shape: list[int] = []
    left = p.size
    while left > 1 and len(shape) < 3:
        shape.append(draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= shape[-1]
    shape += [left] if left > 1 or draw(st.booleans()) else []
    if p.size == 0:
        shape = [0]
    to = tuple(shape)
    return f"view{to}", lambda t: t.view(to), lambda p: np.reshape(p, to, copy=False)


def expanded(draw: Any, p: np.ndarray) -> Pair:
    to = (*draw(s.shapes(0, 1, 1, 2)), *(draw(st.integers(1, 3)) if n == 1 else n for n in p.shape))
    return f"expand{to}", lambda t: t.expand(to), lambda p: np.broadcast_to(p, to)


def diagonal(draw: Any, p: np.ndarray) -> Pair:
    a, b = draw(st.permutations(range(p.ndim)))[:2]
    k = draw(st.integers(-2, 2))
    return f"diagonal({k}, {a}, {b})", lambda t: t.diagonal(k, a, b), lambda p: np.diagonal(p, k, a, b)


def unfolded(draw: Any, p: np.ndarray) -> Pair:
    dim = draw(st.integers(0, p.ndim - 1))
    size, step = draw(st.integers(1, p.shape[dim])), draw(st.integers(1, 3))

    def windows(p: np.ndarray) -> np.ndarray:
        every = np.lib.stride_tricks.sliding_window_view(p, size, dim)
        return every[(slice(None),) * dim + (slice(None, None, step),)]

    return f"unfold({dim}, {size}, {step})", lambda t: t.unfold(dim, size, step), windows


def squeezed(draw: Any, p: np.ndarray) -> Pair:
    dim = draw(st.integers(0, p.ndim - 1))
    return f"squeeze({dim})", lambda t: t.squeeze(dim), lambda p: p.squeeze(dim) if p.shape[dim] == 1 else p


def unsqueezed(draw: Any, p: np.ndarray) -> Pair:
    dim = draw(st.integers(-p.ndim - 1, p.ndim))
    return f"unsqueeze({dim})", lambda t: t.unsqueeze(dim), lambda p: np.expand_dims(p, dim)


def moved(draw: Any, p: np.ndarray) -> Pair:
    a, b = draw(st.integers(-p.ndim, p.ndim - 1)), draw(st.integers(-p.ndim, p.ndim - 1))
    return f"movedim({a}, {b})", lambda t: t.movedim(a, b), lambda p: np.moveaxis(p, a, b)


def split(draw: Any, p: np.ndarray) -> Pair:
    dim, size = draw(st.integers(0, p.ndim - 1)), draw(st.integers(1, 3))
    at = list(range(size, p.shape[dim], size))
    return f"split({size}, {dim})", lambda t: t.split(size, dim), lambda p: np.split(p, at, dim)


def unbound(draw: Any, p: np.ndarray) -> Pair:
    dim = draw(st.integers(0, p.ndim - 1))
    return f"unbind({dim})", lambda t: t.unbind(dim), lambda p: [_at(p, dim, i) for i in range(p.shape[dim])]


ANY: list[Callable[..., Pair]] = [sliced, viewed, expanded, unsqueezed]
SOME: list[Callable[..., Pair]] = [transposed, squeezed, moved, split]
FULL: list[Callable[..., Pair]] = [selected, unfolded, unbound]


def views_of(p: np.ndarray) -> list[Callable[..., Pair]]:
    """The kinds of views that there are of such a tensor."""
    full = FULL if p.ndim and p.size else []
    return ANY + (SOME if p.ndim else []) + full + ([diagonal] if p.ndim > 1 else [])


# ---------------------------------------------------------------- writes
class Write(NamedTuple):
    """An in-place operator on a tensor and a source that broadcasts to it."""

    on_tensor: Callable[[Any, Any], Any]
    on_values: Callable[[np.ndarray, Any], np.ndarray]


WRITES = {
    "add_(x)": Write(lambda t, x: t.add_(x), lambda v, x: v + x),
    "sub_(x, alpha=2)": Write(lambda t, x: t.sub_(x, alpha=2), lambda v, x: v - 2 * x),
    "mul_(x)": Write(lambda t, x: t.mul_(x), lambda v, x: v * x),
    "copy_(x)": Write(lambda t, x: t.copy_(x), lambda v, x: v * 0 + x),
    "[...] = x": Write(lambda t, x: t.__setitem__(Ellipsis, x), lambda v, x: v * 0 + x),
    "addcmul_(x, x)": Write(lambda t, x: t.addcmul_(x, x, value=0.5), lambda v, x: v + 0.5 * x * x),
    "lerp_(x, 0.3)": Write(lambda t, x: t.lerp_(x.expand(t.shape), 0.3), lambda v, x: v + 0.3 * (x - v)),
    "masked_fill_(x > 0, 0.3)": Write(
        lambda t, x: t.masked_fill_(x > 0, 0.3), lambda v, x: np.where(x.real > 0, 0.3 + 0j, v)
    ),
    "+= x": Write(lambda t, x: t.__iadd__(x), lambda v, x: v + x),
}
ALONE = {
    "sin_()": Write(lambda t, _: t.sin_(), lambda v, _: np.sin(v)),
    "mul_(1.5)": Write(lambda t, _: t.mul_(1.5), lambda v, _: v * 1.5),
    "zero_()": Write(lambda t, _: t.zero_(), lambda v, _: v * 0),
    "fill_(0.7)": Write(lambda t, _: t.fill_(0.7), lambda v, _: v * 0 + 0.7),
    "cumsum_(0)": Write(lambda t, _: t.cumsum_(0), lambda v, _: v.cumsum(1) if v.ndim > 1 else v),
    "tril_()": Write(lambda t, _: t.tril_() if t.dim() > 1 else t, lambda v, _: np.tril(v) if v.ndim > 2 else v),
    "pow_(2)": Write(lambda t, _: t.pow_(2), lambda v, _: v * v),
    "neg_()": Write(lambda t, _: t.neg_(), lambda v, _: -v),
    "sigmoid_()": Write(lambda t, _: t.sigmoid_(), lambda v, _: 1 / (1 + np.exp(-v))),
}
NEW = {
    "sin": (lambda x, y: x.sin(), lambda x, y: np.sin(x)),
    "mul": (lambda x, y: x * y, lambda x, y: x * y),
    "square": (lambda x, y: x**2, lambda x, y: x * x),
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "exp": (lambda x, y: (x * 0.3).exp(), lambda x, y: np.exp(0.3 * x)),
    "clone": (lambda x, y: x.clone(), lambda x, y: x),
    "contiguous of a sum": (lambda x, y: (x + 1).contiguous(), lambda x, y: x + 1),
    "flip": (
        lambda x, y: x.flip(tuple(range(x.dim()))) * 1.0,
        lambda x, y: np.flip(x, tuple(range(1, x.ndim))) if x.ndim > 1 else x,
    ),
}
