"""Operators that are declared first and get their functions afterwards."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.library import Library, define, impl, register_autograd, register_fake

same = pb.testing.assert_close
X = pb.tensor([0.5, 1.0])


def test_kernels_shapes_and_derivatives() -> None:
    library = Library("declared", "DEF")
    assert library.define("scaled(Tensor x, *, float by=2.0) -> Tensor") == "scaled"
    op = pb.ops.declared.scaled
    with pytest.raises(NotImplementedError, match="declared::scaled"):
        op(X)
    library.impl("scaled", lambda x, by=2.0: pb.from_numpy(x.numpy() * by), "CPU")
    library.impl("scaled", lambda x, by=2.0: pb.empty_like(x), "Meta")
    register_autograd("declared::scaled", lambda ctx, g: g * 3, lib=library)
    same(op(X, by=3.0), X * 3)
    same(op.default(X), X * 2)
    same(pb.func.grad(lambda x: op(x, by=3.0).sum())(X), pb.full_like(X, 3.0))
    assert pb.func.eval_shape(op)(X).shape == X.shape


def test_functions_of_operators_have_derivatives() -> None:
    define("declared::wave", "(Tensor x) -> Tensor")
    library = Library("declared", "IMPL", "CompositeImplicitAutograd")
    library.impl("wave", lambda x: x.sin())
    same(pb.func.jacrev(pb.ops.declared.wave)(X), pb.diag(X.cos()))
    same(pb.vmap(pb.ops.declared.wave)(pb.stack([X, X])), pb.stack([X, X]).sin())


def test_impl_decorates() -> None:
    define("declared::twice", "(Tensor x) -> Tensor")

    @impl("declared::twice", ("cpu", "cuda"))
    def twice(x: Any) -> Any:
        return pb.from_numpy(x.numpy() * 2)

    @register_fake("declared::twice")
    def _(x: Any) -> Any:
        return pb.empty_like(x)

    same(pb.ops.declared.twice(X), twice(X))
    library = Library("declared", "IMPL")
    library.impl("twice", lambda x: x * 100, "SparseCPU")  # no tensor here asks for it
    library.impl(pb.ops.declared.twice, lambda x: pb.from_numpy(x.numpy() * 4), "CPU")
    same(pb.ops.declared.twice(X), X * 4)


def test_what_is_taken_back() -> None:
    with pb.library._scoped_library("declared_for_a_while", "FRAGMENT") as library:
        library.define("one(Tensor x) -> Tensor")
        assert hasattr(pb.ops.declared_for_a_while, "one")
    assert not hasattr(pb.ops.declared_for_a_while, "one")


def test_refusals() -> None:
    library = Library("declared_again", "DEF")
    library.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="there is an operator declared_again::one already"):
        library.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="no operator declared_again::two; define"):
        library.impl("two", lambda x: x, "CPU")
    for key in ("Autograd", "AutogradCPU"):
        with pytest.raises(NotImplementedError, match="register_autograd"):
            library.impl("one", lambda x: x, key)
    with pytest.raises(NotImplementedError, match="operators of the table stay as they are"):
        Library("aten", "IMPL").impl("mm", lambda a, b: a, "CPU")
    with pytest.raises(ValueError, match="argument 'kind' must be one of DEF"):
        Library("declared", "OTHER")
