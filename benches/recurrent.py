"""Recurrent layers: forward, and forward with backward into the weights, the input and the first state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libraries import Tensors, normal
from measure import Workload
from modules import filled
from small import of_torch

# Steps, batch, features, hidden units.
SIZES = {"s": (20, 1, 32, 32), "m": (50, 16, 64, 128), "l": (100, 32, 128, 256)}


def build(kind: str, size: str, backward: bool, **options: Any) -> Callable[[Tensors], Any]:
    steps, batch, features, hidden = SIZES[size]

    def program(lib: Tensors) -> Any:
        module = filled(lib, getattr(lib.T.nn, kind)(features, hidden, **options))
        x = lib.tensor(normal("x", steps, batch, features))
        if not backward:

            def forward() -> Any:
                with lib.T.no_grad():
                    return module(x)[0]

            return forward
        weights = list(module.parameters())
        x.requires_grad_()

        def train() -> Any:
            return lib.T.autograd.grad(module(x)[0].sum(), [x, *weights])

        return train

    return program


def rows(kind: str, size: str, tag: str = "", **options: Any) -> list[Workload]:
    steps, batch, features, hidden = SIZES[size]
    said = ", ".join(f"{key}={value}" for key, value in options.items())
    title = f"`{kind}({features}, {hidden}{', ' + said if said else ''})`, {steps} steps, batch {batch}"
    name = f"{kind.lower()}_{size}{tag}"
    return [
        Workload(
            f"{name}_fwd", f"{title}: forward", build(kind, size, False, **options), of_torch(1.0), tolerance=1e-3
        ),
        Workload(
            f"{name}_bwd", f"{title}: and backward", build(kind, size, True, **options), of_torch(1.0), tolerance=1e-3
        ),
    ]


WORKLOADS = [
    *(row for kind in ("LSTM", "GRU", "RNN") for size in SIZES for row in rows(kind, size)),
    *rows("LSTM", "m", "_two", num_layers=2, bidirectional=True),
    *rows("GRU", "m", "_two", num_layers=2, bidirectional=True),
]
