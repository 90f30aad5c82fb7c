"""Every operator of the table, on its samples, inside any stack of transforms: as in loops and eager derivatives."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import pullback as pb
from support import properties, samples
from support import strategies as s
from support.stacks import FIXED, cost, finite, stacks, through


@functools.cache
def names() -> list[str]:
    """Operators that have derivatives and do not draw."""
    return [n for n in sorted(samples.load()) if not samples.table()[n]["flags"]["random"] and found(n)]


@functools.cache
def found(name: str) -> list[properties.Call]:
    return [c for c in properties.differentiable(name) if all(p.numel() <= 30 for p in c.points(c.tensors))]


@given(st.data(), stacks())
@settings(max_examples=2 * settings.default.max_examples)
def test_operators_in_stacks(data: st.DataObject, stack: Any) -> None:
    name = data.draw(st.sampled_from(names()))
    calls = found(name)
    call = calls[data.draw(st.integers(0, len(calls) - 1))]
    if not call.sample.batched:
        stack = [layer for layer in stack if not layer.says.startswith("vmap")]
    derivatives = [layer for layer in stack if not layer.says.startswith(("vmap", "functionalize", "checkpoint"))]
    assume(stack and (call.sample.second or len(derivatives) < 2))
    points = call.points(call.tensors)
    which = data.draw(st.integers(0, len(points) - 1))

    def f(x: Any) -> Any:
        results = call.smooth(call.tensors)(*points[:which], x, *points[which + 1 :])
        return results[0] * 1.0 if len(results) == 1 else pb.cat([y.reshape(-1) for y in results])

    x = points[which].detach()
    assume(cost(stack, x.numel(), f(x).numel()) <= 150)
    ours, slow = through(stack, f)
    try:
        want = slow(x)
    except RuntimeError:  # members of a batch that leave the domain
        assume(False)
    assume(finite(want))
    event(f"depth {len(stack)}")
    size = float(want.detach().abs().max()) if want.numel() else 0.0
    try:
        got = ours(x)
    except RuntimeError as error:  # members of a batch lie as the batch does
        assert name == "Tensor.view" and "view size is not compatible" in str(error), error
        return
    s.close(got, want, f"{name}{call.sample.describe()}", 1e-6, 1e-7 * max(1.0, size))


def test_third_derivatives() -> None:
    """Recorded sweeps of recorded sweeps give what three transforms give; the sine has derivatives of any order."""
    grads = [layer for layer in FIXED if layer.says == "grad"] * 3
    for name in names():
        for call in [c for c in found(name) if c.sample.second][:3]:
            points = call.points(call.tensors)
            for i, point in enumerate(points):

                def f(x: Any, call: Any = call, points: Any = points, i: int = i) -> Any:
                    results = call.smooth(call.tensors)(*points[:i], x, *points[i + 1 :])
                    return pb.cat([y.reshape(-1) for y in results]).sin()

                ours, eager = through(grads, f)
                want = eager(point.detach())
                size = float(want.detach().nan_to_num().abs().max()) if want.numel() else 0.0
                properties.assert_same(
                    ours(point.detach()), want, call, f"{name}, argument {i}", 1e-6, 1e-7 * max(1.0, size)
                )
