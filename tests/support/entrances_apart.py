"""Further entrances for integers: views too large to be walked over, constructors, foreign memory, derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback import func
from support.entrances import F, add, matrix, row


@row(2)
def join_expanded(e: int, f: int) -> Any:
    return pb.cat([pb.ones(1).expand(e)] * 32), pb.stack([pb.ones(1).expand(f)] * 3)


@row(1)
def cat_of_eight(e: int) -> Any:
    return pb.cat([pb.ones(1, dtype=pb.uint8).expand(e)] * 8)


@row(2)
def broadcast_of_expanded(e: int, f: int) -> Any:
    x, y = pb.ones(1, 1).expand(e, 1), pb.ones(1, 1).expand(1, f)
    return pb.broadcast_tensors(x, y)


@row(2)
def sum_of_expanded(e: int, f: int) -> Any:
    return pb.ones(1, 1).expand(e, 1) + pb.ones(1, 1).expand(1, f)


@row(2)
def product_of_expanded(e: int, f: int) -> Any:
    return pb.ones(1, 1).expand(e, 1) @ pb.ones(1, 1).expand(1, f)


@row(2)
def outer_of_expanded(e: int, f: int) -> Any:
    return pb.outer(pb.ones(1).expand(e), pb.ones(1).expand(f))


@row(2)
def where_of_expanded(e: int, f: int) -> Any:
    return pb.where(pb.ones(1, 1, dtype=pb.bool).expand(e, 1), pb.ones(1, 1).expand(1, f), 0.0)


@row(2)
def properties_of_expanded(e: int, f: int) -> Any:
    x = pb.ones(1, 1).expand(e, f)
    assert x.numel() == x.shape[0] * x.shape[1] and x.nbytes == 4 * x.numel()
    return x.is_contiguous(), x.stride(), x.t(), x.unsqueeze(0), x[-1:], repr(x)


def of_expanded(e: int) -> Any:
    """A view that no operator can walk over in time, or one of a few elements."""
    return pb.ones(1).expand(2**53 if 4 < e < 2**53 else e)


WALKS: list[tuple[str, Callable[[Any], Any]]] = [
    ("sum", lambda x: x.sum()),
    ("mean", lambda x: x.mean(0)),
    ("prod", lambda x: x.prod()),
    ("max", lambda x: x.max()),
    ("max of a dim", lambda x: x.max(0)),
    ("argmin", lambda x: x.argmin()),
    ("any", lambda x: (x == 1).any() if x.numel() < 2**20 else x.to(pb.float32).any()),
    ("norm", lambda x: x.norm()),
    ("logsumexp", lambda x: x.logsumexp(0)),
    ("var", lambda x: x.var()),
    ("dot", lambda x: x @ x),
    ("matrix product", lambda x: x.expand(2, *x.shape) @ x.unsqueeze(1)),
    ("nonzero", lambda x: x.nonzero()),
    ("mask", lambda x: x[x.to(pb.bool)]),
    ("equal", lambda x: pb.equal(x, x)),
    ("allclose", lambda x: pb.allclose(x, x)),
    ("sort", lambda x: x.sort()),
    ("topk", lambda x: x.topk(min(1, x.numel()))),
    ("cummax", lambda x: x.cummax(0)),
    ("softmax", lambda x: x.softmax(0)),
    ("multinomial", lambda x: x.multinomial(1)),
    ("bernoulli", lambda x: x.bernoulli()),
    ("tolist", lambda x: x.tolist()),
    ("numpy", lambda x: x.numpy().shape),
    ("tensor", lambda x: pb.tensor(x)),
    ("pickle", lambda x: x.__reduce_ex__(2) if x.numel() < 2**20 else x.clone()),
    ("gradient", lambda x: func.grad(lambda v: v.expand(x.shape).sum())(pb.tensor(1.0))),
    ("batch", lambda x: func.vmap(lambda v: v * 2)(x)),
    ("cat", lambda x: pb.cat([x, x])),
    ("pad", lambda x: F.pad(x, (1, 1))),
    ("roll", lambda x: x.roll((1, 2), (0, 0))),
    ("flip", lambda x: x.flip(0)),
    ("loss", lambda x: F.mse_loss(x, x)),
    ("pool", lambda x: F.avg_pool1d(x.view(1, 1, -1), 2)),
    ("conv", lambda x: F.conv1d(x.view(1, 1, -1), pb.ones(1, 1, 1))),
    ("unfold", lambda x: x.unfold(0, 1, 1).sum()),
    ("write", lambda x: x.fill_(1.0)),
    ("diagonal", lambda x: x.view(1, -1).diagonal()),
]
for text, walk in WALKS:
    add(f"{text} of expanded", lambda e, w=walk: w(of_expanded(e)), 1)


@row(2)
def copies_of_expanded(e: int, f: int) -> Any:
    x = pb.ones(1, 1).expand(e, f)
    return x.contiguous(), x.clone()


@row(1)
def elementwise_on_expanded(e: int) -> Any:
    return pb.ones(1).expand(e) * 2


@row(1)
def flattened_expanded(e: int) -> Any:
    return pb.ones(3).expand(e, 3).flatten()


@row(1)
def sorted_expanded(e: int) -> Any:
    return pb.ones(1).expand(e).sort()


@row(1)
def scanned_expanded(e: int) -> Any:
    return pb.ones(1).expand(e).cumsum(0)


@row(1)
def indexed_by_expanded(e: int) -> Any:
    return pb.arange(3.0)[pb.zeros(1, dtype=pb.int64).expand(e)]


@row(1)
def selected_by_expanded(e: int) -> Any:
    return pb.index_select(pb.arange(3.0), 0, pb.zeros(1, dtype=pb.int64).expand(e))


@row(1)
def added_by_expanded(e: int) -> Any:
    index = pb.zeros(1, dtype=pb.int64).expand(e)
    return pb.index_add(pb.arange(3.0), 0, index, pb.ones(1).expand(e))


@row(1)
def diagonal_of_expanded(e: int) -> Any:
    return pb.diagonal_scatter(pb.ones(1, 1).expand(e, 1), pb.ones(1))


@row(1)
def taken_by_expanded(e: int) -> Any:
    return pb.take_along_dim(pb.arange(3.0), pb.zeros(1, dtype=pb.int64).expand(e), 0)


@row(1)
def repeated_expanded(e: int) -> Any:
    return pb.ones(1).expand(e).repeat(2)


@row(1)
def tile_of_expanded(e: int) -> Any:
    return pb.ones(1).expand(e).unfold(0, 1, 1)


@row(2)
def sizes(e: int, f: int) -> Any:
    s = pb.Size((e, f))
    assert s.numel() == e * f
    return s, s + s, s[0:1]


@row(1)
def size_repeated(e: int) -> Any:
    return pb.Size(()) * e if abs(e) > 1000 else pb.Size((1, 2)) * e


@row(2)
def constructors(e: int, f: int) -> Any:
    return pb.Tensor(e, f)


for make in (pb.zeros, pb.ones, pb.empty, pb.rand, pb.randn):
    add(f"{make.__name__}(e, f)", lambda e, f, m=make: m(e, f), 2)
    add(f"{make.__name__}((e, f, g))", lambda e, f, g, m=make: m((e, f, g)), 3)
    for dtype in (pb.bool, pb.float64):
        if make in (pb.zeros, pb.ones, pb.empty):
            add(f"{make.__name__}(e, f, {dtype})", lambda e, f, m=make, d=dtype: m(e, f, dtype=d), 2)


@row(3)
def full(e: int, f: int, g: int) -> Any:
    return pb.full((e, f), g)


@row(3)
def arange(e: int, f: int, g: int) -> Any:
    return pb.arange(e, f, g)


@row(1)
def arange_one(e: int) -> Any:
    return pb.arange(e)


@row(3)
def linspace(e: int, f: int, g: int) -> Any:
    return pb.linspace(e, f, g)


@row(2)
def eye(e: int, f: int) -> Any:
    return pb.eye(e, f)


@row(3)
def randint(e: int, f: int, g: int) -> Any:
    return pb.randint(e, f, (g,))


@row(2)
def randint_few(e: int, f: int) -> Any:
    return pb.randint(e, f, (3,)), pb.zeros(3, dtype=pb.int64).random_(e, f)


@row(1)
def randperm(e: int) -> Any:
    return pb.randperm(e)


@row(1)
def seeds(e: int) -> Any:
    state = pb.get_rng_state()
    try:
        pb.manual_seed(e)
        return pb.Generator().manual_seed(e), pb.rand(2)
    finally:
        pb.set_rng_state(state)


@row(2)
def foreign_strides(e: int, f: int) -> Any:
    """Arrays of NumPy that have strange strides where no element follows them."""
    base = np.zeros(4, dtype=np.float32)
    limit = 2**63 - 1
    strides = (max(min(e, limit), -limit) // 4 * 4, max(min(f, limit), -limit) // 4 * 4)
    results = []
    for shape in ((1, 1), (0, 1), (1, 0), (0, 0)):
        a = np.lib.stride_tricks.as_strided(base, shape, strides, writeable=True)
        x = pb.from_numpy(a)
        results += [x, x + 1, x.t(), x.reshape(-1), pb.from_dlpack(a), x[..., :1], x.clone()]
    return results


@row(2)
def foreign_sizes(e: int, f: int) -> Any:
    if not (0 <= e and 0 <= f) or (e * f != 0 and (e * f * 4 > 2**62)):
        return None
    a = np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.float32), (e, f), (0, 0))
    x = pb.from_numpy(np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.float32), (e, f), (0, 0), writeable=True))
    assert x.shape == a.shape
    return x, x[:1, :1] + 1


@row(2)
def from_buffer(e: int, f: int) -> Any:
    return pb.frombuffer(bytearray(64), dtype=pb.float32, count=e, offset=f)


@row(3)
def backward_of_as_strided(e: int, f: int, g: int) -> Any:
    x = pb.arange(6.0, requires_grad=True)
    y = x.as_strided((2, 2), (e, f), g)
    y.sum().backward()
    return x.grad


@row(2)
def backward_of_slices(e: int, f: int) -> Any:
    x = pb.arange(6.0, requires_grad=True)
    x[::e].sum().backward()
    x[f:].sum().backward()
    return x.grad


@row(2)
def traced_slices(e: int, f: int) -> Any:
    program = func.trace(lambda x: x[e::f] * 2)(pb.arange(6.0))
    return program(pb.arange(6.0))


@row(1)
def threads(e: int) -> Any:
    before = pb.get_num_threads()
    try:
        if -1 <= e <= 1:
            pb.set_num_threads(e)
        return pb.arange(3.0) + 1
    finally:
        pb.set_num_threads(before)


@row(2)
def einsum_of_expanded(e: int, f: int) -> Any:
    return pb.einsum("i,j->ij", pb.ones(1).expand(e), pb.ones(1).expand(f))


@row(2)
def tensordot_dims(e: int, f: int) -> Any:
    return pb.tensordot(matrix(), matrix(), dims=([e], [f]))


@row(2)
def embedding(e: int, f: int) -> Any:
    return F.embedding(pb.tensor([e, f]), matrix())


@row(2)
def one_element_indices(e: int, f: int) -> Any:
    return pb.gather(matrix(), 1, pb.tensor([[e, f]])), pb.index_select(matrix(), 0, pb.tensor([e]))


@row(2)
def scattered(e: int, f: int) -> Any:
    return pb.zeros(3).scatter(0, pb.tensor([e]), 1.0), pb.zeros(3).index_add(0, pb.tensor([f]), pb.ones(1))


@row(2)
def converted(e: int, f: int) -> Any:
    return pb.tensor([e, f]), pb.tensor(e, dtype=pb.uint8), pb.tensor(f, dtype=pb.float16)


@row(1)
def converted_large(e: int) -> Any:
    return pb.as_tensor(e), pb.scalar_tensor(e), pb.tensor(e).item(), int(pb.tensor(e))


@row(1)
def printed_edge(e: int) -> Any:
    pb.set_printoptions(edgeitems=e)
    try:
        return repr(pb.arange(2000.0))
    finally:
        pb.set_printoptions(profile="default")
