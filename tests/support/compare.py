"""How results are compared with stored ones."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from support import vectors

DERIVATIVES = {"vjp", "jvp", "vmap_vjp", "vmap_jvp", "jvp_vjp", "vjp_vjp"}


class Mismatch(AssertionError):
    """A result differs from what is stored."""


class Tolerance(NamedTuple):
    rtol: float
    atol: float
    normwise: bool  # rtol is relative to the largest element instead of each one
    finite_only: bool  # where the stored value is nan or infinite nothing is compared


def tolerance(case: dict[str, Any], dtype: str, check: str) -> Tolerance:
    table = vectors.read_json("tolerances.json")
    derivative = check in DERIVATIVES
    limits = [table["derivative" if derivative else "value"].get(dtype, [0.0, 0.0])]
    limits.append(table["ops"].get(case["op"], {}).get(dtype))
    limits.append(case.get("tol"))
    if derivative:
        limits.append(case.get("dtol"))
    given = [limit for limit in limits if limit]
    rtol, atol = max(limit[0] for limit in given), max(limit[1] for limit in given)
    normwise = derivative or any(fnmatchcase(case["op"], pattern) for pattern in table["normwise"])
    return Tolerance(rtol, atol, normwise, derivative)


def wrong_places(got: np.ndarray, want: np.ndarray, limit: Tolerance) -> np.ndarray:
    """A mask of the elements that differ by more than the limit allows."""
    if got.dtype.kind in "biu" and want.dtype.kind in "biu":
        return got != want
    kind = np.complex128 if "c" in got.dtype.kind + want.dtype.kind else np.float64
    with np.errstate(all="ignore"):
        got, want = got.astype(kind), want.astype(kind)
        finite = np.isfinite(want)
        size = np.abs(np.where(finite, want, 0))
        scale = size.max(initial=0.0) if limit.normwise else size
        far = ~(np.abs(got - want) <= limit.atol + limit.rtol * scale)
    if limit.finite_only:
        return far & finite
    if kind is np.complex128:
        return np.where(finite, far, np.isfinite(got))
    return np.where(finite, far, ~((got == want) | (np.isnan(got) & np.isnan(want))))


def assert_arrays(got: np.ndarray, want: np.ndarray, limit: Tolerance, what: str) -> None:
    if got.shape != want.shape:
        raise Mismatch(f"{what}: shape {got.shape}, expected {want.shape}")
    if not want.size:
        return
    wrong = wrong_places(got, want, limit)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Mismatch(f"{what}: {wrong.sum()} of {want.size} differ; at {at} {got[at]}, expected {want[at]}")
