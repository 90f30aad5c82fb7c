"""Schemas of operators: from hints, from text, and how they judge arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import pytest

import pullback as pb
from pullback import Tensor
from pullback.library import custom_op, infer_schema
from support.operators import X, mixed, numpy_sin

same = pb.testing.assert_close


def prototype(
    a: Tensor,
    b: Optional[Tensor],  # noqa: UP045
    c: Sequence[Tensor],
    d: list[Optional[Tensor]],  # noqa: UP045
    e: int,
    f: Union[int, float, bool],  # noqa: UP007
    g: Sequence[int] | None = None,
    h: str = "x",
    *,
    i: pb.dtype = pb.float32,
    j: bool = True,
    k: tuple[float, ...] | None = None,
) -> tuple[Tensor, list[Tensor]]: ...


def test_schema_from_hints() -> None:
    assert infer_schema(prototype, mutates_args={"a", "c"}) == (
        "(Tensor(a0!) a, Tensor? b, Tensor(a2!)[] c, Tensor?[] d, SymInt e, Scalar f, SymInt[]? g=None, "
        'str h="x", *, ScalarType i=float32, bool j=True, float[]? k=None) -> (Tensor, Tensor[])'
    )
    assert infer_schema(numpy_sin._fallback, mutates_args="unknown", op_name="a::b") == "a::b(Tensor(a0!) x) -> Tensor"


@pytest.mark.parametrize(
    ("function", "mutates", "message"),
    [
        (lambda x: x, (), "Parameter x must have a type annotation"),
        (len, (), "positional-only"),
        (prototype, {"z"}, r"\['z'\] in mutates_args were not found"),
        (prototype, {"e"}, "Parameter e is in mutable_args but only Tensors"),
        (prototype, "a", "mutates_args must be names"),
    ],
)
def test_schema_errors(function: Any, mutates: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"infer_schema\(func\): .*{message}"):
        infer_schema(function, mutates_args=mutates)


def test_hints_that_no_schema_knows() -> None:
    def mapping(x: dict[str, Tensor]) -> Tensor: ...
    def default(x: Tensor, y: Any = object()) -> Tensor: ...  # noqa: B008
    def result(x: Tensor) -> dict[str, Tensor]: ...
    def no_result(x: Tensor): ...  # type: ignore[no-untyped-def]

    for function, message in [
        (mapping, "Parameter x has unsupported type"),
        (default, "Parameter y has unsupported type"),
        (result, "Return has unsupported type"),
        (no_result, "No return type annotation"),
    ]:
        with pytest.raises(ValueError, match=message):
            infer_schema(function, mutates_args=())


def test_schema_as_text() -> None:
    def run(x: Any, n: Any, *, scale: Any) -> Any:
        return (x * n * scale, [x + 1, x - 1])

    op = custom_op(
        "tests::text", run, mutates_args=(), schema="(Tensor x, int n=2, *, float scale=3.) -> (Tensor, Tensor[])"
    )
    assert str(op._schema) == "tests::text(Tensor x, SymInt n=2, *, float scale=3.0) -> (Tensor, Tensor[])"
    same(op(X)[0], 6 * X)
    same(op(X, scale=1.0, n=5), (5 * X, [X + 1, X - 1]))
    text = "(Tensor(a!) x, Tensor?[] ys, int[2] k=[1, 2], ScalarType? t=float64, bool b=False) -> ()"
    assert str(custom_op("tests::t", run, mutates_args={"x"}, schema=text)._schema) == (
        "tests::t(Tensor(a!) x, Tensor?[] ys, SymInt[] k=[1, 2], ScalarType? t=float64, bool b=False) -> ()"
    )
    for wrong in ("Tensor x -> Tensor", "(Tensor) -> Tensor", "(Tensr x) -> Tensor", "(Tensor x) -> Tensr"):
        with pytest.raises(ValueError, match="argument 'schema'"):
            custom_op("tests::t", run, mutates_args=(), schema=wrong)
    with pytest.raises(ValueError, match=r"'mutates_args' expected .*\['x'\], got \[\]"):
        custom_op("tests::t", run, mutates_args=(), schema="(Tensor(a!) x) -> ()")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: numpy_sin(),
            r"tests::numpy_sin\(\) is missing value for argument 'x'. Declaration: tests::numpy_sin\(",
        ),
        (lambda: numpy_sin(X, X), r"expected at most 1 positional argument\(s\) but received 2"),
        (lambda: numpy_sin(X, y=X), r"Unknown keyword argument 'y' for operator 'tests::numpy_sin'"),
        (lambda: numpy_sin(X, x=X), r"multiple values for argument 'x'"),
        (lambda: numpy_sin(3), r"Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        (lambda: mixed([X, 3], 1), r"type 'Tensor\[\]' for argument 'xs' but instead found type 'list of Tensor, int'"),
        (lambda: mixed([X], True), r"type 'SymInt' for argument 'n' but instead found type 'bool'"),
        (lambda: mixed(X, 1), r"type 'Tensor\[\]' for argument 'xs' but instead found type 'Tensor'"),
        (lambda: mixed([X], 1, scale="a"), r"type 'float' for argument 'scale'"),
    ],
)
def test_argument_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()
