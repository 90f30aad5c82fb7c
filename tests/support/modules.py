"""Modules with representative arguments, what they are called with, and what is compared with PyTorch.

The same calls run on this package and on PyTorch: `m` is either module. `tools/record_modules.py` records what PyTorch
gives. Parameters and arguments are float64 and follow formulas, so that only results are recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Build = Callable[[Any], Any]
Inputs = Callable[["Make"], tuple[Any, ...]]
CASES: dict[str, tuple[Build, Inputs, bool]] = {}
# Modules large enough that the distribution of their weights shows.
DRAWN: dict[str, Build] = {}


class Make:
    """Makes arguments of one of the two packages."""

    def __init__(self, m: Any) -> None:
        self.m = m
        self.count = 0

    def values(self, *shape: int) -> Any:
        """Numbers without a pattern, between -1.5 and 1.5; each call gives others."""
        self.count += 1
        n = math.prod(shape)
        flat = [1.5 * math.sin(12.9898 * (k + 1) + 78.233 * self.count) for k in range(n)]
        return self.m.tensor(flat, dtype=self.m.float64).reshape(shape)

    def x(self, *shape: int) -> Any:
        return self.values(*shape).requires_grad_()

    def positive(self, *shape: int) -> Any:
        return (self.values(*shape).abs() * 0.5 + 0.1).requires_grad_()

    def between(self, *shape: int) -> Any:
        """Inside of (0, 1)."""
        return (self.values(*shape) * 0.3 + 0.5).requires_grad_()

    def ints(self, high: int, *shape: int) -> Any:
        self.count += 1
        flat = [(7 * k + 3 * self.count) % high for k in range(math.prod(shape))]
        return self.m.tensor(flat, dtype=self.m.int64).reshape(shape)

    def signs(self, *shape: int) -> Any:
        return self.ints(2, *shape).to(self.m.float64) * 2 - 1

    def mask(self, *shape: int) -> Any:
        return self.ints(5, *shape) == 1


def fill(module: Any, make: Make) -> None:
    """Gives all parameters values by formula."""
    for _, p in module.named_parameters():
        p.data = make.values(*p.shape) * 0.4


def leaves(out: Any) -> list[Any]:
    if isinstance(out, (tuple, list)):
        return [leaf for part in out for leaf in leaves(part)]
    return [out] if hasattr(out, "is_floating_point") else []


def measured(m: Any, name: str) -> dict[str, Any]:
    """State, results, and for each gradient its product with other numbers."""
    build, inputs, training = CASES[name]
    module = build(m.nn).double()
    state = [[key, list(value.shape)] for key, value in module.state_dict().items()]
    make = Make(m)
    fill(module, make)
    module.train(training)
    args = inputs(make)
    out = leaves(module(*args))
    total = sum((t * make.values(*t.shape)).sum() for t in out if t.is_floating_point())
    slopes = []
    if isinstance(total, m.Tensor) and total.requires_grad:
        total.backward()
        learned = [p for _, p in module.named_parameters()]
        for t in [*(a for a in leaves(args) if a.is_leaf and a.requires_grad), *learned]:
            slopes.append(None if t.grad is None else (t.grad * make.values(*t.shape)).sum().item())
    buffers = {k: b.reshape(-1).tolist() for k, b in module.named_buffers() if b is not None}
    return {
        "state": state,
        "repr": repr(build(m.nn)),
        "out": [[list(t.shape), t.detach().reshape(-1).tolist()] for t in out],
        "slopes": slopes,
        "buffers": buffers,
    }


def drawn(m: Any, name: str) -> dict[str, list[float]]:
    """Of each parameter the mean, the standard deviation and the largest magnitude."""
    m.manual_seed(0)
    out = {}
    for key, p in DRAWN[name](m.nn).named_parameters():
        p = p.detach().double()
        out[key] = [p.mean().item(), p.std(correction=0).item(), p.abs().max().item()]
    return out


def case(name: str, build: Build, inputs: Inputs, training: bool = True) -> None:
    assert name not in CASES, name
    CASES[name] = (build, inputs, training)
