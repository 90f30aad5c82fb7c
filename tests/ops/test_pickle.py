"""Functions of the table and named results can be pickled, and tensors keep the order of their elements."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

import pullback as pb
from pullback import _core

FUNCTIONS = [entry["name"] for entry in _core.operator_table() if entry["flags"]["function"]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_found_in_its_module(name: str) -> None:
    path, _, short = f"pullback.{name}".rpartition(".")
    f = getattr(importlib.import_module(path), short)
    assert (f.__module__, f.__name__) == (path, short)
    assert pickle.loads(pickle.dumps(f)) is f


RESULTS: dict[str, Any] = {
    "max": lambda: pb.max(pb.eye(2), 0),
    "sort": lambda: pb.sort(pb.ones(2)),
    "linalg_svd": lambda: pb.linalg.svd(pb.eye(2)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_named_result_is_restored_in_another_process(name: str) -> None:
    result = RESULTS[name]()
    assert type(result) is getattr(pb.return_types, name)
    program = f"import pickle; r = pickle.loads({pickle.dumps(result)!r}); print(type(r).__name__, r[0].tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{name} {result[0].tolist()}"


def test_all_named_results_are_known_before_their_first_use() -> None:
    program = "import pullback as pb; print(*(getattr(pb.return_types, n)._fields for n in dir(pb.return_types)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "('values', 'indices')" in done.stdout and "('Q', 'R')" in done.stdout
    with pytest.raises(AttributeError, match=r"return_types.*no_such"):
        pb.return_types.no_such  # noqa: B018


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_keep_the_order(protocol: int) -> None:
    for x in (pb.rand(3, 4).t(), pb.rand(2, 3, 4, 5).to(memory_format=pb.channels_last), pb.rand(2, 3)):
        again = pickle.loads(pickle.dumps(x, protocol))
        assert pb.equal(again, x) and again.stride() == x.stride()
        again[0] = 0
    with pytest.raises(ValueError, match="no order of the dimensions"):
        pb._pickling.rebuilt(pb.Tensor, bytes(24), "float32", (2, 3), False, (0, 0))
