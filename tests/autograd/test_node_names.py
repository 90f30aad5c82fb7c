"""Nodes of the tape are called as PyTorch calls those of the operator that the program called."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import pullback as torch
import pullback.nn.functional as F

RECORDED: dict[str, str] = json.loads((Path(__file__).parents[1] / "data" / "node_names.json").read_text())


def ramp(*shape: int) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel(), dtype=torch.float32).sin() + 0.1).reshape(shape).requires_grad_()


def names() -> dict[str, object]:
    square = ramp(4, 4).detach().add(torch.eye(4)).requires_grad_()
    tensors = {"x": ramp(3, 4), "y": ramp(3, 4), "v": ramp(4), "s": square, "b": ramp(2, 3, 3)}
    images = {"i": ramp(1, 1, 4, 4), "w": ramp(1, 1, 2, 2)}
    constants = {"c": torch.tensor([0, 1, 2]), "p": torch.full((3, 4), 0.25), "e": torch.eye(4)}
    return {"torch": torch, "F": F, **tensors, **images, **constants}


@pytest.mark.parametrize("call", RECORDED)
def test_name_of_the_node(call: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(call, names())
    assert out.grad_fn is not None
    assert out.grad_fn.name() == RECORDED[call]
    assert f"grad_fn=<{RECORDED[call]}>" in repr(out)


def test_an_argument_that_is_given_back_keeps_its_name() -> None:
    x = ramp(3, 4).exp()
    same = F.dropout(x, 0.5, training=False)
    assert same.grad_fn is not None and same.grad_fn.name() == "ExpBackward0"
    assert repr(x).endswith("grad_fn=<ExpBackward0>)")


def test_results_of_one_call_have_one_name() -> None:
    values, _ = ramp(3, 4).max(1)
    first, second = ramp(4, 2).split(2)
    assert [t.grad_fn.name() for t in (values, first, second)] == ["MaxBackward0", "SplitBackward0", "SplitBackward0"]


def test_steps_inside_of_a_composite_keep_theirs() -> None:
    loss = F.smooth_l1_loss(ramp(3, 4), torch.zeros(3, 4))
    assert loss.grad_fn is not None and loss.grad_fn.name() == "SmoothL1LossBackward0"
    below = loss.grad_fn.next_functions[0][0]
    assert below is not None and below.name() != "SmoothL1LossBackward0"


def test_a_reversed_product_is_named_by_rank() -> None:
    matrix, vector = ramp(3, 4), ramp(4)
    assert (matrix @ vector).grad_fn.name() == "MvBackward0"
    assert (vector @ vector).grad_fn.name() == "DotBackward0"
