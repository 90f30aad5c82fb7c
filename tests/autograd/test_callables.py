"""Any callable is a hook, a transform's function, a pack hook: not only functions."""

from __future__ import annotations

import functools
import operator
from contextlib import nullcontext
from typing import Any

import pytest

import pullback as pb
from pullback.autograd.graph import Node, register_multi_grad_hook, saved_tensors_hooks
from pullback.func import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, linearize, trace, vjp, vmap
from pullback.utils.checkpoint import checkpoint


class Base:
    """`__call__` is in the dict of a base class."""

    def __call__(self, x: Any, *rest: Any) -> Any:
        return x * 2


class Derived(Base):
    def method(self, x: Any, *rest: Any) -> Any:
        return x * 2

    @classmethod
    def of_class(cls, x: Any, *rest: Any) -> Any:
        return x * 2

    @staticmethod
    def static(x: Any, *rest: Any) -> Any:
        return x * 2


class Slotted(Base):
    __slots__ = ()


class ByMeta(type):
    def __call__(cls, x: Any, *rest: Any) -> Any:
        return x * 2


class Metaclass(metaclass=ByMeta):
    """The class itself is called, by its metaclass."""


double: list[Any] = [
    Derived(),
    Slotted(),
    Metaclass,
    Derived().method,
    Derived.of_class,
    Derived.static,
    functools.partial(Base.__call__, None),
    functools.partial(operator.mul, 2),
    functools.partial(functools.partial(operator.mul), 2),
    functools.lru_cache(lambda x, *rest: x * 2),
    functools.wraps(Base)(lambda x, *rest: x * 2),
]
unary: list[Any] = double[:9]


@pytest.mark.parametrize("f", double)
def test_transforms_take_any_callable(f: Any) -> None:
    x, t = pb.tensor([1.0, 3.0]), pb.tensor([1.0, 0.5])
    assert vmap(f)(x).tolist() == [2, 6]
    assert jvp(f, (x,), (t,))[1].tolist() == [2, 1]
    assert vjp(f, x)[1](t)[0].tolist() == [2, 1]
    assert jacrev(f)(x).tolist() == jacfwd(f)(x).tolist() == [[2, 0], [0, 2]]
    assert linearize(f, x)[1](t).tolist() == [2, 1]
    assert trace(f)(x)(t).tolist() == [2, 1]
    assert checkpoint(f, x, use_reentrant=False).tolist() == [2, 6]
    assert grad(f)(pb.tensor(1.0)).item() == 2
    assert hessian(f)(pb.tensor(1.0)).item() == 0


def test_builtins_and_operators_are_functions_too() -> None:
    x = pb.tensor(2.0)
    for f in (pb.sin, pb.Tensor.sin, operator.methodcaller("sin"), abs, operator.neg, sum):
        arg = [x, x] if f is sum else x
        assert grad(f)(arg) is not None
    assert grad(max)(pb.tensor(2.0), pb.tensor(1.0)).item() == 1
    assert grad(operator.itemgetter(0))([x, x])[0].item() == 1
    assert vmap(operator.add)(pb.ones(2), pb.ones(2)).tolist() == [2, 2]
    assert vmap(pb.Tensor.sum)(pb.ones(2, 3)).tolist() == [3, 3]


@pytest.mark.parametrize("f", unary)
def test_hooks_of_tensors_and_nodes(f: Any) -> None:
    x = pb.ones(2, requires_grad=True)
    x.register_hook(f)
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6, 6]


def test_hooks_that_only_look() -> None:
    seen: list[Any] = []
    x = pb.ones(2, requires_grad=True)
    y = x * 3
    x.register_hook(seen.append)
    assert isinstance(y.grad_fn, Node)
    y.grad_fn.register_prehook(seen.append)
    y.grad_fn.register_hook(functools.partial(lambda *args: seen.append(args[1:]), 0))
    x.register_post_accumulate_grad_hook(seen.append)
    register_multi_grad_hook([x], seen.append)
    y.sum().backward()
    assert len(seen) == 5


class Silent:
    """Not callable."""


def test_a_hook_of_a_node_that_cannot_be_called_raises_when_its_turn_comes() -> None:
    x = pb.ones(2, requires_grad=True)
    y = x * 2
    assert isinstance(y.grad_fn, Node)
    handle = y.grad_fn.register_hook(Silent())
    with pytest.raises(TypeError, match=r"register_hook\(\): a hook of a node must be callable, got .*Silent"):
        y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(Silent())
    with pytest.raises(TypeError, match="callable"):
        y.grad_fn.register_prehook(None)


@pytest.mark.parametrize(
    "identity", [pb.Tensor.detach, operator.methodcaller("clone"), functools.partial(lambda n, x: x, 0)]
)
def test_hooks_of_saved_tensors(identity: Any) -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(identity, identity):
        y = (x * x).sum()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [2, 4]


def test_contexts_of_checkpoint() -> None:
    calls: list[int] = []

    class Contexts(Base):
        def __call__(self, *rest: Any) -> Any:
            calls.append(1)
            return nullcontext(), nullcontext()

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for context_fn in (Contexts(), functools.partial(Contexts()), Contexts().__call__):
        x.grad = None
        checkpoint(lambda v: v.sin(), x, use_reentrant=False, context_fn=context_fn).sum().backward()
        pb.testing.assert_close(x.grad, x.detach().cos())
    assert len(calls) == 3


def test_rules_of_custom_derivatives() -> None:
    class Fwd(Base):
        def __call__(self, x: Any, *rest: Any) -> Any:
            return x.sin(), x

    f = custom_vjp(functools.partial(lambda n, x: x.sin(), 0))
    f.defvjp(Fwd(), functools.partial(lambda n, x, g: (g * x.cos(),), 0))
    assert grad(f)(pb.tensor(0.0)).item() == 1
    g = custom_jvp(functools.partial(lambda n, x: x.sin(), 0))
    g.defjvp(functools.partial(lambda n, primals, tangents: (primals[0].sin(), tangents[0] * primals[0].cos()), 0))
    assert jvp(g, (pb.tensor(0.0),), (pb.tensor(1.0),))[1].item() == 1
