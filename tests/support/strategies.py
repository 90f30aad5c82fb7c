"""What the properties of tests/laws draw: shapes, arrays, tensors in any layout, indices; and how results are compared.

Numbers come from a seed that is drawn: examples shrink in their structure, not element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pullback as pb

seeds = st.integers(0, 2**20)


def shapes(min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 4) -> st.SearchStrategy[Any]:
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side)


def numbers(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers without ties, of size 0.2 to 1.4, of both signs."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.uniform(0.2, 1.4, shape) * rng.choice([-1.0, 1.0], shape))


def arrays(shape: st.SearchStrategy[Any] | tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    shape = shape if isinstance(shape, st.SearchStrategy) else st.just(shape)
    return st.builds(numbers, seeds, shape)


ARRANGEMENTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.clone(),
    "columns first": lambda x: x.mT.contiguous().mT if x.dim() > 1 else x.clone(),
    "every second": lambda x: pb.stack([x, x + 9], dim=-1).flatten(-2)[..., ::2] if x.dim() else x.clone(),
    "inside": lambda x: pb.nn.functional.pad(x, [1, 2] * x.dim())[(slice(1, -2),) * x.dim()] if x.dim() else x.clone(),
}
arrangements = st.sampled_from(sorted(ARRANGEMENTS))


def arranged(array: np.ndarray, how: str) -> Any:
    """A tensor with the array's numbers in memory of that arrangement."""
    made = ARRANGEMENTS[how](pb.tensor(array))
    assert made.shape == array.shape
    return made


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    ends = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(ends), draw(ends), draw(st.none() | st.integers(1, 3)))


@st.composite
def positions(draw: st.DrawFn, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array of valid positions, some counted from the end."""
    drawn = np.random.default_rng(draw(seeds)).integers(-size, size, shape) if size else np.zeros(shape, np.int64)
    return np.asarray(drawn, dtype=np.int64)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], arrays_too: bool = True) -> tuple[Any, ...]:
    """An index for NumPy: integers, slices, None, Ellipsis, masks, arrays of positions that broadcast together."""
    common = draw(shapes(0, 2, 1, 3))
    if arrays_too and draw(st.integers(0, 7)) == 0:
        common = (0,)
    ellipsis, index, at = False, [], 0
    while at < len(shape):
        size = shape[at]
        kinds = ["slice", "slice", "none"]
        kinds += ["int"] if size else []
        kinds += [] if ellipsis else ["ellipsis"]
        if arrays_too:
            kinds += ["mask"] + (["positions"] * 3 if size or 0 in common else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "slice":
            index.append(draw(slices(size)))
        elif kind == "none":
            index.append(None)
            continue
        elif kind == "int":
            index.append(draw(st.integers(-size, size - 1)))
        elif kind == "ellipsis":
            skipped = draw(st.integers(0, len(shape) - at))
            index.append(Ellipsis)
            ellipsis, at = True, at + skipped
            if at + draw(st.integers(0, 1)) > len(shape):
                break
            # what follows counts from the end: fill up to it
            index.extend(draw(slices(n)) for n in shape[at:])
            break
        elif kind == "positions":
            part = common[draw(st.integers(0, len(common))) :]
            part = tuple(1 if n and draw(st.integers(0, 4)) == 0 else n for n in part)
            index.append(draw(positions(size, part)))
        else:
            dims = draw(st.integers(1, min(2, len(shape) - at)))
            index.append(draw(masks(shape[at : at + dims], common)))
            at += dims
            continue
        at += 1
        if not ellipsis and draw(st.integers(0, 5)) == 0:
            break
    if arrays_too and draw(st.integers(0, 11)) == 0:
        index.append(np.asarray(True))
    return tuple(index)


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...], common: tuple[int, ...]) -> np.ndarray:
    """A mask with as many places as the last of the common sizes, or one, so that it broadcasts with other indices."""
    mask = np.zeros(shape, bool)
    wanted = draw(st.sampled_from([1, *common[-1:]]))
    rng = np.random.default_rng(draw(seeds))
    mask.reshape(-1)[rng.permutation(mask.size)[:wanted]] = True
    return mask


def as_index(index: tuple[Any, ...], how: int) -> Any:
    """The index for tensors; bits of `how` choose among the forms of an entry."""
    entries: list[Any] = []
    for i, entry in enumerate(index):
        form = (how >> (2 * i)) % 4
        if not isinstance(entry, np.ndarray):
            entries.append(pb.tensor(entry) if isinstance(entry, int) and form == 3 else entry)
        elif form == 1:
            entries.append(entry if entry.size else pb.tensor(entry))
        elif form == 2 and entry.size:
            entries.append(entry.tolist())
        elif form == 3 and entry.dtype != bool:
            entries.append(pb.tensor(entry.astype(np.int32)))
        else:
            entries.append(pb.tensor(entry))
    return entries[0] if len(entries) == 1 and not isinstance(entries[0], list) else tuple(entries)


def consumed(entry: Any) -> int:
    """How many dimensions an entry of an index takes."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) and entry.dtype == bool else 1


def in_two_steps(array: np.ndarray, index: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """A view by the integers, slices and new dimensions of an index, and what is left of it.

    PyTorch takes integers first, arrays of no dimensions too, so they do not count as arrays of positions when the
    place of the dimensions of those is chosen. What is left has no integers, and there NumPy and PyTorch agree.
    """
    taken = sum(consumed(e) for e in index)
    first: list[Any] = []
    rest: list[Any] = []
    for entry in index if any(e is Ellipsis for e in index) else (*index, Ellipsis):
        if entry is Ellipsis:
            first.append(Ellipsis)
            rest += [slice(None)] * (array.ndim - taken)
        elif isinstance(entry, np.ndarray) and (entry.ndim or entry.dtype == bool):
            first += [slice(None)] * consumed(entry)
            rest.append(entry)
        elif isinstance(entry, np.ndarray):
            first.append(int(entry))
        else:
            first.append(entry)
            rest += [] if isinstance(entry, int) else [slice(None)]
    return array[tuple(first)], tuple(rest)


def close(got: Any, want: Any, what: str = "", rtol: float = 1e-9, atol: float = 1e-10) -> None:
    """Holds a tensor, or a tree of tensors, to another or to arrays: shapes, and numbers up to rounding."""
    if isinstance(want, tuple | list):
        assert len(got) == len(want), f"{what}: {len(got)} results, expected {len(want)}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            close(g, w, f"{what}[{i}]", rtol, atol)
        return
    got, want = plain(got), plain(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    far = ~(np.abs(got - want) <= atol + rtol * np.abs(want)) & ~(got == want) if got.dtype != bool else got != want
    assert not far.any(), f"{what}: {got.tolist()}, expected {want.tolist()}"


def plain(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, pb.Tensor) else np.asarray(value)
