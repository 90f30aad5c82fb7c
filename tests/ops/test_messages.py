"""Errors name the operator, the argument, what came and what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pullback as pb

X = pb.ones(2, 3)
CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: pb.transpose(X, 0, 4), IndexError, r"transpose\(\): argument 'dim1': Dimension out of range .*but got 4"),
    (lambda: pb.diagonal(X, 0, 3), IndexError, r"diagonal\(\): argument 'dim1': Dimension out of range"),
    (lambda: pb.flatten(X, 1, 0), RuntimeError, r"start_dim cannot come after end_dim, but got 1 and 0"),
    (lambda: pb.reshape(X, "a"), TypeError, r"reshape\(\): argument 'shape' .*but found element of type str at pos 0"),
    (lambda: pb.ones(2, "a"), TypeError, r"ones\(\): argument 'size' .*but found element of type str at pos 1"),
    (lambda: pb.cat([X, 1]), TypeError, r"cat\(\): argument 'tensors' .*but found element of type int at pos 1"),
    (lambda: pb.ones(2, dtype="f4"), TypeError, r"ones\(\): argument 'dtype' must be dtype, not str"),
    (lambda: pb.arange(0, 5, -1), RuntimeError, r"inconsistent with step sign: got start=0, end=5, step=-1"),
    (lambda: pb.addmm(X, X, X), RuntimeError, r"^addmm\(\): mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
    (lambda: pb.addmv(X, X, X), RuntimeError, r"^addmv\(\): argument 'vec' must be a 1D tensor, but it is 2D"),
    (
        lambda: pb.mm(X, X.t(), out=pb.ones(2, 2).double()),
        RuntimeError,
        r"mm\(\): Expected out .* float32, but got float64",
    ),
    (
        lambda: pb.nn.functional.embedding(pb.tensor([9]), X),
        IndexError,
        r"embedding\(\): index out of range in self: index 9 .*valid indices are 0 to 1; .*num_embeddings=2",
    ),
    (
        lambda: pb.index_select(X, 0, pb.tensor([9])),
        IndexError,
        r"index_select\(\): index 9 is out of bounds for dimension 0 with size 2; valid indices are 0 to 1",
    ),
    (lambda: X[pb.tensor([5])], IndexError, r"index 5 is out of bounds .* with size 2; valid indices are -2 to 1"),
    (lambda: X[:, 5], IndexError, r"index 5 is out of bounds .* with size 3; valid indices are -3 to 2"),
    (
        lambda: pb.nn.functional.linear(X, X, pb.ones(5)),
        RuntimeError,
        r"linear\(\): argument 'bias' must have the shape \[2\].*but it has \[5\]; reshape",
    ),
    (lambda: pb.rsub(2, X), TypeError, r"rsub\(\): argument 'input' .*must be Tensor, not int"),
    (
        lambda: pb.tensor(1.0).addbmm_(pb.ones(2, 3, 4), pb.ones(2, 4, 5)),
        RuntimeError,
        r"addbmm_\(\): output with shape \[\] doesn't match the broadcast shape \[3, 5\]; .*without '_'",
    ),
    (
        lambda: pb.aminmax(X, dim=0, out=(pb.empty(3).double(), pb.empty(3))),
        RuntimeError,
        r"aminmax\(\): Expected out tensor to have dtype float32, but got float64 instead; give",
    ),
    (lambda: pb.linalg.solve(pb.eye(2), pb.ones(())), RuntimeError, r"linalg\.solve: argument 'B' must be a vector"),
    (
        lambda: pb.linalg.svd(pb.eye(2).long()),
        RuntimeError,
        r"linalg\.svd: .* argument 'A'\. Got int64; convert it with",
    ),
    (lambda: pb.linalg.eigh(pb.eye(2).half()), RuntimeError, r"linalg\.eigh: Low precision dtypes .* float16 .*'A'"),
    (lambda: pb.linalg.det(X), RuntimeError, r"linalg\.det: A must be batches of square matrices.*shape \[2, 3\]"),
    (
        lambda: X.reshape(4, 2),
        RuntimeError,
        r"shape '\[4, 2\]' is invalid for input of size 6: the shape has 8 elements",
    ),
    (lambda: X.view(4, -1), RuntimeError, r"view\(\): shape '\[4, -1\]' is invalid .* size 6: 4 does not divide 6"),
    (
        lambda: X.reshape(-1, -1),
        RuntimeError,
        r"only one dimension can be inferred; -1 stands twice in shape \[-1, -1\]",
    ),
    (
        lambda: X[1].as_strided((2, 2), (2, 1), 3),
        RuntimeError,
        r"sizes \[2, 2\], strides \[2, 1\] and storage offset 3 are out of bounds .* of 6 elements: they need 7\. Make",
    ),
    (
        lambda: pb.as_strided_scatter(X, pb.ones(2), (2,), (6,)),
        RuntimeError,
        r"strides \[6\] and storage offset 0 are out of bounds .* of 6 elements: they need 7\.",
    ),
    (
        lambda: pb.roll(X, (1, 2), 0),
        RuntimeError,
        r"^roll\(\): arguments 'shifts' and 'dims' must have the same length, but they have 2 and 1; give one entry",
    ),
    (
        lambda: pb.roll(X, (1, 2)),
        RuntimeError,
        r"^roll\(\): argument 'shifts' must be one int .*, but it has 2; name a",
    ),
    (
        lambda: pb.movedim(X, (0, 1), 0),
        RuntimeError,
        r"^movedim\(\): Invalid source or destination dims: arguments 'source' and 'destination' must have the",
    ),
    (lambda: pb.tensordot(X, X, ([0], [5])), IndexError, r"^tensordot\(\): argument 'dims': Dimension out of range"),
    (lambda: pb.tensordot(X, X, ([0], [0, 1])), RuntimeError, r"'dims\[0\]' and 'dims\[1\]' must have the same length"),
    (
        lambda: pb.tensordot(X, X, "a"),
        TypeError,
        r"^tensordot\(\): argument 'dims' must be int or tuple of ints, not str",
    ),
    (lambda: pb.tensordot(X, X, 3), RuntimeError, r"^tensordot\(\): argument 'dims' must be from 0 to 2.*got dims=3$"),
    (lambda: pb.var(X.long()), NotImplementedError, r"^var\(\): not implemented for int64 tensors; convert it with"),
    (lambda: pb.std(X.long()), NotImplementedError, r"^std\(\): not implemented for int64 tensors; convert it with"),
    (lambda: pb.var(X, True, True), TypeError, r"^var\(\): argument 'dim' must be int or tuple of ints, not bool"),
    (
        lambda: pb.linalg.norm(X.long()),
        RuntimeError,
        r"^linalg\.norm: only supports floating point .*int64; give dtype",
    ),
    (lambda: pb.dist(X.long(), X.long()), RuntimeError, r"^dist\(\): only supports floating point tensors.*convert it"),
    (lambda: pb.clamp(X), RuntimeError, r"^clamp\(\): at least one of 'min' or 'max' must not be None; give a bound"),
    (
        lambda: pb.linspace(0, 1, -3),
        RuntimeError,
        r"^linspace\(\): argument 'steps' must be 0 or larger, but got steps=-3",
    ),
    (lambda: pb.arange(0, 5, 0), RuntimeError, r"^arange\(\): argument 'step' must not be 0; give another number"),
    (
        lambda: pb.pow(pb.tensor([2]), -1),
        RuntimeError,
        r"^pow\(\): integers to negative .*; convert the input with \.float",
    ),
    (
        lambda: pb.nn.functional.dropout(X, p=1.5),
        ValueError,
        r"^dropout\(\): expects p to be in \[0, 1\], but got p=1\.5; it is a probability",
    ),
    (
        lambda: pb.nn.functional.grid_sample(X[None, None], pb.ones(1, 2, 2, 3)),
        RuntimeError,
        r"^grid_sample\(\): expected grid to have size 2 .*; give a coordinate for each spatial dimension",
    ),
    (
        lambda: pb.nn.functional.grid_sample(X[None, None], pb.ones(1, 2, 2)),
        RuntimeError,
        r"^grid_sample\(\): argument 'grid' must be a 4D tensor, but it is 3D, of shape \[1, 2, 2\]; add dimensions",
    ),
    (
        lambda: pb.nn.functional.binary_cross_entropy(X * 1.5, X),
        RuntimeError,
        r"of input should be between 0 and 1, but got 1\.5\. Give it a sigmoid, or use binary_cross_entropy_with",
    ),
    (
        lambda: pb.nn.functional.binary_cross_entropy(X, X * pb.nan),
        RuntimeError,
        r"of target should be between 0 and 1, but got nan\. It holds the probability",
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_message(case: int) -> None:
    call, kind, pattern = CASES[case]
    with pytest.raises(kind, match=pattern):
        call()


def texts_of_errors() -> dict[str, str]:
    """The messages of `refuse!` in the source of the operators, by place."""
    found = {}
    root = Path(__file__).parent.parent.parent / "src" / "ops"
    for path in root.rglob("*.rs"):
        source = path.read_text()
        for m in re.finditer(r'refuse!\(\s*(\w+),\s*"((?:[^"\\]|\\.|\\\n)*)"', source):
            if m[1] != "Internal":
                text = re.sub(r"\\\n\s*", "", m[2])
                found[f"{path.relative_to(root)}:{source.count(chr(10), 0, m.start()) + 1}"] = text
    return found


# How a message says what to do: behind a semicolon or a full stop, or by what must hold.
REMEDY = re.compile(r"; |\. \w|must be|should contain|subscripts must be|…")


def test_every_message_says_what_to_do() -> None:
    texts = texts_of_errors()
    assert len(texts) > 100
    assert not {place: text for place, text in texts.items() if not REMEDY.search(text)}


def test_python_types_of_numbers_are_dtypes() -> None:
    made = [pb.zeros(2, dtype=t).dtype for t in (float, int, bool, complex)]
    assert made == [pb.float64, pb.int64, pb.bool, pb.complex128]
    assert pb.sum(X, dtype=float).dtype == pb.float64


NUMBERS = [
    "remainder",
    "fmod",
    "pow",
    *(f"bitwise_{x}" for x in ("and", "or", "xor", "left_shift", "right_shift")),
]


@pytest.mark.parametrize("name", NUMBERS)
def test_two_numbers(name: str) -> None:
    f = getattr(pb, name)
    with pytest.raises(
        TypeError, match=rf"{name}\(\): arguments 'input' and '\w+' are both numbers; one must be a Tensor"
    ):
        f(3, 2)
    t = pb.tensor([7])
    assert f(t, 2).shape == f(t, t).shape == f(2, t).shape == (1,)
