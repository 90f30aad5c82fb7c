"""Which views may be written to where gradients are recorded: what PyTorch forbids would have a wrong derivative."""

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb

NO_GRAD = "A view was created in no_grad mode"
SEVERAL = "function that returns multiple views"
CUSTOM = "view was created inside a custom Function"


class Same(pb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


KINDS: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "plain": (lambda x: x.view_as(x), None),
    "several": (lambda x: x.unbind()[0], SEVERAL),
    "custom": (Same.apply, CUSTOM),
}
SHAPES: list[Callable[[Any], Any]] = [
    lambda v: v.transpose_(0, 0),
    lambda v: v.squeeze_(0),
    lambda v: v.unsqueeze_(0),
    lambda v: v.swapaxes_(0, 0),
    lambda v: v.t_(),
    lambda v: v.as_strided_((1, 0), (2, 2)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("reshaped", [None, True, False])
@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize("which", range(len(SHAPES)))
def test_who_may_write(kind: str, recorded: bool, reshaped: bool | None, followed: bool, which: int) -> None:
    """`reshaped`: whether gradients are enabled while the shape of the view is changed in place; None: it is not."""
    make, forbidden = KINDS[kind]
    base = pb.rand(2, 3, requires_grad=followed).clone()
    with pb.set_grad_enabled(recorded):
        view = make(base)
    problem = None
    if followed:
        problem = forbidden if recorded else NO_GRAD
    if reshaped is not None:
        with pb.set_grad_enabled(reshaped):
            if problem and reshaped:
                with pytest.raises(RuntimeError, match=problem):
                    SHAPES[which](view)
                return
            SHAPES[which](view)
    if problem:
        with pytest.raises(RuntimeError, match=problem):
            view.add_(1)
        with pb.no_grad():
            view.add_(1)
    else:
        view.add_(1)


def test_views_of_forbidden_views_are_forbidden() -> None:
    x = pb.rand(3, dtype=pb.float64, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        x.unbind(0)[0].view_as(x[0]).mul_(2)


def test_what_is_written_counts_too() -> None:
    b = pb.rand(1, requires_grad=True)
    with pytest.raises(RuntimeError, match=CUSTOM):
        Same.apply(pb.rand(1, 2)).add_(b)
    with pytest.raises(RuntimeError, match=CUSTOM):
        Same.apply(pb.rand(1, 2)).copy_(b)
    with pytest.raises(RuntimeError, match=SEVERAL):
        pb.rand(1, 2).unbind()[0].copy_(b)
    a = pb.rand(1, 2)
    a.select(1, 0).copy_(b)
    assert a.requires_grad
    view = Same.apply(c := pb.zeros(2))
    view.add_(1)
    assert c.tolist() == [1, 1]


def test_results_of_custom_functions_that_show_others() -> None:
    class AsIs(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    class Two(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.narrow(0, 0, 1), x + 1

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return h + pb.nn.functional.pad(g, (0, 1))

    x = pb.rand(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Output 0 of AsIs is a view .*input was returned as-is"):
        AsIs.apply(x * 1).add_(1)
    first, second = Two.apply(x * 1)
    with pytest.raises(RuntimeError, match=f"Output 0 of Two is a view .*{SEVERAL}"):
        first.add_(1)
    second.add_(1)
    (first.sum() + second.sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [2, 1]
    y = AsIs.apply(x * 1).clone()
    y.add_(1)


def test_a_shape_changed_in_place_keeps_the_history() -> None:
    x = pb.rand(2, 3, dtype=pb.float64, requires_grad=True)
    y = x * 2
    with pb.no_grad():
        y.t_()
    assert y.shape == (3, 2)
    y.mul_(pb.arange(6.0, dtype=pb.float64).reshape(3, 2))
    y.sum().backward()
    assert x.grad is not None and pb.equal(x.grad, 2 * pb.arange(6.0, dtype=pb.float64).reshape(3, 2).T)
    v = (z := x * 1)[0]
    v.unsqueeze_(0)
    v.mul_(3)
    (g,) = pb.autograd.grad(z.sum(), x)
    assert g.tolist() == [[3] * 3, [1] * 3]


def test_views_in_inference_mode() -> None:
    with pb.inference_mode():
        made = pb.ones(2, 3)
    out = made.view(-1)
    assert out.is_inference() and not out._is_view() and out._base is None
    normal = pb.ones(2, 3)
    with pb.inference_mode():
        view = normal.view(-1)
        assert not view.is_inference() and view._is_view() and view._base is normal
