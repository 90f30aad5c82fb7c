#!/usr/bin/env python3
"""Packs a selection of operator vectors into tests/reference.

    python tools/pack_reference.py SOURCE [--tier 1]

SOURCE is a folder of vectors in the format that tests/reference/README.md describes. The cases and the error cases of
the operators of one tier are copied, with the arrays that they use, each distinct array once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "tests" / "reference"
STORED_AS = {"bfloat16": "float32"}  # dtypes that NumPy lacks live in a wider buffer
Json = Any


class Packer:
    """Appends arrays to one flat buffer per dtype and remembers what it has."""

    def __init__(self) -> None:
        self.parts: dict[str, list[np.ndarray]] = {}
        self.length: dict[str, int] = {}
        self.seen: dict[tuple[str, bytes], int] = {}

    def add(self, values: np.ndarray) -> int:
        name = str(values.dtype)
        key = (name, values.tobytes())
        if values.size and key not in self.seen:
            self.seen[key] = self.length.get(name, 0)
            self.parts.setdefault(name, []).append(values.ravel())
            self.length[name] = self.seen[key] + values.size
        return self.seen.get(key, 0)

    def repack(self, node: Json, buffers: dict[str, np.ndarray]) -> Json:
        """The node with every reference [dtype, shape, offset] led into the new buffers."""
        if isinstance(node, dict):
            return {key: self.repack(value, buffers) for key, value in node.items()}
        if not isinstance(node, list):
            return node
        if is_reference(node, buffers):
            dtype, shape, offset = node
            size = int(np.prod(shape, dtype=np.int64))
            stored = STORED_AS.get(dtype, dtype)
            values = buffers[stored][offset : offset + size] if size else np.empty(0, dtype=stored)
            return [dtype, shape, self.add(values)]
        return [self.repack(value, buffers) for value in node]


def is_reference(node: list[Json], buffers: dict[str, np.ndarray]) -> bool:
    return (
        len(node) == 3
        and isinstance(node[0], str)
        and STORED_AS.get(node[0], node[0]) in buffers
        and isinstance(node[1], list)
        and isinstance(node[2], int)
    )


def read(source: Path, cases: str, arrays: str, wanted: set[str], packer: Packer) -> list[Json]:
    with np.load(source / arrays) as stored:
        buffers = {name: stored[name] for name in stored.files}
    rows = [json.loads(line) for line in (source / cases).read_text().splitlines() if line.strip()]
    return [packer.repack(row, buffers) for row in rows if row["op"] in wanted]


def write_lines(name: str, rows: list[Json]) -> None:
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    (TARGET / name).write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--tier", type=int, default=1)
    args = parser.parse_args()
    table = json.loads((args.source / "ops.json").read_text())
    wanted = {op for op, row in table.items() if row["tier"] <= args.tier}
    packer = Packer()
    cases = read(args.source, "cases.jsonl", "arrays.npz", wanted, packer)
    errors = read(args.source, "errors.jsonl", "errors_arrays.npz", wanted, packer)
    TARGET.mkdir(parents=True, exist_ok=True)
    write_lines("cases.jsonl", cases)
    write_lines("errors.jsonl", errors)
    aliases = json.loads((args.source / "aliases.json").read_text())
    chosen = {alias: op for alias, op in sorted(aliases.items()) if op in wanted}
    (TARGET / "aliases.json").write_text(json.dumps(chosen, indent=1) + "\n")
    for name in ("promotion.json",):
        table_text = json.dumps(json.loads((args.source / name).read_text()), separators=(",", ":"))
        (TARGET / name).write_text(table_text + "\n")
    tolerances = json.loads((args.source / "tolerances.json").read_text())
    (TARGET / "tolerances.json").write_text(json.dumps(tolerances, indent=1) + "\n")
    np.savez_compressed(TARGET / "arrays.npz", **{n: np.concatenate(p) for n, p in packer.parts.items()})
    size = sum(f.stat().st_size for f in TARGET.iterdir()) / 1e6
    print(f"{len(cases)} cases and {len(errors)} error cases of {len(wanted)} operators, {size:.2f} MB in {TARGET}")


if __name__ == "__main__":
    main()
