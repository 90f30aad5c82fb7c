"""The error of an in-place form, and of an operator that is made of others, names the one that was called, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback as pb
from support import samples
from support.fuzz import function_of

TABLE = samples.table()
WRONG: list[Any] = [None, "a", pb.ones(7), pb.ones(2, 0, 3, dtype=pb.int64), pb.ones((), dtype=pb.complex64), 99]


def wrong_calls(f: Callable[..., Any], name: str) -> Iterator[Callable[[], Any]]:
    """The samples of an entry with one argument behind the first in place of which stands something else."""
    for sample in samples.build(name, 0)[:3]:
        for at in range(1, len(sample.args)):
            for wrong in WRONG:
                args = [a.clone() if isinstance(a, pb.Tensor) else a for a in sample.args]
                args[at] = wrong
                yield lambda args=args, kwargs=sample.kwargs: f(*args, **kwargs)


def messages(calls: Iterator[Callable[[], Any]]) -> Iterator[str]:
    for call in calls:
        try:
            call()
        except (RuntimeError, TypeError, IndexError, ValueError) as e:
            yield str(e)


INPLACE = sorted(n for n, e in TABLE.items() if e["flags"].get("inplace") and "." not in n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INPLACE)
def test_in_place_forms(name: str) -> None:
    method = getattr(pb.Tensor, name + "_")
    for text in messages(wrong_calls(lambda x, *args, **kwargs: method(x, *args, **kwargs), name)):
        assert not text.startswith(f"{name}(): "), text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_name_stands_twice(name: str) -> None:
    f = function_of(TABLE[name])
    if f is not None:
        for text in messages(wrong_calls(f, name)):
            assert not re.match(r"[\w.]+(\(\))?: \w+(\(\):| expects)", text), text


def test_examples() -> None:
    index = pb.tensor([5])
    with pytest.raises(IndexError, match=r"^index_add_\(\): index 5 is out of bounds for dimension 0 with size 3"):
        pb.ones(3).index_add_(0, index, pb.ones(1))
    with pytest.raises(RuntimeError, match=r"^masked_fill_\(\): only supports boolean masks"):
        pb.ones(3).masked_fill_(pb.ones(3), 2)
    with pytest.raises(RuntimeError, match=r"^mv\(\): mat1 and mat2 shapes cannot be multiplied"):
        pb.mv(pb.ones(2, 3), pb.ones(2))
    with pytest.raises(RuntimeError, match=r"^cauchy_\(\): expects sigma > 0\.0, but found sigma=0; give a positive"):
        pb.ones(3).cauchy_(0, 0)
