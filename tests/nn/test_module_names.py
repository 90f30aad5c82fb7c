"""Classes name the public module that they are imported from, as PyTorch's do: pickles and registries write it down."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest

from pullback import nn, optim
from pullback.optim import lr_scheduler

CLASSES = [
    getattr(place, name)
    for place in (nn, optim, lr_scheduler)
    for name in sorted(dir(place))
    if not name.startswith("_") and isinstance(getattr(place, name), type)
]


def test_examples() -> None:
    assert nn.ReLU.__module__ == "pullback.nn.modules.activation"
    assert nn.MSELoss.__module__ == "pullback.nn.modules.loss"
    assert nn.LazyConv2d.__module__ == nn.Conv2d.__module__ == "pullback.nn.modules.conv"
    assert lr_scheduler.StepLR.__module__ == "pullback.optim.lr_scheduler"
    assert len(CLASSES) > 150


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_the_module_is_public(kind: type) -> None:
    assert "._" not in kind.__module__
    if kind.__module__.startswith("pullback"):
        assert getattr(import_module(kind.__module__), kind.__qualname__) is kind
        assert pickle.loads(pickle.dumps(kind)) is kind
