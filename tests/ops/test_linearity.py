"""Which operators may stand in a rule that is transposed: those that are linear there, and no others.

A rule made of one operator of the table, at one or all of its arguments of floats, is transposed. Either that is
refused, or the operator is linear at numbers of any size, and the result is its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from support import properties, samples

transposed = pb._core.autograd._transposed
NAMES = ("operator", "its rule", "write another")
FACTOR = 2.0**20
# Linear as a map, but not followed; linear for one exponent, for one of the folds, or where distinct elements stay so.
REFUSED = {"bernoulli", "detach", "nansum", "nanmean", "normal", "pow"}
REFUSED |= {"cumprod", "index_reduce", "scatter", "scatter_reduce", "mode", "unique_consecutive"}
# Linear where no number is special.
REFUSED |= {"nan_to_num", "nextafter", "special.xlog1py", "xlogy"}


def numbers(like: Any, seed: int) -> Any:
    return pb.randn(like.shape, generator=pb.Generator().manual_seed(seed), dtype=like.dtype)


def results(f: Callable[..., Any], points: list[Any]) -> list[Any] | None:
    """None where the operator is not defined, or without a number."""
    try:
        found = list(f(*points))
    except (RuntimeError, ValueError, IndexError):
        return None
    return found if all(bool(y.isfinite().all()) for y in found) else None


TRIALS = 8
"""A function of two elements that bends where they are 0 looks linear at every fourth point."""


def is_linear(f: Callable[..., Any], like: list[Any]) -> bool:
    """Whether it is at some points, among them large ones."""
    return all(is_linear_at(f, like, 1000 * trial) for trial in range(TRIALS))


def is_linear_at(f: Callable[..., Any], like: list[Any], seed: int) -> bool:
    u, v = ([numbers(x, seed + k + 2 * i) for i, x in enumerate(like)] for k in (0, 1))
    mixed = [b - FACTOR * a for a, b in zip(u, v, strict=True)]
    zero, a, b, c = (results(f, p) for p in ([pb.zeros_like(x) for x in like], u, v, mixed))
    if zero is None or a is None or b is None or c is None:
        return False
    close = lambda x, y: bool(((x - y).abs() <= 1e-8 * (1 + y.abs().max() if y.numel() else 1)).all())
    scaled = all(close(z, y - FACTOR * x) for x, y, z in zip(a, b, c, strict=True))
    return scaled and all(bool((y == 0).all()) for y in zero)


def maps(name: str) -> list[tuple[Callable[..., Any], list[Any]]]:
    """The operator as a function of each argument, and of all."""
    found: list[tuple[Callable[..., Any], list[Any]]] = []
    for call in properties.differentiable(name):
        whole, points = call.smooth(call.tensors), list(call.points(call.tensors))

        def one(i: int, whole: Any = whole, points: Any = points) -> Callable[..., Any]:
            return lambda v: whole(*points[:i], v, *points[i + 1 :])

        found += [(one(i), [x]) for i, x in enumerate(points)]
        found += [(whole, points)] if len(points) > 1 else []
    return found


@pytest.mark.parametrize("name", sorted(samples.table()))
def test_transposed_or_refused(name: str) -> None:
    for f, like in maps(name):
        outs = results(f, like)
        if outs is None or not all(x.numel() for x in like):
            continue
        along = [numbers(y, 7 + k) for k, y in enumerate(outs)]
        truth = is_linear(f, like)
        try:
            back = transposed(NAMES, False, f, like, along)
        except (RuntimeError, ValueError, IndexError) as error:
            # Of single elements, and of none, other operators are linear too.
            several = all(x.numel() > 1 for x in [*like, *outs])
            refused = f"{[list(x.shape) for x in like]} is linear, but was refused: {error}"
            assert not (truth and several) or name in REFUSED, refused
            continue
        assert truth, f"{[list(x.shape) for x in like]} is not linear, and was transposed"
        u = [numbers(x, 20 + k) for k, x in enumerate(like)]
        left = sum((g * y).sum() for g, y in zip(along, f(*u), strict=True))
        right = sum((g * x).sum() for g, x in zip(back, u, strict=True) if g is not None)
        assert abs(float(left) - float(right)) <= 1e-9 * (1 + abs(float(left)))
