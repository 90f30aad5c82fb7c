"""Runs of optimisers and schedules, here and in PyTorch: every option of each, in several dtypes.

The same code runs over a module `T` (PyTorch or pullback). `tools/record_optimisers.py` writes what PyTorch gives,
`tests/optim` compares ours with it.
"""

from __future__ import annotations

import gzip
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "reference" / "optimisers.json.gz"

#: Options of each class, one run for each entry.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.5, "maximize": True, "weight_decay": 0.05},
    ],
    "Adam": [
        {},
        {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3},
        {"lr": 0.05, "betas": (0.3, 0.99)},
        {"lr": 0.05, "weight_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.05, "amsgrad": True},
        {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1, "maximize": True},
    ],
    "AdamW": [{}, {"lr": 0.05, "weight_decay": 0.3}, {"lr": 0.05, "amsgrad": True, "maximize": True}],
    "Adamax": [{}, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3}, {"lr": 0.05, "weight_decay": 0.1, "maximize": True}],
    "NAdam": [
        {},
        {"lr": 0.05, "momentum_decay": 0.02, "weight_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1},
        {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-2, "maximize": True},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.7, "eps": 1e-3}, {"weight_decay": 0.1, "maximize": True}],
    "RMSprop": [
        {},
        {"lr": 0.05, "alpha": 0.8, "eps": 1e-3, "weight_decay": 0.1},
        {"lr": 0.05, "momentum": 0.9},
        {"lr": 0.05, "centered": True},
        {"lr": 0.05, "centered": True, "momentum": 0.5, "maximize": True},
    ],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.1)}, {"lr": 0.05, "maximize": True}],
    "ASGD": [
        {},
        {"lr": 0.1, "lambd": 0.02, "alpha": 0.5, "t0": 3.0},
        {"lr": 0.1, "t0": 2.0, "weight_decay": 0.1, "maximize": True},
    ],
    "Adafactor": [
        {},
        {"lr": 0.3, "weight_decay": 0.1, "d": 1.5, "beta2_decay": -0.5},
        {"lr": 0.3, "eps": (1e-3, 1e-2), "maximize": True},
    ],
    "Muon": [
        {"lr": 0.05},
        {"lr": 0.05, "nesterov": False, "weight_decay": 0.0, "ns_steps": 3},
        {"lr": 0.05, "adjust_lr_fn": "match_rms_adamw", "momentum": 0.5},
    ],
}
#: Classes that step real numbers alone, and one that steps matrices alone.
REAL, MATRICES = ("Adafactor", "Muon"), "Muon"
DTYPES = ("float64", "float32", "complex128", "bfloat16")


def dtypes(name: str) -> list[str]:
    """In few bits the steps of Muon's polynomial are not near those of others."""
    return [d for d in DTYPES if (name not in REAL or d[0] != "c") and (name != MATRICES or d[0] != "b")]


STEPS = 8
LOOKS = (1, 2, 5, 8)


def numbers(dtype: str, n: int, phase: float) -> list[Any]:
    real = [math.sin(1.7 * i + phase) for i in range(n)]
    return [complex(x, math.cos(2.3 * i + phase)) for i, x in enumerate(real)] if dtype[0] == "c" else real


def listed(T: Any, t: Any) -> list[Any]:
    """Elements as floats, complex ones as two."""
    t = t.detach()
    return (T.view_as_real(t) if t.is_complex() else t).to(T.float64).reshape(-1).tolist()


def parameters(T: Any, dtype: str, name: str = "") -> list[Any]:
    of = getattr(T, dtype)
    make = lambda n, phase: T.tensor(numbers(dtype, n, phase), dtype=of)
    shape = (4, 1) if name == MATRICES else (4,)
    return [make(6, 0.2).reshape(2, 3).requires_grad_(), make(4, 1.1).reshape(shape).requires_grad_()]


def set_gradients(T: Any, params: list[Any], dtype: str, k: int) -> None:
    """Those of step `k`: they turn now and then, and follow the parameters."""
    for j, p in enumerate(params):
        wave = T.tensor(numbers(dtype, p.numel(), 0.9 * k + j), dtype=p.dtype).reshape(p.shape)
        p.grad = wave + 0.25 * p.detach()


def run(T: Any, name: str, options: dict[str, Any], dtype: str) -> dict[str, Any]:
    """Parameters after some of the steps, and what is kept after the last."""
    params = parameters(T, dtype, name)
    optimizer = getattr(T.optim, name)(params, **options)
    looks = []
    for k in range(1, STEPS + 1):
        set_gradients(T, params, dtype, k)
        optimizer.step()
        if k in LOOKS:
            looks.append([listed(T, p) for p in params])
    state = [{key: listed(T, x) for key, x in optimizer.state[p].items()} for p in params]
    group = {key: x for key, x in optimizer.param_groups[0].items() if key != "params"}
    return {"params": looks, "state": state, "group": json.loads(json.dumps(group))}


