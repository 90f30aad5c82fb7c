"""`view_copy` and its like: the elements of a view in memory of their own, with the view's derivative and errors."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.func import vmap

X = pb.arange(12.0).reshape(3, 4)
PAIRS = pb.arange(12.0).reshape(3, 2, 2)
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "as_strided": (X, ((2, 2), (4, 1))),
    "detach": (X, ()),
    "diagonal": (X, (1,)),
    "expand": (X[0], (2, 4)),
    "permute": (X, ((1, 0),)),
    "select": (X, (1, 2)),
    "split": (X, (2,)),
    "split_with_sizes": (X, ([1, 2],)),
    "squeeze": (X[:1], (0,)),
    "t": (X, ()),
    "transpose": (X, (0, 1)),
    "unbind": (X, (1,)),
    "unfold": (X, (1, 2, 1)),
    "unsqueeze": (X, (1,)),
    "view": (X, ((2, 6),)),
    "view_as_complex": (PAIRS, ()),
    "view_as_real": (pb.view_as_complex(PAIRS), ()),
}


def view_of(name: str, x: Any, args: tuple[Any, ...]) -> Any:
    name = name.removesuffix("_copy")
    return getattr(x, name)(*args) if hasattr(x, name) else getattr(pb, name)(x, *args)


def listed(out: Any) -> list[Any]:
    return [out] if isinstance(out, pb.Tensor) else list(out)


@pytest.mark.parametrize("name", CASES)
def test_values_and_memory(name: str) -> None:
    x, args = CASES[name]
    x = x.clone()
    made, shown = listed(getattr(pb, f"{name}_copy")(x, *args)), listed(view_of(name, x, args))
    assert [m.tolist() for m in made] == [s.tolist() for s in shown]
    before = [m.tolist() for m in made]
    x.fill_(-1.0)
    assert [m.tolist() for m in made] == before
    assert all(m.is_contiguous() and not m._is_view() for m in made)


@pytest.mark.parametrize("name", sorted({*CASES} - {"detach", "view_as_real"}))
def test_derivative(name: str) -> None:
    x, args = CASES[name]
    a, b = (x.clone().requires_grad_() for _ in range(2))
    copies, views = listed(getattr(pb, f"{name}_copy")(a, *args)), listed(view_of(name, b, args))
    for leaf, parts in ((a, copies), (b, views)):
        sum(((p * p).abs().sum() for p in parts), pb.tensor(0.0)).backward()
        assert leaf.grad is not None
    assert a.grad is not None and b.grad is not None
    assert a.grad.tolist() == b.grad.tolist()


@pytest.mark.parametrize("name", CASES)
def test_out(name: str) -> None:
    x, args = CASES[name]
    copy = getattr(pb, f"{name}_copy")
    want = copy(x, *args)
    if isinstance(want, pb.Tensor):
        out = pb.empty(0, dtype=want.dtype)
        assert copy(x, *args, out=out) is out
        assert out.tolist() == want.tolist()
        return
    outs = [pb.empty(0) for _ in want]
    copy(x, *args, out=outs)
    assert [o.tolist() for o in outs] == [w.tolist() for w in want]
    with pytest.raises(RuntimeError, match=rf"{name}_copy\(\): argument 'out' must have {len(want)} tensors"):
        copy(x, *args, out=outs[:1])


def test_slices_and_aliases() -> None:
    assert pb.slice_copy(X, 1, 1, None, 2).tolist() == X[:, 1::2].tolist()
    assert pb.alias_copy(X).tolist() == X.tolist()
    assert pb.alias_copy(X).data_ptr() != X.data_ptr()
    with pytest.raises(TypeError, match=r"alias_copy\(\): argument 'out' must be Tensor, not int"):
        pb.alias_copy(X, out=3)  # type: ignore[arg-type]


def test_under_vmap() -> None:
    out = vmap(lambda x: pb.view_copy(x, (2, 2)))(X)
    assert out.tolist() == X.reshape(3, 2, 2).tolist()


def test_errors_are_those_of_the_view() -> None:
    with pytest.raises(RuntimeError, match=r"^view_copy\(\): shape '\[5\]' is invalid for input of size 12"):
        pb.view_copy(X, (5,))
