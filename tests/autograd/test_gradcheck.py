"""`gradcheck` and `gradgradcheck` find what is wrong, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import GradcheckError, gradcheck, gradgradcheck

EVERYTHING = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}


def points(*shape: int) -> Any:
    return pb.testing.make_tensor(*shape, dtype=pb.float64, low=0.5, high=2, requires_grad=True)


class Halved(pb.autograd.Function):
    """The square, with a derivative that is half of the true one."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class Half(pb.autograd.Function):
    """Right in reverse mode, half of the truth in forward mode; or the other way round."""

    generate_vmap_rule = True
    wrong = "jvp"

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @classmethod
    def _scaled(cls, ctx: Any, t: Any, mode: str) -> Any:
        return t * ctx.saved_tensors[0] * (1 if cls.wrong == mode else 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Half._scaled(ctx, g, "backward")

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return Half._scaled(ctx, t, "jvp")


class Unsteady(pb.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Unsteady.calls += 1
        return g * (1 + 1e-7 * Unsteady.calls)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_derivatives(fast_mode: bool) -> None:
    assert gradcheck(lambda x: x.sin() * x, points(3), fast_mode=fast_mode, **EVERYTHING)
    assert gradcheck(lambda x, y: (x @ y, x.sum()), (points(2, 3), points(3, 2)), fast_mode=fast_mode, **EVERYTHING)
    assert gradcheck(lambda x, n: x**n, (points(2), 3), fast_mode=fast_mode)
    assert gradcheck(lambda x: (x * 2, x.argmax()), points(2), fast_mode=fast_mode)
    assert gradcheck(pb.sin, points(0), fast_mode=fast_mode)
    assert gradcheck(lambda x: x.sum(0), points(0, 2), fast_mode=fast_mode)
    assert gradcheck(pb.sin, points(), fast_mode=fast_mode)


def test_second_derivatives() -> None:
    assert gradgradcheck(lambda x: x.sin() * x, points(3), check_fwd_over_rev=True)
    assert gradgradcheck(lambda x, y: (x @ y, (x * x * x).sum()), (points(2, 3), points(3, 2)), check_fwd_over_rev=True)
    assert gradgradcheck(lambda x: x * 2, points(2), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda x: x.exp(), points(2), pb.ones(2, dtype=pb.float64))


def test_what_is_left_alone() -> None:
    """Outputs without derivative, inputs that are not varied, inputs that share memory, the generator."""
    x = points(3)
    assert gradcheck(lambda x: (x * 2, (x * 3).detach()), x, **EVERYTHING)
    assert gradgradcheck(lambda x: (x**3, (x * 3).detach()), x, check_fwd_over_rev=True)
    assert gradcheck(lambda x, y: x * y.sum(), (x, pb.ones(2, dtype=pb.float64)), **EVERYTHING)
    assert gradcheck(lambda x: x * 2, pb.ones(1, dtype=pb.float64).expand(3).requires_grad_(), masked=True)
    assert gradcheck(lambda xs, k: [xs * k, xs + k], [x, 2.0])
    before, state = x.clone(), pb.get_rng_state()
    for fast_mode in (False, True):
        assert gradcheck(lambda x: x.exp(), x, fast_mode=fast_mode, **EVERYTHING)
    assert pb.get_rng_state().equal(state) and x.grad is None
    pb.testing.assert_close(x, before, rtol=0, atol=0)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_derivative(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0") as caught:
        gradcheck(Halved.apply, points(2), fast_mode=fast_mode)
    assert ("computed in fast mode" in str(caught.value)) == fast_mode
    assert re.search(r"numerical:\n.*\n.*\nanalytical:\n", str(caught.value))
    assert not gradcheck(Halved.apply, points(2), fast_mode=fast_mode, raise_exception=False)
    Half.wrong = "jvp"
    assert gradcheck(Half.apply, points(2), fast_mode=fast_mode)
    with pytest.raises(
        GradcheckError, match="Jacobian computed with forward mode mismatch for output 0 with respect to"
    ):
        gradcheck(Half.apply, points(2), fast_mode=fast_mode, check_forward_ad=True)
    Half.wrong = "backward"
    assert gradcheck(Half.apply, points(2), fast_mode=fast_mode, check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(Half.apply, points(2), fast_mode=fast_mode, check_forward_ad=True)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(lambda x: Halved.apply(x) * x, points(2), fast_mode=fast_mode)


def backward_of(rule: Any, outputs: Any = lambda a, b: a * 2 + b * 3, **extra: Any) -> Any:
    class Made(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.set_materialize_grads(extra.get("materialize", True))
            return outputs(a, b)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return rule(*grads)

    return Made.apply


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradients_given_to_the_wrong_input(fast_mode: bool) -> None:
    swapped = backward_of(lambda g: (g * 3, g * 2))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
        gradcheck(swapped, (points(3), points(3)), fast_mode=fast_mode)
    only_second = backward_of(lambda g: (g * 2, g * 2))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 1"):
        gradcheck(only_second, (points(3), points(3)), fast_mode=fast_mode)
    turned = backward_of(lambda g: (g * 2, g.flip(0) * 3))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 1"):
        gradcheck(turned, (points(3), points(3)), fast_mode=fast_mode)
    second_output = backward_of(lambda g, h: (g, g + h), lambda a, b: (a + b, b * 2))
    with pytest.raises(GradcheckError, match="mismatch for output 1 with respect to input 1"):
        gradcheck(second_output, (points(3), points(3)), fast_mode=fast_mode)


def test_fast_mode_takes_few_passes() -> None:
    calls: list[str] = []

    class Counted(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            calls.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append("backward")
            return g * 2

    assert gradcheck(Counted.apply, points(100), fast_mode=True)
    assert calls.count("forward") < 10 and calls.count("backward") < 10


@pytest.mark.parametrize("fast_mode", [False, True])
def test_hidden_dependence(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, points(2), fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 1"):
        gradcheck(lambda x, y: x * y.detach(), (points(2), points(2)))
    assert gradcheck(lambda x: pb.ones(2, dtype=pb.float64), points(2))
    assert gradcheck(lambda x, y: x * 2, (points(2), points(2)), check_forward_ad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_repeatability(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match=r"not reentrant.*The tolerance for nondeterminism was 0.0"):
        gradcheck(Unsteady.apply, points(2), fast_mode=fast_mode)
    assert gradcheck(Unsteady.apply, points(2), nondet_tol=1e-5)


def test_undefined_gradients() -> None:
    two: Any = lambda a, b: (a * 2, b * 3)
    inputs = (points(2), points(2))
    fragile = backward_of(lambda g, h: (g * 2, h * 3), two, materialize=False)
    with pytest.raises(TypeError, match="NoneType"):
        gradcheck(fragile, inputs)
    careless = backward_of(
        lambda g, h: (None if g is None else g * 2, h * 3 if g is None else None), two, materialize=False
    )
    with pytest.raises(
        GradcheckError, match="handle undefined output grads, but the gradients of input 1 do not add up"
    ):
        gradcheck(careless, inputs)
    assert gradcheck(careless, inputs, check_undefined_grad=False)
    careful = backward_of(
        lambda g, h: (None if g is None else g * 2, None if h is None else h * 3), two, materialize=False
    )
    assert gradcheck(careful, inputs)
    assert gradcheck(backward_of(lambda g, h: (g * 2, h * 3), two), inputs)


def test_gradient_that_ignores_its_cotangent() -> None:
    """A single number and a cotangent of 1 would not show it."""
    constant = backward_of(lambda g: (pb.full_like(g, 2), pb.full_like(g, 3)))
    inputs = (points(), points())
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(constant, inputs)


@pytest.mark.parametrize("mode", ["grad", "forward"])
def test_batched(mode: str) -> None:
    """A rule for vmap that is wrong under a derivative only."""

    class Scale(pb.autograd.Function):
        fault: Any = None

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Scale.apply(g)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return Scale.apply(t)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Scale.fault(x), in_dims[0]

    options: Any = {"check_batched_grad": True} if mode == "grad" else {"check_batched_forward_grad": True}
    options["check_forward_ad"] = True
    words = {"grad": "testing batched gradient computation", "forward": "testing batched forward gradient"}[mode]
    Scale.fault = lambda x: x * 2
    assert gradcheck(Scale.apply, points(2), **options)
    Scale.fault = lambda x: x * 3
    with pytest.raises(GradcheckError, match=f"{words}.*for output 0 and input 0"):
        gradcheck(Scale.apply, points(2), **options)
    Scale.fault = lambda x: x.no_such_method()
    with pytest.raises(GradcheckError, match=f"{words}.*it raised AttributeError"):
        gradcheck(Scale.apply, points(2), **options)
    assert gradcheck(Scale.apply, points(2))


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(pb.sin, pb.ones(2))
    with pytest.raises(ValueError, match="gradgradcheck expects at least one input tensor to require gradient"):
        gradgradcheck(pb.sin, pb.ones(2))
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(pb.sin, points(2), check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires check_backward_ad"):
        gradcheck(pb.sin, points(2), check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(AssertionError, match="check_batched_forward_grad=True requires check_forward_ad"):
        gradcheck(pb.sin, points(2), check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(pb.sin, points(2), check_rev_over_rev=False)
    with pytest.raises(ValueError, match="must return"):
        gradcheck(lambda x: 3, points(2))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision.*float32"):
        gradcheck(lambda x: x * 2, pb.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)


def test_exceptions_of_the_function_pass_through() -> None:
    def failing(x: Any) -> Any:
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        gradcheck(failing, points(2), raise_exception=False)


def test_second_order_modes() -> None:
    class OneWay(pb.autograd.Function):
        """The backward hides its dependence on the input."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3 * (ctx.saved_tensors[0] ** 2).detach()

    assert gradcheck(OneWay.apply, points(2))
    for fast_mode in (False, True):
        with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
            gradgradcheck(OneWay.apply, points(2), fast_mode=fast_mode)
        assert not gradgradcheck(OneWay.apply, points(2), fast_mode=fast_mode, raise_exception=False)
        assert gradgradcheck(pb.exp, points(2), fast_mode=fast_mode, check_batched_grad=True, check_grad_dtypes=True)
        assert gradgradcheck(pb.exp, points(2), fast_mode=fast_mode, check_fwd_over_rev=True, check_rev_over_rev=False)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_the_function_gets_the_callers_own_tensors(fast_mode: bool) -> None:
    layer = pb.nn.Linear(3, 2, dtype=pb.float64)
    x = points(4, 3)

    def past_its_arguments(*_: Any) -> Any:
        return layer(x).sin()

    class Halved(pb.autograd.Function):
        """Its derivative is wrong."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    modes: Any = {"check_batched_grad": True, "fast_mode": fast_mode}
    arguments = (x, *layer.parameters())
    before = [t.detach().clone() for t in arguments]
    assert gradcheck(past_its_arguments, arguments, **modes)
    assert gradgradcheck(past_its_arguments, arguments, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 1"):
        gradcheck(lambda *_: Halved.apply(layer.weight) @ x[0], arguments, **modes)
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda *_: 1 / 0 if not layer.weight.equal(before[1]) else layer(x), arguments, **modes)
    assert all(t.equal(b) and t.grad is None for t, b in zip(arguments, before, strict=True))
    seen = []
    gradcheck(lambda w: seen.append(w) or w * 2, layer.weight, fast_mode=fast_mode)  # type: ignore[func-returns-value]
    assert all(w is layer.weight for w in seen) and isinstance(seen[0], pb.nn.Parameter)


def test_expanded_tensors_and_one_tensor_in_two_places() -> None:
    x = points(2)
    wide = points(1).detach().expand(3).requires_grad_()
    assert gradcheck(lambda a, b: a * b.sin(), (x, x), check_batched_grad=True)
    assert gradcheck(pb.sin, wide, check_batched_grad=True) and gradgradcheck(pb.sin, wide)
