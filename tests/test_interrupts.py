"""Long work hears that the user wants to stop, leaves nothing half-written, and keeps nothing waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

#: Calls that take seconds, each with what it needs. A child process runs them; none is let run to its end.
CASES = {
    "svd": ("a = pb.randn(3000, 3000)", "pb.linalg.svd(a)"),
    "svd of NumPy's memory": ("import numpy as np; a = pb.from_numpy(np.random.randn(3000, 3000))", "pb.linalg.svd(a)"),
    "svd under vmap and jvp": (
        "a = pb.randn(1, 2500, 2500)",
        "func.vmap(lambda x: func.jvp(pb.linalg.svdvals, (x,), (x,)))(a)",
    ),
    "eigh": ("a = pb.randn(3000, 3000); a = a + a.T", "pb.linalg.eigh(a)"),
    "inv": ("a = pb.randn(6000, 6000)", "pb.linalg.inv(a)"),
    "qr": ("a = pb.randn(4500, 4500)", "pb.linalg.qr(a)"),
    "matmul": ("a = pb.randn(7000, 7000)", "a @ a"),
    "matmul on one thread": ("pb.set_num_threads(1); a = pb.randn(5000, 5000)", "a @ a"),
    "matmul of integers": ("a = pb.ones(2500, 2500, dtype=pb.int64)", "a @ a"),
    "gradient of matmul": (
        "a = pb.randn(5000, 5000, requires_grad=True); y = (a @ a).sum()",
        "[y.backward(retain_graph=True) for _ in range(9)]",
    ),
    "sort": ("a = pb.rand(30_000_000)", "[pb.sort(a) for _ in range(9)]"),
    "conv2d": (
        "a = pb.randn(8, 64, 256, 256); w = pb.randn(128, 64, 3, 3)",
        "[F.conv2d(a, w) for _ in range(9)]",
    ),
    "pointwise": ("a = pb.rand(40_000_000)", "[pb.lgamma(a) for _ in range(99)]"),
    "outer sum": ("a = pb.rand(16_000)", "[a[:, None] + a for _ in range(99)]"),
    "scan": ("a = pb.rand(60_000_000)", "[pb.cumsum(a, 0) for _ in range(99)]"),
    "scatter_add": (
        "i = pb.randint(0, 40_000_000, (40_000_000,)); a = pb.rand(40_000_000)",
        "[a.scatter_add(0, i, a) for _ in range(99)]",
    ),
    "assignment": (
        "i = pb.randint(0, 40_000_000, (40_000_000,)); a = pb.rand(40_000_000)",
        "[a.__setitem__(i, a) for _ in range(99)]",
    ),
    "randperm": ("", "pb.randperm(100_000_000)"),
    "random numbers": ("", "[pb.randn(60_000_000) for _ in range(99)]"),
    "reduction": ("a = pb.rand(60_000_000)", "[a.var() for _ in range(999)]"),
    "tolist": ("a = pb.rand(30_000_000)", "a.tolist()"),
    "nested objects": ("import numpy as np; a = [[np.float32(1)] * 1000] * 30_000", "pb.tensor(a)"),
    "nested numbers": ("a = [[1.0] * 1000] * 100_000; b = [a, a]", "pb.tensor([b, b, b])"),
    "einsum": ("n = 600_000; a = pb.ones(8, 8)", "pb.einsum(','.join(['ij'] * n) + '->ij', *[a] * n)"),
    "draws": ("a = pb.rand(16_000_000)", "[pb.multinomial(a, 40_000_000, replacement=True) for _ in range(9)]"),
    "repr": ("a = pb.rand(3000, 3000); pb.set_printoptions(profile='full')", "repr(a)"),
    "rows": ("a = pb.rand(9_000_000)", "[list(a), a.unbind(), a.split(1)]"),
    "many parts": ("a = [pb.ones(1)] * 9_000_000", "[pb.cat(a), pb.stack(a)]"),
    "batched svd": ("a = pb.rand(400_000, 8, 8)", "pb.linalg.svd(a)"),
    "max_pool2d": ("a = pb.rand(4, 64, 512, 512)", "[F.max_pool2d(a, 3, 1, 1) for _ in range(9)]"),
    "hessian": ("a = pb.rand(8000)", "[func.hessian(lambda x: (x * x * x).sum())(a) for _ in range(9)]"),
    "chunks of vmap": ("a = pb.rand(1_000_000, 4)", "func.vmap(lambda v: v.sin().sum(), chunk_size=1)(a)"),
    "pytree": ("t = [1.0]\nfor _ in range(60): t = [t, t]", "pytree.tree_leaves(t)"),
    "nested duals": (
        "f = lambda x: x * x\nfor _ in range(40): f = (lambda g: lambda x: func.jvp(g, (x,), (x,))[1])(f)",
        "f(pb.tensor(2.0))",
    ),
}
CHILD = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pullback as pb
import pullback.nn.functional as F
from pullback import func
from pullback.utils import pytree

{setup}
def work():
    print("begun", flush=True)
    return {call}
try:
    kept = work()
    print("finished", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
x = pb.eye(50)
print(bool(((x @ x) == x).all()), bool(pb.linalg.svdvals(x).sub(1).abs().max() < 1e-5), flush=True)
{after}
"""


