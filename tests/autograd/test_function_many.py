"""Functions of more than 64 arguments and results: each of them is one of its own."""

# ruff: noqa: B023 -- functions are called where they are made
from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_jvp, custom_vjp, grad, jvp, vmap
from pullback.library import custom_op

same = pb.testing.assert_close
COUNTS = (63, 64, 65, 70, 130)


def numbers(n: int) -> list[Any]:
    return [pb.tensor(1.0 + i) for i in range(n)]


def classic(ctx: Any, *xs: Any) -> Any:
    ctx.save_for_backward(*xs)
    return tuple(x * x for x in xs)


def squares(style: str) -> type[Function]:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx: Any, *gs: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return tuple(2 * x * g if need else None for x, g, need in zip(ctx.saved_tensors, gs, seen[-1], strict=True))

    def along(ctx: Any, *ts: Any) -> Any:
        return tuple(2 * x * t for x, t in zip(ctx.saved_tensors, ts, strict=True))

    seen: list[Any] = []
    methods: dict[str, Any] = {"backward": backward, "jvp": along, "forward": classic}
    if style != "classic":
        methods |= {"forward": lambda *xs: tuple(x * x for x in xs), "setup_context": setup}
    if style == "from jvp":
        del methods["backward"]
    if style == "from backward":
        del methods["jvp"]
    made = type("Squares", (Function,), {k: staticmethod(m) for k, m in methods.items()} | {"seen": seen})
    made.generate_vmap_rule = True
    return made


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("style", ["new", "classic", "from jvp", "from backward"])
def test_each_argument_and_result(style: str, n: int) -> None:
    f, xs = squares(style), numbers(n)
    for i in {0, 1, 62, 63, 64, 65, 69, 70, n - 2, n - 1}:
        if i >= n:
            continue
        of = lambda x, i=i: f.apply(*(x if k == i else v for k, v in enumerate(xs)))
        for j in {0, 62, n // 2, i, n - 1}:
            expected = pb.tensor(2.0 * (i + 1) if i == j else 0.0)
            same(grad(lambda x, j=j: of(x)[j])(xs[i]), expected)
            if style != "from jvp":
                assert f.seen[-1] == tuple(k == i for k in range(n))  # type: ignore[attr-defined]
        tangents = jvp(of, (xs[i],), (pb.tensor(1.0),))[1]
        assert [t.item() for t in tangents] == [2.0 * (i + 1) if k == i else 0.0 for k in range(n)]
        same(vmap(grad(lambda x: of(x)[i]))(pb.ones(2)), pb.full((2,), 2.0))
        same(grad(lambda x: vmap(of)(x)[i].sum())(pb.ones(2)), pb.full((2,), 2.0))


@pytest.mark.parametrize("n", COUNTS)
def test_all_arguments_at_once(n: int) -> None:
    xs = numbers(n)
    for style in ("new", "classic", "from jvp", "from backward"):
        f = squares(style).apply
        gradients = grad(lambda *xs: sum(f(*xs)), tuple(range(n)))(*xs)
        assert [g.item() for g in gradients] == [2.0 * (i + 1) for i in range(n)]
        leaves = [x.clone().requires_grad_(i % 3 == 0) for i, x in enumerate(xs)]
        pb.autograd.backward([y for y in f(*leaves) if y.requires_grad], [pb.tensor(1.0)] * n)
        assert [None if x.grad is None else x.grad.item() for x in leaves] == [
            2.0 * (i + 1) if i % 3 == 0 else None for i in range(n)
        ]
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, pb.tensor(1.0)) if i % 2 else x for i, x in enumerate(xs)]
            found = [forward_ad.unpack_dual(y).tangent for y in f(*duals)]
        assert [0.0 if t is None else t.item() for t in found] == [2.0 * (i + 1) * (i % 2) for i in range(n)]
        same(vmap(f, (0,) * n)(*(x.expand(2) for x in xs))[-1], pb.full((2,), float(n * n)))


