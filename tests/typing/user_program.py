"""A program as users write them: it runs, and mypy and pyright find nothing in it, both in strict mode."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import pullback as pb
from pullback import Tensor, nn
from pullback.autograd import Function
from pullback.autograd.function import FunctionCtx
from pullback.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.optim import Adam
from pullback.optim.lr_scheduler import LambdaLR, StepLR
from pullback.utils.checkpoint import checkpoint
from pullback.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1))
        self.shift = nn.Parameter(pb.zeros(1))
        self.register_buffer("scale", pb.ones(1))

    def forward(self, x: Tensor, double: bool = False) -> Tensor:
        out: Tensor = self.layers(x) * self.scale + self.shift
        return 2 * out if double else out


class Cube(Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * x * x

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


def loss(params: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    return nn.functional.mse_loss(functional_call(net, params, (x,))[:, 0], y)


def forward(params: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(net, params, (x,))


def energy(w: Tensor, power: float = 2.0) -> Tensor:
    cubes: Tensor = Cube.apply(w)
    return (w.abs() ** power).sum() + cubes.sum()


@pb.no_grad()
def predict(x: Tensor) -> npt.NDArray[np.float32]:
    return net(x, double=True).numpy()


net = Net(8)
data = TensorDataset(pb.rand(32, 2), pb.rand(32))
optimizer = Adam(net.parameters(), lr=1e-2)
schedule = StepLR(optimizer, step_size=10)


def train(epochs: int) -> float:
    total = 0.0
    for _ in range(epochs):
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            error = nn.MSELoss()(checkpoint(net, x, use_reentrant=False)[..., 0], y)
            error.backward()
            optimizer.step()
            total += error.item()
        schedule.step()
    return total


def in_parts(layer: nn.Linear) -> list[float]:
    """Types of lambdas, data sets and parameters follow from what they are given to."""
    first, _ = random_split(data, [0.75, 0.25], generator=pb.Generator().manual_seed(0))
    loader = DataLoader(first, batch_size=8)
    nn.init.zeros_(layer.bias)
    sums = [layer(x).sum().item() for x, _ in loader]
    falling = LambdaLR(optimizer, lambda epoch: 0.9**epoch)
    return [*sums, *falling.get_last_lr()]


def transforms(x: Tensor, y: Tensor, w: Tensor) -> list[tuple[int, ...]]:
    params = dict(net.named_parameters())
    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(dict(params), x.unsqueeze(1), y.unsqueeze(1))
    slopes, value = grad_and_value(energy)(w, power=3.0)
    (slope,) = pb.autograd.grad(energy(w.requires_grad_()), w)
    assert slope.shape == w.detach_().shape
    out, pull = vjp(energy, w)
    (back,) = pull(pb.ones(()))
    _, tangent = jvp(energy, (w,), (slopes,))
    at, along = linearize(pb.sin, w)
    rows = jacrev(pb.sin)(w) - jacfwd(pb.sin)(w) + hessian(energy)(w)
    tensors = [*per_sample.values(), value, out, back, tangent, at, along(w), rows]
    return [tuple(t.shape) for t in tensors]


def named_tuples(x: Tensor) -> tuple[Tensor, list[int]]:
    values, indices = x.max(dim=0)
    best = pb.sort(x, descending=True).values[0] + pb.topk(x, 1).indices
    u, s, vh = pb.linalg.svd(x, full_matrices=False)
    largest = x.max() + x.min(1).values.sum() + pb.max(x, u @ s.diag() @ vh).mean()
    mask = x[x > 0.5]
    x[0, 1:] = 0
    picked = x[None, ..., ::2][:, indices.argmax()]
    return largest + best + values, [mask.numel(), x.size(0), *x.size(), *picked.shape, *x.stride()]


if __name__ == "__main__":
    print(
        train(2),
        in_parts(nn.Linear(2, 1)),
        transforms(pb.rand(4, 2), pb.rand(4), pb.rand(3)),
        named_tuples(pb.rand(3, 3)),
        predict(pb.rand(2, 2)),
    )
