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
        from torch.nn.parallel import DistributedDataParallel
        from torch.nn.parallel.distributed import DistributedDataParallel as same  # type: ignore[import-not-found]
        from torch.nn.parallel.scatter_gather import gather  # type: ignore[import-not-found]

        assert same is DistributedDataParallel and not isinstance(nn.Linear(1, 1), DistributedDataParallel)
        with pytest.raises(NotImplementedError, match=r"DistributedDataParallel is out of scope: one process"):
            DistributedDataParallel(nn.Linear(1, 1))
        for call in (gather, torch.nn.parallel.scatter, torch.nn.parallel.replicate):
            with pytest.raises(RuntimeError, match="no devices to share work"):
                call(None, None)


def test_modules_one_after_the_other() -> None:
    x = pb.ones(1, 2)
    modules = [nn.Linear(2, 2), nn.Identity()]
    got = nn.parallel.parallel_apply(modules, [(x,), x], [{}, {}])
    assert got[0].equal(modules[0](x)) and got[1] is x
    assert nn.parallel.data_parallel(nn.Bilinear(2, 2, 1), (x, x), module_kwargs={}).shape == (1, 1)
    assert nn.parallel.data_parallel(nn.Identity(), x) is x
    with pytest.raises(ValueError, match="2 modules, 1 inputs and 2 keyword arguments"):
        nn.parallel.parallel_apply(modules, [x])
