"""Result dtypes of any number of operands follow one rule, in any order, and do not see batches.

The rule: tensors with dimensions, then those without, then numbers; a later class counts only if its category (bool,
integer, float, complex) is higher than those of the classes before it.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pullback as pb
from pullback.func import jvp, vmap

INTEGERS = [pb.uint8, pb.int8, pb.int16, pb.int32, pb.int64]
FLOATS = [pb.float16, pb.bfloat16, pb.float32, pb.float64]
COMPLEX = [pb.complex64, pb.complex128]
ALL = [pb.bool, *INTEGERS, *FLOATS, *COMPLEX]
NUMBERS: list[Any] = [True, 2, 1.5, 1 + 1j]


def category(dtype: Any) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is pb.bool else 1


def two(a: Any, b: Any) -> Any:
    """The dtype of two operands of one class."""
    if a is b:
        return a
    if category(a) < category(b):
        a, b = b, a
    if category(a) < 2:
        name = np.promote_types(*(str(d).rpartition(".")[2] for d in (a, b))).name
        return getattr(pb, name)
    if category(b) < 2:
        return a
    if category(a) == 3:
        wide = pb.complex128 in (a, b) or pb.float64 in (a, b)
        return pb.complex128 if wide else pb.complex64
    return pb.float64 if pb.float64 in (a, b) else pb.float32


def rule(operands: list[Any]) -> Any:
    default = {0: pb.bool, 1: pb.int64, 2: pb.float32, 3: pb.complex64}
    classes: list[list[Any]] = [[], [], []]
    for x in operands:
        if isinstance(x, pb.Tensor):
            classes[0 if x.dim() else 1].append(x.dtype)
        else:
            classes[2].append(default[NUMBERS.index(x)])
    result = None
    for dtypes in classes:
        if not dtypes:
            continue
        here = dtypes[0]
        for d in dtypes[1:]:
            here = two(here, d)
        if result is None:
            result = here
        elif category(here) > category(result):
            if (category(result), category(here)) == (2, 3):  # floats keep their precision
                here = pb.complex64
            result = two(result, here)
    return result


@st.composite
def operands(draw: st.DrawFn, most: int = 3, tensors_only: bool = False) -> list[Any]:
    dtype, shape = st.sampled_from(ALL), st.sampled_from([(), (2,)])
    tensor = st.builds(lambda d, s: pb.ones(s, dtype=d), dtype, shape)
    number = st.sampled_from(NUMBERS)
    first = draw(tensor)
    return [first, *draw(st.lists(tensor if tensors_only else tensor | number, max_size=most - 1))]


@given(operands(most=2))
def test_result_types(pair: list[Any]) -> None:
    a, b = (*pair, pair[0])[:2]
    want = rule([a, b])
    assert pb.result_type(a, b) is want and pb.result_type(b, a) is want
    assert (a * b).dtype is want and (b * a).dtype is want
    assert pb.can_cast(want, a.dtype) == (category(want) <= category(a.dtype))


@given(operands(tensors_only=True))
def test_order_does_not_matter(tensors: list[Any]) -> None:
    shaped = [pb.ones(2, dtype=t.dtype) for t in tensors]
    want = rule(shaped)
    for order in itertools.permutations(shaped):
        assert pb.cat(order).dtype is want and pb.stack(order).dtype is want
        total = order[0]
        for t in order[1:]:
            total = total * t
        assert total.dtype is want
    if len(shaped) == 2:
        assert pb.where(pb.tensor([True, False]), *shaped).dtype is want


@given(operands(most=2))
def test_batches_do_not_count_as_dimensions(pair: list[Any]) -> None:
    a, b = (*pair, pair[0])[:2]
    want = (a * b).dtype
    assert vmap(lambda x: x * b)(pb.stack([a, a])).dtype is want
    assert vmap(lambda x: b * x, in_dims=-1)(pb.stack([a, a], -1)).dtype is want
    if a.is_floating_point() or a.is_complex():
        value, tangent = jvp(lambda x: x * b, (a,), (a,))
        assert value.dtype is tangent.dtype is want


@given(operands(most=2))
def test_writes_keep_their_dtype_or_raise(pair: list[Any]) -> None:
    a, b = (*pair, 1.5)[:2]
    before = a.dtype
    if isinstance(b, pb.Tensor) and b.dim() > a.dim():
        b = b[0]
    fits = pb.can_cast(rule([a, b]), before)
    x = a.clone()
    try:
        x.mul_(b)
    except RuntimeError:
        assert not fits and pb.equal(x, a) and x._version == 0
        return
    assert fits and x.dtype is before
