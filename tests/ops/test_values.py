"""Values of every entry: against NumPy and SciPy here, or against PyTorch's recorded values in test_reference.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from support import counterparts, properties, samples, vectors

TABLE = samples.table()
samples.load()
NUMPY = counterparts.NUMPY | samples.COUNTERPARTS
# What they give is random, unwritten memory, no tensor, or of a dtype that NumPy lacks.
ELSEWHERE = {"empty", "empty_like", "Tensor.new_empty", "result_type", "Tensor.bfloat16"}
ELSEWHERE |= {"empty_permuted", "empty_strided", "Tensor.new_empty_strided"}
# Compared with differences of quantiles in tests/distributions.
ELSEWHERE |= {"_standard_gamma_grad", "_dirichlet_grad"}
# Compared with their equations in tests/nn/test_recurrent.py.
ELSEWHERE |= {"lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}


def test_every_entry_is_compared() -> None:
    recorded = {*vectors.cases_by_operator("cases.jsonl"), *vectors.read_json("aliases.json")}
    random = {name for name, entry in TABLE.items() if entry["flags"]["random"]}
    left = {n for n, e in TABLE.items() if not {n, *e["aliases"]} & recorded} - random - ELSEWHERE - set(NUMPY)
    assert not left, "name a counterpart beside the samples, or add reference vectors"
    assert not set(NUMPY) - set(TABLE)
    assert not set(counterparts.NUMPY) & set(samples.COUNTERPARTS)


def to_numpy(value: Any) -> Any:
    if isinstance(value, pb.Tensor):
        return value.detach().resolve_conj().resolve_neg().numpy()
    if isinstance(value, (list, tuple)):
        return type(value)(to_numpy(v) for v in value)
    return value


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_value(name: str) -> None:
    for call in properties.calls(name):
        tensors = [call.sample.via[i](t) if i in call.sample.via else t for i, t in enumerate(call.tensors)]
        args, kwargs = samples.replaced([list(call.sample.args), list(call.sample.kwargs.items())], iter(tensors))
        kwargs = {k: to_numpy(v) for k, v in kwargs if not isinstance(v, pb.dtype)}
        with np.errstate(all="ignore"):
            want = NUMPY[name](*map(to_numpy, args), **kwargs)
        got = call.leaves(*call.tensors)
        # A counterpart may give the values alone, without indices that follow from them.
        expected = list(want) if isinstance(want, (tuple, list)) else [want]
        assert expected and len(expected) <= len(got), call.sample.describe()
        for g, w in zip(got, expected, strict=False):
            np.testing.assert_allclose(
                g.detach().resolve_conj().resolve_neg().numpy(),
                w,
                rtol=1e-9,
                atol=1e-10,
                err_msg=call.sample.describe(),
            )
