"""`opcheck` finds what is declared wrongly, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.library import OpCheckError, custom_op, opcheck
from support.operators import X, Y, looped, mixed, numpy, numpy_sin


def test_opcheck() -> None:
    x = X.clone().requires_grad_()
    assert set(opcheck(numpy_sin, (x,)).values()) == {"SUCCESS"}
    assert set(opcheck(looped, (x,)).values()) == {"SUCCESS"}
    utils = ["test_schema", "test_autograd_registration", "test_aot_dispatch_dynamic"]
    assert set(opcheck(mixed, ([x, Y], 2), {"scale": 1.0}, test_utils=utils).values()) == {"SUCCESS"}
    with pytest.raises(ValueError, match="'test_utils' expected some of"):
        opcheck(numpy_sin, (x,), test_utils="other")
    with pytest.raises(ValueError, match="'op' expected an operator made by custom_op"):
        opcheck(pb.sin, (x,))


def wrong_op(**parts: Any) -> Any:
    op = custom_op("tests::wrong", mutates_args=(), schema="(Tensor x) -> Tensor")(
        parts.get("kernel", lambda x: pb.from_numpy(numpy(x) * 2))
    )
    op.register_fake(parts.get("fake", lambda x: pb.empty_like(x)))
    op.register_autograd(parts.get("backward", lambda ctx, g: g * 2))
    op.register_vmap(parts.get("vmap", lambda info, in_dims, x: (op(x), in_dims[0])))
    return op


def writing(x: Any) -> Any:
    numpy(x)[0] = 5.0
    return x * 2


def unsteady() -> Any:
    calls: list[int] = []

    def backward(ctx: Any, g: Any) -> Any:
        calls.append(1)
        return g * len(calls)

    return backward


@pytest.mark.parametrize(
    ("parts", "test", "message"),
    [
        ({"kernel": writing}, "test_schema", "Argument x is not defined as mutable but was mutated"),
        ({"fake": lambda x: x.new_empty(2)}, "test_faketensor", "result 0 of the fake impl has shape"),
        ({"fake": lambda x: x.new_empty(3, dtype=pb.float32)}, "test_faketensor", "has dtype"),
        ({"backward": lambda ctx, g: None}, "test_autograd_registration", "no result has any"),
        ({"backward": unsteady()}, "test_aot_dispatch_dynamic", "not close"),
        ({"vmap": lambda info, d, x: (x * 3, d[0])}, "test_vmap", "not close"),
    ],
)
def test_opcheck_finds(parts: Any, test: str, message: str) -> None:
    x = X.clone().requires_grad_()
    with pytest.raises(OpCheckError, match=f"{test} failed with .*{message}"):
        opcheck(wrong_op(**parts), (x,), test_utils=test)
    found = opcheck(wrong_op(**parts), (x,), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" or test == "test_schema"
    assert set(opcheck(wrong_op(), (x,)).values()) == {"SUCCESS"}


def test_opcheck_wants_a_fake() -> None:
    bare = custom_op("tests::bare", mutates_args=())(numpy_sin._fallback)
    with pytest.raises(OpCheckError, match="There was no fake impl registered for <CustomOpDef"):
        opcheck(bare, (X,))
