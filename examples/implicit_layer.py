"""An implicit layer: its output is the solution of an equation, and so is its derivative.

    python examples/implicit_layer.py [--picture implicit_layer.png]

The output z of the layer solves z = tanh(W z + U x + b). `forward` iterates until z stays, and none of its steps is
recorded. By the implicit function theorem the cotangent g of z becomes the solution of (1 - ∂f/∂z)ᵀ a = g, and a is
pulled back through a single application of f. All of that is operators, so that derivatives of any order follow, and
forward mode from reverse mode. They are checked against a recorded iteration and finite differences; then a classifier
with such a layer learns two spirals.
"""

import argparse
import time

import pullback as pb
from pullback import nn
from pullback.autograd import gradcheck, gradgradcheck
from pullback.func import grad, hessian, jvp, vjp, vmap

CONTRACTION, LIMIT = 0.9, 500
WIDTH, STEPS = 32, 400


# ---------------------------------------------------------------- the layer, for one sample
def cell(z, x, w, u, b):
    """f; leading dimensions are batches that `vmap` added."""
    return pb.tanh((w @ z.unsqueeze(-1) + u @ x.unsqueeze(-1)).squeeze(-1) + b)


class FixedPoint(pb.autograd.Function):
    @staticmethod
    def forward(x, w, u, b):
        tolerance = 4 * pb.finfo(x.dtype).eps
        z = pb.zeros_like(b)
        for _ in range(LIMIT):
            last, z = z, cell(z, x, w, u, b)
            if (z - last).abs().max() <= tolerance:
                return z
        raise RuntimeError(f"no fixed point after {LIMIT} steps: is f a contraction?")

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        x, w, u, b, z = ctx.saved_tensors
        slope = (1 - z * z).unsqueeze(-1) * w  # ∂f/∂z
        adjoint = pb.linalg.solve(pb.eye(w.shape[-1], dtype=w.dtype) - slope.mT, g)
        _, pull = vjp(lambda *inputs: cell(z, *inputs), x, w, u, b)
        return pull(adjoint)

    @staticmethod
    def vmap(info, in_dims, *args):
        batch = [
            t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
            for t, dim in zip(args, in_dims, strict=True)
        ]
        return FixedPoint.apply(*batch), 0


def unrolled(x, w, u, b, steps=300):
    """The same by so many recorded steps."""
    z = pb.zeros_like(b)
    for _ in range(steps):
        z = cell(z, x, w, u, b)
    return z


# ---------------------------------------------------------------- a classifier with it
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Parameter(pb.randn(WIDTH, WIDTH) / WIDTH**0.5)
        self.outer = nn.Linear(2, WIDTH)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, x):
        # Rows whose absolute values sum to less than 1 make f a contraction.
        rows = self.inner.abs().sum(1).amax().clamp(min=CONTRACTION)
        layer = vmap(FixedPoint.apply, in_dims=(0, None, None, None))
        return self.head(layer(x, CONTRACTION * self.inner / rows, self.outer.weight, self.outer.bias))


def spirals(n):
    """Points on two interleaved spirals, and which of them each lies on."""
    label = pb.arange(n) % 2
    turn = 3.5 * pb.pi * pb.rand(n).sqrt()
    angle = turn + pb.pi * label
    x = pb.stack([angle.cos(), angle.sin()], 1) * (turn / 4).unsqueeze(1)
    return x + 0.05 * pb.randn(n, 2), label


def train(model, x, y):
    optimizer = pb.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


# ---------------------------------------------------------------- checks
def sample(n=5, d=3):
    """x, W, U and b in double precision."""
    w = pb.randn(n, n, dtype=pb.float64)
    w = CONTRACTION * w / w.abs().sum(1).amax()
    x, u, b = (pb.randn(*s, dtype=pb.float64) for s in ((d,), (n, d), (n,)))
    return x, w, u, b


def check(args):
    """Against a recorded iteration and finite differences; gives the largest difference."""

    def gradients(layer):
        return grad(lambda *a: (layer(*a) ** 3).sum(), argnums=(0, 1, 2, 3))

    def curvature(layer):
        return hessian(lambda x: (layer(x, *args[1:]) ** 3).sum())

    ours, theirs = gradients(FixedPoint.apply), gradients(unrolled)
    tangents = tuple(map(pb.ones_like, args))
    rows = pb.stack([args[0], -args[0], 2 * args[0]])
    each = (0, None, None, None)
    pairs = [
        (ours(*args), theirs(*args)),
        (jvp(FixedPoint.apply, args, tangents), jvp(unrolled, args, tangents)),
        (vmap(ours, in_dims=each)(rows, *args[1:]), vmap(theirs, in_dims=each)(rows, *args[1:])),
        (curvature(FixedPoint.apply)(args[0]), curvature(unrolled)(args[0])),
    ]
    leaves = [t.clone().requires_grad_() for t in args]
    assert gradcheck(FixedPoint.apply, leaves, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(FixedPoint.apply, leaves)
    differences = [(a - b).abs().max().item() for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True)]
    return max(differences)


def truncation(args, counts):
    """How far the gradients of so many recorded steps are from those of the layer."""

    def gradient(layer):
        return grad(lambda w: layer(args[0], w, *args[2:]).sum())(args[1])

    exact = gradient(FixedPoint.apply)
    return [((gradient(lambda *a, k=k: unrolled(*a, steps=k)) - exact).norm() / exact.norm()).item() for k in counts]


def draw(path, model, x, y, counts, errors):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    line = pb.linspace(-3.2, 3.2, 120)
    grid = pb.stack([line.repeat(120), line.unsqueeze(1).expand(120, 120).flatten()], 1)
    with pb.no_grad():
        probability = model(grid).softmax(1)[:, 1].reshape(120, 120)
    left.contourf(line.numpy(), line.numpy(), probability.numpy(), levels=20, cmap="RdBu", alpha=0.7, vmin=0, vmax=1)
    left.scatter(*x.T.numpy(), c=y.numpy(), cmap="RdBu", s=10, edgecolors="black", linewidths=0.3)
    left.set(title="A classifier with an implicit layer", xlabel="x₀", ylabel="x₁")
    right.semilogy(counts, errors, marker=".", color="tab:blue")
    right.set(
        title="Gradients by recorded steps, compared with it", xlabel="recorded steps", ylabel="relative difference"
    )
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="implicit_layer.png")
    path = parser.parse_args().picture

    pb.manual_seed(0)
    args = sample()
    worst = check(args)
    print(
        f"gradients, tangents, batches and second derivatives differ from a recorded iteration by {worst:.1e} at most"
    )
    counts = [1, 2, 4, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60]
    errors = truncation(args, counts)

    x, y = spirals(400)
    model = Classifier()
    start = time.perf_counter()
    loss = train(model, x, y)
    with pb.no_grad():
        accuracy = (model(x).argmax(1) == y).to(pb.float32).mean().item()
    seconds = time.perf_counter() - start
    print(f"{STEPS} steps on two spirals: {seconds:.1f} s, loss {loss:.4f}, accuracy {accuracy:.3f}")
    draw(path, model, x, y, counts, errors)
    assert worst < 1e-9, "derivatives that must agree differ"
    assert errors[0] > 0.1 > 1e-9 > errors[-1], "recorded steps do not approach the layer"
    assert accuracy > 0.97, "the classifier learnt too little"


if __name__ == "__main__":
    main()
