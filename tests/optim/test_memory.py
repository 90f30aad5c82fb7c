"""Steps write where the parameter is: what shares its memory sees them, what saved its value does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import optim


def stepped(p: Any, gradient: Any = None, **options: Any) -> Any:
    p.grad = pb.ones(*p.shape, dtype=p.dtype) if gradient is None else gradient
    optimizer = optim.SGD([p], **{"lr": 0.5, **options})
    optimizer.step()
    return optimizer


SIZES = [3, 1000]


@pytest.mark.parametrize("n", SIZES)
def test_numpy_sees_the_step(n: int) -> None:
    a = np.arange(float(n), dtype=np.float32)
    before = a.copy()
    p = pb.from_numpy(a).requires_grad_()
    stepped(p)
    assert np.array_equal(a, before - 0.5)
    assert p.tolist() == a.tolist()
    q = pb.zeros(n, requires_grad=True)
    shown = q.detach().numpy()
    stepped(q)
    assert (shown == -0.5).all()


def test_strided_memory_of_numpy() -> None:
    a = np.arange(24.0).reshape(4, 6)
    before = a.copy()
    p = pb.from_numpy(a[::2, ::3].T).requires_grad_()
    g = pb.arange(4.0, dtype=pb.float64).reshape(2, 2)
    stepped(p, g, lr=1.0)
    before[::2, ::3] -= g.numpy().T
    assert np.array_equal(a, before)


@pytest.mark.parametrize("n", SIZES)
def test_views_and_handles_see_the_step(n: int) -> None:
    p = pb.arange(float(n)).requires_grad_()
    part, handle, data = p[1:3], p.detach(), p.data
    version = p._version
    stepped(p)
    wanted = pb.arange(float(n)) - 0.5
    for seen, of in ((part.detach(), wanted[1:3]), (handle, wanted), (data, wanted), (p.detach(), wanted)):
        assert seen.tolist() == of.tolist()
    assert p._version > version and handle._version == p._version
    assert p.is_leaf and p.requires_grad


def test_a_parameter_that_is_part_of_a_tensor() -> None:
    base = pb.zeros(4, 5)
    p = base[1:3, ::2].detach().requires_grad_()
    stepped(p, pb.arange(6.0).reshape(2, 3), lr=1.0)
    wanted = pb.zeros(4, 5)
    wanted[1:3, ::2] = -pb.arange(6.0).reshape(2, 3)
    assert base.tolist() == wanted.tolist()
    q = base.t().detach().requires_grad_()
    stepped(q, pb.ones(5, 4))
    assert base.tolist() == (wanted - 0.5).tolist()


@pytest.mark.parametrize("n", SIZES)
def test_saved_values_stay(n: int) -> None:
    """A graph that is still alive has the values of its forward pass."""
    p = pb.arange(float(n)).requires_grad_()
    old = p.detach().clone()
    copy = p * 1
    cube = (p**3).sum()
    stepped(p)
    assert copy.tolist() == old.tolist()
    p.grad = None
    cube.backward()
    assert p.grad.tolist() == (3 * old**2).tolist()


@pytest.mark.parametrize("n", SIZES)
def test_the_gradient_may_be_the_parameter(n: int) -> None:
    p = pb.arange(float(n)).requires_grad_()
    stepped(p, p.detach())
    assert p.tolist() == (pb.arange(float(n)) * 0.5).tolist()
    a = np.arange(float(n + 1))
    p, g = pb.from_numpy(a[:-1]).requires_grad_(), pb.from_numpy(a[1:])
    stepped(p, g, lr=1.0)
    assert p.tolist() == [-1.0] * n


class Weight(pb.Tensor):
    """A class of parameters."""


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("keep", [False, True])
def test_parameters_made_of_other_tensors(n: int, keep: bool) -> None:
    """With or without the tensor that it was made of, whose memory it has."""
    source = pb.arange(float(n))
    p = source.detach().as_subclass(Weight).requires_grad_()
    program = pb.func.trace(lambda x: x + p)(pb.zeros(n)) if n == 3 else None
    kept = source if keep else None
    del source
    optimizer = optim.Adam([p], lr=0.5)
    versions = [p._version]
    for _ in range(3):
        before = p.detach().clone()
        p.grad = pb.ones(n)
        optimizer.step()
        versions.append(p._version)
        assert pb.allclose(p.detach(), before - 0.5, atol=1e-5)
        assert kept is None or kept.tolist() == p.tolist()
        assert program is None or program(pb.zeros(n)).tolist() == p.tolist()
    assert versions == sorted(set(versions))
    view, handle = p.detach()[1:], p.detach()
    with pb.no_grad():
        p.mul_(2)
    optimizer.step()
    assert view.tolist() == p.tolist()[1:] and handle.tolist() == p.tolist()
    assert type(p) is Weight and p.is_leaf and (p[1:]._base is p)
    (p * p).sum().backward()
    assert p.grad.shape == (n,)


@pytest.mark.parametrize("n", SIZES)
def test_gradients_that_were_changed_by_another_handle(n: int) -> None:
    p = pb.zeros(n, requires_grad=True)
    p.grad = pb.ones(n)
    handle = p.grad.detach()
    optimizer = optim.SGD([p], lr=1.0)
    for k in (2, 3):
        handle.fill_(k)
        optimizer.step()
    assert p.tolist() == [-5.0] * n and handle.tolist() == [3.0] * n


@pytest.mark.parametrize("dtype", [pb.float32, pb.float16, pb.complex64])
def test_memory_of_states_and_parameters_is_used_again(dtype: Any) -> None:
    p = pb.ones(5000, dtype=dtype).requires_grad_()
    p.grad = pb.ones(5000, dtype=dtype)
    optimizer = optim.Adam([p])
    optimizer.step()
    state = optimizer.state[p]
    places = [t.data_ptr() for t in (p, state["exp_avg"], state["exp_avg_sq"])]
    for _ in range(3):
        optimizer.step()
    assert places == [t.data_ptr() for t in (p, state["exp_avg"], state["exp_avg_sq"])]
    assert state["step"].item() == 4


def test_what_cannot_be_written_is_refused() -> None:
    p = pb.zeros(1).expand(3).detach().requires_grad_()
    with pytest.raises(RuntimeError, match="single memory location"):
        stepped(p)
    a = np.ones(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning):
        p = pb.from_numpy(a).requires_grad_()
    try:
        stepped(p)
    except RuntimeError as error:
        assert "read-only" in str(error)
    assert (a == 1).all()


def test_states_that_do_not_fit_are_refused() -> None:
    p = pb.ones(3, requires_grad=True)
    optimizer = stepped(p, momentum=0.9)
    before = p.tolist()
    buffers: list[tuple[Any, str]] = [
        (pb.ones(4), r"state shape \[4\]"),
        (pb.ones(3, dtype=pb.float64), "dtype float64"),
        (p, "different tensors"),
        (p.detach(), "share memory"),
        ("text", "must be Tensor, not str"),
    ]
    for buffer, words in buffers:
        optimizer.state[p]["momentum_buffer"] = buffer
        with pytest.raises((RuntimeError, TypeError), match=words):
            optimizer.step()
        assert p.tolist() == before
    a = np.ones(4, dtype=np.float32)
    p, buffer = pb.from_numpy(a[:3]).requires_grad_(), pb.from_numpy(a[1:])
    optimizer = stepped(p, momentum=0.9)
    optimizer.state[p]["momentum_buffer"] = buffer
    with pytest.raises(RuntimeError, match="share memory"):
        optimizer.step()
    optimizer.state[p].clear()
    optimizer = optim.Adam([p])
    p.grad = pb.ones(3)
    optimizer.step()
    del optimizer.state[p]["exp_avg_sq"]
    with pytest.raises(RuntimeError, match="exp_avg_sq"):
        optimizer.step()


def test_a_failed_step_leaves_tensors_whole() -> None:
    p, q = pb.ones(1000, requires_grad=True), pb.ones(2, requires_grad=True)
    p.grad, q.grad = pb.ones(1000), pb.ones(2)
    optimizer = optim.Adam([p, q])
    optimizer.step()
    optimizer.state[p]["exp_avg"] = pb.ones(999)
    square = optimizer.state[p]["exp_avg_sq"].tolist()
    with pytest.raises(RuntimeError, match="adam"):
        optimizer.step()
    assert optimizer.state[p]["exp_avg_sq"].tolist() == square
    assert p.numel() == 1000 and optimizer.state[p]["step"].item() == 1


def test_integers_are_refused() -> None:
    p = pb.ones(3, dtype=pb.int64)
    p.grad = pb.ones(3, dtype=pb.int64)
    with pytest.raises(RuntimeError, match="floating point or complex"):
        optim.SGD([p], lr=1).step()


def test_empty_and_scalar_parameters() -> None:
    p, q = pb.zeros(0, 3, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    p.grad, q.grad = pb.zeros(0, 3), pb.tensor(1.0)
    for make in (optim.Adam, optim.RMSprop, optim.Rprop, optim.ASGD):
        optimizer = make([p, q], lr=0.1)
        optimizer.step()
        assert optimizer.state[q]["step"].item() == 1
    assert p.shape == (0, 3) and q.item() < 2.0


def test_many_threads_give_the_same_bits() -> None:
    runs = []
    threads = pb.get_num_threads()
    try:
        for n in (1, 3):
            pb.set_num_threads(n)
            p = pb.sin(pb.arange(100_000.0)).requires_grad_()
            optimizer = optim.NAdam([p], lr=0.1)
            for k in range(3):
                p.grad = pb.cos(pb.arange(100_000.0) * (k + 1))
                optimizer.step()
            runs.append(p.tolist())
    finally:
        pb.set_num_threads(threads)
    assert runs[0] == runs[1]
