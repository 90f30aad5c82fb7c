"""Every tier-1 operator against PyTorch's recorded values, derivatives, batches and exceptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import vectors
from support.reference import Case

CASES = vectors.cases_by_operator("cases.jsonl")
ERRORS = vectors.cases_by_operator("errors.jsonl")
ALIASES = vectors.read_json("aliases.json")


def takes_alias(alias: str, stored: Any) -> bool:
    """Whether a case can be called under another name: a method needs a tensor first, a dunder no keywords."""
    if not alias.startswith("Tensor."):
        return True
    args = stored["args"]
    first_is_tensor = bool(args) and isinstance(args[0], dict) and "$t" in args[0]
    return first_is_tensor and not (alias.startswith("Tensor.__") and stored["kwargs"])


def checks_of(op: str) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
    for stored in CASES[op]:
        for check in stored["checks"]:
            yield stored, check, ()
    for alias, target in ALIASES.items():
        if target == op:
            for stored in CASES[op]:
                if takes_alias(alias, stored):
                    yield stored, "alias", (alias,)
                    break


def run(stored: Any, check: str, args: tuple[str, ...], record: Callable[[str, object], None]) -> str | None:
    """None if the check holds, or if PyTorch fails it too; otherwise what went wrong."""
    beyond = check in stored.get("torch_fails", {})
    label = " ".join([stored["id"], check, *args])
    try:
        Case(stored).run(check, *args)
    except Exception as error:
        if beyond:
            record("beyond_torch", f"fail {label}")
            return None
        text = str(error).strip().split("\n")[0][:300]
        return f"{label}: {type(error).__name__}: {text}"
    if beyond:
        record("beyond_torch", f"pass {label}")
    return None


def report(failures: list[str], total: int) -> None:
    if failures:
        shown = "\n".join(failures[:25])
        pytest.fail(f"{len(failures)} of {total} checks fail:\n{shown}", pytrace=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sorted(CASES))
def test_operator(op: str, record_property: Callable[[str, object], None]) -> None:
    jobs = list(checks_of(op))
    failures = [text for job in jobs if (text := run(*job, record_property))]
    record_property("checks", len(jobs))
    report(failures, len(jobs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sorted(ERRORS))
def test_errors(op: str, record_property: Callable[[str, object], None]) -> None:
    failures = [text for stored in ERRORS[op] if (text := run(stored, "error", (), record_property))]
    record_property("checks", len(ERRORS[op]))
    report(failures, len(ERRORS[op]))
