"""requires_grad, .backward(), autograd.grad: what a user of PyTorch expects of the tape."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


def test_gradients_accumulate() -> None:
    x = leaf(1.0, 2.0)
    assert x.grad is None and x.is_leaf and x.grad_fn is None
    y = (x * x).sum()
    assert not y.is_leaf and y.grad_fn is not None
    y.backward()
    same(x.grad, 2 * x.detach())
    assert x.grad is x.grad
    (x * x).sum().backward()
    same(x.grad, 4 * x.detach())
    x.grad = None
    (3 * x).sum().backward()
    same(x.grad, pb.full_like(x, 3.0).detach())


def test_a_graph_is_used_once_unless_retained() -> None:
    x = leaf(1.0, 2.0)
    y = (x**3).sum()
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, 6 * x.detach() ** 2)
    with pytest.raises(RuntimeError, match="second time|retain_graph"):
        y.backward()


def test_backward_of_non_scalars() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    with pytest.raises(RuntimeError, match="scalar"):
        y.backward()
    y.backward(pb.tensor([1.0, 10.0], dtype=pb.float64))
    same(x.grad, pb.tensor([2.0, 40.0], dtype=pb.float64))


def test_tensors_without_history() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        pb.ones(2).sum().backward()
    with pytest.raises(RuntimeError, match="[Oo]nly.*float|floating"):
        pb.tensor([1, 2], requires_grad=True)


def test_grad_of_chosen_inputs() -> None:
    x, y, unused = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0)
    out = (x * y).sum()
    gx, gy = pb.autograd.grad(out, (x, y), retain_graph=True)
    same((gx, gy), (y.detach(), x.detach()))
    assert x.grad is None
    with pytest.raises(RuntimeError, match="unused|not have been used"):
        pb.autograd.grad(out, (x, unused), retain_graph=True)
    assert pb.autograd.grad(out, (unused,), allow_unused=True) == (None,)


def test_gradients_of_intermediates() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    same(y.grad, 2 * y.detach())
    same(x.grad, 4 * y.detach())


def test_higher_orders() -> None:
    x = leaf(0.5, 2.0)
    (g,) = pb.autograd.grad((x**4).sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g.sum(), x, create_graph=True)
    (t,) = pb.autograd.grad(h.sum(), x)
    same(t, 24 * x.detach())
    assert not t.requires_grad and h.requires_grad


def test_modes() -> None:
    x = leaf(1.0)
    with pb.no_grad():
        assert not pb.is_grad_enabled() and not (x * 2).requires_grad
        with pb.enable_grad():
            assert (x * 2).requires_grad
    assert (x * 2).requires_grad

    @pb.no_grad()
    def f(v: Any) -> Any:
        return v * 2

    assert not f(x).requires_grad
    with pytest.raises(ZeroDivisionError), pb.no_grad():
        raise ZeroDivisionError
    assert pb.is_grad_enabled()


def test_detach_shares_memory_and_drops_history() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    d = y.detach()
    assert not d.requires_grad
    d.mul_(3)
    same(y.detach(), pb.tensor([6.0, 12.0], dtype=pb.float64))
    y.sum().backward()
    same(x.grad, pb.tensor([2.0, 2.0], dtype=pb.float64))


def test_in_place_on_a_leaf_raises() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 3.0
    with pytest.raises(RuntimeError, match="leaf"):
        x[:1].mul_(2)


def test_in_place_never_corrupts_a_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(100)
    try:
        z.sum().backward()
    except RuntimeError as error:
        assert "inplace" in str(error) or "in-place" in str(error)
    else:
        same(x.grad, 2 * x.detach())


def test_recorded_writes() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = pb.zeros(3, dtype=pb.float64)
    y[0] = x[1] * 2
    y[1:] += x[:2] ** 2
    y.sum().backward()
    same(x.grad, pb.tensor([2.0, 6.0, 0.0], dtype=pb.float64))


def test_numpy_of_a_recorded_tensor_raises() -> None:
    with pytest.raises(RuntimeError, match="detach"):
        leaf(1.0).numpy()
