"""What NumPy and SciPy give for operators of the table: the same call on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from support.counterparts_sections import SECTIONS
from support.windows import WINDOWS

Counterpart = Callable[..., Any]


def keepdims(f: Callable[..., Any]) -> Counterpart:
    """A reduction over `dim`; no dimension means all."""

    def g(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        axes = None if dim is None or dim == () else dim
        return f(x, axis=axes, keepdims=keepdim) if np.ndim(x) else np.asarray(f(x))

    return g


def alpha(f: Callable[..., Any]) -> Counterpart:
    return lambda a, b, alpha=1: f(a, alpha * b)


def divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    q = np.divide(a, b)
    return {None: lambda x: x, "floor": np.floor, "trunc": np.trunc}[rounding_mode](q)


def affine(product: Callable[..., Any]) -> Counterpart:
    return lambda x, a, b, beta=1, alpha=1: beta * x + alpha * product(a, b)


def spread(root: bool) -> Counterpart:
    def g(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, correction: Any = None) -> Any:
        ddof = correction if correction is not None else int(unbiased is None or unbiased)
        v = np.var(x, axis=dim, ddof=ddof, keepdims=keepdim)
        return np.sqrt(v) if root else v

    return g


def matrix_norm(a: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    return np.linalg.norm(a, ord, dim, keepdim)


def flat_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    if isinstance(dim, tuple) or dim is None:
        dims = tuple(range(np.ndim(x))) if dim is None else tuple(d % np.ndim(x) for d in dim)
        moved = np.moveaxis(x, dims, range(np.ndim(x) - len(dims), np.ndim(x)))
        return np.linalg.norm(moved.reshape(*moved.shape[: np.ndim(x) - len(dims)], -1), ord, -1)
    return np.linalg.norm(x, ord, dim, keepdim)


def extreme(f: Callable[..., Any], arg: Callable[..., Any], pair: Callable[..., Any]) -> Counterpart:
    def g(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return pair(x, dim)
        if dim is None or not np.ndim(x):
            return f(x) if dim is None else (f(x), np.int64(0))
        return f(x, axis=dim, keepdims=keepdim), arg(x, axis=dim, keepdims=keepdim)

    return g


def cumulative(better: Callable[..., Any]) -> Counterpart:
    def g(x: Any, dim: int) -> Any:
        values = better.accumulate(x, axis=dim) if np.ndim(x) else x
        return (values,)  # the indices follow from the values, which are distinct

    return g


def kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not np.ndim(x):
        return x, np.int64(0)
    order = np.take(np.argsort(x, axis=dim), [k - 1], axis=dim)
    values = np.take_along_axis(x, order, dim)
    return (values, order) if keepdim else (values.squeeze(dim), order.squeeze(dim))


def loss(f: Counterpart) -> Counterpart:
    def g(x: Any, t: Any, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
        each = f(x, t, *args, **kwargs)
        batch = np.shape(x)[0] if np.ndim(x) else 1
        ends = {"mean": np.mean, "sum": np.sum, "none": lambda v: v, "batchmean": lambda v: np.sum(v) / batch}
        return ends[reduction](each)

    return g


def huber(x: Any, t: Any, weight: Any = 1.0, delta: float = 1.0) -> Any:
    d = np.abs(x - t)
    return weight * np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))


def divergence(x: Any, t: Any, log_target: bool = False) -> Any:
    return np.exp(t) * (t - x) if log_target else t * (np.log(t) - x)


def embedded(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n))
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None) -> Any:
    parts = x.reshape(x.shape[0], groups, -1)
    y = ((parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    channels = (-1, *(1,) * (x.ndim - 2))
    return y * (1 if weight is None else weight.reshape(channels)) + (0 if bias is None else bias.reshape(channels))


def glu(x: Any, dim: int = -1) -> Any:
    a, b = np.split(x, 2, axis=dim)
    return a * sp.expit(b)


_same = {name: getattr(np, name) for name in """sin cos tan sinh cosh tanh exp exp2 expm1 log log1p log2 log10 sqrt
    reciprocal abs sign floor ceil trunc square positive hypot maximum minimum fmod remainder floor_divide
    logical_not logical_and logical_or logical_xor isnan isinf isfinite signbit bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift matmul dot outer prod trace tril triu flip""".split()}  # fmt: skip

CODES = {
    "byte": "u1", "char": "i1", "short": "i2", "int": "i4", "half": "f2",
    "double": "f8", "cfloat": "c8", "cdouble": "c16"
}  # fmt: skip

NUMPY: dict[str, Counterpart] = {
    **_same,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "neg": np.negative, "bitwise_not": np.invert,
    "frac": lambda x: x - np.trunc(x),
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": sp.erf, "erfc": sp.erfc, "erfinv": sp.erfinv,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else sp.expit(x),
    "logaddexp": lambda x, y: np.log(np.exp(x) + np.exp(y)) if np.iscomplexobj(x) else np.logaddexp(x, y),
    "lgamma": sp.gammaln, "digamma": sp.digamma, "relu": lambda x: np.maximum(x, 0),
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "add": alpha(np.add), "sub": alpha(np.subtract), "rsub": lambda a, b, alpha=1: b - alpha * a, "mul": np.multiply,
    "div": divided, "true_divide": np.divide, "pow": np.power, "Tensor.where": lambda x, c, y: np.where(c, x, y),
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(a, b, rtol, atol, equal_nan),
    "lerp": lambda a, b, w: a + w * (b - a), "clone": np.array, "detach": np.array,
    "sum": keepdims(np.sum), "mean": keepdims(np.mean), "amax": keepdims(np.amax), "amin": keepdims(np.amin),
    "all": keepdims(np.all), "any": keepdims(np.any), "prod": keepdims(np.prod),
    "var": spread(False), "std": spread(True),
    "logsumexp": lambda x, dim, keepdim=False: sp.logsumexp(x, axis=dim, keepdims=keepdim) if np.ndim(x) else x,
    "max": extreme(np.max, np.argmax, np.maximum), "min": extreme(np.min, np.argmin, np.minimum),
    "cummax": cumulative(np.maximum), "cummin": cumulative(np.minimum), "kthvalue": kth,
    "linalg.vector_norm": flat_norm, "linalg.matrix_norm": matrix_norm,
    "norm": lambda x, p="fro", dim=None, keepdim=False: flat_norm(x, 2 if p == "fro" else p, dim, keepdim),
    "dist": lambda a, b, p=2: np.linalg.norm(np.ravel(a - b), p),
    "mv": np.matmul, "mm": np.matmul, "bmm": np.matmul, "einsum": np.einsum,
    "tensordot": lambda a, b, dims: np.tensordot(a, b, dims),
    "addmm": affine(np.matmul), "addmv": affine(np.matmul), "baddbmm": affine(np.matmul),
    "linalg.inv": np.linalg.inv, "linalg.det": np.linalg.det, "linalg.slogdet": np.linalg.slogdet,
    "logdet": lambda a: np.linalg.slogdet(a)[1] + np.log(np.linalg.slogdet(a)[0]),
    "linalg.eigvalsh": np.linalg.eigvalsh, "linalg.svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "linalg.diagonal": lambda a, offset=0: np.diagonal(a, offset, -2, -1), "diagonal": np.diagonal, "diag": np.diag,
    "masked_select": lambda x, m: np.broadcast_arrays(x, m)[0][np.broadcast_arrays(x, m)[1]],
    "nonzero": lambda x, as_tuple=False: np.nonzero(x) if as_tuple else np.argwhere(x),
    "Tensor.repeat": np.tile, "split_with_sizes": lambda x, n, dim=0: np.split(x, np.cumsum(n)[:-1], dim),
    "Tensor.view_as": lambda x, y: x.reshape(y.shape), "Tensor.reshape_as": lambda x, y: x.reshape(y.shape),
    "Tensor.expand_as": lambda x, y: np.broadcast_to(x, y.shape), "broadcast_tensors": np.broadcast_arrays,
    "complex": lambda a, b: a + 1j * b, "polar": lambda r, t: r * np.exp(1j * t), "real": np.real, "imag": np.imag,
    "view_as_real": lambda z: np.stack([z.real, z.imag], -1), "view_as_complex": lambda x: x[..., 0] + 1j * x[..., 1],
    "conj": np.conj, "_neg_view": np.negative, "conj_physical": np.conj, "angle": np.angle, "isreal": np.isreal,
    "sgn": lambda z: z / np.abs(z), "adjoint": lambda x: np.conj(np.swapaxes(x, -1, -2)),
    "Tensor.H": lambda x: np.conj(x.T),
    "ravel": np.ravel, "t": np.transpose, "Tensor.mH": lambda x: np.conj(np.swapaxes(x, -1, -2)),
    "narrow": lambda x, d, start, n: np.take(x, range(start, start + n), axis=d),
    "select": lambda x, d, i: np.take(x, i, axis=d),
    "constant_pad_nd": lambda x, pad, value=0.0: _padded(x, pad, value), "diag_embed": embedded,
    "nn.functional.leaky_relu": lambda x, s=0.01: np.where(x > 0, x, s * x),
    "nn.functional.elu": lambda x, a=1.0: np.where(x > 0, x, a * np.expm1(x)),
    "nn.functional.hardtanh": lambda x, low=-1.0, high=1.0: np.clip(x, low, high),
    "nn.functional.relu6": lambda x: np.clip(x, 0, 6), "nn.functional.softsign": lambda x: x / (1 + np.abs(x)),
    "nn.functional.mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "nn.functional.glu": glu,
    "nn.functional.l1_loss": loss(lambda x, t: np.abs(x - t)), "nn.functional.huber_loss": loss(huber),
    "nn.functional.binary_cross_entropy": loss(lambda x, t, w=1.0: -w * (t * np.log(x) + (1 - t) * np.log(1 - x))),
    "nn.functional.kl_div": loss(divergence),
    "nn.functional.group_norm": group_norm,
    "Tensor.new_zeros": lambda x, shape, dtype=None: np.zeros(shape),
    "Tensor.new_ones": lambda x, shape, dtype=None: np.ones(shape),
    "Tensor.new_full": lambda x, shape, v: np.full(shape, v), "full_like": np.full_like,
    "scalar_tensor": lambda s, dtype=None: np.array(s),
    "Tensor.type_as": lambda x, y: x.astype(y.dtype),
    **{f"Tensor.{name}": lambda x, code=code: x.astype(code) for name, code in CODES.items()},
    **WINDOWS,
    **SECTIONS,
}  # fmt: skip


def _padded(x: Any, pad: tuple[int, ...], value: float) -> Any:
    before, after = pad
    x = x[..., max(-before, 0) : x.shape[-1] - max(-after, 0)]
    widths = [(0, 0)] * (x.ndim - 1) + [(max(before, 0), max(after, 0))]
    return np.pad(x, widths, constant_values=value)
