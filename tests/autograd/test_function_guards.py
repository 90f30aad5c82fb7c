"""Programs that are silently wrong elsewhere: each gives the true answer or raises with the line and the Function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.autograd.function import once_differentiable
from pullback.func import grad, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, 3.0])
ONES = pb.ones(3)
HERE = Path(__file__).name


def raises(name: str, match: str) -> Any:
    """Expects an error with the Function's name, this file and a line, and the given terms."""
    return pytest.raises((RuntimeError, TypeError), match=rf"(?s)(?=.*{name})(?=.*{HERE}:\d+){match}")


# ---------------------------------------------------------------- captured values
def capturing(w: Any) -> Any:
    class Captured(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * w

    return Captured.apply


def test_captured_value_of_a_transform() -> None:
    w = pb.tensor(2.0)
    with raises("Captured.forward", ".*captured tensor.*as an argument"):
        grad(lambda w: capturing(w)(X).sum())(w)
    with raises("Captured.forward", ".*captured tensor"):
        grad(lambda w, x: capturing(w)(x).sum(), argnums=(0, 1))(w, X)
    with raises("Captured.forward", ".*captured tensor"):
        grad(lambda w: grad(lambda x: capturing(w)(x).sum())(X).sum())(w)


def test_captured_leaf() -> None:
    w = pb.tensor(2.0, requires_grad=True)
    with raises("Captured.forward", ".*captured tensor.*requires grad"):
        capturing(w)(X)
    with raises("Captured.forward", ".*captured tensor.*requires grad"):
        capturing(w)(X.clone().requires_grad_())
    with pb.no_grad():
        same(capturing(w)(X), 2 * X)
    same(capturing(w.detach())(X), 2 * X)


def test_captured_dual() -> None:
    with forward_ad.dual_level():
        w = forward_ad.make_dual(pb.tensor(2.0), pb.tensor(1.0))
        with raises("Captured.forward", ".*captured tensor.*tangent"):
            x = forward_ad.make_dual(X, ONES)
            capturing(w)(x)
        try:
            out = forward_ad.unpack_dual(capturing(w)(X).sum())
        except RuntimeError as error:
            assert "Captured" in str(error)
        else:
            same(out.tangent, pb.tensor(6.0))


def test_captured_batch() -> None:
    ws = pb.tensor([1.0, 10.0])
    with raises("Captured.forward", ".*captured tensor.*batched"):
        vmap(lambda w, x: capturing(w)(x))(ws, pb.stack([X, X]))
    same(vmap(lambda w: capturing(w)(X))(ws), pb.stack([X, 10 * X]))


def test_captured_in_jvp_and_vmap_rules() -> None:
    def make(w: Any) -> Any:
        class Rules(Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x.clone()

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return t * w

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                return x * w, in_dims[0]

        return Rules.apply

    with raises("Rules.jvp", ".*captured tensor"):
        jvp(lambda w: make(w)(w * 1), (X,), (ONES,))
    with raises("Rules.vmap", ".*captured tensor"):
        vmap(lambda w: make(w)(w * 1))(X)


def test_reading_under_the_users_own_mode_is_allowed() -> None:
    w = pb.tensor(2.0, requires_grad=True)

    class Frozen(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with pb.no_grad():
                scale = w * 1
            return x * scale.detach() * w.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 4 * g

    same(Frozen.apply(X), 4 * X)

    class Opened(Frozen):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with pb.no_grad():
                pass
            return x * w

    with raises("Opened.forward", ".*captured tensor"):
        Opened.apply(X)


def test_checkpoint_runs_forward_again_in_backward() -> None:
    w = pb.tensor(2.0, requires_grad=True)

    def module(x: Any) -> Any:
        return (x * w).sin()

    class Checkpoint(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            with pb.no_grad():
                return module(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with pb.enable_grad():
                y = module(x)
            pb.autograd.backward(y, g)
            return x.grad

    x = X.clone().requires_grad_()
    Checkpoint.apply(x).sum().backward()
    same(x.grad, 2 * (2 * X).cos())
    same(w.grad, (X * (2 * X).cos()).sum())


# ---------------------------------------------------------------- saved values
class MarkedSlope(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, slope = x**2, 2 * x
        ctx.save_for_backward(slope)
        ctx.mark_non_differentiable(slope)
        return y, slope

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (slope,) = ctx.saved_tensors
        return g * slope


class SeparateSlope(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**2, 2 * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (slope,) = ctx.saved_tensors
        return g * slope


class HiddenSlope(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.slope = 2 * x
        return x**2, None

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        return g * ctx.slope


@pytest.mark.parametrize("function", [MarkedSlope, SeparateSlope, HiddenSlope])
def test_derivative_through_what_forward_computed(function: Any) -> None:
    first = lambda x: function.apply(x)[0].sum()
    two = 2 * ONES
    same(grad(first)(X), 2 * X)
    same(grad(lambda x: grad(first)(x).sum())(X), two)
    same(jacfwd(grad(first))(X), pb.diag(two))
    same(jacrev(grad(first))(X), pb.diag(two))
    same(jacfwd(jacfwd(first))(X), pb.diag(two))
    same(grad(lambda x: jvp(first, (x,), (ONES,))[1])(X), two)
    same(vmap(grad(first))(pb.stack([X, X])), pb.stack([2 * X, 2 * X]))
    same(vmap(grad(lambda x: grad(first)(x).sum()))(pb.stack([X, X])), pb.stack([two, two]))
    same(grad(lambda r: vmap(grad(first))(r).sum())(pb.stack([X, X])), pb.stack([two, two]))
    x = X.clone().requires_grad_()
    (g,) = pb.autograd.grad(first(x), x, create_graph=True)
    same(pb.autograd.grad(g.sum(), x)[0], two)
    if function is not HiddenSlope:
        assert not function.apply(x)[1].requires_grad


def test_saved_mask_is_a_constant() -> None:
    class Mask(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mask = (x > 1.5).to(x.dtype)
            ctx.save_for_backward(x, mask)
            return x * x * mask

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, mask = ctx.saved_tensors
            return 2 * g * x * mask

    same(grad(lambda x: grad(lambda v: Mask.apply(v).sum())(x).sum())(X), pb.tensor([0.0, 2.0, 2.0]))


def test_intermediate_that_cannot_be_computed_again_raises() -> None:
    class Outside(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(pb.from_numpy(2 * x.numpy()))
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (slope,) = ctx.saved_tensors
            return g * slope

    same(grad(lambda x: Outside.apply(x).sum())(X), 2 * X)
    with raises("Outside", ".*neither an input nor a differentiable output"):
        grad(lambda x: grad(lambda v: Outside.apply(v).sum())(x).sum())(X)

    class Noise(Outside):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x * pb.rand(3))
            return x**2

    with raises("Noise", ".*random"):
        grad(lambda x: grad(lambda v: Noise.apply(v).sum())(x).sum())(X)


@pytest.mark.parametrize("attribute", [False, True])
def test_setup_computes_what_it_saves(attribute: bool) -> None:
    class Cube(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            if attribute:
                ctx.d = [3 * inputs[0] ** 2, "slope"]
            else:
                ctx.save_for_backward(3 * inputs[0] ** 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (ctx.d[0] if attribute else ctx.saved_tensors[0])

    first = grad(lambda x: Cube.apply(x).sum())
    same(grad(lambda x: first(x).sum())(X), 6 * X)
    same(jacfwd(first)(X), pb.diag(6 * X))
    same(vmap(jacrev(first))(pb.stack([X, X]))[1], pb.diag(6 * X))
    x = X.clone().requires_grad_()
    (g,) = pb.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    same(pb.autograd.grad(g.sum(), x)[0], 6 * X)


@pytest.mark.parametrize("attribute", [False, True])
def test_once_differentiable(attribute: bool) -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            if attribute:
                ctx.x = x
            else:
                ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * (ctx.x if attribute else ctx.saved_tensors[0])

    first = grad(lambda x: Once.apply(x).sum())
    same(first(X), 2 * X)
    for second in (grad(lambda x: first(x).sum()), jacfwd(first), jacrev(first)):
        with pytest.raises(RuntimeError, match="once_differentiable|jvp"):
            second(X)
    with pytest.raises(NotImplementedError, match="jvp"):
        jvp(Once.apply, (X,), (ONES,))


def test_dict_in_and_out_list_in() -> None:
    class Product(Function):
        @staticmethod
        def forward(d: Any, rest: Any) -> Any:
            return {"y": d["a"] * d["b"], "n": 3, "z": rest[0] + rest[1]}

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            d, _ = inputs
            ctx.save_for_backward(d["a"], d["b"])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            assert g["n"] is None
            return {"a": g["y"] * b, "b": g["y"] * a}, [g["z"], g["z"]]

    a, b = X.clone().requires_grad_(), (2 * X).requires_grad_()
    out = Product.apply({"a": a, "b": b}, [a, X])
    assert out["n"] == 3
    (out["y"].sum() + out["z"].sum()).backward()
    same(a.grad, 2 * X + 1)
    same(b.grad, X)
    d = {"a": X, "b": 2 * X}
    g = grad(lambda d: Product.apply(d, [X, X])["y"].sum())(d)
    same(g["a"], 2 * X)
    rows = {k: pb.stack([v, v]) for k, v in d.items()}
    same(vmap(lambda d: Product.apply(d, [X, X])["y"])(rows), pb.stack([2 * X * X] * 2))
    same(jvp(lambda a: Product.apply({"a": a, "b": X}, [X, a])["z"], (X,), (ONES,))[1], ONES)


def test_input_on_ctx_changed_afterwards() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.x = x
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.x

    leaf = X.clone().requires_grad_()
    y = leaf * 1
    out = Square.apply(y)
    y.mul_(100)
    out.sum().backward()
    same(leaf.grad, 2 * X)


# ---------------------------------------------------------------- what rules return
def ruled(backward: Any = None, jvp: Any = None) -> Any:
    class Ruled(Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    if backward:
        Ruled.backward = staticmethod(backward)
    if jvp:
        Ruled.jvp = staticmethod(jvp)
    return Ruled.apply


def test_wrong_gradients() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda ctx, g: (pb.ones(3, 2), g), r".*index 0.*'x'.*\[3, 2\].*\[3\]"),
        (lambda ctx, g: (g, g[:1]), r".*index 1.*'y'.*\[1\].*\[3\]"),
        (lambda ctx, g: g, r".*incorrect number of gradients \(expected 2, got 1\)"),
        (lambda ctx, g: (g, g, g), r".*incorrect number of gradients \(expected 2, got 3\)"),
        (lambda ctx, g: (g, "no"), ".*'y'.*str"),
        (lambda ctx, g: (g, g * 1j), ".*'y'.*float32.*complex64"),
    ]
    for rule, match in cases:
        f = ruled(backward=rule)
        with raises("Ruled.backward", match):
            f(X.clone().requires_grad_(), X.clone().requires_grad_()).sum().backward()
        with raises("Ruled.backward", match):
            grad(lambda x, y, f=f: f(x, y).sum(), argnums=(0, 1))(X, X)
    f = ruled(backward=lambda ctx, g: (g, g, None, None))
    same(grad(lambda x: f(x, x).sum())(X), 2 * ONES)


def test_wrong_tangents() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda ctx, a, b: None, ".*None for output 0"),
        (lambda ctx, a, b: (a + b).double(), ".*float64.*float32"),
        (lambda ctx, a, b: pb.ones(3, 3), r".*\[3, 3\].*\[3\]"),
        (lambda ctx, a, b: (a, b), ".*expected 1 but got 2"),
        (lambda ctx, a, b: 1.0, ".*float"),
    ]
    for rule, match in cases:
        with raises("Ruled.jvp", match):
            jvp(lambda x, rule=rule: ruled(jvp=rule)(x, X), (X,), (ONES,))


def test_gradient_of_no_tensor() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    with raises("Scale.backward", ".*different from None.*'factor'"):
        Scale.apply(X.clone().requires_grad_(), 2.0).sum().backward()


def test_wrong_batches_and_forbidden_draws() -> None:
    class Mapped(Function):
        result: Any = None

        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Mapped.result(x)

    rows = pb.stack([X, X])
    cases: list[tuple[Any, str]] = [
        (lambda x: (x[:1], 0), ".*batch of size 2"),
        (lambda x: (x, 5), ".*batch of size 2"),
        (lambda x: x, ".*two returns.*out_dims.*but got Tensor"),
        (lambda x: (x, (0, 0)), ".*out_dims"),
        (lambda x: (x + pb.rand(2, 3), 0), ".*random"),
        (lambda x: (pb.randn_like(x), 0), ".*random"),
    ]
    for result, match in cases:
        Mapped.result = staticmethod(result)
        with raises("Mapped.vmap", match):
            vmap(Mapped.apply)(rows)
    assert vmap(Mapped.apply, randomness="different")(rows).shape == (2, 3)


def test_generated_rule_draws_by_the_batch() -> None:
    class Noisy(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x + pb.rand(3)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    rows = pb.zeros(4, 3)
    with pytest.raises(RuntimeError, match="random"):
        vmap(Noisy.apply)(rows)
    different = vmap(Noisy.apply, randomness="different")(rows)
    assert (different != different[0]).any()
    equal = vmap(Noisy.apply, randomness="same")(rows)
    assert (equal == equal[0]).all()


def test_forward_that_changes_its_argument() -> None:
    class Secret(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            return x + 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    class Memory(Secret):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.numpy()[0] = 7
            return x + 1

    def used(x: Any, f: Any) -> Any:
        y = x * 1
        return (f(y) + y).sum()

    for name, f in (("Secret", Secret.apply), ("Memory", Memory.apply)):
        with raises(name, ".*'x'.* in place.*mark_dirty"):
            grad(used)(X, f)
        same(grad(lambda x, f=f: f(x * 1).sum())(X), 2 * ONES)
    same(Secret.apply(X.clone()), 2 * X + 1)


def test_stacked_scalars_keep_their_gradient() -> None:
    try:
        g = grad(lambda x: pb.tensor([x[0], x[1]]).sum())(X)
    except RuntimeError as error:
        assert HERE in str(error)
    else:
        same(g, pb.tensor([1.0, 1.0, 0.0]))


def test_rule_of_a_batch_of_gradients() -> None:
    class Square(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return pb.from_numpy(x.numpy() ** 2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Square.apply(x), in_dims[0]

    rows = pb.stack([X, 2 * X])
    same(grad(lambda r: vmap(Square.apply)(r).sum())(rows), vmap(grad(lambda x: Square.apply(x).sum()))(rows))


def test_value_that_escaped() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x.sum()

    grad(f)(X)
    same(kept[0] + 1, 2 * X + 1)
    assert not kept[0].requires_grad


def test_numpy_under_jacrev() -> None:
    class Sine(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return pb.from_numpy(np.sin(x.numpy()))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Product.apply(g, ctx.saved_tensors[0])

    class Product(Function):
        @staticmethod
        def forward(g: Any, x: Any) -> Any:
            return pb.from_numpy(g.numpy() * np.cos(x.numpy()))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    with raises("Product.forward", ".*def vmap"):
        jacrev(Sine.apply)(X)
    with raises("Sine.forward", ".*def vmap"):
        vmap(Sine.apply)(pb.stack([X, X]))

    class Batched(Product):
        @staticmethod
        def vmap(info: Any, in_dims: Any, g: Any, x: Any) -> Any:
            return Batched.apply(g, x), in_dims[0]

    class Fixed(Sine):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Batched.apply(g, ctx.saved_tensors[0])

    same(jacrev(Fixed.apply)(X), pb.diag(X.cos()))
