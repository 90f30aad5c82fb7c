"""Functions and modules that are written in Python name themselves in their errors, whatever they are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback import nn

X = pb.ones(2, 3)
SHAPES = [(), (0,), (5,), (2, 3), (1, 2, 3, 4), (1, 1, 1, 1, 1, 1, 1)]
COMPOSITES = sorted(F._COMPOSITES)


def wrong_calls(name: str) -> Iterator[Callable[[], Any]]:
    """Calls with tensors of one shape for each argument that must be given, and of another for the first."""
    f = getattr(F, name)
    needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    for dtype in (pb.float32, pb.int64):
        for shape in SHAPES:
            for first in SHAPES:
                args = [pb.ones(shape, dtype=dtype) if p.annotation == "Tensor" else 2 for p in needed]
                args[0] = pb.ones(first)
                yield lambda args=args: f(*args)


def errors(calls: Iterator[Callable[[], Any]]) -> Iterator[Exception]:
    for call in calls:
        try:
            call()
        except Exception as e:
            yield e


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPOSITES)
def test_errors_have_the_name_of_the_function(name: str) -> None:
    for error in errors(wrong_calls(name)):
        assert str(error).startswith(f"{name}(): "), error
        assert isinstance(error, (RuntimeError, ValueError, IndexError, TypeError, AssertionError)), repr(error)


# Outside of training these give back what they got.
IDLE = {"alpha_dropout", "feature_alpha_dropout"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in COMPOSITES if not n.endswith("_") and n not in IDLE])
def test_what_is_no_tensor_is_said_to_be_none(name: str) -> None:
    f = getattr(F, name)
    needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\(\): ") as caught:
        f(*("a" for _ in needed))
    if caught.type is TypeError:
        assert "must be Tensor, not str" in str(caught.value), caught.value


def test_operators_inside_leave_their_names_to_the_function() -> None:
    with pytest.raises(RuntimeError, match=r"^poisson_nll_loss\(\): The size of tensor a \(5\) must match"):
        F.poisson_nll_loss(X, pb.ones(5))
    with pytest.raises(TypeError, match=r"^prelu\(\) missing 1 required positional argument: 'weight'"):
        F.prelu(X)  # type: ignore[call-arg]
    with pytest.raises(
        RuntimeError, match=r"^multi_margin_loss\(\): expected dtype int64 for argument 'target', but got"
    ):
        F.multi_margin_loss(X, pb.ones(2))


def test_errors_of_functions_that_were_given_are_their_own() -> None:
    def distance(a: pb.Tensor, b: pb.Tensor) -> pb.Tensor:
        return a @ b

    with pytest.raises(RuntimeError, match=r"^matmul\(\): mat1 and mat2 shapes"):
        F.triplet_margin_with_distance_loss(X, X, X, distance_function=distance)


CELL = nn.GRUCell(3, 4)
FORWARDS: list[tuple[nn.Module, tuple[Any, ...], str]] = [
    (CELL, (pb.ones(2, 7),), "GRUCell: input has inconsistent input_size: got 7"),
    (CELL, (X, pb.ones(5, 4)), "GRUCell: Input batch size 2 doesn't match hidden0 batch size 5"),
    (nn.CircularPad2d(1), (X,), r"CircularPad2d: expected 3D or 4D input \(got 2D input\)"),
    (nn.BatchNorm2d(3), (X,), r"BatchNorm2d: expected 4D input \(got 2D input\)"),
    (nn.LSTM(3, 4), (X.double(),), r"LSTM: RNN input dtype \(pullback.float64\) does not match weight dtype"),
    (nn.Sequential(nn.BatchNorm2d(3)), (X,), "BatchNorm2d: expected 4D input"),
    (nn.Linear(4, 2), (X,), r"linear\(\): mat1 and mat2 shapes"),
]


@pytest.mark.parametrize("case", FORWARDS, ids=lambda c: c[2][:12])
def test_modules_name_their_class(case: tuple[nn.Module, tuple[Any, ...], str]) -> None:
    module, args, text = case
    with pytest.raises((RuntimeError, ValueError), match="^" + text):
        module(*args)


def test_errors_of_modules_of_ones_own_stay_as_they_are() -> None:
    class Own(nn.Module):
        def forward(self, x: pb.Tensor) -> pb.Tensor:
            raise ValueError("of my own")

    for module in (Own(), nn.Sequential(Own())):
        with pytest.raises(ValueError, match="^of my own$"):
            module(X)


def test_thresholds_keep_the_dtype() -> None:
    assert F.threshold(pb.arange(4), 1.5, 7.9).tolist() == [7, 7, 2, 3]
    large = 2**53 + 1
    assert F.threshold(pb.tensor([large]), 0.5, -4.3).item() == large