# ---------------------------------------------------------------- L-BFGS
LBFGS: list[dict[str, Any]] = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2, "lr": 0.5},
    {"lr": 0.1, "max_iter": 6, "history_size": 3},
    {"lr": 0.05},
]


def run_lbfgs(T: Any, options: dict[str, Any], dtype: str) -> dict[str, Any]:
    of = getattr(T, dtype)
    if dtype[0] == "c":
        params = [T.tensor([-1.5 + 0.5j, 1.0 - 0.2j], dtype=of, requires_grad=True)]
    else:
        params = [T.tensor([-1.5], dtype=of, requires_grad=True), T.tensor([2.0, 0.5], dtype=of, requires_grad=True)]
    optimizer = T.optim.LBFGS(params, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        x = T.cat([T.view_as_real(p).reshape(-1) if p.is_complex() else p for p in params])
        loss = ((1 - x[:-1]) ** 2 + 20 * (x[1:] - x[:-1] ** 2) ** 2).sum()
        loss.backward()
        return loss

    out: list[Any] = []
    for _ in range(4):
        loss = float(optimizer.step(closure).detach())
        state = optimizer.state[params[0]]
        out.append([loss, state["func_evals"], state["n_iter"], [listed(T, p) for p in params]])
    return {"steps": out, "keys": sorted(state)}


# ---------------------------------------------------------------- schedules
def _step_fn(epoch: int) -> float:
    return 0.9**epoch


#: Makes a schedule from the module of schedules and an optimizer.
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda S, o: S.LambdaLR(o, [_step_fn, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda S, o: S.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "StepLR": lambda S, o: S.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda S, o: S.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "ConstantLR": lambda S, o: S.ConstantLR(o, factor=0.4, total_iters=4),
    "LinearLR": lambda S, o: S.LinearLR(o, start_factor=0.2, end_factor=0.8, total_iters=6),
    "ExponentialLR": lambda S, o: S.ExponentialLR(o, gamma=0.8),
    "PolynomialLR": lambda S, o: S.PolynomialLR(o, total_iters=7, power=1.7),
    "CosineAnnealingLR": lambda S, o: S.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01),
    "SequentialLR": lambda S, o: S.SequentialLR(
        o,
        [S.ConstantLR(o, factor=0.1, total_iters=3), S.ExponentialLR(o, gamma=0.9), S.StepLR(o, 2)],
        milestones=[4, 9],
    ),
    "SequentialLR cosine": lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, total_iters=4), S.CosineAnnealingLR(o, T_max=10)], milestones=[4]
    ),
    "ChainedScheduler": lambda S, o: S.ChainedScheduler(
        [S.ConstantLR(o, factor=0.1, total_iters=3), S.ExponentialLR(o, gamma=0.9)], optimizer=o
    ),
    "CyclicLR": lambda S, o: S.CyclicLR(o, 0.01, 0.1, step_size_up=3, step_size_down=5),
    "CyclicLR triangular2": lambda S, o: S.CyclicLR(o, 0.01, [0.1, 0.3], step_size_up=3, mode="triangular2"),
    "CyclicLR exp_range": lambda S, o: S.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="exp_range", gamma=0.9),
    "CyclicLR scale": lambda S, o: S.CyclicLR(
        o, 0.01, 0.1, step_size_up=3, scale_fn=lambda x: 1 / x, cycle_momentum=False
    ),
    "OneCycleLR": lambda S, o: S.OneCycleLR(o, max_lr=0.5, total_steps=20),
    "OneCycleLR three phases": lambda S, o: S.OneCycleLR(
        o, max_lr=[0.5, 0.2], epochs=4, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
    ),
    "ReduceLROnPlateau": lambda S, o: S.ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=1, min_lr=[0.01, 0.04]),
    "ReduceLROnPlateau max": lambda S, o: S.ReduceLROnPlateau(
        o, mode="max", patience=1, threshold_mode="abs", threshold=0.1
    ),
    "SWALR": lambda S, o: S.SWALR(o, swa_lr=0.01, anneal_epochs=5),
    "SWALR linear": lambda S, o: S.SWALR(o, swa_lr=[0.01, 0.2], anneal_epochs=0, anneal_strategy="linear"),
}
EPOCHS = 19


