"""Who keeps what alive: cycles through hooks, contexts and gradients are collected, and nothing that is needed is."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


@pytest.fixture(autouse=True)
def only_on_demand() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Classic(pb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        y = x * 2
        ctx.kept = [x, y]
        ctx.me = ctx
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


class Separate(pb.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.kept = [inputs, output]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


class Holder:
    """Something in the cycle that can be watched."""

    tensor: Any


def hook_of_a_tensor() -> Any:
    y, h = leaf(1.0) * 2, Holder()
    h.tensor = y
    y.register_hook(lambda g, h=h: None)
    return h


def hook_of_a_leaf() -> Any:
    x, h = leaf(1.0), Holder()
    h.tensor = x
    x.register_hook(lambda g, h=h: None)
    return h


def hook_after_accumulation() -> Any:
    x, h = leaf(1.0), Holder()
    h.tensor = x
    x.register_post_accumulate_grad_hook(lambda p, h=h: None)
    return h


def hook_of_a_node() -> Any:
    y, h = leaf(1.0).exp(), Holder()
    h.tensor = y
    y.grad_fn.register_hook(lambda i, o, h=h: None)
    y.grad_fn.register_prehook(lambda o, h=h: None)
    return h


def hook_that_keeps_its_node() -> Any:
    y, h = leaf(1.0).exp(), Holder()
    h.tensor = y.grad_fn
    y.grad_fn.register_hook(lambda i, o, h=h: None)
    return h


def metadata_of_a_node() -> Any:
    y, h = leaf(1.0) * 2, Holder()
    h.tensor = y
    y.grad_fn.metadata["h"] = h
    return h


def hook_of_a_viewed_tensor() -> Any:
    y, h = leaf(1.0, 2.0) * 2, Holder()
    h.tensor = y[0]
    y[1].mul_(3)
    h.tensor.register_hook(lambda g, h=h: None)
    return h


def hook_below_a_long_graph() -> Any:
    y, h = leaf(1.0) * 2, Holder()
    y.register_hook(lambda g, h=h: None)
    for _ in range(50):
        y = y * y + y
    h.tensor = y
    return h


def packed_tensors() -> Any:
    x, h = leaf(2.0), Holder()
    with pb.autograd.graph.saved_tensors_hooks(lambda t: (h, t), lambda p: p[1]):
        h.tensor = x * x
    return h


def gradient_that_holds_its_tensor() -> Any:
    x, h = leaf(1.0), Holder()
    h.tensor = x
    (x * x).sum().backward(create_graph=True)
    x.grad.register_hook(lambda g, h=h: None)
    return h


def argument_of_a_function() -> Any:
    class Pass(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, h: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    h = Holder()
    h.tensor = Pass.apply(leaf(1.0), h)
    return h


CYCLES = [
    hook_of_a_tensor,
    hook_of_a_leaf,
    hook_after_accumulation,
    hook_of_a_node,
    hook_that_keeps_its_node,
    metadata_of_a_node,
    hook_of_a_viewed_tensor,
    hook_below_a_long_graph,
    packed_tensors,
    gradient_that_holds_its_tensor,
    argument_of_a_function,
]


@pytest.mark.parametrize("make", CYCLES, ids=lambda f: f.__name__)
def test_cycles_are_collected(make: Callable[[], Any]) -> None:
    holder = make()
    gone = weakref.ref(holder)
    gc.collect()
    assert gone() is holder and holder.tensor is not None
    del holder
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("function", [Classic, Separate])
def test_contexts_that_hold_tensors_are_collected(function: Any) -> None:
    y = function.apply(leaf(1.0))
    watched: list[Any] = []

    class Probe:
        pass

    class Probed(function):  # type: ignore[misc]
        if function is Classic:

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.probe = Probe()
                watched.append(weakref.ref(ctx.probe))
                return Classic.forward(ctx, x)

        else:

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.probe = Probe()
                watched.append(weakref.ref(ctx.probe))
                Separate.setup_context(ctx, inputs, output)

    y = Probed.apply(leaf(1.0))
    gc.collect()
    assert watched[0]() is not None
    y.sum().backward()
    del y
    gc.collect()
    assert watched[0]() is None


def test_tensors_that_refer_to_themselves() -> None:
    class Named(pb.Tensor):
        pass

    t = Named([1.0])
    t.me = t
    t.note = Holder()
    gone = weakref.ref(t.note)
    del t
    gc.collect()
    assert gone() is None


def test_gradients_with_a_graph_need_no_collector() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w * w).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    gone = [weakref.ref(t) for t in (x, w, x.grad, w.grad)]
    del x, w
    assert [r() for r in gone] == [None] * 4


def test_what_a_graph_needs_stays() -> None:
    calls: list[float] = []

    class Log:
        def __call__(self, g: Any) -> None:
            calls.append(g.item())

    def make() -> tuple[Any, Any]:
        log = Log()
        y = leaf(1.0) * 2
        y.register_hook(log)
        y.grad_fn.metadata["log"] = log
        return (y * 3).sum(), (y * 5).sum()

    a, b = make()
    for _ in range(3):
        gc.collect()
    a.backward(retain_graph=True)
    del a
    gc.collect()
    b.backward()
    assert calls == [3.0, 5.0]


def test_a_shared_node_is_nobodys_until_one_is_left() -> None:
    h = Holder()
    y = leaf(1.0) * 2
    y.register_hook(lambda g, h=h: None)
    h.tensor = y
    outside = y * 3
    gone = weakref.ref(h)
    del h, y
    gc.collect()
    assert gone() is not None
    outside.sum().backward()
    del outside
    gc.collect()
    assert gone() is None


def resident() -> int:
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096
    except OSError:
        pytest.skip("no /proc to read the resident memory from")


def train() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(2):
        x.exp().sum().backward()


def differentiate_twice() -> None:
    x = leaf(1.0)
    x.exp().backward(create_graph=True)
    x.grad.backward()


def functions() -> None:
    Classic.apply(leaf(1.0)).backward()
    Separate.apply(leaf(1.0))


def transforms() -> None:
    pb.func.grad(pb.func.grad(lambda x: x * x.exp()))(pb.tensor(1.0))


def checkpoints() -> None:
    pb.utils.checkpoint.checkpoint(pb.exp, leaf(1.0), use_reentrant=False).backward()


def hooks() -> None:
    hook_of_a_tensor()
    packed_tensors()


@pytest.mark.parametrize(
    "once", [train, differentiate_twice, functions, transforms, checkpoints, hooks], ids=lambda f: f.__name__
)
def test_memory_does_not_grow(once: Callable[[], None]) -> None:
    gc.enable()

    def run(n: int) -> int:
        for i in range(n):
            once()
            if i % 500 == 0:
                gc.collect()
        gc.collect()
        return resident()

    before = run(1500)
    assert (run(10_000) - before) / 10_000 < 40  # bytes; a node has more than 200
