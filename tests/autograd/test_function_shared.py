"""Custom functions over a batch, where some inputs, outputs and residuals do not depend on it: as a Python loop says.

Each case is drawn from a seed, which a failure prints. `PULLBACK_SHARED_CASES` runs more of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
CASES = int(os.environ.get("PULLBACK_SHARED_CASES", "60"))
ZERO = pb.zeros(2, dtype=pb.float64)
STYLES = ("new", "classic", "hidden", "custom_vjp", "residuals", "custom_jvp", "both")


class Case(NamedTuple):
    """Output j is the sum of `weights[j][i] * sin(x_i + i)` over the inputs i that it has weights for."""

    style: str
    size: int
    batched: list[bool]
    weights: list[dict[int, float]]
    # What backward gives inputs that the output does not depend on: no derivative, but each member gets its own.
    through: list[dict[int, float]]
    clip: bool


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    n, m = rng.randint(2, 3), rng.randint(1, 3)
    batched = [rng.random() < 0.5 for _ in range(n)]
    batched[rng.randrange(n)] = True
    weights = [{i: rng.uniform(0.5, 2) for i in rng.sample(range(n), rng.randint(1, n))} for _ in range(m)]
    style = rng.choice(STYLES)
    plain = style in ("custom_jvp", "both") or rng.random() < 0.7
    through = [{} if plain else {i: rng.uniform(0.5, 2) for i in range(n) if i not in w} for w in weights]
    return Case(style, rng.choice((0, 1, 2, 3)), batched, weights, through, not plain and rng.random() < 0.5)


def value(case: Case, xs: Any) -> tuple[Any, ...]:
    return tuple(sum((a * (xs[i] + i).sin() for i, a in w.items()), start=ZERO) for w in case.weights)


def pulled(case: Case, slopes: Any, gs: Any) -> tuple[Any, ...]:
    gs = [g.clamp(-1, 1) if case.clip else g for g in gs]
    total = [ZERO for _ in case.batched]
    for g, w, t in zip(gs, case.weights, case.through, strict=True):
        for i in w:
            total[i] = total[i] + w[i] * g * slopes[i]
        for i in t:
            total[i] = total[i] + t[i] * g
    return tuple(total)


def slopes_of(xs: Any) -> tuple[Any, ...]:
    return tuple((x + i).cos() for i, x in enumerate(xs))


def pushed(case: Case, xs: Any, ts: Any) -> tuple[Any, ...]:
    slopes = slopes_of(xs)
    return tuple(sum((a * slopes[i] * ts[i] for i, a in w.items()), start=ZERO) for w in case.weights)


def as_class(case: Case) -> Callable[..., Any]:
    """A Function whose residuals are its inputs, values of its setup, or hidden values of its forward."""

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*slopes_of(inputs))
        ctx.save_for_forward(*inputs)

    def classic(ctx: Any, *xs: Any) -> Any:
        ctx.save_for_backward(*(slopes_of(xs) if case.style == "hidden" else xs))
        return value(case, xs)

    def backward(ctx: Any, *gs: Any) -> Any:
        saved = ctx.saved_tensors
        return pulled(case, slopes_of(saved) if case.style == "classic" else saved, gs)

    methods: dict[str, Any] = {"backward": backward}
    if case.style in ("classic", "hidden"):
        methods["forward"] = classic
    else:
        methods |= {"forward": lambda *xs: value(case, xs), "setup_context": setup}
    if case.style == "both":
        methods["jvp"] = lambda ctx, *ts: pushed(case, ctx.saved_tensors, ts)
    members = {k: staticmethod(f) for k, f in methods.items()}
    return type("Drawn", (Function,), {**members, "generate_vmap_rule": True}).apply


def function(case: Case) -> Callable[..., Any]:
    if case.style == "custom_jvp":
        f = custom_jvp(lambda *xs: value(case, xs))
        f.defjvp(lambda primals, tangents: (f(*primals), pushed(case, primals, tangents)))
        return f
    if case.style in ("custom_vjp", "residuals"):
        v = custom_vjp(lambda *xs: value(case, xs))
        kept = slopes_of if case.style == "residuals" else tuple
        read = tuple if case.style == "residuals" else slopes_of
        v.defvjp(lambda *xs: (value(case, xs), kept(xs)), lambda saved, gs: pulled(case, read(saved), gs))
        return v
    return as_class(case)


class Program(NamedTuple):
    """The function over its batch, twice: by `vmap`, and by a loop."""

    batched: Callable[..., Any]
    looped: Callable[..., Any]
    xs: tuple[Any, ...]


def program(case: Case, seed: int) -> Program:
    f = function(case)
    generator = pb.Generator().manual_seed(seed)
    number = lambda *shape: pb.randn(shape, generator=generator, dtype=pb.float64)
    xs = tuple(number(case.size, 2) if b else number(2) for b in case.batched)
    weights = [number(case.size, 2) + 2 for _ in case.weights]

    def loss(outs: Any) -> Any:
        return sum(((w * y * y).sum() for w, y in zip(weights, outs, strict=True)), start=ZERO.sum())

    def looped(*xs: Any) -> Any:
        members = [f(*(x[k] if b else x for x, b in zip(xs, case.batched, strict=True))) for k in range(case.size)]
        return loss([pb.stack(column) for column in zip(*members, strict=True)] or [ZERO.expand(0, 2)] * len(weights))

    return Program(lambda *xs: loss(vmap(f, tuple(0 if b else None for b in case.batched))(*xs)), looped, xs)


def once(case: Case, seed: int) -> Program:
    """A part of the results leaves the batch as one value: those that depend on no batched input, and what is computed
    of them alone. The loop takes it from its first member."""
    f = function(case)
    rng = random.Random(-1 - seed)
    shared = [not any(case.batched[i] for i in w) for w in case.weights]
    kept = [s and rng.random() < 0.8 for s in shared]
    steps = [rng.choice(("none", "sin", "twice", "sum", "again", "mode", "written")) for _ in case.weights]
    p = program(case, seed)
    weights = [pb.full((2,), rng.uniform(0.5, 2), dtype=pb.float64) for _ in case.weights]

    def step(kind: str, y: Any) -> Any:
        if kind == "again":
            return exponential("classic")(y, y[0])
        if kind == "mode":
            with pb.no_grad():
                scale = y.exp()
            return y * scale
        if kind == "written":
            y = y * 1
            y[1] = y[0] * 3
            return y
        return {"none": y, "sin": y.sin(), "twice": y * y + y[1], "sum": (y * 2).sum().expand(2)}[kind]

    def member(*xs: Any) -> Any:
        return tuple(step(s, y) for s, y in zip(steps, f(*xs), strict=True))

    def loss(outs: Any) -> Any:
        # The one value counts once, however many members there are.
        return sum(((w * y * y).sum() for w, y in zip(weights, outs, strict=True)), start=ZERO.sum())

    def batched(*xs: Any) -> Any:
        out_dims = tuple(None if k else 0 for k in kept)
        return loss(vmap(member, tuple(0 if b else None for b in case.batched), out_dims=out_dims)(*xs))

    def looped(*xs: Any) -> Any:
        members = [member(*(x[k] if b else x for x, b in zip(xs, case.batched, strict=True))) for k in range(case.size)]
        columns = zip(*members, strict=True)
        return loss([column[0] if k else pb.stack(column) for k, column in zip(kept, columns, strict=True)])

    return Program(batched, looped, p.xs)


def eager(f: Any, xs: Any) -> Any:
    leaves = [x.clone().requires_grad_() for x in xs]
    (f(*leaves) + sum((x * 0).sum() for x in leaves)).backward()
    return [pb.zeros_like(x) if x.grad is None else x.grad for x in leaves]


def dual(f: Any, xs: Any) -> Any:
    with forward_ad.dual_level():
        out = f(*(forward_ad.make_dual(x, x.cos()) for x in xs))
        tangent = forward_ad.unpack_dual(out).tangent
    return ZERO.sum() if tangent is None else tangent


def derivatives_agree(p: Program, case: Case) -> None:
    """First and second order in both modes; nothing is differentiated twice through empty tensors."""
    everything = tuple(range(len(p.xs)))
    first = lambda f: grad(f, everything)(*p.xs)
    same(first(p.batched), first(p.looped))
    same(eager(p.batched, p.xs), eager(p.looped, p.xs))
    second = lambda f: grad(lambda *xs: sum((g * g).sum() for g in grad(f, everything)(*xs)), everything)(*p.xs)
    if case.size:
        same(second(p.batched), second(p.looped))
    if case.clip:
        return
    directions = tuple(x.cos() for x in p.xs)
    same(jvp(p.batched, p.xs, directions), jvp(p.looped, p.xs, directions))
    same(dual(p.batched, p.xs), dual(p.looped, p.xs))
    if case.size:
        for k in everything:
            same(hessian(p.batched, k)(*p.xs), hessian(p.looped, k)(*p.xs))


@pytest.mark.parametrize("seed", range(CASES))
def test_as_the_loop(seed: int) -> None:
    case = draw(seed)
    p = program(case, seed)
    print(f"seed {seed}: {case}")
    derivatives_agree(p, case)
    if case.size and not case.clip:
        for k in range(len(p.xs)):
            same(jacfwd(jacfwd(p.batched, k), k)(*p.xs), jacrev(jacrev(p.looped, k), k)(*p.xs))


@pytest.mark.parametrize("seed", range(CASES))
def test_one_value_of_all_members(seed: int) -> None:
    case = draw(seed + 2000)
    case = case._replace(size=max(1, case.size))
    p = once(case, seed)
    print(f"seed {seed}: {case}")
    same(p.batched(*p.xs), p.looped(*p.xs))
    derivatives_agree(p, case)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_nested_batches(seed: int) -> None:
    """Each input has none, one or both of two batches."""
    case = draw(seed + 1000)
    print(f"seed {seed + 1000}: {case}")
    rng = random.Random(seed)
    f = function(case)
    have = [(rng.random() < 0.5, rng.random() < 0.5) for _ in case.batched]
    have[0], have[-1] = (True, have[0][1]), (have[-1][0], True)
    generator = pb.Generator().manual_seed(seed)
    xs = tuple(
        pb.randn([n for n, h in zip((3, 2), hs, strict=True) if h] + [2], generator=generator, dtype=pb.float64)
        for hs in have
    )
    outer, inner = (tuple(0 if h[k] else None for h in have) for k in (0, 1))
    weight = pb.randn(3, 2, 2, generator=generator, dtype=pb.float64) + 2

    def batched(*xs: Any) -> Any:
        return sum((weight * y * y).sum() for y in vmap(vmap(f, inner), outer)(*xs))

    def looped(*xs: Any) -> Any:
        total: Any = 0
        for a in range(3):
            for b in range(2):
                rows = (x[a] if h[0] else x for x, h in zip(xs, have, strict=True))
                ys = f(*(x[b] if h[1] else x for x, h in zip(rows, have, strict=True)))
                total = total + sum((weight[a, b] * y * y).sum() for y in ys)
        return total

    everything = tuple(range(len(xs)))
    same(grad(batched, everything)(*xs), grad(looped, everything)(*xs))
    if not case.clip:
        same(jvp(batched, xs, xs), jvp(looped, xs, xs))
        second = lambda f: grad(lambda *xs: jvp(f, xs, xs)[1], everything)(*xs)
        same(second(batched), second(looped))


def exponential(style: str) -> Callable[[Any, Any], Any]:
    """x · exp(c); the residual exp(c) does not depend on the batch."""
    if style == "custom_vjp":
        f = custom_vjp(lambda x, c: x * c.exp())
        f.defvjp(lambda x, c: (x * c.exp(), (x, c.exp())), lambda r, g: (g * r[1], (g * r[0] * r[1]).sum()))
        return f

    def forward(ctx: Any, x: Any, c: Any) -> Any:
        e = c.exp()
        ctx.save_for_backward(x, e)
        return x * e

    def backward(ctx: Any, g: Any) -> Any:
        x, e = ctx.saved_tensors
        return g * e, (g * x * e).sum()

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Exponential", (Function,), methods).apply


@pytest.mark.parametrize("style", ["custom_vjp", "classic"])
def test_a_residual_that_all_members_share(style: str) -> None:
    f, c, xs = exponential(style), pb.tensor(0.0), pb.tensor([1.0, 2.0, 4.0])
    of = lambda c: vmap(grad(f), (0, None))(xs, c).sum()
    same(grad(of)(c), pb.tensor(3.0))
    same(jvp(of, (c,), (pb.tensor(1.0),)), (pb.tensor(3.0), pb.tensor(3.0)))
    same(hessian(lambda c: vmap(f, (0, None))(xs, c).sum())(c), pb.tensor(7.0))
    inside = lambda c: grad(lambda xs: vmap(f, (0, None))(xs, c).sum())(xs).sum()
    same((grad(inside)(c), jacfwd(inside)(c)), (pb.tensor(3.0), pb.tensor(3.0)))
    leaf = c.clone().requires_grad_()
    of(leaf).backward()
    same(leaf.grad, pb.tensor(3.0))


def test_infinite_values_of_shared_inputs_and_no_members() -> None:
    """What is shared is neither divided by the number of members nor multiplied with zeros."""

    class Pair(Function):
        @staticmethod
        def forward(x: Any, c: Any) -> Any:
            return x * c, c * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, c = ctx.saved_tensors
            return g * c, g * x + h * 3

    f = lambda x, c: sum(y.sum() for y in vmap(Pair.apply, (0, None))(x, c))
    inf = float("inf")
    same(grad(f, (0, 1))(pb.tensor([1.0, inf]), pb.tensor(2.0)), (pb.tensor([2.0, 2.0]), pb.tensor(inf)))
    same(grad(f, (0, 1))(pb.tensor([1.0, 3.0]), pb.tensor(inf)), (pb.tensor([inf, inf]), pb.tensor(10.0)))
    same(grad(f, (0, 1))(pb.zeros(0), pb.tensor(inf)), (pb.zeros(0), pb.tensor(0.0)))
    same(grad(f, (0, 1))(pb.ones(1), pb.tensor(2.0)), (pb.tensor([2.0]), pb.tensor(4.0)))
    constant = lambda x, c: vmap(Pair.apply, (0, None))(x, c)[1].sum()
    same(grad(constant, 1)(pb.ones(3), pb.tensor(2.0)), pb.tensor(9.0))


def test_outputs_without_a_batch_stay_so_where_nobody_differentiates() -> None:
    f = as_class(Case("new", 2, [True, False], [{0: 1.0}, {1: 1.0}], [{}, {}], False))
    values = vmap(f, (0, None), out_dims=(0, None))(pb.ones(3, 2), pb.ones(2))
    assert [v.shape for v in values] == [(3, 2), (2,)]


def test_what_differs_is_no_one_value() -> None:
    f = as_class(Case("new", 2, [True, False], [{0: 1.0}, {1: 1.0}], [{}, {}], False))
    xs, c = pb.stack([ZERO, ZERO + 1]), ZERO + 2
    one = lambda g, **kw: grad(lambda c: vmap(g, (0, None), out_dims=None, **kw)(xs, c).sum())(c)
    same(one(lambda x, c: f(x, c)[1] * 2), 2 * (c + 1).cos())
    for g in (
        lambda x, c: f(x, c)[0],
        lambda x, c: f(x, c)[1] + x * 0,
        lambda x, c: f(x, c)[1] + pb.randn(2, dtype=pb.float64),
        lambda x, c: f(f(x, c)[0], c)[0] + f(x, c)[1],
    ):
        with pytest.raises(ValueError, match=r"(?s)out_dim is None.*differs.*test_function_shared\.py:\d+"):
            one(g, randomness="different")
    with pytest.raises(ValueError, match="no members"):
        grad(lambda c: vmap(lambda x, c: f(x, c)[1], (0, None), out_dims=None)(xs[:0], c).sum())(c)


def test_one_value_in_nested_batches() -> None:
    """Each of two batches has one value or many."""
    f = as_class(Case("new", 2, [True, True, True], [{0: 1.0}, {1: 1.0}, {2: 1.0}], [{}] * 3, False))
    a, b, c = (pb.arange(2 * n, dtype=pb.float64).reshape(n, 2) for n in (3, 2, 1))

    def both(a: Any, b: Any, c: Any) -> Any:
        inner = vmap(lambda a, b, c: tuple(y * y for y in f(a, b, c)), (None, 0, None), out_dims=(None, 0, None))
        return vmap(inner, (0, None, None), out_dims=(0, None, None))(a, b, c[0])

    outs = both(a, b, c)
    same(outs, (a.sin() ** 2, (b + 1).sin() ** 2, (c[0] + 2).sin() ** 2))
    total = lambda f: lambda *xs: sum((y * y).sum() for y in f(*xs))
    plain = lambda a, b, c: (a.sin() ** 2, (b + 1).sin() ** 2, (c[0] + 2).sin() ** 2)
    for k in range(3):
        same(grad(total(both), k)(a, b, c), grad(total(plain), k)(a, b, c))
        same(hessian(total(both), k)(a, b, c), hessian(total(plain), k)(a, b, c))
    same(jvp(both, (a, b, c), (a, b, c)), jvp(plain, (a, b, c), (a, b, c)))


def test_one_value_may_be_read() -> None:
    """A program may branch on what all members share, also where a derivative follows it."""
    f = as_class(Case("new", 2, [True, False], [{0: 1.0}, {1: 1.0}], [{}, {}], False))

    def branches(x: Any, c: Any) -> Any:
        y = f(x, c)[1]
        assert y.tolist() == y.tolist() and y[0].item() > 0
        return y * 2 if y.sum() > 0 else x

    xs, c = pb.stack([ZERO, ZERO + 1]), ZERO + 0.5
    same(grad(lambda c: vmap(branches, (0, None), out_dims=None)(xs, c).sum())(c), 2 * (c + 1).cos())
    with pytest.raises(RuntimeError, match="data-dependent"):
        grad(lambda c: vmap(lambda x, c: x if f(x, c)[0].sum() > 0 else c, (0, None))(xs, c).sum())(c)
