"""How the cost of a transform grows: with the number of operators, and with the depth of nesting."""

from __future__ import annotations

import functools
import time
import timeit
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from libraries import Tensors, normal
from small import wave

DEPTHS = range(1, 7)
# At every depth so many calls at least. So the tapes are equally long: what outgrows a cache is slow at any depth. And
# entering the transforms, about two microseconds each, is a small part of it.
CALLS = 2000
LENGTHS = (1, 10, 30, 100, 300, 1000)


def best_of_each(programs: dict[Any, Callable[[], Any]], rounds: int = 60, seconds: float = 0.01) -> dict[Any, float]:
    """Seconds of a call of each program: the best of rounds that go over all of them in turn."""
    timers = {key: timeit.Timer(program, timer=time.process_time) for key, program in programs.items()}
    numbers = {key: max(1, int(seconds / max(min(t.repeat(3, 1)), 1e-8))) for key, t in timers.items()}
    times = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for key, t in timers.items():
            times[key] = min(times[key], t.timeit(numbers[key]) / numbers[key])
    return times


def chain(length: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(length):
            x = x.sin()
        return x.sum()

    return f


def waves(length: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(length // 2):
            x = wave(x)
        return x

    return f


def dense_calls(lib: Tensors, kind: str, length: int, f: Callable[[Any], Any], x: Any) -> int | None:
    """The number of operators on plain arrays that f(x) comes down to: the length of its traced program."""
    if kind == "vmap":
        return length
    trace = getattr(lib.T.func, "trace", None)
    return None if trace is None else len(trace(f)(x))


def nested(lib: Tensors, kind: str, depth: int, length: int) -> tuple[Callable[[Any], Any], Any]:
    """A chain of operators under `depth` transforms of a kind, and its argument."""
    func, one = lib.T.func, lib.T.ones(())
    if kind == "vmap":
        f, x = waves(length), lib.tensor(normal("x", *(1,) * (depth - 1), 8))
        for _ in range(depth):
            f = func.vmap(f)
        return f, x
    f, x = chain(length), lib.tensor(normal("x"))
    for _ in range(depth):
        f = func.grad(f) if kind == "grad" else along(func.jvp, f, one)
    return f, x


def along(jvp: Any, f: Callable[[Any], Any], one: Any) -> Callable[[Any], Any]:
    return lambda x: jvp(f, (x,), (one,))[1]


def long_chain(lib: Tensors, kind: str, depth: int) -> tuple[Callable[[], Any], int] | None:
    """A call of a chain under transforms that comes down to `CALLS` dense calls at least, and how many these are."""
    length = 1
    while True:
        length *= 2
        f, x = nested(lib, kind, depth, length)
        count = dense_calls(lib, kind, length, f, x)
        if count is None:
            return None
        if count >= CALLS:
            return functools.partial(f, x), count


def by_depth(lib: Tensors) -> dict[str, list[float]]:
    """Nanoseconds per dense kernel call at each depth; entering the transforms is a small part of a long chain."""
    programs, counts = {}, {}
    for key in product(("grad", "jvp", "vmap"), DEPTHS):
        found = long_chain(lib, *key)
        if found is not None:
            programs[key], counts[key] = found
    curves: dict[str, list[float]] = {}
    for key, took in best_of_each(programs).items():
        curves.setdefault(key[0], []).append(took / counts[key] * 1e9)
    return curves


def entering(lib: Tensors) -> float:
    """Nanoseconds that one more `vmap` around a function costs in a call."""
    programs: dict[int, Callable[[], Any]] = {}
    for depth in (DEPTHS[0], DEPTHS[-1]):
        f, x = nested(lib, "vmap", depth, 2)
        programs[depth] = functools.partial(f, x)
    times = best_of_each(programs)
    return (times[DEPTHS[-1]] - times[DEPTHS[0]]) / (len(DEPTHS) - 1) * 1e9


def by_length(lib: Tensors) -> dict[str, list[float]]:
    """Nanoseconds per operator of a chain at each length."""
    func, x = lib.T.func, lib.tensor(normal("x", 8))
    rows = lib.tensor(normal("x", 1, 8))
    programs: dict[tuple[str, int], Callable[[], Any]] = {}
    for length in LENGTHS:
        f = chain(length)
        programs["plain", length] = functools.partial(f, x)
        programs["grad", length] = functools.partial(func.grad(f), x)
        programs["jvp", length] = functools.partial(func.jvp, f, (x,), (x,))
        programs["vmap", length] = functools.partial(func.vmap(f), rows)
    curves: dict[str, list[float]] = {}
    for (name, length), took in best_of_each(programs).items():
        curves.setdefault(name, []).append(took / (length + 1) * 1e9)
    return curves


def draw(depths: dict[str, list[float]], lengths: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, curve in depths.items():
        left.plot(list(DEPTHS)[: len(curve)], curve, "o-", label=f"{name}, nested")
    left.set(xlabel="depth of nesting", ylabel="ns per dense kernel call", ylim=(0, None))
    for name, curve in lengths.items():
        right.plot(list(LENGTHS), curve, "o-", label=name)
    right.set(xlabel="operators in the chain", ylabel="ns per operator", xscale="log", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
