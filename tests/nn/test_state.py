"""State dicts and what is loaded from them."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import nn


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
