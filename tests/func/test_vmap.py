"""vmap: structures of arguments and results, randomness, buffers, and its errors."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

same = pb.testing.assert_close


def values(*shape: int) -> Any:
    n = 1
    for size in shape:
        n *= size
    return (pb.arange(n, dtype=pb.float64) * 0.37).sin().reshape(shape)


# ---------------------------------------------------------------- in_dims and out_dims
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_every_in_dim(dim: int) -> None:
    x = values(2, 3, 4)
    got = vmap(lambda v: v.cumsum(0), in_dims=dim)(x)
    want = pb.stack([member.cumsum(0) for member in x.unbind(dim)])
    same(got, want)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_every_out_dim(dim: int) -> None:
    x = values(2, 3, 4)
    got = vmap(lambda v: v * 2, out_dims=dim)(x)
    same(got, pb.stack([member * 2 for member in x], dim))


def test_unmapped_arguments() -> None:
    x, w = values(5, 3), values(3)
    same(vmap(lambda x, w: x @ w, in_dims=(0, None))(x, w), x @ w)
    same(vmap(lambda w, x: x @ w, in_dims=(None, 1))(values(5), x), (values(5) @ x))
    same(vmap(lambda x, n: x * n, in_dims=(0, None))(x, 3), x * 3)


def test_pytrees_of_arguments_and_results() -> None:
    tree = {"a": values(4, 2), "b": [values(3, 4), values(4)]}
    dims = {"a": 0, "b": [1, 0]}

    def f(t: Any) -> Any:
        return {"sum": t["a"].sum() + t["b"][1], "pair": (t["b"][0], t["a"] * 2)}

    got = vmap(f, in_dims=(dims,))(tree)
    assert set(got) == {"sum", "pair"} and isinstance(got["pair"], tuple)
    same(got["sum"], tree["a"].sum(1) + tree["b"][1])
    same(got["pair"][0], tree["b"][0].T)
    got = vmap(f, in_dims=(dims,), out_dims={"sum": 0, "pair": (1, 0)})(tree)
    same(got["pair"], (tree["b"][0], tree["a"] * 2))
    same(vmap(lambda t: t["a"] * t["b"], in_dims=({"a": 0, "b": None},))({"a": values(4), "b": values(2)}).shape[0], 4)


def test_out_dims_for_a_whole_tuple() -> None:
    first, second = vmap(lambda v: (v, v + 1), out_dims=(0, 1))(values(2, 3))
    assert first.shape == (2, 3) and second.shape == (3, 2)
    first, second = vmap(lambda v: (v, v + 1), out_dims=1)(values(2, 3))
    assert first.shape == second.shape == (3, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_chunks_give_the_same(size: int) -> None:
    x, w = values(7, 3), values(3)
    want = vmap(lambda x, w: (x * w, x.sum()), in_dims=(0, None))(x, w)
    same(vmap(lambda x, w: (x * w, x.sum()), in_dims=(0, None), chunk_size=size)(x, w), want)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_nesting(depth: int) -> None:
    x = values(*(2, 3, 2, 3, 4)[:depth], 4)
    f: Any = lambda v: (v * v).sum()
    for _ in range(depth):
        f = vmap(f)
    same(f(x), (x * x).sum(-1))


def test_capturing_the_outer_batch() -> None:
    x, y = values(3, 2), values(4, 2)
    got = vmap(lambda a: vmap(lambda b: (a * b).sum())(y))(x)
    same(got, x @ y.T)


def test_shapes_inside_hide_the_batch() -> None:
    def f(v: Any) -> Any:
        assert v.shape == (3, 4) and v.dim() == 2 and v.numel() == 12 and v.size(-1) == 4
        return v.reshape(-1)

    assert vmap(f, in_dims=1)(values(3, 5, 4)).shape == (5, 12)


def test_empty_batch() -> None:
    assert vmap(lambda v: v.sum(0))(pb.zeros(0, 3, 2)).shape == (0, 2)


# ---------------------------------------------------------------- randomness
def test_randomness() -> None:
    x = pb.zeros(4, 3)
    rows = vmap(lambda v: pb.randn(3) + v, randomness="different")(x)
    assert len({tuple(row) for row in rows.tolist()}) == 4
    rows = vmap(lambda v: pb.randn(3) + v, randomness="same")(x)
    assert len({tuple(row) for row in rows.tolist()}) == 1
    rows = vmap(lambda v: pb.rand_like(v), randomness="different")(x)
    assert len({tuple(row) for row in rows.tolist()}) == 4
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda v: pb.randn(3) + v)(x)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda v: v, randomness="sometimes")(x)


def test_same_seed_same_numbers() -> None:
    def draw() -> Any:
        pb.manual_seed(3)
        return vmap(lambda v: v + pb.randn(2), randomness="different")(pb.zeros(5, 2))

    same(draw(), draw())


# ---------------------------------------------------------------- writes
def test_local_buffer_takes_batched_values() -> None:
    def f(v: Any) -> Any:
        z = pb.zeros(3, dtype=pb.float64)
        z[0] = v[0]
        z[1:] += v[1]
        return z

    x = values(4, 2)
    want = pb.stack([pb.stack([row[0], row[1], row[1]]) for row in x])
    same(vmap(f)(x), want)
    same(vmap(jvp_of(f))(x), vmap(f)(pb.ones_like(x)))


def jvp_of(f: Any) -> Any:
    return lambda v: jvp(f, (v,), (pb.ones_like(v),))[1]


def test_captured_tensor_refuses_batched_values() -> None:
    z = pb.zeros(2, dtype=pb.float64)
    with pytest.raises(RuntimeError):
        vmap(lambda v: z.add_(v))(values(3, 2))
    same(z, pb.zeros(2, dtype=pb.float64))
    same(vmap(lambda v: v + z.add_(1))(pb.zeros(3, 2, dtype=pb.float64)), pb.ones(3, 2, dtype=pb.float64))


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("call", "kind", "terms"),
    [
        (lambda: vmap(lambda a, b: a + b)(pb.ones(2), pb.ones(3)), ValueError, "size"),
        (lambda: vmap(lambda a: a, in_dims=(0, 0))(pb.ones(2)), ValueError, "in_dims"),
        (lambda: vmap(lambda a: a, in_dims=3)(pb.ones(2)), ValueError, "in_dim"),
        (lambda: vmap(lambda a: a, in_dims=None)(pb.ones(2)), ValueError, "in_dims"),
        (lambda: vmap(lambda a: a)(), ValueError, "no inputs|at least one"),
        (lambda: vmap(lambda a: a)(3), ValueError, "Tensor|int"),
        (lambda: vmap(lambda a: a)(pb.tensor(1.0)), ValueError, "dim"),
        (lambda: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(pb.ones(2)), ValueError, "out_dims"),
        (lambda: vmap(lambda a: 3)(pb.ones(2)), ValueError, "Tensor"),
        (lambda: vmap(lambda a: a, out_dims=2)(pb.ones(2)), IndexError, "range"),
        (lambda: vmap(lambda a: a, chunk_size=0)(pb.ones(2)), ValueError, "chunk_size"),
        (lambda: vmap(lambda a: a, in_dims=0.5)(pb.ones(2)), ValueError, "in_dims"),
    ],
)
def test_wrong_arguments(call: Any, kind: type[Exception], terms: str) -> None:
    with pytest.raises(kind, match=terms):
        call()
    same(vmap(lambda v: v + 1)(pb.zeros(2)), pb.ones(2))


def test_data_dependent_control_flow_names_the_line() -> None:
    def branch(v: Any) -> Any:
        if v.sum() > 0:
            return v
        return -v

    with pytest.raises(RuntimeError, match=r"data-dependent control flow") as caught:
        vmap(branch)(values(3, 2))
    assert "test_vmap.py" in str(caught.value)


def test_item_names_the_line() -> None:
    with pytest.raises(RuntimeError, match=r"\.item\(\)|item\(\)") as caught:
        vmap(lambda v: v * v.sum().item())(values(3, 2))
    assert "test_vmap.py" in str(caught.value)


def test_exception_passes_through_and_leaves_the_stack_clean() -> None:
    class Mine(Exception):
        pass

    error = Mine("stop")

    def f(v: Any) -> Any:
        raise error

    with pytest.raises(Mine) as caught:
        vmap(grad(f))(values(3, 2))
    assert caught.value is error
    x = values(3)
    same(x * 2, x + x)
    same(grad(lambda v: (v * v).sum())(x), 2 * x)


def test_keyword_arguments_are_whole() -> None:
    """As in PyTorch, where `in_dims` speaks of positional arguments alone."""
    x, w = values(3, 2), values(3, 2)

    def f(v: Any, *, weight: Any, times: int = 1) -> Any:
        assert weight.shape == w.shape
        return (v * weight).sum() * times

    want = pb.stack([(row * w).sum() * 2 for row in x])
    same(vmap(f)(x, weight=w, times=2), want)
    same(vmap(f, chunk_size=2)(x, weight=w, times=2), want)
