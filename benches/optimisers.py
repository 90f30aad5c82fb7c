"""Steps of optimisers: many small parameters, and a large one. PyTorch takes its fastest way for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from libraries import Tensors, normal
from measure import Workload
from small import of_torch


def stepping(name: str, count: int, n: int, **options: Any) -> Callable[[Tensors], Any]:
    def build(lib: Tensors) -> Any:
        values = [normal(f"{name}{i}", n) for i in range(count)]
        params = [lib.tensor(v).clone().requires_grad_() for v in values]
        for p, v in zip(params, values, strict=True):
            p.grad = lib.tensor(np.sin(v)).clone()
        optimizer = getattr(lib.T.optim, name)(params, lr=1e-3, **options)

        def run() -> Any:
            optimizer.step()
            return params[0]

        return run

    return build


MILLION = 1_000_000

WORKLOADS = [
    Workload("adam_small", "`Adam.step()`, 50 parameters of 8", stepping("Adam", 50, 8, foreach=True), of_torch(0.05)),
    Workload("sgd_small", "`SGD.step()` with momentum, 50 of 8", stepping("SGD", 50, 8, momentum=0.9, foreach=True)),
    Workload("adam_large", "`Adam.step()`, 20 M", stepping("Adam", 1, 20 * MILLION, fused=True), of_torch(0.9)),
    Workload(
        "sgd_large", "`SGD.step()` with momentum, 20 M", stepping("SGD", 1, 20 * MILLION, momentum=0.9, fused=True)
    ),
]
