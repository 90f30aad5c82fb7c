"""Rules that are transposed must be linear: what is not raises and names the rule and its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_jvp, custom_vjp, eval_shape, grad, hessian, jacfwd, jacrev, jvp, linearize, vmap
from pullback.library import custom_op

same = pb.testing.assert_close
X, T = pb.tensor([1.0, 2.0, 3.0]), pb.tensor([0.1, -200.0, 0.3])
Rule = Callable[[Any, Any], Any]


class Times(Function):
    """Its rule for both arguments needs both, although only one of them may be differentiated."""

    @staticmethod
    def forward(g: Any, x: Any) -> Any:
        return g * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, h: Any) -> Any:
        g, x = ctx.saved_tensors
        return h * x, h * g


class ByNumPy(Function):
    @staticmethod
    def forward(g: Any, limit: float) -> Any:
        return pb.from_numpy(np.clip(g.numpy() * 2, -limit, limit))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, h: Any) -> Any:
        return h * 2, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, g: Any, limit: float) -> Any:
        return ByNumPy.apply(g, limit), in_dims[0]


def in_place(x: Any, g: Any) -> Any:
    out = pb.zeros(3)
    out[:2] = g[:2] * 3
    out[2] = g[0]
    return out


def over_rubbish(x: Any, g: Any) -> Any:
    out = pb.full((3,), 7.0)
    out[:2] = g[:2] * 3
    out[2] += g[0]
    out[2] -= 7
    return out


def without_grad(x: Any, g: Any) -> Any:
    with pb.no_grad():
        half = g * 2
    return half + g


LINEAR: dict[str, Rule] = {
    "scale": lambda x, g: g * x,
    "where": lambda x, g: pb.where(x > 1, g, 0.0),
    "sum": lambda x, g: g.sum() * pb.ones(3),
    "matmul": lambda x, g: pb.outer(x, x) @ g,
    "in place": in_place,
    "over rubbish": over_rubbish,
    "cat": lambda x, g: pb.cat([g[1:], pb.zeros(1)]),
    "flip": lambda x, g: g.flip(0).cumsum(0),
    "centred": lambda x, g: g - g.mean(),
    "casts": lambda x, g: (g.double() * 2).float(),
    "solve": lambda x, g: pb.linalg.solve(pb.diag(x), g),
    "einsum": lambda x, g: pb.einsum("ij,j->i", pb.outer(x, x), g),
    "index": lambda x, g: g[pb.tensor([0, 0, 2])],
    "masked": lambda x, g: g.masked_fill(x > 1, 0.0),
    "scatter": lambda x, g: pb.zeros(3).index_add(0, pb.tensor([1, 1, 2]), g),
    "unused": lambda x, g: (g.norm(), (g > 0).any(), g * 2)[2],
    "undone": lambda x, g: g + x - x,
    "function": lambda x, g: Times.apply(g, x),
    "tried": lambda x, g: ByNumPy.apply(g, float("inf")),
    "zeros": lambda x, g: pb.zeros(3),
}
OTHERS: dict[str, Rule] = {
    "clamp": lambda x, g: g.clamp(-100, 100),
    "mul": lambda x, g: g * g,
    "sign": lambda x, g: g.sign(),
    "norm": lambda x, g: g / g.norm(),
    "gt": lambda x, g: pb.where(g.abs() > 1, g.sign(), g),
    "mask": lambda x, g: g * (g > 0),
    "branch": lambda x, g: g if g.abs().sum() < 1 else g.sign(),
    "item": lambda x, g: x * g[0].item(),
    "numpy": lambda x, g: pb.from_numpy(g.numpy() * 2),
    "add": lambda x, g: g + 1,
    "a constant": lambda x, g: pb.ones(3),
    "relu": lambda x, g: g.relu(),
    "sort": lambda x, g: g.sort()[0],
    "max": lambda x, g: g.max() * pb.ones(3),
    "fmod": lambda x, g: g.fmod(100.0),
    "remainder": lambda x, g: pb.remainder(g, 100.0),
    "frac": lambda x, g: g.frac(),
    "round": lambda x, g: g.round(),
    "detach": lambda x, g: g + g.detach(),
    "no_grad": without_grad,
    "integers": lambda x, g: g.long().float(),
    "argmax": lambda x, g: x[g.argmax()] * g,
    "prod": lambda x, g: g.prod() * pb.ones(3),
    "index": lambda x, g: x[g.long().clamp(0, 2)],
    "filled": lambda x, g: g.masked_fill(x > 1, 3.0),
    "tried": lambda x, g: ByNumPy.apply(g, 100.0),
}


def function(rule: Rule, style: str) -> Callable[..., Any]:
    """A function whose only rule is this one, for reverse mode or ("jvp" in the style) for forward mode."""
    if style == "custom_vjp":
        v = custom_vjp(lambda x: x * 1)
        v.defvjp(lambda x: (x * 1, x), lambda x, g: (rule(x, g),))
        return v
    if style == "custom_jvp":
        j = custom_jvp(lambda x: x * 1)
        j.defjvp(lambda primals, tangents: (j(*primals), rule(primals[0], tangents[0])))
        return j
    name = "jvp" if style.endswith("jvp") else "backward"

    def classic(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    methods: dict[str, Any] = {"forward": classic, name: lambda ctx, g: rule(ctx.saved_tensors[0], g)}
    if not style.startswith("classic"):
        methods["forward"] = lambda x: x * 1
        methods["setup_context"] = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    return type("Ruled", (Function,), {k: staticmethod(m) for k, m in methods.items()}).apply


def in_forward_ad(f: Any) -> Any:
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(X, T))).tangent
    return pb.zeros(3) if tangent is None else tangent


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: jvp(f, (X,), (T,))[1],
    "forward_ad": in_forward_ad,
    "jacfwd": lambda f: jacfwd(f)(X) @ T,
    "linearize": lambda f: linearize(f, X)[1](T),
    "batch": lambda f: jvp(vmap(f), (X.expand(2, 3),), (T.expand(2, 3),))[1][1],
    "in a batch": lambda f: vmap(lambda t: jvp(f, (X,), (t,))[1])(T.expand(2, 3))[1],
    "gradient": lambda f: grad(lambda t: (jvp(f, (X,), (t,))[1] * T).sum())(T),
}


@pytest.mark.parametrize("style", ["new", "classic", "custom_vjp"])
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_backward_gives_jvp(name: str, style: str) -> None:
    rule, f = LINEAR[name], function(LINEAR[name], style)
    matrix = jacrev(lambda g: rule(X, g))(pb.ones(3)).T
    for program, run in PROGRAMS.items():
        same(run(f), matrix.T @ T if program == "gradient" else matrix @ T)


@pytest.mark.parametrize("style", ["jvp", "classic jvp", "custom_jvp"])
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_jvp_gives_backward(name: str, style: str) -> None:
    rule, f = LINEAR[name], function(LINEAR[name], style)
    expected = jacrev(lambda t: rule(X, t))(pb.ones(3)).T @ T
    same(grad(lambda x: (f(x) * T).sum())(X), expected)
    same(vmap(grad(lambda x: (f(x) * T).sum()))(X.expand(2, 3))[1], expected)
    same(grad(lambda x: (vmap(f)(x) * T).sum())(X.expand(2, 3))[1], expected)
    leaf = X.clone().requires_grad_()
    ((f(leaf) + leaf) * T).sum().backward()
    same(leaf.grad, expected + T)


@pytest.mark.parametrize("style", ["new", "classic", "custom_vjp"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_backward_raises(name: str, style: str) -> None:
    f = function(OTHERS[name], style)
    where = "the bwd of defvjp" if style == "custom_vjp" else "Ruled.*backward"
    for run in PROGRAMS.values():
        with pytest.raises(RuntimeError, match="numpy" if name == "numpy" else f"(?s){where}"):
            run(f)
    same(grad(lambda x: f(x).sum())(X), OTHERS[name](X, pb.ones(3)))


@pytest.mark.parametrize("style", ["jvp", "classic jvp", "custom_jvp"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_jvp_raises(name: str, style: str) -> None:
    f = function(OTHERS[name], style)
    where = "the rule of defjvp" if style == "custom_jvp" else "Ruled.*jvp"
    for run in (lambda x: (f(x) * T).sum(), lambda x: (vmap(f)(x.expand(2, 3)) * T).sum()):
        with pytest.raises(RuntimeError, match="numpy" if name == "numpy" else f"(?s){where}"):
            grad(run)(X)
    same(jvp(f, (X,), (T,))[1], OTHERS[name](X, T))


@pytest.mark.parametrize("name", ["clamp", "mul", "sign", "norm", "gt", "mask", "relu", "sort", "fmod", "round", "add"])
def test_the_line_is_named(name: str) -> None:
    for style in ("new", "custom_vjp"):
        with pytest.raises(RuntimeError, match=r"not linear.*test_function_linearity\.py:\d+"):
            jvp(function(OTHERS[name], style), (X,), (T,))
    for style in ("jvp", "custom_jvp"):
        with pytest.raises(RuntimeError, match=r"not linear.*test_function_linearity\.py:\d+"):
            grad(lambda x, style=style: function(OTHERS[name], style)(x).sum())(X)


def test_operators_with_rules() -> None:
    def operator(name: str, rule: Rule) -> Any:
        @custom_op(f"tests::{name}", mutates_args=())
        def made(x: pb.Tensor) -> pb.Tensor:
            return x * 1

        save = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        made.register_autograd(lambda ctx, g: rule(ctx.saved_tensors[0], g), setup_context=save)
        made.register_vmap(lambda info, in_dims, x: (made(x), in_dims[0]))
        return made

    same(jvp(operator("linear_rule", lambda x, g: g * x), (X,), (T,))[1], X * T)
    clipped = operator("clipped_rule", lambda x, g: g.clamp(-1, 1))
    for f in (clipped, vmap(clipped), lambda x: grad(lambda x: (clipped(x) ** 2).sum())(x)):
        with pytest.raises(RuntimeError, match=r"tests::clipped_rule: the backward .* is not linear .*\.py:\d+"):
            jvp(f, (X,), (T,))


def test_several_cotangents_together() -> None:
    """Each alone is a scale; their product is not."""
    made: list[Any] = []
    for rule in (lambda g, h: g * 2 + h * 3, lambda g, h: g * h):
        methods = {
            "forward": lambda x: (x * 2, x * 3),
            "setup_context": lambda ctx, inputs, output: None,
            "backward": lambda ctx, g, h, rule=rule: rule(g, h),
        }
        made.append(type("Two", (Function,), {k: staticmethod(m) for k, m in methods.items()}).apply)
    same(jvp(made[0], (X,), (T,))[1], (2 * T, 3 * T))
    with pytest.raises(RuntimeError, match=r"Two: .*mul\(\)"):
        jvp(made[1], (X,), (T,))


def test_a_later_call_is_looked_at_too() -> None:
    limits = [None, 1.0]

    class Later(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            limit = limits.pop(0)
            return g if limit is None else g.clamp(-limit, limit)

    same(jvp(Later.apply, (X,), (T,))[1], T)
    with pytest.raises(RuntimeError, match=r"not linear.*\.py:\d+"):
        jvp(Later.apply, (X,), (T,))


def test_trials_leave_no_trace() -> None:
    """Once for each signature, and the user's random numbers stay as they are."""
    runs: list[Any] = []

    class Inner(Function):
        @staticmethod
        def forward(g: Any, k: float) -> Any:
            runs.append(k)
            pb.rand(3)
            return g * k

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx: Any, h: Any) -> Any:
            return h * ctx.k, None

    f = function(lambda x, g: Inner.apply(g, 2.0), "new")
    pb.manual_seed(3)
    same(jvp(f, (X,), (T,))[1], 2 * T)
    first = len(runs)
    after = pb.rand(2)
    pb.manual_seed(3)
    pb.rand(3)
    same(after, pb.rand(2))
    runs.clear()
    same(jvp(f, (X,), (T,))[1], 2 * T)
    assert len(runs) == 1 < first
    for other in (pb.ones(2), X.double()):
        runs.clear()
        jvp(f, (other,), (other,))
        assert len(runs) == first
    runs.clear()
    jvp(function(lambda x, g: Inner.apply(g, 3.0), "new"), (X,), (T,))
    assert len(runs) == first


