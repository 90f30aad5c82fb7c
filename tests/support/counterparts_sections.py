"""Windows, sections, and copies with a part replaced, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def unfold(x: Any, dim: int, size: int, step: int) -> Any:
    dim %= x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return np.take(windows, range(0, windows.shape[dim], step), axis=dim)


def unflatten(x: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def assigned(x: Any, index: Any, value: Any) -> Any:
    out = np.array(x)
    out[index] = value
    return out


def along(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * (dim % x.ndim) + (index,)


def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    out = np.array(x)
    diagonal = np.diagonal(out, offset, dim1, dim2)
    diagonal.flags.writeable = True
    diagonal[...] = src
    return out


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    out, mask = (np.array(a) for a in np.broadcast_arrays(x, mask))
    out[mask] = np.ravel(source)[: mask.sum()]
    return out


SECTIONS = {
    "Tensor.unfold": lambda x, *args: unfold(np.atleast_1d(x), *args)[0] if np.ndim(x) == 0 else unfold(x, *args),
    "unflatten": unflatten,
    "tensor_split": np.array_split,
    "hsplit": np.hsplit,
    "vsplit": np.vsplit,
    "dsplit": np.dsplit,
    "select_scatter": lambda x, src, dim, i: assigned(x, along(x, dim, i), src),
    "slice_scatter": lambda x, src, dim=0, a=None, b=None, step=1: assigned(x, along(x, dim, slice(a, b, step)), src),
    "diagonal_scatter": diagonal_scatter,
    "index_fill": lambda x, dim, i, value: assigned(x, along(x, dim, i), value),
    "index_copy": lambda x, dim, i, source: assigned(x, along(x, dim, i), source),
    "masked_scatter": masked_scatter,
}
