"""An ensemble of networks says where it does not know: regression on a line, with a gap in the data.

    python examples/ensemble.py [--picture ensemble.png]

Twenty small networks, each from its own start and on its own draw of the data, are one batch of networks: their
parameters are stacked by `stack_module_state`, and `vmap` of `grad` trains all of them in one call per step. They agree
where there are data; in the gap and outside they do not, and the spread between them says so. It is a warning and no
bound: far outside all of them are wrong.
"""

import argparse
import time

import pullback as pb
from pullback import nn
from pullback.func import functional_call, grad, stack_module_state, vmap
from pullback.optim import functional as optim

MEMBERS, STEPS, NOISE = 20, 600, 0.1


def truth(x):
    return (1.5 * x).sin() + 0.3 * x


def data(n=120):
    """Noisy values of the truth on [-3, -1] and [1, 3], with nothing between."""
    side = 2.0 * pb.randint(0, 2, (n, 1)) - 1.0
    x = side * (1.0 + 2.0 * pb.rand(n, 1))
    return x, truth(x) + NOISE * pb.randn(n, 1)


def network():
    return nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def train(base, params, x, y):
    """All members at once; `x` and `y` hold the data of each along dimension 0."""

    def loss(p, x, y):
        return nn.functional.mse_loss(functional_call(base, p, (x,)), y)

    adam = optim.adam(lr=0.01)

    def step(p, state, x, y):
        return adam.update(p, grad(loss)(p, x, y), state)

    state = vmap(adam.init)(params)
    every = vmap(step)
    for _ in range(STEPS):
        params, state = every(params, state, x, y)
    return params


def draw(path, grid, members, x, y):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean, spread = members.mean(0), members.std(0)
    figure, (top, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 1), layout="constrained")
    for k, line in enumerate(members):
        top.plot(grid, line, color="tab:blue", alpha=0.25, linewidth=0.8, label="members" if k == 0 else None)
    top.fill_between(grid, mean - 2 * spread, mean + 2 * spread, color="tab:blue", alpha=0.15, label="mean ± 2 spreads")
    top.plot(grid, mean, color="tab:blue", label="mean")
    top.plot(grid, truth(pb.from_numpy(grid)).numpy(), color="black", linestyle="--", label="truth")
    top.scatter(x, y, s=8, color="tab:red", zorder=3, label="data")
    top.set(ylabel="y", ylim=(-3, 3), title=f"{MEMBERS} networks, trained in one batch")
    top.legend(loc="upper center", fontsize=8, ncols=2)
    below.plot(grid, spread, color="tab:blue")
    below.axhline(NOISE, color="gray", linestyle=":", label="noise of the data")
    below.set(xlabel="x", ylabel="spread", ylim=(0, None))
    below.legend(loc="upper center", fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="ensemble.png")
    path = parser.parse_args().picture
    start = time.perf_counter()

    pb.manual_seed(0)
    x, y = data()
    models = [network() for _ in range(MEMBERS)]
    params, _ = stack_module_state(models)
    params = {name: p.detach() for name, p in params.items()}
    chosen = pb.randint(0, len(x), (MEMBERS, len(x)))
    trained = train(models[0], params, x[chosen], y[chosen])

    grid = pb.linspace(-4.5, 4.5, 361).unsqueeze(1)
    members = vmap(lambda p: functional_call(models[0], p, (grid,)))(trained).squeeze(-1)

    # A member by itself, as a module of its own, gives what the batch gave.
    models[3].load_state_dict({name: p[3] for name, p in trained.items()})
    with pb.no_grad():
        pb.testing.assert_close(models[3](grid).squeeze(-1), members[3], rtol=1e-4, atol=1e-5)

    at = grid.squeeze(1)
    seen = (at.abs() > 1.0) & (at.abs() < 3.0)
    off = members.mean(0) - truth(at)
    spread = members.std(0)
    known, gap, outside = (spread[m].mean().item() for m in (seen, at.abs() < 0.6, at.abs() > 3.7))
    error = off[seen].square().mean().sqrt().item()
    print(f"{MEMBERS} members, {STEPS} steps: {time.perf_counter() - start:.1f} s")
    print(f"error where there are data: {error:.3f} (noise {NOISE})")
    covered = (off.abs() < 3 * spread + NOISE)[at.abs() < 3.0].to(pb.float32).mean().item()
    print(f"spread: {known:.3f} where there are data, {gap:.3f} in the gap, {outside:.3f} outside")
    draw(path, at.numpy(), members.numpy(), x.squeeze(1).numpy(), y.squeeze(1).numpy())
    assert error < 0.07, "the ensemble has not learnt the truth"
    assert gap > 3 * known and outside > 1.5 * known, "the spread does not tell what is known"
    assert covered > 0.9, "the truth lies outside of the spread between the data"


if __name__ == "__main__":
    main()
