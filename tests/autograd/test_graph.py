"""Nodes, edges, saved tensors and their hooks; backward and grad with every argument."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close
graph = pb.autograd.graph


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


def numbers(*values: float) -> Any:
    return pb.tensor(list(values), dtype=pb.float64)


def test_nodes() -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = (x * w).exp()
    node = y.grad_fn
    assert node is y.grad_fn and isinstance(node, graph.Node)
    assert node.name() == type(node).__name__ == "ExpBackward0" and repr(node).startswith("<ExpBackward0 object at 0x")
    ((mul, nr),) = node.next_functions
    assert mul.name() == "MulBackward0" and nr == 0
    (left, _), (right, _) = mul.next_functions
    assert left.name() == "AccumulateGrad" and left.variable is x and right.variable is w
    assert left == graph.get_gradient_edge(x).node and left != right and hash(left) != hash(right)
    assert (x * 2).grad_fn.next_functions[-1] in ((None, 0), (left, 0))
    assert x.grad_fn is None and y.detach().grad_fn is None
    node.metadata["note"] = [1]
    assert y.grad_fn.metadata == {"note": [1]} and mul.metadata == {}
    with pytest.raises(AttributeError, match="nothing"):
        _ = node.nothing
    with pytest.raises(TypeError, match="recording"):
        graph.Node()
    with pytest.raises(AttributeError):
        _ = mul.variable


def test_saved_tensors_of_a_node() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    assert y.grad_fn._saved_self.requires_grad
    same(y.grad_fn._saved_self, x)
    same(y.grad_fn._saved_other, w)
    z = x.exp()
    same(z.grad_fn._saved_result, z)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = z.grad_fn._saved_result


def test_only_freed_residuals_forbid_a_second_sweep() -> None:
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    same(x.grad, numbers(2.0, 2.0))
    z = (x * x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match=r"second time.*retain_graph=True"):
        z.backward()


def test_gradient_edges() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    edge = graph.get_gradient_edge(y)
    assert edge == (y.grad_fn, 0, None) and edge.output_nr == 0
    z = (y * 3).sum()
    same(pb.autograd.grad(z, edge, retain_graph=True), (numbers(3.0, 3.0),))
    at_z = graph.get_gradient_edge(z)
    del y, z
    same(pb.autograd.grad(at_z, [x, edge], retain_graph=True), (numbers(6.0, 12.0), numbers(3.0, 3.0)))
    pb.autograd.backward(at_z, inputs=graph.get_gradient_edge(x))
    same(x.grad, numbers(6.0, 12.0))
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(pb.ones(1))
    with pytest.raises(RuntimeError, match="outputs"):
        pb.autograd.grad(graph.GradientEdge(x.sum().grad_fn, 3), x)


def test_backward_for_chosen_inputs() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * w
    out = (h * h).sum()
    out.backward(inputs=[x, h], retain_graph=True)
    same(x.grad, 2 * x.detach() * w.detach() ** 2)
    same(h.grad, 2 * h.detach())
    assert w.grad is None
    pb.autograd.backward([out], inputs=w)
    same(w.grad, 2 * w.detach() * x.detach() ** 2)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        pb.autograd.backward(x.sum(), inputs=[])
    with pytest.raises(TypeError, match="GradientEdges"):
        x.sum().backward(inputs=[3])


def test_backward_of_several_tensors() -> None:
    x = leaf(1.0, 2.0)
    pb.autograd.backward([x * 2, (x * x).sum()], [numbers(1.0, 10.0), None])
    same(x.grad, numbers(2.0 + 2.0, 20.0 + 4.0))
    with pytest.raises(RuntimeError, match="2 tensors and 1 gradients"):
        pb.autograd.backward([x * 2, x * 3], [numbers(1.0, 1.0)])
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        pb.autograd.backward([x * 2], [numbers(1.0)])
    with pytest.raises(RuntimeError, match="does not require grad"):
        pb.autograd.backward([pb.ones(1)])


def test_create_graph_accumulates_something_to_differentiate() -> None:
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    first = x.grad
    x.grad = None
    first.sum().backward()
    same(x.grad, numbers(18.0))


def test_grad_with_gradients_of_the_outputs() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    same(pb.autograd.grad(y, x, numbers(1.0, 10.0), retain_graph=True), (numbers(2.0, 40.0),))
    same(pb.autograd.grad([y, y.sum()], [x], [numbers(1.0, 0.0), None]), (numbers(4.0, 4.0),))
    with pytest.raises(RuntimeError, match="non-empty inputs"):
        pb.autograd.grad(x.sum(), [])
    with pytest.raises(RuntimeError, match="does not require grad"):
        pb.autograd.grad(x.sum(), pb.ones(2))


def test_batches_of_gradients() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x**2
    basis = pb.eye(3, dtype=pb.float64)
    (jacobian,) = pb.autograd.grad(y, x, basis, retain_graph=True, is_grads_batched=True)
    same(jacobian, pb.diag(2 * x.detach()))
    (again,) = pb.autograd.grad(y, x, (basis,), is_grads_batched=True, create_graph=True)
    assert again.requires_grad
    (h,) = pb.autograd.grad(again.sum(), x)
    same(h, numbers(2.0, 2.0, 2.0))
    with pytest.raises(RuntimeError, match="batch"):
        pb.autograd.grad(x.sum(), x, is_grads_batched=True)


def test_unused_inputs() -> None:
    x, unused = leaf(1.0), leaf(1.0, 2.0)
    y = (x * x).sum()
    assert pb.autograd.grad(y, [unused], retain_graph=True, allow_unused=True) == (None,)
    got = pb.autograd.grad(y, [x, unused], retain_graph=True, materialize_grads=True)
    same(got, (numbers(2.0), numbers(0.0, 0.0)))
    with pytest.raises(ValueError, match="allow_unused to be True"):
        pb.autograd.grad(y, [unused], allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="not have been used"):
        pb.autograd.grad(y, [unused])
    with pytest.warns(FutureWarning, match="only_inputs"):
        pb.autograd.grad((x * x).sum(), x, None, None, False, False)


def test_requires_grad_and_detach_in_place() -> None:
    x = pb.ones(2)
    assert x.requires_grad_() is x and x.is_leaf
    y = x * 2
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad_(False)
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    v = (x * 3)[0]
    with pytest.raises(RuntimeError, match="views"):
        v.detach_()
    x.data = pb.full((2,), 5.0)
    assert x.requires_grad and x.tolist() == [5.0, 5.0]
    x.data.mul_(2)
    assert x.tolist() == [10.0, 10.0] and x.is_leaf


def test_saved_tensors_are_packed_and_unpacked() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(t: Any) -> Any:
        assert not t.requires_grad and not pb.is_grad_enabled()
        packed.append(t)
        return len(packed) - 1

    def unpack(i: int) -> Any:
        unpacked.append(i)
        return packed[i]

    with graph.saved_tensors_hooks(pack, unpack):
        y = x * w
        z = y.exp()
    assert len(packed) == 3 and not unpacked
    (z + z.sin()).sum().backward()
    assert sorted(unpacked) == [0, 1, 2]
    value = (x * w).exp().detach()
    same(x.grad, (value + value * value.cos()) * w.detach())


def test_only_the_innermost_hooks_are_used() -> None:
    x = leaf(1.0)
    names: list[str] = []

    def hooks(name: str) -> Any:
        return graph.saved_tensors_hooks(lambda t: (names.append(name), t)[1], lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert names == ["inner", "outer"]


def test_hooks_may_keep_less() -> None:
    x = leaf(1.5, 2.5)
    with graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t):
        y = (x * x).sum()
    (g,) = pb.autograd.grad(y, x)
    same(g, numbers(3.0, 5.0))


def test_hooks_keep_the_second_derivative() -> None:
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t.numpy().copy(), pb.from_numpy):
        y = (x**3).sum()
        (g,) = pb.autograd.grad(y, x, create_graph=True)
        (h,) = pb.autograd.grad(g.sum(), x, create_graph=True)
    same(h.detach(), numbers(12.0))
    same(pb.autograd.grad(h.sum(), x)[0], numbers(6.0))


def test_hooks_of_what_a_function_saves() -> None:
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(3.0)
    kept: list[Any] = []
    with graph.saved_tensors_hooks(lambda t: kept.append(t.clone()), lambda _: kept[0] * 100):
        y = Square.apply(x)
    y.sum().backward()
    same(x.grad, numbers(600.0))


def test_hooks_under_transforms() -> None:
    count = [0]

    def pack(t: Any) -> Any:
        count[0] += 1
        return (t,)

    def f(x: Any) -> Any:
        with graph.saved_tensors_hooks(pack, lambda t: t[0]):
            return (x**3).sum()

    x = numbers(1.0, 2.0)
    same(pb.func.grad(f)(x), 3 * x**2)
    assert count[0] >= 1
    same(pb.func.hessian(f)(x), pb.diag(6 * x))
    same(pb.func.grad(lambda v: pb.func.grad(f)(v).sum())(x), 6 * x)
    same(pb.func.vmap(pb.func.grad(f))(pb.stack([x, x])), pb.stack([3 * x**2, 3 * x**2]))


@pytest.mark.parametrize(
    ("pack", "unpack", "match"),
    [
        (lambda t: t, lambda t: 3, "expected to be a Tensor but got"),
        (lambda t: t, lambda t: t[:1], "shape"),
        (lambda t: t.add_(1), lambda t: t, "modifying its input in place"),
    ],
)
def test_wrong_hooks(pack: Any, unpack: Any, match: str) -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises((TypeError, RuntimeError), match=match):
        with graph.saved_tensors_hooks(pack, unpack):
            y = (x * x).sum()
        y.backward()


def test_exceptions_in_a_pack_hook_leave_nothing_behind() -> None:
    x = leaf(1.0)

    def pack(t: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), graph.saved_tensors_hooks(pack, lambda t: t):
        x.exp()
    x.exp().sum().backward()
    same(x.grad, x.detach().exp())


def test_hooks_can_be_forbidden() -> None:
    x = leaf(1.0)

    @graph.disable_saved_tensors_hooks("not in here")
    def f() -> Any:
        with graph.save_on_cpu():
            return x.exp()

    with pytest.raises(RuntimeError, match="not in here"):
        f()
    with graph.save_on_cpu():
        with pytest.raises(RuntimeError, match="not now"), graph.disable_saved_tensors_hooks("not now"):
            pass
        x.exp().sum().backward()
    same(x.grad, x.detach().exp())


def test_writes_to_saved_tensors() -> None:
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x * 1
        z = (y * y).sum()
        y.zero_()
        z.backward()
        context.clear()
        with pytest.raises(RuntimeError, match="nested"), graph.allow_mutation_on_saved_tensors():
            pass
    same(x.grad, numbers(2.0, 4.0))


def test_versions() -> None:
    x, y = pb.zeros(2), pb.zeros(2)
    graph.increment_version(x)
    graph.increment_version([x, y])
    assert (x._version, y._version) == (2, 1) and x.tolist() == [0.0, 0.0]


def test_nodes_are_called() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    node = (x * w).grad_fn
    g = numbers(1.0, 10.0)
    for _ in range(2):
        gx, gw = node(g)
        same(gx, numbers(3.0, 40.0))
        same(gw, numbers(1.0, 20.0))
    (again,) = pb.autograd.grad(gx.sum(), w)
    same(again, g)
    with pb.no_grad():
        assert not node(g)[0].requires_grad
    assert node(None) == (None, None)
    same(x.exp().grad_fn(g.float()), g * x.detach().exp())
    assert x.grad is None and node.next_functions[0][0](g) == ()
    same(x.grad, g)
    values, indices = x.sort(descending=True)
    same(values.grad_fn(g, None), numbers(10.0, 1.0))


def test_calls_of_nodes_are_checked() -> None:
    x = leaf(1.0, 2.0)
    node = x.exp().grad_fn
    with pytest.raises(TypeError, match=r"ExpBackward0\(\): expected 1 gradients of its outputs, got 2"):
        node(x, x)
    with pytest.raises(TypeError, match=r"ExpBackward0\(\): gradient 0 must be a Tensor or None, got str"):
        node("x")
    with pytest.raises(RuntimeError, match=r"ExpBackward0\(\): gradient 0 has shape .*3.*, and the output .*2"):
        node(numbers(1.0, 2.0, 3.0))
    y = x.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn(numbers(1.0, 1.0))


def test_nodes_are_called_under_transforms() -> None:
    x = pb.tensor([1.0, 2.0], dtype=pb.float64)
    gradient = pb.func.grad(lambda v: (v.exp().grad_fn(v) * v).sum())
    same(gradient(x), (2 * x + x**2) * x.exp())
