"""`_version`: what counts as a write, and which tensors count together. The numbers are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.nn import functional as F

ONCE: dict[str, Callable[[Any], Any]] = {
    "t_": lambda x: x.t_(),
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_(0)": lambda x: x.squeeze_(0),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "as_strided_": lambda x: x.as_strided_((2,), (1,)),
    "resize_": lambda x: x.resize_(2),
    "resize_ larger": lambda x: x.resize_(20),
    "t_ of a view": lambda x: x[:].t_(),
    "unsqueeze_ of a view": lambda x: x.view(3).unsqueeze_(0),
    "mul_": lambda x: x.mul_(2),
    "a view's mul_": lambda x: x.view(-1).mul_(2),
    "detach().mul_": lambda x: x.detach().mul_(2),
    "copy_": lambda x: x.copy_(pb.ones(1, 3)),
    "[0] =": lambda x: x.__setitem__(0, 5.0),
    "[mask] =": lambda x: x.__setitem__(x > 0, 5.0),
    "out=": lambda x: pb.add(pb.ones(1, 3), 1, out=x),
    "relu(inplace)": lambda x: F.relu(x, inplace=True),
    "_foreach_add_": lambda x: pb._foreach_add_([x], 1),
}
NEVER: dict[str, Callable[[Any], Any]] = {
    "data.mul_": lambda x: x.data.mul_(2),
    "a view of data": lambda x: x.data[0].mul_(2),
    "data.t_": lambda x: x.data.t_(),
    "data =": lambda x: setattr(x, "data", pb.ones(1, 3)),
    "requires_grad_": lambda x: x.requires_grad_(),
    "detach_": lambda x: x.detach_(),
    "resize_ to the same": lambda x: x.resize_(1, 3),
    "data_ptr": lambda x: x.data_ptr(),
    "numpy": lambda x: x.numpy().fill(2),
}


@pytest.mark.parametrize("name", [*ONCE, *NEVER])
def test_counts(name: str) -> None:
    write, count = (ONCE[name], 1) if name in ONCE else (NEVER[name], 0)
    x = pb.ones(1, 3)
    write(x)
    assert x._version == count
    x = pb.ones(1, 3)
    v, w, d, data = x.view(3), x[0, 1:], x.detach(), x.data
    write(x)
    assert [t._version for t in (x, v, w, d, x.detach())] == [count] * 5
    assert data._version == x.data._version == 0
    assert v.tolist() == x.as_strided((3,), (1,), 0).tolist() if name not in ("resize_ larger", "data =") else True


def test_set_counts_and_goes_on_by_itself() -> None:
    x, y = pb.ones(2), pb.zeros(2)
    x.mul_(2)
    x.set_(y)
    assert (x._version, y._version) == (2, 0)
    x.add_(1)
    assert y.tolist() == [1, 1] and (x._version, y._version) == (3, 0)
    y.add_(1)
    assert x.tolist() == [2, 2] and (x._version, y._version) == (3, 1)
    assert pb.ones(2).set_()._version == 1


def test_steps_count_after_data_was_replaced() -> None:
    p = pb.nn.Parameter(pb.ones(100))
    other = pb.zeros(100)
    p.data = other
    p.grad = pb.ones(100)
    optimiser = pb.optim.SGD([p], lr=1.0)
    optimiser.step()
    optimiser.step()
    assert p._version == 2 and other._version == 0
    assert p[0].item() == other[0].item() == -2


def test_data_counts_by_itself() -> None:
    x = pb.ones(3).requires_grad_()
    d = x.data
    d.mul_(2)
    d[1:].mul_(2)
    assert d._version == 2 and x._version == 0 and x.tolist() == [2, 4, 4]
    assert d.detach()._version in (0, 2) and x.detach()._version == 0
    with pb.no_grad():
        x.add_(1)
    assert d.tolist() == [3, 5, 5] and d._version == 2 and x._version == 1
    x.data = pb.zeros(3)
    assert x._version == 1


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("other", [pb.ones(2, dtype=pb.int32), pb.ones(2, dtype=pb.float64), pb.ones(3)])
def test_data_of_another_kind_does_not_drop_a_history(leaf: bool, other: Any) -> None:
    w = pb.ones(2, requires_grad=True)
    x = w if leaf else w * 2
    if leaf and other.is_floating_point():
        x.data = other
        x.sum().backward()
        assert x.is_leaf and x.grad is not None and x.grad.dtype == other.dtype and x.grad.shape == other.shape
        return
    what = "must be floating point" if not other.is_floating_point() else "has a history"
    with pytest.raises(RuntimeError, match=what):
        x.data = other
    assert x.requires_grad and x.dtype == pb.float32
    x.sum().backward()
    assert w.grad is not None and w.grad.tolist() == ([1, 1] if leaf else [2, 2])
