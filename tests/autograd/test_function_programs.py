"""Random Functions with captured, written and saved tensors: the derivative of the same program without a Function, or
an error, but never another number.

Each case is drawn from a seed, which a failure prints. `PULLBACK_FUNCTION_CASES` runs more of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import pullback as pb
from pullback import autograd
from pullback.autograd import Function
from pullback.func import grad, hessian, jacrev, jvp, vmap

CASES = int(os.environ.get("PULLBACK_FUNCTION_CASES", "150"))
FIRST = int(os.environ.get("PULLBACK_FUNCTION_SEED", "0"))


class Case(NamedTuple):
    """A Function of x and k, and of a callable that may hold k, or a tensor c that is no argument."""

    style: str
    holds: str  # what the callable captures: "k", "c" or nothing
    mode: str  # how the forward computes
    write: str  # what it does to a scratch argument
    saves: str
    pull: str  # how the backward computes
    ops: list[str]


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    case = Case(
        style=rng.choice(("classic", "separate")),
        holds=rng.choice(("k", "k", "c", "")),
        mode=rng.choice(("plain", "plain", "no_grad", "enable_grad")),
        write=rng.choice(("", "", "data", "silent", "argument")),
        saves=rng.choice(("save", "attribute", "closure")),
        pull=rng.choice(("linked", "recorded", "detached", "backward")),
        ops=[rng.choice(("mul", "sin", "add", "exp", "square")) for _ in range(rng.randint(1, 3))],
    )
    if case.holds == "c" and case.mode == "no_grad":
        case = case._replace(mode="plain")  # c would be a constant by the program's own word
    if case.saves == "closure" and case.pull in ("detached", "backward"):
        case = case._replace(pull="linked")  # what is held would not be what is detached
    return case


def compute(ops: list[str], f: Any, x: Any, k: Any) -> Any:
    """The values; `f` multiplies by what it holds."""
    y = f(x)
    for op in ops:
        if op == "mul":
            y = y * k
        elif op == "add":
            y = y + k * x
        elif op == "square":
            y = y * y
        else:
            y = getattr(y, op)() * 0.5
    return y


def backward(case: Case, held: Any, x: Any, k: Any, g: Any) -> tuple[Any, Any]:
    if case.pull in ("detached", "backward"):
        x, k = x.detach().requires_grad_(), k.detach().requires_grad_()
    # What the callable holds is what the caller passed: here as it was saved.
    f = (lambda x: x * k) if case.holds == "k" and case.saves != "closure" else held
    with pb.enable_grad():
        y = compute(case.ops, f, x, k)
    if case.pull == "backward":
        autograd.backward(y, g)
        return x.grad, k.grad
    create_graph = case.pull == "recorded"
    wanted = [t for t in (x, k) if t.requires_grad]
    found = iter(autograd.grad(y, wanted, g, create_graph=create_graph, allow_unused=True))
    gx, gk = (next(found) if t.requires_grad else None for t in (x, k))
    return gx, gk


def build(case: Case) -> Any:
    def run(f: Any, x: Any, k: Any, s: Any) -> Any:
        if case.write == "data":
            s.data[0] = 4.0
        elif case.write == "silent":
            s.mul_(3)
        elif case.write == "argument":
            x.data.mul_(1)
        if case.mode == "plain":
            return compute(case.ops, f, x, k) + s * 0
        with pb.no_grad() if case.mode == "no_grad" else pb.enable_grad():
            return compute(case.ops, f, x, k) + s * 0

    def keep(ctx: Any, f: Any, x: Any, k: Any) -> None:
        ctx.f = f
        if case.saves == "attribute":
            ctx.x, ctx.pair = x, {"k": k}
        else:
            ctx.save_for_backward(x, k)

    def classic(ctx: Any, f: Any, x: Any, k: Any, s: Any) -> Any:
        keep(ctx, f, x, k)
        return run(f, x, k, s)

    def pull(ctx: Any, g: Any) -> Any:
        x, k = (ctx.x, ctx.pair["k"]) if case.saves == "attribute" else ctx.saved_tensors
        gx, gk = backward(case, ctx.f, x, k, g)
        return None, gx, gk, None

    methods: dict[str, Any] = {"backward": pull}
    if case.style == "classic":
        methods["forward"] = classic
    else:
        methods |= {"forward": run, "setup_context": lambda ctx, inputs, output: keep(ctx, *inputs[:3])}
    return type("Drawn", (Function,), {n: staticmethod(m) for n, m in methods.items()}).apply


def holder(case: Case, k: Any, c: Any) -> Any:
    held = {"k": k, "c": c, "": 2.0}[case.holds]
    return lambda x: x * held


X = pb.tensor([0.3, -0.7], dtype=pb.float64)
K = pb.tensor([1.1, 0.6], dtype=pb.float64)
C = pb.tensor([0.9, -1.2], dtype=pb.float64)
ONES = pb.ones(2, dtype=pb.float64)


def ambient(f: Any, create_graph: bool = False) -> Any:
    xs = [t.clone().requires_grad_() for t in (X, K, C)]
    loss = f(*(x * 1 for x in xs)).sum()
    if not create_graph:
        loss.backward()
        return [pb.zeros_like(x) if x.grad is None else x.grad for x in xs]
    gs = autograd.grad(loss, xs, create_graph=True, materialize_grads=True)
    total = sum(g.sum() for g in gs)
    if not total.requires_grad:
        return [pb.zeros_like(x) for x in xs]
    return autograd.grad(total, xs, materialize_grads=True)


def derivatives() -> dict[str, Callable[[Any], Any]]:
    every = (0, 1, 2)
    first = lambda f: grad(lambda *a: f(*a).sum(), argnums=every)
    total = lambda f: lambda *a: sum(g.sum() for g in first(f)(*a))
    rows = lambda f: [pb.stack([t, 2 * t]) for t in (X, K, C)]
    return {
        "backward": ambient,
        "double backward": lambda f: ambient(f, create_graph=True),
        "grad": lambda f: first(f)(X, K, C),
        "grad of one": lambda f: grad(lambda k: f(X, k, C).sum())(K),
        "grad of the other": lambda f: grad(lambda c: f(X * c, K, c).sum())(C),
        "grad of grad": lambda f: grad(total(f), argnums=every)(X, K, C),
        "jacrev": lambda f: jacrev(f, argnums=every)(X, K, C),
        "jvp": lambda f: jvp(f, (X, K, C), (ONES, ONES, ONES))[1],
        "jvp of grad": lambda f: jvp(first(f), (X, K, C), (ONES, ONES, ONES))[1],
        "hessian": lambda f: hessian(lambda k: f(X, k, C).sum())(K),
        "vmap": lambda f: vmap(f)(*rows(f)),
        "vmap of grad": lambda f: vmap(first(f))(*rows(f)),
        "grad of vmap": lambda f: grad(lambda *a: vmap(f)(*a).sum(), argnums=every)(*rows(f)),
        "vmap, shared": lambda f: grad(lambda k: vmap(lambda x: f(x, k, C))(pb.stack([X, 2 * X])).sum())(K),
    }


def close(got: Any, want: Any) -> bool:
    pairs = zip(pb.utils.pytree.tree_leaves(got), pb.utils.pytree.tree_leaves(want), strict=True)
    return all(pb.allclose(a.detach(), b.detach(), rtol=1e-7, atol=1e-9) for a, b in pairs)


def outcomes(case: Case) -> dict[str, str]:
    apply = build(case)

    def wrapped(x: Any, k: Any, c: Any) -> Any:
        return apply(holder(case, k, c), x, k, pb.zeros(2, dtype=pb.float64))

    def plain(x: Any, k: Any, c: Any) -> Any:
        return compute(case.ops, holder(case, k, c), x, k)

    found = {}
    for name, derivative in derivatives().items():
        want = derivative(plain)
        try:
            found[name] = "right" if close(derivative(wrapped), want) else "wrong"
        except (RuntimeError, NotImplementedError) as error:
            found[name] = f"raises {error}"
    return found


@pytest.mark.parametrize("block", range(5))
def test_random_functions(block: int) -> None:
    right = 0
    for i in range(block * CASES // 5, (block + 1) * CASES // 5):
        case = draw(FIRST + i)
        found = outcomes(case)
        right += sum(v == "right" for v in found.values())
        wrong = [n for n, v in found.items() if v == "wrong"]
        assert not wrong, f"seed {FIRST + i}: {wrong}\n{case}"
        # What every one of these must do: a constant that nobody differentiates, and first derivatives.
        if case.holds != "c":
            batches = ("vmap", "vmap of grad", "grad of vmap")
            of_k = case.holds == "k" or {"mul", "add"} & set(case.ops)
            for name in ("backward", "grad", *(("grad of one",) if of_k else ()), "jacrev", *batches):
                assert found[name] == "right", f"seed {FIRST + i}: {name}: {found[name]}\n{case}"
        if case.holds != "c" and case.pull == "recorded":
            for name in ("double backward", "grad of grad"):
                assert found[name] == "right", f"seed {FIRST + i}: {name}: {found[name]}\n{case}"
    assert right > 0
