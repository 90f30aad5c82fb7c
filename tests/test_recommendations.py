"""Every function that an error message, a docstring or a page of the documentation names exists."""

from __future__ import annotations

import builtins
import functools
import importlib
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb

ROOT = Path(__file__).parent.parent
# A name in front of a colon says which function an error is of; what stands in braces is code.
CALL = re.compile(r"(?<![\w./`:!{])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)\(\)(?!:)")
CODE = re.compile(r"\{[^{}]*\}")

MODULES = [
    *(
        pb,
        pb.func,
        pb.autograd,
        pb.autograd.functional,
        pb.autograd.forward_ad,
        pb.autograd.graph,
        pb.autograd.function,
    ),
    *(pb.autograd.anomaly_mode, pb.autograd.gradcheck, pb.utils, pb.utils.checkpoint, pb.utils.hooks, pb.utils.pytree),
    *(pb.library, pb.testing, pb.nn.functional, pb.linalg, pb.special, pb.fft, pb.random, pb.func.custom_derivatives),
    *(pb.distributions, pb.utils.data, pb.utils.safetensors, pb.cuda, pb.as_torch, pb.serialization),
    *(pb.nn, pb.nn.init, pb.nn.utils, pb.nn.utils.parametrize, pb.nn.utils.prune, pb.functorch, pb.futures),
    *(pb._core, builtins, np),
]
CLASSES = [
    *(
        pb.Tensor,
        pb.Size,
        pb.Generator,
        pb.autograd.Function,
        pb.autograd.function.FunctionCtx,
        pb.utils.hooks.RemovableHandle,
    ),
    *(pb.autograd.graph.Node, pb.func.custom_vjp, pb.func.custom_jvp, dict, list, tuple, str),
    *(bytes, types.ModuleType, pb.amp.GradScaler, pb.nn.Module, pb.optim.Optimizer, pb.optim.lr_scheduler.LRScheduler),
    *(
        pb.futures.Future,
        pb.profiler.profile,
        pb.distributions,
        pb.distributions.constraints.Constraint,
        pb.distributions.Normal,
    ),
]
# Names that stand for something of the user's, or of a place that says what they are.
PLACEHOLDERS = {
    "f": "a function of the user",
    "fn": "a function of the user",
    "func": "a function of the user",
    "fun": "a function of the user",
    "op": "a custom operator of the user",
    "F.apply": "a Function of the user",
    "vjp_fn": "what vjp() gives",
    "jvp_fn": "what linearize() gives",
    "program": "what trace() gives",
    "closure": "a function of the user that computes a loss",
    "scheduler.get_last_lr": "a method of a schedule of the user",
    "state_dict": "a method of modules and optimizers",
    "Squares": "a class of an example",
    "Twice": "a class of an example",
    "Net": "a module of the user",
    "wait": "a method of futures",
    "Symmetric": "a parametrization of the user",
}
# Modules of Python that messages send people to.
STANDARD = ("copy", "io", "pickle", "tempfile", "warnings")


def in_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Names in the string literals of a file, or anywhere in a page."""
    source = path.read_text()
    if path.suffix == ".md":
        pieces = [(m.start(), m.group()) for m in re.finditer(r"`[^`\n]+`", source)]
    elif path.suffix == ".rs":
        source = source.partition("#[cfg(test)]")[0].replace("'\"'", "'q'")
        pieces = [(m.start(), m.group()) for m in re.finditer(r'"(?:[^"\\]|\\.)*"', source, re.S)]
    else:
        pieces = [(m.start(), m.group()) for m in re.finditer(r'"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"', source)]
    for start, piece in pieces:
        if source[max(0, start - 20) : start].rstrip().endswith(("Internal,", "internal(")):
            continue  # no user caused it
        if re.fullmatch(r'"\w+\(\)"', piece):
            continue  # the name of an operator, for the front of its messages
        for name in CALL.findall(CODE.sub("", piece)):
            yield source.count("\n", 0, start) + 1, name


@functools.cache
def exists(name: str) -> bool:
    if name in PLACEHOLDERS:
        return True
    parts = name.split(".")
    if parts[0] in STANDARD and len(parts) == 2:
        return hasattr(importlib.import_module(parts[0]), parts[1])
    if parts[0] in ("pullback", "pb"):
        parts = parts[1:]
    for holder in (*MODULES, *CLASSES):
        found: Any = holder
        for part in parts:
            found = getattr(found, part, None)
        if found is not None:
            return True
    # `ctx.save_for_backward`, `x.detach`: the object in front is the user's.
    return len(parts) >= 2 and any(hasattr(c, parts[-1]) for c in CLASSES)


def files() -> list[Path]:
    rust = [p for folder in ("src", "crates") for p in (ROOT / folder).rglob("*.rs") if p.stem != "tests"]
    python = [p for p in (ROOT / "python").rglob("*.py") if not p.stem.startswith("_stub")]
    return sorted([*rust, *python, ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_names_exist(path: Path) -> None:
    missing = [f"{path.name}:{line}: {name}()" for line, name in in_strings(path) if not exists(name)]
    assert not missing, missing


def test_the_search_finds_names() -> None:
    found = {name for path in files() for _, name in in_strings(path)}
    assert {"where", "save_for_backward", "detach", "set_default_dtype"} & found and len(found) > 60
    assert (
        not exists("while_loop")
        and not exists("associative_scan")
        and exists("where")
        and exists("ctx.save_for_backward")
    )
