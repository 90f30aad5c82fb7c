"""Whatever structure a program hands in: an answer or an error, never the end of the process.

`PULLBACK_HOSTILE_CALLS` sets the number of random calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pullback as pb

SEED = 20261122
CALLS = int(os.environ.get("PULLBACK_HOSTILE_CALLS", "2500"))
PROGRAM = Path(__file__).resolve().parent / "support" / "hostile.py"


def test_random_structures_at_every_entrance() -> None:
    faults: list[str] = []
    first = 0
    while first < CALLS and len(faults) < 10:
        command = [sys.executable, str(PROGRAM), str(first), str(CALLS), str(SEED)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        faults += [line for line in lines if line.startswith("fault")]
        if lines and lines[-1] == "end":
            break
        numbers = [int(line) for line in lines if line.isdigit()]
        last = numbers[-1] if numbers else first
        faults.append(f"call {last} ended the process with {done.returncode}: {done.stderr[-2000:]}")
        first = last + 1
    assert not faults, f"seed {SEED}\n" + "\n".join(faults)


def test_lists_that_contain_themselves_say_so() -> None:
    a: list[object] = []
    a.append(a)
    for entrance in (pb.tensor, pb.as_tensor, pb.asarray, pb.ones(2).new_tensor):
        with pytest.raises(ValueError, match=r"too many dimensions 'list'.*contain themselves"):
            entrance(a)
    with pytest.raises(TypeError, match="nested deeper than"):
        pb.norm(pb.ones(2), dim=a)
    with pytest.raises(IndexError):
        pb.ones(2)[[a]]


def test_as_many_dimensions_as_pytorch_allows() -> None:
    x: object = 1.0
    for _ in range(128):
        x = [x]
    assert pb.tensor(x).ndim == 128
    with pytest.raises(ValueError, match="too many dimensions"):
        pb.tensor([x])


@pytest.mark.parametrize("leaf", [1.0, pb.ones(())], ids=["number", "tensor"])
def test_lists_that_hold_one_list_many_times_are_refused_by_their_size(leaf: object) -> None:
    x = [leaf]
    for _ in range(100):
        x = [x, x]
    with pytest.raises(RuntimeError, match="not enough memory"):
        pb.tensor(x)


def test_messages_that_quote_structures_have_a_limit() -> None:
    wide = {f"key {i}" + "x" * 90: pb.ones(()) for i in range(900)}
    other = {f"another key {i}" + "y" * 90: pb.ones(()) for i in range(900)}
    spec = pb.utils.pytree.tree_structure(wide)
    long = type("Long" * 5000, (), {})
    f = pb.func.custom_vjp(lambda x: x["key 0" + "x" * 90] * 2)
    f.defvjp(lambda x: (f(x), None), lambda saved, g: (other,))
    g = pb.func.custom_jvp(lambda x: wide)
    g.defjvp(lambda primals, tangents: (other, other))
    programs = {
        "gradient": lambda: pb.func.grad(f)(wide),
        "rule": lambda: pb.func.jvp(g, (pb.ones(()),), (pb.ones(()),)),
        "leaves": lambda: pb.utils.pytree.tree_unflatten([], spec),
        "trees": lambda: pb.utils.pytree.tree_map(lambda x, y: x, wide, other),
        "tangents": lambda: pb.func.jvp(lambda x: x, (wide,), (other,)),
        "in_dims": lambda: pb.vmap(lambda x: x, in_dims=(other,))(wide),
        "out_dims": lambda: pb.vmap(lambda x: wide, out_dims=other)(pb.ones(2)),
        "cotangents": lambda: pb.func.vjp(lambda x: wide, pb.ones(()))[1](other),
        "class": lambda: pb.tensor(long()),
        "operand": lambda: pb.zeros(long()),
        "keyword": lambda: pb.ones(2).sum(**{"k" * 50_000: 1}),
    }
    for name, run in programs.items():
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            run()
        assert len(str(caught.value)) < 8100, name


PROGRAMS = {
    "grad": "def f(x): return grad(f)(x)\nf(s)",
    "vmap": "def f(x): return vmap(f)(x[None])\nf(s[None])",
    "jvp": "def f(x): return jvp(f, (x,), (x,))[0]\nf(s)",
    "vjp": "def f(x): return vjp(f, x)[0]\nf(s)",
    "jacrev": "def f(x): return jacrev(f)(x)\nf(s)",
    "hessian": "def f(x): return hessian(f)(x)\nf(s)",
    "linearize": "def f(x): return linearize(f, x)[0]\nf(s)",
    "trace": "def f(x): return trace(f)(x)\nf(s)",
    "dual levels": "for _ in range(10**5): forward_ad.enter_dual_level()",
    "function": """
        class F(Function):
            @staticmethod
            def forward(ctx, x): return F.apply(x)
            @staticmethod
            def backward(ctx, g): return g
        F.apply(s.clone().requires_grad_())""",
    "function backward": """
        class F(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2
            @staticmethod
            def backward(ctx, g):
                with pb.enable_grad():
                    x = ctx.saved_tensors[0].detach().requires_grad_()
                    y = F.apply(x)
                return autograd.grad(y, x, g)[0]
        F.apply(s.clone().requires_grad_()).backward()""",
    "custom_vjp": """
        f = func.custom_vjp(lambda x: grad(f)(x))
        f.defvjp(lambda x: (f(x), x), lambda saved, g: g)
        grad(f)(s)""",
    "hook": """
        def h(g):
            with pb.enable_grad():
                t = pb.tensor(2.0, requires_grad=True)
                t.register_hook(h)
                (t * t).backward()
        h(s)""",
    "checkpoint": """
        from pullback.utils.checkpoint import checkpoint
        def f(x): return checkpoint(f, x, use_reentrant=False)
        f(s.clone().requires_grad_())""",
    "tree_map": "def f(x): return pytree.tree_map(f, x)\nf(1)",
    "is_leaf": "def f(x): return pytree.tree_map(str, [x], is_leaf=f)\nf(1)",
    "flatten": """
        class N: pass
        pytree.register_pytree_node(N, lambda n: (pytree.tree_leaves(n), None), lambda c, _: N())
        pytree.tree_leaves(N())""",
    "own node": """
        class N: pass
        pytree.register_pytree_node(N, lambda n: ([n], None), lambda c, _: N())
        pytree.tree_leaves(N())""",
    "iter": """
        class A:
            def __iter__(self): return iter(pb.tensor(self))
        pb.tensor(A())""",
    "array": """
        class A:
            def __array__(self, *a, **k): return pb.tensor([self]).numpy()
        pb.tensor(A())""",
    "index": """
        class A:
            def __index__(self): return pb.zeros(3)[self]
        pb.zeros(3)[A()]""",
    "deepcopy of gradients of gradients": """
        y = pb.ones(2)
        for _ in range(20000):
            z = pb.ones(2)
            z.grad = y
            y = z
        copy.deepcopy(y)""",
}
HEAD = """
import copy, sys, threading
import pullback as pb
from pullback import autograd, func
from pullback.autograd import Function, forward_ad
from pullback.func import grad, hessian, jacrev, jvp, linearize, trace, vjp, vmap
from pullback.utils import pytree
s = pb.tensor(2.0)
sys.setrecursionlimit({limit})
def program():
{program}
def run():
    try:
        program()
        print("no error")
    except (RuntimeError, IndexError, TypeError) as e:
        print(type(e).__name__)
threading.stack_size({stack})
t = threading.Thread(target=run)
t.start()
t.join()
"""


@pytest.mark.parametrize("stack", [8 << 20, 512 << 10])
@pytest.mark.parametrize("limit", [1000, 10**6])
@pytest.mark.parametrize("name", PROGRAMS)
def test_endless_recursion_is_an_error(name: str, limit: int, stack: int) -> None:
    if (limit, stack) == (1000, 8 << 20) and name not in ("grad", "jvp", "vmap"):
        pytest.skip("the interpreter's own limit, which the other cases go beyond")
    program = textwrap.indent(textwrap.dedent(PROGRAMS[name]).strip(), "    ")
    text = HEAD.format(limit=limit, program=program, stack=stack)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-1000:])
    assert done.stdout.strip() in ("RecursionError", "RuntimeError", "IndexError", "TypeError")


CHAINS = {
    "graph": "y = pb.ones(2, requires_grad=True)\nfor _ in range(N): y = y + 1\ny.sum().backward()",
    "gradients": "y = pb.ones(2)\nfor _ in range(N):\n    z = pb.ones(2); z.grad = y; y = z",
    "views": "y = pb.ones(3)\nfor _ in range(N): y = y[:]\ny.add_(1)",
    "bits": "y = pb.ones(3)\nfor _ in range(N): y = y.view(pb.int32)\ny.view(pb.float32).add_(1)",
    "data": "y = pb.ones(3)\nfor _ in range(N): y = y.data\ny.add_(1)",
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains_are_read_and_dropped(name: str) -> None:
    text = f"import pullback as pb\nN = 100_000\n{CHAINS[name]}\nprint(y.numel())\ndel y"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip() in ("2", "3")) == (0, True), done.stderr[-1000:]


def test_levels_up_to_the_limit_work_and_one_more_says_so() -> None:
    f = lambda x: x * 2
    for _ in range(127):
        f = pb.vmap(f)
    x = pb.ones((1,) * 127)
    assert f(x).shape == x.shape
    with pytest.raises(RecursionError, match="nested deeper than 127 levels"):
        pb.vmap(f)(x[None])


def test_nested_duals_share_their_parts() -> None:
    def f(x: pb.Tensor, n: int) -> pb.Tensor:
        return x if n == 0 else pb.func.jvp(lambda v: f(v, n - 1), (x,), (x,))[0]

    assert f(pb.tensor(2.0), 100).item() == 2.0
