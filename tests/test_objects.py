"""Memory of freed tensors is used again: nothing of the old tensor may show in the new one."""

import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

import pullback as torch


def traces(x: torch.Tensor) -> tuple[object, ...]:
    return x.requires_grad, x.grad, x.grad_fn, x.is_leaf, x._version, x._base, weakref.getweakrefcount(x)


def make(kind: int) -> torch.Tensor:
    x = torch.tensor([1.0, 2.0], requires_grad=kind % 2 == 1)
    if kind == 1:
        (x * 2).sum().backward()
    if kind == 2:
        x.mul_(2)[0] = 5.0
    if kind == 3:
        x = x.exp()
    return x


@pytest.mark.parametrize("kind", range(4))
def test_a_new_tensor_has_no_traces_of_old_ones(kind: int) -> None:
    expected = traces(torch.tensor([3.0]))
    gone: list[object] = []
    for _ in range(3):
        old = [make(kind) for _ in range(100)]
        watched = [weakref.ref(x, gone.append) for x in old]
        places = {id(x) for x in old}
        del old
        assert all(w() is None for w in watched)
        new = [torch.tensor([3.0]) for _ in range(100)]
        assert places & {id(x) for x in new}
        for x in new:
            assert traces(x) == expected
            assert gc.is_tracked(x)
            assert sys.getrefcount(x) == 3
            assert type(x) is torch.Tensor
            assert x.tolist() == [3.0]
    assert len(gone) == 300


def test_subclasses_keep_their_memory() -> None:
    class Slim(torch.Tensor):
        __slots__ = ()

    class Named(torch.Tensor):
        label = "none"

    for _ in range(200):
        slim, named, plain = Slim([1.0]), Named([2.0]), torch.tensor([3.0])
        assert [type(x) for x in (slim, named, plain)] == [Slim, Named, torch.Tensor]
        named.label = plain.label = "mine"  # type: ignore[attr-defined]
        assert [x.item() for x in (slim, named, plain)] == [1.0, 2.0, 3.0]


def test_the_collector_may_run_while_objects_of_subclasses_are_made() -> None:
    code = """
        import gc
        import pullback as torch

        class Named(torch.Tensor): ...
        class Thrice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.factor = 3
                return x * 3
            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor

        x, w = torch.ones(3), torch.ones(3, requires_grad=True)
        kept = []
        gc.set_threshold(1, 1, 1)
        for i in range(300):
            # Dicts that are kept: the interpreter's own store of them is empty.
            kept += [Named([1.0, 2.0]), x.as_subclass(Named), Named.__new__(Named), {i: i}]
            y = Thrice.apply(w)
            kept += [y, y.grad_fn, y.sin().grad_fn, y.sum().grad_fn.next_functions]
        print("well")
    """
    code = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_cycles_through_tensors_are_collected() -> None:
    class Holder:
        tensor: torch.Tensor

    alive = []
    for _ in range(100):
        holder = Holder()
        holder.tensor = torch.tensor([1.0], requires_grad=True)
        holder.tensor.register_hook(lambda g, holder=holder: g)
        alive.append(weakref.ref(holder))
        del holder
        torch.tensor([2.0])
    gc.collect()
    assert not any(a() for a in alive)


def test_threads_make_and_free_tensors_of_each_other() -> None:
    lists: list[list[torch.Tensor]] = [[] for _ in range(4)]
    errors = []

    def work(k: int) -> None:
        for n in range(300):
            lists[k].append(torch.tensor([float(n)]) + 1)
            other = lists[(k + 1) % 4]
            if len(other) > 20:
                x = other.pop()
                if x.numel() != 1 or x.item() < 1:
                    errors.append(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_threads_and_forks_have_levels_of_their_own() -> None:
    """Imported on the first thread or another, and in children of forks: every thread has its own transforms."""
    program = """
        import os, threading
        if {elsewhere}:
            t = threading.Thread(target=__import__, args=("pullback",)); t.start(); t.join()
        import pullback as torch
        f = lambda x: (x**3).sum()
        def check():
            x = torch.tensor([1.0, 2.0])
            for _ in range(20):
                assert torch.func.grad(f)(x).tolist() == [3.0, 12.0]
        def inside(x):
            threads = [threading.Thread(target=check) for _ in range(3)]
            for t in threads: t.start()
            check()
            for t in threads: t.join()
            return f(x)
        def forked():
            pid = os.fork()
            if pid == 0:
                check(); threads = [threading.Thread(target=check) for _ in range(3)]
                for t in threads: t.start()
                for t in threads: t.join()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert torch.func.grad(inside)(torch.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]
        forked()
        t = threading.Thread(target=forked); t.start(); t.join()
        check()
        print("right")
    """
    for elsewhere in (False, True):
        code = textwrap.dedent(program).format(elsewhere=elsewhere)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        assert (done.stdout.strip(), done.returncode) == ("right", 0), done.stderr


# What the interpreter still holds when it ends, and frees while it no longer counts as running.
LEFT = {
    "cycle": "def f(): return y",
    "graph": "z = (y * 2).sum()\ndef f(): return z",
    "gradient": "(y * y).sum().backward()\ndef f(): return y, y.grad",
    "hook": "y.register_hook(lambda g: g)\nz = y.exp()\ndef f(): return z",
    "transform": "g = pb.func.vmap(pb.func.grad(lambda v: (v * y).sum()))\ng(pb.ones(3, 2))\ndef f(): return g",
    "function": (
        "class F(pb.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x): ctx.kept = f; ctx.save_for_backward(x); return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, g): return g\n"
        "def f(): return z\n"
        "z = F.apply(y)"
    ),
    "module": "import builtins\nz = y.sin()\nbuiltins.kept = [z, z[0], pb.func.vjp(pb.sin, y)]\nkept.append(kept)",
    "error": "z = y.exp()\ndef f(): return z\nraise KeyError(1)",
}


@pytest.mark.parametrize("uses", ["nothing", "operators"])
@pytest.mark.parametrize("left", LEFT)
def test_the_interpreter_ends_well(left: str, uses: str) -> None:
    start = "import pullback as pb\ny = pb.ones(2, requires_grad=True)\n"
    more = "x = pb.ones(2)\nfor _ in range(3): x = (x + 1).exp()\n" if uses == "operators" else ""
    code = start + more + LEFT[left]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (1 if left == "error" else 0), done.stderr
    assert "panicked" not in done.stderr, done.stderr
