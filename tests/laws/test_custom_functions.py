"""A custom function is the formula that it computes, inside any expression and under any stack of transforms."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import pullback as pb
from support import strategies as s
from support.custom import PAIRS
from support.expressions import Expression, Step, expressions
from support.stacks import cost, finite, stacks, through


@st.composite
def programs(draw: st.DrawFn) -> tuple[Expression, Expression, Any]:
    """An expression with a custom function in it, the same with the formula instead, and a point."""
    point = draw(s.arrays(s.shapes(0, 3, 1, 3)))
    name = draw(st.sampled_from(sorted(PAIRS)))
    pair = PAIRS[name]
    formula = draw(expressions([point], most=3, extra=Step(name, pair.formula, (0,))))
    steps = [p._replace(run=pair.custom) if p.says == name and p.run is pair.formula else p for p in formula.steps]
    assume(any(p.run is pair.custom for p in steps))
    return Expression(1, steps), formula, pb.tensor(point)


@given(programs(), stacks())
@settings(max_examples=4 * settings.default.max_examples)
def test_function_is_its_formula(case: Any, stack: Any) -> None:
    custom, formula, x = case
    assume(cost(stack, x.numel(), formula(x).numel()) <= 120)
    ours, eager = through(stack, custom)
    want, _ = through(stack, formula)
    assume(finite(want(x)))
    event(f"depth {len(stack)}")
    s.close(ours(x), want(x), "transforms", 1e-7, 1e-8)
    s.close(eager(x), want(x), "eager", 1e-7, 1e-8)