@pytest.mark.parametrize("marked", [0, 62, 63, 64, 65, 69])
@pytest.mark.parametrize("old", [True, False])
def test_non_differentiable_results(marked: int, old: bool) -> None:
    def mark(ctx: Any, outputs: Any) -> None:
        ctx.mark_non_differentiable(outputs[marked])

    def forward(ctx: Any, *xs: Any) -> Any:
        out = tuple(x * 1 for x in xs)
        mark(ctx, out)
        return out

    methods: dict[str, Any] = {"forward": forward, "backward": lambda ctx, *gs: gs}
    if not old:
        methods["forward"] = lambda *xs: tuple(x * 1 for x in xs)
        methods["setup_context"] = lambda ctx, inputs, output: mark(ctx, output)
    f: Any = type("Marked", (Function,), {k: staticmethod(m) for k, m in methods.items()})
    leaves = [x.requires_grad_() for x in numbers(70)]
    out = f.apply(*leaves)
    assert [y.requires_grad for y in out] == [i != marked for i in range(70)]
    for i in range(60, 70):
        same(
            grad(lambda x, i=i: f.apply(*leaves[:i], x, *leaves[i + 1 :])[i])(pb.ones(())),
            float(i != marked) * pb.ones(()),
        )
    tangents = jvp(lambda *xs: f.apply(*xs), tuple(leaves), (pb.ones(()),) * 70)[1]
    assert [t.item() for t in tangents] == [float(i != marked) for i in range(70)]


def test_changed_arguments() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.mark_dirty(xs[66])
            xs[66].mul_(2)
            return xs[66]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return tuple(2 * g if i == 66 else None for i in range(70))

    xs = numbers(70)
    leaf = pb.tensor(3.0, requires_grad=True)
    given = leaf * 1
    out = Doubled.apply(*xs[:66], given, *xs[67:])
    assert out is given and given.item() == 6
    out.backward()
    same(leaf.grad, pb.tensor(2.0))


@pytest.mark.parametrize("i", [0, 63, 64, 69])
def test_decorators_and_operators(i: int) -> None:
    v = custom_vjp(lambda *xs: tuple(x * x for x in xs))
    v.defvjp(
        lambda *xs: (tuple(x * x for x in xs), xs), lambda xs, gs: tuple(2 * x * g for x, g in zip(xs, gs, strict=True))
    )
    j = custom_jvp(lambda *xs: tuple(x * x for x in xs))
    j.defjvp(lambda xs, ts: (j(*xs), tuple(2 * x * t for x, t in zip(xs, ts, strict=True))))
    xs = numbers(70)
    for f in (v, j):
        of = lambda x, f=f: f(*xs[:i], x, *xs[i + 1 :])
        same(grad(lambda x: of(x)[i])(xs[i]), pb.tensor(2.0 * (i + 1)))
        assert [t.item() for t in jvp(of, (xs[i],), (pb.ones(()),))[1]] == [2.0 * (k + 1) * (k == i) for k in range(70)]

    @custom_op("tests::many", mutates_args=())
    def total(xs: list[pb.Tensor]) -> pb.Tensor:
        return pb.stack([x * x for x in xs])

    total.register_autograd(
        lambda ctx, g: [2 * x * h for x, h in zip(ctx.saved_tensors, g, strict=True)],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[0]),
    )
    of_op = lambda x: total([*xs[:i], x, *xs[i + 1 :]])[i]
    same(grad(of_op)(xs[i]), pb.tensor(2.0 * (i + 1)))
    same(jvp(of_op, (xs[i],), (pb.ones(()),))[1], pb.tensor(2.0 * (i + 1)))


@pytest.mark.parametrize("n", [64, 65, 100, 130])
def test_operators_of_many_tensors(n: int) -> None:
    xs = [pb.tensor([1.0 + i, -1.0]) for i in range(n)]
    weights = pb.arange(n, dtype=pb.float32)
    for i in {0, 63, n // 2, n - 1}:
        of = lambda x, i=i: (pb.stack([*xs[:i], x, *xs[i + 1 :]])[:, 0] * weights).sum()
        same(grad(of)(xs[i]), pb.tensor([float(i), 0.0]))
        joined = lambda x, i=i: (pb.cat([*xs[:i], x, *xs[i + 1 :]])[::2] * weights).sum()
        same(grad(joined)(xs[i]), pb.tensor([float(i), 0.0]))
        same(jvp(joined, (xs[i],), (pb.ones(2),))[1], pb.tensor(float(i)))
        same(vmap(grad(joined))(pb.ones(2, 2)), pb.tensor([[float(i), 0.0]] * 2))
    rows = pb.arange(n, dtype=pb.float32)
    for parts in (lambda x: x.unbind(), lambda x: x.split(1), lambda x: x.chunk(n)):
        for i in {0, 63, n // 2, n - 1}:
            same(grad(lambda x, i=i, parts=parts: parts(x)[i].sum() * 3)(rows), 3.0 * (rows == i))
