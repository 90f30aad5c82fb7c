"""Forwards of layers on objects that stand in for them.

Programs that take the parameters out of a module make such objects by hand: what the module holds as attributes, and
methods bound to the object. So a forward may read what its instance holds and call methods that users know, but no data
of the class and no helpers of ours.
"""

from __future__ import annotations

import types
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from support import modules_cases  # noqa: F401
from support.modules import CASES, Make, fill, leaves

# Private methods that PyTorch's layers have too.
KNOWN = {
    "_conv_forward",
    "_check_input_dim",
    "_output_padding",
    "_get_no_batch_dim",
    "_sa_block",
    "_ff_block",
    "_mha_block",
}


class StandIn:
    """Attributes, parameters, buffers and methods of a module, and nothing else of its class."""

    def __init__(self, module: nn.Module) -> None:
        self.__dict__.update(module.__dict__)
        for held in (module._parameters, module._buffers, module._modules):
            self.__dict__.update(held)
        if isinstance(module, nn.RNNBase):
            self._flat_weights = module._flat_weights
        for name in dir(type(module)):
            method = getattr(type(module), name)
            if isinstance(method, types.FunctionType) and (name in KNOWN or not name.startswith("_")):
                static = isinstance(vars(next(c for c in type(module).__mro__ if name in vars(c)))[name], staticmethod)
                self.__dict__[name] = method if static else types.MethodType(method, self)


def layers() -> list[str]:
    """Those whose forward is all that a call runs."""
    return [name for name, (build, _, _) in CASES.items() if not hasattr(build(nn), "parametrizations")]


@pytest.mark.filterwarnings("ignore:dropout")
@pytest.mark.parametrize("name", layers())
def test_forward_of_a_stand_in(name: str) -> None:
    build, inputs, training = CASES[name]
    module = build(nn).double()
    make = Make(pb)
    fill(module, make)
    module.train(training)
    args = inputs(make)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    pb.manual_seed(0)
    expected = leaves(module(*args))
    module.load_state_dict(state)
    pb.manual_seed(0)
    stand_in: Any = StandIn(module)
    out = leaves(type(module).forward(stand_in, *args))
    assert len(out) == len(expected) > 0
    for one, other in zip(out, expected, strict=True):
        pb.testing.assert_close(one, other)
