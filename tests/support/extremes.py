"""Calls every entrance that takes integers with extreme ones, and reads what comes back.

    python tests/support/extremes.py FIRST LAST [EVERY]

Case i depends on nothing but i. Each integer parameter of each entry of the table is given each extreme inside samples
of the property suite; then come the entrances that the table does not know: indexing, storages, sizes, constructors.
Lines are printed as by `fuzz.py`. With EVERY = n the cases FIRST, FIRST + n, … are called.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from support import entrances, entrances_apart, fuzz, samples

assert entrances_apart.row is entrances.row  # its rows are in the same table

EDGES = [2**31, 2**32, 2**53, 2**62, 2**63 - 1]
EXTREMES = [0, 1, -1, *EDGES, *(-e for e in EDGES), -(2**63)]
WHOLE = {"int", "ints", "any", "Number", "TensorOrNumber", "float"}
LIMIT = 1 << 30  # bytes that a worker may ask for
SAMPLES = 3  # of an entry, for each of its parameters
NO_INTEGERS = {"memory_format", "device", "layout", "pin_memory", "requires_grad"}

Case = tuple[Callable[[], str], Callable[[], Any]]


def variants(old: Any, kind: str, extreme: int) -> Iterator[Any]:
    """The value with an extreme in each place where an integer may stand."""
    if isinstance(old, (list, tuple)):
        for k in range(len(old)):
            yield type(old)([*old[:k], extreme, *old[k + 1 :]])
        yield type(old)([extreme] * len(old))
        if len(old) != 2:
            yield (extreme, extreme)
        return
    yield extreme
    if kind == "ints":
        yield (extreme,)
        yield (extreme, 2)
        yield (extreme, extreme)
        yield (0, extreme, extreme)


def with_argument(sample: samples.Sample, k: int, name: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = list(sample.args), dict(sample.kwargs)
    if k < len(args):
        args[k] = value
    else:
        kwargs[name] = value
    return args, kwargs


def of_entry(entry: dict[str, Any], f: Callable[..., Any]) -> Iterator[Case]:
    chosen = samples.build(entry["name"], 0)
    for k, parameter in enumerate(entry["params"]):
        name, kind = parameter["name"], parameter["kind"].rstrip("?")
        if kind not in WHOLE or name in NO_INTEGERS:
            continue
        # Samples that give the parameter come first: they are those that it matters to.
        given = [s for s in chosen if k < len(s.args) or name in s.kwargs]
        for sample in [*given, *(s for s in chosen if s not in given)][:SAMPLES]:
            old = sample.args[k] if k < len(sample.args) else sample.kwargs.get(name)
            for extreme in EXTREMES:
                for value in variants(old, kind, extreme):
                    args, kwargs = with_argument(sample, k, name, value)
                    yield case(entry, f, args, kwargs)
        if kind == "ints" and name in {"size", "repeats", "shape", "sizes"}:
            for pair in itertools.product(EXTREMES, EXTREMES):
                args, kwargs = with_argument(chosen[0], k, name, pair)
                yield case(entry, f, args, kwargs)


def case(entry: dict[str, Any], f: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Case:
    def program() -> str:
        return str(fuzz.describe(0, entry, args, kwargs, "")["program"])

    return program, lambda: f(*fresh(args), **kwargs)


def fresh(args: list[Any]) -> list[Any]:
    """The arguments with tensors of their own, so that no call changes those of the next."""
    supply = iter([t.clone() for t in samples.tensors_in(args)])
    return samples.replaced(args, supply)


def cases() -> Iterator[Case]:
    for entry, f in fuzz.callables():
        yield from of_entry(entry, f)
    for name, f, places in entrances.table():
        for values in itertools.product(EXTREMES, repeat=min(places, 2)):
            # Three places and more: two extremes, and the rest follow from them.
            rest = [EXTREMES[(EXTREMES.index(values[0]) * 5 + 3 * k) % len(EXTREMES)] for k in range(places - 2)]
            given = (*values, *rest)
            yield partial("{} with {}".format, name, given), partial(f, *given)


def run(i: int, name: str, f: Callable[[], Any]) -> dict[str, Any] | None:
    try:
        fuzz.touch(f())
    except Exception as error:
        clear = isinstance(error, fuzz.CLEAR) and type(error).__name__ != "InternalError" and str(error).strip()
        return None if clear else {"call": i, "program": name, "outcome": f"{type(error).__name__}: {error}"[:400]}
    except BaseException as error:
        return {"call": i, "program": name, "outcome": f"{type(error).__name__}: {error}"[:400]}
    return None


def limit_memory() -> None:
    """Makes the system refuse what it has and what others need: tensors of 2**31 elements are an error, too."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main(first: int, last: int, every: int = 1) -> None:
    warnings.simplefilter("ignore")
    limit_memory()
    chosen = range(first, last, every)
    for i, (program, f) in zip(chosen, itertools.islice(cases(), first, last, every), strict=False):
        name = program()
        print(i, name, flush=True)
        if fault := run(i, name, f):
            print("!", json.dumps(fault), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
