"""Factors of matrices, alignments and resized images by NumPy and SciPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg


def each(f: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """A function of one matrix for each of a batch."""

    def g(a: Any, *others: Any) -> tuple[Any, ...]:
        lead = a.shape[:-2]
        if not lead:
            return f(a, *others)
        found = [f(a[i], *(o[i] for o in others)) for i in np.ndindex(*lead)]
        if not found:
            return ()
        return tuple(np.stack(parts).reshape(*lead, *np.shape(parts[0])) for parts in zip(*found, strict=True))

    return g


def adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def packed(a: Any) -> tuple[Any, ...]:
    return each(_packed)(a) if a.size else (a,)


def _packed(a: Any) -> tuple[Any, ...]:
    lu, pivots = scipy.linalg.lu_factor(a)
    return lu, pivots + 1


def lu_parts(a: Any) -> tuple[Any, ...]:
    found = each(lambda a: scipy.linalg.lu(a) if a.size else (np.eye(a.shape[0]),))(a)
    return found or (np.zeros(a.shape[:-1] + a.shape[-2:-1]),)


@each
def permutation(lu: Any, pivots: Any) -> tuple[Any, ...]:
    m = lu.shape[0]
    order = list(range(m))
    for i, j in enumerate(pivots):
        order[i], order[j - 1] = order[j - 1], order[i]
    p = np.zeros((m, m))
    p[order, range(m)] = 1
    return (p,)


def lu_unpack(lu: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, ...]:
    k = min(lu.shape[-2:])
    lower, upper = np.tril(lu, -1)[..., :k] + np.eye(lu.shape[-2], k), np.triu(lu)[..., :k, :]
    none = np.zeros(0)
    return (
        permutation(lu, pivots)[0] if unpack_pivots else none,
        *((lower, upper) if unpack_data else (none, none)),
    )


def lu_solve(lu: Any, pivots: Any, b: Any, left: bool = True, adjoint: bool = False) -> Any:
    if not lu.size:
        return b
    p, lower, upper = lu_unpack(lu, pivots)
    a = p @ lower @ upper
    a = np.conj(np.swapaxes(a, -1, -2)) if adjoint else a
    return solve(a, b, left)


def packed_ldl(a: Any, hermitian: bool = False) -> tuple[Any, ...]:
    return each(lambda a: _packed_ldl(a, hermitian))(a) if a.size else (a,)


def _packed_ldl(a: Any, hermitian: bool) -> tuple[Any, ...]:
    name = ("hetrf" if hermitian else "sytrf") if np.iscomplexobj(a) else "sytrf"
    routine = getattr(scipy.linalg.lapack, {"d": "d", "D": "z"}[a.dtype.char] + name)
    found, exchanges, _ = routine(np.tril(a), lower=1)
    return np.tril(found), exchanges


def of_ldl(packed: Any, exchanges: Any, hermitian: bool) -> Any:
    """The matrix whose factors these are, one exchange and one column of L after the other."""
    n, k = len(packed), 0
    outer, blocks = np.eye(n, dtype=packed.dtype), np.zeros_like(packed)
    turned = (lambda x: np.conj(x.T)) if hermitian else (lambda x: x.T)
    while k < n:
        width = 1 if exchanges[k] > 0 else 2
        order, end = list(range(n)), k + width
        order[end - 1], order[abs(exchanges[k]) - 1] = order[abs(exchanges[k]) - 1], order[end - 1]
        column = np.eye(n, dtype=packed.dtype)
        column[end:, k:end] = packed[end:, k:end]
        outer = outer @ np.eye(n)[:, order] @ column
        block = np.tril(packed[k:end, k:end])
        whole = block + turned(np.tril(block, -1))
        if hermitian:
            whole[np.diag_indices(width)] = whole.diagonal().real
        blocks[k:end, k:end] = whole
        k = end
    return outer @ blocks @ turned(outer)


def ldl_solve(packed: Any, exchanges: Any, b: Any, hermitian: bool = False) -> Any:
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    n, k = b.shape[-2:]
    out = np.empty((*lead, n, k), packed.dtype)
    packed, exchanges = np.broadcast_to(packed, (*lead, n, n)), np.broadcast_to(exchanges, (*lead, n))
    b = np.broadcast_to(b, out.shape)
    for i in np.ndindex(*lead):
        out[i] = np.linalg.solve(of_ldl(packed[i], exchanges[i], hermitian and np.iscomplexobj(packed)), b[i])
    return out


def solve(a: Any, b: Any, left: bool = True, check_errors: bool = False) -> Any:
    if not left:
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def cholesky(a: Any, upper: bool = False, check_errors: bool = False) -> Any:
    lower = np.linalg.cholesky(a)
    return adjoint(lower) if upper else lower


def product(triangle: Any, upper: bool) -> Any:
    return adjoint(triangle) @ triangle if upper else triangle @ adjoint(triangle)


def triangular(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, ...]:
    t = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        t = t - t * np.eye(t.shape[-1]) + np.eye(t.shape[-1])
    return np.linalg.solve(np.swapaxes(t, -1, -2) if transpose else t, b), a


@each
def geqrf(a: Any) -> tuple[Any, ...]:
    (packed, tau), _ = scipy.linalg.qr(a, mode="raw")
    return packed, tau


@each
def reflections(a: Any, tau: Any) -> tuple[Any, ...]:
    m = a.shape[0]
    q = np.eye(m, dtype=a.dtype)
    for i, t in enumerate(tau[0]):
        v = np.where(np.arange(m) > i, a[:, i], np.arange(m) == i)
        q = q - t * np.outer(q @ v, v.conj())
    return (q,)


def whole(a: Any, tau: Any) -> Any:
    return reflections(a, tau[..., None, :])[0]


def ormqr(a: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    q = whole(a, tau)
    q = adjoint(q) if transpose else q
    return q @ other if left else other @ q


def pinv(a: Any, hermitian: bool = False, atol: Any = None, rtol: Any = None) -> Any:
    return np.linalg.pinv(a, 1e-8)


def lstsq(a: Any, b: Any, rcond: Any = None, driver: Any = None) -> Any:
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    return (np.linalg.pinv(a) @ b[..., None])[..., 0] if vector else np.linalg.pinv(a) @ b


def cond(a: Any, p: Any = None) -> Any:
    return np.linalg.cond(a, p) if a.size else np.zeros(a.shape[:-2])


def sizes(a: Any, some: bool = True, compute_uv: bool = True) -> tuple[Any, ...]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    if not compute_uv:
        return s, np.zeros((*a.shape[:-1], a.shape[-2])), np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-1]))
    return s, np.abs(u), np.abs(adjoint(vh))


def powers(a: Any) -> tuple[Any, ...]:
    """The traces of powers: sums of powers of the eigenvalues."""
    return tuple(np.trace(np.linalg.matrix_power(a, k), axis1=-2, axis2=-1).astype(complex) for k in (1, 2, 3))


def spectral(a: Any) -> tuple[Any, ...]:
    """The matrix, as it is put together of eigenvalues and eigenvectors, and how unevenly these are filled."""
    return a.astype(complex), (np.abs(np.linalg.eig(a)[1]) ** 4).sum((-1, -2))


def ctc_loss(
    logp: Any,
    targets: Any,
    steps: Any,
    lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """The sum over all paths."""
    single = logp.ndim == 2
    logp = logp[:, None] if single else logp
    starts = np.cumsum([0, *lengths])
    losses = []
    for n, (t, s) in enumerate(zip(steps, lengths, strict=True)):
        labels = list(targets[n, :s] if targets.ndim == 2 else targets[starts[n] : starts[n] + s])
        total = 0.0
        for path in itertools.product(range(logp.shape[2]), repeat=int(t)):
            if [c for c, _ in itertools.groupby(path) if c != blank] == labels:
                total += np.exp(sum(logp[i, n, c] for i, c in enumerate(path)))
        loss = -np.log(total)
        losses.append(0.0 if zero_infinity and np.isinf(loss) else loss)
    out = np.array(losses)
    if reduction == "mean":
        return (out / np.maximum(lengths, 1)).mean()
    return out.sum() if reduction == "sum" else out[0] if single else out


def _kernel(d: Any, cubic: bool, a: float) -> Any:
    d = np.abs(d)
    if not cubic:
        return np.maximum(1 - d, 0)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d < 1, near, np.where(d < 2, far, 0))


def _weights(before: int, after: int, factor: float | None, mode: str, align: bool, antialias: bool) -> Any:
    """A row for each new element."""
    to = np.arange(after)
    scale = 1 / factor if factor else before / after
    if mode == "area":
        edges = [(i * before // after, -(-(i + 1) * before // after)) for i in range(after)]
        return np.array([[(lo <= j < hi) / (hi - lo) for j in range(before)] for lo, hi in edges])
    if mode.startswith("nearest"):
        at = np.floor((to + 0.5 * mode.endswith("exact")) * scale).astype(int)
        return np.eye(before)[np.minimum(at, before - 1)]
    center = to * ((before - 1) / max(after - 1, 1)) if align else (to + 0.5) * scale - 0.5
    cubic = mode == "bicubic"
    if antialias:
        wide = max(scale, 1.0)
        w = _kernel((np.arange(before) - center[:, None]) / wide, cubic, -0.5)
        return w / w.sum(1, keepdims=True)
    out = np.zeros((after, before))
    if not cubic:
        center = np.clip(center, 0, before - 1)
    for i, c in enumerate(center):
        for j in range(int(np.floor(c)) - 1, int(np.floor(c)) + 3):
            out[i, min(max(j, 0), before - 1)] += _kernel(c - j, cubic, -0.75)
    return out


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    out = x
    for d in range(x.ndim - 2):
        one = lambda v, d=d: v[d] if isinstance(v, tuple) else v
        before, factor = x.shape[d + 2], one(scale_factor)
        after = one(size) if size is not None else int(np.floor(before * factor))
        kept = None if recompute_scale_factor or mode == "area" else factor
        w = _weights(before, after, kept, mode, bool(align_corners), antialias)
        out = np.moveaxis(np.tensordot(w, out, (1, d + 2)), 0, d + 2)
    return out


FACTORS: dict[str, Callable[..., Any]] = {
    "linalg.lu_factor": packed,
    "linalg.lu_factor_ex": packed,
    "lu": lambda a, get_infos=False: packed(a),
    "linalg.lu": lu_parts,
    "lu_unpack": lu_unpack,
    "linalg.lu_solve": lu_solve,
    "lu_solve": lambda b, lu, pivots: lu_solve(lu, pivots, b),
    "linalg.ldl_factor": packed_ldl,
    "linalg.ldl_factor_ex": packed_ldl,
    "linalg.ldl_solve": ldl_solve,
    "linalg.solve_ex": solve,
    "linalg.inv_ex": lambda a, check_errors=False: np.linalg.inv(a),
    "linalg.cholesky_ex": cholesky,
    "cholesky": cholesky,
    "cholesky_inverse": lambda t, upper=False: np.linalg.inv(product(t, upper)),
    "cholesky_solve": lambda b, t, upper=False: np.linalg.solve(product(t, upper), b),
    "triangular_solve": triangular,
    "qr": lambda a, some=True: tuple(np.linalg.qr(a)),
    "svd": sizes,
    "geqrf": geqrf,
    "linalg.householder_product": lambda a, tau: whole(a, tau)[..., : a.shape[-1]],
    "ormqr": ormqr,
    "linalg.eigvals": powers,
    "linalg.eig": spectral,
    "linalg.pinv": pinv,
    "pinverse": np.linalg.pinv,
    "linalg.cond": cond,
    "linalg.lstsq": lstsq,
    "linalg.tensorsolve": lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims),
    "nn.functional.ctc_loss": ctc_loss,
    "nn.functional.interpolate": interpolate,
}
