"""Reads the reference vectors: cases, their arrays, and the small language in which arguments are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "reference"
STORED_AS = {"bfloat16": "float32"}
Json = Any


@cache
def read_json(name: str) -> Json:
    return json.loads((FOLDER / name).read_text())


@cache
def cases_by_operator(name: str) -> dict[str, list[Json]]:
    """The lines of cases.jsonl or errors.jsonl, grouped by operator."""
    groups: dict[str, list[Json]] = {}
    with open(FOLDER / name) as lines:
        for line in lines:
            case = json.loads(line)
            groups.setdefault(case["op"], []).append(case)
    return groups


@cache
def _buffers() -> dict[str, np.ndarray]:
    with np.load(FOLDER / "arrays.npz") as stored:
        return {name: stored[name] for name in stored.files}


def array(reference: Json) -> np.ndarray:
    """A fresh array for `[dtype, shape, offset]`."""
    dtype, shape, offset = reference
    stored = STORED_AS.get(dtype, dtype)
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.zeros(shape, dtype=stored)
    return _buffers()[stored][offset : offset + size].reshape(shape).copy()


def strided(values: np.ndarray, strides: list[int]) -> np.ndarray:
    """The same values in a layout with these strides (in elements)."""
    if values.size == 0:
        return values
    reach = sum((n - 1) * s for n, s in zip(values.shape, strides, strict=True))
    memory = np.zeros(reach + 1, dtype=values.dtype)
    view = np.lib.stride_tricks.as_strided(memory, values.shape, [s * values.itemsize for s in strides])
    view[...] = values
    return view


def self_overlapping(shape: tuple[int, ...], strides: list[int]) -> bool:
    """Whether two elements of this layout may share memory."""
    reach = 0
    for stride, size in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if stride <= reach:
            return 0 not in shape
        reach += stride * (size - 1)
    return False


def tensor_nodes(node: Json) -> Iterator[Json]:
    """The encoded tensors of a node, depth first."""
    if isinstance(node, list):
        for item in node:
            yield from tensor_nodes(item)
    elif isinstance(node, dict):
        if "$t" in node:
            yield node
        elif "$tuple" in node:
            yield from tensor_nodes(node["$tuple"])
        elif "$dict" in node:
            yield from tensor_nodes([value for _, value in node["$dict"]])


def build(node: Json, tensors: Iterator[Any], module: Any) -> Any:
    """The value of a node; its tensors are taken from the iterator, in the order of `tensor_nodes`."""
    if isinstance(node, list):
        return [build(item, tensors, module) for item in node]
    if not isinstance(node, dict):
        return node
    kind = next(key for key in node if key.startswith("$"))
    value = node[kind]
    if kind == "$t":
        return next(tensors)
    if kind == "$tuple":
        return tuple(build(item, tensors, module) for item in value)
    if kind == "$dict":
        return {key: build(item, tensors, module) for key, item in value}
    if kind == "$slice":
        return slice(*(build(item, tensors, module) for item in value))
    if kind == "$ellipsis":
        return ...
    if kind == "$f":
        return float(value)
    if kind == "$c":
        return complex(*map(float, value))
    if kind in ("$dtype", "$memory_format"):
        return getattr(module, value)
    raise ValueError(f"unknown kind of node: {kind}")


def leaves(value: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts, depth first."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def encoded_leaves(node: Json) -> list[Json]:
    """The same for an encoded result."""
    if isinstance(node, dict) and "$tuple" in node:
        node = node["$tuple"]
    elif isinstance(node, dict) and "$dict" in node:
        node = [value for _, value in node["$dict"]]
    if isinstance(node, list):
        return [leaf for item in node for leaf in encoded_leaves(item)]
    return [node]
