"""Random programs over modules, hooks, state dicts, `nn.utils`, optimisers and schedules give what PyTorch gave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import pullback as pb
from pullback.nn.modules import _calling, _global_hooks
from support import programs, programs_modules, programs_training

FAMILIES = programs_modules.FAMILIES | programs_training.FAMILIES
RECORDED = programs.recorded()


@pytest.fixture(autouse=True)
def _no_hooks_of_all_modules() -> Iterator[None]:
    """Programs may leave some."""
    yield
    hooks = _global_hooks.GLOBAL
    for kept in (hooks.forward, hooks.forward_pre, hooks.backward, hooks.backward_pre, hooks.forward_always):
        kept.clear()
    hooks.is_full_backward = None
    _calling.Called._hooked = False


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_give_what_pytorch_gives(family: str) -> None:
    assert len(RECORDED[family]) >= 80
    for seed, expected in enumerate(RECORDED[family]):
        if seed in FAMILIES[family].apart:
            continue
        program = FAMILIES[family].program(seed)
        found = programs.run(program, pb)
        pairs = zip(found, expected, strict=False)
        different = next(((a, b) for a, b in pairs if not programs.agree(a, b)), None)
        assert different is None and len(found) == len(expected), (
            f"{family}, seed {seed}: here and in PyTorch {different}\n{program}"
        )
