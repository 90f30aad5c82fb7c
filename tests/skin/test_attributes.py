"""Attributes of tensors that are assigned or deleted, and those of contexts."""

from __future__ import annotations

import resource
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.autograd import Function


def leaf() -> Any:
    x = pb.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    return x


def test_gradients_can_be_deleted() -> None:
    for attribute in ("grad", "_grad"):
        x = leaf()
        assert x.grad.tolist() == [2, 2]
        delattr(x, attribute)
        assert x.grad is None and x._grad is None
        delattr(x, attribute)
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3, 3]
        setattr(x, attribute, None)
        assert x.grad is None
        setattr(x, attribute, pb.ones(2))
        assert x.grad.tolist() == x._grad.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("attribute", "kind", "text"),
    [
        ("data", RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!"),
        ("requires_grad", RuntimeError, "requires_grad must be a bool"),
        ("_grad_fn", RuntimeError, "Deletion of _grad_fn not allowed"),
        ("_backward_hooks", RuntimeError, "Deletion of _backward_hooks not allowed"),
        ("shape", AttributeError, "shape"),
        ("dtype", AttributeError, "dtype"),
        ("device", AttributeError, "device"),
        ("grad_fn", AttributeError, "grad_fn"),
        ("is_leaf", AttributeError, "is_leaf"),
        ("T", AttributeError, "property"),
    ],
)
def test_what_cannot_be_deleted(attribute: str, kind: type[Exception], text: str) -> None:
    x = leaf()
    with pytest.raises(kind, match=text):
        delattr(x, attribute)
    assert x.requires_grad and x.data.tolist() == [1, 1] and x.grad is not None


@pytest.mark.parametrize(
    ("attribute", "value", "kind", "text"),
    [
        ("data", None, TypeError, "Variable data has to be a tensor, but got NoneType"),
        ("data", 5, TypeError, "Variable data has to be a tensor, but got int"),
        ("data", [1.0], TypeError, "Variable data has to be a tensor, but got list"),
        ("requires_grad", None, RuntimeError, "requires_grad must be a bool"),
        ("requires_grad", 1, RuntimeError, "requires_grad must be a bool"),
        ("requires_grad", [], RuntimeError, "requires_grad must be a bool"),
        ("requires_grad", pb.ones(2), RuntimeError, "requires_grad must be a bool"),
        ("grad", 5, TypeError, "expected to be a Tensor or None but got int"),
        ("_grad", [], TypeError, "expected to be a Tensor or None but got list"),
        ("grad", pb.ones(3), RuntimeError, "different size or type"),
        ("grad", pb.ones(2, dtype=pb.int64), RuntimeError, "different size or type"),
        ("grad_fn", None, AttributeError, "grad_fn"),
        ("_grad_fn", None, RuntimeError, "detach_"),
        ("_backward_hooks", None, RuntimeError, "register_hook"),
        ("shape", (1,), AttributeError, "shape"),
    ],
)
def test_what_cannot_be_assigned(attribute: str, value: Any, kind: type[Exception], text: str) -> None:
    x = leaf()
    with pytest.raises(kind, match=text):
        setattr(x, attribute, value)
    assert x.requires_grad and x.data.tolist() == [1, 1] and x.grad.tolist() == [2, 2]


def test_hooks_show() -> None:
    x = pb.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    hook = lambda g: g
    handle = x.register_hook(hook)
    assert x._backward_hooks == {handle.id: hook}
    handle.remove()
    assert x._backward_hooks is None


def test_batches_are_not_nested() -> None:
    assert not pb.ones(2).is_nested and not pb.vmap(lambda v: pb.tensor(float(v.is_nested)))(pb.ones(2)).any()


class Keeping(Function):
    """Keeps something on its context, and deletes it again."""

    when = "forward"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.kept, ctx.cache = 2.0, [x]
        if Keeping.when == "forward":
            del ctx.cache
            assert not hasattr(ctx, "cache")
        ctx.other = None
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if Keeping.when == "backward":
            assert ctx.cache[0] is not None
            del ctx.cache
        assert ctx.other is None
        del ctx.other
        with pytest.raises(AttributeError, match="cache"):
            del ctx.cache
        for attribute in ("saved_tensors", "needs_input_grad"):
            with pytest.raises(AttributeError):
                delattr(ctx, attribute)
        return g * ctx.kept


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_attributes_of_contexts_can_be_deleted(when: str) -> None:
    Keeping.when = when
    x = pb.ones(2, requires_grad=True)
    Keeping.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]
    assert pb.func.grad(lambda v: Keeping.apply(v).sum())(pb.ones(2)).tolist() == [2, 2]


def test_views_without_data_take_no_memory() -> None:
    """A byte for each element of these would be 2 GB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for view in (lambda x: x.t(), lambda x: x.view(-1)[3:], lambda x: x[:, 1].unflatten(0, (2, -1)).mT):
        x = view(pb.empty(10**9, 2, device="meta")).requires_grad_()
        assert x.is_leaf and x.requires_grad and nn.Parameter(x).shape == x.shape
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_type_names_the_device_of_what_has_no_data() -> None:
    assert pb.ones(1, device="meta", dtype=pb.complex64).type().endswith(".meta.ComplexFloatTensor")
    assert not pb.ones(1).type().endswith("meta.FloatTensor")
