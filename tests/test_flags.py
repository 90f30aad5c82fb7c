"""Flags of functions: bools, and whole numbers in their place as PyTorch's functions take them."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

X = pb.tensor([1.0, 2.0])
FLAGS: dict[str, Any] = {
    "retain_graph": lambda v, x: pb.autograd.grad(x.sin().sum(), x, retain_graph=v),
    "create_graph": lambda v, x: pb.autograd.grad(x.sin().sum(), x, create_graph=v)[0].requires_grad is bool(v),
    "allow_unused": lambda v, x: pb.autograd.grad(x.sin().sum(), x, allow_unused=v),
    "only_inputs": lambda v, x: pb.autograd.grad(x.sin().sum(), x, only_inputs=v),
    "materialize_grads": lambda v, x: pb.autograd.grad(x.sin().sum(), x, materialize_grads=v),
    "backward": lambda v, x: pb.autograd.backward(x.sin().sum(), retain_graph=v, create_graph=v),
    "grad": lambda v, x: len(pb.func.grad(_pair if v else pb.sum, has_aux=v)(X)) == 2,
    "grad_and_value": lambda v, x: pb.func.grad_and_value(_pair if v else pb.sum, has_aux=v)(X),
    "vjp": lambda v, x: pb.func.vjp(_pair if v else pb.sum, X, has_aux=v),
    "jvp": lambda v, x: pb.func.jvp(_pair if v else pb.sum, (X,), (X,), strict=v, has_aux=v),
    "jacrev": lambda v, x: pb.func.jacrev(_pair if v else pb.sum, has_aux=v)(X),
    "jacfwd": lambda v, x: pb.func.jacfwd(_pair if v else pb.sum, has_aux=v)(X),
}


def _pair(x: Any) -> Any:
    return x.sum(), x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [True, False, 1, 0])
def test_whole_numbers_are_flags(name: str, value: Any) -> None:
    assert FLAGS[name](value, X.clone().requires_grad_()) is not False


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", ["yes", 1.0, []])
def test_other_objects_are_none(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"expected True or False, but got {type(value).__name__}") as e:
        FLAGS[name](value, X.clone().requires_grad_())
    assert e.value.__notes__[0].startswith("while processing")


@pytest.mark.parametrize("value", [1, 0, 3])
def test_recording_is_a_bool(value: int) -> None:
    with pytest.raises(
        TypeError, match=r"set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool, not int"
    ):
        pb.set_grad_enabled(value)  # type: ignore[arg-type]
    assert pb.is_grad_enabled()
