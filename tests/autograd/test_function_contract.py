"""The contract of `autograd.Function`: contexts, styles, derived rules."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import FunctionCtx, InplaceFunction, explain, once_differentiable
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.4, -1.2, 0.9], dtype=pb.float64)
ONES = pb.ones_like(X)
ROWS = pb.stack([X, 2 * X])


class Classic(Function):
    """x * y in the classic style, with everything on ctx."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, None, y)
        ctx.name = "classic"
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, none, y = ctx.saved_tensors
        assert none is None and ctx.name == "classic"
        return g * y, g * x


class ClassicJvp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        return x.sin()

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return t * x.cos()


class ClassicVjp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x.sin()

    @staticmethod
    def vjp(ctx: Any, g: Any) -> Any:
        return g * ctx.x.cos()


# ---------------------------------------------------------------- styles and derived rules
@pytest.mark.parametrize("f", [ClassicJvp.apply, ClassicVjp.apply])
def test_classic_style_and_derived_rules_under_every_transform(f: Any) -> None:
    total: Any = lambda v: f(v).sum()
    plain: Any = lambda v: v.sin().sum()
    same(grad(total)(X), X.cos())
    same(jvp(f, (X,), (ONES,)), (X.sin(), X.cos()))
    same(vjp(f, X)[1](2 * ONES)[0], 2 * X.cos())
    same(vmap(f)(ROWS), ROWS.sin())
    same(vmap(f, in_dims=1, out_dims=1)(ROWS), ROWS.sin())
    same(vmap(grad(total))(ROWS), ROWS.cos())
    same(grad(lambda r: vmap(f)(r).sum())(ROWS), ROWS.cos())
    same(jvp(vmap(f), (ROWS,), (ROWS,))[1], ROWS.cos() * ROWS)
    same(jacrev(f)(X), pb.diag(X.cos()))
    same(jacfwd(f)(X), pb.diag(X.cos()))
    for second in (hessian, lambda t: jacrev(jacrev(t)), lambda t: jacfwd(jacfwd(t)), lambda t: jacrev(jacfwd(t))):
        same(second(total)(X), hessian(plain)(X))
    same(vmap(hessian(total))(ROWS), vmap(hessian(plain))(ROWS))
    same(vmap(vmap(f))(ROWS.reshape(1, 2, 3)), ROWS.sin().reshape(1, 2, 3))
    x = X.clone().requires_grad_()
    (first,) = pb.autograd.grad(total(x), x, create_graph=True)
    same(pb.autograd.grad(first.sum(), x)[0], -X.sin())


def test_classic_product() -> None:
    f = Classic.apply
    same(grad(lambda x: f(x, x).sum())(X), 2 * X)
    same(jvp(lambda x: f(x, X), (X,), (ONES,))[1], X)
    same(vmap(f, in_dims=(0, None))(ROWS, X), ROWS * X)
    same(grad(lambda w: vmap(lambda r: f(r, w))(ROWS).sum())(X), 3 * X)
    same(vmap(grad(lambda w, r: f(r, w).sum()), in_dims=(None, 0))(X, ROWS), ROWS)


