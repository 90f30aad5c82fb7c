"""Workloads whose arrays are large: kernels, matrix products, and the per-sample gradients of an MLP."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from libraries import Tensors, normal
from measure import Goal, Workload

MILLIONS = 10_000_000
SIZES = (64, 128, 256, 512, 1024, 2048)
MLP = (784, 256, 256, 10)
BATCH = 128


def positive(name: str, n: int) -> np.ndarray:
    return np.abs(normal(name, n)) + np.float32(0.1)


# ---------------------------------------------------------------- pointwise
def unary(name: str) -> Workload:
    def build(lib: Tensors) -> Any:
        x, f = lib.tensor(positive("big", MILLIONS)), getattr(lib.T, name)
        return lambda: f(x)

    def by_numpy() -> Any:
        x, f = positive("big", MILLIONS), getattr(np, name)
        return lambda: f(x)

    return Workload(f"{name}_10m", f"{name}, 10 M float32", build, (Goal("torch", 0.5),), by_numpy)


def expression(lib: Tensors) -> Any:
    x, sin, exp = lib.tensor(normal("big", MILLIONS)), lib.T.sin, lib.T.exp
    return lambda: sin(x) * exp(-x * x) + x


def numpy_expression() -> Any:
    x = normal("big", MILLIONS)
    return lambda: np.sin(x) * np.exp(-x * x) + x


# ---------------------------------------------------------------- reductions
def reduction(name: str, axis: int) -> Workload:
    def build(lib: Tensors) -> Any:
        x, f = lib.tensor(normal("x", 2048, 2048)), getattr(lib.T, name)
        return lambda: f(x, dim=axis)

    def by_numpy() -> Any:
        x, f = normal("x", 2048, 2048), getattr(np, name)
        return lambda: f(x, axis=axis)

    title = f"{name} of (2048, 2048) over axis {axis}"
    return Workload(f"{name}_axis{axis}", title, build, (Goal("best", 1.1),), by_numpy, tolerance=1e-3)


# ---------------------------------------------------------------- products
def product(id: str, title: str, left: tuple[int, ...], right: tuple[int, ...], dtype: Any) -> Workload:
    def build(lib: Tensors) -> Any:
        a, b = lib.tensor(normal("a", *left, dtype=dtype)), lib.tensor(normal("b", *right, dtype=dtype))
        return lambda: a @ b

    def by_numpy() -> Any:
        a, b = normal("a", *left, dtype=dtype), normal("b", *right, dtype=dtype)
        return lambda: a @ b

    return Workload(id, title, build, (Goal("torch", 1 / 0.9),), by_numpy)


def products() -> list[Workload]:
    out = []
    for dtype, name in ((np.float32, "float32"), (np.float64, "float64")):
        out += [product(f"mm{n}_{name}", f"matmul {n}, {name}", (n, n), (n, n), dtype) for n in SIZES]
        out.append(product(f"mv4096_{name}", f"matrix · vector 4096, {name}", (4096, 4096), (4096,), dtype))
    out.append(product("bmm", "matmul of 64 × (128, 128), float32", (64, 128, 128), (64, 128, 128), np.float32))
    return out


# ---------------------------------------------------------------- per-sample gradients
def mlp_inputs(batch: int = BATCH) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    params = {}
    for k, (n, m) in enumerate(pairwise(MLP), 1):
        params[f"w{k}"] = normal(f"w{k}", m, n, scale=n**-0.5)
        params[f"b{k}"] = normal(f"b{k}", m, scale=0.1)
    labels = np.random.default_rng(0).integers(0, MLP[-1], batch)
    return params, normal("x", batch, MLP[0]), labels


def per_sample(lib: Tensors, batch: int = BATCH) -> Callable[[], Any]:
    F, func = lib.F, lib.T.func
    params, inputs, labels = mlp_inputs(batch)
    p, x, y = lib.tensors(params), lib.tensor(inputs), lib.tensor(labels)

    def loss(p: dict[str, Any], x: Any, y: Any) -> Any:
        h = F.linear(x, p["w1"], p["b1"]).relu()
        h = F.linear(h, p["w2"], p["b2"]).relu()
        return F.cross_entropy(F.linear(h, p["w3"], p["b3"]), y)

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(p, x, y)


WORKLOADS = [
    *map(unary, ("sin", "exp", "log", "tanh")),
    Workload(
        "expression",
        "`sin(x) * exp(-x * x) + x`, 10 M float32",
        expression,
        (Goal("torch", 1 / 6), Goal("numpy", 1.0)),
        numpy_expression,
    ),
    *(reduction(name, axis) for name in ("sum", "mean") for axis in (0, 1)),
    *products(),
    Workload("per_sample", "per-sample gradients, MLP 784-256-256-10, 128", per_sample, (Goal("torch", 0.35),)),
]
