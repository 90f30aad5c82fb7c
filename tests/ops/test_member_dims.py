"""Members of any dimension by index tensors: values, derivatives and batches, against NumPy and against loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

same = pb.testing.assert_close
FULL = slice(None)
LISTS = {"vector": [2, 0, 2], "matrix": [[1, 0], [2, 1]], "one": [1], "none": [], "single": 1}
SHAPE = (4, 3, 5)


def values(*shape: int) -> Any:
    return pb.tensor(np.sin(np.arange(np.prod(shape), dtype=np.float64)).reshape(shape))


def index(name: str) -> Any:
    return pb.tensor(np.array(LISTS[name], dtype=np.int64))


def bound(x: Any, i: Any) -> dict[str, Any]:
    """A tensor as it lies, with dimensions in another order, and with gaps."""
    turned = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    return {"rows": x, "turned": turned, "gaps": pb.cat([x, x], 2)[:, :, : x.shape[2]]}


@pytest.mark.parametrize(("dim", "name"), [*itertools.product(range(3), LISTS)])
def test_members_along_a_dimension(dim: int, name: str) -> None:
    x, i = values(*SHAPE), index(name)
    at: Any = (FULL,) * dim + (i,)
    want = x.numpy()[(FULL,) * dim + (i.numpy(),)]
    for how, v in bound(x, i).items():
        out = v[at]
        assert out.shape == want.shape and (out.is_contiguous() or i.dim() == 0 or how == "turned"), how
        same(out, pb.tensor(want))
        if i.dim() == 1:
            chosen = pb.index_select(v, dim, i)
            same(chosen, pb.tensor(want))
            added = pb.index_add(v, dim, i, out)
            expected = x.numpy().copy()
            np.add.at(expected, (FULL,) * dim + (i.numpy(),), want)
            same(added, pb.tensor(expected))
            assert added.is_contiguous(), how
    written, expected = x.clone(), x.numpy().copy()
    written[at] = out * 2
    expected[(FULL,) * dim + (i.numpy(),)] = want * 2
    same(written, pb.tensor(expected))
    # The cotangent adds up what several indices took; the tangent is taken like the value.
    w, t = values(*out.shape) if out.numel() else out, x.cos()
    gradient = np.zeros(SHAPE)
    np.add.at(gradient, (FULL,) * dim + (i.numpy(),), w.numpy())
    same(grad(lambda x: (x[at] * w).sum())(x), pb.tensor(gradient))
    same(jvp(lambda x: x[at], (x,), (t,))[1], t[at])


@pytest.mark.parametrize("dims", [(0, None), (1, None), (None, 0), (0, 0), (2, 1)])
@pytest.mark.parametrize("dim", range(3))
def test_batches_of_members(dim: int, dims: tuple[int | None, int | None]) -> None:
    members = 2
    x = values(*SHAPE)
    i = index("vector") if dims[1] is None else pb.tensor([[2, 0, 2], [0, 1, 2]])
    if dims[0] is not None:
        x = pb.stack([x, x.cos()], dims[0])
    if dims[1] == 1:
        i = i.t()
    at: Any = (FULL,) * dim
    w = values(*SHAPE[:dim], 3, *SHAPE[dim + 1 :])
    functions: list[Any] = [
        lambda x, i: x[(*at, i)],
        lambda x, i: pb.index_select(x, dim, i),
        lambda x, i: pb.index_add(x, dim, i, w),
        lambda x, i: pb.index_copy(x, dim, i, w),
        lambda x, i: grad(lambda x: (x[(*at, i)].sin() * w).sum())(x),
    ]
    for f in functions:
        out = vmap(f, in_dims=dims)(x, i)
        rows = [
            f(*(a if d is None else a.select(d, k) for a, d in zip((x, i), dims, strict=True))) for k in range(members)
        ]
        same(out, pb.stack(rows))


def test_dimensions_that_are_no_neighbours() -> None:
    """Few elements of a large tensor are found one by one, many by their rows."""
    x = values(30, 4, 40)
    for count in (2, 20, 400):
        i, j = pb.arange(count) % 30, (pb.arange(count) * 7) % 40
        want = x.numpy()[i.numpy(), :, j.numpy()]
        same(x[i, :, j], pb.tensor(want))
        w = values(count, 4)
        gradient = np.zeros((30, 4, 40))
        np.add.at(gradient, (i.numpy(), FULL, j.numpy()), w.numpy())
        same(grad(lambda x: (x[i, :, j] * w).sum())(x), pb.tensor(gradient))  # noqa: B023
        both = pb.stack([i, (i + 3) % 30])
        same(vmap(lambda i: x[i, :, j])(both), pb.stack([x[i, :, j], x[both[1], :, j]]))  # noqa: B023
        y, z = x.clone(), x.numpy().copy()
        y[i[:20], :, j[:20]] = 0.5
        z[i[:20].numpy(), :, j[:20].numpy()] = 0.5
        same(y, pb.tensor(z))
    same(x[pb.tensor([[0], [29]]), 1:3, pb.tensor([5, 6, 7])], pb.tensor(x.numpy()[[[0], [29]], 1:3, [5, 6, 7]]))
    with pytest.raises(IndexError, match="index 30 is out of bounds for dimension 0 with size 30"):
        x[pb.tensor([30]), :, pb.tensor([0])]


def test_numbers_have_no_say_in_the_place() -> None:
    """A 0-d tensor is an integer: what it indexes is gone before dimensions are counted."""
    x, zero, two = values(2, 3, 4), pb.tensor(0), pb.tensor([0, 1])
    same(x[zero, :, two], x[0][:, [0, 1]])
    same(x[two, :, zero], x[:, :, 0][[0, 1]])
    same(x[zero, :, pb.tensor(3)], x[0, :, 3])
    y, z = x.clone(), x.clone()
    y[zero, :, two] = 7.0
    z[0][:, [0, 1]] = 7.0
    same(y[0, :, :2], pb.full((3, 2), 7.0, dtype=pb.float64))
    assert (y == 7).sum() == 6


def test_clamp_of_both_bounds() -> None:
    x = pb.tensor([-2.0, -1.0, 0.5, 1.0, 3.0, float("nan")])
    low, high = pb.tensor(-1.0), pb.tensor([1.0] * 5 + [2.0])
    same(pb.clamp(x, low, high), pb.tensor(x.numpy().clip(-1.0, high.numpy())), equal_nan=True)
    gradients = grad(lambda x, a, b: pb.clamp(x, a, b).sum(), argnums=(0, 1, 2))(x, low, high)
    same(gradients, (pb.tensor([0.0, 1, 1, 1, 0, 0]), pb.tensor(1.0), pb.tensor([0.0, 0, 0, 0, 1, 0])))
    # The upper bound is the last word.
    assert pb.clamp(pb.tensor([0.0, 5.0]), 4.0, 1.0).tolist() == [1.0, 1.0]
    assert pb.clamp(pb.tensor([-3, 9]), 0, 5).tolist() == [0, 5]


class Doubled(pb.autograd.Function):
    """Saves an index that it made."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2, pb.arange(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (i,) = ctx.saved_tensors
        return pb.zeros_like(g).scatter(0, i, g) + pb.zeros_like(g).index_add(0, i, g[i])


def test_recorded_sweeps_by_an_index_of_a_function() -> None:
    """Nothing flows to an index, whichever node it leads to."""
    x = pb.tensor([0.5, 1.5], dtype=pb.float64, requires_grad=True)
    y = Doubled.apply(x)[0].sin().sum()
    for _ in range(3):
        (g,) = pb.autograd.grad(y, x, create_graph=True)
        y = g.sum()
    same(g.detach(), -8 * (2 * x).cos().detach())
