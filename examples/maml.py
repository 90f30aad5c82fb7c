"""Learning to learn sinusoids: a network that fits a new one after a single step on ten points (MAML).

    python examples/maml.py [--picture maml.png]

A task is a sinusoid with its own amplitude and phase. The inner loop takes gradient steps on ten points of a task; the
outer loop changes what they start from, so that the loss after them falls on average over tasks. Its gradient goes
through the inner gradients: `grad` of `grad`, and `vmap` over the tasks. The same network trained on all tasks at once,
without an inner loop, is the baseline: it learns their mean, and one step from there helps little.
"""

import argparse
import time

import pullback as pb
from pullback import nn
from pullback.func import functional_call, grad, grad_and_value, vmap
from pullback.optim import functional as optim

SHOTS, TASKS, META_STEPS = 10, 25, 1500
INNER_RATE, INNER_STEPS = 0.02, 1

pb.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))


def loss(params, x, y):
    return nn.functional.mse_loss(functional_call(model, params, (x,)), y)


def adapt(params, x, y, steps=INNER_STEPS):
    """Parameters after steps of gradient descent on one task."""
    sgd = optim.sgd(lr=INNER_RATE)
    state = sgd.init(params)
    for _ in range(steps):
        params, state = sgd.update(params, grad(loss)(params, x, y), state)
    return params


def adapted_loss(params, x, y, x_new, y_new):
    """What one task's adapted network loses on points that it has not seen."""
    return loss(adapt(params, x, y), x_new, y_new)


def sinusoids(n):
    """Amplitudes in [1, 5) and phases in [0, π)."""
    return 1.0 + 4.0 * pb.rand(n, 1, 1), pb.pi * pb.rand(n, 1, 1)


def points(amplitude, phase):
    x = 10.0 * pb.rand(len(amplitude), SHOTS, 1) - 5.0
    return x, amplitude * (x + phase).sin()


def meta_loss(params, *tasks):
    return vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, *tasks).mean()


def pooled_loss(params, x, y, x_new, y_new):
    """The baseline's: of all points, without adaptation."""
    return loss(params, pb.cat([x, x_new]), pb.cat([y, y_new]))


def train(objective, params):
    """Adam on an objective of the parameters and a batch of tasks. Gives the parameters, and the loss at each step."""
    adam = optim.adam(lr=0.002)
    state, step, history = adam.init(params), grad_and_value(objective), []
    for _ in range(META_STEPS):
        task = sinusoids(TASKS)
        gradient, value = step(params, *points(*task), *points(*task))
        params, state = adam.update(params, gradient, state)
        history.append(value.item())
    return params, history


def by_hand(params, x, y, x_new, y_new):
    """The outer gradient of one task by the tape: one inner step that is recorded, and a backward through it."""
    leaves = {name: p.clone().requires_grad_() for name, p in params.items()}
    inner = pb.autograd.grad(loss(leaves, x, y), list(leaves.values()), create_graph=True)
    moved = {name: p - INNER_RATE * g for (name, p), g in zip(leaves.items(), inner, strict=True)}
    return dict(zip(leaves, pb.autograd.grad(loss(moved, x_new, y_new), list(leaves.values())), strict=True))


def draw(path, curves, history, grid, task):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    truth, x, y = task
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    left.plot(grid, truth, color="black", linestyle="--", label="the task")
    left.scatter(x, y, s=20, color="tab:red", zorder=3, label=f"{SHOTS} points")
    for label, before, after, color in curves:
        left.plot(grid, before, color=color, linewidth=1, linestyle=":", label=f"{label}: start")
        left.plot(grid, after, color=color, label=f"{label}: one step on")
    left.set(xlabel="x", ylabel="y", title="A sinusoid that neither has seen")
    left.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    for label, values, color in history:
        smooth = [sum(values[k : k + 50]) / 50 for k in range(0, len(values) - 49, 10)]
        right.plot(range(0, 10 * len(smooth), 10), smooth, color=color, label=label)
    right.set(xlabel="step of the outer loop", ylabel="loss on its own objective", title="Training", ylim=(0, None))
    right.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="maml.png")
    path = parser.parse_args().picture
    start = time.perf_counter()

    first = {name: p.detach() for name, p in model.named_parameters()}
    meta, falling = train(meta_loss, first)
    pooled, flat = train(vmap_mean(pooled_loss), first)

    # One gradient of the outer loop, checked against the tape.
    task = sinusoids(1)
    one = [t[0] for t in (*points(*task), *points(*task))]
    pb.testing.assert_close(grad(adapted_loss)(meta, *one), by_hand(meta, *one), rtol=1e-4, atol=1e-5)

    tasks = sinusoids(500)
    test = *points(*tasks), *points(*tasks)
    ours, baseline = meta_loss(meta, *test).item(), meta_loss(pooled, *test).item()
    unadapted = vmap(loss, in_dims=(None, 0, 0))(meta, *test[2:]).mean().item()
    print(f"two trainings of {META_STEPS} steps, {TASKS} tasks each: {time.perf_counter() - start:.1f} s")
    print("mean squared error on new points of 500 new tasks, after one step on ten points:")
    print(f"  start learnt by MAML {ours:.2f} (before the step {unadapted:.2f}); baseline {baseline:.2f}")

    grid = pb.linspace(-5, 5, 201).unsqueeze(1)
    amplitude, phase = pb.tensor([[[3.5]]]), pb.tensor([[[0.8]]])
    x, y = (t[0] for t in points(amplitude, phase))

    def on_grid(p):
        return functional_call(model, p, (grid,)).squeeze(1).numpy()

    curves = [
        (label, on_grid(p), on_grid(adapt(p, x, y)), color)
        for label, p, color in (("MAML", meta, "tab:blue"), ("baseline", pooled, "tab:orange"))
    ]
    truth = (3.5 * (grid + 0.8).sin()).squeeze(1).numpy()
    history = (("MAML, after one step", falling, "tab:blue"), ("baseline, without", flat, "tab:orange"))
    draw(path, curves, history, grid.squeeze(1).numpy(), (truth, x.squeeze(1).numpy(), y.squeeze(1).numpy()))
    assert ours < 0.5 * baseline, "adaptation does not beat the baseline"
    assert ours < 0.5 * unadapted, "the step does not help"


def vmap_mean(objective):
    """The mean of an objective over tasks."""
    return lambda params, *tasks: vmap(objective, in_dims=(None, *(0 for _ in tasks)))(params, *tasks).mean()


if __name__ == "__main__":
    main()
