"""What gradients follow of views and of results that have an argument's value: they are results, not the argument."""

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb

VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(2, 3),
    "view_as": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(2, 3),
    "expand": lambda x: x.expand(2, 3),
    "transpose": lambda x: x.transpose(0, 0),
    "permute": lambda x: x.permute(0, 1),
    "squeeze": lambda x: x.squeeze(),
    "narrow": lambda x: x.narrow(0, 0, 2),
    "unflatten": lambda x: x.unflatten(0, (2,)),
    "movedim": lambda x: x.movedim(1, 1),
    "slice": lambda x: x[:],
    "ellipsis": lambda x: x[...],
    "as_strided": lambda x: x.as_strided((2, 3), (3, 1)),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "cat": lambda x: pb.cat([x]),
    "flip": lambda x: x.flip(()),
    "rot90": lambda x: x.rot90(0, (0, 1)),
}
SAME: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda x: x.flatten(1),
    "sum_to_size": lambda x: x.sum_to_size(2, 3),
    "positive": lambda x: +x,
    "dropout": lambda x: pb.nn.functional.dropout(x, training=False),
    "to": lambda x: x.to(pb.float32),
}


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
def test_a_result_with_the_value_of_a_leaf_is_no_leaf(name: str) -> None:
    x = pb.ones(2, 3, requires_grad=True)
    y = {**VIEWS, **COPIES}[name](x)
    assert y is not x and y.requires_grad and not y.is_leaf and y.grad_fn is not None
    (y * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[2.0] * 3] * 2
    if name in COPIES:
        y.add_(1)  # no leaf is written to
        assert x.tolist() == [[1.0] * 3] * 2
    else:
        assert y._base is x
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            y.add_(1)


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
@pytest.mark.parametrize("leaf", [True, False])
def test_where_nothing_records_it_has_no_history(name: str, leaf: bool) -> None:
    x = pb.ones(2, 3, requires_grad=True)
    base = x if leaf else x * 1
    with pb.no_grad():
        y = {**VIEWS, **COPIES}[name](base)
    assert y.is_leaf and y.grad_fn is None
    if name in VIEWS:
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
            y.add_(1)
    # A view says what its base says, and no gradient comes through it.
    assert y.requires_grad == (name in VIEWS)
    assert not (y.detach() * 2).requires_grad
    assert pb.autograd.grad((y * x).sum(), x)[0].tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", SAME)
def test_what_changes_nothing_gives_the_tensor(name: str) -> None:
    x = pb.ones(2, 3, requires_grad=True)
    assert SAME[name](x) is x


def test_identities_under_transforms() -> None:
    x = pb.tensor([1.0, 2.0])
    f = lambda x: (x.view_as(x)[...] * x.expand(2)).sum()
    assert pb.func.grad(f)(x).tolist() == [2.0, 4.0]
    assert pb.func.vmap(pb.func.grad(f))(x.expand(3, 2)).tolist() == [[2.0, 4.0]] * 3
    assert pb.func.jvp(f, (x,), (pb.ones(2),))[1].item() == 6.0

    def cut(x: Any) -> Any:
        with pb.no_grad():
            y = x.view_as(x)
        return (y * x).sum()

    assert pb.func.grad(cut)(x).tolist() == [1.0, 2.0]
    assert pb.func.trace(pb.func.grad(cut))(x)(x).tolist() == [1.0, 2.0]


def test_views_follow_their_base_after_a_write() -> None:
    x = pb.ones(2, 3, requires_grad=True)
    y = x * 1
    v = y.view_as(y)
    y.mul_(3)
    assert v.tolist() == [[3.0] * 3] * 2 and not v.is_leaf
    (v * v).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[18.0] * 3] * 2


def test_views_in_inference_mode() -> None:
    base = pb.ones(1, 2, 3, requires_grad=True).clone()
    with pb.inference_mode():
        out = base.view(-1)
        again = out.view(-1)
        again.add_(2)
        made = pb.ones(1, 2, 3, requires_grad=True)
    for view in (out, again):
        assert not view.is_inference() and view.requires_grad and view._is_view()
    assert out.is_leaf and base._version == again._version
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        out.add_(1)
    shown = made.view(-1)
    assert shown.is_inference() and not shown.requires_grad and not shown._is_view() and shown.is_leaf
