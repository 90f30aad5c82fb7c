"""checkpoint: the same gradients with less memory, under backward and under every transform."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

same = pb.testing.assert_close
func = pb.func


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


def f(x: Any, w: Any) -> Any:
    return ((x * w).sin() * x.exp()).tanh() * w


def kept(x: Any, w: Any) -> Any:
    return checkpoint(f, x, w, use_reentrant=False)


X = pb.tensor([0.3, -0.7], dtype=pb.float64)
W = pb.tensor([1.2, 0.4], dtype=pb.float64)


def test_gradients_are_the_same() -> None:
    x, w, a, b = (t.clone().requires_grad_() for t in (X, W, X, W))
    y, z = f(x, w), kept(a, b)
    same(z, y)
    y.sum().backward()
    z.sum().backward()
    same((a.grad, b.grad), (x.grad, w.grad))


def test_nothing_is_kept_and_the_function_runs_again_once() -> None:
    runs: list[str] = []

    def g(x: Any) -> Any:
        runs.append("start")
        y = x.exp().sin().exp()
        runs.append("end")
        return y

    saved: list[Any] = []
    x = leaf(1.0, 2.0)
    with pb.autograd.graph.saved_tensors_hooks(saved.append, lambda _: pb.ones(2)):
        y = checkpoint(g, x, use_reentrant=False)
    assert runs == ["start", "end"] and not saved
    y.sum().backward(retain_graph=True)
    assert runs == ["start", "end", "start"]  # early stop
    first = x.grad.clone()
    y.sum().backward()
    assert len(runs) == 4
    same(x.grad, 2 * first)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_without_early_stop_the_function_runs_to_its_end() -> None:
    ends: list[int] = []

    def g(x: Any) -> Any:
        y = x.exp()
        ends.append(1)
        return y

    x = leaf(1.0)
    with set_checkpoint_early_stop(False):
        y = checkpoint(g, x)
    y.sum().backward()
    assert len(ends) == 2
    same(x.grad, x.detach().exp())


def test_tensors_from_outside_get_their_gradients() -> None:
    w = leaf(2.0)
    x = pb.ones(1, dtype=pb.float64)
    y = checkpoint(lambda v: (v * w).exp() * w, x)
    y.sum().backward()
    same(w.grad, (w.detach().exp() * (1 + w.detach())))


def test_arguments_by_name_and_outputs_of_any_form() -> None:
    def g(x: Any, *, scale: float, extra: dict[str, Any]) -> dict[str, Any]:
        return {"a": (x * extra["w"]).sin() * scale, "n": 3}

    x, w = leaf(0.5), leaf(0.25)
    out = checkpoint(g, x, scale=2.0, extra={"w": w})
    assert out["n"] == 3
    out["a"].sum().backward()
    same(x.grad, 2 * (x * w).detach().cos() * w.detach())
    same(w.grad, 2 * (x * w).detach().cos() * x.detach())


def test_arguments_that_change_in_between() -> None:
    x = leaf(1.0, 2.0)
    a = x * 1
    y = checkpoint(lambda v: v.exp().sin(), a)
    a.zero_()
    y.sum().backward()
    same(x.grad, x.detach().exp().cos() * x.detach().exp())


def test_functions_that_write_to_their_arguments() -> None:
    x = leaf(1.0, 2.0)
    a = x * 1
    y = checkpoint(lambda v: v.mul_(3).exp(), a)
    same(a.detach(), 3 * x.detach())
    y.sum().backward()
    same(x.grad, 3 * (3 * x.detach()).exp())
    same(a.detach(), 3 * x.detach())


def test_random_numbers_are_the_same_again() -> None:
    def g(x: Any) -> Any:
        return (x * pb.rand(3, dtype=pb.float64)).exp()

    x = leaf(1.0, 1.0, 1.0)
    y = checkpoint(g, x)
    after = pb.rand(2)
    state = pb.get_rng_state()
    y.sum().backward()
    assert pb.get_rng_state().equal(state)
    same(x.grad, y.detach() * y.detach().log())
    pb.manual_seed(0)
    g(x)
    same(pb.rand(2), after)
    x.grad = None
    with pytest.raises(CheckpointError, match="preserve_rng_state=True"):
        checkpoint(g, x, preserve_rng_state=False).sum().backward()
    y = checkpoint(g, x, preserve_rng_state=False, determinism_check="none")
    y.sum().backward()
    assert not pb.allclose(x.grad, y.detach() * y.detach().log())


def test_higher_orders_and_chosen_inputs() -> None:
    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
    expected = pb.autograd.grad(pb.autograd.grad(f(x, w).sum(), x, create_graph=True)[0].sum(), [x, w])
    (g,) = pb.autograd.grad(kept(x, w).sum(), x, create_graph=True)
    same(pb.autograd.grad(g.sum(), [x, w]), expected)


def test_nested_checkpoints() -> None:
    x, w, a, b = (t.clone().requires_grad_() for t in (X, W, X, W))

    def outer(x: Any, w: Any) -> Any:
        return checkpoint(f, kept(x, w).exp(), w).sin()

    f(f(x, w).exp(), w).sin().sum().backward()
    checkpoint(outer, a, b).sum().backward()
    same((a.grad, b.grad), (x.grad, w.grad))


def loss(g: Any) -> Any:
    return lambda x, w: g(x, w).sum()


TRANSFORMS = {
    "grad": lambda g: func.grad(loss(g), argnums=(0, 1))(X, W),
    "vjp": lambda g: func.vjp(g, X, W)[1](W),
    "jacrev": lambda g: func.jacrev(g)(X, W),
    "jacfwd": lambda g: func.jacfwd(g)(X, W),
    "jvp": lambda g: func.jvp(g, (X, W), (W, X)),
    "vmap": lambda g: func.vmap(g)(X, W),
    "vmap of grad": lambda g: func.vmap(func.grad(g))(X, W),
    "grad of vmap": lambda g: func.grad(lambda x: func.vmap(g, in_dims=(0, None))(x, W[0]).sum())(X),
    "hessian": lambda g: func.hessian(loss(g), argnums=(0, 1))(X, W),
    "jacrev twice": lambda g: func.jacrev(func.jacrev(loss(g)))(X, W),
    "grad of grad": lambda g: func.grad(lambda x: func.grad(loss(g))(x, W).sum())(X),
    "jvp of grad": lambda g: func.jvp(lambda x: func.grad(loss(g))(x, W), (X,), (W,)),
    "grad of jvp": lambda g: func.grad(lambda x: func.jvp(lambda v: g(v, W), (x,), (W,))[1].sum())(X),
    "third order": lambda g: func.grad(lambda a: func.grad(lambda b: func.grad(lambda c: g(c, W[0]))(b))(a))(X[0]),
    "vmap of hessian": lambda g: func.vmap(func.hessian(g), in_dims=(0, None))(X, W[1]),
    "trace of grad": lambda g: func.trace(func.grad(loss(g)))(X, W)(X, W),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_under_transforms(name: str) -> None:
    same(TRANSFORMS[name](kept), TRANSFORMS[name](f))


def test_pulled_back_later_and_several_times() -> None:
    _, pull = func.vjp(kept, X, W)
    _, expected = func.vjp(f, X, W)
    for v in (X, W):
        same(pull(v), expected(v))
    basis = pb.eye(2, dtype=pb.float64)
    same(func.vmap(pull)(basis), func.vmap(expected)(basis))
    same(func.grad(lambda v: pull(v)[0].sum())(X), func.grad(lambda v: expected(v)[0].sum())(X))


def test_captured_values_of_an_outer_transform() -> None:
    def outer(g: Any) -> Any:
        return lambda w: func.grad(lambda x: g(lambda v: (v * w).sin().exp(), x).sum())(X).sum()

    def wrapped(h: Any, x: Any) -> Any:
        return checkpoint(h, x)

    same(func.grad(outer(wrapped))(W), func.grad(outer(lambda h, x: h(x)))(W))


def test_custom_functions_inside() -> None:
    class Cube(pb.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], 3 * inputs[0] ** 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[1]

    def g(x: Any) -> Any:
        return checkpoint(lambda v: Cube.apply(v.exp()), x)

    same(func.grad(lambda x: g(x).sum())(X), 3 * (3 * X).exp())
    same(func.grad(lambda x: func.grad(lambda v: g(v).sum())(x).sum())(X), 9 * (3 * X).exp())
    x = X.clone().requires_grad_()
    g(x).sum().backward()
    same(x.grad, 3 * (3 * X).exp())


def test_transforms_inside() -> None:
    def g(x: Any) -> Any:
        return checkpoint(lambda v: func.grad(lambda u: (u**3).sum())(v).exp(), x)

    x = X.clone().requires_grad_()
    g(x).sum().backward()
    same(x.grad, 6 * X * (3 * X**2).exp())
    same(func.grad(lambda v: g(v).sum())(X), 6 * X * (3 * X**2).exp())


def test_backward_inside() -> None:
    def g(x: Any) -> Any:
        y = (x**3).sum()
        (d,) = pb.autograd.grad(y, x, create_graph=True)
        return d.exp()

    x = X.clone().requires_grad_()
    checkpoint(g, x).sum().backward()
    same(x.grad, 6 * X * (3 * X**2).exp())


def test_without_gradients_nothing_runs_twice() -> None:
    runs: list[int] = []

    def g(x: Any) -> Any:
        runs.append(1)
        return x.exp()

    assert not checkpoint(g, X).requires_grad
    with pb.no_grad():
        assert not checkpoint(g, leaf(1.0)).requires_grad
    assert len(runs) == 2


def test_contexts_around_the_runs() -> None:
    events: list[str] = []

    class Note:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            events.append(self.name)

        def __exit__(self, *args: object) -> None:
            events.append(f"end of {self.name}")

    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return Note("first"), Note("later")

    y = checkpoint(lambda x: x.exp(), leaf(1.0), context_fn=contexts)
    y.sum().backward()
    assert events == ["first", "end of first", "later", "end of later"]
    checkpoint(lambda x: x.exp(), leaf(1.0), context_fn=lambda: (nullcontext(), nullcontext())).sum().backward()


def test_functions_that_do_something_else_again() -> None:
    size = [2, 3]

    def g(x: Any) -> Any:
        return pb.zeros(size.pop(0), dtype=pb.float64) * x

    y = checkpoint(lambda x: g(x).sum() * x, leaf(1.0), debug=True)
    with pytest.raises(CheckpointError, match=r"(?s)different metadata.*shape \(2,\).*shape \(3,\).*saved at.*g\(x\)"):
        y.sum().backward()
    more = [True, False]
    y = checkpoint(lambda x: x.exp().exp() if more.pop(0) else x.exp(), leaf(1.0))
    with pytest.raises(CheckpointError, match=r"(?s)different number.*forward: 2\n.*recomputation: 1"):
        y.sum().backward()
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(g, leaf(1.0), determinism_check="some")


def drawing(source: str) -> Callable[[Any], Any]:
    """A factor that is another one each time."""
    numpy, python, own = np.random.default_rng(0), random.Random(0), pb.Generator().manual_seed(0)
    counter = itertools.count(1)
    return {
        "numpy": lambda x: x * pb.tensor(numpy.standard_normal(x.shape)),
        "random": lambda x: x * python.random(),
        "generator": lambda x: x * pb.rand(x.shape, generator=own, dtype=pb.float64),
        "counter": lambda x: x * next(counter),
        "library": lambda x: x * pb.rand(x.shape, dtype=pb.float64),
    }[source]


SOURCES = ("numpy", "random", "generator", "counter", "library")


@pytest.mark.parametrize("source", SOURCES)
def test_other_values_in_the_second_run(source: str) -> None:
    def loss(x: Any, f: Any, **options: Any) -> Any:
        return checkpoint(lambda x: f(x).sin() * x, x, preserve_rng_state=False, **options).sum()

    def eager(x: Any, f: Any, **options: Any) -> Any:
        x = x.clone().requires_grad_()
        loss(x, f, **options).backward()
        return x.grad

    derivatives: dict[str, Callable[[Any], Any]] = {
        "backward": lambda f: eager(X, f),
        "grad": lambda f: func.grad(lambda x: loss(x, f))(X),
        "grad of grad": lambda f: func.grad(lambda x: func.grad(lambda x: loss(x, f))(x).sum())(X),
        "vmap of grad": lambda f: func.vmap(func.grad(lambda x: loss(x, f)), randomness="same")(pb.stack([X, W])),
        "grad of vmap": lambda f: func.grad(lambda x: func.vmap(lambda x: loss(x, f), randomness="different")(x).sum())(
            pb.stack([X, W])
        ),
        "jvp of grad": lambda f: func.jvp(func.grad(lambda x: loss(x, f)), (X,), (W,)),
        "grad of jvp": lambda f: func.grad(lambda x: func.jvp(lambda x: loss(x, f), (x,), (W,))[1])(X),
    }
    for name, derivative in derivatives.items():
        fix = "preserve_rng_state=True" if source == "library" else "pass the numbers as arguments"
        with pytest.raises(CheckpointError, match=rf"(?s)different values.*tensor at position.*{fix}"):
            print(name, derivative(drawing(source)))
    eager(X, drawing(source), determinism_check="none")
    with pytest.raises(CheckpointError, match=r"(?s)different values.*saved at.*f\(x\).*recomputed at.*f\(x\)"):
        eager(X, drawing(source), debug=True)


def test_draws_that_no_derivative_reads() -> None:
    """They may differ: what is added, logged, constant, or belongs to another output."""
    noise = drawing("numpy")

    def g(x: Any) -> Any:
        y = (x * x).exp() + noise(pb.ones_like(x))
        return y, (y * noise(x)).detach(), noise(x.square()).sin()

    x = leaf(0.5, 0.25)
    checkpoint(g, x)[0].sum().backward()
    same(x.grad, 2 * x.detach() * (x.detach() ** 2).exp())


def test_what_was_written_to_in_between() -> None:
    """Weights that an optimiser changed before the derivative ran, also in memory that NumPy shares."""
    x = leaf(1.0, 2.0)
    memory = np.array([0.5, 0.25])

    def in_place(w: Any) -> None:
        with pb.no_grad():
            w.mul_(2)

    def of_data(w: Any) -> None:
        w.data = w.data * 2

    def of_numpy(w: Any) -> None:
        memory[0] = 3.0

    for write in (in_place, of_data, of_numpy):
        w = pb.from_numpy(memory).requires_grad_()
        for f in (lambda x: (x * w).exp(), lambda x: (x * (w * 1)).exp()):  # noqa: B023
            y = checkpoint(f, x)
            write(w)
            with pytest.raises(CheckpointError, match=r"(?s)different values.*written to in between"):
                y.sum().backward()
            memory[:] = 0.5, 0.25
            w = pb.from_numpy(memory).requires_grad_()
    # The same numbers again, wherever they are.
    w = leaf(0.5, 0.25)
    y = checkpoint(lambda x: (x * w).exp(), x)
    w.data = w.data.clone()
    x.grad = None
    y.sum().backward()
    same(x.grad, w.detach() * (x * w).detach().exp())


@pytest.mark.parametrize("seed", range(40))
def test_values_that_are_the_same_are_taken_for_the_same(seed: int) -> None:
    """Layouts, dtypes, special values and levels of random programs make no difference between two runs."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    rows = pb.tensor([[0.5, -0.0, 3.0], [float("inf"), 1e-310, float("nan")]], dtype=pb.float64)
    small = pb.tensor([[0.5, 2.0, 3.0], [1.0, 0.25, 4.0]], dtype=pb.float64)
    x = rng.choice((rows, small)).to(rng.choice((pb.float64, pb.float32)))
    steps = [
        rng.choice(
            (
                lambda y: y.t().contiguous().t() * y,
                lambda y: y.expand(2, *y.shape).sum(0) * y,
                lambda y: y.flip(0)[:, ::1].exp(),
                lambda y: pb.nn.functional.dropout(y, 0.5),
                lambda y: y * pb.randn(y.shape, dtype=y.dtype),
                lambda y: (y @ y.t()) @ y,
                lambda y: y.masked_fill(y > 1, 0.5).sin(),
                lambda y: pb.cat([y[:, 1:], y[:, :1]], 1) * y.amax(1, keepdim=True),
                lambda y: y.clone().mul_(2).tanh(),
            )
        )
        for _ in range(4)
    ]

    def f(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x.sum()

    kept = lambda x: checkpoint(f, x)
    for derivative in (
        lambda f: func.grad(f)(x),
        lambda f: func.vmap(func.grad(f), randomness="different")(pb.stack([x, x + 1])),
        lambda f: func.grad(lambda x: func.vmap(f, randomness="same")(x).sum())(pb.stack([x, x + 1])),
        lambda f: func.grad(lambda x: (func.grad(f)(x) ** 2).sum())(x),
        lambda f: func.jvp(func.grad(f), (x,), (x,)),
    ):
        pb.manual_seed(seed)
        got = derivative(kept)
        pb.manual_seed(seed)
        same(got, derivative(f), equal_nan=True)


def test_an_exception_in_the_second_run_arrives() -> None:
    runs: list[int] = []

    def g(x: Any) -> Any:
        runs.append(1)
        if len(runs) == 2:
            raise ZeroDivisionError
        return x.exp()

    x = leaf(1.0)
    y = checkpoint(g, x)
    state = pb.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    assert pb.get_rng_state().equal(state) and pb.is_grad_enabled()
    y.sum().backward()
    same(x.grad, x.detach().exp())


def test_sequences() -> None:
    steps = [pb.sin, pb.exp, pb.tanh, pb.cos, pb.exp]
    for segments in range(1, 6):
        x, a = leaf(0.3, 0.4), leaf(0.3, 0.4)
        y = x
        for step in steps:
            y = step(y)
        y.sum().backward()
        checkpoint_sequential(steps, segments, a, use_reentrant=False, preserve_rng_state=False).sum().backward()
        same(a.grad, x.grad)
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(steps, 6, a)
    with pytest.raises(ValueError, match="Unexpected keyword"):
        checkpoint_sequential(steps, 2, a, other=1)


def test_use_reentrant_should_be_passed() -> None:
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda t: t, x)


def test_a_derivative_inside_without_stopping_early() -> None:
    def g(x: Any) -> Any:
        a, b = x.sin().exp(), x.cos().exp()
        pb.autograd.grad(a, x), pb.autograd.grad(b, x)
        (inner,) = pb.autograd.grad((x**3).sin(), x, create_graph=True)
        return inner.sin()

    x = pb.tensor(0.7, dtype=pb.float64, requires_grad=True)
    (want,) = pb.autograd.grad(g(x), x)
    for early in (True, False):
        with set_checkpoint_early_stop(early):
            (got,) = pb.autograd.grad(checkpoint(g, x, use_reentrant=False), x)
            same(got, want)
            twice = checkpoint(lambda t: checkpoint(g, t, use_reentrant=False), x, use_reentrant=False)
            same(pb.autograd.grad(twice, x)[0], want)
