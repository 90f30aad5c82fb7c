"""Hooks of tensors and nodes, retained gradients, and what they may do."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


def numbers(*values: float) -> Any:
    return pb.tensor(list(values), dtype=pb.float64)


def test_tensor_hooks_run_in_order_and_change_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    seen: list[Any] = []
    first = y.register_hook(lambda g: seen.append(("first", g.clone())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(("last", g.clone())))
    y.sum().backward()
    assert [name for name, _ in seen] == ["first", "last"]
    same(seen[0][1], numbers(1.0, 1.0))
    same(seen[1][1], numbers(10.0, 10.0))
    same(x.grad, numbers(30.0, 30.0))
    first.remove()
    first.remove()
    seen.clear()
    (x * 3).sum().backward()
    assert not seen


def test_a_removed_hook_does_not_run() -> None:
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    with x.register_hook(lambda g: g * 2) as inner:
        (x * 1).sum().backward()
    assert inner.id > handle.id
    same(x.grad, numbers(2.0))
    (x * 1).sum().backward()
    same(x.grad, numbers(3.0))


def test_leaf_hooks_see_the_gradient_before_it_is_added() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    (x * 5).sum().backward()
    same(x.grad, numbers(6.0))
    same(pb.autograd.grad((x * 5).sum(), x)[0], numbers(6.0))


@pytest.mark.parametrize(("wrong", "match"), [(pb.ones(3), "changed the size"), (3.0, "return a Tensor or None")])
def test_what_a_hook_returns_is_checked(wrong: Any, match: str) -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: wrong)
    with pytest.raises((RuntimeError, TypeError), match=match):
        x.sum().backward()


def test_hooks_need_gradients() -> None:
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        pb.ones(2).register_hook(print)
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        pb.ones(2).retain_grad()
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="callable"):
        leaf(1.0).register_hook(3)


def test_retained_gradients_come_after_all_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.register_hook(lambda g: g * 7)
    y.sum().backward()
    same(y.grad, numbers(7.0))
    same(x.grad, numbers(14.0))


def test_gradients_that_nobody_keeps() -> None:
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None and y.detach().grad is None


def test_a_retained_gradient_follows_a_write() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.mul_(5)
    assert y.retains_grad
    y.sum().backward()
    same(y.grad, numbers(1.0))
    same(x.grad, numbers(15.0))


def test_post_accumulate_hooks() -> None:
    x = leaf(1.0, 2.0)
    seen: list[Any] = []

    def step(p: Any) -> None:
        assert p is x
        seen.append(p.grad.clone())
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.grad is None
    same(seen[0], numbers(2.0, 2.0))
    (x * 2).sum().backward(inputs=[x])
    pb.autograd.grad((x * 2).sum(), x)
    assert len(seen) == 2
    handle.remove()
    (x * 2).sum().backward()
    assert len(seen) == 2 and x.grad is not None


def test_hooks_of_a_leaf_outlive_the_object() -> None:
    seen: list[Any] = []

    def make() -> Any:
        p = leaf(3.0)
        p.register_post_accumulate_grad_hook(lambda q: seen.append((q.detach().clone(), q.grad.clone())))
        return (p * p).sum()

    y = make()
    variable = y.grad_fn.next_functions[0][0].next_functions[0][0].variable
    same(variable.detach(), numbers(3.0))
    assert variable.is_leaf and variable.requires_grad
    del variable
    y.backward(retain_graph=True)
    y.backward()
    same(seen, [(numbers(3.0), numbers(6.0)), (numbers(3.0), numbers(12.0))])


def test_node_hooks() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    seen: list[Any] = []
    node = y.grad_fn
    before = node.register_prehook(lambda grads: (grads[0] * 10,))
    after = node.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.sum().backward(retain_graph=True)
    (inputs, outputs) = seen[0]
    same(outputs, (numbers(10.0, 10.0),))
    same(inputs, (numbers(30.0, 40.0), numbers(10.0, 20.0)))
    same(x.grad, numbers(30.0, 40.0))
    before.remove()
    after.remove()
    node.register_hook(lambda inputs, outputs: (inputs[0] * 0, None))
    x.grad = w.grad = None
    y.sum().backward()
    same(x.grad, numbers(0.0, 0.0))
    assert w.grad is None and len(seen) == 1


def test_node_hooks_must_return_as_many_gradients() -> None:
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0], grads[0]))
    with pytest.raises(RuntimeError, match="incorrect number of values"):
        y.sum().backward()


def test_hooks_of_the_accumulating_node() -> None:
    x = leaf(1.0)
    node = pb.autograd.graph.get_gradient_edge(x).node
    order: list[Any] = []
    node.register_prehook(lambda grads: order.append(("before", x.grad)))
    node.register_hook(lambda inputs, outputs: order.append(("after", inputs, x.grad.item())))
    (x * 4).sum().backward()
    assert order == [("before", None), ("after", (), 4.0)]


def test_hooks_see_higher_orders() -> None:
    x = leaf(2.0)
    y = x**3
    y.register_hook(lambda g: g * x)
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    same(g.detach(), numbers(24.0))  # 3 x**2 * x
    (h,) = pb.autograd.grad(g.sum(), x)
    same(h, numbers(36.0))  # 9 x**2


def test_hooks_inside_of_transforms() -> None:
    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g * 10)
        return y.sum()

    x = numbers(1.0, 2.0)
    same(pb.func.grad(f)(x), 20 * x)
    same(pb.func.vmap(pb.func.grad(f))(pb.stack([x, x])), pb.stack([20 * x, 20 * x]))


def test_multi_hooks_get_all_gradients_once() -> None:
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    d = a * 5
    calls: list[Any] = []
    handle = pb.autograd.graph.register_multi_grad_hook([a, b, c, d], calls.append)
    (d + b).sum().backward()
    assert [None if g is None else g.item() for g in calls[0]] == [5.0, 1.0, None, 1.0]
    (a * 2 + b + c).sum().backward()
    assert [None if g is None else g.item() for g in calls[1]] == [2.0, 1.0, 1.0, None]
    pb.autograd.grad((a * 3 + b).sum(), a)
    assert [None if g is None else g.item() for g in calls[2]] == [3.0, None, None, None]
    handle.remove()
    (a * b).sum().backward()
    assert len(calls) == 3


def test_multi_hooks_with_a_gradient_that_stays_zero() -> None:
    class NoGradient(pb.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    a, b = leaf(1.0), leaf(2.0)
    calls: list[Any] = []
    pb.autograd.graph.register_multi_grad_hook([a, b], calls.append)
    (NoGradient.apply(a) + b).sum().backward()
    assert len(calls) == 1 and calls[0][0] is None
    same(calls[0][1], numbers(1.0))


def test_multi_hooks_with_the_first_gradient() -> None:
    a, b = leaf(1.0), leaf(2.0)
    calls: list[Any] = []
    with pb.autograd.graph.register_multi_grad_hook([a, b], calls.append, mode="any"):
        (a * b).sum().backward()
        (a * b).sum().backward()
    assert len(calls) == 2 and all(isinstance(g, pb.Tensor) for g in calls)
    with pytest.raises(ValueError, match="mode"):
        pb.autograd.graph.register_multi_grad_hook([a], calls.append, mode="some")


def test_an_exception_in_a_hook_arrives_unchanged() -> None:
    class Mine(Exception):
        pass

    def hook(g: Any) -> None:
        raise Mine("here")

    x = leaf(1.0)
    x.register_hook(hook)
    with pytest.raises(Mine, match="here"):
        x.sum().backward()


@pytest.mark.parametrize("place", ["tensor", "leaf", "prehook", "tensor and prehook", "hook"])
def test_hooks_of_a_place_get_one_object(place: str) -> None:
    """A hook leaves an attribute on the gradient for those that hold it, as explanations of networks do."""
    held: list[pb.Tensor] = []

    def first(g: pb.Tensor) -> None:
        held.append(g)

    def second(g: pb.Tensor) -> None:
        g.relevance = 3  # type: ignore[attr-defined]

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    node: Any = y.grad_fn
    if place == "hook":
        node.register_hook(lambda inputs, outputs: first(outputs[0]))
        node.register_hook(lambda inputs, outputs: second(outputs[0]))
    elif place == "prehook":
        node.register_prehook(lambda outputs: first(outputs[0]))
        node.register_prehook(lambda outputs: second(outputs[0]))
    else:
        (x if place == "leaf" else y).register_hook(first)
        if place == "tensor and prehook":
            node.register_prehook(lambda outputs: second(outputs[0]))
        else:
            (x if place == "leaf" else y).register_hook(second)
    y.sum().backward()
    assert held[0].relevance == 3  # type: ignore[attr-defined]
    assert x.grad is not None and x.grad.tolist() == [2, 2]


def test_a_gradient_that_a_hook_held_does_not_come_again() -> None:
    """Another gradient is another object, also after many."""
    seen: list[pb.Tensor] = []
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(12):
        y = x * 2
        y.register_hook(seen.append)
        y.register_hook(seen.append)
        (y * pb.tensor([3.0, 4.0])).sum().backward()
    assert len({id(g) for g in seen}) == 12
    assert all(g.tolist() == [3, 4] for g in seen)
