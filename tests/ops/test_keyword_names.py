"""Names of arguments: those that PyTorch's documentation and its parsers know are accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.nn import functional as F

X = pb.tensor([[4.0, 1.0], [2.0, 3.0]])
I = pb.tensor([0, 1])  # noqa: E741
S = X + X.T + 4 * pb.eye(2)

# Two calls that mean the same.
PAIRS: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: X.split(split_size=1), lambda: X.split(1)),
    (lambda: X.split(split_size=[1, 1], dim=1), lambda: X.split([1, 1], 1)),
    (lambda: pb.split(X, split_size_or_sections=1), lambda: X.split(1)),
    (lambda: pb.split(tensor=X, split_size_or_sections=[1, 1]), lambda: X.split(1)),
    (lambda: X.tensor_split(sections=2), lambda: X.tensor_split(2)),
    (lambda: X.tensor_split(indices=[1]), lambda: X.tensor_split([1])),
    (lambda: pb.tensor_split(X, tensor_indices_or_sections=pb.tensor(2)), lambda: X.tensor_split(2)),
    (lambda: X.hsplit(sections=2), lambda: X.hsplit(2)),
    (lambda: X.vsplit(indices=[1]), lambda: X.vsplit([1])),
    (lambda: X.view(size=(4,)), lambda: X.view(4)),
    (lambda: X.view(dtype=pb.int32), lambda: X.view(pb.int32)),
    (lambda: X.reshape(shape=(4,)), lambda: X.reshape(4)),
    (lambda: X.swapaxes(axis0=0, axis1=1), lambda: X.T),
    (lambda: pb.swapaxes(X, axis0=0, axis1=1), lambda: X.T),
    (lambda: X.swapdims(dim0=0, dim1=1), lambda: X.T),
    (lambda: pb.linalg.eigh(input=S), lambda: pb.linalg.eigh(A=S)),
    (lambda: pb.linalg.det(input=S), lambda: pb.linalg.det(A=S)),
    (lambda: pb.det(input=S), lambda: pb.linalg.det(S)),
    (lambda: pb.inverse(input=S), lambda: pb.linalg.inv(A=S)),
    (lambda: pb.linalg.cholesky(input=S), lambda: pb.linalg.cholesky(A=S)),
    (lambda: pb.linalg.qr(input=S), lambda: pb.linalg.qr(A=S)),
    (lambda: pb.linalg.svdvals(input=S), lambda: pb.linalg.svdvals(A=S)),
    (lambda: pb.linalg.norm(input=X), lambda: pb.linalg.norm(A=X)),
    (lambda: pb.linalg.vector_norm(input=X), lambda: pb.linalg.vector_norm(x=X)),
    (lambda: pb.linalg.matrix_norm(input=X), lambda: pb.linalg.matrix_norm(A=X)),
    (lambda: pb.linalg.diagonal(input=X), lambda: pb.linalg.diagonal(A=X)),
    (lambda: F.one_hot(input=I), lambda: F.one_hot(tensor=I)),
    (lambda: pb.result_type(tensor=X, other=I), lambda: pb.result_type(X, I)),
    (lambda: pb.result_type(tensor=I, other=1.5), lambda: pb.result_type(I, 1.5)),
    (lambda: pb.result_type(scalar=1.5, tensor=I), lambda: pb.result_type(1.5, I)),
    (lambda: pb.pow(self=2, exponent=X), lambda: 2**X),
    (lambda: pb.pow(input=X, exponent=2), lambda: X * X),
    (lambda: pb.add(x1=X, x2=X), lambda: X + X),
    (lambda: pb.add(input=X, other=X), lambda: X + X),
    (lambda: pb.sum(a=X), lambda: X.sum()),
    (lambda: pb.sum(x=X, axis=0, keepdims=True), lambda: X.sum(0, True)),
    (lambda: X.std(axis=1, keepdims=True), lambda: X.std(1, keepdim=True)),
    (lambda: pb.max(X, axis=0), lambda: X.max(0)),
    (lambda: pb.cat([X, X], axis=1), lambda: pb.cat([X, X], 1)),
    (lambda: pb.stack(tensors=[X, X], axis=1), lambda: pb.stack([X, X], 1)),
    (lambda: pb.squeeze(X[None], axis=0), lambda: X),
    (lambda: pb.softmax(X, axis=0), lambda: X.softmax(0)),
    (lambda: pb.gather(X, axis=0, index=I[None]), lambda: X.gather(0, I[None])),
    (lambda: X.clone().copy_(other=2 * X), lambda: 2 * X),
    (lambda: X.clone().copy_(src=2 * X), lambda: 2 * X),
    (lambda: X.contiguous(pb.contiguous_format), lambda: X),
    (lambda: F.l1_loss(X, 0 * X, weight=X), lambda: (X * X).sum() / X.sum()),
    (lambda: F.l1_loss(X, 0 * X, reduction="none", weight=X), lambda: X * X),
    (lambda: pb.rand_like(X, generator=seeded()), lambda: pb.rand(2, 2, generator=seeded())),
    (lambda: pb.randn_like(X, generator=seeded()), lambda: pb.randn(2, 2, generator=seeded())),
    (
        lambda: pb.randint_like(X.long(), 9, generator=seeded()),
        lambda: pb.randint(9, (2, 2), generator=seeded()),
    ),
]


def seeded() -> Any:
    return pb.Generator().manual_seed(5)


@pytest.mark.parametrize("k", range(len(PAIRS)))
def test_pairs(k: int) -> None:
    got, expected = (f() for f in PAIRS[k])
    if isinstance(expected, pb.Tensor):
        assert pb.equal(got, expected)
    elif isinstance(expected, (tuple, list)):
        assert len(got) == len(expected) and all(pb.equal(a, b) for a, b in zip(got, expected, strict=True))
    else:
        assert got == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.split(1, split_size=1),
        lambda: X.split(split_size=1, split_size_or_sections=1),
        lambda: X.sum(dim=0, axis=0),
        lambda: pb.add(X, X, x2=X),
        lambda: pb.add(X, input=X),
        lambda: X.sum(dtype=pb.float64, dtpye=1),
        lambda: X.reshape(dtype=pb.float64),
        lambda: pb.linalg.det(S, input=S),
        lambda: X.view(nonsense=3),
    ],
)
def test_names_that_are_given_twice_or_unknown(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument|multiple values"):
        call()


def names(entry: dict[str, Any]) -> list[str]:
    return [p["name"] for p in entry["params"]]


def test_numpy_names_work_for_every_operator() -> None:
    """`axis`, `keepdims` and `x` are what `dim`, `keepdim` and `input` are, wherever those are parameters."""
    for e in pb._core.operator_table():
        if e["flags"]["internal"] or not e["flags"]["function"]:
            continue
        f = pb._core.functions[e["name"]]
        for own, other in (("dim", "axis"), ("keepdim", "keepdims"), ("input", "x"), ("other", "x2")):
            if own in names(e) and other not in names(e):
                with pytest.raises((TypeError, RuntimeError, ValueError, IndexError, NotImplementedError)) as raised:
                    f(**{other: object()})
                assert "unexpected keyword" not in str(raised.value), (e["name"], other)
