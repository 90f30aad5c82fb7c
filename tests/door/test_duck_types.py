"""Objects that are no tensors and answer calls by `__torch_function__`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import func


class Duck:
    """Answers each call with the callable."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert types == (cls,)
        return func


class Refuses:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Silent:
    __torch_function__ = pb._core.overrides._disabled_torch_function_impl


D, T = Duck(), pb.ones(2)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda: pb.sin(D), pb.sin),
        (lambda: pb.add(T, D), pb.add),
        (lambda: pb.add(T, other=D), pb.add),
        (lambda: pb.add(T, T, out=D), pb.add),
        (lambda: pb.cat([T, D]), pb.cat),
        (lambda: pb.stack((D,)), pb.stack),
        (lambda: pb.einsum("i,i->", T, D), pb.einsum),
        (lambda: pb.nn.functional.linear(T, D, T), pb.nn.functional.linear),
        (lambda: pb.nn.functional.celu(D), pb.nn.functional.celu),
        (lambda: pb.linalg.inv(D), pb.linalg.inv),
        (lambda: pb.allclose(T, D), pb.allclose),
        (lambda: pb.equal(D, T), pb.equal),
        (lambda: pb.is_floating_point(D), pb.is_floating_point),
        (lambda: pb.is_complex(D), pb.is_complex),
        (lambda: pb.is_inference(D), pb.is_inference),
        (lambda: pb.as_strided(D, (1,), (1,)), pb.as_strided),
        (lambda: pb.autograd.grad(D, D), pb.autograd.grad),
        (lambda: pb.autograd.backward(D), pb.autograd.backward),
        (lambda: T.add(D), pb.Tensor.add),
        (lambda: T.mul_(D), pb.Tensor.mul_),
        (lambda: T.equal(D), pb.Tensor.equal),
        (lambda: T + D, pb.Tensor.add),
        (lambda: D + T, pb.Tensor.add),
        (lambda: D - T, pb.Tensor.__rsub__),
        (lambda: T @ D, pb.Tensor.matmul),
        (lambda: T == D, pb.Tensor.__eq__),
        (lambda: T < D, pb.Tensor.lt),
        (lambda: T[D], pb.Tensor.__getitem__),
        (lambda: T[0, D], pb.Tensor.__getitem__),
    ],
)
def test_they_answer(f: Callable[[], Any], expected: Any) -> None:
    assert f() is expected


def test_assignments() -> None:
    calls: list[Any] = []

    class Notes:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func)
            return -1

    t = pb.zeros(2)
    t[Notes()] = 1
    t[5, Notes()] = 1
    t[0] = Notes()
    t.data = Notes()
    assert calls[:3] == [pb.Tensor.__setitem__] * 3 and calls[3] == pb.Tensor.data.__set__
    assert t.tolist() == [0, 0]


def test_arguments_of_autograd_grad_are_tuples() -> None:
    class Sees:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args, kwargs

    x = Sees()
    assert pb.autograd.grad(x, x)[0] == ((x,), (x,))
    args, kwargs = pb.autograd.grad([x, x], x, allow_unused=True)
    assert args == ((x, x), (x,)) and kwargs["allow_unused"] is True


def test_refusals() -> None:
    r = Refuses()
    with pytest.raises(TypeError, match=r"'pullback\.sin'; all __torch_function__ handlers returned Not.*Refuses"):
        pb.sin(r)
    with pytest.raises(TypeError, match="unsupported operand"):
        T + r
    assert (T == r) is False
    for silent in (Silent(), object()):
        with pytest.raises(TypeError, match="must be Tensor"):
            pb.sin(silent)


