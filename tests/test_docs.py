"""Every Python block of the README and the documentation runs, and prints what it says it prints.

The blocks of one file share a namespace. Where a block contains comments `# -> text`, its printed lines must be these.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from pullback._absent import REASONS

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    p for p in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))) if p.exists()
]
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = [str(p.relative_to(ROOT)) for p in FILES]


def blocks(text: str) -> list[tuple[str, int, str]]:
    """(kind, first line, body) of each fenced block."""
    return [(m["kind"].strip(), text.count("\n", 0, m.start("body")) + 1, m["body"]) for m in FENCE.finditer(text)]


def promised(body: str) -> list[str]:
    return re.findall(r"# -> (.*?)\s*$", body, re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_python_blocks(file: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for kind, line, body in blocks(file.read_text(encoding="utf-8")):
        if kind != "python":
            continue
        code = compile("\n" * (line - 1) + body, str(file), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if want := promised(body):
            got = [text.rstrip() for text in printed.getvalue().splitlines()]
            assert got == want, f"{file.name}:{line}"


def test_what_is_out_of_scope_is_listed() -> None:
    """The errors of missing names and the page for those who come from PyTorch speak of the same parts."""
    text = (ROOT / "docs" / "from-torch.md").read_text(encoding="utf-8")
    table = text[text.index("## What is missing") :]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(.*?)`", row)}
    assert {part for part in REASONS if part[0] != "_"} <= listed


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_blocks_say_their_language(file: Path) -> None:
    """rustdoc takes an untagged block of the README for Rust."""
    known = {"python", "rust", "sh", "text", "toml"}
    unknown = [(line, kind) for kind, line, _ in blocks(file.read_text(encoding="utf-8")) if kind not in known]
    assert not unknown


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_quoted_source_is_current(file: Path) -> None:
    """A Rust block that begins with `// in src/…` quotes that file word for word."""
    for kind, line, body in blocks(file.read_text(encoding="utf-8")):
        first, _, quoted = body.partition("\n")
        if kind == "rust" and first.startswith("// in "):
            source = ROOT / first.removeprefix("// in ").strip()
            assert quoted.rstrip("\n") in source.read_text(encoding="utf-8"), f"{file.name}:{line}"
