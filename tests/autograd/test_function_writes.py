"""Forwards that write to their arguments without `mark_dirty`: an error where the changed value is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import grad, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, 3.0])
HERE = Path(__file__).name


def by_operator(s: Any) -> None:
    s.mul_(3)


def by_index(s: Any) -> None:
    s[0] = 7.0


def by_view(s: Any) -> None:
    s[1:].add_(1)


def by_numpy(s: Any) -> None:
    s.numpy()[0] = 7.0


def by_data(s: Any) -> None:
    s.data[0] = 7.0


def by_detach(s: Any) -> None:
    s.detach()[1:].mul_(5)


def by_detached_memory(s: Any) -> None:
    s.detach().numpy()[2] = 9.0


SILENT = [by_operator, by_index, by_view, by_numpy]
TOLD = [by_data, by_detach, by_detached_memory]


def writer(write: Any, returns: bool = False, save: bool = False, separate: bool = False) -> Any:
    def run(x: Any, s: Any) -> Any:
        write(s)
        again = s + 0  # reading inside the same forward is allowed
        return s if returns else x * again

    def classic(ctx: Any, x: Any, s: Any) -> Any:
        out = run(x, s)
        if save:
            ctx.save_for_backward(s)
        return out

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        if save:
            ctx.save_for_backward(inputs[1])

    def backward(ctx: Any, g: Any) -> Any:
        return (g * ctx.saved_tensors[0], None) if save else (g, g)

    methods: dict[str, Any] = {"backward": backward}
    methods |= {"forward": run, "setup_context": setup} if separate else {"forward": classic}
    return type("Writer", (Function,), {n: staticmethod(f) for n, f in methods.items()}).apply


def changed(write: Any) -> Any:
    s = pb.ones(3)
    write(s)
    return s


def raises() -> Any:
    return pytest.raises(
        RuntimeError, match=rf"(?s)Writer: its forward changed.*'s'.* in place.*mark_dirty.*{HERE}:\d+"
    )


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("write", SILENT + TOLD)
def test_scratch_that_nobody_follows(write: Any, separate: bool) -> None:
    want = changed(write)
    x, s = X.clone().requires_grad_(), pb.ones(3)
    y = writer(write, separate=separate)(x, s)
    same(y, X * want)
    same(s, want)
    y.sum().backward()
    same(x.grad, pb.ones(3))
    x.grad = None
    s = pb.ones(3)
    y = writer(write, returns=True, separate=separate)(x, s)
    same(y, want)
    same(s, want)
    y.sum().backward()
    same(x.grad, pb.ones(3))
    x.grad = None
    writer(write, save=True, separate=separate)(x, pb.ones(3)).sum().backward()
    same(x.grad, want)
    same(grad(lambda x: writer(write, save=True, separate=separate)(x, pb.ones(3)).sum())(X), want)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("write", SILENT)
def test_a_silent_write_raises_where_it_is_used(write: Any, separate: bool) -> None:
    f, want = writer(write, separate=separate), changed(write)
    leaf = pb.ones(3, requires_grad=True)
    for s in (leaf * 1, leaf):
        y = f(X, s)
        same(y, X * want)
        same(s.detach(), want)
        assert s.requires_grad and s.is_leaf == (s is leaf)
        with pb.no_grad():
            same(s * 2, 2 * want)
        with raises():
            s * 2
        with raises():
            f(s, X.clone())
        y.sum().backward()
    with raises():
        writer(write, save=True, separate=separate)(X.clone().requires_grad_(), leaf * 1).sum().backward()
    leaf = pb.ones(3, requires_grad=True)
    f(X, leaf)
    with pb.no_grad():
        leaf.sub_(1)
    (leaf * 2).sum().backward()
    same(leaf.grad, 2 * pb.ones(3))

    def used(s: Any) -> Any:
        s = s * 1
        y = f(X, s)
        return (y + s).sum()

    with raises():
        grad(used)(pb.ones(3))
    with raises():
        jvp(used, (pb.ones(3),), (pb.ones(3),))
    same(grad(lambda s: f(X, s * 1).sum())(pb.ones(3)), pb.ones(3))
    with forward_ad.dual_level():
        s = forward_ad.make_dual(pb.ones(3), pb.ones(3)) * 1
        f(X, s)
        with raises():
            s * 2


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("write", TOLD)
def test_a_write_beside_the_history_is_the_programs_word(write: Any, separate: bool) -> None:
    want = changed(write)
    leaf = pb.ones(3, requires_grad=True)
    for s in (leaf * 1, leaf):
        y = writer(write, separate=separate)(X, s)
        same(y, X * want)
        same((s * 2).detach(), 2 * want)
        leaf.grad = None
        (s * X).sum().backward()
        same(leaf.grad, X)
        with pb.no_grad():
            leaf.fill_(1.0)
    x = X.clone().requires_grad_()
    writer(write, save=True, separate=separate)(x, leaf * 1).sum().backward()
    same(x.grad, want)
    s = leaf * 1
    y = writer(write, returns=True, separate=separate)(X, s)
    same(y, want)
    same(s, want)
    y.sum().backward()


def test_views_tell_their_base() -> None:
    for write in SILENT:
        base = pb.ones(2, 3, requires_grad=True) * 1
        writer(write)(X, base[0])
        same(base.detach()[0], changed(write))
        with raises():
            (base * 2).sum().backward()


def test_batches_need_no_declaration() -> None:
    s = pb.ones(2, 3)
    y = vmap(writer(by_operator), in_dims=(None, 0))(X, s)
    same(y, 3 * X.expand(2, 3))
    same(s, pb.full((2, 3), 3.0))
    with pytest.raises(RuntimeError, match="inplace"):
        vmap(writer(by_operator))(pb.stack([X, X]), pb.ones(2, 3)) + vmap(
            lambda x: writer(lambda s: s.mul_(x))(x, scratch)
        )(pb.stack([X, X]))


scratch = pb.ones(3)


def test_second_derivatives_read_what_was_written() -> None:
    """A saved scratch argument that forward filled is an intermediate: forward runs again."""

    class Filled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, s: Any) -> Any:
            s.copy_(2 * x)
            ctx.save_for_backward(s)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0], None

    same(grad(lambda x: Filled.apply(x, pb.zeros(3)).sum())(X), 2 * X)
    try:
        second = grad(lambda x: grad(lambda x: Filled.apply(x, pb.zeros(3)).sum())(x).sum())(X)
    except RuntimeError as error:
        assert "Filled" in str(error)
    else:
        same(second, pb.full((3,), 2.0))


def test_verify_reports_writes() -> None:
    for write in SILENT:

        class Secret(Function):
            @staticmethod
            def forward(ctx: Any, s: Any, write: Any = write) -> Any:
                write(s)
                return s + 1

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        assert not Secret.verify(X.double(), quiet=True)


def test_writes_before_the_call_are_no_writes_of_the_forward() -> None:
    class Product(Function):
        @staticmethod
        def forward(x: Any, s: Any) -> Any:
            s.data[0] = 7.0
            return x * s

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[1])

        @staticmethod
        def jvp(ctx: Any, t: Any, _: Any) -> Any:
            return t * ctx.saved_tensors[0]

    s = pb.ones(3, requires_grad=True)
    with pb.no_grad(), forward_ad.dual_level():
        s.add_(1)
        y = Product.apply(forward_ad.make_dual(X, pb.ones(3)), s)
        same(forward_ad.unpack_dual(y).tangent, pb.tensor([7.0, 2.0, 2.0]))
    (s * 2).sum().backward()
    same(s.grad, pb.full((3,), 2.0))
