"""`assert_composite_compliant` finds reads of data, branches and writes, in composites and in rules of both modes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import pullback as pb
from pullback.func import custom_jvp, custom_vjp
from pullback.testing import assert_composite_compliant, make_tensor


def points(*shape: int) -> Any:
    return make_tensor(*shape, dtype=pb.float64, low=0.5, high=2)


def own_buffer(x: Any) -> Any:
    out = pb.zeros_like(x)
    out[0] = x[0]
    return out.add_(1)


def helper(buffer: Any, x: Any) -> Any:
    """Writes to what its caller made."""
    return buffer.add_(x)


@pytest.mark.parametrize(
    "f",
    [
        pb.sin,
        lambda x: pb.where(x > 1, x, -x),
        lambda x: x.softmax(0).logsumexp(0),
        own_buffer,
        lambda x: helper(pb.zeros_like(x), x),
        lambda x: x * x.shape[0] if x.dim() == 1 else x,
        lambda x: {"y": [x * 2, 3], "i": x.argmax()},
        lambda x: x.detach() * 2,
        lambda x: x > 1,
    ],
)
def test_compliant(f: Any) -> None:
    assert_composite_compliant(f, points(3))
    assert sys.getprofile() is None


def test_arguments_of_all_kinds() -> None:
    assert_composite_compliant(lambda p, i, n: p["x"][i] * n, {"x": points(3)}, pb.tensor([1, 0]), n=2)
    assert_composite_compliant(lambda *xs: sum(xs), *[points(2) for _ in range(5)])
    with pytest.raises(ValueError, match="expected a tensor among the arguments"):
        assert_composite_compliant(lambda n: n, 3)
    with pytest.raises(KeyError):
        assert_composite_compliant(lambda x: {}["missing"], points(2))


@pytest.mark.parametrize(
    ("f", "operator"),
    [
        (lambda x: x * x.sum().item(), "item"),
        (lambda x: x if x.sum() > 0 else -x, "bool"),
        (lambda x: x * float(x[0]), "float"),
        (lambda x: pb.tensor(x.tolist()), "tolist"),
        (lambda x: pb.from_numpy(x.detach().numpy()), "numpy"),
        (lambda x: x[x > 1], "nonzero"),
    ],
)
def test_reads_of_data(f: Any, operator: str) -> None:
    message = rf"assert_composite_compliant\(<lambda>\): the function, with argument 0 wrapped, raised .*{operator}"
    with pytest.raises(AssertionError, match=message):
        assert_composite_compliant(f, points(3))


def test_the_argument_is_named() -> None:
    with pytest.raises(AssertionError, match="the function, with argument 1 wrapped, raised"):
        assert_composite_compliant(lambda x, y: x * y.item(), points(2), points())


@pytest.mark.parametrize(
    "f", [lambda x: x.mul_(2), lambda x: x.__setitem__(0, 1.0) or x, lambda x: x[0].zero_(), lambda x: x.__iadd__(1)]
)
def test_writes(f: Any) -> None:
    with pytest.raises(
        AssertionError, match="the function, with argument 0 wrapped, wrote in place to argument 'x' of"
    ):
        assert_composite_compliant(f, points(3))


def in_reverse(rule: Any) -> Any:
    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, x), rule)
    return f


def in_forward(rule: Any) -> Any:
    f = custom_jvp(lambda x: x * 2)
    f.defjvp(lambda p, t: (p[0] * 2, rule(p[0], t[0])))
    f.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    return f


def by_class(rule: Any) -> Any:
    class Made(pb.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(ctx.saved_tensors[0], g)

    return Made.apply


def branch(x: Any, g: Any) -> Any:
    return g * 2 if x.sum() > 0 else g + g


def read(x: Any, g: Any) -> Any:
    return g * (2 + 0 * g.sum().item())


def item_write(x: Any, g: Any) -> Any:
    g[0] = g[0] * 1
    return g * 2


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (branch, "raised RuntimeError: bool"),
        (read, "raised RuntimeError: item"),
        (lambda x, g: g.mul_(2), "wrote in place to argument 'g' of"),
        (item_write, "wrote in place to argument 'g' of"),
    ],
)
def test_rules(rule: Any, message: str) -> None:
    reverse = f"the backward formula, with argument or cotangent .* wrapped, {message}"
    with pytest.raises(AssertionError, match=reverse):
        assert_composite_compliant(in_reverse(lambda x, g: (rule(x, g),)), points(3))
    with pytest.raises(AssertionError, match=reverse):
        assert_composite_compliant(by_class(rule), points(3))
    forward = f"the forward formula, with argument or tangent .* wrapped, {message}".replace("'g'", "'.'")
    with pytest.raises(AssertionError, match=forward):
        assert_composite_compliant(in_forward(rule), points(3))


def test_rules_that_comply() -> None:
    double = lambda x, g: g * 2
    for f in (in_reverse(lambda x, g: (double(x, g),)), in_forward(double), by_class(double)):
        assert_composite_compliant(f, points(3))
