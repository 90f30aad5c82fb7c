"""Settings shared by all tests. Warnings are errors and xfail is strict: see pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import pullback as pb

# Properties (tests/laws): the same few examples each time, or many new ones with `--hypothesis-profile search`.
SLOW_TO_MAKE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "laws",
    max_examples=30,
    stateful_step_count=12,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=SLOW_TO_MAKE,
)
settings.register_profile(
    "search",
    max_examples=int(os.environ.get("PULLBACK_EXAMPLES", "2000")),
    stateful_step_count=14,
    derandomize=False,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    print_blob=True,
    suppress_health_check=SLOW_TO_MAKE,
)
settings.load_profile("laws")


@pytest.fixture(autouse=True)
def clean_state() -> Iterator[None]:
    """Each test starts from the same seed, and must leave the modes and the default dtype as it found them."""
    if hasattr(pb, "manual_seed"):
        pb.manual_seed(0)
    yield
    if hasattr(pb, "is_grad_enabled"):
        assert pb.is_grad_enabled(), "the test left gradients disabled"
    assert pb.get_default_dtype() is pb.float32, "the test left another default dtype"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many reference checks ran, and how many of those hold at which PyTorch itself fails."""
    checks, beyond = 0, {"pass": 0, "fail": 0}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", []) if getattr(report, "when", "") == "call" else []:
                if name == "checks":
                    checks += value
                elif name == "beyond_torch":
                    beyond[value.partition(" ")[0]] += 1
    if checks:
        total = sum(beyond.values())
        terminalreporter.write_line(
            f"reference: {checks} checks, and beyond PyTorch {beyond['pass']} of {total} where it fails itself"
        )
