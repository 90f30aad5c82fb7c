"""The gradient beside a Hessian-vector product waits until it is read, and is the same whenever that is."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import Tensor
from pullback.func import grad, jvp, vjp, vmap

SIZE = 80


def normal(*shape: int) -> Tensor:
    return pullback.tensor(np.random.default_rng(sum(shape)).normal(size=shape))


def loss(w: Tensor, x: Tensor) -> Tensor:
    return pullback.tanh(pullback.nn.functional.linear(x, w)).square().sum()


def products(x: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    gradient, product = jvp(grad(lambda w: loss(w, x)), (w,), (v,))
    return gradient, product


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor]:
    return normal(20, SIZE), normal(SIZE, SIZE), normal(SIZE, SIZE).flip(0)


def test_bits_of_the_gradient(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    gradient, product = products(x, w, v)
    alone = grad(lambda w: loss(w, x))(w)
    assert gradient.shape == alone.shape
    assert gradient.dtype == alone.dtype
    assert gradient.stride() == alone.stride()
    assert pullback.equal(gradient, alone)
    h = 1e-6
    slope = (grad(lambda w: loss(w, x))(w + h * v) - grad(lambda w: loss(w, x))(w - h * v)) / (2 * h)
    pullback.testing.assert_close(product, slope, rtol=1e-5, atol=1e-6)


def add_in_place(x: Tensor) -> None:
    x += 1


def write_index(x: Tensor) -> None:
    x[3] = 7.0


def write_through_numpy(x: Tensor) -> None:
    x.numpy()[...] = 0


def write_through_dlpack(x: Tensor) -> None:
    np.from_dlpack(x)[...] = 0


def write_data(x: Tensor) -> None:
    x.data.fill_(3.0)


WRITES = [add_in_place, write_index, write_through_numpy, write_through_dlpack, write_data]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("which", [0, 1], ids=["data", "parameter"])
def test_later_writes_do_not_reach_it(write: Any, which: int, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = (t.clone() for t in inputs)
    expected = grad(lambda w: loss(w, x))(w).clone()
    gradient, _ = products(x, w, v)
    try:
        write((x, w)[which])
    except BufferError:
        pytest.skip("this NumPy takes no writable memory")
    except ValueError as e:
        assert "read-only" in str(e)
    assert pullback.equal(gradient, expected)


@pytest.mark.parametrize("share", ["numpy()", "from_numpy"])
def test_memory_that_others_write_to_is_read_at_once(share: str, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    memory = x.numpy() if share == "numpy()" else np.array(x.tolist())
    x = x if share == "numpy()" else pullback.from_numpy(memory)
    expected = grad(lambda w: loss(w, x))(w).clone()
    gradient, _ = products(x, w, v)
    memory[...] = 0
    assert pullback.equal(gradient, expected)


def test_memory_that_only_the_tensor_has(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    expected = grad(lambda w: loss(w, x))(w).clone()
    lent = pullback.from_numpy(np.array(x.tolist()))
    gradient, _ = products(lent, w, v)
    lent.numpy()[...] = 0
    assert lent.sum() == 0
    assert pullback.equal(gradient, expected)
    other, _ = products(pullback.from_numpy(np.array(x.tolist())), w, v)
    gc.collect()
    assert pullback.equal(other, expected)


def test_views_and_writes_of_the_gradient(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    expected = grad(lambda w: loss(w, x))(w).clone()
    gradient, _ = products(x, w, v)
    view = gradient[2:4]
    gradient.mul_(2)
    assert pullback.equal(view, 2 * expected[2:4])
    assert pullback.equal(gradient, 2 * expected)
    other, _ = products(x, w, v)
    other.numpy()[0, 0] = 5.0
    assert other[0, 0] == 5.0
    assert other.data_ptr() != products(x, w, v)[0].data_ptr()


def test_threads_that_read_at_once(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    expected = grad(lambda w: loss(w, x))(w).clone()
    with ThreadPoolExecutor(4) as readers:
        for _ in range(20):
            gradient, _ = products(x, w, v)
            seen = [readers.submit(pullback.equal, gradient, expected) for _ in range(4)]
            assert all(s.result() for s in seen)


def test_what_it_holds_is_given_back(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    gradient, _ = products(x, w, v)
    gradient.sum()
    before = x.data_ptr()
    alive = weakref.ref(gradient)
    del gradient
    gc.collect()
    assert alive() is None
    assert x.data_ptr() == before


def test_it_may_be_saved_copied_and_differentiated_on(inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    expected = grad(lambda w: loss(w, x))(w)
    gradient, _ = products(x, w, v)
    assert pullback.equal(gradient.clone(), expected)
    w2 = products(x, w, v)[0].requires_grad_()
    (w2 * w).sum().backward()
    assert pullback.equal(w2.grad, w)  # type: ignore[arg-type]
    again, _ = products(x, w, v)
    back = vjp(lambda g: g @ w, again)[1](pullback.ones(SIZE, SIZE, dtype=w.dtype))[0]
    assert back.shape == w.shape
    assert pullback.equal(vmap(lambda row: row * 2)(products(x, w, v)[0]), 2 * expected)
    assert pullback.equal(products(x, w, v)[0].view(-1), expected.view(-1))
    assert pullback.equal(products(x, w, v)[0].t(), expected.t())


@pytest.mark.parametrize("outer", ["jvp of jvp", "vmap of jvp", "jvp of vmap", "grad of jvp"])
def test_in_stacks(outer: str, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    x, w, v = inputs
    gradient = grad(loss)
    first = lambda w: jvp(lambda w: gradient(w, x), (w,), (v,))[0]
    if outer == "jvp of jvp":
        got, along = jvp(first, (w,), (v,))
        assert pullback.equal(along, products(x, w, v)[1])
    elif outer == "vmap of jvp":
        got = vmap(first)(pullback.stack([w, w]))[1]
    elif outer == "jvp of vmap":
        rows = pullback.stack([x, x + 1])
        got, _ = jvp(lambda w: vmap(gradient, (None, 0))(w, rows), (w,), (v,))
        pullback.testing.assert_close(got[1], gradient(w, x + 1))
        got = got[0]
    else:
        twice = grad(lambda w: (first(w) * v).sum())(w)
        pullback.testing.assert_close(twice, products(x, w, v)[1])
        got = first(w)
    pullback.testing.assert_close(got, gradient(w, x))
