"""What type checkers say of programs that use the package: nothing of right ones, and each mistake of wrong ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback as pb

HERE = Path(__file__).parent
RIGHT, WRONG = HERE / "user_program.py", HERE / "wrong_programs.py"
PACKAGE = Path(pb.__file__).parent
# The rules that mistakes break, by line.
EXPECTED = {
    number: set(marked[1].split())
    for number, line in enumerate(WRONG.read_text().splitlines(), 1)
    if (marked := re.search(r"\S  # ([a-z -]+)$", line))
}
Found = dict[int, set[str]]


def found_by_mypy() -> dict[Path, Found]:
    pytest.importorskip("mypy")
    cache = HERE.parents[1] / ".mypy_cache" / "programs"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        f"--cache-dir={cache}",
        RIGHT,
        WRONG,
    ]
    installed = "site-packages" in PACKAGE.parts
    environment = os.environ if installed else {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[Path, Found] = {RIGHT: {}, WRONG: {}}
    for line in run.stdout.splitlines():
        if told := re.match(r"(.+?):(\d+): error: .*\[([a-z-]+)\]$", line):
            found[HERE / Path(told[1]).name].setdefault(int(told[2]), set()).add(told[3])
        else:
            assert "note:" in line or line.startswith("Found "), f"an error elsewhere: {line}"
    return found


def found_by_pyright(folder: Path) -> dict[Path, Found]:
    pytest.importorskip("basedpyright")
    configuration = {
        "include": [str(RIGHT), str(WRONG)],
        "extraPaths": [str(PACKAGE.parent)],
        "typeCheckingMode": "strict",
        "pythonVersion": "{}.{}".format(*sys.version_info),
    }
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(configuration))
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "basedpyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        project,
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[Path, Found] = {RIGHT: {}, WRONG: {}}
    for told in json.loads(run.stdout)["generalDiagnostics"]:
        if told["severity"] == "error":
            line = told["range"]["start"]["line"] + 1
            found[Path(told["file"])].setdefault(line, set()).add(told.get("rule", "syntax"))
    return found


def test_mypy() -> None:
    found = found_by_mypy()
    assert found[RIGHT] == {}
    assert found[WRONG] == EXPECTED


def test_pyright(tmp_path: Path) -> None:
    found = found_by_pyright(tmp_path)
    assert found[RIGHT] == {}
    assert found[WRONG].keys() == EXPECTED.keys()


def test_the_program_runs() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run([sys.executable, RIGHT], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "(4, 1), (), (), (3,), (), (3,), (3,), (3, 3)]" in run.stdout


def test_stubs_are_current() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pullback._stubs", "--check", PACKAGE / "_core.pyi"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout


def test_names_of_the_package_have_types() -> None:
    """Each public name of the package stands in its stub."""
    stub = (PACKAGE / "__init__.pyi").read_text() + (PACKAGE / "_core.pyi").read_text()
    named = set(re.findall(r"^(?:def |class |from \S+ import (?:\S+) as )?([A-Za-z_]\w*)", stub, flags=re.M))
    listed = set(re.findall(r'^    "(\w+)",$', stub, flags=re.M))
    assert set(pb.__all__) <= named | listed
