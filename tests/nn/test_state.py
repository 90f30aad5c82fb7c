"""State dicts and what is loaded from them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.utils import pytree


def net() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_round_trip() -> None:
    a, b = net(), net()
    a(pb.randn(4, 2))
    keys = b.load_state_dict(a.state_dict())
    assert str(keys) == "<All keys matched successfully>"
    for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True):
        assert pb.equal(x, y)
    assert b[0].weight.data_ptr() != a[0].weight.data_ptr()
    assert a.state_dict()._metadata["1"] == {"version": 2}
    assert a.state_dict(keep_vars=True)["0.weight"] is a[0].weight
    assert next(iter(a.state_dict(prefix="p."))) == "p.0.weight"


def test_what_does_not_fit() -> None:
    state = net().state_dict()
    del state["0.bias"]
    state["2.more"] = pb.ones(1)
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0.bias"(.|\n)*Unexpected key.*"2.more"'):
        net().load_state_dict(state)
    found = net().load_state_dict(state, strict=False)
    assert found.missing_keys == ["0.bias"] and found.unexpected_keys == ["2.more"]
    with pytest.raises(RuntimeError, match="size mismatch for 0.weight"):
        net().load_state_dict({"0.weight": pb.ones(3, 3)}, strict=False)
    with pytest.raises(RuntimeError, match="expected torch.Tensor"):
        net().load_state_dict({"0.weight": 3}, strict=False)
    with pytest.raises(TypeError, match="dict-like"):
        net().load_state_dict([])


def test_assign() -> None:
    a = net()
    with pytest.warns(UserWarning, match="assign=True"):
        net().to("meta").load_state_dict(a.state_dict())
    b = net().to("meta")
    b.load_state_dict(a.state_dict(), assign=True)
    assert b[0].weight.data_ptr() == a[0].weight.data_ptr() and isinstance(b[0].weight, nn.Parameter)


def test_norms_of_before_batches_were_counted() -> None:
    state = nn.BatchNorm1d(3).state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    m = nn.BatchNorm1d(3)
    m.load_state_dict(state)
    assert m.num_batches_tracked.item() == 0


class WithExtra(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = 0

    def get_extra_state(self) -> Any:
        return {"counter": self.counter}

    def set_extra_state(self, state: Any) -> None:
        self.counter = state["counter"]


def test_extra_state() -> None:
    a, b = WithExtra(), WithExtra()
    a.counter = 7
    b.load_state_dict(a.state_dict())
    assert b.counter == 7
    with pytest.raises(RuntimeError, match="_extra_state"):
        b.load_state_dict({})


def test_hooks() -> None:
    m, calls = net(), []
    m.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(("pre", prefix, keep)))
    handle = m.register_state_dict_post_hook(lambda module, state, prefix, meta: (state.pop("0.bias"), None)[1])
    state = m.state_dict()
    assert calls == [("pre", "", False)] and "0.bias" not in state
    handle.remove()
    m.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="must return None"):
        m.state_dict()
    n = net()
    n[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: calls.append((module is n[0], prefix)))
    n.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    n.load_state_dict(state)
    assert calls[-1] == (True, "0.")


def test_lazy_modules() -> None:
    lazy: Any = nn.LazyLinear(3)
    assert lazy.has_uninitialized_params()
    with pytest.raises(ValueError, match="uninitialized parameter"):
        lazy.weight + 1
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        _ = lazy.weight.shape
    other: Any = nn.LazyLinear(3)
    other.load_state_dict(lazy.state_dict())
    other.double().load_state_dict(nn.Linear(2, 3).state_dict())
    assert other.weight.shape == (3, 2) and other.weight.dtype == pb.float64
    lazy(pb.ones(1, 4))
    assert type(lazy) is nn.Linear and lazy.in_features == 4 and type(lazy.weight) is nn.Parameter
    assert not lazy._hooked


def test_registered_tensors_are_a_dict_in_trees() -> None:
    layer = nn.BatchNorm1d(2, affine=True)
    kept: Any = layer._parameters
    assert pytree.tree_leaves([kept, layer._buffers])[:2] == [layer.weight, layer.bias]
    doubled = pytree.tree_map(lambda p: 2 * p, kept)
    assert type(doubled) is dict and list(doubled) == ["weight", "bias"] and doubled["weight"].tolist() == [2, 2]
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(kept)[0]]
    assert paths == ["['weight']", "['bias']"]
    found = pb.func.grad(lambda held: (3 * held["weight"]).sum() + held["bias"].sum())(kept)
    assert type(found) is dict and found["weight"].tolist() == [3, 3] and found["bias"].tolist() == [1, 1]
    assert pb.func.vmap(lambda held: held["weight"] + held["bias"])(kept).tolist() == [1, 1]


def test_the_type_of_registered_tensors_makes_dicts() -> None:
    layer = nn.Linear(1, 1)
    kept: Any = layer._parameters
    made = type(kept)((name, p.detach()) for name, p in kept.items())
    assert (
        type(made) is dict and list(made) == ["weight", "bias"] and type(kept)(a=1) == {"a": 1} and type(kept)() == {}
    )
    kept.update(made)
    assert layer.weight is made["weight"]


def test_registered_tensors_are_a_dict_for_optree(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: dict[type, Any] = {}

    def register(cls: type, flatten: Any, unflatten: Any, *, namespace: str) -> None:
        assert namespace == "everywhere" and cls not in registered
        registered[cls] = flatten, unflatten

    fake = SimpleNamespace(registry=SimpleNamespace(__GLOBAL_NAMESPACE="everywhere"), register_pytree_node=register)
    monkeypatch.setitem(sys.modules, "optree", fake)
    layer = nn.Linear(1, 1)
    for _ in range(2):
        kept = layer._parameters
    flatten, unflatten = registered[type(kept)]
    children, names, entries = flatten(kept)
    assert children == [layer.bias, layer.weight] and names == entries == ("bias", "weight")
    assert unflatten(names, [1, 2]) == {"bias": 1, "weight": 2}
