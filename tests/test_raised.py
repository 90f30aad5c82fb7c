"""An exception that the program's own code raises, while an argument is looked at, is the one that the call raises.

`PULLBACK_RAISED_CALLS` sets the number of random calls.
"""

from __future__ import annotations

import os
import random

import pytest

import pullback as pb
from support import raising

SEED = 20261122
CALLS = int(os.environ.get("PULLBACK_RAISED_CALLS", "6000"))


def test_every_hook_at_every_entrance() -> None:
    faults = [f for entrance, hook in raising.every() if (f := raising.fault(entrance, hook, raising.Private))]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:40])


def test_random_objects_at_random_entrances() -> None:
    r = random.Random(SEED)
    faults = []
    for i in range(CALLS):
        if found := raising.fault(*raising.drawn(r)):
            faults.append(f"call {i}: {found}")
    assert not faults, f"seed {SEED}, {len(faults)} faults\n" + "\n".join(faults[:40])


@pytest.mark.parametrize("kind", [TypeError, AttributeError])
def test_exceptions_that_mean_another_kind_are_taken_so(kind: type[BaseException]) -> None:
    o, raised = raising.made("__index__", kind)
    with pytest.raises(TypeError, match="must be"):
        pb.zeros(3).sum(o)
    assert raised.errors


def test_numbers_of_a_class_of_ints_run_none_of_its_code() -> None:
    def refuse(*_args: object) -> None:
        raise raising.Private

    names = ("__float__", "__index__", "__int__", "__lt__", "__neg__", "__bool__", "__eq__", "__hash__")
    odd = type("Odd", (int,), dict.fromkeys(names, refuse))
    assert pb.tensor(odd(3)).item() == 3
    assert pb.tensor([odd(2**70)], dtype=pb.float64).item() == 2.0**70
    assert pb.full((), odd(-(2**70)), dtype=pb.float64).item() == -(2.0**70)
    with pytest.raises(OverflowError):
        pb.full((), odd(10**400), dtype=pb.float64)
