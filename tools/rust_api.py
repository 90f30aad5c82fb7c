#!/usr/bin/env python3
"""Lists what Rust users of the crate `pullback` see, and checks that all of it is documented.

    python tools/rust_api.py [--check] [--no-build]

Runs `cargo doc`, where a warning is an error, and reads the pages that it writes. Without `--check` the list goes to
docs/rust-api.md; with it, exit status 1 if the file says something else. `--no-build` reads the pages that there are.
Items without documentation are always an error.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "rust-api.md"
COMMAND = ["cargo", "doc", "--locked", "--profile", "checked", "--no-deps", "-p", "pullback", "-p", "pullback-dense"]

# In the order of the list; rustdoc's names of the kinds, which begin the names of their pages.
KINDS = {
    "fn": "Functions",
    "struct": "Structs",
    "enum": "Enums",
    "trait": "Traits",
    "type": "Type aliases",
    "macro": "Macros",
    "constant": "Constants",
    "static": "Statics",
    "attr": "Attributes",
    "derive": "Derive macros",
    "union": "Unions",
}
# What a page has of its item itself; impls of traits come after it.
END = re.compile(
    r'<h2 id="(?:trait-implementations|synthetic-implementations|blanket-implementations|implementors|foreign-impls|'
    r'deref-methods[^"]*)"'
)
PART = re.compile(
    r'<(?P<tag>section|span) id="(?P<kind>variant|structfield|tymethod|method|associatedtype|associatedconstant)\.'
    r'(?P<name>\w+)(?:-\d+)?"'
)


class Item(NamedTuple):
    kind: str
    path: str
    parts: tuple[str, ...]


def build() -> None:
    flags = f"{os.environ.get('RUSTDOCFLAGS', '')} -D warnings".strip()
    subprocess.run(COMMAND, cwd=ROOT, check=True, env={**os.environ, "RUSTDOCFLAGS": flags})


def pages() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc" / "pullback"


def links(folder: Path) -> list[str]:
    """The page of each item, as all.html has them."""
    text = (folder / "all.html").read_text(encoding="utf-8")
    return [html.unescape(link) for link in re.findall(r'<li><a href="([^"]+)">', text)]


def parts_of(body: str) -> tuple[list[str], list[str]]:
    """The fields, variants and methods of a page, and those without documentation."""
    names, bare = [], []
    for part in PART.finditer(body):
        end = body.find(f"</{part['tag']}>", part.end())
        if part["tag"] == "span":  # a field's type is in a <code> of links, without a span inside
            rest = body[end + len("</span>") :]
        else:
            rest = re.sub(r"^</summary>", "", body[end + len("</section>") :])
        names.append(part["name"])
        if not re.match(r'\s*<div class="docblock', rest):
            bare.append(part["name"])
    return names, bare


def read(folder: Path) -> tuple[list[Item], list[str]]:
    items, bare = [], []
    for link in links(folder):
        *modules, page = link.split("/")
        kind, name = page.removesuffix(".html").split(".", 1)
        path = "::".join([*modules, name])
        text = (folder / link).read_text(encoding="utf-8")
        end = END.search(text)
        body = text[: end.start() if end else len(text)]
        if 'class="toggle top-doc"' not in body and 'class="docblock"' not in body.split('<h2 id="', 1)[0]:
            bare.append(path)
        names, without = parts_of(body)
        bare += [f"{path}::{part}" for part in without]
        items.append(Item(kind, path, tuple(names)))
    return items, bare


def written(items: list[Item]) -> str:
    total = len(items) + sum(len(i.parts) for i in items)
    lines = [
        "# What Rust users see",
        "",
        f"The {total} public items of the crate `pullback`: {len(items)} alone, and {total - len(items)} methods,",
        "fields and variants. `python tools/rust_api.py` writes this list; what is not in it may change at any time.",
    ]
    for kind, title in KINDS.items():
        found = sorted((i for i in items if i.kind == kind), key=lambda i: (i.path.count("::"), i.path))
        if not found:
            continue
        lines += ["", f"## {title}", ""]
        for item in found:
            lines.append(f"- `{item.path}`" + (":" if item.parts else ""))
            lines += wrapped(item.parts)
    return "\n".join(lines) + "\n"


def wrapped(parts: tuple[str, ...]) -> list[str]:
    lines, line = [], " "
    for i, part in enumerate(parts):
        word = f" `{part}`" + ("," if i + 1 < len(parts) else "")
        if len(line) + len(word) > 120:
            lines.append(line)
            line = " "
        line += word
    return [*lines, line] if parts else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the list would change")
    parser.add_argument("--no-build", action="store_true", help="read the pages that there are")
    args = parser.parse_args()
    if not args.no_build:
        build()
    items, bare = read(pages())
    unknown = sorted({i.kind for i in items} - set(KINDS))
    faults = [f"kind of item that is not known: {kind}" for kind in unknown]
    faults += [f"without documentation: {name}" for name in bare]
    text = written(items)
    if args.check and (not LIST.exists() or LIST.read_text(encoding="utf-8") != text):
        faults.append("docs/rust-api.md is not the list: run python tools/rust_api.py")
    elif not args.check:
        LIST.write_text(text, encoding="utf-8")
    for fault in faults:
        print(fault)
    print(f"rust-api: {len(items)} items, {sum(len(i.parts) for i in items)} parts, {len(bare)} without documentation")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
