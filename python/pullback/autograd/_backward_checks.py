"""What `gradcheck` asks of derivatives besides right numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback as pb

from . import forward_ad
from ._jacobians import (
    GradcheckError,
    Problem,
    Vector,
    coordinates,
    dense,
    directions,
    from_coordinates,
    gradients,
    size,
    unit,
)


def check_backward(problem: Problem, undefined: bool, dtypes: bool, fast: bool) -> None:
    _check_repeatable(problem, fast)
    _check_proportional(problem)
    if undefined:
        _check_undefined(problem)
    if dtypes:
        _check_dtypes(problem)


def _ones(outputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(pb.ones_like(y) for y in outputs)


def _check_repeatable(problem: Problem, fast: bool) -> None:
    tracked = problem.tracked()
    worst = 0.0
    for (_, y), v in zip(tracked, directions([y for _, y in tracked]), strict=True):
        for cotangent in [v] if fast else (unit(size(y), c) for c in range(size(y))):
            first, second = (_joined(problem.pull(y, cotangent)) for _ in range(2))
            worst = max([worst, *(abs(a - b) for a, b in zip(first, second, strict=True) if a == a or b == b)])
    if not worst <= problem.tolerance.nondet:
        raise GradcheckError(
            "gradcheck(): Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
            f"times gives different values: they differ by {worst}. The tolerance for nondeterminism was "
            f"{problem.tolerance.nondet}."
        )


def _joined(parts: Sequence[Vector]) -> Vector:
    return [x for part in parts for x in part]


def _check_proportional(problem: Problem) -> None:
    """Without a cotangent there is no gradient."""
    inputs, outputs = problem.inputs, [y for _, y in problem.tracked()]
    grads = gradients(outputs, inputs, tuple(pb.zeros_like(y) for y in outputs))
    for place, g in zip(problem.places, grads, strict=True):
        if g is not None and any(c != 0 for c in coordinates(g)):
            raise GradcheckError(
                f"gradcheck(): backward not multiplied by grad_output: the gradient of input {place} is not zero where "
                "that of each output is"
            )


def _check_undefined(problem: Problem) -> None:
    """All outputs together with cotangents, and each without the others: sums must agree."""
    inputs, outputs = problem.inputs, [y for _, y in problem.tracked()]
    if len(outputs) < 2:
        return
    together = gradients(outputs, inputs, _ones(outputs), retain_graph=True)
    total = [pb.zeros_like(x) for x in inputs]
    for y in outputs:
        alone = gradients([y], inputs, _ones([y]), retain_graph=True)
        total = [t + dense(g, x) for t, g, x in zip(total, alone, inputs, strict=True)]
    for place, g, t in zip(problem.places, together, total, strict=True):
        for a, b in zip(coordinates(dense(g, t)), coordinates(t), strict=True):
            if abs(a - b) > problem.tolerance.atol + problem.tolerance.rtol * abs(b):
                raise GradcheckError(
                    "gradcheck(): Expected backward function to handle undefined output grads, but the gradients of "
                    f"input {place} do not add up when some outputs have none; treat None as zeros"
                )


def _check_dtypes(problem: Problem) -> None:
    inputs, outputs = problem.inputs, [y for _, y in problem.tracked()]
    grads = gradients(outputs, inputs, _ones(outputs))
    for place, g, x in zip(problem.places, grads, inputs, strict=True):
        if g is not None and g.dtype != x.dtype:
            raise GradcheckError(
                f"gradcheck(): Gradient has dtype mismatch: {g.dtype} for input {place} of dtype {x.dtype}"
            )


def check_missing_tangents(problem: Problem) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    primals, (_, atol, rtol, _) = problem.primals(), problem.tolerance
    tangents = [from_coordinates(u, x) for u, x in zip(directions(problem.inputs), problem.inputs, strict=True)]
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(primals, tangents, strict=True)]
        for j, (place, x) in enumerate(zip(problem.places, primals, strict=True)):
            with_zero = _tangents(problem, [*duals[:j], forward_ad.make_dual(x, pb.zeros_like(x)), *duals[j + 1 :]])
            without = _tangents(problem, [*duals[:j], x, *duals[j + 1 :]])
            for i, a, b in zip(problem.rows, without, with_zero, strict=True):
                if any(abs(p - q) > atol + rtol * abs(q) for p, q in zip(a, b, strict=True)):
                    raise GradcheckError(
                        "gradcheck(): Expected forward mode to handle undefined tangents, but the tangent of output "
                        f"{i} differs when input {place} has none; treat None as zeros"
                    )


def _tangents(problem: Problem, values: Sequence[Any]) -> list[Vector]:
    pairs = [forward_ad.unpack_dual(y) for y in problem.evaluate(values)]
    return [coordinates(dense(t, y)) for y, t in pairs]
