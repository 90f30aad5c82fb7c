"""A network that solves Burgers' equation, given nothing but the equation (a physics-informed network).

    python examples/pinn.py [--picture pinn.png]

The network u(t, x) is a function of one point. Its derivatives u_t, u_x and u_xx at that point are the function's:
`jvp` along t, and along x twice; `vmap` takes them at all points, and the optimiser's gradient goes through all of it.
Where u_t + u u_x - ν u_xx is 0 and the start is given, u is the solution, of which there is a formula (Cole and Hopf)
to compare with.
"""

import argparse
import time

import numpy as np

import pullback as pb
from pullback import nn
from pullback.func import grad, hessian, jvp, vmap

VISCOSITY, END = 0.1, 1.0
POINTS, STEPS = 800, 400
LINE = pb.linspace(-1, 1, 201, dtype=pb.float64)


# ---------------------------------------------------------------- the exact solution
def exact(t, x):
    """From u(0, x) = -sin πx, by Cole and Hopf: a quotient of integrals, computed to many digits by 120 nodes."""
    nodes, weights = np.polynomial.hermite.hermgauss(120)
    nodes, weights = pb.from_numpy(nodes), pb.from_numpy(weights)
    t, x = t.to(pb.float64).unsqueeze(-1), x.to(pb.float64).unsqueeze(-1)
    y = pb.pi * (x - nodes * (4 * VISCOSITY * t).sqrt())
    potential = weights * (-y.cos() / (2 * pb.pi * VISCOSITY)).exp()
    return -(y.sin() * potential).sum(-1) / potential.sum(-1)


# ---------------------------------------------------------------- the network and its equation
def network():
    layers = [nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1)]
    return nn.Sequential(*layers).double()


def u(net, t, x):
    """At one point. The start u(0, x) = -sin πx and the walls u(t, ±1) = 0 hold by construction."""
    free = net(pb.stack([t, x])).squeeze(-1)
    return -(pb.pi * x).sin() + t * (1 - x * x) * free


def residual(net, t, x):
    """How far the network is from satisfying the equation at one point."""
    one = pb.ones_like(t)
    value, u_t = jvp(lambda t: u(net, t, x), (t,), (one,))
    (_, u_x), (_, u_xx) = jvp(lambda x: jvp(lambda x: u(net, t, x), (x,), (one,)), (x,), (one,))
    return u_t + value * u_x - VISCOSITY * u_xx


def points(n):
    return END * pb.rand(n, dtype=pb.float64), 2 * pb.rand(n, dtype=pb.float64) - 1


def train(net, t, x):
    """L-BFGS on the mean squared residual at the points. Gives its value at each step."""
    optimizer = pb.optim.LBFGS(
        net.parameters(), max_iter=STEPS, history_size=50, tolerance_change=0, line_search_fn="strong_wolfe"
    )
    history = []

    def closure():
        optimizer.zero_grad()
        loss = vmap(residual, in_dims=(None, 0, 0))(net, t, x).square().mean()
        loss.backward()
        history.append(loss.item())
        return loss

    optimizer.step(closure)
    return history


def check(net, t, x):
    """The residual at one point again, by second derivatives of reverse mode."""
    at = pb.stack([t, x])
    slope, curvature = (d(lambda p: u(net, p[0], p[1]))(at) for d in (grad, hessian))
    by_hessian = slope[0] + u(net, t, x) * slope[1] - VISCOSITY * curvature[1, 1]
    pb.testing.assert_close(residual(net, t, x), by_hessian)


def draw(path, found, truth, history):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    image = left.imshow(found.T, extent=(0, END, -1, 1), origin="lower", aspect="auto", cmap="RdBu_r")
    left.set(title="u(t, x) by the network", xlabel="t", ylabel="x")
    figure.colorbar(image, ax=left)
    for k in range(0, len(truth), len(truth) // 4):
        time = END * k / (len(truth) - 1)
        (line,) = middle.plot(LINE, truth[k], linewidth=3, alpha=0.4)
        middle.plot(LINE, found[k], color=line.get_color(), linestyle="--", label=f"t = {time:.2f}")
    middle.set(title="network (dashed) and exact solution", xlabel="x", ylabel="u")
    middle.legend(fontsize=8)
    right.semilogy(history, color="tab:blue")
    right.set(title="Training", xlabel="evaluation", ylabel="mean squared residual")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="pinn.png")
    path = parser.parse_args().picture
    start = time.perf_counter()

    pb.manual_seed(0)
    net = network()
    check(net, *(p[0] for p in points(1)))
    history = train(net, *points(POINTS))
    print(f"{len(history)} evaluations at {POINTS} points: {time.perf_counter() - start:.1f} s")

    at = pb.linspace(0, END, 41, dtype=pb.float64)
    with pb.no_grad():
        found = vmap(lambda t: vmap(lambda x: u(net, t, x))(LINE))(at)
    truth = exact(at.unsqueeze(1), LINE)
    pb.testing.assert_close(truth[0], -(pb.pi * LINE).sin(), rtol=0, atol=1e-9)
    difference = found - truth
    relative, worst = (difference.norm() / truth.norm()).item(), difference.abs().max().item()
    print(f"mean squared residual {history[-1]:.1e}; error: {relative:.1e} of the solution, {worst:.1e} at most")
    draw(path, found.numpy(), truth.numpy(), history)
    assert relative < 0.01, "the network does not solve the equation"


if __name__ == "__main__":
    main()
