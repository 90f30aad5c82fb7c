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


# ---------------------------------------------------------------- custom functions
def cube(lib: Tensors) -> Any:
    class Cube(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        """x³, with 3x² returned beside it so that the second derivative is right too."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[1])

        @staticmethod
        def backward(ctx: Any, g: Any, g_slope: Any) -> Any:
            x, slope = ctx.saved_tensors
            return g * slope + g_slope * 6 * x

    return lambda x: Cube.apply(x)[0]


def growth(lib: Tensors) -> Any:
    class Growth(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 1.01

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.saved_tensors  # noqa: B018
            return g * 1.01

    def fifty(x: Any) -> Any:
        for _ in range(50):
            x = Growth.apply(x)
        return x.sum()

    return fifty


def apply_of(lib: Tensors) -> Any:
    x, f = lib.tensor(normal("x", 8)), cube(lib)
    return lambda: f(x)


def grad_function(lib: Tensors) -> Any:
    x, f, grad = lib.tensor(normal("x", 8)), cube(lib), lib.T.func.grad
    return lambda: grad(lambda v: f(v).sum())(x)


def grad_fifty(lib: Tensors) -> Any:
    x, f, grad = lib.tensor(normal("x", 8)), growth(lib), lib.T.func.grad
    return lambda: grad(f)(x)


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
    Workload("function", "`Function.apply`, 8", apply_of, of_torch(0.1)),
    Workload("grad_function", "`grad` through one `Function`", grad_function, of_torch(0.015)),
    Workload("grad_functions", "`grad` through 50 in a chain", grad_fifty, of_torch(0.01), tolerance=1e-3),
]