def test_rule_that_cannot_be_derived() -> None:
    class Outside(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return pb.from_numpy(2 * g.numpy())

    same(grad(lambda x: Outside.apply(x).sum())(X), 2 * ONES)
    with pytest.raises(NotImplementedError, match="Outside.*cannot be derived from backward(?s:.*)def jvp"):
        jvp(Outside.apply, (X,), (ONES,))

    class Cut(Outside):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g.detach()

    with pytest.raises(RuntimeError, match="Cut.*not linear(?s:.*)def jvp"):
        jvp(Cut.apply, (X,), (ONES,))

    class Bare(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError, match="Bare.*backward or vjp(?s:.*)def backward"):
        grad(lambda x: Bare.apply(x).sum())(X)
    with pytest.raises(NotImplementedError, match="Bare.*jvp(?s:.*)def jvp"):
        jvp(Bare.apply, (X,), (ONES,))


def test_explain() -> None:
    assert explain(Classic) == {
        "forward": "written",
        "setup_context": "in forward",
        "backward": "written",
        "jvp": "derived from backward",
        "vmap": "generated",
    }
    assert explain(ClassicJvp)["backward"] == "derived from jvp"
    assert str(explain(ClassicVjp)).splitlines()[0] == "ClassicVjp"

    class Once(Classic):
        backward = staticmethod(once_differentiable(Classic.backward))

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            return x * y, 0

    assert explain(Once)["jvp"] == "missing"
    assert explain(Once)["vmap"] == "written"
    with pytest.raises(TypeError, match="Function"):
        explain(int)  # type: ignore[arg-type]


def test_both_names_of_a_rule() -> None:
    class Both(Classic):
        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g, g

    with pytest.raises(RuntimeError, match="Both.*both 'backward' and 'vjp'"):
        Both.apply(X, X)

    class Twice(Classic):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            return x * y, 0

    with pytest.raises(RuntimeError, match="Twice.*both generate_vmap_rule=True and an overridden vmap"):
        vmap(Twice.apply)(ROWS, ROWS)


def test_instances_are_of_no_use() -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Classic()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
        made(X)
    same(made.apply(X, ONES), Classic.apply(X, ONES))
    with pytest.raises(NotImplementedError, match="derive"):
        Function.apply(X)

    class Nothing(Function):
        pass

    with pytest.raises(NotImplementedError, match="must implement the forward"):
        Nothing.apply(X)
    assert InplaceFunction(inplace=True).inplace


def test_apply_of_its_own() -> None:
    class Checked(Classic):
        @classmethod
        def apply(cls, x: Any, y: Any = None) -> Any:
            return super().apply(x, x if y is None else y)

    same(Checked.apply(X), X * X)
    same(grad(lambda x: Checked.apply(x).sum())(X), 2 * X)


# ---------------------------------------------------------------- ctx
def test_saving_what_is_no_tensor() -> None:
    def saving(method: str) -> Any:
        class Saving(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                getattr(ctx, method)(x, 3)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        return Saving.apply

    for method, match in [
        ("save_for_backward", "save_for_backward can only save variables, but argument 1 is of type int"),
        ("save_for_forward", "save_for_forward can only save variables, but argument 1 is of type int"),
        ("mark_dirty", "mark_dirty can only accept variables, but argument 1 is of type int"),
        ("mark_non_differentiable", "mark_non_differentiable .*argument 1 is of type int"),
    ]:
        with pytest.raises(TypeError, match=match):
            saving(method)(X.clone().requires_grad_())


@pytest.mark.parametrize("method", ["save_for_backward", "save_for_forward"])
def test_saving_takes_no_keywords(method: str) -> None:
    class Named(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            getattr(ctx, method)(x=x)
            return x * 2

    with pytest.raises(TypeError, match=rf"{method}\(\): takes no keyword arguments; give .* by position \(at .*\.py:"):
        Named.apply(X.clone())


def test_the_last_call_counts() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g * x

    same(grad(lambda x: Twice.apply(x).sum())(X), 2 * X)


def test_different_lists_for_both_modes() -> None:
    class Modes(Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(inputs[1], inputs[0], output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            y, x, _ = ctx.saved_tensors
            return a * y + x * b

    same(grad(lambda x: Modes.apply(x, ONES).sum())(X), ONES)
    same(jvp(lambda x: Modes.apply(x, 2 * ONES), (X,), (X,))[1], 2 * X)
    same(hessian(lambda x: Modes.apply(x, x).sum())(X), pb.diag(2 * ONES))


def test_reading_saved_tensors_too_late() -> None:
    kept: list[Any] = []

    class Keep(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            kept.append(ctx)
            ctx.save_for_backward(x)
            ctx.adopted = x
            assert ctx.saved_tensors[0] is x
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert isinstance(ctx, FunctionCtx) and len(ctx.saved_tensors) == 1
            return g * 2

    y = Keep.apply(X.clone().requires_grad_()).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time.*already been freed"):
        _ = kept[0].saved_tensors
    with pytest.raises(RuntimeError, match="ctx.adopted.*already been freed"):
        _ = kept[0].adopted
    with pytest.raises(AttributeError, match="nothing"):
        _ = kept[0].nothing
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_nothing_saved() -> None:
    class Empty(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert ctx.saved_tensors == ()
            return g * 2

    same(grad(lambda x: Empty.apply(x).sum())(X), 2 * ONES)


def test_needs_input_grad_in_forward_and_backward() -> None:
    seen: list[Any] = []

    class See(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int, y: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return g, None, g

    See.apply(X, 1, X.clone().requires_grad_()).sum().backward()
    grad(lambda x: See.apply(x, 1, X).sum())(X)
    with pb.no_grad():
        See.apply(X, 1, X.clone().requires_grad_())
    assert seen == [(False, False, True)] * 2 + [(True, False, False)] * 2 + [(False, False, False)]


def test_many_contexts_with_tensors_in_lists() -> None:
    """A million, or as many as a build without optimisation makes in the time that a million takes others."""

    class Chain(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.cache = [x]
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.cache[0] / ctx.cache[0]

    def contexts() -> list[FunctionCtx]:
        return [o for o in gc.get_objects() if isinstance(o, FunctionCtx)]

    gc.collect()
    before = len(contexts())
    x = pb.tensor(2.0, requires_grad=True)
    y, deadline = x * 1, time.monotonic() + 20
    for n in range(1_000_000):
        y = Chain.apply(y)
        if n >= 100_000 and n % 1000 == 0 and time.monotonic() > deadline:
            break
    del y
    assert len(contexts()) == before
    y = x * 1
    for _ in range(20):
        y = Chain.apply(y)
    y.backward()
    same(x.grad, pb.tensor(1.0))


def test_classes_made_in_functions_are_collected() -> None:
    def make() -> Any:
        class Local(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        Local.apply(X.clone().requires_grad_()).sum().backward()
        return weakref.ref(Local)

    refs = [make() for _ in range(3)]
    gc.collect()
    assert all(r() is None for r in refs)
