"""Entrances for integers that the table of operators does not know: indexing, storages, sizes, constructors, and more.

Each row is a function of a number of integers. It makes its tensors anew, so that a row can be called in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
