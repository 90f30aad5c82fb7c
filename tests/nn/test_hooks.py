"""Hooks of modules: what they see, what they replace, in which order they run."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.nn.modules import module as of_all


def test_forward_hooks_and_their_order() -> None:
    m, seen = nn.Identity(), []
    m.register_forward_pre_hook(lambda module, args: seen.append("pre"))
    m.register_forward_pre_hook(lambda module, args: (args[0] + 1,), prepend=True)
    m.register_forward_hook(lambda module, args, out: seen.append(("post", args[0].item(), out.item())))
    handle = m.register_forward_hook(lambda module, args, out: out * 10, prepend=True)
    assert m(pb.tensor(1.0)).item() == 20
    assert seen == ["pre", ("post", 2.0, 20.0)]
    handle.remove()
    handle.remove()
    assert m(pb.tensor(1.0)).item() == 2
    with m.register_forward_hook(lambda *a: pb.tensor(7.0)):
        assert m(pb.tensor(1.0)).item() == 7
    assert m(pb.tensor(1.0)).item() == 2


def test_hooks_with_keywords() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any, factor: float = 1.0) -> Any:
            return x * factor

    m = Scaled()
    m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda module, args, kwargs, out: out + kwargs["factor"], with_kwargs=True)
    assert m(pb.tensor(2.0), factor=2.0).item() == 9
    m.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        m(pb.tensor(2.0), factor=2.0)


def test_hooks_that_always_run() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    m, seen = Broken(), []
    m.register_forward_hook(lambda *a: seen.append("skipped"))
    m.register_forward_hook(lambda *a: seen.append("ran"), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        m(1)
    assert seen == ["ran"]

    def fails(*a: Any) -> None:
        raise RuntimeError("as well")

    m.register_forward_hook(fails, always_call=True)
    with pytest.raises(ValueError, match="broken"), pytest.warns(UserWarning, match="silenced"):
        m(1)


def test_backward_hooks() -> None:
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_pre_hook(lambda module, grad: (grad[0] * 2,))
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go)))
    x = pb.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    ((gi, go),) = seen
    assert pb.equal(go[0], pb.full((1, 2), 2.0))
    assert pb.allclose(gi[0], 2 * m.weight.detach().sum(0, keepdim=True))
    assert x.grad is not None and pb.equal(x.grad, gi[0])
    m.register_full_backward_hook(lambda module, gi, go: (gi[0] * 0,))
    x.grad = None
    m(x).sum().backward()
    assert x.grad is not None and x.grad.abs().sum() == 0
    with pytest.raises(RuntimeError, match="both regular backward hooks and full"):
        m.register_backward_hook(lambda *a: None)


def test_backward_hooks_without_gradients_of_inputs() -> None:
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="no inputs"):
        m(pb.ones(1, 2)).sum().backward()
    assert seen == [(None,)]
    n = nn.Linear(2, 2)
    n.register_full_backward_hook(lambda module, gi, go: (pb.ones(1), pb.ones(1)))
    with pytest.raises(RuntimeError, match="invalid number of grad_input"):
        n(pb.ones(1, 2, requires_grad=True)).sum().backward()


def test_tensors_behind_backward_hooks_lie_where_those_in_front_do() -> None:
    """Libraries of second-order information tell by the address which module's result is an argument."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    ends: list[tuple[pb.Tensor, pb.Tensor]] = []
    for module in net:
        module.register_forward_hook(lambda m, args, out: ends.append((args[0], out)))
        module.register_full_backward_hook(lambda m, gi, go: None)
    x = pb.ones(4, 2, requires_grad=True)
    net(x).sum().backward()
    places = [(before.data_ptr(), after.data_ptr()) for before, after in ends]
    assert places[0][0] == x.data_ptr() and places[0][1] == places[1][0] and places[1][1] == places[2][0]
    plain = [pb.zeros_like(x).requires_grad_(), pb.zeros_like(x).requires_grad_()]
    assert x.grad is not None and len({t.data_ptr() for t in plain}) == 2


