"""Programs that decide whether levels, modes, views and custom functions mean what they should.

Each has one right answer. Where PyTorch 2.13 gives another one, the test says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_vjp, grad, jacfwd, jvp, vjp, vmap

same = pb.testing.assert_close


def numbers(*values: float, dtype: Any = None) -> Any:
    return pb.tensor(list(values), dtype=dtype)


def scalar(value: float) -> Any:
    return pb.tensor(value)


# ---------------------------------------------------------------- gradient modes
def product_with_constant(u: Any) -> Any:
    with pb.no_grad():
        c = u * u
    return u * c


def test_no_grad_cuts_every_live_level() -> None:
    same(grad(product_with_constant)(scalar(3.0)), scalar(9.0))
    same(grad(grad(product_with_constant))(scalar(3.0)), scalar(0.0))


def test_no_grad_outside_does_not_reach_into_grad() -> None:
    with pb.no_grad():
        g = grad(product_with_constant)(scalar(3.0))
        assert not pb.is_grad_enabled()
    same(g, scalar(9.0))
    assert not g.requires_grad


def test_update_under_no_grad_keeps_the_leaf() -> None:
    w = numbers(1.0, 2.0).requires_grad_()
    original = w
    for _ in range(2):
        w.grad = None
        (w * w).sum().backward()
        with pb.no_grad():
            w -= 0.25 * w.grad
    assert w is original and w.is_leaf and w.requires_grad and w.grad_fn is None
    same(w.detach(), numbers(0.25, 0.5))
    same(w.grad, numbers(1.0, 2.0))


# ---------------------------------------------------------------- randomness under vmap
def noisy(v: Any) -> Any:
    return pb.bernoulli(pb.full((6,), 0.5)) + v


def test_random_operators_ask_the_level() -> None:
    x = pb.zeros(8, 1)
    rows = vmap(noisy, randomness="different")(x)
    assert rows.shape == (8, 6)
    assert (rows != rows[0]).any()
    equal = vmap(noisy, randomness="same")(x)
    assert (equal == equal[0]).all()
    with pytest.raises(RuntimeError, match="random"):
        vmap(noisy, randomness="error")(x)
    with pytest.raises(RuntimeError, match="random"):
        vmap(noisy)(x)


class Jitter(pb.autograd.Function):
    """Adds noise in its own vmap rule and leaves the noise where the test can look at it."""

    drawn: list[Any] = []

    @staticmethod
    def forward(x: Any) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        noise = pb.randn(info.batch_size, 4)
        Jitter.drawn.append(noise)
        return x.movedim(in_dims[0], 0) + noise, 0


def test_noise_of_a_vmap_rule_is_a_plain_tensor() -> None:
    Jitter.drawn.clear()
    out = vmap(Jitter.apply, randomness="different")(pb.zeros(3, 4))
    (noise,) = Jitter.drawn
    assert noise.shape == (3, 4)
    same(noise + 0, out)
    assert (out[0] != out[1]).any()


def test_noise_of_a_vmap_rule_belongs_to_the_level_outside() -> None:
    inner = vmap(Jitter.apply, randomness="different")
    Jitter.drawn.clear()
    out = vmap(inner, randomness="different")(pb.zeros(2, 3, 4))
    assert out.shape == (2, 3, 4)
    assert (out[0] != out[1]).any()


# ---------------------------------------------------------------- promotion
def test_batched_scalar_stays_weak() -> None:
    s = pb.ones(3, dtype=pb.float64)
    out = vmap(lambda s, v: s * v)(s, pb.ones(3, 4))
    assert out.dtype == pb.float32
    same(out, pb.ones(3, 4))


# ---------------------------------------------------------------- mixtures of the tape and the transforms
def test_sweep_below_a_batch_raises() -> None:
    w = scalar(2.0).requires_grad_()
    a = numbers(1.0, 2.0)
    with pytest.raises(RuntimeError):
        vmap(lambda b: pb.autograd.grad(w * b, w)[0])(a)
    assert w.grad is None


def run_in_thread(f: Callable[[], Any]) -> Any:
    box: list[Any] = []

    def work() -> None:
        try:
            box.append(f())
        except Exception as error:
            box.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(box[0], Exception):
        raise box[0]
    return box[0]


def test_level_of_another_thread_is_right_or_raises() -> None:
    t, s = scalar(2.0), scalar(3.0)
    try:
        g = grad(lambda x: run_in_thread(lambda: grad(lambda u: u * x)(t)))(s)
    except RuntimeError as error:
        assert "thread" in str(error)
    else:
        same(g, scalar(1.0))
    same(grad(lambda x: x * x)(s), scalar(6.0))


def test_second_derivative_of_logsumexp() -> None:
    x = numbers(0.5, -1.0, 2.0, dtype=pb.float64).requires_grad_()
    (g,) = pb.autograd.grad(pb.logsumexp(x, 0), x, create_graph=True)
    (second,) = pb.autograd.grad(g[0], x)
    p = pb.softmax(x.detach(), 0)
    same(second, p[0] * (numbers(1.0, 0.0, 0.0, dtype=pb.float64) - p))


# ---------------------------------------------------------------- in place
def test_writes_to_arguments() -> None:
    x = pb.ones(3, 2)
    vmap(lambda v: v.mul_(2))(x)
    same(x, pb.full((3, 2), 2.0))
    x = pb.ones(3)
    _, tangent = jvp(lambda v: v.mul_(2), (x,), (pb.ones(3),))
    same(x, pb.full((3,), 2.0))
    same(tangent, pb.full((3,), 2.0))
    x = pb.ones(3)
    with pytest.raises(RuntimeError, match="leaf"):
        grad(lambda v: v.mul_(2).sum())(x)
    same(x, pb.ones(3))


# ---------------------------------------------------------------- forward mode by hand
def test_reverse_mode_below_a_dual_tensor() -> None:
    p = scalar(2.0).requires_grad_()
    with forward_ad.dual_level():
        d = forward_ad.make_dual(p, scalar(1.0))
        y = d**3
        (g,) = pb.autograd.grad(y, p, retain_graph=True)
        same(forward_ad.unpack_dual(g), (scalar(12.0), scalar(12.0)))
        (second,) = pb.autograd.grad(forward_ad.unpack_dual(y).tangent, p)
        same(second, scalar(12.0))


def test_dual_values_may_be_written_to_outer_buffers() -> None:
    z = pb.zeros(3)
    with forward_ad.dual_level():
        z[0] = forward_ad.make_dual(scalar(5.0), scalar(7.0))
        same(forward_ad.unpack_dual(z), (numbers(5.0, 0.0, 0.0), numbers(7.0, 0.0, 0.0)))
    same(z, numbers(5.0, 0.0, 0.0))
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(z * 2).tangent is None


# ---------------------------------------------------------------- levels
def test_no_confusion_of_perturbations() -> None:
    one = scalar(1.0)
    same(grad(lambda u: jvp(lambda v: u * v, (scalar(3.0),), (one,))[1])(scalar(2.0)), one)
    same(grad(lambda u: u * grad(lambda v: u + v)(one))(one), one)
    same(jvp(lambda u: u * jvp(lambda v: u + v, (one,), (one,))[1], (one,), (one,))[1], one)


def cubes(x: Any) -> Any:
    return x**3


def test_pullback_outlives_its_transform() -> None:
    x = numbers(1.0, 2.0)
    _, pull = vjp(cubes, x)
    slope = 3 * x**2
    same(pull(pb.ones(2))[0], slope)
    same(pull(numbers(1.0, 10.0))[0], slope * numbers(1.0, 10.0))
    same(vmap(lambda c: pull(c)[0])(pb.eye(2)), slope * pb.eye(2))
    same(vmap(lambda c: pull(c)[0], in_dims=1)(pb.eye(2)), slope * pb.eye(2))

    def penalty(u: Any) -> Any:
        _, inner = vjp(cubes, u)
        (first,) = inner(pb.ones(2))
        (again,) = inner(pb.ones(2))
        return (first * again).sum()

    same(grad(penalty)(x), 36 * x**3)
    same(grad(lambda c: (pull(c)[0] ** 2).sum())(pb.ones(2)), 2 * slope**2)


# ---------------------------------------------------------------- custom functions
class Product(pb.autograd.Function):
    """The classic style: the context is filled in forward."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b, g * a


