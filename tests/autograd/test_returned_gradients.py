"""What a backward returns that is no gradient: types and sentences of the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import grad, vmap


def returning(value: Any) -> Any:
    class Returns(Function):
        @staticmethod
        def forward(ctx: Any, x: pb.Tensor) -> pb.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: pb.Tensor) -> Any:
            return value(g) if callable(value) else value

    return Returns.apply


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (3.0, "expected a Tensor or None"),
        (3, "expected a Tensor or None"),
        ("ab", "expected a Tensor or None"),
        (True, "expected a Tensor or None"),
        ({}, "expected a Tensor or None"),
        (np.ones(3), "expected a Tensor or None"),
        ((), "incorrect number of gradients"),
        (lambda g: (g, g), "incorrect number of gradients"),
        (lambda g: g[:2], "invalid gradient at index 0"),
        (lambda g: pb.ones(4, 5), "invalid gradient at index 0"),
        (lambda g: g.to(pb.complex64), r"invalid gradient at index 0.*expected type float32 but got complex64.*\.real"),
    ],
)
def test_what_is_no_gradient_raises(value: Any, match: str) -> None:
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=match):
        returning(value)(x).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("dtype", [pb.int64, pb.bool, pb.uint8, pb.float64, pb.float16])
def test_gradients_of_other_dtypes_become_the_inputs(dtype: pb.dtype) -> None:
    for of in (pb.float32, pb.float64):
        x = pb.tensor([1.0, 2.0, 3.0], dtype=of, requires_grad=True)
        returning(lambda g: pb.tensor([1, 0, 1]).to(dtype))(x).sum().backward()
        assert x.grad is not None and x.grad.dtype == of and x.grad.tolist() == [1.0, 0.0, 1.0]
    z = pb.tensor([1.0 + 1j], requires_grad=True)
    step = returning(lambda g: pb.ones(1).to(dtype))
    if dtype.is_floating_point:
        step(z).sum().backward(pb.tensor(1.0 + 0j))
        assert z.grad is not None and z.grad.tolist() == [1.0 + 0j]
    else:
        with pytest.raises(RuntimeError, match="expected type complex64"):
            step(z).sum().backward(pb.tensor(1.0 + 0j))


def test_whole_numbers_in_a_transform() -> None:
    class Step(Function):
        @staticmethod
        def forward(x: pb.Tensor) -> pb.Tensor:
            return (x > 0).float()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: pb.Tensor) -> pb.Tensor:
            return g > 0

    found = grad(lambda x: Step.apply(x * 2).sum())(pb.tensor([1.0, -1.0]))
    assert found.dtype == pb.float32 and found.tolist() == [2.0, 2.0]
    assert vmap(grad(lambda x: Step.apply(x)))(pb.ones(3)).tolist() == [1.0] * 3


def test_a_backward_that_raises_adds_to_no_gradient() -> None:
    def fail(g: pb.Tensor) -> pb.Tensor:
        raise ValueError("in the middle")

    a, b, c = (pb.ones(1, requires_grad=True) for _ in range(3))
    c.grad = pb.ones(1)
    for broken in (True, False):
        loss = ((returning(fail)(a) if broken else a) * 2 + b * 3) * c
        if broken:
            with pytest.raises(ValueError, match="in the middle"):
                loss.sum().backward()
            assert a.grad is None and b.grad is None and c.grad.item() == 1.0
        else:
            loss.sum().backward()
    assert (a.grad.item(), b.grad.item(), c.grad.item()) == (2.0, 3.0, 6.0)  # type: ignore[attr-defined]