def run(setup: str, call: str, after: str = "", *, stop: bool = True) -> list[str]:
    """What a child process prints that is told to stop a moment after its call began."""
    text = CHILD.format(setup=setup, call=call, after=after)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert p.stdout is not None
        begun = p.stdout.readline()
        if stop:
            time.sleep(0.3)
            p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=300)
    assert (begun, p.returncode) == ("begun\n", 0), (p.returncode, out, err[-2000:])
    return out.splitlines()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", CASES)
def test_long_work_stops_and_later_calls_work(name: str) -> None:
    assert run(*CASES[name]) == ["stopped", "True True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are listed in /proc")
def test_the_process_ends_while_abandoned_work_still_runs() -> None:
    after = """
names = [open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")]
import atexit
atexit.register(lambda: print("exit", flush=True))
print("pullback-apart" in names, flush=True)
sys.exit(0)
"""
    assert run("a = pb.randn(4000, 4000)", "pb.linalg.svd(a)", after) == ["stopped", "True True", "True", "exit"]


WRITES = {
    "add_": "a.add_(1)",
    "mul_ and sub_": "(a.mul_(3), a.sub_(a.detach() - 1))[0]",
    "out=": "pb.add(a, 1, out=a)",
    "assignment": "a.__setitem__(slice(None), a + 1)",
    "view": "a.view(-1)[:].add_(1)",
    "NumPy's memory": "b.add_(1)",
}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_done_or_not_begun(name: str) -> None:
    """Every write makes all elements alike: after an interrupt they still are, whichever write it met."""
    setup = "import numpy as np; a = pb.zeros(20_000_000); b = pb.from_numpy(np.zeros(20_000_000)); c = pb.zeros(1)"
    after = "print(bool(a.min() == a.max()), bool(b.min() == b.max()))"
    lines = run(setup, f"[{WRITES[name]} is None for _ in range(100_000)]", after)
    assert lines == ["stopped", "True True", "True True"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_a_handler_that_returns_lets_the_work_go_on() -> None:
    setup = """
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(float((pb.eye(3) @ pb.eye(3)).sum())))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
a = pb.randn(700, 700)
"""
    after = """
signal.setitimer(signal.ITIMER_REAL, 0)
(u, s, v), y = kept
print(bool(((u * s) @ v - a).abs().max() < 1e-2), bool((y[1:] >= y[:-1]).all()), set(calls) == {3.0})
"""
    call = "(pb.linalg.svd(a), pb.sort(pb.rand(5_000_000))[0])"
    lines = run(setup, call, after, stop=False)
    assert lines == ["finished", "True True", "True True True"]
