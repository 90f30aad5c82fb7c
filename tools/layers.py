#!/usr/bin/env python3
"""Checks that the layers of each crate use each other downwards only; between crates the compiler checks it.

    python tools/layers.py [ROOT] [--arrows]

A layer is a folder of a crate's src/, ranked

    base < dense < core < ir < rules < ops < transforms, function < skin, nn

and, in the Python module,

    types < process < tensor < door < data < pytree < function < autograd < methods < operators < func < optim

and every path that begins with `crate::`, `$crate::` or enough `super::` to leave its layer must lead to a layer of
the same or a lower rank. A name that lib.rs re-exports, and an exported macro, count as the layer that they come from.
The Python module is above all others, and its lib.rs above its folders. Tests inside src/ may use anything. `--arrows`
prints how often each layer uses each other one. Exit status 1 if a path leads upwards.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rust_source
from rust_source import Source

RANKS = [["base"], ["dense"], ["core"], ["ir"], ["rules"], ["ops"], ["transforms", "function"], ["skin", "nn"]]
PYTHON = [
    "types",
    "process",
    "tensor",
    "door",
    "data",
    "pytree",
    "function",
    "autograd",
    "methods",
    "operators",
    "func",
    "optim",
]
RANK = {layer: rank for rank, layers in enumerate(RANKS) for layer in layers}
PYTHON_RANK = {layer: rank for rank, layer in enumerate(PYTHON)}
NAME = r"(?:r#)?[A-Za-z_]\w*"


class Use(NamedTuple):
    """A path of one file, from the root of the crate, and what a `pub use` of it is called."""

    path: tuple[str, ...]
    line: int
    public: bool = False
    bound: str = ""


def split_tree(tree: str) -> Iterator[tuple[str, ...]]:
    """The paths of a `use` tree: `a::{b, c as d}` gives (a, b) and (a, c, as, d)."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        if tree:
            yield tuple(re.findall(rf"{NAME}|\*|\$crate", tree))
        return
    prefix = tuple(re.findall(rf"{NAME}|\$crate", tree[:brace]))
    for part in split_commas(tree[brace + 1 : rust_source.closing(tree, brace) - 1]):
        for rest in split_tree(part):
            yield prefix if rest == ("self",) else prefix + rest


def split_commas(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for i, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def inline_modules(code: str) -> list[tuple[int, int, str]]:
    """(start, end, name) of each `mod name { … }`."""
    heads = re.finditer(rf"\bmod\s+({NAME})\s*(?={{)", code)
    return [(m.end(), rust_source.closing(code, m.end()), m[1]) for m in heads]


def resolve(parts: tuple[str, ...], module: tuple[str, ...]) -> tuple[str, ...] | None:
    """The path from the crate's root, or None if it leads elsewhere."""
    if parts and parts[0] in ("crate", "$crate"):
        return parts[1:]
    if not parts or parts[0] not in ("self", "super"):
        return None
    where = list(module)
    rest = list(parts)
    while rest and rest[0] in ("self", "super"):
        if rest.pop(0) == "super" and where:
            where.pop()
    return (*where, *rest)


def uses(source: Source) -> Iterator[Use]:
    code, inner = source.code, inline_modules(source.code)
    statements = list(re.finditer(r"\b(pub(?:\s*\([^)]*\))?\s+)?use\s+([^;]+);", code))
    paths = [(m.start(), tree, bool(m[1])) for m in statements for tree in split_tree(m[2])]
    covered = [(m.start(), m.end()) for m in statements]
    for m in re.finditer(rf"(?<![\w:$])(?:\$?crate|self|super)(?:\s*::\s*{NAME})+", code):
        if not any(a <= m.start() < b for a, b in covered):
            paths.append((m.start(), tuple(re.findall(rf"{NAME}|\$crate", m[0])), False))
    for offset, parts, public in paths:
        alias = parts[-1] if parts else ""
        if "as" in parts:
            parts = parts[: parts.index("as")]
        module = source.module + tuple(name for a, b, name in inner if a <= offset < b)
        line = rust_source.line_of(code, offset)
        if (full := resolve(parts, module)) is not None:
            yield Use(full, line, public, alias)
        elif public and not source.module:  # edition 2024: `pub use base::Error` in lib.rs is relative
            yield Use(parts, line, public, alias)


def exported(sources: list[Source], rank: dict[str, int]) -> dict[str, str]:
    """What the crate's root gives out under a name of its own: name -> layer."""
    names = {}
    for source in sources:
        for m in re.finditer(rf"#\[macro_export\][^!]*?macro_rules!\s*({NAME})", source.code):
            names[m[1]] = source.layer
        if not source.module:
            for use in uses(source):
                if use.public and use.path and use.path[0] in rank:
                    names[use.bound] = use.path[0]
    return names


def check(root: Path) -> tuple[list[str], Counter[tuple[str, str]]]:
    faults: list[str] = []
    arrows: Counter[tuple[str, str]] = Counter()
    for sources in rust_source.crates(root):
        python = any(s.path.startswith("crates/python/") for s in sources)
        faults += check_crate(sources, arrows, PYTHON_RANK if python else RANK)
    return faults, arrows


def check_crate(sources: list[Source], arrows: Counter[tuple[str, str]], rank: dict[str, int]) -> list[str]:
    names = exported(sources, rank)
    tops = {s.layer for s in sources}
    faults = [
        f"{top}/ is not in the table of layers"
        for top in sorted(tops - set(rank) - {""})
        if any(s.layer == top and f"/{top}/" in s.path for s in sources)
    ]
    for source in sources:
        if source.layer not in rank:
            continue
        for use in uses(source):
            if not use.path or use.path[0] == "*":
                faults.append(f"{source.path}:{use.line}: names the whole crate")
                continue
            else:
                target = names.get(use.path[0], use.path[0])
            if target == source.layer or target not in rank:
                continue
            arrows[source.layer, target] += 1
            if rank[target] > rank[source.layer]:
                faults.append(f"{source.path}:{use.line}: {source.layer} -> {target} ({'::'.join(use.path)})")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--arrows", action="store_true", help="print the number of uses between layers")
    args = parser.parse_args()
    faults, arrows = check(args.root)
    if args.arrows:
        for (source, target), count in sorted(arrows.items()):
            print(f"{source:>10} -> {target:<10} {count}")
    for fault in faults:
        print(fault)
    print(f"layers: {sum(arrows.values())} uses between layers, {len(faults)} lead upwards")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
