"""A backward or a hook that gives `None` in the middle: custom functions above it run on, with zeros or with `None`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, grad
from pullback.func import grad as grad_of

Tensor = pb.Tensor


class Constant(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


class Seen(Function):
    """Notes the gradients that arrive."""

    notes: list[Any] = []
    materialize = True

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(Seen.materialize)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor | None, h: Tensor | None) -> Tensor | None:
        Seen.notes.append([None if v is None else v.tolist() for v in (g, h)])
        return g


def cut_by_hook(y: Tensor) -> Tensor:
    z = y * y
    assert z.grad_fn is not None
    z.grad_fn.register_hook(lambda inputs, outputs: (None, None))
    return z


def cut_by_prehook(y: Tensor) -> Tensor:
    z = y.exp()
    assert z.grad_fn is not None
    z.grad_fn.register_prehook(lambda outputs: (None,))
    return z


CUTS = [Constant.apply, cut_by_hook, cut_by_prehook]
BETWEEN: list[Callable[[Tensor], Tensor]] = [
    lambda y: y,
    lambda y: y.sin(),
    lambda y: (y[:1] + y.view(-1)).unbind()[0] * y,
    lambda y: pb.cat([y, y * 2]),
    lambda y: Seen.apply(y)[1],
]


@pytest.fixture(autouse=True)
def notes() -> list[Any]:
    Seen.notes, Seen.materialize = [], True
    return Seen.notes


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("between", BETWEEN)
def test_functions_above_a_cut_get_zeros(cut: Any, between: Any) -> None:
    for how in ("backward", "grad", "twice", "retained"):
        Seen.notes = []
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        y = between(Seen.apply(x.clone())[0])
        z = cut(y)
        runs = 1
        if how == "grad":
            (found,) = grad(z.sum(), x)
        else:
            runs = 2 if how == "twice" else 1
            for _ in range(runs):
                z.sum().backward(retain_graph=how != "backward")
            assert x.grad is not None
            found = x.grad
        assert found.tolist() == [0.0, 0.0]
        assert Seen.notes[-1] == [[0.0, 0.0], [0.0, 0.0]] and len(Seen.notes) % runs == 0


@pytest.mark.parametrize("cut", CUTS)
def test_functions_that_ask_for_it_get_none(cut: Any) -> None:
    Seen.materialize = False
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    cut(Seen.apply(x)[0].sin()).sum().backward()
    assert Seen.notes == [[None, None]] and x.grad is None


def test_what_arrives_beside_a_cut_counts() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = Seen.apply(x)[0]
    (Constant.apply(y) + cut_by_hook(y) + y * 3).sum().backward()
    assert Seen.notes == [[[3.0, 3.0], [0.0, 0.0]]] and x.grad is not None and x.grad.tolist() == [3.0, 3.0]


def test_operators_above_a_cut_give_nothing() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    called: list[Tensor] = []
    x.register_hook(called.append)
    Constant.apply(x.sin() * 2).sum().backward()
    assert x.grad is None and not called
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(Constant.apply(x.sin()).sum(), x)
    assert grad(Constant.apply(x.sin()).sum(), x, allow_unused=True) == (None,)


def test_functions_above_a_cut_run_in_transforms() -> None:
    class Cut(Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> None:
            return None

    class Noted(Cut):
        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            Seen.notes.append(g.tolist())
            return g + 1

    found = grad_of(lambda x: Cut.apply(Noted.apply(x).sin()).sum())(pb.ones(2))
    assert Seen.notes == [[0.0, 0.0]] and found.tolist() == [1.0, 1.0]
