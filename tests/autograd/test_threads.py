"""Long sweeps: depth, other threads, signals."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


def chain(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + 1
    return x


def in_threads(n: int, f: Any) -> None:
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            f(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_a_deep_graph() -> None:
    x = leaf(1.0)
    y = chain(x, 250_000)
    y.backward()
    same(x.grad, pb.ones(1, dtype=pb.float64))
    del y


def test_a_long_chain_of_contexts_that_hold_tensors() -> None:
    class Add(pb.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.inputs = [inputs]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = Add.apply(y)
    y.backward()
    same(x.grad, pb.ones(1, dtype=pb.float64))
    del y


def test_threads_accumulate_every_gradient() -> None:
    x = leaf(0.0, 0.0)
    shared = (x * x + x).sum()

    def run(i: int) -> None:
        for _ in range(100):
            (x * 2).sum().backward()
            shared.backward(retain_graph=True)

    in_threads(4, run)
    assert x.grad.tolist() == [1200.0, 1200.0]


def test_only_one_of_many_threads_frees_a_graph() -> None:
    x = leaf(2.0)
    for _ in range(50):
        x.grad = None
        y = (x * x).sum()
        failed: list[str] = []

        def run(i: int, y: Any = y, failed: list[str] = failed) -> None:
            try:
                y.backward()
            except RuntimeError as error:
                failed.append(str(error))

        in_threads(3, run)
        assert len(failed) == 2 and all("second time" in text for text in failed)
        assert x.grad.tolist() == [4.0]


def test_large_gradients_in_threads() -> None:
    xs = [pb.ones(300_000, dtype=pb.float64, requires_grad=True) for _ in range(3)]

    def run(i: int) -> None:
        for _ in range(5):
            (xs[i].exp() * xs[i]).sum().backward()

    in_threads(3, run)
    for x in xs:
        assert abs(x.grad[7].item() - 10 * 2.718281828459045) < 1e-9


def test_modes_and_hooks_belong_to_their_thread() -> None:
    def run(i: int) -> None:
        x = leaf(float(i))
        for _ in range(50):
            with (
                pb.set_grad_enabled(i % 2 == 0),
                pb.autograd.graph.saved_tensors_hooks(lambda t: (i, t), lambda p: p[1]),
            ):
                y = x * x
            assert y.requires_grad is (i % 2 == 0)
            if y.requires_grad:
                y.sum().backward()

    in_threads(4, run)


def test_other_threads_run_during_a_long_sweep() -> None:
    ticks, stop = [0], threading.Event()
    # A thread asks for its turn when it has waited so long; the usual 5 ms are a good part of this sweep.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    seen: dict[str, int] = {}
    x = leaf(1.0)
    x.register_hook(lambda g: seen.update(last=ticks[0]))
    y = chain(x, 600_000)
    y.register_hook(lambda g: seen.update(first=ticks[0]))
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        y.backward()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert seen["last"] - seen["first"] >= 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
def test_a_long_sweep_can_be_interrupted() -> None:
    x = leaf(1.0)
    ends: list[Any] = []
    x.register_hook(ends.append)
    y = chain(x, 150_000)

    def start(g: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    y.register_hook(start)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            y.backward()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not ends and x.grad is None