class Module:
    """All schedules of a library in one place."""

    def __init__(self, T: Any) -> None:
        self.T = T

    def __getattr__(self, name: str) -> Any:
        return getattr(self.T.optim.swa_utils if name == "SWALR" else self.T.optim.lr_scheduler, name)


def optimizer_for(T: Any, schedule: str) -> Any:
    params = [T.zeros(1, requires_grad=True), T.zeros(2, requires_grad=True)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.3}]
    if "three phases" in schedule:
        return T.optim.Adam(groups, lr=0.1)
    return T.optim.SGD(groups, lr=0.1, momentum=0.9)


def advance(scheduler: Any, schedule: str, epoch: int) -> None:
    if schedule.startswith("ReduceLROnPlateau"):
        scheduler.step(1.0 + 0.3 * math.sin(epoch / 3.0) - 0.01 * epoch)
    else:
        scheduler.step()


def snapshot(optimizer: Any) -> list[Any]:
    """Rate and momentum of each group."""
    return [[g["lr"], g["momentum"] if "momentum" in g else g["betas"][0]] for g in optimizer.param_groups]


def run_schedule(T: Any, name: str) -> dict[str, Any]:
    """What the groups have in each epoch."""
    with warnings.catch_warnings():
        # PyTorch's SequentialLR warns of the order of its own calls.
        warnings.simplefilter("ignore")
        optimizer = optimizer_for(T, name)
        scheduler = SCHEDULES[name](Module(T), optimizer)
        rows = [snapshot(optimizer)]
        for epoch in range(EPOCHS):
            optimizer.step()
            advance(scheduler, name, epoch)
            rows.append(snapshot(optimizer))
        keys = sorted(scheduler.state_dict())
    return {"rows": rows, "keys": keys}


# ---------------------------------------------------------------- saved states
def packed(T: Any, x: Any) -> Any:
    """A state dict as JSON."""
    if isinstance(x, T.Tensor):
        return {"$t": [str(x.dtype).rpartition(".")[2], list(x.shape), listed(T, x)]}
    if isinstance(x, dict):
        return {"$d": [[k, packed(T, v)] for k, v in x.items()]}
    if isinstance(x, tuple):
        return {"$u": [packed(T, v) for v in x]}
    return [packed(T, v) for v in x] if isinstance(x, list) else x


def unpacked(T: Any, x: Any) -> Any:
    if isinstance(x, list):
        return [unpacked(T, v) for v in x]
    if not isinstance(x, dict):
        return x
    ((kind, value),) = x.items()
    if kind == "$d":
        return {k: unpacked(T, v) for k, v in value}
    if kind == "$u":
        return tuple(unpacked(T, v) for v in value)
    dtype, shape, data = value
    flat = T.tensor(data, dtype=T.float64)
    if dtype.startswith("complex"):
        flat = T.view_as_complex(flat.reshape(-1, 2))
    return flat.to(getattr(T, dtype)).reshape(shape)


def run_saved(T: Any, name: str, options: dict[str, Any], state: Any = None) -> dict[str, Any]:
    """Three steps, a state dict, three more steps. With `state`, the latter alone, from it."""
    params = parameters(T, "float32", name)
    optimizer = getattr(T.optim, name)(params, **options)
    saved, before = state, None
    if state is None:
        for k in range(1, 4):
            set_gradients(T, params, "float32", k)
            optimizer.step()
        saved = packed(T, optimizer.state_dict())
        before = [listed(T, p) for p in params]
    else:
        optimizer.load_state_dict(unpacked(T, state["dict"]))
        with T.no_grad():
            for p, x in zip(params, state["before"], strict=True):
                p.copy_(T.tensor(x, dtype=T.float64).to(T.float32).reshape(p.shape))
    for k in range(4, 7):
        set_gradients(T, params, "float32", k)
        optimizer.step()
    return {"dict": saved, "before": before, "after": [listed(T, p) for p in params]}


def record(T: Any) -> dict[str, Any]:
    """All of it."""
    runs = {
        f"{name} {i} {dtype}": run(T, name, options, dtype)
        for name, all_options in OPTIONS.items()
        for i, options in enumerate(all_options)
        for dtype in dtypes(name)
    }
    lbfgs = {
        f"{i} {dtype}": run_lbfgs(T, options, dtype)
        for i, options in enumerate(LBFGS)
        for dtype in ("float64", "complex128")
    }
    saved = {name: run_saved(T, name, all_options[-1]) for name, all_options in OPTIONS.items()}
    return {"runs": runs, "lbfgs": lbfgs, "schedules": {n: run_schedule(T, n) for n in SCHEDULES}, "saved": saved}


def recorded() -> dict[str, Any]:
    """What PyTorch gave."""
    found: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return found
