"""Calls that PyTorch refuses, and that were taken for others: an argument that goes unread, or is cut, is an error."""

from __future__ import annotations

import operator
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


HUGE = 2**65
PLACES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "method": (
        lambda: X.transpose("a", 0),
        TypeError,
        r"transpose\(\): argument 'dim0' \(position 1\) must be int, not str",
    ),  # type: ignore[call-overload]
    "function": (
        lambda: pb.transpose(X, "a", 0),
        TypeError,
        r"transpose\(\): argument 'dim0' \(position 2\) must be int",
    ),  # type: ignore[call-overload]
    "in place": (lambda: X.clone().mul_("a"), TypeError, r"mul_\(\): argument 'other' \(position 1\) must be Tensor"),  # type: ignore[arg-type]
    "large int": (lambda: X.narrow(0, HUGE, 1), ValueError, "Overflow when unpacking long long"),
    "large dimension": (lambda: X.sum(HUGE), ValueError, "Overflow when unpacking long long"),
    "large index": (lambda: X[HUGE], ValueError, "Overflow when unpacking long long"),
    "large number of threads": (
        lambda: pb.set_num_threads(HUGE),
        ValueError,
        r"set_num_threads\(\): Overflow when unpacking long long",
    ),
    "no number of threads": (
        lambda: pb.set_num_threads("a"),
        TypeError,
        r"set_num_threads\(\): expects an int, but got str",
    ),  # type: ignore[arg-type]
    "one string": (lambda: pb.tensor("s"), TypeError, r"tensor\(\): invalid data type 'str'"),
    "first string": (lambda: pb.tensor(["s"]), ValueError, r"tensor\(\): too many dimensions 'str'"),
    "later string": (lambda: pb.tensor([1, "s"]), TypeError, r"tensor\(\): invalid data type 'str'"),
    "strings of a function": (
        lambda: X.clone().apply_(lambda _: "s"),
        TypeError,
        r"apply_\(\): .* real number, not str",
    ),
    "sizes and a list": (
        lambda: operator.add(pb.Size([1]), [2]),
        TypeError,
        r"can only concatenate tuple \(not list\) to torch\.Size",
    ),  # type: ignore[operator]
    "mask": (lambda: X.masked_select(X.byte()), RuntimeError, ".*expected BoolTensor for mask"),
    "condition": (
        lambda: pb.where(X, X, X),
        RuntimeError,
        ".*expected condition to be a boolean tensor, but got a tensor with",
    ),
    "image": (lambda: pb.fliplr(X[0]), RuntimeError, r"fliplr\(\): Input must be >= 2-d"),
    "view": (
        lambda: pb.empty(0).view(-1, 0),
        RuntimeError,
        ".* because the unspecified dimension size -1 can be any value",
    ),
    "uneven columns": (
        lambda: X.hsplit(2),
        RuntimeError,
        r"hsplit\(\): attempted to split along dimension 1, .* not divisible",
    ),
    "uneven rows": (
        lambda: pb.vsplit(pb.ones(3, 1), 2),
        RuntimeError,
        r"vsplit\(\): attempted to split along dimension 0",
    ),
    "unflatten": (
        lambda: X.unflatten(1, (2, 2)),
        RuntimeError,
        r"unflatten\(\): Provided sizes \[2, 2\] don't multiply up to the size of dim 1 \(3\)",
    ),
    "unflatten and infer": (
        lambda: X.unflatten(1, (-1, 2)),
        RuntimeError,
        r"unflatten\(\): Provided sizes \[-1, 2\] don't",
    ),
    "rows of targets": (
        lambda: F.multilabel_margin_loss(pb.ones(2, 3), pb.ones(6, dtype=pb.int64)),
        RuntimeError,
        r"multilabel_margin_loss\(\): inconsistent target size: \[6\] for an input of \[2, 3\]",
    ),
    "size of unpooling": (
        lambda: F.max_unpool1d(pb.ones(1, 1, 2), pb.tensor([[[0, 1]]]), 2, output_size=[9]),
        ValueError,
        r"max_unpool1d\(\): invalid output_size \[9\] \(dim 0 must be between 2 and 6\)",
    ),
    "stride": (
        lambda: F.max_pool1d(X, 1, stride=0),
        RuntimeError,
        r"max_pool1d\(\): non-positive stride is not supported",
    ),
    "padding": (
        lambda: F.conv1d(X, X[None], padding=-1),
        RuntimeError,
        r"conv1d\(\): negative padding is not supported",
    ),
}


@pytest.mark.parametrize(("call", "kind", "text"), [*REFUSED.values(), *PLACES.values()], ids=[*REFUSED, *PLACES])
def test_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match="^" + text):
        call()


def test_ends_of_slices_may_be_large() -> None:
    x = pb.arange(4)
    assert x[:HUGE].tolist() == x[-HUGE:].tolist() == [0, 1, 2, 3]
    assert x[HUGE:].tolist() == x[: -(HUGE**40)].tolist() == [] and x[1::HUGE].tolist() == [1]


def test_sizes_leave_sums_to_who_defines_them() -> None:
    class Right:
        def __radd__(self, other: Any) -> Any:
            return other

    size: Any = pb.Size([1, 2])
    assert size + Right() is size