def test_precedence() -> None:
    asked: list[str] = []

    def kind(name: str, *bases: type) -> Any:
        def handler(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(name)
            return NotImplemented

        return type(name, bases, {"__torch_function__": classmethod(handler)})

    base, other, tensor = kind("Base"), kind("Other"), kind("OfTensor", pb.Tensor)
    sub = kind("Sub", base)
    with pytest.raises(TypeError):
        pb.cat([base(), other(), tensor([1.0]), sub(), base()])
    assert asked == ["Sub", "Base", "Other", "OfTensor"]


def test_only_the_class_is_asked() -> None:
    class Answers:
        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: "found"

    with pytest.raises(TypeError, match="must be Tensor"):
        pb.sin(Answers())


def test_a_plain_method_is_deprecated() -> None:
    class Method:
        def __torch_function__(self, *args: Any, **kwargs: Any) -> Any:
            return 3

    class OfTensor(pb.Tensor):
        def __torch_function__(self, *args: Any, **kwargs: Any) -> Any:
            return 3

    for a in (Method(), OfTensor()):
        for category in (UserWarning, DeprecationWarning):
            with pytest.warns(category, match="as a plain method is deprecated"):
                assert pb.abs(a) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pb.sin(D) is pb.sin


class Diagonal:
    """A multiple of the identity matrix that operators take for it."""

    table: dict[Any, Any] = {}

    def __init__(self, size: int, value: Any) -> None:
        self.size, self.value = size, value

    def tensor(self) -> Any:
        return self.value * pb.eye(self.size)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in cls.table:
            return cls.table[func](*args, **(kwargs or {}))
        bare = [a.tensor() if isinstance(a, Diagonal) else a for a in args]
        return func(*bare, **(kwargs or {}))


def implements(function: Any) -> Any:
    def decorate(own: Any) -> Any:
        Diagonal.table[function] = functools.wraps(function)(own)
        return own

    return decorate


@implements(pb.mean)
def _mean(x: Any) -> Any:
    return x.value / x.size


@implements(pb.add)
def _add(a: Any, b: Any) -> Any:
    if isinstance(a, Diagonal) and isinstance(b, Diagonal):
        return Diagonal(a.size, a.value + b.value)
    return pb.add(*(x.tensor() if isinstance(x, Diagonal) else x for x in (a, b)))


def test_a_type_of_ones_own() -> None:
    d = Diagonal(3, 2.0)
    assert pb.mean(d) == 2.0 / 3
    assert pb.add(d, d).value == 4.0 and pb.add(d, pb.ones(3, 3))[0].tolist() == [3, 1, 1]
    assert (pb.ones(3) @ d).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="alpha"):
        pb.add(d, d, alpha=2)


def test_inside_of_transforms() -> None:
    def f(v: Any) -> Any:
        return (pb.mm(Diagonal(2, v), pb.ones(2, 2)) + pb.add(Diagonal(2, v), Diagonal(2, v)).tensor()).sum()

    assert func.grad(f)(pb.tensor(3.0)).item() == 8.0
    assert func.vmap(f)(pb.tensor([1.0, 2.0])).tolist() == [8, 16]
    assert func.jvp(f, (pb.tensor(1.0),), (pb.tensor(2.0),))[1].item() == 16.0


def test_transforms_take_tensors() -> None:
    d = Diagonal(2, 1.0)
    for call in (
        lambda: func.grad(lambda x: x)(d),
        lambda: func.vmap(lambda x: x)(d),
        lambda: func.jvp(lambda x: x, (d,), (d,)),
        lambda: func.vjp(lambda x: x, d),
    ):
        with pytest.raises((RuntimeError, ValueError, TypeError), match="Diagonal"):
            call()
    assert func.grad(lambda x, y: (x * y.value).sum())(pb.ones(2), d).tolist() == [1, 1]


def test_a_custom_function_is_given_the_object() -> None:
    class Scale(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, d: Any) -> Any:
            ctx.d = d
            return pb.mv(d.tensor(), x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.d.value, None

    x = pb.ones(2, requires_grad=True)
    Scale.apply(x, Diagonal(2, 3.0)).sum().backward()
    assert x.grad.tolist() == [3, 3]


class Answering:
    """Has nothing but the method, and answers everything."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls()


@pytest.mark.parametrize(
    "name", ["Sigmoid", "Tanh", "ReLU", "GELU", "SiLU", "Softplus", "Softsign", "LogSigmoid", "Mish"]
)
def test_activations_ask_an_object_without_methods(name: str) -> None:
    assert type(getattr(pb.nn, name)()(Answering())) is Answering


def test_norms_ask_an_object_without_methods() -> None:
    for module in (pb.nn.GroupNorm(1, 2), pb.nn.LayerNorm(2), pb.nn.RMSNorm(2), pb.nn.LocalResponseNorm(2)):
        assert type(module(Answering())) is Answering
