"""Stacks of transforms, and what they mean in loops and eager derivatives.

Each layer takes a function of a tensor to a function of a tensor of the same shape: once by a transform, and once by
`autograd.grad` with a graph, one output after the other, and loops over batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import pullback as pb
from pullback.func import functionalize, grad, grad_and_value, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.utils.checkpoint import checkpoint

Function = Callable[[Any], Any]


class Layer(NamedTuple):
    says: str
    ours: Callable[[Function], Function]
    slow: Callable[[Function], Function]

    def __repr__(self) -> str:
        return self.says


def weights(y: Any) -> Any:
    """Numbers that are the same for each value of a shape."""
    return pb.linspace(-1.0, 1.3, y.numel(), dtype=pb.float64).reshape(y.shape)


def weighed(f: Function) -> Function:
    def scalar(x: Any) -> Any:
        y = f(x)
        return (y * weights(y)).sum()

    return scalar


def leaf(x: Any) -> Any:
    return x * 1.0 if x.requires_grad else x.detach().clone().requires_grad_()


def slope(y: Any, x: Any) -> Any:
    if not y.requires_grad:
        return pb.zeros_like(x)
    (g,) = pb.autograd.grad(y, x, create_graph=True, allow_unused=True)
    return pb.zeros_like(x) if g is None else g


def slow_grad(f: Function) -> Function:
    def run(x: Any) -> Any:
        x = leaf(x)
        return slope(weighed(f)(x), x)

    return run


def slow_jacobian(f: Function) -> Function:
    def run(x: Any) -> Any:
        x = leaf(x)
        y = f(x)
        rows = [slope(e, x) for e in y.reshape(-1).unbind()]
        return pb.stack(rows).reshape(y.shape + x.shape) if rows else pb.zeros(y.shape + x.shape, dtype=x.dtype)

    return run


def slow_jvp(f: Function) -> Function:
    def run(x: Any) -> Any:
        jacobian = slow_jacobian(f)(x)
        return (
            (jacobian * weights(x)).sum(tuple(range(jacobian.dim() - x.dim(), jacobian.dim())))
            if x.dim()
            else jacobian * weights(x)
        )

    return run


def members(x: Any, n: int) -> list[Any]:
    return [x * (1 - 0.1 * i) + 0.07 * i for i in range(n)]


def batched(n: int, into: int, out: int, chunk: int | None) -> Layer:
    """`vmap` over a batch that is made of the argument, at a dimension modulo the rank."""

    def ours(f: Function) -> Function:
        def run(x: Any) -> Any:
            d = into % (x.dim() + 1)
            rank = f(x).dim() + 1
            return vmap(f, in_dims=d, out_dims=out % rank, chunk_size=chunk)(pb.stack(members(x, n), d))

        return run

    def slow(f: Function) -> Function:
        def run(x: Any) -> Any:
            ys = [f(m) for m in members(x, n)]
            return pb.stack(ys, out % (ys[0].dim() + 1))

        return run

    return Layer(f"vmap({n}, {into}, {out}, {chunk})", ours, slow)


FIXED = [
    Layer("grad", lambda f: lambda x: grad(weighed(f))(x), slow_grad),
    Layer("grad_and_value", lambda f: lambda x: grad_and_value(weighed(f))(x)[0], slow_grad),
    Layer("vjp", lambda f: lambda x: pulled(f, x), slow_grad),
    Layer("jvp", lambda f: lambda x: jvp(f, (x,), (weights(x),))[1], slow_jvp),
    Layer("linearize", lambda f: lambda x: linearize(f, x)[1](weights(x)), slow_jvp),
    Layer("jacrev", lambda f: lambda x: jacrev(f)(x), slow_jacobian),
    Layer("jacfwd", lambda f: lambda x: jacfwd(f)(x), slow_jacobian),
    Layer("functionalize", lambda f: lambda x: functionalize(f)(x), lambda f: f),
    Layer("checkpoint", lambda f: lambda x: checkpoint(f, x, use_reentrant=False), lambda f: f),
]


def held(f: Function, x: Any) -> Function:
    """The function times a number that comes from outside of it."""
    return lambda u: f(u) * x.sin().sum()


# Functions that capture what is followed outside: derivatives by the argument must not see it, those around must.
FIXED += [
    Layer(
        "grad of what captures",
        lambda f: lambda x: grad(weighed(held(f, x)))(x),
        lambda f: lambda x: slow_grad(held(f, x))(x),
    ),
    Layer(
        "jvp of what captures",
        lambda f: lambda x: jvp(held(f, x), (x,), (weights(x),))[1],
        lambda f: lambda x: slow_jvp(held(f, x))(x),
    ),
    Layer(
        "vjp of what captures, at a constant",
        lambda f: lambda x: pulled(held(f, x), x.detach()),
        lambda f: lambda x: slow_grad(held(f, x))(x.detach().clone().requires_grad_()),
    ),
]


def pulled(f: Function, x: Any) -> Any:
    y, pull = vjp(f, x)
    return pull(weights(y))[0]


batches = st.builds(batched, st.integers(1, 3), st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(1, 3))
layers = st.one_of(st.sampled_from(FIXED), batches, st.sampled_from(FIXED))


@st.composite
def stacks(draw: st.DrawFn, most: int = 3) -> list[Layer]:
    return draw(st.lists(layers, min_size=1, max_size=most))


def cost(stack: list[Layer], numel: int, out: int) -> int:
    """Roughly how often the function runs by the slow way, and how large the result is."""
    for layer in stack:
        if layer.says.startswith("vmap"):
            out *= int(layer.says[5])
        elif layer.says.startswith("jac"):
            out *= numel
        elif layer.says.startswith(("grad", "vjp")):
            out = numel
    return out


def through(stack: list[Layer], f: Function) -> tuple[Function, Function]:
    ours = slow = f
    for layer in stack:
        ours, slow = layer.ours(ours), layer.slow(slow)
    return ours, slow


def finite(x: Any) -> bool:
    return bool(np.isfinite(x.detach().numpy()).all())
