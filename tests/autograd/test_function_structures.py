"""Arguments and results of `autograd.Function`: outputs of all kinds, writes, keywords, trees; and `verify`."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import InplaceFunction
from pullback.func import grad, hessian, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.4, -1.2, 0.9], dtype=pb.float64)
ONES = pb.ones_like(X)
ROWS = pb.stack([X, 2 * X])


# ---------------------------------------------------------------- outputs
def test_outputs_of_all_kinds() -> None:
    class Kinds(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x, x[:2], x.argsort(), "text", None, x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            same_, view, order, text, none, double = grads
            assert text is None and none is None and order is None
            return same_ + 2 * double + pb.cat([view, pb.zeros(1, dtype=view.dtype)])

    x = X.clone().requires_grad_()
    y, view, order, text, none, double = Kinds.apply(x)
    assert y is not x and not y.is_leaf and view.requires_grad and not order.requires_grad
    assert (text, none) == ("text", None)
    (y.sum() + view.sum() + double.sum()).backward()
    same(x.grad, pb.tensor([4.0, 4.0, 3.0], dtype=pb.float64))
    same(grad(lambda x: Kinds.apply(x)[0].sum() + Kinds.apply(x)[5].sum())(X), 3 * ONES)
    same(vmap(lambda r: Kinds.apply(r)[1])(ROWS), ROWS[:, :2])
    with pb.no_grad():
        assert not Kinds.apply(x)[0].requires_grad


def test_single_results_that_are_no_tensors() -> None:
    class Constant(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 3

    assert Constant.apply(X) == 3
    assert Constant.apply(X.clone().requires_grad_()) == 3
    assert vmap(lambda x: x * Constant.apply(x))(X).shape == (3,)


def test_integer_outputs_never_require_grad() -> None:
    class Round(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to(pb.int64)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise AssertionError

    assert not Round.apply(X.clone().requires_grad_()).requires_grad
    same(grad(lambda x: (Round.apply(x) * x).sum())(X), X.to(pb.int64).double())


class Double(Function):
    """In place, in the classic style."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g


class DoubleSeparate(InplaceFunction):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return 2 * g * y / y


class DoubleNumpy(Double):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        array = x.numpy()
        array *= 2
        ctx.mark_dirty(x)
        return x


@pytest.mark.parametrize("f", [Double.apply, DoubleSeparate.apply, DoubleNumpy.apply])
def test_dirty_arguments_eagerly_and_under_transforms(f: Any) -> None:
    plain = X.clone()
    assert f(plain) is plain
    same(plain, 2 * X)
    leaf = X.clone().requires_grad_()
    y = leaf * 1
    assert f(y) is y
    (y * y).sum().backward()
    same(leaf.grad, 8 * X)
    with pytest.raises(RuntimeError, match="leaf"):
        f(X.clone().requires_grad_())
    g: Any = lambda x: (f(x * 1) ** 2).sum()
    same(grad(g)(X), 8 * X)
    same(jvp(lambda x: f(x * 1), (X,), (ONES,)), (2 * X, 2 * ONES))
    if f is not DoubleNumpy.apply:
        same(vmap(grad(g))(ROWS), 8 * ROWS)
        rows = ROWS.clone()
        same(vmap(f)(rows), 2 * ROWS)
        same(rows, 2 * ROWS)


def test_dirty_argument_that_is_not_returned() -> None:
    class Forget(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x.mul_(2))
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    with pytest.raises(RuntimeError, match="Forget.*dirty.*not returned as output"):
        Forget.apply(X.clone().requires_grad_() * 1)


# ---------------------------------------------------------------- structures of arguments and results
class Affine(Function):
    """x * scale + shift with parameters of all kinds."""

    @staticmethod
    def forward(x: Any, scale: Any = 2.0, *, shift: Any = 0.0) -> Any:
        return x * scale + shift

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        assert len(inputs) == 3
        x, ctx.scale, _ = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        to_scale = (g * x).sum() if ctx.needs_input_grad[1] else None
        return g * ctx.scale, to_scale, g.sum() if ctx.needs_input_grad[2] else None


def test_keyword_arguments_and_defaults() -> None:
    f = Affine.apply
    same(f(X), 2 * X)
    same(f(x=X, shift=1.0), 2 * X + 1)
    same(f(X, scale=3.0), 3 * X)
    same(grad(lambda x: f(x).sum())(X), 2 * ONES)
    same(grad(lambda x: f(x=x, scale=5.0, shift=1.0).sum())(X), 5 * ONES)
    three = pb.tensor(3.0, dtype=pb.float64)
    same(grad(lambda s: f(X, scale=s).sum())(three), X.sum())
    same(grad(lambda s: f(X, shift=s).sum())(three), three)
    same(vmap(lambda r: f(r, shift=1.0))(ROWS), 2 * ROWS + 1)
    same(jvp(lambda x: f(shift=1.0, x=x), (X,), (ONES,))[1], 2 * ONES)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        f(X, x=X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        f(X, nope=X)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f(scale=2.0)


def test_keywords_of_the_classic_style() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float = 2.0, power: int = 1) -> Any:
            ctx.factor = factor
            return x**power * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor

    x = X.clone().requires_grad_()
    Scale.apply(x).sum().backward()
    same(x.grad, 2 * ONES)
    same(Scale.apply(X, power=2), 2 * X**2)
    with pytest.raises(RuntimeError, match="expected 2, got 1"):
        Scale.apply(x, factor=3.0).sum().backward()


