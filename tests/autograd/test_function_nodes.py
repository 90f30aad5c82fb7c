"""What a Function's backward node shows: its ctx."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function


class Scale(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: float, y: Any) -> Any:
        ctx.k = k
        ctx.list = [x, k]
        ctx.save_for_backward(x, None, y)
        return x * k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k, None, None


class Cube(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.power = 3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0] ** 2


def test_node_shows_what_the_ctx_has() -> None:
    x, y = pb.tensor([1.0, 2.0], requires_grad=True), pb.ones(2)
    node = Scale.apply(x, 3.0, y).grad_fn
    assert node.name() == "ScaleBackward"
    assert isinstance(node, pb.autograd.graph.Node)
    assert node.k == 3.0 and node.needs_input_grad == (True, False, False)
    saved = node.saved_tensors
    assert saved[0].requires_grad and saved[0].is_leaf and saved[0].tolist() == [1.0, 2.0]
    assert saved[1] is None and not saved[2].requires_grad
    assert node.list[0].requires_grad and node.list[1] == 3.0
    with pytest.raises(AttributeError, match="'ScaleBackward' object has no attribute 'missing'"):
        _ = node.missing


def test_saved_outputs_belong_to_the_node() -> None:
    x = pb.tensor([2.0], requires_grad=True)
    y = Cube.apply(x)
    first, second = y.grad_fn.saved_tensors
    assert second.grad_fn is y.grad_fn and y.grad_fn.power == 3
    (g,) = pb.autograd.grad(second.sum() + first.sum(), x)
    assert g.tolist() == [13.0]


def test_saved_tensors_are_freed_and_attributes_stay() -> None:
    x = pb.tensor([2.0], requires_grad=True)
    y = Cube.apply(x)
    y.sum().backward(retain_graph=True)
    assert y.grad_fn.saved_tensors[0].tolist() == [2.0]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed.*retain_graph=True"):
        _ = y.grad_fn.saved_tensors
    assert y.grad_fn.power == 3 and y.grad_fn.needs_input_grad == (True,)
    assert x.grad is not None and x.grad.tolist() == [24.0]


def test_reading_the_node_while_its_backward_runs() -> None:
    seen = []

    class Looks(Cube):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(y.grad_fn.saved_tensors[0].tolist())
            return g * len(ctx.saved_tensors)

    x = pb.tensor([2.0], requires_grad=True)
    y = Looks.apply(x)
    y.sum().backward(retain_graph=True)
    assert seen == [[2.0]] and x.grad is not None and x.grad.tolist() == [2.0]


def test_nodes_of_operators_have_no_ctx() -> None:
    y = pb.ones(2, requires_grad=True) * 2
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute 'saved_tensors'"):
        _ = y.grad_fn.saved_tensors
