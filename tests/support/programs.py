"""Random programs over modules and optimisers, which run here and in PyTorch, and what they come to.

A family is a grammar: `<word>` in its texts stands for one of the choices for the word, `@` for the number of the step.
A program calls `t(name, f)` for what may raise, and `log(...)` for what it shows.
`tools/record_module_programs.py` writes what PyTorch gives for the first seeds of each family.
"""

from __future__ import annotations

import collections
import copy
import gzip
import json
import math
import pickle
import random
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "reference" / "module_programs.json.gz"


@dataclass(frozen=True)
class Family:
    """A grammar of programs: a start, some steps, an end."""

    prelude: str
    start: str
    steps: tuple[str, ...]
    end: str
    choices: dict[str, tuple[str, ...]]
    #: From how many to how many steps a program has.
    count: tuple[int, int] = (2, 6)
    #: Seeds whose programs are right in both and differ all the same, with the reason.
    apart: dict[int, str] = field(default_factory=dict)

    def program(self, seed: int) -> str:
        draw = random.Random(seed)
        steps = [draw.choice(self.steps).replace("@", str(i)) for i in range(draw.randint(*self.count))]
        return "\n".join([self.prelude, *(self._filled(draw, text) for text in (self.start, *steps, self.end))])

    def _filled(self, draw: random.Random, text: str) -> str:
        while found := re.search(r"<(\w+)>", text):
            text = text[: found.start()] + draw.choice(self.choices[found[1]]) + text[found.end() :]
        return text


def run(program: str, lib: Any) -> list[Any]:
    """What a program shows: what it logged, and what was raised or returned where it tried."""
    log: list[Any] = []
    lib.manual_seed(0)

    def t(name: str, f: Any) -> Any:
        try:
            result = f()
        except Exception as error:
            log.append([name, "raises", type(error).__name__])
            return None
        log.append([name, plain(result, lib)])
        return result

    names = {
        **{"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "t": t, "copy": copy, "pickle": pickle},
        **{"log": lambda *values: log.append([plain(v, lib) for v in values]), "__name__": "__program__"},
        "OrderedDict": collections.OrderedDict,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "<program>", "exec"), names)
    return log


def plain(value: Any, lib: Any, depth: int = 0) -> Any:
    """A value as data that can be compared: the same for both libraries."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    if isinstance(value, str) or depth > 12:
        return str(value).replace("pullback", "torch")
    below = [value] if depth > 12 else None
    if isinstance(value, lib.Tensor):
        return _tensor(value, lib)
    if isinstance(value, list | tuple):
        below = [type(value).__name__, *value]
    elif isinstance(value, dict):
        below = ["dict" if type(value).__name__ == "Registry" else type(value).__name__]
        below += [part for item in value.items() for part in item]
    if below is not None:
        return [plain(part, lib, depth + 1) for part in below]
    if isinstance(value, lib.nn.Module | lib.dtype):
        return str(value).replace("pullback", "torch")
    return getattr(value, "__name__", type(value).__name__)


def _tensor(x: Any, lib: Any) -> list[Any]:
    kind = "Parameter" if isinstance(x, lib.nn.Parameter) else type(x).__name__
    about = [kind, list(x.shape), str(x.dtype).split(".")[1], x.requires_grad]
    if x.is_meta:
        return [*about, "meta"]
    flat = x.detach().flatten()
    numbers = lib.view_as_real(flat).flatten() if x.is_complex() else flat.to(lib.float64)
    return [*about, *(plain(number, lib) for number in numbers.tolist())]


def agree(a: Any, b: Any) -> bool:
    """Whether two logs say the same, but for rounding."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) or isinstance(b, float):
        both = isinstance(a, int | float) and isinstance(b, int | float)
        return both and type(a) is type(b) and math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-4)
    return bool(a == b) and type(a) is type(b)


def record(lib: Any, families: dict[str, Family], count: int) -> dict[str, list[Any]]:
    return {
        name: [None if seed in family.apart else run(family.program(seed), lib) for seed in range(count)]
        for name, family in families.items()
    }


def recorded() -> dict[str, list[Any]]:
    stored: dict[str, list[Any]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return stored