@dataclass
class Pair:
    a: Any
    b: Any
    label: str = "pair"


Point = namedtuple("Point", ["x", "y"])


class Swap(Function):
    """A dataclass to a dataclass, a named tuple and a list; nobody registered the dataclass."""

    @staticmethod
    def forward(pair: Any, rest: Any) -> Any:
        (c,) = rest["c"]
        return Pair(pair.b * c, pair.a * c, "swapped"), Point(pair.a, 1), [c * 2]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pair, rest = inputs
        assert isinstance(pair, Pair) and output[0].label == "swapped"
        ctx.save_for_backward(pair.a, pair.b, rest["c"][0])

    @staticmethod
    def backward(ctx: Any, swapped: Any, point: Any, doubled: Any) -> Any:
        a, b, c = ctx.saved_tensors
        assert isinstance(swapped, Pair) and isinstance(point, Point)
        to_a, to_b = swapped.b * c + point.x, swapped.a * c
        to_c = swapped.a * b + swapped.b * a + 2 * doubled[0]
        if Swap.flat:
            return to_a, to_b, None, to_c
        return Pair(to_a, to_b, None), {"c": (to_c,)}

    flat = False


@pytest.mark.parametrize("flat", [False, True])
def test_dataclasses_named_tuples_and_nested_lists(flat: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(Swap, "flat", flat)

    def total(a: Any, b: Any, c: Any) -> Any:
        swapped, point, doubled = Swap.apply(Pair(a, b), {"c": [c]})
        assert isinstance(swapped, Pair) and isinstance(point, Point) and isinstance(doubled, list)
        return (swapped.a * swapped.b).sum() + point.x.sum() + doubled[0].sum()

    plain: Any = lambda a, b, c: (a * b * c * c).sum() + a.sum() + 2 * c.sum()
    args = (X, 2 * X, 3 * X)
    same(grad(total, argnums=(0, 1, 2))(*args), grad(plain, argnums=(0, 1, 2))(*args))
    same(hessian(total)(*args), hessian(plain)(*args))
    rows = tuple(pb.stack([v, v]) for v in args)
    same(vmap(grad(total))(*rows), vmap(grad(plain))(*rows))
    leaves = [v.clone().requires_grad_() for v in args]
    total(*leaves).backward()
    same(leaves[2].grad, grad(plain, argnums=2)(*args))


def test_gradients_in_another_structure() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, d: Any) -> Any:
            return d["a"] + d["b"]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return {"a": g}

    with pytest.raises(RuntimeError, match="Wrong.backward.*another structure"):
        grad(lambda x: Wrong.apply({"a": x, "b": x}).sum())(X)


def test_vmap_rule_of_trees() -> None:
    seen: list[Any] = []

    class Sum(Function):
        @staticmethod
        def forward(d: Any, k: Any) -> Any:
            return {"sum": pb.from_numpy(d["a"].numpy() + d["b"].numpy()), "k": k}

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, d: Any, k: Any) -> Any:
            seen.append(in_dims)
            b = d["b"].unsqueeze(0)
            return Sum.apply({"a": d["a"].movedim(in_dims[0]["a"], 0), "b": b}, k), {"sum": 0, "k": None}

    out = vmap(lambda a: Sum.apply({"a": a, "b": X}, 5)["sum"], in_dims=1)(ROWS.T)
    same(out, ROWS + X)
    assert seen == [({"a": 1, "b": None}, None)]


def test_numpy_function_with_classic_forward_and_vmap() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return pb.from_numpy(np.multiply(x.numpy(), 2))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Twice.apply(x), in_dims[0]

    same(vmap(Twice.apply)(ROWS), 2 * ROWS)
    with pytest.raises(RuntimeError, match="Twice.*write setup_context"):
        vmap(grad(lambda x: (Twice.apply(x) * x).sum()))(ROWS)


# ---------------------------------------------------------------- verify
class Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y, g * x


def test_verify(capsys: Any) -> None:
    assert Product.verify(X, 2 * X)
    table = capsys.readouterr().out
    assert table.startswith("Product\n") and "FAILED" not in table and table.count(" ok") >= 9

    class Wrong(Product):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y * 2, g * x

    assert not Wrong.verify(X, 2 * X)
    assert "backward ~ differences   FAILED" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="Wrong(?s:.*)FAILED"):
        Wrong.verify(X, 2 * X, quiet=True, raise_exception=True)

    class Writes(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.numpy()[0] = 7
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    assert not Writes.verify(X.clone(), quiet=True)

    class Single(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to(pb.float64) * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    assert not Single.verify(X)
    assert "for pullback.float32 arguments" in capsys.readouterr().out


def test_verify_at_first_use(monkeypatch: Any) -> None:
    monkeypatch.setenv("PULLBACK_VERIFY", "first")

    def make(factor: float) -> Any:
        class First(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * factor

        return First.apply

    same(make(2.0)(X), 2 * X)
    with pytest.raises(RuntimeError, match="PULLBACK_VERIFY: First: backward ~ differences"):
        make(3.0)(X)
