"""Per-sample gradients of a classifier on real handwritten digits.

    python examples/digits.py [--picture digits.png]

Trains an MLP, written in plain functions, on scikit-learn's 8x8 digits; then asks which digits pull hardest at its
weights: `vmap(grad(loss))` gives the gradient of every sample by itself. Each result is checked against another way
to get it, and the time of both is printed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, vmap

HIDDEN, CLASSES = 128, 10
EPOCHS, BATCH, RATE = 30, 32, 0.2
LOOP = 64  # samples of which the gradients are also computed one by one


# ---------------------------------------------------------------- the model, in plain functions
def init(features):
    return {
        "w1": pb.randn(HIDDEN, features) / features**0.5,
        "b1": pb.zeros(HIDDEN),
        "w2": pb.randn(CLASSES, HIDDEN) / HIDDEN**0.5,
        "b2": pb.zeros(CLASSES),
    }


def hidden(params, x):
    return pb.tanh(x @ params["w1"].T + params["b1"])


def logits(params, x):
    return hidden(params, x) @ params["w2"].T + params["b2"]


def loss(params, x, y):
    """The loss of one sample, or the mean loss of a batch."""
    return pb.nn.functional.cross_entropy(logits(params, x), y)


def accuracy(params, x, y):
    return (logits(params, x).argmax(-1) == y).to(pb.float32).mean().item()


def train(params, x, y):
    """Stochastic gradient descent; the rate falls to zero along a cosine."""
    steps = len(x) // BATCH
    step = grad_and_value(loss)
    bar = tqdm(range(EPOCHS), desc="training", unit="epoch")
    for epoch in bar:
        order, total = pb.randperm(len(x)), 0.0
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        for k in range(steps):
            chosen = order[k * BATCH : (k + 1) * BATCH]
            gradient, value = step(params, x[chosen], y[chosen])
            params = {name: p - rate * gradient[name] for name, p in params.items()}
            total += value.item()
        bar.set_postfix(loss=f"{total / steps:.4f}")
    return params


# ---------------------------------------------------------------- one layer again, in NumPy
class NumpyLayer(pb.autograd.Function):
    """tanh(W x + b) of one sample, computed by NumPy; leading dimensions are batches that `vmap` added."""

    @staticmethod
    def forward(x, w, b):
        x, w, b = (t.detach().numpy() for t in (x, w, b))
        return pb.from_numpy(np.tanh((w @ x[..., None])[..., 0] + b))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, _ = inputs
        ctx.save_for_backward(x, w, output)

    @staticmethod
    def backward(ctx, g):
        return NumpyLayerGradient.apply(g, *ctx.saved_tensors)

    @staticmethod
    def vmap(info, in_dims, *args):
        return NumpyLayer.apply(*batch_first(info, in_dims, args)), 0


class NumpyLayerGradient(pb.autograd.Function):
    """The gradients of `NumpyLayer` for x, W and b. It has no derivative: NumPy ends the chain here."""

    @staticmethod
    def forward(g, x, w, y):
        g, x, w, y = (t.detach().numpy() for t in (g, x, w, y))
        slope = g * (1 - y * y)
        gx = (np.swapaxes(w, -1, -2) @ slope[..., None])[..., 0]
        gw = slope[..., :, None] * x[..., None, :]
        return tuple(map(pb.from_numpy, (gx, gw, slope)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def vmap(info, in_dims, *args):
        return NumpyLayerGradient.apply(*batch_first(info, in_dims, args)), (0, 0, 0)


def batch_first(info, in_dims, args):
    """Every tensor with the batch in front; one without a batch is repeated as a view."""
    return [
        t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(args, in_dims, strict=True)
    ]


def loss_with_numpy(params, x, y):
    h = NumpyLayer.apply(x, params["w1"], params["b1"])
    return pb.nn.functional.cross_entropy(h @ params["w2"].T + params["b2"], y)


# ---------------------------------------------------------------- checks
def deviation(ours, theirs):
    """The largest difference between two trees of tensors, relative to the largest element."""
    if isinstance(ours, dict):
        return max(deviation(ours[k], theirs[k]) for k in theirs)
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def timed(f, *args):
    start = time.perf_counter()
    result = f(*args)
    return result, time.perf_counter() - start


def one_by_one(params, x, y):
    """Per-sample gradients by a Python loop."""
    rows = [grad(loss)(params, x[i], y[i]) for i in range(len(x))]
    return {k: pb.stack([row[k] for row in rows]) for k in params}


def norms(gradients):
    return sum((g * g).flatten(1).sum(1) for g in gradients.values()).sqrt()


def last_layer_hessian(params, x, y):
    """The Hessian of the mean loss in W2 and b2, as one matrix."""
    h = hidden(params, x)
    rows = CLASSES * (HIDDEN + 1)

    def f(flat):
        w = flat.reshape(CLASSES, HIDDEN + 1)
        return pb.nn.functional.cross_entropy(h @ w[:, :HIDDEN].T + w[:, HIDDEN], y)

    flat = pb.cat([params["w2"], params["b2"].unsqueeze(1)], 1).reshape(rows)
    return hessian(f)(flat)


def hessian_by_formula(params, x, y):
    """mean over samples of (diag(p) - p pᵀ) ⊗ (h hᵀ), with h extended by 1 for the bias."""
    p = pb.softmax(logits(params, x), -1)
    h = pb.cat([hidden(params, x), pb.ones(len(x), 1)], 1)
    spread = p.unsqueeze(2) * pb.eye(CLASSES) - p.unsqueeze(2) * p.unsqueeze(1)
    rows = CLASSES * (HIDDEN + 1)
    return (pb.einsum("nij,nk,nl->ikjl", spread, h, h) / len(x)).reshape(rows, rows)


# ---------------------------------------------------------------- the picture
def draw(path, images, labels, guesses, size):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 7), layout="constrained")
    grid = figure.add_gridspec(3, 6, height_ratios=(1, 1, 1.6))
    hardest = np.argsort(-size)[:12]
    for place, i in enumerate(hardest):
        axes = figure.add_subplot(grid[place // 6, place % 6])
        axes.imshow(images[i], cmap="gray_r")
        axes.set_axis_off()
        color = "black" if labels[i] == guesses[i] else "tab:red"
        axes.set_title(f"{labels[i]}, read as {guesses[i]}\nnorm {size[i]:.1f}", fontsize=9, color=color)
    axes = figure.add_subplot(grid[2, :])
    axes.hist(np.log10(size), bins=60, color="tab:blue")
    axes.set(xlabel="log10 of the norm of a sample's gradient", ylabel="digits")
    figure.suptitle("The twelve digits that pull hardest at the weights, and the norms of all")
    figure.savefig(path, dpi=120)


def load():
    """Images, inputs scaled to [0, 1] and labels, in an order that mixes the writers."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = pb.from_numpy((data.data / 16).astype(np.float32)[order])
    return data.images[order], x, pb.from_numpy(data.target.astype(np.int64)[order])


