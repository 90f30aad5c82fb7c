"""`gradcheck` and `gradgradcheck` find what is wrong, and nothing else."""

from __future__ import annotations

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


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_derivative(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match=r"Jacobian by backward does not match"):
        gradcheck(Halved.apply, points(2), fast_mode=fast_mode)
    assert not gradcheck(Halved.apply, points(2), fast_mode=fast_mode, raise_exception=False)


def test_hidden_dependence() -> None:
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x.detach() * 2, points(2))
    assert gradcheck(lambda x: pb.ones(2, dtype=pb.float64), points(2))


def test_repeatability() -> None:
    with pytest.raises(GradcheckError, match="two backward passes"):
        gradcheck(Unsteady.apply, points(2))
    assert gradcheck(Unsteady.apply, points(2), nondet_tol=1e-5)


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="requires gradients"):
        gradcheck(pb.sin, pb.ones(2))
    with pytest.raises(ValueError, match="one of"):
        gradcheck(pb.sin, points(2), check_backward_ad=False)
    with pytest.raises(ValueError, match="check_forward_ad"):
        gradcheck(pb.sin, points(2), check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="must return"):
        gradcheck(lambda x: 3, points(2))
    with pytest.warns(UserWarning, match="float32"):
        gradcheck(lambda x: x * 2, pb.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)
