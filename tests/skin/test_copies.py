"""Copies and pickles: what follows a value is copied or named in an error, and memory that is shared stays shared."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import random
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import pullback as pb
from pullback import autograd, func
from pullback.autograd import forward_ad as fw

COPIES = [copy.copy, copy.deepcopy]
X = pb.tensor([1.0, 2.0, 3.0])
V = pb.tensor([0.5, -1.0, 2.0])


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = [value]


@pytest.mark.parametrize("copied", COPIES)
def test_duals_keep_their_tangent(copied: Any) -> None:
    with fw.dual_level():
        d = fw.make_dual(X.clone(), V.clone())
        for e in (copied(d), copied(d * 1.0), copied(d)[0:3]):
            primal, tangent = fw.unpack_dual(e)
            assert primal.tolist() == X.tolist()
            assert tangent is not None
            assert tangent.tolist() == V.tolist()
        held = copy.deepcopy(Holder(d)).value[0]
        assert fw.unpack_dual(held).tangent.tolist() == V.tolist()
        e = copy.deepcopy(d)
        e.mul_(2)
        assert fw.unpack_dual(d).tangent.tolist() == V.tolist()
        assert fw.unpack_dual(e).tangent.tolist() == (2 * V).tolist()


def test_a_copy_of_a_dual_shares_its_memory_and_a_deep_one_does_not() -> None:
    with fw.dual_level():
        d = fw.make_dual(X.clone(), V.clone())
        e, f = copy.copy(d), copy.deepcopy(d)
        d.detach().add_(1)
        assert fw.unpack_dual(e).primal.tolist() == (X + 1).tolist()
        assert fw.unpack_dual(f).primal.tolist() == X.tolist()


def through(copied: Any) -> Any:
    return lambda x: (copied(x) * copied(x * x)).sum()


def plain(x: pb.Tensor) -> pb.Tensor:
    return (x * x * x).sum()


TRANSFORMS = {
    "grad": lambda f: func.grad(f)(X),
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum())(X),
    "jvp": lambda f: func.jvp(f, (X,), (V,))[1],
    "vmap": lambda f: func.vmap(f)(pb.stack([X, V])),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(pb.stack([X, V])),
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f)(pb.stack([x, x * 2])).sum())(X),
    "hessian": lambda f: func.hessian(f)(X),
    "jvp of grad": lambda f: func.jvp(func.grad(f), (X,), (V,))[1],
    "vjp": lambda f: func.vjp(f, X)[1](pb.tensor(2.0))[0],
    "linearize": lambda f: func.linearize(f, X)[1](V),
}


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_and_batches_go_through_copies(name: str, copied: Any) -> None:
    got, want = TRANSFORMS[name](through(copied)), TRANSFORMS[name](plain)
    pb.testing.assert_close(got, want)


@pytest.mark.parametrize("name", ["grad", "vmap", "jvp"])
def test_copies_of_containers_of_views_share_at_a_level(name: str) -> None:
    def f(x: pb.Tensor) -> pb.Tensor:
        y = x * 1.0
        base, part = copy.deepcopy([y, y[1:3]])
        part.mul_(2)
        return (base * base).sum()

    def want(x: pb.Tensor) -> pb.Tensor:
        scale = pb.tensor([1.0, 2.0, 2.0])
        return (x * scale * x * scale).sum()

    pb.testing.assert_close(TRANSFORMS[name](f), TRANSFORMS[name](want))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_of_a_followed_value_says_why_not(protocol: int) -> None:
    def save(x: Any) -> Any:
        pickle.dumps({"x": [x]}, protocol)
        return x

    with fw.dual_level(), pytest.raises(RuntimeError, match=r"tangent of a dual level.*unpack_dual"):
        save(fw.make_dual(X, V))
    for name, run in TRANSFORMS.items():
        if name != "linearize":
            with pytest.raises(RuntimeError, match="pickle: the tensor is a value of"):
                run(lambda x: save(x).sum())
    with pytest.raises(RuntimeError, match="pickle"):
        func.grad(lambda x: (ForkingPickler(io.BytesIO()).dump(x), x.sum())[1])(X)


def test_dual_numbers_of_a_level_that_has_ended_are_plain() -> None:
    with fw.dual_level():
        d = fw.make_dual(X.clone(), V.clone())
    assert pickle.loads(pickle.dumps(d)).tolist() == X.tolist()
    assert copy.deepcopy(d).tolist() == copy.copy(d).tolist() == X.tolist()


def test_parts_of_a_graph_are_pickled_as_leaves_and_not_copied_deeply() -> None:
    w = X.clone().requires_grad_()
    y = pickle.loads(pickle.dumps(w * 2))
    assert (y.is_leaf, y.requires_grad, y.tolist()) == (True, True, (X * 2).tolist())
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy([w * 2])
    z = copy.copy(w)
    assert (z.is_leaf, z.requires_grad, z.grad) == (True, True, None)
    assert z.data_ptr() == w.data_ptr()


def address(t: pb.Tensor) -> int:
    return t.untyped_storage().data_ptr()


def test_views_detached_tensors_and_storages_share_in_the_copy() -> None:
    b = pb.arange(6.0)
    many = [b, b[1:3], b.view(2, 3).t(), b.detach(), b.data, b.expand(2, 6), b.view(pb.int32), b[::2], b.view(2, 3)[1]]
    copies = copy.deepcopy(many)
    assert len({address(t) for t in copies}) == 1
    assert address(copies[0]) != address(b)
    for old, new in zip(many, copies, strict=True):
        assert (new.tolist(), new.shape, new.stride(), new.dtype) == (old.tolist(), old.shape, old.stride(), old.dtype)
        assert new.storage_offset() == old.storage_offset()
    copies[1].fill_(9)
    assert copies[0].tolist() == [0, 9, 9, 3, 4, 5]
    assert copies[2].tolist() == [[0, 3], [9, 4], [9, 5]]
    assert b.tolist() == [0, 1, 2, 3, 4, 5]
    t, s = copy.deepcopy([b, b.untyped_storage()])
    assert address(t) == s.data_ptr() != b.untyped_storage().data_ptr()
    assert copy.copy(b.untyped_storage()).data_ptr() != address(b)


def test_two_views_share_without_their_base() -> None:
    def two() -> list[pb.Tensor]:
        b = pb.arange(6.0)
        return [b[0:4], b[2:6]]

    x, y = copy.deepcopy(two())
    x[3] = -1.0
    assert y.tolist() == [2, -1, 4, 5]


def test_leaves_gradients_and_attributes_share() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = pb.ones(4, requires_grad=True)
            self.tied = self.w
            self.flat = self.w.detach()
            self.bias = pb.zeros(2, requires_grad=True)
            self.buffer = pb.arange(4.0)
            self.bias.grad = self.buffer[:2]

    m = copy.deepcopy(Model())
    assert m.tied is m.w
    assert m.w.is_leaf
    assert m.w.requires_grad
    m.flat.fill_(5)
    assert m.w.tolist() == [5] * 4
    m.buffer.fill_(7)
    assert m.bias.grad is not None
    assert m.bias.grad.tolist() == [7, 7]
    (m.w * m.w).sum().backward()
    assert m.w.grad is not None
    assert m.w.grad.tolist() == [10] * 4


def test_subclasses_keep_class_and_attributes() -> None:
    class Sub(pb.Tensor): ...

    s = pb.ones(3).as_subclass(Sub) if hasattr(pb.Tensor, "as_subclass") else Sub([1.0, 1.0, 1.0])
    s.note = [s]
    for copied in COPIES:
        t = copied(s)
        assert type(t) is Sub
        assert t.tolist() == [1, 1, 1]
    assert copy.copy(s).note is s.note
    deep = copy.deepcopy(s)
    assert deep.note is not s.note
    assert deep.note[0] is deep


def test_random_families_of_views_share_like_their_originals() -> None:
    seed = 20261122
    r = random.Random(seed)
    steps = (
        lambda t: t[1:],
        lambda t: t[::2],
        lambda t: t.t() if t.ndim == 2 else t,
        lambda t: t.detach(),
        lambda t: t.data,
        lambda t: t.view(-1) if t.is_contiguous() else t,
        lambda t: t[None],
        lambda t: t.expand(2, *t.shape) if t.ndim < 3 else t,
        lambda t: t[0] if t.ndim > 1 else t,
        lambda t: t * 1,
        lambda t: t.view(pb.int32).view(pb.float32) if t.is_contiguous() else t,
    )
    for round_ in range(150):
        family = [pb.rand(4, 6) if r.random() < 0.5 else pb.rand(12)]
        for _ in range(r.randrange(1, 6)):
            t = r.choice(steps)(r.choice(family))
            if t.numel():
                family.append(t)
        r.shuffle(family)
        copies = copy.deepcopy(family)
        for (a, c), (b, d) in itertools.product(zip(family, copies, strict=True), repeat=2):
            assert (address(a) == address(b)) == (address(c) == address(d)), f"seed {seed} round {round_}"
        k = r.randrange(len(family))
        writable = [i for i, t in enumerate(family) if 0 not in t.stride()]
        k = k if k in writable else writable[0]
        family[k].fill_(3.0)
        copies[k].fill_(3.0)
        for a, c in zip(family, copies, strict=True):
            assert a.tolist() == c.tolist(), f"seed {seed} round {round_}"


def test_hooks_and_gradients_stay_with_the_original() -> None:
    w = X.clone().requires_grad_()
    w.register_hook(lambda g: g * 100)
    w.grad = V.clone()
    for other in (copy.deepcopy(w), copy.copy(w), pickle.loads(pickle.dumps(w))):
        other.grad = None
        (other * 2).sum().backward()
        assert other.grad.tolist() == [2, 2, 2]
    assert w.grad.tolist() == V.tolist()
    assert copy.deepcopy(w).grad.tolist() == V.tolist()
    assert autograd.grad((w * 2).sum(), w)[0].tolist() == [200] * 3
