"""Every operator is documented, and the examples of all docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Any

import pytest

import pullback as pb
from pullback import _core

TABLE = {entry["name"]: entry for entry in _core.operator_table()}
# Packages that a module of ours is for, and that need not be there.
OPTIONAL = ("einops",)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    found = pkgutil.walk_packages(pb.__path__, "pullback.")
    return ["pullback", *(info.name for info in found if not info.name.rpartition(".")[2].startswith("_"))]


def run(example: doctest.DocTest) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_operator(name: str) -> None:
    doc: str = TABLE[name]["doc"]
    assert doc.strip(), f"{name} has no documentation"
    run(doctest.DocTestParser().get_doctest(doc, {"pullback": pb}, name, None, 0))


@pytest.mark.parametrize("name", modules())
def test_module(name: str) -> None:
    try:
        module: Any = importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name not in OPTIONAL:
            raise
        pytest.skip(f"needs {e.name}")
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, globs={"pullback": pb}):
        run(example)