@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_transforms_through_backward_hooks() -> None:
    f = pb.func
    seen: list[int] = []
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x, v = pb.rand(5, 3, dtype=pb.float64), pb.rand(5, 3, dtype=pb.float64)

    def loss(x: pb.Tensor) -> pb.Tensor:
        return net(x).pow(3).sum()

    def forward_mode(x: pb.Tensor) -> Any:
        with pb.autograd.forward_ad.dual_level():
            return pb.autograd.forward_ad.unpack_dual(net(pb.autograd.forward_ad.make_dual(x, v))).tangent

    ways: list[Callable[[], Any]] = [
        lambda: f.grad(loss)(x),
        lambda: f.vmap(f.grad(loss))(x),
        lambda: f.jvp(net, (x,), (v,))[1],
        lambda: f.jvp(f.grad(loss), (x,), (v,))[1],
        lambda: f.hessian(loss)(x),
        lambda: f.jacfwd(f.jacfwd(net))(x),
        lambda: f.grad(lambda p: f.functional_call(net, p, (x,)).pow(2).sum())(dict(net.named_parameters()))["0.bias"],
        lambda: f.linearize(net, x)[1](v),
        lambda: forward_mode(x),
        lambda: forward_mode(x.clone().requires_grad_() * 1),
    ]
    without = [way() for way in ways]
    for module in net.modules():
        module.register_full_backward_hook(lambda m, gi, go: seen.append(1))
    for way, expected in zip(ways, without, strict=True):
        pb.testing.assert_close(way(), expected)
    assert seen


def test_hooks_of_all_modules() -> None:
    seen: list[str] = []
    net = nn.Sequential(nn.Identity())
    calls = of_all.register_module_forward_hook(lambda module, args, out: seen.append(type(module).__name__))
    made = of_all.register_module_parameter_registration_hook(lambda module, name, p: seen.append(name))
    try:
        net(1)
        nn.Linear(1, 1)
    finally:
        calls.remove()
        made.remove()
    net(1)
    nn.Linear(1, 1)
    assert seen == ["Identity", "Sequential", "weight", "bias"]


def named(module: Any, args: Any, out: Any) -> Any:
    return out + 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_the_hooks(duplicate: Any) -> None:
    m = nn.Identity()
    m.register_forward_hook(named)
    other = duplicate(m)
    assert other(1) == 2
    other._forward_hooks.clear()
    assert (m(1), other(1)) == (2, 1)


def test_hooks_in_transforms() -> None:
    m = nn.Linear(2, 1, bias=False)
    m.register_forward_hook(lambda module, args, out: out * 3)
    m.register_full_backward_hook(lambda module, gi, go: (gi[0] * 2,))
    plain = m.weight.detach()[0]
    got = pb.func.grad(lambda x: m(x).sum())(pb.ones(2))
    assert pb.allclose(got, 6 * plain)


def test_hooks_that_always_run_see_what_there_is() -> None:
    """What hooks and the forward had made of arguments and result when the call failed."""
    m, seen = nn.Identity(), []
    m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))

    def fails(module: Any, args: Any, out: Any) -> None:
        raise ValueError("here")

    m.register_forward_hook(lambda module, args, out: out * 10)
    m.register_forward_hook(fails)
    m.register_forward_hook(lambda module, args, out: seen.append((args[0].item(), out.item())), always_call=True)
    with pytest.raises(ValueError, match="here"):
        m(pb.tensor(1.0))
    assert seen == [(2.0, 20.0)]


def test_hooks_that_the_call_registers_run_in_it() -> None:
    m, seen = nn.Identity(), []
    m.register_forward_pre_hook(
        lambda module, args: module.register_forward_hook(lambda *a: seen.append("after")) and None
    )
    m(pb.tensor(1.0))
    assert seen == ["after"]


def test_what_backward_hooks_may_give() -> None:
    x = pb.ones(2, 2, requires_grad=True)
    for given, grad in (((None,), None), ([pb.full((2, 2), 3.0)], 3.0), (pb.full((2, 2), 4.0), 4.0)):
        m = nn.Identity()
        m.register_full_backward_hook(lambda module, gi, go, given=given: given)
        x.grad = None
        m(x).sum().backward()
        assert x.grad is None if grad is None else x.grad is not None and x.grad.tolist() == [[grad] * 2] * 2
    m = nn.Identity()
    m.register_full_backward_hook(lambda module, gi, go: 3)
    with pytest.raises(TypeError, match="hook should return None, or a tuple of grad_input"):
        m(x).sum().backward()


@pytest.mark.parametrize("of", ["module", "all"])
def test_a_hook_that_another_takes_away_runs_as_it_was_registered(of: str) -> None:
    m, seen, handles = nn.Identity(), [], []
    register: Any = m.register_forward_hook if of == "module" else of_all.register_module_forward_hook
    handles.append(register(lambda *a: handles[1].remove()))
    handles.append(register(lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True))
    with handles[0]:
        m(pb.tensor(1.0))
        m(pb.tensor(1.0))
    assert seen == [{}]
