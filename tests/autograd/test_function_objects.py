"""Which objects a rule gets for what was saved, and what a ctx has that a program kept."""

from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.utils.checkpoint import checkpoint

seen: list[Any] = []


class Second(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        seen[:] = [x, y]
        return g * y, g * x


@pytest.mark.parametrize("apply", [Second.apply, lambda *a: checkpoint(Second.apply, *a, use_reentrant=False)])
def test_saved_arguments_are_the_callers_objects(apply: Any) -> None:
    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0)
    apply(a, b).backward()
    assert seen[0] is a and seen[1] is b and a.grad is not None and a.grad.item() == 3.0


def test_what_was_written_to_since_is_another_object() -> None:
    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0)
    y = Second.apply(a, b)
    b.mul_(10)
    y.backward()
    assert seen[1] is not b and seen[1].item() == 3.0 and a.grad is not None and a.grad.item() == 3.0


def test_one_tensor_as_two_arguments() -> None:
    a = pb.tensor(2.0, requires_grad=True)
    (g,) = pb.autograd.grad(Second.apply(a, a), a, create_graph=True)
    assert g.item() == 4.0 and pb.autograd.grad(g, a)[0].item() == 2.0


def test_second_derivatives_go_through_the_objects() -> None:
    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0, requires_grad=True)
    ga, gb = pb.autograd.grad(Second.apply(a, b), (a, b), create_graph=True)
    assert pb.autograd.grad(ga * gb, (a, b))[0].item() == 3.0


def test_under_transforms_they_are_values() -> None:
    a, b = pb.tensor(2.0), pb.tensor(3.0, requires_grad=True)
    got = pb.func.grad(lambda x: Second.apply(x, b))(a)
    assert pb.autograd.grad(got, b)[0].item() == 1.0
    assert seen[0] is not a


def test_a_ctx_that_was_kept() -> None:
    kept: list[Any] = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.twice = x * 2
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            kept.append(ctx)
            return g * ctx.twice

    x = pb.tensor([3.0], requires_grad=True)
    y = Keeps.apply(x)
    y.backward(retain_graph=True)
    del y
    assert kept[0].saved_tensors == (x,) and kept[0].twice.item() == 6.0
    Keeps.apply(x).backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = kept[1].saved_tensors


def test_names_of_nodes_say_who_made_them() -> None:
    names: list[str] = []

    def f(x: Any) -> Any:
        y = Second.apply(x, x)
        names.append(type(y.grad_fn).__name__)
        return y

    pb.func.grad(f)(pb.tensor(1.0))
    f(pb.tensor(1.0, requires_grad=True))
    assert names == ["SecondGeneratedBackward", "SecondBackward"]


def test_hooks_of_saved_tensors_do_not_see_numbers() -> None:
    packed: list[Any] = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(t), t)[1], lambda t: t):
        x = pb.ones(3, requires_grad=True)
        zero_d = pb.tensor(4.0)
        y = (x * 3 / 2 + 1).sum() + (x * zero_d).sum()
    assert [t.item() for t in packed if t.dim() == 0] == [4.0]
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [5.5] * 3


def test_what_a_vmap_staticmethod_and_a_jvp_must_return() -> None:
    class Wrong(Function):
        generate_vmap_rule = False

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x if x.dim() == 1 else (x, 0, 1)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t, t

    for shape in ((3,), (3, 2)):
        with pytest.raises(RuntimeError, match="to have two returns"):
            pb.func.vmap(Wrong.apply)(pb.ones(shape))
    with pytest.raises(RuntimeError, match=r"invalid number of forward gradients \(expected 1 but got 2\)"):
        pb.func.jvp(Wrong.apply, (pb.ones(2),), (pb.ones(2),))


def test_gradients_and_outputs_are_complex_together() -> None:
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="For complex Tensors, both grad_output and output are required"):
        (x * 2).backward(pb.ones(2, dtype=pb.complex64))


def test_checkpoints_of_the_older_kind_take_less() -> None:
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(lambda x, scale: x * scale, x, use_reentrant=True, scale=2)
    for extra in ({"debug": True}, {"context_fn": lambda: None}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            checkpoint(pb.sin, x, use_reentrant=True, **extra)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(pb.sin, x.detach(), use_reentrant=True).requires_grad


def test_arguments_of_a_forward_say_whether_they_require_grad() -> None:
    noted: list[tuple[bool, ...]] = []

    class Classic(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any, n: Any) -> Any:
            made = x * w
            noted.append((x.requires_grad, w.requires_grad, made.requires_grad, x.detach().requires_grad))
            assert x.detach().numpy().shape == x.shape
            ctx.follows = x.requires_grad
            ctx.save_for_backward(w)
            return made + n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (w,) = ctx.saved_tensors
            return (g * w if ctx.follows else None), None, None

    class Separate(Function):
        @staticmethod
        def forward(x: Any, w: Any, n: Any) -> Any:
            noted.append((x.requires_grad, w.requires_grad, (x * w).requires_grad, False))
            return x * w + n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[1])

        backward = Classic.backward

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, w: Any, n: Any) -> Any:
            return Separate.apply(x, w, n), 0

    w = pb.tensor([3.0, 4.0])
    for cls in (Classic, Separate):
        noted.clear()
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        out = cls.apply(x, w, 2)
        assert noted == [(True, False, False, False)] and not w.requires_grad
        if cls is Classic:
            out.sum().backward()
            assert x.grad.tolist() == [3.0, 4.0]
        with pb.no_grad():
            cls.apply(x.detach(), w, 2)
        assert noted.pop() == (False, False, False, False)
    assert pb.func.grad(lambda x: Classic.apply(x, w, 2).sum())(pb.ones(2)).tolist() == [3.0, 4.0]


def test_a_forward_that_fails_leaves_no_trace() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            raise ValueError("no")

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = pb.ones(2, requires_grad=True)
    for _ in range(100):
        with pytest.raises(ValueError):
            Fails.apply(x)
    assert not any(pb.ones(2).requires_grad for _ in range(100))
