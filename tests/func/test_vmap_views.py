"""What `vmap` returns of its arguments: the callers' tensors and views of them, as in PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import vmap


def test_an_argument_that_comes_back_is_the_callers_tensor() -> None:
    x = pb.arange(24.0).reshape(2, 3, 4)
    assert vmap(lambda t: t)(x) is x
    assert vmap(lambda t: t, in_dims=2, out_dims=2)(x) is x
    assert vmap(vmap(lambda t: t))(x) is x
    assert vmap(vmap(lambda t: t, in_dims=1, out_dims=1), in_dims=1, out_dims=1)(x) is x
    a, b = vmap(lambda s, t: (t, s))(x, y := x.clone())
    assert a is y and b is x


def test_a_write_in_place_reaches_the_caller_and_what_is_returned() -> None:
    x = pb.rand(3, 4)
    want = x.sin()
    out = vmap(pb.Tensor.sin_)(x)
    assert out is x and pb.equal(x, want)
    moved = vmap(pb.Tensor.neg_, out_dims=1)(x)
    assert moved._base is x and pb.equal(moved, -want.T) and pb.equal(x, -want)
    moved.mul_(2)
    assert pb.equal(x, -2 * want)
    x.zero_()
    assert pb.equal(moved, pb.zeros(4, 3))


VIEWS: list[tuple[Callable[[Any], Any], tuple[int, ...]]] = [
    (lambda t: t.T, (2, 3)),
    (lambda t: t[0], (2, 3)),
    (lambda t: t[:, 1:], (2, 3)),
    (lambda t: t.unsqueeze(1), (2, 3)),
    (lambda t: t.reshape(-1)[1:4], (2, 3)),
    (lambda t: t.expand(4, 2, 3), (2, 3)),
    (lambda t: t.movedim(0, 1).select(0, 2), (2, 3)),
    (lambda t: t.diagonal(), (3, 3)),
    (lambda t: pb.view_as_complex(t), (3, 2)),
    (lambda t: pb.view_as_real(pb.view_as_complex(t))[..., 0], (3, 2)),
    (lambda t: t.view(pb.int64), (2, 3)),
]


@pytest.mark.parametrize("size", [2, 40])
@pytest.mark.parametrize("dims", [(0, 0), (0, 1), (1, 0), (2, 1), (-1, 0)])
@pytest.mark.parametrize("which", range(len(VIEWS)))
def test_views_of_arguments_are_views_of_the_callers_tensors(which: int, dims: tuple[int, int], size: int) -> None:
    f, shape = VIEWS[which]
    if which == 4 and dims[0] == 1:
        pytest.skip("the rows of a member are not neighbours in memory")
    if which in (8, 9) and dims[0] in (2, -1):
        pytest.skip("pairs must be neighbours in memory")
    to_front = pb.rand(size, *shape, dtype=pb.float64)
    x = to_front.movedim(0, dims[0]).contiguous().clone()
    out = vmap(f, in_dims=dims[0], out_dims=dims[1])(x)

    def expected() -> Any:
        return pb.stack([f(x.select(dims[0], i).contiguous()) for i in range(size)], dims[1])

    assert out._base is x
    assert pb.equal(out, expected())
    x.mul_(2)
    assert pb.equal(out, expected())
    if which not in (5, 10):
        with pb.no_grad():
            out.mul_(3)
        assert pb.equal(out, expected())


def test_several_views_at_once() -> None:
    x = pb.rand(5, 3)
    parts = vmap(lambda t: tuple(t.unbind()))(x)
    assert all(p._base is x for p in parts)
    parts[1].fill_(7)
    assert pb.equal(x[:, 1], pb.full((5,), 7.0))
    nested = vmap(vmap(lambda t: t[0]))(y := pb.rand(2, 3, 4))
    assert nested._base is y
    nested.zero_()
    assert y[..., 0].abs().sum() == 0 and y[..., 1:].abs().sum() > 0


def test_derivatives_go_through_views() -> None:
    x = pb.rand(4, 3, dtype=pb.float64, requires_grad=True)
    out = vmap(lambda t: t[1:])(x)
    assert out._base is x and out.requires_grad
    (out * out).sum().backward()
    assert x.grad is not None and pb.allclose(x.grad[:, 1:], 2 * x[:, 1:].detach()) and x.grad[:, 0].abs().sum() == 0
    y = x.detach().clone().requires_grad_() * 1
    part = vmap(lambda t: t[0])(y)
    part.mul_(3)
    (g,) = pb.autograd.grad(y.sum(), y)
    assert g.shape == y.shape
    kept = vmap(lambda t: t.detach())(x)
    assert not kept.requires_grad and kept.data_ptr() == x.data_ptr()


def test_new_values_and_chunks_share_nothing() -> None:
    x = pb.rand(6, 3)
    assert vmap(lambda t: t * 1)(x)._base is None
    out = vmap(lambda t: t, chunk_size=2)(x)
    assert out is not x
    out.zero_()
    assert x.abs().sum() > 0
    whole = vmap(lambda t, w: (t, w), in_dims=(0, None), out_dims=(0, None))(x, w := pb.rand(2))
    assert whole[0] is x and whole[1] is w


def test_inside_other_transforms() -> None:
    x = pb.rand(3, 4, dtype=pb.float64)
    g = pb.func.grad(lambda t: (vmap(lambda r: r[1:])(t) ** 2).sum())(x)
    assert pb.allclose(g[:, 1:], 2 * x[:, 1:]) and g[:, 0].abs().sum() == 0
    _, t = pb.func.jvp(lambda t: vmap(lambda r: r.flip(0)[:2])(t), (x,), (x,))
    assert pb.allclose(t, x.flip(1)[:, :2])
    program = pb.func.trace(lambda t: vmap(lambda r: r[1:], out_dims=1)(t) * 2)(x)
    assert pb.equal(program(x + 1) if callable(program) else program, 2 * (x + 1 if callable(program) else x)[:, 1:].T)
    outer = vmap(lambda t: vmap(lambda r: r[0], in_dims=1)(t))(y := pb.rand(2, 3, 4))
    assert outer._base is y and pb.equal(outer, y[:, 0])


ROWS: dict[str, Any] = {
    "cat of one": lambda v: pb.cat([v]),
    "roll by 0": lambda v: v.roll(0, 0),
    "rot90 by 0": lambda v: v.rot90(0),
    "narrow_copy": lambda v: pb.narrow_copy(v, 0, 0, 2),
    "tile": lambda v: v.tile((1,)),
    "diff of order 0": lambda v: pb.diff(v, n=0),
    "pad by 0": lambda v: pb.nn.functional.pad(v, (0, 0)),
    "power of a number": lambda v: 2**v,
    "first power": lambda v: pb.linalg.matrix_power(v[:2, :2], 1),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("size", [3, 30])
def test_members_lie_as_outside(name: str, size: int) -> None:
    xs = pb.arange(4.0 * size).view(2, size, 2) % 9

    def first(v: Any) -> Any:
        return ROWS[name](v.t() * 1).as_strided((4,), (1,), 0)

    want = pb.stack([first(x) for x in xs])
    for d in (0, 1, 2):
        assert pb.equal(vmap(first, in_dims=d)(xs.movedim(0, d).clone()), want)
