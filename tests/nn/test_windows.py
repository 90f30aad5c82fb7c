"""Convolutions, pools and attention: batched as the loop over members, transposed as the inner product says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback.func import grad, jvp, vjp, vmap

same = pb.testing.assert_close

CONVS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 4, 7), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    "2d": ((2, 2, 6, 5), (3, 2, 3, 2), {"padding": (1, 0), "dilation": (1, 2)}),
    "2d pointwise": ((2, 2, 3, 4), (3, 2, 1, 1), {}),
    "2d same": ((2, 2, 4, 4), (4, 1, 2, 3), {"padding": "same", "groups": 2}),
    "3d": ((1, 2, 3, 4, 5), (2, 2, 2, 2, 2), {"stride": (1, 2, 1)}),
}
BATCHED = [dims for dims in product([0, -1, None], repeat=2) if dims != (None, None)]


def rand(*shape: int) -> Any:
    return pb.rand(*shape, dtype=pb.float64) - 0.5


def conv(name: str) -> Callable[..., Any]:
    """The convolution of this case and its transpose with the same weight."""
    return getattr(F, f"conv{name[:2]}")


def member(x: Any, dim: int | None, i: int) -> Any:
    return x if dim is None else x.movedim(dim, 0)[i]


def batch(shape: tuple[int, ...], dim: int | None, size: int = 3) -> Any:
    x = rand(size, *shape)
    return x[0] if dim is None else x.movedim(0, dim)


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("in_dims", BATCHED)
def test_vmap_of_a_convolution_and_its_gradients_is_the_loop(name: str, in_dims: tuple[int | None, int | None]) -> None:
    xs, ws, options = CONVS[name]
    x, w = batch(xs, in_dims[0]), batch(ws, in_dims[1])

    def pulled(x: Any, w: Any) -> Any:
        y, back = vjp(lambda x, w: conv(name)(x, w, **options), x, w)
        return (y, *back(y.sin()))

    def pushed_of_pulled(x: Any, w: Any) -> Any:
        return jvp(pulled, (x, w), (x.cos(), w.cos()))[1]

    for f in (pulled, pushed_of_pulled):
        loop = [f(member(x, in_dims[0], i), member(w, in_dims[1], i)) for i in range(3)]
        for got, want in zip(vmap(f, in_dims=in_dims)(x, w), zip(*loop, strict=True), strict=True):
            same(got, pb.stack(want))


@pytest.mark.parametrize("name", CONVS)
def test_a_convolution_and_its_transposes_have_one_inner_product(name: str) -> None:
    xs, ws, options = CONVS[name]
    x, w = rand(*xs), rand(*ws)
    y, back = vjp(lambda x, w: conv(name)(x, w, **options), x, w)
    g = rand(*y.shape)
    dx, dw = back(g)
    for a, b in ((x, dx), (w, dw)):
        same((a * b).sum(), (y * g).sum())
    if name != "2d same":
        transposed = getattr(F, f"conv_transpose{name[:2]}")
        z = transposed(g, w, **options)
        same(z, dx[tuple(slice(0, n) for n in z.shape)])


def test_per_sample_gradients_of_the_weight() -> None:
    x, w = rand(4, 3, 6, 6), rand(5, 3, 3, 3)

    def loss(w: Any, x: Any) -> Any:
        return F.conv2d(x, w, padding=1).square().sum()

    got = vmap(grad(loss), in_dims=(None, 0))(w, x)
    same(got, pb.stack([grad(loss)(w, x[i]) for i in range(4)]))
    same(got.sum(0), grad(loss)(w, x))


def test_inputs_without_a_batch_and_empty_batches() -> None:
    x, w, b = rand(3, 5, 5), rand(2, 3, 2, 2), rand(2)
    same(F.conv2d(x, w, b), F.conv2d(x[None], w, b)[0])
    assert F.conv2d(rand(0, 3, 5, 5), w, b).shape == (0, 2, 4, 4)
    same(grad(lambda w: F.conv2d(rand(0, 3, 5, 5), w).sum())(w), pb.zeros_like(w))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stride": 0}, r"argument 'stride' must be .* 1 or larger"),
        ({"padding": -1}, r"argument 'padding' must be .* 0 or larger"),
        ({"dilation": 0}, "dilation"),
        ({"groups": 2}, "groups=2"),
        ({"padding": "same", "stride": 2}, "strided"),
        ({"padding": "reflect"}, "'reflect' is not a valid value for padding; use 'valid' or 'same'"),
        ({"dilation": 9}, "Kernel size can't be greater than actual input size"),
        ({"bias": pb.zeros(3)}, "bias"),
        ({"stride": (1, 1, 1)}, "stride"),
    ],
)
def test_wrong_convolutions_say_what_is_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        F.conv2d(pb.ones(1, 3, 5, 5), pb.ones(4, 3, 2, 2), **options)


POOLS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "avg": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "avg of what is there": lambda x: F.avg_pool2d(x, (3, 2), 2, 1, True, False),
    "adaptive avg": lambda x: F.adaptive_avg_pool2d(x, (2, 4)),
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, (2, 4)),
}


@pytest.mark.parametrize("name", POOLS)
def test_pools_differentiate_and_batch(name: str) -> None:
    pool, x = POOLS[name], rand(3, 2, 5, 6)

    def pulled(x: Any) -> Any:
        y, back = vjp(pool, x)
        return y, back(y.sin())[0]

    for got, want in zip(vmap(pulled)(x), zip(*(pulled(m) for m in x), strict=True), strict=True):
        same(got, pb.stack(want))
    t = rand(*x.shape)
    y, dy = jvp(pool, (x,), (t,))
    step = 1e-6
    same(dy, (pool(x + step * t) - pool(x - step * t)) / (2 * step), rtol=1e-6, atol=1e-6)
    same((dy * y).sum(), (t * vjp(pool, x)[1](y)[0]).sum())


def test_maxima_say_where_they_are_and_let_nan_through() -> None:
    x = pb.tensor([[[1.0, 5.0, 2.0], [float("nan"), 0.0, 3.0]]])
    values, where = F.max_pool2d(x, (1, 2), 1, return_indices=True)
    same(values, pb.tensor([[[5.0, 5.0], [float("nan"), 3.0]]]), equal_nan=True)
    assert where.tolist() == [[[1, 1], [3, 5]]]


def test_attention_over_nothing_gives_zeros_and_no_nan() -> None:
    q, k, v = rand(2, 3, 4), rand(2, 5, 4), rand(2, 5, 6)
    mask = pb.ones(3, 5, dtype=pb.bool)
    mask[1] = False
    out = F.scaled_dot_product_attention(q, k, v, mask)
    weights = (q @ k.transpose(-1, -2) / 2).softmax(-1)
    weights[:, 1] = 0
    same(out, weights @ v)
    assert grad(lambda q: F.scaled_dot_product_attention(q, k, v, mask).sum())(q).isfinite().all()


def test_attention_of_grouped_heads() -> None:
    q, k, v = rand(2, 6, 3, 4), rand(2, 2, 5, 4), rand(2, 2, 5, 4)
    spread = [pb.stack([x] * 3, 2).reshape(2, 6, 5, 4) for x in (k, v)]
    same(F.scaled_dot_product_attention(q, k, v, enable_gqa=True), F.scaled_dot_product_attention(q, *spread))


def test_windows_of_more_elements_than_there_are_numbers_are_refused() -> None:
    x, size = pb.ones(1, 1, 1, 1, 1), 2**21
    with pytest.raises(RuntimeError, match="the number of elements of a window"):
        F.avg_pool3d(x, size, 1, size // 2)
    y = F.avg_pool3d(x, size, 1, size // 2, count_include_pad=False)
    assert bool((y == 1).all())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_power_pools_of_infinite_power_are_extremes(dims: int) -> None:
    lp, largest = getattr(F, f"lp_pool{dims}d"), getattr(F, f"max_pool{dims}d")
    x = rand(2, *(5,) * dims)
    for ceil_mode in (False, True):
        options = {"stride": 2, "ceil_mode": ceil_mode}
        assert lp(x, float("inf"), 3, **options).equal(largest(x.abs(), 3, **options))
        assert lp(x, float("-inf"), 3, **options).equal(-largest(-x.abs(), 3, **options))
    # A large power comes near.
    same(lp(x, 400.0, 3), largest(x.abs(), 3), rtol=0.05, atol=0.0)