def test_only_what_is_used_is_tried() -> None:
    """A mask that the step drew is a result of it too, and no linear one."""
    masked = custom_vjp(lambda g: g * (pb.rand(3) > 0.5))

    def fwd(g: Any) -> Any:
        mask = (pb.rand(3) > 0.5).float()
        return g * mask, mask

    masked.defvjp(fwd, lambda mask, h: (h * mask,))
    f = function(lambda x, g: masked(g), "new")
    t = jvp(f, (X,), (T,))[1]
    same(t, T * (t != 0))


def test_residuals_of_the_steps() -> None:
    """What a step saved counts as following its arguments, but its rule does not depend on them."""
    scaled = custom_vjp(lambda g, x: g * x.cos())
    scaled.defvjp(lambda g, x: (g * x.cos(), (g, x.cos())), lambda r, h: (h * r[1], h * r[0]))
    f = function(lambda x, g: scaled(g, x), "new")
    same(jvp(f, (X,), (T,))[1], T * X.cos())
    same(vmap(lambda t: jvp(f, (X,), (t,))[1])(T.expand(2, 3))[1], T * X.cos())


def test_infinite_residuals() -> None:
    inf = pb.tensor([float("inf"), 1.0])
    f = function(lambda x, g: g * x + pb.zeros(2), "new")
    same(jvp(f, (inf,), (pb.ones(2),))[1], inf)


