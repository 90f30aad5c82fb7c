"""Tensors that several processes see: `share_memory_()`."""

import multiprocessing
from typing import Any

import pytest

import pullback as pb


def work(t: Any, p: Any, queue: Any, taken: Any) -> None:
    t.add_(1)
    with pb.no_grad():
        p.mul_(3)
    queue.put(t)
    taken.wait(60)


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes_see_what_others_write(how: str) -> None:
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no such way to start a process")
    context: Any = multiprocessing.get_context(how)
    t = pb.arange(6.0).share_memory_()
    p = pb.nn.Parameter(pb.ones(2, 3))
    assert p.share_memory_() is p and p.requires_grad and p.is_leaf
    queue, taken = context.Queue(), context.Event()
    process = context.Process(target=work, args=(t, p, queue, taken))
    process.start()
    back = queue.get(timeout=120)
    taken.set()
    process.join()
    assert process.exitcode == 0
    assert t.tolist() == back.tolist() == [1, 2, 3, 4, 5, 6] and p.tolist() == [[3.0] * 3] * 2
    back.zero_()
    assert back.is_shared() and not t.any()


def test_steps_of_optimisers_stay_in_shared_memory() -> None:
    m = pb.nn.BatchNorm1d(3)
    assert m.share_memory() is m
    tensors = [*m.parameters(), *m.buffers()]
    places = [t.data_ptr() for t in tensors]
    for optimizer in (pb.optim.SGD(m.parameters(), 0.1), pb.optim.Adam(m.parameters(), 0.1)):
        m(pb.rand(4, 3)).square().sum().backward()
        before = m.weight.tolist()
        optimizer.step()
        assert m.weight.tolist() != before
    assert all(t.is_shared() and t.storage().is_shared() for t in tensors)
    assert [t.data_ptr() for t in tensors] == places


@pytest.mark.parametrize("dtype", [pb.float16, pb.int64, pb.bool, pb.complex64])
def test_elements_stay_what_they_are(dtype: Any) -> None:
    x = pb.tensor([[1, 0, 2], [0, 3, 4]]).to(dtype)
    y = x.clone().share_memory_()
    assert y.is_shared() and y.dtype == dtype and pb.equal(x, y)
    assert y.share_memory_() is y and y[1:].is_shared() and not x.is_shared()
    assert not y.clone().is_shared()


def test_parts_of_other_memory_are_refused() -> None:
    for part in (pb.rand(4)[1:], pb.rand(2, 3).t()):
        with pytest.raises(RuntimeError, match="share the tensor that it is a view of, or its clone"):
            part.share_memory_()
    assert pb.ones(0).share_memory_().shape == (0,)
