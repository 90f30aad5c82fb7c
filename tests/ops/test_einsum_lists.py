"""`einsum` with lists of numbers for subscripts, and the less common forms of equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb

same = pb.testing.assert_close


def numbers(*shape: int, seed: int = 1) -> Any:
    return pb.tensor(np.random.default_rng(seed).standard_normal(shape))


x, y, square, cube = numbers(2, 3), numbers(3, 4, seed=2), numbers(3, 3), numbers(2, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "equation", "operands"),
    [
        ((x, [0, 1], y, [1, 2], [0, 2]), "ab,bc->ac", (x, y)),
        ((x, [0, 1], y, [1, 2]), "ab,bc", (x, y)),
        ((x, [1, 0]), "ba", (x,)),
        ((x, [0, 1], [1, 0]), "ab->ba", (x,)),
        ((x, [0, 1], []), "ab->", (x,)),
        ((cube, [..., 0, 0], [..., 0]), "...aa->...a", (cube,)),
        ((cube, [Ellipsis, 30], y, [30, 51]), "...a,ab", (cube, y)),
        ((square, [7, 7]), "aa", (square,)),
        ((pb.tensor(3.0), []), "", (pb.tensor(3.0),)),
    ],
)
def test_lists(arguments: Any, equation: str, operands: Any) -> None:
    same(pb.einsum(*arguments), pb.einsum(equation, *operands))


def test_lists_have_derivatives_and_batches() -> None:
    f = lambda a: pb.einsum(a, [0, 1], y, [1, 2], [0, 2])
    assert pb.autograd.gradcheck(f, (x.clone().requires_grad_(),))
    same(pb.func.vmap(f)(pb.stack([x, 2 * x])), pb.stack([f(x), f(2 * x)]))


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        (" i j , j k -> i k ", (x, y)),
        ("Ab,bC->CA", (x, y)),
        ("bA,Cb", (x.T, y.T)),
        ("...ii->...i", (cube,)),
        ("ii", (square,)),
        ("i...->...", (cube,)),
        ("ij,ij->ij", (x, x[:1])),
        ("ij,jk->ik", (x[:, :1], y)),
        ("...j,jk->...k", (cube, y)),
        ("...,...", (x, x[0])),
        ("aab,b->a", (cube.permute(1, 2, 0), x[:, 0])),
    ],
)
def test_equations(equation: str, operands: Any) -> None:
    arrays = [o.numpy() for o in operands]
    if equation in ("ij,jk->ik",):
        arrays[0] = np.broadcast_to(arrays[0], (2, 3))
    same(pb.einsum(equation, *operands), pb.tensor(np.einsum(equation, *arrays)))


@pytest.mark.parametrize("equation", ["ab,bc->abc", "ab,cd->abcd", "ab,bc->bac", "ab,cd->a", "ab,ab->ab", "ab,->ab"])
@pytest.mark.parametrize("dtype", [pb.float32, pb.int64, pb.bool])
def test_dtypes_are_promoted_where_no_label_is_summed_of_both(equation: str, dtype: Any) -> None:
    shapes = {"bc": (3, 4), "cd": (4, 5), "ab": (2, 3), "": ()}
    other = (numbers(*shapes[equation[3 : equation.index("-")]], seed=3) * 4).to(dtype)
    f = lambda a: pb.einsum(equation, a, other)
    same(f(x), pb.einsum(equation, x, other.double()))
    assert pb.autograd.gradcheck(f, (x.clone().requires_grad_(),))
    same(pb.func.vmap(f)(pb.stack([x, 2 * x])), pb.stack([f(x), f(2 * x)]))


def test_sums_of_products_ask_for_one_dtype() -> None:
    for equation, other in [("ab,bc->ac", y), ("ab,ab->", x), ("ab,ab->a", x)]:
        with pytest.raises(RuntimeError, match=r"einsum\(\): .*same dtype, but got float64 and float32"):
            pb.einsum(equation, x, other.float())


def test_what_is_no_list() -> None:
    with pytest.raises(RuntimeError, match=r"einsum\(\): .*within \[0, 52\); number dimensions from 0 on"):
        pb.einsum(x, [0, 52])
    with pytest.raises(TypeError, match=r"einsum\(\): operands and lists of subscripts must alternate"):
        pb.einsum(x, [0, 1], y, [1, 2], x)
    with pytest.raises(TypeError, match=r"einsum\(\): each operand must come with a list"):
        pb.einsum(x, y)
    with pytest.raises(TypeError, match="'equation'.* must be str, not int"):
        pb.einsum(3, x)  # type: ignore[arg-type]