def report(rows):
    print(f"\n{'step':44} {'seconds':>8}   result")
    for name, seconds, result in rows:
        print(f"{name:44} {seconds:8.3f}   {result}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="digits.png")
    path = parser.parse_args().picture
    start = time.perf_counter()

    pb.manual_seed(0)
    images, x, y = load()
    held_out = len(x) // 5
    params, training = timed(train, init(x.shape[1]), x[held_out:], y[held_out:])
    reached = accuracy(params, x[:held_out], y[:held_out])

    gradients, batched = timed(vmap(grad(loss), in_dims=(None, 0, 0)), params, x, y)
    size = norms(gradients).numpy()
    loop, looped = timed(one_by_one, params, x[:LOOP], y[:LOOP])
    loop_deviation = deviation({k: g[:LOOP] for k, g in gradients.items()}, loop)

    square, second = timed(last_layer_hessian, params, x[:held_out], y[:held_out])
    hessian_deviation = deviation(square, hessian_by_formula(params, x[:held_out], y[:held_out]))

    with_numpy = vmap(grad(loss_with_numpy), in_dims=(None, 0, 0))
    numpy_gradients, in_numpy = timed(with_numpy, params, x, y)
    numpy_deviation = deviation(numpy_gradients, gradients)

    draw(path, images, y.numpy(), logits(params, x).argmax(-1).numpy(), size)
    report(
        [
            (f"training, {EPOCHS} epochs by grad", training, f"accuracy {reached:.3f} on {held_out} held-out digits"),
            (f"gradients of {len(x)} samples, vmap(grad)", batched, f"norms {size.min():.1e} to {size.max():.1f}"),
            (f"gradients of {LOOP} samples, Python loop", looped, f"deviation {loop_deviation:.1e}"),
            (f"Hessian {len(square)} x {len(square)} of the last layer", second, f"deviation {hessian_deviation:.1e}"),
            ("the same gradients with a NumPy layer", in_numpy, f"deviation {numpy_deviation:.1e}"),
            ("all, with the picture", time.perf_counter() - start, f"wrote {path}"),
        ]
    )
    worst = max(loop_deviation, hessian_deviation, numpy_deviation)
    print(f"maximum deviation {worst:.1e}; accuracy {reached:.3f}")
    assert worst < 1e-4, "results that must agree differ"
    assert reached >= 0.95, "the classifier learnt too little"


if __name__ == "__main__":
    main()
