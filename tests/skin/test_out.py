"""`out=`: results go into tensors that the caller has."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import pullback as pb
from pullback.func import vmap

same = pb.testing.assert_close


def test_the_target_is_written_and_returned() -> None:
    x, out = pb.arange(4.0), pb.zeros(4)
    view = out[1:]
    assert pb.mul(x, 2, out=out) is out
    same(view, pb.tensor([2.0, 4.0, 6.0]))
    assert pb.add(out, out, out=out) is out
    same(out, 4 * x)
    assert pb.exp(x, out=None) is not None
    pb.sum(pb.ones(2, 3), 0, out=view)
    same(out, pb.tensor([0.0, 2.0, 2.0, 2.0]))
    assert pb.arange(3, out=pb.empty(0)).tolist() == [0.0, 1.0, 2.0]


def test_strided_targets() -> None:
    m = pb.zeros(2, 3)
    pb.add(pb.ones(3, 2), 1, out=m.t())
    same(m, pb.full((2, 3), 2.0))
    pb.neg(m[:, 0], out=m[:, 2])
    same(m[0], pb.tensor([2.0, 2.0, -2.0]))


F: Any = pb.nn.functional
LAYERS: dict[str, Any] = {
    "gelu": lambda **o: F.gelu(pb.arange(4.0), approximate="tanh", **o),
    "hardshrink": lambda **o: F.hardshrink(pb.arange(4.0), 1.5, **o),
    "softshrink": lambda **o: F.softshrink(pb.arange(4.0), **o),
    "linear": lambda **o: F.linear(pb.ones(2, 3), pb.arange(6.0).view(2, 3), pb.ones(2), **o),
    "avg_pool2d": lambda **o: F.avg_pool2d(pb.arange(16.0).view(1, 4, 4), 2, **o),
    "avg_pool3d": lambda **o: F.avg_pool3d(pb.arange(64.0).view(1, 4, 4, 4), 2, **o),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    want = LAYERS[name]()
    out = pb.zeros_like(want)
    assert LAYERS[name](out=out) is out
    same(out, want)
    with pytest.raises(RuntimeError, match="out=... arguments don't support automatic differentiation"):
        LAYERS[name](out=pb.zeros_like(want).requires_grad_())


@pytest.mark.filterwarnings("ignore:lu")
def test_factors_and_pivots() -> None:
    x, pivots = pb.empty(2, 2), pb.empty(2, dtype=pb.int32)
    out: Any = pb.lu(pb.tensor([[1.0, 2.0], [4.0, 8.0]]), out=(x, pivots))
    assert out[0] is x and out[1] is pivots
    same((x, pivots), (pb.tensor([[4.0, 8.0], [0.25, 0.0]]), pb.tensor([2, 2], dtype=pb.int32)))


def test_several_results() -> None:
    x = pb.tensor([[1.0, 5.0], [7.0, 2.0]])
    values, indices = pb.empty(2), pb.empty(2, dtype=pb.int64)
    result = pb.max(x, 1, out=(values, indices))
    assert result.values is values and result[1] is indices
    same((values, indices), (pb.tensor([5.0, 7.0]), pb.tensor([1, 0])))
    with pytest.raises(TypeError, match=r"max\(\): argument 'out' must have 2 tensors, got 1"):
        pb.max(x, 1, out=values)


def test_dtypes() -> None:
    same(pb.add(pb.ones(2), 1, out=pb.zeros(2, dtype=pb.float64)), pb.full((2,), 2.0, dtype=pb.float64))
    same(pb.eq(pb.ones(2), 1, out=pb.zeros(2)), pb.ones(2))
    with pytest.raises(RuntimeError, match=r"add\(\): result type float32 can't be cast to .* output type int64"):
        pb.add(pb.ones(2), 1, out=pb.zeros(2, dtype=pb.int64))


def test_sizes() -> None:
    empty: Any = pb.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pb.add(pb.ones(2), 1, out=empty).shape == (2,)
    other = pb.zeros(3)
    with pytest.warns(UserWarning, match=r"argument 'out' has shape \[3\].*required output shape \[2\].*resized"):
        pb.add(pb.ones(2), 1, out=other)
    same((empty, other), (pb.full((2,), 2.0), pb.full((2,), 2.0)))
    with pytest.raises(RuntimeError, match=r"'out' is a view .*required output shape \[2\].*test_out\.py"):
        pb.add(pb.ones(2), 1, out=pb.zeros(6)[:3])
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        pb.add(pb.ones(2), 1, out=pb.zeros(1).expand(2))


def test_gradients_do_not_go_through() -> None:
    x = pb.ones(2, requires_grad=True)
    for call in (lambda: pb.mul(x, 2, out=pb.zeros(2)), lambda: pb.mul(pb.ones(2), 2, out=x)):
        with pytest.raises(RuntimeError, match=r"mul\(\): functions with out=.* don't support autom.*test_out"):
            call()
    with pb.no_grad():
        same(pb.mul(x, 2, out=pb.zeros(2)), pb.full((2,), 2.0))


def test_under_vmap() -> None:
    def f(x: Any) -> Any:
        return pb.add(x, 1, out=pb.zeros(3)) * 2

    x = pb.arange(6.0).view(2, 3)
    same(vmap(f)(x), (x + 1) * 2)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic add"):
        outer = pb.zeros(3)
        vmap(lambda x: pb.add(x, 1, out=outer))(x)


def test_who_takes_it() -> None:
    x, out = pb.ones(2), pb.zeros(2)
    for call in (
        lambda: x.add(1, out=out),  # type: ignore[call-arg]
        lambda: x.add_(1, out=out),  # type: ignore[call-arg]
        lambda: pb.reshape(x, (2,), out=out),
        lambda: pb.nn.functional.relu(x, out=out),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'out'"):
            call()
    with pytest.raises(TypeError, match=r"'out' must be Tensor or tuple of Tensors, not int"):
        pb.add(x, 1, out=3)  # type: ignore[call-overload]
