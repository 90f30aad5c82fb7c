#!/usr/bin/env python3
"""Checks the size budgets: functions up to 60 lines, files up to 400 (600 at most).

    python tools/sizes.py [ROOT]

Counts Rust and Python files that git tracks. Tests inside src/ do not count towards a file, and a docstring does not
count towards its function. Longer functions and files above 400 lines are listed; a file above 600 lines fails.
Generated files and tables of data (`_table` in the name, stubs) are left out.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rust_source

FUNCTION, FILE, FILE_LIMIT = 60, 400, 600


class Length(NamedTuple):
    lines: int
    where: str


def rust_functions(code: str, path: str) -> Iterator[Length]:
    for head in re.finditer(r"\bfn\s+((?:r#)?[A-Za-z_]\w*)", code):
        if block := rust_source.body(code, head.end()):
            lines = code.count("\n", head.start(), block[1]) + 1
            yield Length(lines, f"{path}:{rust_source.line_of(code, head.start())} {head[1]}")


def python_functions(text: str, path: str) -> Iterator[Length]:
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            doc = 0
            if ast.get_docstring(node, clean=False) is not None:
                doc = (first.end_lineno or first.lineno) - first.lineno + 1
            yield Length((node.end_lineno or node.lineno) - node.lineno + 1 - doc, f"{path}:{node.lineno} {node.name}")


def tracked(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.py"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted({n for n in names if n and (root / n).is_file() and "_table" not in Path(n).name})


def measure(root: Path) -> tuple[list[Length], list[Length]]:
    functions: list[Length] = []
    files: list[Length] = []
    for name in tracked(root):
        text = (root / name).read_text(encoding="utf-8")
        lines = text.count("\n")
        if name.endswith(".rs"):
            whole = rust_source.blank(text)
            functions += rust_functions(whole, name)
            if "src" in Path(name).parts:
                own = rust_source.without_tests(whole)
                lines -= sum(1 for a, b in zip(whole.split("\n"), own.split("\n"), strict=True) if a != b)
        else:
            functions += python_functions(text, name)
        files.append(Length(lines, name))
    return functions, files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    functions, files = measure(parser.parse_args().root)
    for length in sorted(f for f in functions if f.lines > FUNCTION):
        print(f"{length.lines:6} lines (over {FUNCTION}): {length.where}")
    for length in sorted(f for f in files if f.lines > FILE):
        verdict = "TOO LONG, the limit is 600" if length.lines > FILE_LIMIT else f"over {FILE}"
        print(f"{length.lines:6} lines ({verdict}): {length.where}")
    too_long = sum(f.lines > FILE_LIMIT for f in files)
    longest = max((f.lines for f in functions), default=0)
    print(
        f"sizes: {len(files)} files, {len(functions)} functions, the longest of {longest} lines, "
        f"{sum(f.lines > FUNCTION for f in functions)} over {FUNCTION}; {too_long} files over {FILE_LIMIT} lines"
    )
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
