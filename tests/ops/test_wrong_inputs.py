"""Calls that PyTorch refuses, and that were taken for others: an argument that goes unread, or is cut, is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F

X = pb.ones(2, 3)
ONE = pb.tensor(1)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "max keepdim": (lambda: pb.max(X, ONE, True), TypeError, r"max\(\): argument 'keepdim' goes with 'dim' as an int"),
    "min keepdim": (lambda: X.min(ONE, keepdim=True), TypeError, r"min\(\): argument 'keepdim' goes with 'dim' as an"),
    "normal size": (lambda: pb.normal(X, 1.0, (2, 3)), TypeError, r"normal\(\): argument 'size' goes with numbers"),
    "order of norm": (lambda: pb.norm(X, 1j), RuntimeError, r"norm\(\): Expected a non-complex scalar as the order"),
    "order of linalg.norm": (lambda: pb.linalg.norm(X, 1j), RuntimeError, r"linalg\.norm: Expected a non-complex"),
    "order of cond": (lambda: pb.linalg.cond(pb.eye(2), 1j), RuntimeError, r"linalg\.cond: Expected a non-complex"),
    "size of images": (
        lambda: F.interpolate(pb.ones(1, 1, 3), [2.5]),
        TypeError,
        r"interpolate\(\): argument 'size' must be int or tuple of ints, but got 2\.5; give a factor as scale_factor",
    ),
    "length": (lambda: X.narrow(0, 0, -1), RuntimeError, r"narrow\(\): length must be non-negative, but got length=-1"),
    "step": (
        lambda: pb.arange(0, 5, 0.5, dtype=pb.int64),
        ValueError,
        r"arange\(\): argument 'step' must not be 0, but",
    ),
    "weights": (
        lambda: pb.multinomial(pb.ones(2, dtype=pb.int64), 1),
        RuntimeError,
        r"multinomial\(\): only supports floating-point dtypes for input, got int64; convert it with \.float\(\)",
    ),
    "rows": (lambda: X.index_select(0, pb.tensor([7])), IndexError, r"index_select\(\): index 7 is out of bounds"),
    "item": (lambda: X.item(), RuntimeError, r"item\(\): a Tensor with 6 elements .*; index one of them"),
    "normalized": (
        lambda: F.rms_norm(X, [2, 2]),
        RuntimeError,
        r"rms_norm\(\): given normalized_shape=\[2, 2\], expected input with shape \[\*, 2, 2\], but got",
    ),
    "probability": (
        lambda: F.dropout(X, pb.tensor(0.5, requires_grad=True)),
        TypeError,
        r"dropout\(\): argument 'p' \(position 2\) must be float, not Tensor",
    ),
    "exponent of a row": (
        lambda: pb.dist(X, X, pb.tensor([2.0])),
        TypeError,
        r"dist\(\): argument 'p' \(position 3\) must be float, not Tensor",
    ),
    "seed": (lambda: pb.manual_seed("a"), ValueError, "invalid literal for int"),
    "large seed": (
        lambda: pb.manual_seed(2**70),
        ValueError,
        r"manual_seed\(\): argument 'seed': Overflow .* 2\*\*64 - 1",
    ),
    "seed of a generator": (
        lambda: pb.Generator().manual_seed("a"),  # type: ignore[arg-type]
        RuntimeError,
        r"manual_seed\(\): argument 'seed': expected a long, but got str; give an int",
    ),
    "float as a seed of a generator": (
        lambda: pb.Generator().manual_seed(1.5),  # type: ignore[arg-type]
        RuntimeError,
        r"manual_seed\(\): argument 'seed': expected a long, but got float",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind, match="^" + text):
        call()


def test_numbers_may_be_tensors_without_dimensions() -> None:
    assert F.dropout(X, pb.tensor(0.0)).equal(X)
    assert pb.dist(X, X * 2, pb.tensor(2.0)) == pb.dist(X, X * 2, 2.0)
    assert pb.norm(X, pb.tensor(1)) == 6
    assert F.layer_norm(X, (3,), eps=pb.tensor(0.5)).equal(F.layer_norm(X, (3,), eps=0.5))
    assert pb.add(X, X, alpha=ONE).equal(X * 2)


def test_seeds_are_what_int_makes_of_them() -> None:
    assert pb.manual_seed(1.5).initial_seed() == 1  # type: ignore[arg-type]
    assert pb.manual_seed("7").initial_seed() == 7  # type: ignore[arg-type]
    assert pb.manual_seed(-1).initial_seed() == 2**64 - 1
    assert pb.manual_seed(pb.tensor(3)).initial_seed() == 3  # type: ignore[arg-type]
    assert pb.Generator().manual_seed(2**64 - 1).initial_seed() == 2**64 - 1


def test_means_without_dimensions_take_a_size() -> None:
    assert pb.normal(pb.tensor(0.0), 1.0, (2, 3)).shape == (2, 3)
    assert pb.normal(pb.tensor(0.0), pb.tensor(1.0), (4,)).shape == (4,)
