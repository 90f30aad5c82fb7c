"""How the cost of a transform grows: with the number of operators, and with the depth of nesting."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

from libraries import Tensors, normal
from small import wave

DEPTHS = range(1, 7)
# A shorter and a longer chain for each transform; nested derivatives of long ones have very many operators.
CHAINS = {"grad": (2, 6), "jvp": (2, 6), "vmap": (20, 120)}
LENGTHS = (1, 10, 30, 100, 300, 1000)


def best(f: Callable[[], Any], rounds: int = 7, seconds: float = 0.02) -> float:
    once = min(timeit.repeat(f, number=1, repeat=2, timer=time.process_time))
    number = max(1, int(seconds / max(once, 1e-8)))
    return min(timeit.repeat(f, number=number, repeat=rounds, timer=time.process_time)) / number


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
        f, x = waves(length), lib.tensor(normal("x", *(1,) * depth, 8))
        for _ in range(depth):
            f = func.vmap(f)
        return f, x
    f, x = chain(length), lib.tensor(normal("x"))
    for _ in range(depth):
        f = func.grad(f) if kind == "grad" else along(func.jvp, f, one)
    return f, x


def along(jvp: Any, f: Callable[[Any], Any], one: Any) -> Callable[[Any], Any]:
    return lambda x: jvp(f, (x,), (one,))[1]


def by_depth(lib: Tensors) -> dict[str, list[float]]:
    """Nanoseconds per dense kernel call at each depth: what the calls of a longer chain cost more than those of a
    shorter one, so that the price of entering the transforms, which is paid once, is left out.
    """
    curves: dict[str, list[float]] = {}
    for kind, lengths in CHAINS.items():
        for depth in DEPTHS:
            times, calls = [], []
            for length in lengths:
                f, x = nested(lib, kind, depth, length)
                f(x)
                count = dense_calls(lib, kind, length, f, x)
                if count is None:
                    return curves
                times.append(best(lambda f=f, x=x: f(x), rounds=15))  # type: ignore[misc]
                calls.append(count)
            curves.setdefault(kind, []).append((times[1] - times[0]) / (calls[1] - calls[0]) * 1e9)
    return curves


def entering(lib: Tensors) -> float:
    """Nanoseconds that one more `vmap` around a function costs in a call."""
    times = []
    for depth in (DEPTHS[0], DEPTHS[-1]):
        f, x = nested(lib, "vmap", depth, 2)
        times.append(best(lambda f=f, x=x: f(x), rounds=15))  # type: ignore[misc]
    return (times[1] - times[0]) / (len(DEPTHS) - 1) * 1e9


def by_length(lib: Tensors) -> dict[str, list[float]]:
    """Nanoseconds per operator of a chain at each length."""
    func, x = lib.T.func, lib.tensor(normal("x", 8))
    rows = lib.tensor(normal("x", 1, 8))
    curves: dict[str, list[float]] = {"plain": [], "grad": [], "jvp": [], "vmap": []}
    for length in LENGTHS:
        f = chain(length)
        programs = {
            "plain": lambda f=f: f(x),
            "grad": lambda f=f: func.grad(f)(x),
            "jvp": lambda f=f: func.jvp(f, (x,), (x,)),
            "vmap": lambda f=f: func.vmap(f)(rows),
        }
        for name, program in programs.items():
            curves[name].append(best(program) / (length + 1) * 1e9)
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