def test_detached_twin_is_another_argument() -> None:
    x = numbers(2.0, 3.0).requires_grad_()
    Product.apply(x, x.detach()).sum().backward()
    same(x.grad, numbers(2.0, 3.0))
    (first,) = pb.autograd.grad(Product.apply(x, x.detach()).sum(), x, create_graph=True)
    same(first, numbers(2.0, 3.0))
    assert not first.requires_grad
    both = numbers(2.0, 3.0).requires_grad_()
    (first,) = pb.autograd.grad(Product.apply(both, both).sum(), both, create_graph=True)
    same(first.detach(), numbers(4.0, 6.0))
    same(pb.autograd.grad(first.sum(), both)[0], numbers(2.0, 2.0))


class Cube(pb.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


def test_forward_over_forward_through_a_function() -> None:
    """PyTorch 2.13 says 0."""
    x, one = scalar(2.0), scalar(1.0)

    def slope(u: Any) -> Any:
        return jvp(Cube.apply, (u,), (one,))[1]

    same(jvp(slope, (x,), (one,)), (scalar(12.0), scalar(12.0)))
    same(jacfwd(jacfwd(jacfwd(Cube.apply)))(x), scalar(6.0))


def test_a_residual_that_the_members_of_a_batch_share() -> None:
    """Its cotangent is given once: the loop's answer."""

    @custom_vjp
    def f(x: Any, c: Any) -> Any:
        return x * c.exp()

    f.defvjp(lambda x, c: (x * c.exp(), (x, c.exp())), lambda r, g: (g * r[1], (g * r[0] * r[1]).sum()))
    c, xs = scalar(0.0), numbers(1.0, 2.0, 4.0)
    looped = grad(lambda c: sum(grad(lambda x: f(x, c))(x) for x in xs))(c)
    same(grad(lambda c: vmap(grad(lambda x: f(x, c)))(xs).sum())(c), looped)
    same(looped, scalar(3.0))


def test_a_backward_that_clips_has_no_transpose() -> None:
    class Clipped(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.clamp(-100, 100)

    x = numbers(1.0, 2.0)
    same(grad(lambda x: (Clipped.apply(x) * 1000).sum())(x), numbers(100.0, 100.0))
    with pytest.raises(RuntimeError, match=r"Clipped: .*not linear.*test_hard_cases\.py:\d+"):
        jvp(Clipped.apply, (x,), (x,))


def test_jvp_runs_once_where_the_input_requires_grad_too() -> None:
    runs: list[int] = []

    class Exponential(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.result = x.exp()
            return ctx.result

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            runs.append(1)
            out = t * ctx.result
            del ctx.result
            return out

    leaf = numbers(0.0, 1.0).requires_grad_()
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(Exponential.apply(forward_ad.make_dual(leaf, pb.ones(2))))
        same(out.tangent, leaf.exp())
    assert len(runs) == 1


def test_output_65_of_70_is_non_differentiable() -> None:
    class Seventy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = tuple(x * (i + 1) for i in range(70))
            ctx.mark_non_differentiable(out[65])
            return out

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            return sum(g * (i + 1) for i, g in enumerate(gs))

    for i in (64, 65, 66, 69):
        same(grad(lambda x, i=i: Seventy.apply(x)[i])(scalar(1.0)), scalar(0.0 if i == 65 else i + 1.0))


def test_a_gradient_that_is_larger_by_broadcasting() -> None:
    class Product(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = pb.ones(1, 3), pb.full((4, 3), 2.0)
    same(grad(lambda x: Product.apply(x, y).sum())(x), pb.full((1, 3), 8.0))
    same(jvp(lambda x: Product.apply(x, y), (x,), (x,))[1], y)


def test_backward_differentiates_what_was_saved() -> None:
    """PyTorch's second derivative is 0."""

    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            with pb.enable_grad():
                y = x**3
            return pb.autograd.grad(y, x, g)[0]

    x, leaf = numbers(1.0, 2.0), numbers(1.0, 2.0).requires_grad_()
    Cube.apply(leaf).sum().backward()
    same(leaf.grad, 3 * x**2)
    same(grad(lambda x: Cube.apply(x).sum())(x), 3 * x**2)
    same(vmap(grad(lambda x: Cube.apply(x).sum()))(pb.stack([x, x]))[1], 3 * x**2)
    with pytest.raises(RuntimeError, match=r"test_hard_cases\.py:\d+.*create_graph=True"):
        grad(lambda x: grad(lambda x: Cube.apply(x).sum())(x).sum())(x)


def test_an_argument_may_be_captured_too() -> None:
    class Apply(Function):
        @staticmethod
        def forward(ctx: Any, f: Any, x: Any, k: Any) -> Any:
            ctx.save_for_backward(x, k)
            return f(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, k = ctx.saved_tensors
            return None, g * k, g * x

    x, k = numbers(1.0, 2.0), numbers(3.0, 4.0)
    same(grad(lambda k: Apply.apply(lambda x: x * k, x, k).sum())(k), x)


def test_scratch_arguments() -> None:
    class Fill(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, scratch: Any, secretly: bool) -> Any:
            (scratch if secretly else scratch.data)[0] = 7.0
            return scratch

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None, None

    x = numbers(1.0, 2.0).requires_grad_()
    scratch = pb.zeros(2)
    y = Fill.apply(x, scratch, False)
    same(y, numbers(7.0, 0.0))
    same(scratch, numbers(7.0, 0.0))
    y.sum().backward()
    same(x.grad, pb.ones(2))
    followed = x * 1
    Fill.apply(x, followed, True)
    with pytest.raises(RuntimeError, match="mark_dirty"):
        followed + 1


def test_a_forward_that_draws_is_not_run_again() -> None:
    """PyTorch takes the saved value for a constant."""
    import random

    class Noisy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            slope = 2 * (random.random() + 1) * x
            ctx.save_for_backward(slope)
            return x * slope / 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="Noisy.*than the first time"):
        grad(lambda x: grad(lambda x: Noisy.apply(x).sum())(x).sum())(numbers(1.0, 2.0))


# ---------------------------------------------------------------- traced programs
def test_trace_reads_captured_tensors_when_called() -> None:
    w, x = scalar(1.0), numbers(1.0, 2.0)
    program = pb.func.trace(lambda x: x * (w * 2))(x)
    same(program(x), 2 * x)
    w.mul_(10)
    same(program(x), 20 * x)
    same(grad(lambda x: program(x).sum())(x), numbers(20.0, 20.0))


# ---------------------------------------------------------------- vmap
def test_output_without_a_batch() -> None:
    """PyTorch 2.13 raises."""
    a = numbers(1.0, 2.0)
    out = vmap(lambda v: pb.ones(3), out_dims=1)(a)
    assert out.shape == (3, 2)
    same(out, pb.ones(3, 2))
    assert vmap(lambda v: pb.ones(3))(a).shape == (2, 3)


def test_23_gradients_of_complex_numbers_are_conjugate() -> None:
    rng = np.random.default_rng(23)
    a, b = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((2, 3), (3, 4)))
    x, y = (pb.tensor(v, requires_grad=True) for v in (a, b))
    (x @ y).abs().sum().backward()
    # The gradient of a sum of absolute values is the product of phases with the other factor's adjoint.
    phases = (a @ b) / np.abs(a @ b)
    np.testing.assert_allclose(x.grad.numpy(), phases @ b.conj().T, rtol=1e-12)
    np.testing.assert_allclose(y.grad.numpy(), a.conj().T @ phases, rtol=1e-12)
    assert x.grad.dtype == pb.complex128


def test_escaped_value_names_transform_and_line() -> None:
    held: list[Iterator[Any]] = []

    def f(v: Any) -> Any:
        def later() -> Iterator[Any]:
            doubled = v * 2
            yield doubled.shape
            yield doubled + 1

        held.append(later())
        assert next(held[-1]) == (3,)
        return v

    x = pb.ones(2, 3)
    vmap(f)(x)
    with pytest.raises(RuntimeError) as caught:
        next(held[0])
    assert "vmap" in str(caught.value)
    assert "test_hard_cases.py" in str(caught.value)
    same(pb.ones(3) + 1, pb.full((3,), 2.0))
    same(vmap(lambda v: v * 2)(x), pb.full((2, 3), 2.0))
    same(grad(lambda v: v.sum())(x), x)


# ---------------------------------------------------------------- derivatives where a function is constant
def test_a_constant_part_selects() -> None:
    for f, at in [
        (lambda x: pb.sqrt(pb.relu(x)), -2.0),
        (lambda x: pb.acos(x.clamp(-1, 1)), 2.0),
        (lambda x: pb.log(pb.where(x > 0, x, 0.0)), -1.0),
        (lambda x: pb.log(x.masked_fill(x <= 0, 0.0)), -1.0),
    ]:
        x = numbers(at).requires_grad_()
        f(x).sum().backward()
        same(x.grad, numbers(0.0))
    for f in (lambda x: pb.relu(pb.log(x)), lambda x: (1 / x).clamp(-1, 1)):
        same(jvp(f, (numbers(0.0),), (numbers(1.0),))[1], numbers(0.0))


def test_a_computed_zero_does_not_win_over_infinity() -> None:
    for f in (lambda x: pb.sqrt(x) ** 2, lambda x: pb.sqrt(x) * 0):
        assert grad(lambda x, f=f: f(x).sum())(numbers(0.0)).isnan().all()
        assert jvp(f, (numbers(0.0),), (numbers(1.0),))[1].isnan().all()


def test_overwritten_writes_have_no_gradient() -> None:
    """PyTorch's reverse mode gives 1 to both writes; its forward mode is right."""

    def f(s: Any) -> Any:
        y = pb.zeros(2)
        y[[0, 0]] = s
        return y

    same(grad(lambda s: f(s).sum())(numbers(3.0, 4.0)), numbers(0.0, 1.0))
    same(jvp(f, (numbers(3.0, 4.0),), (numbers(5.0, 7.0),))[1], numbers(7.0, 0.0))


def test_40_arrays_are_operands() -> None:
    t, a = pb.tensor([1.0, 2.0]), np.array([3.0, 5.0])
    for product in (a * t, t * a):
        assert type(product) is pb.Tensor and product.dtype == pb.float64 and product.tolist() == [3, 10]
    for equal in (t == a, a == t):
        assert type(equal) is pb.Tensor and equal.tolist() == [False, False]
    assert grad(lambda x: (a * x).sum())(t).tolist() == grad(lambda x: (x * a).sum())(t).tolist() == [3, 5]
    same(jvp(lambda x: a * x, (t,), (t,))[1], a * t)
    assert vmap(lambda x: a * x)(pb.ones(2, 2)).tolist() == [[3, 5]] * 2


def test_41_a_factor_is_not_computed_in_the_dtype_of_the_second_operand() -> None:
    out = pb.sub(pb.tensor(0.2, dtype=pb.float64), pb.tensor(1, dtype=pb.uint8), alpha=-1)
    same(out, pb.tensor(1.2, dtype=pb.float64))


def test_42_numbers_are_arguments() -> None:
    out = grad(lambda x: x * x)(3.0)
    assert type(out) is pb.Tensor and out.dtype == pb.float32 and out.item() == 6
