"""Workloads whose arrays are tiny: what remains is the cost of an operator, a transform, a custom function."""

from __future__ import annotations

from typing import Any

import numpy as np

from libraries import Tensors, normal
from measure import Goal, Workload

ONE = np.float32(1)


# ---------------------------------------------------------------- operators
def add(lib: Tensors) -> Any:
    return "x + y", {"x": lib.tensor(normal("x", 8)), "y": lib.tensor(normal("y", 8))}


def numpy_add() -> Any:
    return "x + y", {"x": normal("x", 8), "y": normal("y", 8)}


def chain(x: Any) -> Any:
    """Twenty operators, one after the other."""
    for _ in range(4):
        x = x * 1.5
        x = x.sin()
        x = x + 0.5
        x = x * x
        x = x.tanh()
    return x


def numpy_chain() -> Any:
    x = normal("x", 8)
    scale, shift = np.float32(1.5), np.float32(0.5)

    def run() -> Any:
        y = x
        for _ in range(4):
            y = y * scale
            y = np.sin(y)
            y = y + shift
            y = y * y
            y = np.tanh(y)
        return y

    return run


def twenty(lib: Tensors) -> Any:
    x = lib.tensor(normal("x", 8))
    return lambda: chain(x)


def backward_twenty(lib: Tensors) -> Any:
    start = lib.tensor(normal("x", 8))

    def run() -> Any:
        x = start.detach().requires_grad_()
        chain(x).sum().backward()
        return x.grad

    return run


def graph_twice(lib: Tensors) -> Any:
    start, grad = lib.tensor(normal("x", 8)), lib.T.autograd.grad

    def run() -> Any:
        x = start.detach().requires_grad_()
        (first,) = grad(chain(x).sum(), x, create_graph=True)
        return grad(first.sum(), x)[0]

    return run


def dual_twenty(lib: Tensors) -> Any:
    x, t, forward = lib.tensor(normal("x", 8)), lib.tensor(normal("t", 8)), lib.T.autograd.forward_ad

    def run() -> Any:
        with forward.dual_level():
            return tuple(forward.unpack_dual(chain(forward.make_dual(x, t))))

    return run


def fill(lib: Tensors, row: Any, rows: int) -> Any:
    """A buffer that is filled row by row in a loop."""
    out = lib.T.zeros(rows, row.shape[0])
    for i in range(rows):
        out[i] = row
    return out


def filling(lib: Tensors, rows: int = 1000) -> Any:
    row = lib.tensor(normal("row", 1000))
    return lambda: fill(lib, row, rows)


# ---------------------------------------------------------------- transforms
def wave(x: Any) -> Any:
    return x.sin() + 1


def summed(x: Any) -> Any:
    return x.sin().sum()


def grad_of(lib: Tensors) -> Any:
    x, grad = lib.tensor(normal("x", 8)), lib.T.func.grad
    return lambda: grad(summed)(x)


def jvp_of(lib: Tensors) -> Any:
    x, t, jvp = lib.tensor(normal("x", 16, 8)), lib.tensor(normal("t", 16, 8)), lib.T.func.jvp
    return lambda: jvp(wave, (x,), (t,))


def vjp_of(lib: Tensors) -> Any:
    x, c, vjp = lib.tensor(normal("x", 16, 8)), lib.tensor(normal("t", 16, 8)), lib.T.func.vjp

    def run() -> Any:
        value, pull = vjp(wave, x)
        return value, pull(c)[0]

    return run


def vmap_of(lib: Tensors) -> Any:
    x, vmap = lib.tensor(normal("x", 16, 8)), lib.T.func.vmap
    return lambda: vmap(wave)(x)


def vmap_grad_of(lib: Tensors) -> Any:
    x, func = lib.tensor(normal("x", 16, 8)), lib.T.func
    return lambda: func.vmap(func.grad(summed))(x)


def jvp_vmap_of(lib: Tensors) -> Any:
    x, t, func = lib.tensor(normal("x", 16, 8)), lib.tensor(normal("t", 16, 8)), lib.T.func
    return lambda: func.jvp(func.vmap(wave), (x,), (t,))


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def hessian_of(lib: Tensors) -> Any:
    x, hessian = lib.tensor(normal("x", 10)), lib.T.func.hessian
    return lambda: hessian(rosenbrock)(x)


def jacobian_of(which: str) -> Any:
    def build(lib: Tensors) -> Any:
        w1, w2 = lib.tensor(normal("w1", 32, 16, scale=0.25)), lib.tensor(normal("w2", 16, 32, scale=0.2))
        b1, b2 = lib.tensor(normal("b1", 32)), lib.tensor(normal("b2", 16))
        x, linear, jacobian = lib.tensor(normal("x", 16)), lib.F.linear, getattr(lib.T.func, which)

        def mlp(v: Any) -> Any:
            return linear(linear(v, w1, b1).tanh(), w2, b2).tanh()

        return lambda: jacobian(mlp)(x)

    return build


def of_torch(limit: float) -> tuple[Goal, ...]:
    return (Goal("torch", limit),)


WORKLOADS = [
    Workload("add8", "`a + b`, 8 float32", add, (Goal("numpy", 0.6), Goal("torch", 0.12)), numpy_add),
    Workload("chain20", "20 chained operators, 8 float32", twenty, (Goal("numpy", 0.5),), numpy_chain),
    Workload("grad", "`grad(x.sin().sum())`, 8", grad_of, of_torch(0.02)),
    Workload("jvp", "`jvp(x.sin() + 1)`, (16, 8)", jvp_of, of_torch(0.02)),
    Workload("vmap_grad", "`vmap(grad(…))`, (16, 8)", vmap_grad_of, of_torch(0.02)),
    Workload("jvp_vmap", "`jvp(vmap(…))`, (16, 8)", jvp_vmap_of, of_torch(0.02)),
    Workload("vjp", "`vjp` and its pullback, (16, 8)", vjp_of, of_torch(0.03)),
    Workload("vmap", "`vmap(x.sin() + 1)`, (16, 8)", vmap_of, of_torch(0.04)),
    Workload("hessian10", "`hessian` of the Rosenbrock function, 10", hessian_of, of_torch(0.04), tolerance=1e-3),
    Workload("jacrev", "`jacrev` of a tanh MLP 16-32-16", jacobian_of("jacrev"), of_torch(0.12)),
    Workload("jacfwd", "`jacfwd` of the same", jacobian_of("jacfwd"), of_torch(0.12)),
    Workload("backward20", "`.backward()` of 20 operators, 8", backward_twenty, of_torch(0.1)),
    Workload(
        "grad_create_graph", "`autograd.grad` with `create_graph`, twice, 20 operators", graph_twice, of_torch(0.1)
    ),
    Workload("dual20", "`dual_level` over 20 operators, 8", dual_twenty, of_torch(0.02)),
    Workload("fill", "filling 1,000 rows of a (1000, 1000) buffer", filling, of_torch(0.3)),
]
