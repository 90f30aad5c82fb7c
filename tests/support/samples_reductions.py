"""Samples of reductions, scans, sorting and normalisation along dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("sum", "mean", "var", "std", "logsumexp", "amax", "amin")
def over_dims(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (0,))
    yield S(m(2, 3), 1, keepdim=True)
    yield S(m(2, 3, 2), (0, -1))
    yield S(m(2, 3, 2), (2, 1, 0), keepdim=True)
    yield S(m(0, 2), -1)
    yield from (S(x, -1) for x in m.layouts(2, 3) if 0 not in x.stride())


@of("sum", "mean", "amax", "amin")
def over_all(m: Maker) -> Iterator[Sample]:
    for shape in [(), (1,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(), 0)
    yield S(m(3), (), keepdim=True)


@of("sum", "mean")
def with_dtype(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(2, 3), 1, dtype=pb.float64)


def nansum_like(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = tuple(dim) if isinstance(dim, (list, tuple)) and dim else None if dim == () else dim
    return np.nansum(x, axis=axes if np.ndim(x) else None, keepdims=keepdim)


@of("nansum", like=nansum_like)
def nansum(m: Maker) -> Iterator[Sample]:
    for x in m.layouts(2, 3):
        # NaN where the element is small, which it stays when it moves a little.
        yield S(x, -1).but(via={0: lambda x: pb.where(x.abs() < 0.7, float("nan"), x)})
    for shape in [(), (0,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(2, 3, 2), (0, -1), keepdim=True)
    yield S(m.ints(2, 3), 1, dtype=pb.float64)
    yield S(m.ints(2, 3))


@of("sum")
def sum_of_nothing(m: Maker) -> Iterator[Sample]:
    yield S(m(0))
    yield S(m(2, 0), 1, keepdim=True)


@of("logsumexp")
def logsumexp(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0)
    yield S(m(3) * 300, 0).but(second=False)
    yield S(m(1), (0,))


@of("var", "std")
def spread(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(2, 3), 1, unbiased=False)
    yield S(m(4), 0, correction=2, keepdim=True)
    yield S(m(3), correction=0.5)


@of("prod")
def prod(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(2, 3), 1)
    yield S(m(3, 2), -2, keepdim=True)
    x = m(5)
    yield S(x * (x.abs() != x.abs().amin()))
    yield S(m(2, 3) * pb.tensor([0.0, 1.0, 0.0]), 1)


@of("all", "any")
def truth(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3)]:
        yield S(m.bools(*shape))
    yield S(m.bools(2, 3), 1)
    yield S(m.ints(2, 3), 0, keepdim=True)
    yield S(m.bools(2, 3, 2), (0, 2))


@of("softmax", "log_softmax", "nn.functional.softmax", "nn.functional.log_softmax")
def softmax(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (3,)]:
        yield S(m(*shape), 0)
    yield from (S(x, d) for d, x in zip((-1, 0, 1, -2, 1), m.layouts(2, 3), strict=True))
    yield S(m.ints(2, 3), 1, dtype=pb.float64)


@of("sort", "argsort")
def sort(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (3,)]:
        yield S(m(*shape))
    yield S(m(2, 3), 0, descending=True)
    yield S(m(3, 2), -1, stable=True)


@of("topk", "kthvalue")
def ranks(m: Maker) -> Iterator[Sample]:
    yield S(m(), 1)
    yield S(m(1), 1)
    yield S(m(4), 2)
    yield S(m(3, 2), 2, 0)
    yield S(m(3, 2), 1, dim=-1)


@of("topk")
def topk(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 4), 3, largest=False, sorted=True)
    yield S(m(2, 0), 0, dim=0)


@of("max", "min")
def extremes(m: Maker) -> Iterator[Sample]:
    for shape in [(), (1,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(), 0)
    yield S(m(2, 3), 1)
    yield S(m(3, 2), -2, keepdim=True)
    yield S(m(2, 0), 0)
    yield S(m(2, 3), m(3) + 0.01)


@of("argmax", "argmin")
def places_of_extremes(m: Maker) -> Iterator[Sample]:
    for shape in [(), (1,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(2, 3), 1)
    yield S(m(3, 2), -2, keepdim=True)
    yield S(m.ints(2, 3), 0)


@of("cumsum", "cummax", "cummin")
def scans(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (4,)]:
        yield S(m(*shape), 0)
    yield S(m(2, 3), -1)
    yield S(m(3, 2), 0)


@of("cumsum")
def cumsum(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(3), 0, dtype=pb.float64)


@of("linalg.vector_norm", "linalg.norm", "norm")
def vector_norms(m: Maker) -> Iterator[Sample]:
    for order in (2, 1, 3, float("inf"), float("-inf"), 0.5, -1):
        yield S(m(3), order)
    yield S(m())
    yield S(m(1))
    yield S(m(2, 3))
    yield S(m(2, 3), 2, 1)
    yield S(m(2, 3), 1, -1, keepdim=True)


@of("linalg.vector_norm")
def count_norm(m: Maker) -> Iterator[Sample]:
    yield S(m(3), 0)
    yield S(m(2, 3, 2), 2, (0, 2))
    yield S(m(0))


@of("linalg.matrix_norm", "linalg.norm")
def matrix_norms(m: Maker) -> Iterator[Sample]:
    for order in ("fro", 1, -1, float("inf"), float("-inf")):
        yield S(m(2, 3), order)


@of("linalg.matrix_norm")
def spectral_norms(m: Maker) -> Iterator[Sample]:
    for order in ("nuc", 2, -2):
        yield S(m.regular(3, 3), order)
    yield S(m.regular(2, 2, 2), "fro", keepdim=True)
    yield S(m(2, 3, 2), 1, dim=(0, 2))


@of("dist")
def dist(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2, 3) * 0.1)
    yield S(m(2, 3), m(3) * 0.1, 1)
    yield S(m(3), m(3) * 0.1, 3)


@of("nn.functional.layer_norm", "nn.functional.rms_norm")
def norms(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (3,))
    yield S(m(2, 3), (3,), m(3))
    yield S(m(2, 2, 3), (2, 3), m(2, 3))
    yield S(m(3), (3,), eps=0.1)
    yield S(m(0, 3), (3,), m(3))


@of("nn.functional.layer_norm")
def layer_norm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (3,), m(3), m(3))
    yield S(m(2, 3), (3,), None, m(3))


@of("nn.functional.group_norm")
def group_norm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 4), 2)
    yield S(m(2, 4, 3), 2, m(4), m(4))
    yield S(m(1, 2, 2, 2), 1, m(2))


@of("nn.functional.batch_norm")
def batch_norm(m: Maker) -> Iterator[Sample]:
    positive = {"low": 0.5, "high": 2.0}
    yield S(m(3, 2), None, None, training=True)
    yield S(m(2, 3, 2), None, None, m(3), m(3), training=True)
    yield S(m(3, 2), m(2), m(2, **positive)).but(grad=True)
    yield S(m(2, 2, 2, 2), m(2), m(2, **positive), m(2), m(2))
