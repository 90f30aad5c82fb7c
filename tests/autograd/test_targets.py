"""What gradients are asked for: edges, hooks at the target, what custom functions leave out."""

from typing import Any

import pytest

import pullback as pb
from pullback.autograd.graph import GradientEdge


def edge(x: Any) -> GradientEdge:
    return GradientEdge(x.grad_fn, x.output_nr)


def test_backward_to_an_edge_runs_its_hooks() -> None:
    x = pb.rand(2, requires_grad=True)
    y = x * 2
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda gs: seen.append(gs[0].tolist()))
    (y * 3).sum().backward(inputs=[edge(y)], retain_graph=True)
    assert seen == [[3, 3]] and x.grad is None
    pb.autograd.backward((y * 3).sum(), inputs=(edge(y), x))
    assert len(seen) == 2 and x.grad is not None and x.grad.tolist() == [6, 6]


def test_hooks_of_a_target() -> None:
    log: list[int] = []

    def hook(n: int, factor: float) -> Any:
        def run(g: Any) -> Any:
            log.append(n)
            return tuple(x * factor for x in g) if isinstance(g, tuple) else g * factor

        return run

    a = pb.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.grad_fn.register_prehook(hook(2, 2))
    b.register_hook(hook(1, 3))
    b.grad_fn.register_prehook(hook(2, 2))
    b.sum().backward(inputs=(b,), retain_graph=True)
    assert log == [1, 2, 2] and b.grad is not None and b.grad.item() == 3 and a.grad is None
    log.clear()
    b.sum().backward()
    assert log == [1, 2, 2] and a.grad is not None and a.grad.item() == 12


def test_zeros_cannot_be_made_of_an_edge() -> None:
    x, y = pb.rand(2, requires_grad=True).clone(), pb.rand(2, requires_grad=True).clone()
    assert pb.autograd.grad(x.sum(), (x, edge(y)), allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        pb.autograd.grad(x.sum(), (x, edge(y)), allow_unused=True, materialize_grads=True)


def test_hooks_after_accumulation_return_nothing() -> None:
    x = pb.rand(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_outputs_without_a_derivative() -> None:
    got: list[Any] = []

    class Two(pb.autograd.Function):
        materialize = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            if not Two.materialize:
                ctx._materialize_non_diff_grads = False
            return first, second

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            got.append(h)
            return g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t, (t if Two.materialize else None)

    x = pb.ones(2, requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert got[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="You should return None at that position instead"):
        pb.func.jvp(lambda t: Two.apply(t)[0], (x.detach(),), (x.detach(),))
    Two.materialize = False
    Two.apply(x)[0].sum().backward()
    assert got[1] is None
    assert pb.func.jvp(lambda t: Two.apply(t)[0], (x.detach(),), (x.detach(),))[1].tolist() == [1, 1]


def test_the_class_of_nodes() -> None:
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    out = Double.apply(pb.ones(1, requires_grad=True))
    assert type(out.grad_fn) is Double._backward_cls and Double._backward_cls.__name__ == "DoubleBackward"


def test_names_of_autograd() -> None:
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        pb.autograd.SavedTensor()
    with pb.autograd.set_multithreading_enabled(False):
        assert not pb.autograd.is_multithreading_enabled()
        pb.autograd.set_multithreading_enabled(True)
        assert pb.autograd.is_multithreading_enabled()
    assert pb.autograd.is_multithreading_enabled()
    with pb.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        assert kept.cloned == {}


def test_which_part_of_complex_numbers_is_wrong() -> None:
    def shifted(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g + 0.01)
        return y

    x = pb.ones(2, dtype=pb.complex128, requires_grad=True)
    with pytest.raises(RuntimeError, match="While considering the imaginary part of complex outputs only, gradcheck"):
        pb.autograd.gradcheck(shifted, x)
    y = pb.ones(2, dtype=pb.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^gradcheck\(\): Jacobian mismatch for output 0 with respect to input 0"):
        pb.autograd.gradcheck(shifted, y)
