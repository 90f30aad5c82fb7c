"""`DataParallel` where there is one device: it calls its module, under the names that programs with it save."""

from __future__ import annotations

import pickle

import pytest

import pullback as pb
from pullback import as_torch, nn


def test_it_calls_its_module() -> None:
    module = nn.Bilinear(2, 3, 1)
    model = nn.DataParallel(module, device_ids=[0, 1])
    x, y = pb.randn(4, 2), pb.randn(4, 3)
    assert model.module is module and (model(x, y) == module(x, y)).all() and (model(x, input2=y) == module(x, y)).all()
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    model(x, y).sum().backward()
    assert module.weight.grad is not None
    assert not model.eval().module.training
    assert (pickle.loads(pickle.dumps(model))(x, y) == module(x, y)).all()
    with pytest.raises(TypeError, match="must be a Module, got int"):
        nn.DataParallel(3)


def test_its_module_can_be_imported() -> None:
    with as_torch.install():
        import torch.nn.parallel  # type: ignore[import-not-found]
        from torch.nn import DataParallel

        assert torch.nn.parallel.DataParallel is DataParallel is nn.DataParallel
        with pytest.raises(ImportError, match=r"torch\.nn\.parallel\.DistributedDataParallel is out of scope"):
            from torch.nn.parallel import DistributedDataParallel  # noqa: F401
