"""Modules: calls of small ones, and transforms and training of a network, with `functional_call` and by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from large import BATCH, MLP, mlp_inputs
from libraries import Tensors, normal
from measure import Goal, Workload
from small import of_torch

Params = dict[str, np.ndarray]
MEMBERS, STEPS, RATE = 10, 200, 0.05


# ---------------------------------------------------------------- networks and their inputs
def weights(tag: str, shapes: dict[str, tuple[int, ...]]) -> Params:
    """Values for parameters: normal, scaled by the square root of what goes into an output."""
    return {name: normal(tag + name, *s, scale=float(np.prod(s[1:])) ** -0.5) for name, s in shapes.items()}


def filled(lib: Tensors, module: Any, tag: str = "") -> Any:
    """The module with weights that depend on their names only."""
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    module.load_state_dict(lib.tensors(weights(tag, shapes)))
    return module


def mlp(lib: Tensors) -> Any:
    nn = lib.T.nn
    return nn.Sequential(
        nn.Linear(MLP[0], MLP[1]), nn.ReLU(), nn.Linear(MLP[1], MLP[2]), nn.ReLU(), nn.Linear(MLP[2], MLP[3])
    )


def cnn(lib: Tensors) -> Any:
    nn = lib.T.nn
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 10)),
    )


def block(lib: Tensors, width: int = 64, heads: int = 4) -> Any:
    nn, gelu = lib.T.nn, lib.F.gelu

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            parts = self.into(self.before(x)).chunk(3, dim=-1)
            q, k, v = (p.reshape(n, t, heads, width // heads).transpose(1, 2) for p in parts)
            mixed = (q @ k.transpose(-2, -1) * (width // heads) ** -0.5).softmax(-1) @ v
            x = x + self.out(mixed.transpose(1, 2).reshape(n, t, width))
            return x + self.narrow(gelu(self.wide(self.between(x))))

    return nn.Sequential(Block(), Block())


def pictures(n: int) -> tuple[np.ndarray, np.ndarray]:
    return normal("pictures", n, 1, 28, 28), np.random.default_rng(0).integers(0, 10, n)


def sequences(n: int) -> tuple[np.ndarray, np.ndarray]:
    return normal("x", n, 32, 64), normal("y", n, 32, 64)


# ---------------------------------------------------------------- calls
def call(make: Callable[[Tensors], Any], *shape: int) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        return "module(x)", {"module": filled(lib, make(lib)), "x": lib.tensor(normal("x", *shape))}

    return build


def linear8(lib: Tensors) -> Any:
    return lib.T.nn.Linear(8, 8)


def twenty(lib: Tensors) -> Any:
    nn = lib.T.nn
    return nn.Sequential(*(layer for _ in range(10) for layer in (nn.Linear(8, 8), nn.Tanh())))


# ---------------------------------------------------------------- transforms
def detached(params: Any) -> dict[str, Any]:
    return {name: p.detach() for name, p in params}


def per_sample(make: Callable[[Tensors], Any], inputs: Callable[[], Any], crit: str) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        func, criterion = lib.T.func, getattr(lib.F, crit)
        module = filled(lib, make(lib))
        x, y = map(lib.tensor, inputs())
        params = detached(module.named_parameters())

        def loss(p: Any, x: Any, y: Any) -> Any:
            return criterion(func.functional_call(module, p, (x.unsqueeze(0),)), y.unsqueeze(0))

        gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
        return lambda: gradients(params, x, y)

    return build


def ensemble(lib: Tensors) -> Any:
    func = lib.T.func
    members = [filled(lib, mlp(lib), str(k)) for k in range(MEMBERS)]
    params, buffers = func.stack_module_state(members)
    params, x = detached(params.items()), lib.tensor(mlp_inputs()[1])

    def one(p: Any, b: Any, x: Any) -> Any:
        return func.functional_call(members[0], (p, b), (x,))

    return lambda: func.vmap(one, in_dims=(0, 0, None))(params, buffers, x)


def hessian_product(lib: Tensors) -> Any:
    func, module = lib.T.func, filled(lib, mlp(lib))
    _, inputs, labels = mlp_inputs()
    x, y = lib.tensor(inputs), lib.tensor(labels)
    params = detached(module.named_parameters())
    along = lib.tensors({name: normal("along" + name, *p.shape) for name, p in params.items()})

    def loss(p: Any) -> Any:
        return lib.F.cross_entropy(func.functional_call(module, p, (x,)), y)

    return lambda: func.jvp(func.grad(loss), (params,), (along,))[1]


def training(lib: Tensors) -> Any:
    module = filled(lib, mlp(lib))
    first = {name: p.detach().clone() for name, p in module.named_parameters()}
    _, inputs, labels = mlp_inputs()
    x, y = lib.tensor(inputs), lib.tensor(labels)

    def run() -> Any:
        module.load_state_dict(first)
        optimizer = lib.T.optim.SGD(module.parameters(), lr=RATE)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = lib.F.cross_entropy(module(x), y)
            loss.backward()
            optimizer.step()
        return [loss, *module.parameters()]

    return run


# ---------------------------------------------------------------- the same in JAX, compiled
SHAPES = {
    f"{2 * k}.{name}": shape
    for k in range(3)
    for name, shape in (("weight", (MLP[k + 1], MLP[k])), ("bias", (MLP[k + 1],)))
}


def jax_parts() -> tuple[Any, Any, Callable[..., Any], Any, Any]:
    """jax, its weights, the loss, and the inputs."""
    import jax

    numpy = jax.numpy
    _, inputs, labels = mlp_inputs()
    x, y = numpy.asarray(inputs), numpy.asarray(labels)

    def loss(p: Any, x: Any, y: Any) -> Any:
        rows = jax.nn.log_softmax(jax_mlp(p, x))
        return -numpy.take_along_axis(rows, y[:, None], 1).mean()

    return jax, {n: numpy.asarray(v) for n, v in weights("", SHAPES).items()}, loss, x, y


def jax_mlp(p: Any, x: Any) -> Any:
    import jax

    for k in (0, 2):
        x = jax.nn.relu(x @ p[f"{k}.weight"].T + p[f"{k}.bias"])
    return x @ p["4.weight"].T + p["4.bias"]


def jax_ensemble() -> Any:
    jax, _, _, x, _ = jax_parts()
    members = [weights(str(k), SHAPES) for k in range(MEMBERS)]
    stacked = {name: jax.numpy.asarray(np.stack([m[name] for m in members])) for name in SHAPES}
    run = jax.jit(jax.vmap(jax_mlp, (0, None)))
    return lambda: run(stacked, x).block_until_ready()


def jax_hessian_product() -> Any:
    jax, p, loss, x, y = jax_parts()
    along = {name: jax.numpy.asarray(normal("along" + name, *shape)) for name, shape in SHAPES.items()}
    run = jax.jit(lambda p, v, x, y: jax.jvp(jax.grad(lambda p: loss(p, x, y)), (p,), (v,))[1])

    def call() -> Any:
        out = jax.block_until_ready(run(p, along, x, y))
        return {name: out[name] for name in SHAPES}

    return call


def jax_training() -> Any:
    jax, first, loss, x, y = jax_parts()

    @jax.jit  # type: ignore[untyped-decorator]
    def step(p: Any, x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        return value, jax.tree.map(lambda a, b: a - RATE * b, p, gradient)

    def run() -> Any:
        p = first
        for _ in range(STEPS):
            value, p = step(p, x, y)
        value, p = jax.block_until_ready((value, p))
        return [value, *(p[name] for name in SHAPES)]

    return run


PER_SAMPLE = "per-sample gradients through `functional_call`,"
JAX = Goal("jax", 1.0)
WORKLOADS = [
    Workload("linear8", "`Linear(8, 8)`, a row of 8", call(linear8, 1, 8), of_torch(0.15)),
    Workload("mlp_row", "MLP 784-256-256-10, a row", call(mlp, 1, MLP[0]), of_torch(0.5)),
    Workload("sequential20", "`Sequential` of 20 layers of 8", call(twenty, 1, 8), of_torch(0.15)),
    Workload(
        "module_psg_mlp",
        f"{PER_SAMPLE} MLP, 128",
        per_sample(mlp, lambda: mlp_inputs()[1:], "cross_entropy"),
        of_torch(0.15),
    ),
    Workload(
        "module_psg_cnn",
        f"{PER_SAMPLE} CNN 1-16-32, 64",
        per_sample(cnn, lambda: pictures(64), "cross_entropy"),
        tolerance=0.1,  # two elements of a window that are equal but for rounding: either may be the largest
    ),
    Workload(
        "module_psg_tfm",
        f"{PER_SAMPLE} two transformer blocks of 64, 16 × 32",
        per_sample(block, lambda: sequences(16), "mse_loss"),
        tolerance=1e-3,
    ),
    Workload(
        "ensemble",
        f"{MEMBERS} MLPs by `stack_module_state` and `vmap`, {BATCH}",
        ensemble,
        (*of_torch(0.6), JAX),
        jax=jax_ensemble,
    ),
    Workload(
        "hvp",
        f"`jvp(grad(…))` of the MLP, {BATCH}",
        hessian_product,
        (*of_torch(0.5), JAX),
        tolerance=1e-3,
        jax=jax_hessian_product,
    ),
    Workload(
        "sgd200",
        f"{STEPS} steps of `SGD` on the MLP, {BATCH}",
        training,
        (*of_torch(0.6), JAX),
        tolerance=2e-2,
        jax=jax_training,
    ),
]
