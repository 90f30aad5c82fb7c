"""Entrances for integers that the table of operators does not know: indexing, storages, sizes, constructors, and more.

Each row is a function of a number of integers. It makes its tensors anew, so that a row can be called in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
from pullback import func

Row = tuple[str, Callable[..., Any], int]
ROWS: list[Row] = []
F = pb.nn.functional


def row(places: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        ROWS.append((f.__name__, f, places))
        return f

    return register


def table() -> Iterator[Row]:
    yield from ROWS


def add(name: str, f: Callable[..., Any], places: int) -> None:
    ROWS.append((name, f, places))


def vector() -> Any:
    return pb.arange(3.0)


def matrix() -> Any:
    return pb.arange(12.0).reshape(3, 4)


def transposed() -> Any:
    return matrix().t()


def large() -> Any:
    return pb.arange(600.0).reshape(20, 30)


def none() -> Any:
    return pb.empty(0, 3)


def scalar() -> Any:
    return pb.tensor(2.0)


MAKERS = (vector, matrix, transposed, large, none, scalar)


def assigned(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def deleted(value: Any) -> Any:
    """What a method without result was called on."""
    return value


for make in MAKERS:
    n = make.__name__
    # Indexing.
    add(f"{n}[e]", lambda e, m=make: m()[e], 1)
    add(f"{n}[e:f]", lambda e, f, m=make: m()[e:f], 2)
    add(f"{n}[e::f]", lambda e, f, m=make: m()[e::f], 2)
    add(f"{n}[:e:f]", lambda e, f, m=make: m()[:e:f], 2)
    add(f"{n}[e:f:g]", lambda e, f, g, m=make: m()[e:f:g], 3)
    add(f"{n}[e:f:g][::g]", lambda e, f, g, m=make: m()[e:f:g][::g], 3)
    add(f"{n}[..., e]", lambda e, m=make: m()[..., e], 1)
    add(f"{n}[..., ::e]", lambda e, m=make: m()[..., ::e] * 2, 1)
    add(f"{n}[e, f]", lambda e, f, m=make: m()[e, f], 2)
    add(f"{n}[[e]]", lambda e, m=make: m()[[e]], 1)
    add(f"{n}[tensor([e, f])]", lambda e, f, m=make: m()[pb.tensor([e, f])], 2)
    add(f"{n}[[e], [f]]", lambda e, f, m=make: m()[[e], [f]], 2)
    add(f"{n}[e] = 1", lambda e, m=make: assigned(m(), e, 1.0), 1)
    add(f"{n}[e:f] = 1", lambda e, f, m=make: assigned(m(), slice(e, f), 1.0), 2)
    add(f"{n}[e::f] = 1", lambda e, f, m=make: assigned(m(), slice(e, None, f), 1.0), 2)
    add(f"{n}[..., ::e] = 1", lambda e, m=make: assigned(m(), (..., slice(None, None, e)), 1.0), 1)
    add(f"{n}[::2][::e] = 1", lambda e, m=make: assigned(m()[::2], slice(None, None, e), 1.0), 1)
    add(f"{n}[[e]] = 1", lambda e, m=make: assigned(m(), [e], 1.0), 1)
    add(f"{n}[tensor([e])] = 1", lambda e, m=make: assigned(m(), pb.tensor([e]), 1.0), 1)
    # Views of the memory.
    add(f"{n}.as_strided((e,), (f,))", lambda e, f, m=make: m().as_strided((e,), (f,)), 2)
    add(f"{n}.as_strided((e,), (f,), g)", lambda e, f, g, m=make: m().as_strided((e,), (f,), g), 3)
    add(f"{n}.as_strided((2, 2), (e, f))", lambda e, f, m=make: m().as_strided((2, 2), (e, f)), 2)
    add(f"{n}.as_strided((e, f), (g, 1))", lambda e, f, g, m=make: m().as_strided((e, f), (g, 1)), 3)
    add(f"{n}.as_strided((e, f), (0, 0))", lambda e, f, m=make: m().as_strided((e, f), (0, 0)), 2)
    add(f"{n}.as_strided((1,), (e,)) + 1", lambda e, m=make: m().as_strided((1,), (e,)) + 1, 1)
    add(f"{n}.as_strided((0,), (e,), f)", lambda e, f, m=make: m().as_strided((0,), (e,), f), 2)
    add(f"{n}.as_strided_", lambda e, f, g, m=make: m().as_strided_((e,), (f,), g), 3)
    add(f"as_strided({n})", lambda e, f, g, m=make: pb.as_strided(m(), (e,), (f,), g), 3)
    add(f"{n}.as_strided(...)[0] = 1", lambda e, f, m=make: assigned(m().as_strided((e,), (f,)), 0, 1.0), 2)
    add(f"{n}.set_", lambda e, f, g, m=make: m().set_(m().untyped_storage(), e, (f,), (g,)), 3)
    add(f"{n}.set_(tensor)", lambda e, f, g, m=make: m().set_(m(), e, (f,), (g,)), 3)
    add(f"{n}.set_ without strides", lambda e, f, m=make: m().set_(m().untyped_storage(), e, (f,)), 2)
    add(f"{n}.set_ of a matrix", lambda e, f, m=make: m().set_(m().untyped_storage(), 0, (2, e), (f, 1)), 2)
    add(f"{n}.resize_(e)", lambda e, m=make: m().resize_(e), 1)
    add(f"{n}.resize_(e, f)", lambda e, f, m=make: m().resize_(e, f), 2)
    add(f"{n}[1:].resize_(e, f)", lambda e, f, m=make: m()[1:].resize_(e, f), 2)
    add(f"{n}.untyped_storage()[e]", lambda e, m=make: m().untyped_storage()[e], 1)
    add(f"{n}.stride(e), size(f)", lambda e, f, m=make: (m().stride(e), m().size(f)), 2)
    # Pieces.
    add(f"{n}.split(e)", lambda e, m=make: m().split(e), 1)
    add(f"{n}.split(e, f)", lambda e, f, m=make: m().split(e, f), 2)
    add(f"{n}.split([e, f, g])", lambda e, f, g, m=make: m().split([e, f, g]), 3)
    add(f"{n}.split([e, e, 5])", lambda e, m=make: m().split([e, e, 5]), 1)
    add(f"{n}.split_with_sizes", lambda e, f, g, m=make: m().split_with_sizes([e, f, g]), 3)
    add(f"{n}.tensor_split(e)", lambda e, m=make: m().tensor_split(e), 1)
    add(f"{n}.tensor_split([e, f])", lambda e, f, m=make: m().tensor_split([e, f]), 2)
    add(f"{n}.tensor_split(tensor)", lambda e, f, m=make: m().tensor_split(pb.tensor([e, f])), 2)
    add(f"{n}.chunk(e)", lambda e, m=make: m().chunk(e), 1)
    add(f"{n}.unbind(e)", lambda e, m=make: m().unbind(e), 1)
    # Shapes.
    add(f"{n}.expand(e, f, ...)", lambda e, f, m=make: m().expand(e, f, *m().shape), 2)
    add(f"{n}.expand(e, ...) in use", lambda e, m=make: m().expand(e, *m().shape)[..., :1][:2] + 1, 1)
    add(f"{n}.repeat(e, f)", lambda e, f, m=make: m().repeat(e, f), 2)
    add(f"{n}.repeat(e, f, g)", lambda e, f, g, m=make: m().repeat(e, f, g), 3)
    add(f"{n}.view(e, f)", lambda e, f, m=make: m().view(e, f), 2)
    add(f"{n}.reshape(e, f, -1)", lambda e, f, m=make: m().reshape(e, f, -1), 2)
    add(f"{n}.unflatten(0, (e, f))", lambda e, f, m=make: m().unflatten(0, (e, f)), 2)
    add(f"{n}.unfold(0, e, f)", lambda e, f, m=make: m().unfold(0, e, f), 2)
    add(f"{n}.unfold(0, e, f) * 2", lambda e, f, m=make: m().unfold(0, e, f) * 2, 2)
    add(f"{n}.narrow(0, e, f)", lambda e, f, m=make: m().narrow(0, e, f), 2)
    add(f"{n}.movedim(e, f)", lambda e, f, m=make: m().movedim(e, f), 2)
    add(f"{n}.new_zeros(e, f)", lambda e, f, m=make: m().new_zeros(e, f), 2)
    add(f"{n}.roll", lambda e, f, m=make: m().roll(e, f), 2)
    add(f"{n}.diagonal", lambda e, f, m=make: m().diagonal(e, f), 2)
    add(f"{n}.tril, triu", lambda e, f, m=make: (m().tril(e), m().triu(f)), 2)
    add(f"diag_embed({n})", lambda e, m=make: pb.diag_embed(m(), e), 1)
    add(f"pad({n}, (e, f))", lambda e, f, m=make: F.pad(m(), (e, f)), 2)
    add(f"pad({n}, (e, f), reflect)", lambda e, f, m=make: F.pad(m(), (e, f), mode="reflect"), 2)
    add(f"pad({n}, (e, f), replicate)", lambda e, f, m=make: F.pad(m(), (e, f), mode="replicate"), 2)
    add(f"pad({n}, (e, f), circular)", lambda e, f, m=make: F.pad(m(), (e, f), mode="circular"), 2)
    # Numbers beside tensors.
    for dtype in (pb.int64, pb.int32, pb.uint8, pb.bool, pb.float32):
        t = str(dtype)
        add(f"{n} {t} + e", lambda e, m=make, d=dtype: m().to(d) + e, 1)
        add(f"{n} {t} * e", lambda e, m=make, d=dtype: m().to(d) * e, 1)
        add(f"e - {n} {t}", lambda e, m=make, d=dtype: e - m().to(d), 1)
        add(f"{n} {t} << e", lambda e, m=make, d=dtype: m().to(d) << e, 1)
        add(f"{n} {t} >> e", lambda e, m=make, d=dtype: m().to(d) >> e, 1)
        add(f"{n} {t} // e", lambda e, m=make, d=dtype: m().to(d) // e, 1)
        add(f"e // {n} {t}", lambda e, m=make, d=dtype: e // m().to(d), 1)
        add(f"{n} {t} % e", lambda e, m=make, d=dtype: m().to(d) % e, 1)
        add(f"{n} {t} ** e", lambda e, m=make, d=dtype: m().to(d) ** e, 1)
        add(f"e ** {n} {t}", lambda e, m=make, d=dtype: e ** m().to(d), 1)
        add(f"{n} {t} compared", lambda e, m=make, d=dtype: (m().to(d) < e, m().to(d) == e), 1)
    # Transforms.
    add(f"vmap({n}, e, f)", lambda e, f, m=make: func.vmap(lambda x: x * 2, in_dims=e, out_dims=f)(m()), 2)
    add(f"vmap({n}, chunk_size=e)", lambda e, m=make: func.vmap(lambda x: x * 2, chunk_size=e)(m()), 1)
    add(f"jacrev({n}, e, chunk_size=f)", lambda e, f, m=make: func.jacrev(pb.sin, e, chunk_size=f)(m()), 2)
    add(f"grad({n}, e)", lambda e, m=make: func.grad(lambda x: x.sum(), e)(m()), 1)
    add(f"vmap({n}[e:f])", lambda e, f, m=make: func.vmap(lambda x: x[e:f])(m()), 2)
    add(f"vmap({n}.expand)", lambda e, f, m=make: func.vmap(lambda x: x.expand(e, f, *x.shape)[:1, :1])(m()), 2)
    add(f"vmap({n}.unfold)", lambda e, f, m=make: func.vmap(lambda x: x.unfold(0, e, f))(m()), 2)
    add(f"grad({n}[::e])", lambda e, m=make: func.grad(lambda x: (x[::e] ** 2).sum())(m()), 1)
    add(f"grad({n}.diagonal(e))", lambda e, m=make: func.grad(lambda x: (x.diagonal(e) ** 2).sum())(m()), 1)
    add(f"grad(pad({n}))", lambda e, f, m=make: func.grad(lambda x: (F.pad(x, (e, f)) ** 2).sum())(m()), 2)


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
