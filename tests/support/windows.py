"""Convolutions and pooling in NumPy, by their definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Counterpart = Callable[..., Any]


def adaptive(n: int, reduce: Callable[..., Any]) -> Counterpart:
    """Window i of `out` windows over s elements reaches from floor(i s / out) to ceil((i + 1) s / out)."""

    def g(x: Any, size: Any) -> Any:
        sizes = size if isinstance(size, tuple) else (size,) * n
        for axis, out in zip(range(np.ndim(x) - n, np.ndim(x)), sizes, strict=True):
            s = x.shape[axis]
            spans = [(i * s // out, -(-(i + 1) * s // out)) for i in range(out)]
            x = np.stack([reduce(np.take(x, range(a, b), axis=axis), axis=axis) for a, b in spans], axis)
        return x

    return g


def spans(s: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> list[tuple[list[int], int]]:
    """Of each window: the elements inside the input, and how many elements it has with the padding."""
    reach = s + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-reach // stride) if ceil else reach // stride) + 1
    starts = [i * stride - padding for i in range(count) if i * stride - padding < s + padding]
    places = [[a + k * dilation for k in range(kernel)] for a in starts]
    return [([p for p in ps if 0 <= p < s], sum(p < s + padding for p in ps)) for ps in places]


def average(n: int) -> Counterpart:
    def g(
        x: Any,
        kernel: int,
        stride: int | None = None,
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Any:
        for axis in range(x.ndim - n, x.ndim):
            windows = spans(x.shape[axis], kernel, stride or kernel, padding, 1, ceil_mode)
            parts = [
                np.take(x, p, axis=axis).sum(axis) / (full if count_include_pad else len(p)) for p, full in windows
            ]
            x = np.stack(parts, axis)
        return x

    return g


def largest(n: int) -> Counterpart:
    def g(
        x: Any, kernel: int, stride: int | None = None, padding: int = 0, dilation: int = 1, ceil_mode: bool = False
    ) -> Any:
        for axis in range(x.ndim - n, x.ndim):
            windows = spans(x.shape[axis], kernel, stride or kernel, padding, dilation, ceil_mode)
            x = np.stack([np.take(x, p, axis=axis).max(axis) for p, _ in windows], axis)
        return (x,)

    return g


def blocks(x: Any, kernel: Any, dilation: int = 1, padding: int = 0, stride: Any = 1) -> Any:
    """All windows of images as columns."""
    (kh, kw), (sh, sw) = (k if isinstance(k, tuple) else (k, k) for k in (kernel, stride))
    lone = x.ndim == 3
    x = np.pad(x[None] if lone else x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    reach = ((kh - 1) * dilation + 1, (kw - 1) * dilation + 1)
    view = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))[:, :, ::sh, ::sw, ::dilation, ::dilation]
    out = view.transpose(0, 1, 4, 5, 2, 3).reshape(x.shape[0], x.shape[1] * kh * kw, -1)
    return out[0] if lone else out


def folded(x: Any, size: tuple[int, int], kernel: Any, dilation: int = 1, padding: int = 0, stride: Any = 1) -> Any:
    """The transpose of `blocks`: each column is added where it came from."""
    h, w = size
    at = blocks(np.arange(h * w).reshape(1, 1, h, w), kernel, dilation, padding, stride)[0]
    lone = x.ndim == 2
    columns = (x[None] if lone else x).reshape(-1, *at.shape)
    out = np.zeros((len(columns), h * w))
    for row, column in zip(out, columns, strict=True):
        np.add.at(row, at, column)
    out = out.reshape(x.shape[0] if not lone else 1, -1, h, w)
    return out[0] if lone else out


def correlated(
    x: Any, w: Any, bias: Any = None, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
) -> Any:
    """Convolution of any rank as sums over windows."""
    n = np.ndim(w) - 2
    lone = np.ndim(x) == n + 1
    x = x[None] if lone else x
    if padding == "same":
        total = [dilation * (k - 1) for k in w.shape[2:]]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(padding, padding)] * n
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    sizes = [(s - dilation * (k - 1) - 1) // stride + 1 for s, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    for at in np.ndindex(*w.shape[2:]):
        window = tuple(
            slice(a * dilation, a * dilation + (s - 1) * stride + 1, stride) for a, s in zip(at, sizes, strict=True)
        )
        part = x[(slice(None), slice(None), *window)]
        for g in range(groups):
            rows = slice(g * per_out, (g + 1) * per_out)
            out[:, rows] += np.einsum(
                "oi,bi...->bo...", w[(rows, slice(None), *at)], part[:, g * per_in : (g + 1) * per_in]
            )
    out = out if bias is None else out + bias.reshape(-1, *(1,) * n)
    return out[0] if lone else out


def transposed(
    x: Any, w: Any, bias: Any = None, stride: int = 1, padding: int = 0, output_padding: int = 0, groups: int = 1,
    dilation: int = 1,
) -> Any:  # fmt: skip
    """The transpose of a convolution: every input element spreads the kernel over the output."""
    n = np.ndim(w) - 2
    lone = np.ndim(x) == n + 1
    x = x[None] if lone else x
    full = [
        (s - 1) * stride + dilation * (k - 1) + 1 + output_padding
        for s, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    per_in, per_out = x.shape[1] // groups, w.shape[1]
    out = np.zeros((x.shape[0], per_out * groups, *full))
    for at in np.ndindex(*w.shape[2:]):
        window = tuple(
            slice(a * dilation, a * dilation + (s - 1) * stride + 1, stride)
            for a, s in zip(at, x.shape[2:], strict=True)
        )
        for g in range(groups):
            inside = slice(g * per_in, (g + 1) * per_in)
            out[(slice(None), slice(g * per_out, (g + 1) * per_out), *window)] += np.einsum(
                "io,bi...->bo...", w[(inside, slice(None), *at)], x[:, inside]
            )
    out = out[(slice(None), slice(None), *(slice(padding, s - padding) for s in full))]
    out = out if bias is None else out + bias.reshape(-1, *(1,) * n)
    return out[0] if lone else out


def unpooled(x: Any, indices: Any, size: int) -> Any:
    out = np.zeros((*x.shape[:2], *(size * s for s in x.shape[2:])))
    for b, c in np.ndindex(*x.shape[:2]):
        np.put(out[b, c], indices[b, c], x[b, c])
    return out


WINDOWS: dict[str, Counterpart] = {"nn.functional.unfold": blocks, "nn.functional.fold": folded}
for _n in (1, 2, 3):
    WINDOWS |= {
        f"nn.functional.conv{_n}d": correlated,
        f"nn.functional.conv_transpose{_n}d": transposed,
        f"nn.functional.avg_pool{_n}d": average(_n),
        f"nn.functional.max_pool{_n}d": largest(_n),
        f"nn.functional.max_pool{_n}d_with_indices": largest(_n),
        f"nn.functional.adaptive_avg_pool{_n}d": adaptive(_n, np.mean),
        f"nn.functional.adaptive_max_pool{_n}d": adaptive(_n, np.max),
        f"nn.functional.max_unpool{_n}d": unpooled,
    }
