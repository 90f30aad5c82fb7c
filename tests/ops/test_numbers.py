"""Numbers of Python in tensors: factors, comparisons, ranges, and those that do not fit.

`PULLBACK_FUZZ_CALLS` sets how often each property is tried; failures name the seed.
"""

from __future__ import annotations

import math
import os
import random
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

SIZES = {pb.uint8: (0, 8), pb.int8: (1, 8), pb.int16: (1, 16), pb.int32: (1, 32), pb.int64: (1, 64)}
SEED = 20261122
CALLS = int(os.environ.get("PULLBACK_FUZZ_CALLS", "600"))
same = pb.testing.assert_close


def bounds(dtype: Any) -> tuple[int, int]:
    signed, bits = SIZES[dtype]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def wrapped(x: int, dtype: Any) -> int:
    """`x` as an element: its last bits."""
    signed, bits = SIZES[dtype]
    x %= 2**bits
    return x - 2**bits if signed and x >= 2 ** (bits - 1) else x


def some_integer(rng: random.Random) -> int:
    near = rng.choice([0, 2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**53, 2**63, 2**64, 2**70])
    return rng.choice([-1, 1]) * near + rng.randint(-3, 3)


def element(rng: random.Random, dtype: Any) -> int:
    low, high = bounds(dtype)
    return rng.choice([low, high, 0, 1, rng.randint(low, high)])


def test_integers_are_compared_as_numbers() -> None:
    rng = random.Random(SEED)
    for _ in range(CALLS):
        dtype = rng.choice(list(SIZES))
        xs, n = [element(rng, dtype) for _ in range(3)], some_integer(rng)
        t, where = pb.tensor(xs, dtype=dtype), f"seed {SEED}: {xs} {dtype} and {n}"
        for name, f in [
            ("eq", lambda a, b: a == b),
            ("ne", lambda a, b: a != b),
            ("lt", lambda a, b: a < b),
            ("le", lambda a, b: a <= b),
            ("gt", lambda a, b: a > b),
            ("ge", lambda a, b: a >= b),
        ]:
            assert f(t, n).tolist() == [f(x, n) for x in xs], f"{where}: {name}"
            assert f(n, t).tolist() == [f(n, x) for x in xs], f"{where}: {name}, reflected"
            assert vmap(lambda v, f=f, n=n: f(v, n))(t).tolist() == [f(x, n) for x in xs], f"{where}: {name}, batched"
        if abs(n) < 2**63:
            assert (t < pb.tensor(n)).tolist() == [x < n for x in xs], f"{where}: a tensor without dimensions"


def test_arithmetic_of_integers_wraps_its_results_only() -> None:
    rng = random.Random(SEED)
    for _ in range(CALLS):
        dtype = rng.choice(list(SIZES))
        x, n = element(rng, dtype), some_integer(rng)
        t = pb.tensor([x], dtype=dtype)
        where = f"seed {SEED}: {x} {dtype} and {n}"
        if -(2**63) <= n < 2**63:
            for name, f in [
                ("+", lambda a, b: a + b),
                ("-", lambda a, b: a - b),
                ("*", lambda a, b: a * b),
                ("&", lambda a, b: a & b),
            ]:
                got = f(t, n)
                assert (got.dtype, got.item()) == (dtype, wrapped(f(x, n), dtype)), f"{where}: {name}"
            if n != 0 and abs(x) < 2**62:
                assert (t // n).item() == wrapped(x // n, dtype), f"{where}: //"
                assert (t % n).item() == wrapped(x % n, dtype), f"{where}: %"
                assert (t // pb.tensor(n)).item() == wrapped(x // n, dtype), (
                    f"{where}: // of a tensor without dimensions"
                )
        elif not -(2**63) <= n < 2**64:
            with pytest.raises(OverflowError):
                t + n


def test_a_factor_takes_part_in_the_common_dtype() -> None:
    same(
        pb.sub(pb.tensor(0.2, dtype=pb.float64), pb.tensor(1, dtype=pb.uint8), alpha=-1),
        pb.tensor(1.2, dtype=pb.float64),
    )
    rng = random.Random(SEED)
    for _ in range(CALLS):
        a, b = rng.choice(list(SIZES)), rng.choice(list(SIZES))
        common = pb.promote_types(a, b)
        x, y = element(rng, a), element(rng, b)
        low, high = bounds(common)
        alpha = rng.randint(max(low, -300), min(high, 300))
        where = f"seed {SEED}: {x} {a}, {y} {b}, alpha {alpha}"
        for op, sign in ((pb.add, 1), (pb.sub, -1)):
            got = op(pb.tensor([x], dtype=a), pb.tensor([y], dtype=b), alpha=alpha)
            assert (got.dtype, got.item()) == (common, wrapped(x + sign * alpha * y, common)), where
        f = pb.add(pb.tensor([0.5], dtype=pb.float64), pb.tensor([y], dtype=b), alpha=alpha / 7)
        assert math.isclose(f.item(), 0.5 + alpha / 7 * y, rel_tol=1e-12), where


def test_factors_that_are_refused() -> None:
    i, x = pb.ones(2, dtype=pb.int32), pb.ones(2)
    for op in (pb.add, pb.sub, pb.rsub):
        with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
            op(i, i, alpha=0.5)
        with pytest.raises(RuntimeError, match="Boolean alpha"):
            op(x, x, alpha=True)
        with pytest.raises(RuntimeError, match="complex"):
            op(x, x, alpha=1j)
        with pytest.raises(RuntimeError, match="without overflow"):
            op(i, i, alpha=2**40)
    with pytest.raises(RuntimeError, match="must not be a fraction"):
        pb.addmm(pb.ones(2, 2, dtype=pb.int64), pb.ones(2, 2, dtype=pb.int64), pb.ones(2, 2, dtype=pb.int64), alpha=0.5)


def test_derivatives_of_factors() -> None:
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    same(grad(lambda v: pb.add(x, v, alpha=-3).sum())(y), pb.tensor([-3.0, -3.0]))
    same(jvp(lambda v: pb.sub(v, y, alpha=2), (x,), (x,))[1], x)
    nan = pb.full((2, 2), math.nan)
    out, g = pb.func.vjp(lambda a: pb.addmm(a, pb.ones(2, 2), pb.ones(2, 2), beta=0), nan)
    same(out, pb.full((2, 2), 2.0))
    same(g(pb.ones(2, 2))[0], pb.zeros(2, 2))


def test_half_precision_is_added_in_single() -> None:
    x, y = pb.tensor([-60000.0], dtype=pb.float16), pb.tensor([3.0], dtype=pb.float16)
    same(pb.add(x, y, alpha=30000), pb.tensor([30000.0], dtype=pb.float16))
    m = pb.full((1, 2), 250.0, dtype=pb.float16)
    same(pb.addmm(pb.zeros(1, 1, dtype=pb.float16), m, m.mT, alpha=0.5), pb.tensor([[62496.0]], dtype=pb.float16))


def test_ranges_of_integers_are_those_of_python() -> None:
    rng = random.Random(SEED)
    for _ in range(CALLS):
        start = rng.choice([0, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**53), rng.randint(-(2**63), 2**63 - 1)])
        step = rng.choice([-1, 1]) * rng.choice([1, 2, 3, 7, 2**20, 2**62])
        end = max(min(start + step * rng.randint(0, 9) + rng.randint(-1, 1), 2**63 - 1), -(2**63))
        if (end - start) * step < 0:
            continue
        got = pb.arange(start, end, step)
        assert got.dtype == pb.int64
        assert got.tolist() == list(range(start, end, step)), f"seed {SEED}: arange({start}, {end}, {step})"


