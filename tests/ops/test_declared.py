"""Every parameter that is declared to be of a kind refuses what is not, in the words of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback as pb
from support import samples
from support.fuzz import function_of

TABLE = samples.table()
FAR = 99


def declared(kind: str) -> list[tuple[str, int, str]]:
    """Entries and positions of parameters that are declared to be of this kind."""
    found = []
    for name, entry in TABLE.items():
        for at, p in enumerate(entry["params"]):
            if p["declared"] == kind and function_of(entry) is not None:
                found.append((name, at, p["name"]))
    return sorted(found)


def calls(name: str, at: int, change: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    """The samples of an entry with one argument changed, which may be one that they leave out."""
    f, param = function_of(TABLE[name]), TABLE[name]["params"][at]
    assert f is not None
    for sample in samples.build(name, 0):
        args, kwargs = list(sample.args), dict(sample.kwargs)
        if at < len(args) and not param["kwonly"]:
            args[at] = change(args[at])
        elif at == len(args) and not param["kwonly"]:
            args.append(change(kwargs.pop(param["name"], None)))
        else:
            kwargs[param["name"]] = change(kwargs.get(param["name"]))
        yield lambda args=args, kwargs=kwargs: f(*args, **kwargs)


def first_message(call: Callable[[], Any], kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def many(value: Any) -> Any:
    """A dimension that does not exist in place of each that is named, or of the one that is not."""
    if isinstance(value, (list, tuple)):
        return [FAR, *value[1:]]
    return FAR


PLACES = [*declared("Dim"), *declared("NewDim"), *declared("Reduced"), *declared("Dimensions"), *declared("SplitDim")]
PLACES += [*declared("MemberDim"), *declared("JoinDim"), *declared("SomeDimensions"), *declared("DimOrOther")]
SENTENCE = (
    r"argument '(\w+)': Dimension out of range \(expected to be in range of \[-(\d+), (\d+)\], but got 99\): "
    r"there (are no dimensions, so|is 1 dimension; name|are \d+ dimensions; count them from)"
)


def test_there_are_parameters_of_all_kinds() -> None:
    names = {p["declared"] for e in TABLE.values() for p in e["params"]}
    assert {"Dim", "NewDim", "Reduced", "Square", "IndexTensor", "Integers", "Floats", "RequiresGrad"} <= names
    assert len(PLACES) > 50


@pytest.mark.parametrize("place", PLACES, ids=lambda p: f"{p[0]}-{p[2]}")
def test_dimension_out_of_range(place: tuple[str, int, str]) -> None:
    name, at, parameter = place
    seen = 0
    for call in calls(name, at, many):
        try:
            call()
        except IndexError as e:
            found = re.search(SENTENCE, str(e))
            assert found, f"{name}: {e}"
            assert found[1] in (parameter, "dim"), f"{name}: {e}"
            assert str(e).startswith((TABLE[name]["name"].rpartition(".")[2], "linalg.")), e
            seen += 1
        except (RuntimeError, TypeError) as e:
            # Other arguments of a sample may not fit the changed one.
            assert "Dimension out of range" not in str(e), e
        else:
            raise AssertionError(f"{name}: a dimension that does not exist was accepted")
    assert seen, f"{name}: no sample reached the dimension"


INDICES = [*declared("IndexTensor"), *declared("Integers"), *declared("IndexOrEmpty"), *declared("IndexVector")]
INDICES += declared("FilledMembers")


@pytest.mark.parametrize("place", INDICES, ids=lambda p: f"{p[0]}-{p[2]}")
def test_index_of_another_dtype(place: tuple[str, int, str]) -> None:
    name, at, parameter = place
    seen = 0
    for call in calls(name, at, lambda t: t.to(pb.float32)):
        try:
            call()
        except (RuntimeError, IndexError) as e:
            want = rf"expected dtype int(64|32 or int64) for argument '{parameter}', but got float32; "
            assert re.search(want + rf"convert it with {parameter}\.long\(\)$", str(e)), f"{name}: {e}"
            seen += 1
    assert seen, name


@pytest.mark.parametrize("place", declared("Square"), ids=lambda p: p[0])
def test_matrices_that_are_not_square(place: tuple[str, int, str]) -> None:
    name, at, parameter = place
    seen = 0
    for call in calls(name, at, lambda a: pb.ones(2, 3, dtype=a.dtype)):
        text = first_message(call, RuntimeError)
        assert f"{parameter} must be batches of square matrices, but they are 2 by 3 matrices" in text
        assert text.endswith("give as many rows as columns in the last two dimensions")
        seen += 1
    assert seen


@pytest.mark.parametrize("place", [*declared("Floats"), *declared("Inexact")], ids=lambda p: f"{p[0]}-{p[2]}")
def test_integers_where_floats_are_needed(place: tuple[str, int, str]) -> None:
    name, at, _ = place
    for call in calls(name, at, lambda t: t.to(pb.int64)):
        text = first_message(call, NotImplementedError)
        assert "not implemented for int64 tensors; convert it with .float() or .double()" in text, text


@pytest.mark.parametrize("place", declared("GivenGenerator"), ids=lambda p: p[0])
def test_generators(place: tuple[str, int, str]) -> None:
    for call in calls(place[0], place[1], lambda _: 5):
        assert "argument 'generator'" in first_message(call, TypeError)


def test_makers_of_leaves_are_flagged() -> None:
    for entry in TABLE.values():
        asks = any(p["declared"] == "RequiresGrad" for p in entry["params"])
        assert not asks or entry["flags"]["creation"], entry["name"]
        inplace = any(p["declared"] == "Inplace" for p in entry["params"])
        assert inplace == entry["flags"]["inplace_keyword"], entry["name"]
