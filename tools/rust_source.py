"""Just enough of Rust's lexical grammar for the checks in this folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_OPAQUE = re.compile(
    r"""
      //[^\n]*
    | /\*
    | \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)
    | [bc]?"(?:\\.|[^"\\])*"
    | b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^\\'\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = "([{", ")]}"


def blank(text: str) -> str:
    """The text with comments, strings and characters overwritten by spaces; offsets and lines stay."""
    out, at = [], 0
    while found := _OPAQUE.search(text, at):
        end = _end_of_comment(text, found.start()) if found[0] == "/*" else found.end()
        hidden = text[found.start() : end]
        out += [text[at : found.start()], re.sub(r"[^\n]", " ", hidden)]
        at = end
    return "".join(out) + text[at:]


def _end_of_comment(text: str, start: int) -> int:
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def closing(code: str, start: int) -> int:
    """The offset after the bracket that closes the one at `start`; the end of the code if there is none."""
    depth = 0
    for i in range(start, len(code)):
        if code[i] in _OPEN:
            depth += 1
        elif code[i] in _CLOSE:
            depth -= 1
            if depth == 0:
                return i + 1
    return len(code)


def body(code: str, start: int) -> tuple[int, int] | None:
    """The block `{…}` of the item whose head begins at `start`, or None if a `;` ends it first."""
    i = start
    while i < len(code):
        if code[i] == "{":
            return i, closing(code, i)
        if code[i] in "([":
            i = closing(code, i)
            continue
        if code[i] in ";)]}":
            return None
        i += 1
    return None


def without_tests(code: str) -> str:
    """Blanked code in which items under `#[cfg(test)]` and `#[test]` are overwritten too."""
    marks = re.compile(r"#\[\s*(?:cfg\s*\(\s*(?:test|all\s*\(\s*test\b[^\]]*)\s*\)?\s*\)|test)\s*\]")
    at = 0
    while found := marks.search(code, at):
        block = body(code, found.end() + len(_attributes(code, found.end())))
        stop = block[1] if block else code.find(";", found.end()) + 1 or len(code)
        code = code[: found.start()] + re.sub(r"[^\n]", " ", code[found.start() : stop]) + code[stop:]
        at = found.start()
    return code


def _attributes(code: str, start: int) -> str:
    at = start
    while found := re.compile(r"\s*#\[").match(code, at):
        at = closing(code, found.end() - 1)
    return code[start:at]


def line_of(code: str, offset: int) -> int:
    return code.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Source:
    """One file of a crate: its path below the root, its module path, and its blanked code without tests."""

    path: str
    module: tuple[str, ...]
    code: str

    @property
    def layer(self) -> str:
        return self.module[0] if self.module else ""


def crates(root: Path) -> list[list[Source]]:
    """The sources of each crate of the workspace: those of `root` and of the folders in `root`/crates."""
    folders = [root, *sorted(p for p in (root / "crates").glob("*") if p.is_dir())]
    return [_crate(root, folder / "src") for folder in folders]


def _crate(root: Path, src: Path) -> list[Source]:
    """All files of a crate except those that only hold tests."""
    out = []
    for file in sorted(src.rglob("*.rs")):
        path = file.relative_to(src)
        module = [*path.parent.parts, path.stem]
        if "tests" in module or path.stem.endswith("_tests"):
            continue
        if path.stem in ("mod", "lib"):
            module.pop()
        code = without_tests(blank(file.read_text(encoding="utf-8")))
        out.append(Source(file.relative_to(root).as_posix(), tuple(module), code))
    return out
