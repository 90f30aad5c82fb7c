"""`check_vmap`, `check_pure` and `check_function` pass what is right, and find each kind of fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import custom_jvp, custom_vjp
from pullback.testing import check_function, check_pure, check_vmap, make_tensor


def points(*shape: int) -> Any:
    return make_tensor(*shape, dtype=pb.float64, low=0.5, high=2)


class Faulty(pb.autograd.Function):
    """A product whose rule for vmap is right, but for one choice of dimensions."""

    wrong: Any = None

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        x, y = (t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims, strict=True))
        out = x * y
        return out + 1 if in_dims == Faulty.wrong else out, 0


@pytest.mark.parametrize("wrong", [(0, 0), (0, None), (None, 0), (1, 0), (0, 1), (1, 1), (1, None), (None, 1)])
def test_vmap_is_tried_for_all_in_dims(wrong: Any) -> None:
    Faulty.wrong = None
    check_vmap(Faulty.apply, points(3), points(3))
    Faulty.wrong = wrong
    with pytest.raises(
        AssertionError, match=r"check_vmap\(.*\) with in_dims=.*vmap differs from a loop: tensors are not"
    ):
        check_vmap(Faulty.apply, points(3), points(3))


def test_vmap_of_all_kinds() -> None:
    check_vmap(pb.sin, points(2, 3))
    check_vmap(lambda x: [x.cos(), None, "text", 3], points(2))
    check_vmap(lambda p, n, i: {"a": p["x"][i] * n, "b": [i + 1]}, {"x": points(3, 2)}, 2, pb.tensor([2, 0]))
    check_vmap(lambda a, b, c, d, e: a + b * c - d / e, *[points(2) for _ in range(5)])
    check_vmap(pb.linalg.inv, points(3, 3) + 3 * pb.eye(3, dtype=pb.float64))
    check_vmap(lambda x, flag: x.sum() if flag else x, points(2), flag=True)
    check_vmap(pb.log, points(3), batch_size=5)
    check_vmap(lambda x: x + pb.rand(2), pb.zeros(2), randomness="same")


def test_vmap_that_raises() -> None:
    with pytest.raises(AssertionError, match=r"check_vmap\(<lambda>\).*vmap raised RuntimeError, a loop does not"):
        check_vmap(lambda x: x if x.sum() > 0 else -x, points(2))
    with pytest.raises(AssertionError, match="vmap raised RuntimeError.*random"):
        check_vmap(lambda x: x + pb.rand(2), pb.zeros(2))
    with pytest.raises(ValueError, match="expected a tensor among the arguments"):
        check_vmap(lambda n: pb.ones(n), 3)
    with pytest.raises(ZeroDivisionError):
        check_vmap(lambda x: x / (1 // 0), points(2))


def test_pure_functions() -> None:
    y = points(3)
    check_pure(pb.sin, points(3))
    check_pure(lambda x: (x * y, {"n": x.numel(), "v": x.view(3, 1)}, None), points(3))
    check_pure(lambda x: x.clone().mul_(2), points(3))
    check_pure(lambda x: x / 0 - x / 0, points(3))
    check_pure(lambda x, g: pb.rand(3, generator=g.manual_seed(1)), points(3), pb.Generator())


def test_what_is_not_pure() -> None:
    captured, kept, calls = points(3), [], []

    def grad_mode(x: Any) -> Any:
        pb.set_grad_enabled(False)
        return x

    def counts(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    def capturing(x: Any) -> Any:
        captured.add_(1)
        return x

    def through_numpy(x: Any) -> Any:
        x.numpy()[0] = 7
        return x * 2

    def keeps(x: Any) -> Any:
        kept.append(x)
        return x * 2

    for f, message in [
        (lambda x: x.add_(1), "argument 0 was written to"),
        (through_numpy, "argument 0 was written to"),
        (capturing, "the captured tensor 'captured' was written to"),
        (lambda x: x + pb.rand(3), "random numbers were drawn"),
        (counts, "a second call with equal arguments gives another result"),
        (keeps, "argument 0 is kept after the call"),
        (grad_mode, "the modes were changed"),
    ]:
        try:
            with pytest.raises(AssertionError, match=rf"check_pure\(.*\): {message}"):
                check_pure(f, points(3))
        finally:
            pb.set_grad_enabled(True)


def test_functions_that_pass() -> None:
    check_function(lambda x, y: {"a": x @ y, "b": [x.sum(), 3]}, points(2, 3), points(3, 2))
    check_function(lambda p, n: p["x"] ** n, {"x": points(3)}, n=3)
    check_function(lambda x: (x.sort(), x.argmax()), pb.tensor([3.0, 1.0, 2.0], dtype=pb.float64))
    check_function(lambda i: i + 1, pb.tensor([1, 2]))
    check_function(lambda x: x.detach() * 0 + 1, points(2))


def made(**rules: Any) -> Any:
    f = custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (f(x), x), rules.get("bwd", lambda x, g: (3 * x * x * g,)))
    if "rule" in rules:
        f.defjvp(rules["rule"])
    return f


def forward_times(factor: float) -> Any:
    g = custom_jvp(lambda x: x**3)
    g.defjvp(lambda p, t: (p[0] ** 3, factor * p[0] ** 2 * t[0]))
    return lambda p, t: (p[0] ** 3, factor * p[0] ** 2 * t[0])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: made(bwd=lambda x, g: (2 * x * x * g,)), r"Jacobian.* mismatch for output 0 with respect to input 0"),
        (lambda: made(rule=forward_times(2.0)), "Jacobian computed with forward mode mismatch"),
        (lambda: made(bwd=lambda x, g: (3 * (x * x).detach() * g,)), "Jacobian mismatch"),
        (lambda: lambda x: x * x.detach(), "mismatch for output 0 with respect to input 0"),
        (lambda: lambda x: x.mul_(2), "was written to"),
        (lambda: lambda x: x if bool(x.sum() > 0) else -x, "vmap raised RuntimeError"),
    ],
)
def test_faults_of_functions(f: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_function(f(), points(3))
    check_function(made(), points(3))
    check_function(made(rule=forward_times(3.0)), points(3))


def test_strides() -> None:
    with pytest.raises(AssertionError, match="results depend on the strides of the arguments"):
        check_function(lambda x: x * (1 if x.is_contiguous() else 2), points(16), batched=False)


def test_what_may_be_left_out() -> None:
    once = made(bwd=lambda x, g: (3 * (x * x).detach() * g,))
    check_function(once, points(3), second_order=False)
    branching = lambda x: x * 2 if bool(x.sum() > 0) else -x
    check_function(branching, points(3), batched=False)
    calls: list[int] = []
    check_function(lambda x: (calls.append(1), x * 2)[1], points(3), pure=False)

    @pb.library.custom_op("tests::cube", mutates_args=(), schema="(Tensor x) -> Tensor")
    def cube(x: Any) -> Any:
        return pb.from_numpy(np.power(x.numpy(), 3))

    cube.register_vmap(lambda info, in_dims, x: (cube(x), in_dims[0]))
    cube.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    check_function(cube, points(3))
