"""`functionalize`: functions that write in place and give views, as functions that do neither."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import Tensor
from pullback.func import functionalize, grad, jacrev, jvp, trace, vmap

BOTH = pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
DTYPES = [pb.float64, pb.float32, pb.bfloat16, pb.int64, pb.uint8, pb.bool, pb.complex64]


def written(x: Tensor, y: Tensor) -> Tensor:
    """Writes to an argument by views and operators, and to what it made."""
    x.view(-1)[::2] = 1
    x[..., 0].add_(y[0])
    own = pb.zeros_like(x)
    own.t().copy_(x.t())
    own.diagonal().mul_(2)
    pb.add(own, 1, out=own)
    return own


@BOTH
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_and_writes_are_those_of_the_function(dtype: pb.dtype, remove: str) -> None:
    x, y = pb.arange(9).reshape(3, 3).to(dtype), pb.ones(3).to(dtype)
    if dtype is pb.bool:
        f: Any = lambda x, y: x.view(-1)[::2].logical_not_().clone()
    else:
        f = written
    want_x = x.clone()
    want = f(want_x, y)
    got = functionalize(f, remove=remove)(x, y)
    assert got.equal(want) and got.dtype is dtype and x.equal(want_x) and y.equal(pb.ones(3).to(dtype))


@BOTH
def test_arguments_are_written_to_once_and_at_the_end(remove: str) -> None:
    x = pb.zeros(2)
    seen = []

    def f(inside: Tensor) -> Tensor:
        inside.add_(1).mul_(3)
        seen.append(x.clone())
        return inside.sum()

    before = x._version
    assert functionalize(f, remove=remove)(x) == 6
    assert seen[0].equal(pb.zeros(2)) and x.equal(pb.full((2,), 3.0)) and x._version == before + 1


def test_nothing_is_written_if_the_function_raises() -> None:
    def f(x: Tensor) -> None:
        x.add_(1)
        raise KeyError("no")

    x = pb.zeros(2)
    with pytest.raises(KeyError):
        functionalize(f)(x)
    assert x.equal(pb.zeros(2))


def test_trees_and_keywords() -> None:
    def f(state: dict[str, Any], *, rate: float, at: list[Tensor]) -> tuple[Tensor, dict[str, Any], str]:
        state["w"].sub_(rate * at[0])
        return state["w"] * 2, {"n": state["n"] + 1}, "done"

    w, g = pb.ones(2), pb.ones(2)
    out, state, word = functionalize(f)({"w": w, "n": 3}, rate=0.5, at=[g])
    assert out.equal(pb.ones(2)) and state == {"n": 4} and word == "done" and w.equal(pb.full((2,), 0.5))


VIEWS: list[Any] = [
    lambda x: x.view(-1),
    lambda x: x.t()[1:, None],
    lambda x: x.diagonal(),
    lambda x: x.unfold(0, 2, 1).permute(2, 0, 1),
    lambda x: x.split(1)[1],
    lambda x: x[:, 1:].expand(2, 3, 2),
]


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_arguments_stay_views_or_become_tensors(view: Any) -> None:
    x = pb.arange(9.0).reshape(3, 3).clone()
    out = functionalize(view)(x)
    assert out._base is x and out.equal(view(x)) and out.stride() == view(x).stride()
    x.mul_(2)
    assert out.equal(view(x))
    apart = functionalize(view, remove="mutations_and_views")(x)
    assert apart._base is None and apart.equal(view(x))
    apart.clone().zero_()
    x.zero_()
    assert not apart.equal(view(x))


def test_what_is_given_back() -> None:
    x = pb.zeros(2, 2)
    for remove in ("mutations", "mutations_and_views"):
        assert functionalize(lambda t: t, remove=remove)(x) is x
    out, flat = functionalize(lambda t: (t.add_(1), t.view(-1)))(x)
    assert out is not x and x.equal(pb.ones(2, 2)) and flat.equal(pb.ones(4))
    out.zero_()
    assert x.equal(pb.ones(2, 2)) and flat.equal(pb.zeros(4)), "results show one memory, the argument another"
    out, flat = functionalize(lambda t: ((y := t + 1), y.view(-1)), remove="mutations_and_views")(x)
    out.zero_()
    assert flat.equal(pb.full((4,), 2.0))


def test_writes_do_not_reach_what_was_kept() -> None:
    x = pb.zeros(1000)
    kept: list[Tensor] = []
    functionalize(lambda t: kept.append(t))(x)
    x.add_(1)
    kept[0][0] = 5
    assert kept[0][1] == 0 and x[0] == 1
    numbers = x.numpy()
    functionalize(lambda t: t.mul_(3).sum())(x)
    assert numbers[0] == 3, "memory that NumPy sees stays where it is"


def test_sizes_that_change() -> None:
    x = pb.zeros(2, 2)
    functionalize(lambda t: t.resize_(3).fill_(4))(x)
    assert x.equal(pb.full((3,), 4.0))


def test_composes_with_transforms() -> None:
    def f(x: Tensor) -> Tensor:
        y = pb.zeros(3)
        y.add_(x)
        y[1:].mul_(x[0])
        y.view(3)[0] = x.prod()
        return y

    x = pb.tensor([[2.0, 3.0, 4.0], [1.0, -2.0, 0.5]])
    for remove in ("mutations", "mutations_and_views"):
        g = functionalize(f, remove=remove)
        assert vmap(g)(x).equal(pb.stack([f(row) for row in x]))
        assert jacrev(g)(x[0]).equal(jacrev(f)(x[0])) and functionalize(jacrev(f))(x[0]).equal(jacrev(f)(x[0]))
        assert vmap(grad(lambda v, g=g: g(v).sum()))(x).equal(vmap(grad(lambda v: f(v).sum()))(x))
        assert functionalize(vmap(f))(x).equal(vmap(f)(x))
        out, tangent = jvp(g, (x[0],), (pb.ones(3),))
        want, along = jvp(f, (x[0],), (pb.ones(3),))
        assert out.equal(want) and tangent.equal(along)


def test_writes_to_arguments_under_transforms() -> None:
    x, y = pb.ones(2, 3), pb.zeros(2, 3)
    vmap(functionalize(lambda x, y: y.add_(x).sum()))(x, y)
    assert y.equal(x)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        vmap(functionalize(lambda x, y: y.add_(x).sum()), in_dims=(0, None))(x, y[0])
    with pytest.raises(RuntimeError, match="leaf Variable"):
        grad(functionalize(lambda x: x.mul_(2).sum()))(x)
    leaf = pb.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        functionalize(lambda x: x.mul_(2).sum())(leaf)
    out = functionalize(lambda x, y: y.mul_(x).sum())(leaf, (z := pb.full((3,), 2.0)))
    out.backward()
    assert leaf.grad is not None and leaf.grad.equal(pb.full((3,), 2.0)) and z.requires_grad
    primal, tangent = jvp(functionalize(lambda x: x.mul_(2)), (pb.ones(2),), (pb.ones(2),))
    assert primal.equal(pb.full((2,), 2.0)) and tangent.equal(pb.full((2,), 2.0))


def test_programs_hold_no_writes() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 2
        y[0].add_(1)
        y.t().mul_(3)
        return y

    x = pb.ones(2, 2)
    program = trace(functionalize(f))(x)
    assert not [name for name in program.operators if name.endswith("_")]
    assert program(x).equal(f(x)) and program(pb.zeros(2, 2)).equal(f(pb.zeros(2, 2)))
    assert len(program.simplified()) <= len(trace(f)(x).simplified()) + 1
    with pytest.raises(RuntimeError, match="writes in place to its tensor argument 0"):
        trace(functionalize(lambda x: x.add_(1)))(x)


def test_bad_arguments() -> None:
    for bad in ("views", "", None):
        with pytest.raises(RuntimeError, match=r"functionalize\(f, remove='mutations'\): received invalid argument"):
            functionalize(lambda x: x, remove=bad)  # type: ignore[arg-type]
    named = functionalize(written)
    assert named.__name__ == "written" and named.__doc__ == written.__doc__
