"""Dual tensors: levels entered by hand, tangents that follow every write, and reverse mode below and above them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import forward_ad as fw
from pullback.func import grad, jvp, vmap

same = pb.testing.assert_close


def numbers(*values: float) -> Any:
    return pb.tensor(list(values), dtype=pb.float64)


def tangent(t: Any) -> Any:
    return fw.unpack_dual(t).tangent


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "pointwise": lambda x: (x.sin() * x.exp()).sum(),
    "outputs saved": lambda x: (x.exp() + x.tanh() * x.sigmoid()).sum(),
    "products": lambda x: pb.outer(x, x).mm(pb.outer(x, x)).sum(),
    "several outputs": lambda x: x.sort().values[-1] ** 3 + x.unbind()[0] ** 2,
    "views": lambda x: (x.view(1, -1).t()[1:] ** 3).sum() + x.logsumexp(0),
    "written": lambda x: write(x.clone()).prod(),
}


def write(z: Any) -> Any:
    z[0] = z[1] ** 2
    z[1:].mul_(z[:1])
    return z


# ---------------------------------------------------------------- packing
def test_parts() -> None:
    x, t = numbers(1.0, 2.0), numbers(1.0, 1.0)
    with fw.dual_level() as level:
        assert level == 0
        d = fw.make_dual(x, t)
        parts = fw.unpack_dual(d)
        assert isinstance(parts, tuple) and type(parts).__name__ == "UnpackedDualTensor"
        same(parts.primal, x)
        assert parts.tangent is t and fw.unpack_dual(d).tangent is t
        assert fw.unpack_dual(d).primal is not parts.primal
        assert tangent(x) is None and tangent(parts.primal) is None
    assert fw.unpack_dual(d) == (d, None)
    same(d, x)


def test_levels_nest() -> None:
    with fw.dual_level():
        x = fw.make_dual(numbers(2.0), numbers(1.0))
        with fw.dual_level() as inner:
            assert inner == 1
            y = fw.make_dual(x, numbers(1.0)) ** 4
            same(tangent(y), numbers(32.0))
            same(tangent(fw.unpack_dual(tangent(y), level=0).tangent), None)
            same(fw.unpack_dual(tangent(y), level=0).tangent, numbers(48.0))
            same(fw.unpack_dual(fw.unpack_dual(y, level=0).tangent, level=1).tangent, numbers(48.0))
        same(tangent(y), numbers(32.0))
    same(y, numbers(16.0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_jvp(name: str) -> None:
    f = FUNCTIONS[name]
    x, t = numbers(0.3, 1.2, -0.7), numbers(1.0, -2.0, 0.5)
    with fw.dual_level():
        got = fw.unpack_dual(f(fw.make_dual(x, t)))
    same((got.primal, got.tangent), jvp(f, (x,), (t,)))


def test_as_a_decorator() -> None:
    @fw.dual_level()
    def slope(x: Any) -> Any:
        return tangent(fw.make_dual(x, pb.ones_like(x)) ** 2)

    same(slope(numbers(3.0)), numbers(6.0))
    same(slope(numbers(4.0)), numbers(8.0))


def test_a_level_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), fw.dual_level():
        raise KeyError
    with fw.dual_level() as level:
        assert level == 0


# ---------------------------------------------------------------- errors
def test_misuse_raises() -> None:
    x, t = numbers(1.0, 2.0), numbers(1.0, 1.0)
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, t)
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.exit_dual_level()
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="forward gradient that has a different size than that"):
            fw.make_dual(x, numbers(1.0))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(pb.tensor([1, 2]), t)
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fw.make_dual(x, pb.tensor([1, 2]))
        with pytest.raises(TypeError, match="argument 'tangent' must be Tensor, not float"):
            fw.make_dual(x, 1.0)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="Invalid level given: 3"):
            fw.make_dual(x, t, level=3)
        d = fw.make_dual(x, t)
        for primal, other in ((d, t), (x, d)):
            with pytest.raises(RuntimeError, match="forward gradient at the same level"):
                fw.make_dual(primal, other)
        with fw.dual_level(), pytest.raises(RuntimeError, match="not the last one that was created"):
            fw.exit_dual_level(level=0)


def test_parts_below_a_transform_that_began_later() -> None:
    with fw.dual_level():
        d = fw.make_dual(numbers(1.0), numbers(1.0))
        with pytest.raises(RuntimeError, match="began after the dual level"):
            grad(lambda x: fw.unpack_dual(x * x).primal.sum())(d)
        same(tangent(grad(lambda x: (x**3).sum())(d)), numbers(6.0))


def test_other_threads_have_their_own_levels() -> None:
    found: list[Any] = []

    def work() -> None:
        with fw.dual_level() as level:
            found.append((level, tangent(fw.make_dual(numbers(3.0), numbers(1.0)) ** 2)))

    with fw.dual_level():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found[0][0] == 0
    same(found[0][1], numbers(6.0))


# ---------------------------------------------------------------- modes
def test_forward_mode_can_be_off() -> None:
    with fw.dual_level():
        d = fw.make_dual(numbers(1.0), numbers(1.0))
        with fw.set_fwd_grad_enabled(False):
            assert not fw.is_fwd_grad_enabled()
            y = d * 2
            assert tangent(d) is None
            same(jvp(lambda x: x**2, (d,), (numbers(1.0),))[1], numbers(2.0))
            z = jvp(lambda x: x**2, (d,), (numbers(1.0),))[0]
        assert fw.is_fwd_grad_enabled()
        assert tangent(y) is None and tangent(z) is None
        same(tangent(d * 2), numbers(2.0))
    fw.set_fwd_grad_enabled(False)
    try:
        assert not fw._is_fwd_grad_enabled()
        with fw.dual_level():
            assert not fw.is_fwd_grad_enabled()
    finally:
        fw.set_fwd_grad_enabled(True)


def test_detach_ends_tangents_and_no_grad_does_not() -> None:
    x, t = numbers(1.0, 2.0).requires_grad_(), numbers(1.0, 3.0).requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, t)
        cut = d.detach() * 2
        assert not cut.requires_grad and tangent(cut) is None
        with pb.no_grad():
            y = fw.unpack_dual(d * 3)
        assert y.tangent is not None
        assert not y.primal.requires_grad and not y.tangent.requires_grad
        same(y.tangent, numbers(3.0, 9.0))
        c = d.clone()
        c.detach_()
        assert not c.requires_grad and tangent(c * 2) is None


# ---------------------------------------------------------------- writes
def test_dual_tensors_share_memory_and_version() -> None:
    x, t = numbers(1.0, 2.0), numbers(1.0, 1.0)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        primal, _ = fw.unpack_dual(d)
        assert d.data_ptr() == x.data_ptr() == primal.data_ptr()
        x.add_(1)
        same(primal, numbers(2.0, 3.0))
        same(d.detach(), numbers(2.0, 3.0))
        assert x._version == d._version == primal._version > 0
        t.add_(1)
        same(tangent(d * 1), numbers(2.0, 2.0))


def test_which_parts_a_write_reaches() -> None:
    x, t = numbers(1.0, 2.0), numbers(1.0, 1.0)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        d *= 2
        assert tangent(x) is None
        same((x, t, tangent(d)), (numbers(2.0, 4.0), numbers(2.0, 2.0), numbers(2.0, 2.0)))
        primal, dot = fw.unpack_dual(d)
        primal *= 2
        same((x, tangent(d)), (numbers(4.0, 8.0), numbers(2.0, 2.0)))
        dot *= 2
        same((x, tangent(d)), (numbers(4.0, 8.0), numbers(4.0, 4.0)))
        y = d + 0
        fw.unpack_dual(y).tangent.zero_()  # type: ignore[union-attr]
        fw.unpack_dual(y).primal.zero_()
        same(fw.unpack_dual(y), (numbers(0.0, 0.0), numbers(0.0, 0.0)))
        d.copy_(numbers(5.0, 6.0))
        same((x, t), (numbers(5.0, 6.0), numbers(0.0, 0.0)))
    d.add_(1)
    same((x, t), (numbers(6.0, 7.0), numbers(0.0, 0.0)))


def test_views_of_dual_tensors() -> None:
    x, t = numbers(1.0, 2.0, 3.0), numbers(1.0, 10.0, 100.0)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        v = d[1:]
        same(fw.unpack_dual(v), (numbers(2.0, 3.0), numbers(10.0, 100.0)))
        v.mul_(v)
        same(fw.unpack_dual(d), (numbers(1.0, 4.0, 9.0), numbers(1.0, 40.0, 600.0)))
        d.neg_()
        same(tangent(v), numbers(-40.0, -600.0))
        v.detach().zero_()
        same(fw.unpack_dual(d), (numbers(-1.0, 0.0, 0.0), numbers(-1.0, -40.0, -600.0)))
    same(x, numbers(-1.0, 0.0, 0.0))


def test_dual_values_written_to_a_view_of_a_plain_tensor() -> None:
    z = pb.zeros(2, 2, dtype=pb.float64)
    row = z[1]
    with fw.dual_level():
        row.copy_(fw.make_dual(numbers(1.0, 2.0), numbers(3.0, 4.0)))
        same(tangent(z), pb.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=pb.float64))
        z.t()[0].mul_(2)
        same(tangent(row), numbers(6.0, 4.0))
    same(row, numbers(2.0, 2.0))


def test_a_tangent_in_other_memory_is_not_written_to() -> None:
    t = numbers(1.0).expand(2)
    x = numbers(1.0, 2.0)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        d.mul_(numbers(2.0, 3.0))
        same((tangent(d), t), (numbers(2.0, 3.0), numbers(1.0, 1.0)))
        d = fw.make_dual(x, x)
        d.mul_(2)
        same((x, tangent(d)), (numbers(4.0, 12.0), numbers(4.0, 12.0)))


def test_writing_to_a_dual_leaf_raises() -> None:
    with fw.dual_level():
        d = fw.make_dual(numbers(1.0).requires_grad_(), numbers(1.0))
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            d.mul_(2)
        d = fw.make_dual(numbers(1.0), numbers(1.0).requires_grad_())
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            d.mul_(2)


# ---------------------------------------------------------------- reverse mode
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_over_reverse(name: str, create_graph: bool) -> None:
    f = FUNCTIONS[name]
    x, t = numbers(0.3, 1.2, -0.7).requires_grad_(), numbers(1.0, -2.0, 0.5)
    _, want = jvp(grad(f), (x.detach(),), (t,))
    with fw.dual_level():
        (g,) = pb.autograd.grad(f(fw.make_dual(x, t)), x, create_graph=create_graph)
        same(tangent(g).detach(), want)
        if create_graph:
            (third,) = pb.autograd.grad(tangent(g).sum(), x)
            same(third.detach(), grad(lambda x: jvp(grad(f), (x,), (t,))[1].sum())(x.detach()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_reverse_over_forward(name: str) -> None:
    f = FUNCTIONS[name]
    x, t = numbers(0.3, 1.2, -0.7).requires_grad_(), numbers(1.0, -2.0, 0.5).requires_grad_()
    with fw.dual_level():
        gx, gt = pb.autograd.grad(tangent(f(fw.make_dual(x, t))), (x, t))
    same(gx, jvp(grad(f), (x.detach(),), (t.detach(),))[1])
    same(gt, grad(f)(x.detach()))


def test_the_parts_lead_to_their_own_leaves() -> None:
    x, t = numbers(1.0).requires_grad_(), numbers(2.0).requires_grad_()
    with fw.dual_level():
        p, dot = fw.unpack_dual(fw.make_dual(x, t))
        assert dot is not None
        gx, gt = pb.autograd.grad(p.sum(), (x, t), allow_unused=True)
        assert gt is None
        same(gx, numbers(1.0))
        gx, gt = pb.autograd.grad(dot.sum(), (x, t), allow_unused=True)
        assert gx is None
        same(gt, numbers(1.0))


def test_backward_accumulates_a_dual_gradient() -> None:
    x = numbers(2.0).requires_grad_()
    with fw.dual_level():
        (fw.make_dual(x, numbers(1.0)) ** 3).sum().backward()
        same(tangent(x.grad), numbers(12.0))
    same(x.grad, numbers(12.0))


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * t


def test_custom_functions() -> None:
    x = numbers(2.0).requires_grad_()
    with fw.dual_level():
        y = Cube.apply(fw.make_dual(x, numbers(1.0)))
        same(tangent(y).detach(), numbers(12.0))
        (g,) = pb.autograd.grad(y.sum(), x)
        same(tangent(g), numbers(12.0))


def test_a_level_inside_of_transforms() -> None:
    def slope(x: Any) -> Any:
        with fw.dual_level():
            return tangent(fw.make_dual(x, pb.ones_like(x)) ** 3).sum()

    x = numbers(1.0, 2.0)
    same(grad(slope)(x), 6 * x)
    same(vmap(slope)(x), 3 * x**2)
    same(vmap(grad(slope))(x), 6 * x)
    with fw.dual_level():
        d = fw.make_dual(x, x)
        same(tangent(vmap(grad(slope))(d)), 6 * x)
        batched = vmap(lambda a, b: tangent(fw.make_dual(a, b) ** 2))(x.sin(), x)
        same(batched, 2 * x.sin() * x)


def test_graphs_with_tangents_are_freed() -> None:
    x = numbers(0.5).requires_grad_()

    class Mark:
        pass

    with fw.dual_level():
        y = fw.make_dual(x, numbers(1.0))
        for _ in range(100):
            y = y.exp().sin()
        mark = Mark()
        gone = weakref.ref(mark)
        y.register_hook(lambda g, mark=mark: None)
        del mark
    del y
    gc.collect()
    assert gone() is None
