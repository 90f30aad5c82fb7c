"""Every parameter that is declared to be of a kind refuses what is not, in the words of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from support import properties, samples
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
PLACES += [*declared("NamedIfEmpty"), *declared("ReducedOrFlag"), *declared("ReducedAsNamed")]
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


@pytest.mark.parametrize("place", declared("Matrices"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_tensors_that_are_no_matrices(place: tuple[str, int, str]) -> None:
    for change, sentence in (
        (
            lambda a: a.flatten(),
            r"The input tensor {name} must have at least 2 dimensions, but has .*; give matrices in the",
        ),
        (lambda a: a.half(), r"Low precision dtypes not supported. Got float16 as argument '{name}'; convert it with"),
        (lambda a: a.long(), r"Expected a floating point tensor as argument '{name}'\. Got int64; convert it with"),
    ):
        refused(place, change, RuntimeError, sentence)


@pytest.mark.parametrize("place", declared("AllDimensions"), ids=lambda p: p[0])
def test_orders_of_dimensions(place: tuple[str, int, str]) -> None:
    sentence = (
        r"argument '{name}': number of dimensions .* is not equal to len\({name}\) = \d; name each dimension once$"
    )
    refused(place, lambda dims: [*dims, 0], RuntimeError, sentence)


@pytest.mark.parametrize("place", declared("FloatDType"), ids=lambda p: p[0])
def test_dtypes_that_are_drawn(place: tuple[str, int, str]) -> None:
    sentence = r"not implemented for int64 tensors; draw floats and convert them with \.to\(\)$"
    refused(place, lambda _: pb.int64, NotImplementedError, sentence)


@pytest.mark.parametrize("place", [*declared("Floats"), *declared("Inexact")], ids=lambda p: f"{p[0]}-{p[2]}")
def test_integers_where_floats_are_needed(place: tuple[str, int, str]) -> None:
    name, at, _ = place
    for call in calls(name, at, lambda t: t.to(pb.int64)):
        text = first_message(call, NotImplementedError)
        assert "not implemented for int64 tensors; convert it with .float() or .double()" in text, text


def refused(place: tuple[str, int, str], change: Callable[[Any], Any], kinds: Any, sentence: str) -> None:
    """A call that differs from a sample in this argument alone is refused with this sentence."""
    name, at, parameter = place
    said = []
    for call in calls(name, at, change):
        try:
            call()
        except kinds as e:
            said.append(str(e))
    want = sentence.format(name=parameter)
    assert any(re.search(want, text) for text in said), f"{name}: {said[:3]}, not {want}"


@pytest.mark.parametrize("place", declared("Count"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_negative_counts(place: tuple[str, int, str]) -> None:
    refused(place, lambda _: -3, RuntimeError, r"argument '{name}' must be 0 or larger, but got {name}=-3$")


@pytest.mark.parametrize("place", declared("Positive"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_counts_that_are_not_positive(place: tuple[str, int, str]) -> None:
    refused(place, lambda _: 0, RuntimeError, r"argument '{name}' must be 1 or larger, but got {name}=0$")


@pytest.mark.parametrize("place", declared("NonZero"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_zeros(place: tuple[str, int, str]) -> None:
    refused(
        place, lambda _: 0, RuntimeError, r"argument '{name}' must not be 0; give another number, such as {name}=1$"
    )


@pytest.mark.parametrize("place", [*declared("Probability"), *declared("Dropped")], ids=lambda p: f"{p[0]}-{p[2]}")
def test_numbers_that_are_no_probability(place: tuple[str, int, str]) -> None:
    kind = ValueError if place in declared("Dropped") else RuntimeError
    sentence = r"expects {name} to be in \[0, 1\], but got .*; it is a probability: {name} must be between 0\.0"
    refused(place, lambda _: 1.5, kind, sentence)


@pytest.mark.parametrize("place", declared("Chosen"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_words_that_are_not_known(place: tuple[str, int, str]) -> None:
    sentence = r"'nonsense' is not a valid value for {name}; use '\w+'(, '\w+')* or '\w+'$"
    refused(place, lambda _: "nonsense", (RuntimeError, ValueError), sentence)


@pytest.mark.parametrize("place", declared("Spatial"), ids=lambda p: f"{p[0]}-{p[2]}")
@pytest.mark.parametrize("wrong", [(-1,), (1, 1, 1, 1)])
def test_spatial_numbers(place: tuple[str, int, str], wrong: tuple[int, ...]) -> None:
    sentence = (
        r"argument '{name}' must be one int for all \d spatial dimension\(s\) or one for each, [01] or larger, but got "
        rf"{{name}}=\[{', '.join(map(str, wrong))}\]$"
    )
    refused(place, lambda _: wrong, RuntimeError, sentence)


@pytest.mark.parametrize("place", declared("Ranks"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_ranks(place: tuple[str, int, str]) -> None:
    """Of a tensor without dimensions and one of eight, one at least has a wrong number of them."""
    sentence = (
        r"argument '{name}' must (be a \dD( or \dD| to \dD)? tensor|have at (least|most) \d dimensions?), but it is "
        r"(0D, of shape \[\]; add dimensions with unsqueeze\(\)|8D, of shape .*; take dimensions away with squeeze)"
    )
    said = []
    for change in (lambda t: t.flatten()[0], lambda t: t.reshape(*t.shape, *[1] * (8 - t.ndim))):
        for call in calls(place[0], place[1], lambda t, change=change: change(t if t.numel() else t.new_ones(1))):
            try:
                call()
            except RuntimeError as e:
                said.append(str(e))
    assert any(re.search(sentence.format(name=place[2]), text) for text in said), (place, said[:3])


@pytest.mark.parametrize("place", declared("SameDType"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_tensors_of_another_dtype(place: tuple[str, int, str]) -> None:
    other = lambda t: t.to(pb.float16) if isinstance(t, pb.Tensor) else pb.ones((), dtype=pb.float16)
    sentence = r"expected dtype (\w+) for argument '{name}', but got float16; convert it with {name}\.to\(\1\)$"
    refused(place, other, RuntimeError, sentence)


@pytest.mark.parametrize("place", declared("Mask"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_masks_of_another_dtype(place: tuple[str, int, str]) -> None:
    sentence = r"argument '{name}' must be a tensor of bools, but got int64; convert it with {name}\.bool\(\)$"
    refused(place, lambda t: t.long(), RuntimeError, sentence)


@pytest.mark.parametrize("place", declared("Single"), ids=lambda p: f"{p[0]}-{p[2]}")
def test_values_with_dimensions(place: tuple[str, int, str]) -> None:
    sentence = r"argument '{name}' must be a number or a 0-dimensional tensor, but it has 1 dimension\(s\); give one"
    refused(place, lambda _: pb.ones(2), RuntimeError, sentence)


DTYPES: list[tuple[str, Any, type[Exception], str]] = [
    ("ComplexNumbers", pb.float32, RuntimeError, r"only supports complex tensors, but got float32; convert it with"),
    (
        "FullFloats",
        pb.int64,
        RuntimeError,
        r"expected dtype float32 or float64 for argument '{name}', but got int64; conv",
    ),
    (
        "NoBools",
        pb.bool,
        RuntimeError,
        r"not implemented for bool tensors; convert them with \.int\(\) or \.float\(\)$",
    ),
    ("OrderedNumbers", pb.bool, NotImplementedError, r"not implemented for bool tensors; convert them with \.int\(\)"),
    (
        "Ordered",
        pb.cfloat,
        NotImplementedError,
        r"not implemented for complex64 tensors: they have no order; order",
    ),
    (
        "OrderedNumbers",
        pb.cfloat,
        NotImplementedError,
        r"not implemented for complex64 tensors: they have no order; order",
    ),
]


@pytest.mark.parametrize(("kind", "dtype", "error", "sentence"), DTYPES)
def test_dtypes(kind: str, dtype: Any, error: type[Exception], sentence: str) -> None:
    assert declared(kind) or kind == "ComplexNumbers"
    for place in declared(kind):
        refused(place, lambda t: t.to(dtype), error, sentence)


@pytest.mark.parametrize("kind", ["NormDType", "InexactDType"])
def test_dtypes_to_compute_in(kind: str) -> None:
    sentence = {
        "NormDType": r"only supports floating point tensors, but got int32; give dtype, such as dtype=float32$",
        "InexactDType": r"floating point or complex dtype, got int32; give dtype, such as dtype=float32$",
    }[kind]
    for place in declared(kind):
        refused(place, lambda _: pb.int32, RuntimeError, sentence)


def test_factors() -> None:
    """Numbers that scale an operand; what they do by position is in test_factors.py."""
    places = declared("Factor")
    assert {entry for entry, _, _ in places} >= {"add", "sub", "addmm", "addmv", "baddbmm"}
    for place in places:
        refused(place, lambda _: "two", TypeError, "argument '{name}' must be Number, not str$")


def test_flags_by_truth_are_of_functions_that_python_has_in_front() -> None:
    """tests/nn/test_flags_of_functions.py calls them; no flag of an operator below is tested by its truth."""
    by_truth = {p["name"] for e in TABLE.values() for p in e["params"] if p["declared"] == "Truth"}
    assert by_truth == {"return_indices", "size_average", "reduce", "antialias", "recompute_scale_factor"}
    assert all(
        name.startswith("nn.functional.") for name, e in TABLE.items() for p in e["params"] if p["declared"] == "Truth"
    )


def test_every_kind_has_a_test() -> None:
    """Each kind that the table names is named in this file."""
    text = Path(__file__).read_text()
    names = {p["declared"] for e in TABLE.values() for p in e["params"]} - {None}
    missing = {name for name in names if f'"{name}"' not in text}
    assert not missing, missing


def test_other_keywords() -> None:
    """A keyword that a parameter declares besides its name means the parameter."""
    seen = 0
    for name, entry in TABLE.items():
        f = function_of(entry)
        for at, p in enumerate(entry["params"]):
            for alias in p["aliases"] if f is not None else ():
                with pytest.raises((TypeError, RuntimeError, ValueError, IndexError)) as raised:
                    f(**{alias: object()})
                assert "unexpected keyword" not in str(raised.value), (name, alias)
                assert alias not in [q["name"] for q in entry["params"]], (name, at, alias)
                seen += 1
    assert seen > 30


@pytest.mark.parametrize("name", [n for n, e in TABLE.items() if e["named"] is not None])
def test_named_tuples(name: str) -> None:
    """An entry says which named tuple it gives, and its samples give that or, where it depends on the call, tensors."""
    entry = TABLE[name]
    kind, fields = entry["named"]
    seen = 0
    for call in properties.calls(name):
        # Samples are shared by all tests.
        call.sample = copy(call.sample)
        call.sample.after = None
        result = call.result(call.tensors)
        if isinstance(result, pb.Tensor) or (type(result) is tuple and entry["returns"] == "any"):
            assert entry["returns"] == "any"
            continue
        assert type(result) is getattr(pb.return_types, kind) and list(result._fields) == fields
        seen += 1
    assert seen


def test_other_entries_give_no_named_tuple() -> None:
    for name, entry in TABLE.items():
        f = function_of(entry)
        if entry["named"] is None and f is not None and name in samples.load():
            assert entry["returns"] != "named tuple"
            for call in properties.calls(name)[:2]:
                assert not hasattr(call.result(call.tensors), "_fields"), name


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
