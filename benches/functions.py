"""Custom functions: what a `Function` costs by itself, under each transform, and in long chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from libraries import Tensors, normal
from measure import Workload
from small import of_torch

Unary = Callable[[Any], Any]


# ---------------------------------------------------------------- the functions
def cube(lib: Tensors) -> Unary:
    class Cube(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        """x³, with 3x² returned beside it so that the second derivative is right too."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[1])
            ctx.save_for_forward(inputs[0], output[1])

        @staticmethod
        def backward(ctx: Any, g: Any, g_slope: Any) -> Any:
            x, slope = ctx.saved_tensors
            return g * slope + g_slope * 6 * x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            x, slope = ctx.saved_tensors
            return t * slope, 6 * x * t

    return lambda x: Cube.apply(x)[0]


def classic(lib: Tensors) -> Unary:
    class Square(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g * x

    return Square.apply


def growth(lib: Tensors) -> Unary:
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


def moved(x: Any, dim: int | None, size: int) -> Any:
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def numpy_sort(lib: Tensors) -> Unary:
    """A sort along the last dimension that NumPy computes, forward and backward."""
    from_numpy = lib.T.from_numpy

    def array(x: Any) -> np.ndarray:
        values: np.ndarray = x.detach().numpy()
        return values

    class Take(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any, order: Any, inverse: Any) -> Any:
            return from_numpy(np.take_along_axis(array(x), array(order), -1))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            order, inverse = ctx.saved_tensors
            return Take.apply(g, inverse, order), None, None

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            return Take.apply(*(moved(a, d, info.batch_size) for a, d in zip(args, in_dims, strict=True))), 0

    class Sort(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            values = array(x)
            order = np.argsort(values, axis=-1)
            inverse = np.argsort(order, axis=-1)
            return tuple(map(from_numpy, (np.take_along_axis(values, order, -1), order, inverse)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(*output[1:])
            ctx.save_for_backward(*output[1:])

        @staticmethod
        def backward(ctx: Any, g: Any, *_: Any) -> Any:
            order, inverse = ctx.saved_tensors
            return Take.apply(g, inverse, order)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Sort.apply(moved(x, in_dims[0], info.batch_size)), (0, 0, 0)

    return lambda x: Sort.apply(x)[0]


# ---------------------------------------------------------------- under transforms
def plain(make: Callable[[Tensors], Unary]) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        f, x = make(lib), lib.tensor(normal("x", 8))
        return lambda: f(x)

    return build


def keywords(lib: Tensors) -> Any:
    """pullback takes keyword arguments; PyTorch has to be given the same by position."""

    class Scale(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any, scale: Any) -> Any:
            return x * scale

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.scale = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.scale, None

    x = lib.tensor(normal("x", 8))
    return (lambda: Scale.apply(x, scale=2.0)) if lib.name == "pullback" else (lambda: Scale.apply(x, 2.0))


def of_dict(lib: Tensors) -> Any:
    """pullback takes a dict of tensors; PyTorch has to be given the same one by one."""
    ours = lib.name == "pullback"

    class Affine(lib.T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(*args: Any) -> Any:
            w, b = (args[0]["w"], args[0]["b"]) if ours else args
            return w + b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return {"w": g, "b": g} if ours else (g, g)

    w, b = lib.tensor(normal("w", 8)), lib.tensor(normal("b", 8))
    p = {"w": w, "b": b}
    return (lambda: Affine.apply(p)) if ours else (lambda: Affine.apply(w, b))


def transformed(name: str) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        func, f = lib.T.func, cube(lib)
        x, rows, t = (lib.tensor(normal("x", *shape)) for shape in ((8,), (16, 8), (8,)))

        def summed(v: Any) -> Any:
            return f(v).sum()

        def pulled() -> Any:
            value, pull = func.vjp(f, x)
            return pull(value)[0]

        programs: dict[str, Callable[[], Any]] = {
            "grad": lambda: func.grad(summed)(x),
            "vjp": pulled,
            "jvp": lambda: func.jvp(f, (x,), (t,)),
            "vmap": lambda: func.vmap(f)(rows),
            "vmap(grad)": lambda: func.vmap(func.grad(summed))(rows),
            "hessian": lambda: func.hessian(summed)(x),
        }
        return programs[name]

    return build


def grad_fifty(lib: Tensors) -> Any:
    x, f, grad = lib.tensor(normal("x", 8)), growth(lib), lib.T.func.grad
    return lambda: grad(f)(x)


def backward_fifty(lib: Tensors) -> Any:
    start, f = lib.tensor(normal("x", 8)), growth(lib)

    def run() -> Any:
        x = start.detach().requires_grad_()
        f(x).backward()
        return x.grad

    return run


def sorting(batched: bool) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        func, f, w = lib.T.func, numpy_sort(lib), lib.tensor(normal("w", 64))
        x = lib.tensor(normal("x", *((16, 64) if batched else (64,))))
        gradient = func.grad(lambda v: (f(v) * w).sum())
        if batched:
            gradient = func.vmap(gradient)
        return lambda: gradient(x)

    return build


TRANSFORMS = ("grad", "vjp", "jvp", "vmap", "vmap(grad)", "hessian")
WORKLOADS = [
    Workload("function", "`Function.apply`, 8", plain(cube), of_torch(0.1)),
    Workload("function_classic", "`Function.apply`, classic `forward(ctx, x)`, 8", plain(classic), of_torch(0.1)),
    Workload("function_keyword", "`Function.apply` with a keyword argument", keywords, of_torch(0.15)),
    Workload("function_dict", "`Function.apply` of a dict of tensors", of_dict, of_torch(0.15)),
    *(
        Workload(f"function_{name}", f"`{name}` through one `Function`", transformed(name), of_torch(0.015))
        for name in TRANSFORMS
    ),
    Workload("grad_functions", "`grad` through 50 in a chain", grad_fifty, of_torch(0.01), tolerance=1e-3),
    Workload(
        "backward_functions", "`.backward()` through 50 in a chain", backward_fifty, of_torch(0.06), tolerance=1e-3
    ),
    Workload("numpy_sort_grad", "`grad` through a sort by NumPy, 64", sorting(False), of_torch(0.08)),
    Workload("numpy_sort_vmap_grad", "`vmap(grad)` through it, (16, 64)", sorting(True), of_torch(0.08)),
]