def test_second_derivatives_of_derived_rules() -> None:
    f, g = function(lambda x, g: g * x.cos(), "new"), pb.sin
    cubed = lambda f: lambda x: (f(x) ** 3).sum()
    true = hessian(cubed(g))(X)
    sine = type(
        "Sine",
        (Function,),
        {
            "forward": staticmethod(lambda x: x.sin()),
            "setup_context": staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs)),
            "backward": staticmethod(lambda ctx, g: g * ctx.saved_tensors[0].cos()),
        },
    ).apply
    for run in (hessian, lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacfwd(f)), lambda f: jacrev(jacrev(f))):
        same(run(cubed(sine))(X), true)
        same(vmap(run(cubed(sine)))(X.expand(2, 3))[0], true)
    same(jvp(f, (X,), (T,))[1], X.cos() * T)


def test_without_data_nothing_is_tried() -> None:
    """What is no number cannot show whether a step is linear: it passes, and counts as untried."""

    class Bent(Function):
        @staticmethod
        def forward(ctx: Any, g: Any, x: Any) -> Any:
            return g * g * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Bent.apply(g, *ctx.saved_tensors)

    x = pb.ones(3)

    def tangent(x: Any) -> Any:
        return jvp(Outer.apply, (x,), (x,))[1]

    assert eval_shape(tangent)(x).shape == (3,)
    with pytest.raises(RuntimeError, match="Bent.*was tried and is not linear"):
        tangent(x)


def test_a_constant_besides_is_found_by_its_numbers() -> None:
    def shifted(by: Any) -> Any:
        class Shifted(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2 + by()

        return lambda x: jvp(Shifted.apply, (x,), (x,))[1]

    x = pb.ones(3)
    for nothing in (lambda: pb.zeros(3), lambda: 0.0, lambda: pb.full((3,), 0.0), lambda: pb.ones(3) - 1):
        assert shifted(nothing)(x).tolist() == [2.0, 2.0, 2.0]
    for one in (lambda: pb.ones(3), lambda: 1.0, lambda: pb.full((3,), 2.0)):
        with pytest.raises(RuntimeError, match="not linear"):
            shifted(one)(x)
    # A tensor has no numbers here, and passes; a number is one.
    assert eval_shape(shifted(lambda: pb.ones(3)))(x).shape == (3,)
    with pytest.raises(RuntimeError, match="not linear"):
        eval_shape(shifted(lambda: 1.0))(x)
