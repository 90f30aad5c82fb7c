"""What entries declare about their arguments: errors name the operator once, and the argument that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import pullback as pb
from support import samples
from support.fuzz import function_of

TABLE = samples.table()


def wrong_calls(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The first samples of an entry with its tensors converted to dtypes and ranks that few operators take."""
    for sample in samples.build(name, 0)[:3]:
        for change in (
            lambda t: t.to(pb.int32),
            lambda t: t.to(pb.bool),
            lambda t: t.to(pb.float16),
            lambda t: t.unsqueeze(0).unsqueeze(0),
            lambda t: t.flatten()[:1].reshape(()) if t.numel() else t,
            lambda t: t.flatten()[:0],
        ):
            args = samples.replaced(sample.args, (change(t) for t in samples.tensors_in(sample.args)))
            yield args, sample.kwargs
        yield sample.args, {**sample.kwargs, "dim": 99}


def test_errors_name_the_operator_once():
    seen = 0
    for name, entry in TABLE.items():
        f = function_of(entry)
        if f is None or name not in samples.load():
            continue
        for args, kwargs in wrong_calls(name):
            try:
                f(*args, **kwargs)
            except Exception as e:
                text = str(e)
                seen += 1
                assert "<operator>" not in text, (name, text)
                assert not re.match(r"(\w+\(\): )\1", text), (name, text)
    assert seen > 500


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: pb.softmax(pb.ones(2, 3), 2), IndexError, r"^softmax\(\): argument 'dim': Dimension out of range"),
        (lambda: pb.transpose(pb.ones(2, 3), 0, 2), IndexError, r"^transpose\(\): argument 'dim1': Dimension out of"),
        (lambda: pb.unsqueeze(pb.ones(2), 3), IndexError, r"^unsqueeze\(\): argument 'dim': .*\[-2, 1\]"),
        (lambda: pb.sum(pb.ones(2, 3), (0, 0)), RuntimeError, r"^sum\(\): dim 0 appears multiple times"),
        (
            lambda: pb.nn.functional.silu(pb.ones(2).long()),
            NotImplementedError,
            r"^silu\(\): not implemented for int64",
        ),
        (lambda: pb.sort(pb.ones(2).cfloat()), NotImplementedError, r"^sort\(\): not implemented for complex64.*order"),
        (lambda: pb.mm(pb.ones(2), pb.ones(2, 2)), RuntimeError, r"^mm\(\): argument 'input' must be a 2D tensor, but"),
        (lambda: pb.linalg.inv(pb.ones(2, 3)), RuntimeError, r"^linalg\.inv: A must be batches of square matrices"),
        (lambda: pb.linalg.svd(pb.ones(2)), RuntimeError, r"^linalg\.svd: The input tensor A must have at least 2"),
        (
            lambda: pb.index_select(pb.ones(2), 0, pb.ones(1)),
            RuntimeError,
            r"^index_select\(\): expected dtype int32 or int64 for argument 'index', but got float32",
        ),
        (
            lambda: pb.nn.functional.mse_loss(pb.ones(2), pb.ones(2), reduction="some"),
            ValueError,
            r"^mse_loss\(\): 'some' is not a valid value for reduction",
        ),
        (lambda: pb.rand(2, dtype=pb.int64), NotImplementedError, r"^rand\(\): not implemented for int64"),
        (lambda: pb.ones(2).bernoulli_(2.0), RuntimeError, r"^bernoulli_\(\): expects p to be in \[0, 1\]"),
        (lambda: pb.addmm(pb.ones(2), pb.ones(2, 3), pb.ones(2, 3)), RuntimeError, r"^addmm\(\): mat1 and mat2 shapes"),
    ],
)
def test_one_sentence_for_each_kind(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
