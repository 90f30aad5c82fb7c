"""Operators on images and volumes, by name: programs for pullback and PyTorch alike, whose strides are recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

SHAPES = {2: (2, 4, 6, 8), 3: (2, 4, 6, 8, 4)}


def behind(T: Any, x: Any) -> Any:
    return x.contiguous(memory_format=T.channels_last if x.dim() == 4 else T.channels_last_3d)


def image(T: Any, n: int, last: bool) -> Any:
    shape = SHAPES[n]
    x = T.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)
    return behind(T, x) if last else x


def programs(T: Any, n: int) -> dict[str, Callable[[Any], Any]]:
    """What runs over images with `n` dimensions."""
    F = T.nn.functional
    of = {name: getattr(F, f"{name}{n}d") for name in ("conv", "conv_transpose", "max_pool", "avg_pool", "lp_pool")}
    adaptive = {kind: getattr(F, f"adaptive_{kind}_pool{n}d") for kind in ("avg", "max")}
    kernel, all_sides = (3,) * n, (1,) * (2 * n)
    w, grouped, turned, b = T.ones(6, 4, *kernel), T.ones(8, 1, *kernel), T.ones(4, 6, *kernel), T.ones(6)
    one = T.ones(4)
    return {
        "conv": lambda x: of["conv"](x, w),
        "conv, bias, padding": lambda x: of["conv"](x, w, b, padding=1),
        "conv, stride": lambda x: of["conv"](x, w, stride=2),
        "conv, groups": lambda x: of["conv"](x, grouped, groups=4),
        "conv, such weights": lambda x: of["conv"](x, behind(T, w)),
        "conv_transpose": lambda x: of["conv_transpose"](x, turned),
        "max_pool": lambda x: of["max_pool"](x, 2),
        "max_pool, indices": lambda x: of["max_pool"](x, 2, return_indices=True)[1],
        "avg_pool": lambda x: of["avg_pool"](x, 2),
        "avg_pool, padding": lambda x: of["avg_pool"](x, 3, 1, 1),
        "lp_pool": lambda x: of["lp_pool"](x, 2.0, 2),
        "adaptive_avg_pool": lambda x: adaptive["avg"](x, 2),
        "adaptive_max_pool": lambda x: adaptive["max"](x, 2),
        "pad": lambda x: F.pad(x, all_sides),
        "pad, value": lambda x: F.pad(x, all_sides, value=2.0),
        "pad, reflect": lambda x: F.pad(x, all_sides, "reflect"),
        "pad, replicate": lambda x: F.pad(x, all_sides, "replicate"),
        "pad, circular": lambda x: F.pad(x, all_sides, "circular"),
        "cat of channels": lambda x: T.cat([x, x], 1),
        "cat of batches": lambda x: T.cat([x, x], 0),
        "cat of columns": lambda x: T.cat([x, x], 3),
        "cat with rows": lambda x: T.cat([x, x.contiguous()], 1),
        "batch_norm, training": lambda x: F.batch_norm(x, None, None, one, one, training=True),
        "batch_norm": lambda x: F.batch_norm(x, T.zeros(4), one),
        "group_norm": lambda x: F.group_norm(x, 2, one, one),
        "instance_norm": lambda x: F.instance_norm(x),
        "dropout": lambda x: F.dropout(x, 0.5),
        "clone": lambda x: x.clone(),
        "clone of some channels": lambda x: x[:, 1:3].clone(),
        "clone of some columns": lambda x: x[..., 1:].clone(),
        "contiguous": lambda x: x[:, 1:3].contiguous(),
        "relu": lambda x: x.relu(),
        "sum with a part": lambda x: x[:, 1:3] + 1,
        "product with channels": lambda x: x * T.ones(4, *(1,) * n),
        "sum with rows": lambda x: x + x.contiguous(),
        "rows plus these": lambda x: x.contiguous() + x,
        "to": lambda x: x.to(T.float64),
        "softmax": lambda x: F.softmax(x, 1),
        "zeros_like": lambda x: T.zeros_like(x),
        "interpolate": lambda x: F.interpolate(x, scale_factor=2),
        "interpolate, linear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear" if n == 2 else "trilinear"),
    }


GRADIENTS = (
    *("conv", "conv, bias, padding", "conv, stride", "conv, groups", "conv_transpose", "max_pool", "avg_pool"),
    *("adaptive_avg_pool", "adaptive_max_pool", "pad", "cat of channels", "batch_norm, training", "relu"),
)


def strides(T: Any, n: int, last: bool) -> dict[str, list[int]]:
    """The strides of what each program gives, and of some gradients."""
    out = {}
    for name, program in programs(T, n).items():
        out[name] = list(program(image(T, n, last)).stride())
        if name in GRADIENTS:
            x = image(T, n, last).requires_grad_()
            y = program(x)
            out[f"gradient of {name}"] = list(T.autograd.grad(y, x, T.ones_like(y))[0].stride())
    return out
