"""Laws of transforms on random expressions: what stacks of them give is what loops and eager derivatives give."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st

import pullback as pb
from pullback.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from support import strategies as s
from support.expressions import Expression, expressions
from support.stacks import cost, stacks, through


@st.composite
def functions(
    draw: st.DrawFn, inputs: int = 1, smooth: bool = False, most: int = 5
) -> tuple[Expression, list[np.ndarray]]:
    shape = draw(s.shapes(0, 3, 1, 3))
    points = [draw(s.arrays(shape[draw(st.integers(0, len(shape))) if i else 0 :])) for i in range(inputs)]
    return draw(expressions(points, smooth, most)), points


def agree(got: Any, want: Any, what: str) -> None:
    s.close(got, want, what, rtol=1e-7, atol=1e-8)


@given(functions(), stacks())
def test_stacks_are_loops_and_eager_derivatives(case: Any, stack: Any) -> None:
    f, (point,) = case
    x = pb.tensor(point)
    y = f(x)
    assume(cost(stack, x.numel(), y.numel()) <= 200)
    ours, slow = through(stack, f)
    event(f"depth {len(stack)}")
    agree(ours(x), slow(x), "stack")


@given(functions(inputs=2), s.seeds, st.integers(0, 8), st.none() | st.integers(1, 4))
def test_batches_of_some_arguments(case: Any, seed: int, where: int, chunk: int | None) -> None:
    f, (a, b) = case
    n = 3
    in_dims = (
        None if where % 3 == 2 else where % (a.ndim + 1),
        None if where // 3 == 2 else -1 - where // 3 % (b.ndim + 1),
    )
    assume(in_dims != (None, None))
    many = [[p + 0.1 * i for i in range(n)] if d is not None else [p] * n for p, d in zip((a, b), in_dims, strict=True)]
    want = [f(pb.tensor(p), pb.tensor(q)) for p, q in zip(*many, strict=True)]
    stacked = [pb.tensor(np.stack(ps, d) if d is not None else ps[0]) for ps, d in zip(many, in_dims, strict=True)]
    out = seed % (want[0].dim() + 1)
    agree(vmap(f, in_dims=in_dims, out_dims=out, chunk_size=chunk)(*stacked), pb.stack(want, out), "vmap")
    per_sample = grad(lambda p, q: f(p, q).sum(), argnums=(0, 1))
    got = vmap(per_sample, in_dims=in_dims, chunk_size=chunk)(*stacked)
    each = [per_sample(pb.tensor(p), pb.tensor(q)) for p, q in zip(*many, strict=True)]
    agree(got, [pb.stack(gs) for gs in zip(*each, strict=True)], "vmap of grad")


@given(functions(inputs=2), s.seeds)
def test_modes_are_adjoint_and_linear(case: Any, seed: int) -> None:
    f, points = case
    xs = [pb.tensor(p) for p in points]
    vs = [pb.tensor(s.numbers(seed + i, p.shape)) for i, p in enumerate(points)]
    y, pull = vjp(f, *xs)
    u, w = (pb.tensor(s.numbers(seed + 5 + i, tuple(y.shape))) for i in range(2))
    out, tangent = jvp(f, tuple(xs), tuple(vs))
    agree(out, y, "value under jvp")
    agree((tangent * u).sum(), sum((v * g).sum() for v, g in zip(vs, pull(u), strict=True)), "adjoint")
    agree(pull(2 * u - 3 * w), [2 * p - 3 * q for p, q in zip(pull(u), pull(w), strict=True)], "linear")
    value, push = linearize(f, *xs)
    agree(value, y, "value under linearize")
    agree(push(*vs), tangent, "linearize")
    agree(push(*(2 * v for v in vs)), 2 * tangent, "linear tangents")


@given(functions(inputs=2, smooth=True, most=4), s.seeds)
def test_tangents_are_differences(case: Any, seed: int) -> None:
    f, points = case
    vs = [s.numbers(seed + i, p.shape) for i, p in enumerate(points)]
    step = 1e-5
    ahead, behind = (f(*(pb.tensor(p + c * v) for p, v in zip(points, vs, strict=True))) for c in (step, -step))
    got = jvp(f, tuple(map(pb.tensor, points)), tuple(map(pb.tensor, vs)))[1]
    s.close(got, (ahead - behind) / (2 * step), "tangent", rtol=1e-5, atol=1e-6)


@given(functions(smooth=True, most=4))
def test_jacobians_and_hessians(case: Any) -> None:
    f, (point,) = case
    x = pb.tensor(point)
    assume(f(x).numel() * x.numel() <= 300)
    agree(jacrev(f)(x), jacfwd(f)(x), "Jacobians")
    assume(x.numel() <= 12)
    total = lambda x: f(x).sum()
    h = hessian(total)(x)
    n = x.dim()
    agree(h, h.permute(*range(n, 2 * n), *range(n)) if n else h, "symmetric")
    agree(jacrev(jacrev(total))(x), h, "reverse over reverse")
    agree(jacrev(jacfwd(total))(x), h, "reverse over forward")
    agree(jacfwd(jacfwd(total))(x), h, "forward over forward")


@given(functions(inputs=2))
def test_functionalize_changes_nothing(case: Any) -> None:
    f, points = case
    xs = [pb.tensor(p) for p in points]
    for remove in ("mutations", "mutations_and_views"):
        agree(functionalize(f, remove=remove)(*xs), f(*xs), remove)
    program = pb.func.trace(f)(*xs)
    agree(program(*xs), f(*xs), "traced")


@given(functions(), st.sampled_from([pb.float32, pb.bfloat16, pb.float16]))
def test_dtypes_of_derivatives(case: Any, dtype: Any) -> None:
    """A derivative has its argument's dtype, and a value has the dtype that it has without a transform."""
    f, (point,) = case
    x = pb.tensor(point).to(dtype)
    try:
        y = f(x)
    except RuntimeError:  # factorizations are for single and double precision
        assume(dtype is pb.float32)
        raise
    assume(y.dtype is dtype)
    assert grad(lambda x: f(x).sum())(x).dtype is dtype
    assert jvp(f, (x,), (x,))[1].dtype is dtype
    assert vmap(f)(x[None]).dtype is dtype