@pytest.mark.parametrize("dtype", [pb.uint8, pb.int8, pb.int32, pb.float16, pb.float32])
def test_values_that_do_not_fit(dtype: Any) -> None:
    value = 1e39 if dtype.is_floating_point else 2**33
    x = pb.zeros(3, dtype=dtype)
    mask = pb.tensor([True, False, False])
    for call in [
        lambda: pb.full((2,), value, dtype=dtype),
        lambda: pb.full_like(x, value),
        lambda: x.new_full((2,), value),
        lambda: x.clone().fill_(value),
        lambda: x.masked_fill(mask, value),
        lambda: x.index_fill(0, pb.tensor([0]), value),
        lambda: x.scatter(0, pb.tensor([0]), value=value),
        lambda: x.clamp(min=value),
        lambda: pb.nn.functional.pad(x, (1, 1), value=value),
        lambda: pb.linspace(0, value, 3, dtype=dtype),
        lambda: vmap(lambda v: v.masked_fill(v == 0, value))(x),
    ]:
        with pytest.raises(RuntimeError, match="without overflow"):
            call()
    assert x.tolist() == [0, 0, 0]


def test_assigned_values_that_do_not_fit() -> None:
    x = pb.zeros(3, dtype=pb.int16)
    for index in (0, slice(None), pb.tensor([True, False, True]), [0, 2]):
        for value, error in ((40000, RuntimeError), (math.nan, RuntimeError), (2**63, ValueError), (2**70, ValueError)):
            with pytest.raises(error):
                x[index] = value
    with pytest.raises(RuntimeError, match="without overflow"):
        pb.tensor([1.0, math.inf], dtype=pb.int32)
    with pytest.raises(OverflowError):
        pb.tensor([10**400], dtype=pb.float32)
    assert x.tolist() == [0, 0, 0]
    x[1] = True
    x[2] = -5.7
    assert x.tolist() == [0, 1, -5]


def test_integers_beyond_64_bits() -> None:
    same(pb.ones(2) * 2**70, pb.full((2,), 2.0**70))
    same(pb.ones(2, dtype=pb.int64) & (2**64 - 1), pb.ones(2, dtype=pb.int64))
    same(pb.ones(1, dtype=pb.int64) * 0x9E3779B97F4A7C15, pb.tensor([0x9E3779B97F4A7C15 - 2**64]))
    for call in (
        lambda: pb.ones(2) * 10**400,
        lambda: pb.ones(2, dtype=pb.int32) + 2**70,
        lambda: pb.full((1,), 2**70),
    ):
        with pytest.raises(OverflowError):
            call()
