"""Calls with a dimension for tensors of every low rank, 0-d and empty ones among them.

A call is a text, so that another library of the same names can record what it gives: `record(module)` does, and
`tests/reference/dims.json` holds what PyTorch 2.13 answered: the shapes of the results, or the class of the exception.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

SHAPES = [(), (0,), (1,), (3,), (2, 3), (1, 3), (0, 3), (3, 0), (2, 1, 3), (2, 0, 3), (1, 1, 1)]

KEEPING = """
sum(x, d, keepdim=k) | mean(x, d, keepdim=k) | prod(x, d, keepdim=k) | amax(x, d, keepdim=k) | amin(x, d, keepdim=k)
all(x, d, keepdim=k) | any(x, d, keepdim=k) | var(x, d, keepdim=k) | std(x, d, keepdim=k) | logsumexp(x, d, keepdim=k)
var(x, d, correction=0, keepdim=k) | max(x, d, keepdim=k) | min(x, d, keepdim=k) | argmax(x, d, keepdim=k)
argmin(x, d, keepdim=k) | kthvalue(x, 1, d, keepdim=k) | kthvalue(x, 2, d, keepdim=k) | norm(x, dim=d, keepdim=k)
norm(x, p=0, dim=d, keepdim=k) | norm(x, p=1, dim=d, keepdim=k) | norm(x, p=2, dim=d, keepdim=k)
norm(x, p=3.5, dim=d, keepdim=k) | norm(x, p=-1, dim=d, keepdim=k) | norm(x, p=float("inf"), dim=d, keepdim=k)
norm(x, p=float("-inf"), dim=d, keepdim=k) | norm(x, p="fro", dim=d, keepdim=k)
linalg.norm(x, dim=d, keepdim=k) | linalg.norm(x, 1, dim=d, keepdim=k) | linalg.norm(x, float("inf"), d, k)
linalg.vector_norm(x, 1, d, k) | linalg.vector_norm(x, 2, d, k) | linalg.vector_norm(x, 0, d, k)
linalg.vector_norm(x, float("inf"), d, k) | linalg.vector_norm(x, -1, d, k)
"""

PAIRS = """
sum(x, (d, e), keepdim=k) | mean(x, (d, e), keepdim=k) | amax(x, (d, e), keepdim=k) | amin(x, [d, e], keepdim=k)
all(x, (d, e), keepdim=k) | any(x, (d, e), keepdim=k) | var(x, (d, e), keepdim=k) | std(x, (d, e), keepdim=k)
logsumexp(x, (d, e), keepdim=k) | norm(x, dim=(d, e), keepdim=k) | norm(x, p=1, dim=(d, e), keepdim=k)
norm(x, p="nuc", dim=(d, e), keepdim=k) | linalg.norm(x, dim=(d, e), keepdim=k) | linalg.vector_norm(x, 3, (d, e), k)
linalg.matrix_norm(x, "fro", (d, e), k) | linalg.matrix_norm(x, 1, (d, e), k) | linalg.norm(x, "nuc", (d, e), k)
"""

PLAIN = """
softmax(x, d) | log_softmax(x, d) | nn.functional.softmax(x, d) | nn.functional.log_softmax(x, d)
cumsum(x, d) | cummax(x, d) | cummin(x, d) | sort(x, d) | sort(x, d, True) | argsort(x, d) | topk(x, 1, d)
topk(x, 0, d) | topk(x, 2, d) | flip(x, (d,)) | roll(x, 1, d) | roll(x, -4, d) | unbind(x, d) | chunk(x, 2, d)
split(x, 1, d) | split(x, 2, d) | tensor_split(x, 2, d) | tensor_split(x, (1, 2), d) | split(x, [1, 2], d)
squeeze(x, d) | unsqueeze(x, d) | narrow(x, d, 0, 1) | narrow(x, d, 0, 0) | narrow(x, d, -1, 1) | select(x, d, 0)
select(x, d, -1) | unflatten(x, d, (1, -1)) | unflatten(x, d, (3, 1)) | nn.functional.glu(x, d) | cat([x, x], d)
stack([x, x], d) | index_select(x, d, tensor([0])) | index_select(x, d, tensor([0, 0])) | gather(x, d, x.long() * 0)
scatter(x, d, x.long() * 0, 1.0) | scatter(x, d, x.long() * 0, x) | scatter_add(x, d, x.long() * 0, x)
index_add(x, d, tensor([0]), x) | index_fill(x, d, tensor([0]), 1.0) | index_copy(x, d, tensor([0]), x)
take_along_dim(x, x.long() * 0, d) | select_scatter(x, x.sum(), d, 0) | slice_scatter(x, x, d)
flatten(x, d) | flatten(x, 0, d) | Tensor.unfold(x, d, 1, 1) | Tensor.unfold(x, d, 2, 1) | Tensor.unfold(x, d, 0, 1)
Tensor.size(x, d) | Tensor.stride(x, d) | linalg.vector_norm(x, 2, [d]) | sum(x, [d]) | amax(x, [d]) | std(x, [d])
"""

TWO = """
transpose(x, d, e) | movedim(x, d, e) | diagonal(x, 0, d, e) | diagonal(x, 1, d, e) | diag_embed(x, 0, d, e)
diag_embed(x, -1, d, e) | flip(x, (d, e)) | squeeze(x, (d, e)) | flatten(x, d, e) | permute(x, (d, e))
diagonal_scatter(x, x.sum(), 0, d, e) | roll(x, (1, 1), (d, e)) | tensordot(x, x, ([d], [e]))
"""


def texts(block: str) -> list[str]:
    return [text.strip() for line in block.strip().splitlines() for text in line.split(" | ")]


def calls() -> Iterator[tuple[str, tuple[int, ...], dict[str, Any]]]:
    """Text, shape of `x`, and the other names in the text."""
    for shape in SHAPES:
        dims = range(-len(shape) - 1, len(shape) + 1) if shape else range(-2, 2)
        for d, k in itertools.product(dims, (False, True)):
            yield from ((text, shape, {"d": d, "k": k}) for text in texts(KEEPING))
        for d in dims:
            yield from ((text, shape, {"d": d}) for text in texts(PLAIN))
        some = [d for d in dims if d < len(shape)][1:] if len(shape) > 1 else dims
        for d, e in itertools.product(some, some):
            yield from ((text, shape, {"d": d, "e": e}) for text in texts(TWO))
            yield from ((text, shape, {"d": d, "e": e, "k": k}) for text in texts(PAIRS) for k in (False, True))


def name(text: str, shape: tuple[int, ...], names: dict[str, Any]) -> str:
    given = ", ".join(f"{key}={value}" for key, value in names.items())
    return f"{text} with x{list(shape)}, {given}"


def shapes_of(value: Any) -> Any:
    if hasattr(value, "shape"):
        return list(value.shape)
    if isinstance(value, (tuple, list)):
        return [shapes_of(v) for v in value]
    return value


def outcome(module: Any, text: str, shape: tuple[int, ...], names: dict[str, Any]) -> Any:
    """The shapes of the results, or the class of an exception."""
    n = 1
    for s in shape:
        n *= s
    x = (module.arange(n, dtype=module.float32) + 1).reshape(shape)
    try:
        scope = {name: getattr(module, name) for name in ("nn", "linalg", "Tensor", "tensor")}
        head = text.partition("(")[0].partition(".")[0]
        scope.setdefault(head, getattr(module, head))
        return shapes_of(eval(text, scope, {"x": x, **names}))
    except Exception as error:
        return type(error).__name__


def record(module: Any) -> dict[str, dict[str, Any]]:
    """Outcomes by text, and by shape and names."""
    found: dict[str, dict[str, Any]] = {}
    for text, shape, names in calls():
        found.setdefault(text, {})[name("", shape, names)] = outcome(module, text, shape, names)
    return found


def compact(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The same with each distinct outcome once: a number for each call, in the order of the calls."""
    kinds: list[str] = []
    rows = {}
    for text, outcomes in found.items():
        row = []
        for value in outcomes.values():
            shown = json.dumps(value)
            if shown not in kinds:
                kinds.append(shown)
            row.append(kinds.index(shown))
        rows[text] = " ".join(map(str, row))
    return {"outcomes": [json.loads(k) for k in kinds], "calls": rows}


def expanded(stored: dict[str, Any]) -> dict[str, list[Any]]:
    return {text: [stored["outcomes"][int(i)] for i in row.split()] for text, row in stored["calls"].items()}


if __name__ == "__main__":
    import torch

    warnings.simplefilter("ignore")
    json.dump(compact(record(torch)), sys.stdout, separators=(",", ":"))
