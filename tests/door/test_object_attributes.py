"""Attributes that programs put on tensors."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from typing import Any

import pytest

import pullback as pb


class Marked(pb.Tensor):
    pass


class Thing:
    pass


def makers() -> list[Any]:
    return [
        lambda: pb.ones(2, 3),
        lambda: pb.arange(6).reshape(2, 3)[1:],
        lambda: pb.ones(2, requires_grad=True),
        lambda: pb.tensor(1.0),
        lambda: Marked([1.0, 2.0]),
    ]


@pytest.mark.parametrize("make", makers())
def test_attributes_are_kept(make: Any) -> None:
    x = make()
    shard = [1, 2]
    x.shard = shard
    x.name_of_it = "weight"
    assert x.shard is shard and x.name_of_it == "weight"
    assert vars(x)["shard"] is shard
    del x.shard
    with pytest.raises(AttributeError, match="shard"):
        _ = x.shard
    with pytest.raises(AttributeError, match="shard"):
        del x.shard
    x.__dict__ = {"other": 1}
    assert x.other == 1 and not hasattr(x, "name_of_it")


def test_results_and_views_do_not_inherit_them() -> None:
    x = pb.ones(3)
    x.tag = 1
    for y in (x.view(3), x.detach(), x + 0, x.clone(), x.data, x.reshape(3), x[:]):
        assert not hasattr(y, "tag")
    for y in (x.contiguous(), x.to(pb.float32), x.add_(0), pb.as_tensor(x), x.requires_grad_()):
        assert y is x and y.tag == 1


def test_an_inplace_operator_and_assigned_data_keep_them() -> None:
    x = pb.ones(3)
    x.tag = "kept"
    x += 1
    x[0] = 7
    x.data = pb.zeros(5)
    x.set_(pb.ones(2))
    assert x.tag == "kept" and x.tolist() == [1, 1]


@pytest.mark.parametrize("make", makers()[:2] + makers()[4:5])
def test_copies_and_pickles_keep_them(make: Any) -> None:
    x = make()
    x.tag = [1, [2]]
    shallow, deep, loaded = copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    assert shallow.tag is x.tag and shallow.data_ptr() == x.data_ptr()
    shallow.more = 1
    assert not hasattr(x, "more")
    for y in (deep, loaded):
        assert y.tag == x.tag and y.tag is not x.tag and y.tolist() == x.tolist() and type(y) is type(x)


def test_a_copy_with_a_tensor_that_refers_to_itself() -> None:
    x = pb.ones(2)
    x.me = [x]
    y = copy.deepcopy(x)
    assert y.me[0] is y and y is not x
    x.me = None


@pytest.mark.parametrize("make", makers())
def test_cycles_through_attributes_are_collected(make: Any) -> None:
    gc.collect()
    x, thing = make(), Thing()
    x.thing, thing.tensor = thing, x
    x.me = x
    dead = weakref.ref(thing), weakref.ref(x)
    del x, thing
    gc.collect()
    assert dead[0]() is None and dead[1]() is None


def test_what_an_attribute_holds_is_freed_with_the_tensor() -> None:
    x, thing = pb.ones(2), Thing()
    x.thing = thing
    dead = weakref.ref(thing)
    del thing
    assert dead() is x.thing
    del x
    assert dead() is None
    # A tensor that takes the place of a freed one begins without attributes.
    for _ in range(100):
        assert vars(pb.ones(2)) == {}


def test_the_attributes_of_many_tensors_stay_apart() -> None:
    tensors = [pb.ones(1) for _ in range(300)]
    for i, t in enumerate(tensors):
        if i % 3 == 0:
            t.number = i
    del tensors[::2]
    more = [pb.zeros(1) for _ in range(300)]
    assert not any(hasattr(t, "number") for t in more)
    for t in tensors:
        if "number" in vars(t):
            assert t.number % 3 == 0


def test_names_of_methods_and_properties() -> None:
    x = pb.tensor([0.0])
    with pytest.raises(AttributeError, match="shape"):
        x.shape = 3
    with pytest.raises(AttributeError, match="T"):
        x.T = 3
    x.sin = 3
    assert x.sin == 3
    del x.sin
    assert x.sin().tolist() == [0.0]


def test_a_tensor_of_no_attributes_has_no_dict() -> None:
    assert sys.getsizeof(pb.ones(2)) <= 136
    x = pb.ones(2)
    copy.copy(x), copy.deepcopy(x), pickle.dumps(x), x + x, x.shape
    assert not any(isinstance(o, dict) for o in gc.get_referents(x))
    x.tag = 1
    assert {"tag": 1} in gc.get_referents(x)


def test_swapped_tensors_exchange_them() -> None:
    a, b = pb.ones(2), pb.zeros(3)
    a.tag = 1
    pb.utils.swap_tensors(a, b)
    assert b.tag == 1 and not hasattr(a, "tag") and b.tolist() == [1, 1]


def test_arguments_of_transforms_begin_without_them() -> None:
    x = pb.ones(3)
    x.tag = 1

    def f(v: Any) -> Any:
        assert not hasattr(v, "tag")
        v.tag = 2
        return (v * v).sum()

    assert pb.func.grad(f)(x).tolist() == [2, 2, 2]
    assert pb.func.vmap(f)(pb.ones(2, 3)).tolist() == [3, 3]
    assert x.tag == 1
