"""Functions of NumPy that are no universal functions: the values are NumPy's, and derivatives go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

A = np.array([[1.5, -2.0, 0.5], [3.0, 4.0, -1.0]], dtype=np.float32)
S = np.array([[2.0, 1.0], [1.0, 3.0]], dtype=np.float32)

# Functions whose results are tensors, and those whose results are tensors where something follows the tensor alone.
TENSORS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{f.__name__}, {options}": (lambda t, f=f, options=options: f(t, **options))
        for f in (np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min)
        for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}, {"axis": ()})
        if options != {"axis": ()} or f not in (np.std, np.var)
    },
    **{
        f"{f.__name__}": f for f in (np.any, np.all, np.argmax, np.argmin, np.cumsum, np.squeeze, np.transpose, np.flip)
    },
    "argmax axis": lambda t: np.argmax(t, axis=1),
    "argmin keepdims": lambda t: np.argmin(t, axis=0, keepdims=True),
    "argmax all keepdims": lambda t: np.argmax(t, keepdims=True),
    "cumsum axis": lambda t: np.cumsum(t, axis=1),
    "sum dtype": lambda t: np.sum(t, dtype=np.float64),
    "std ddof": lambda t: np.std(t, axis=1, ddof=1),
    "reshape": lambda t: np.reshape(t, (3, 2)),
    "reshape -1": lambda t: np.reshape(t, -1),
    "swapaxes": lambda t: np.swapaxes(t, 0, 1),
    "moveaxis": lambda t: np.moveaxis(t, 0, -1),
    "transpose axes": lambda t: np.transpose(t, (1, 0)),
    "flip axis": lambda t: np.flip(t, axis=0),
    "clip": lambda t: np.clip(t, -1.5, 2),
    "clip low": lambda t: np.clip(t, 0, None),
    "inv": lambda t: np.linalg.inv(t[:, :2]),
}
DERIVED: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda t: np.concatenate([t, t]),
    "concatenate axis": lambda t: np.concatenate((t, A), axis=1),
    "concatenate flat": lambda t: np.concatenate([t, t[0]], axis=None),
    "stack": lambda t: np.stack([t, A], axis=-1),
    "vstack": lambda t: np.vstack([t, t[0]]),
    "hstack": lambda t: np.hstack([t, t]),
    "where": lambda t: np.where(t > 0, t, 0.0),
    "dot": lambda t: np.dot(t, A.T),
    "dot vectors": lambda t: np.dot(t[0], t[1]),
    "tensordot": lambda t: np.tensordot(t, A, axes=([0], [0])),
    "outer": lambda t: np.outer(t, t[0]),
    "einsum": lambda t: np.einsum("ij,kj->ik", t, A),
    "sort": lambda t: np.sort(t),
    "sort flat": lambda t: np.sort(t, axis=None),
    "ravel": np.ravel,
    "copy": np.copy,
    "expand_dims": lambda t: np.expand_dims(t, (0, 2)),
    "broadcast_to": lambda t: np.broadcast_to(t, (2, 2, 3)),
    "roll": lambda t: np.roll(t, 1),
    "roll axis": lambda t: np.roll(t, 1, axis=1),
    "trace": np.trace,
    "diagonal": np.diagonal,
    "tril": np.tril,
    "triu": lambda t: np.triu(t, 1),
    "norm": np.linalg.norm,
    "norm axis": lambda t: np.linalg.norm(t, axis=1),
    "norm ord": lambda t: np.linalg.norm(t, ord=1, axis=0, keepdims=True),
    "det": lambda t: np.linalg.det(t[:, :2]),
}
CONSTANT = ("any", "all", "argm")


def close(ours: Any, theirs: Any) -> bool:
    ours = ours.detach().numpy() if isinstance(ours, pb.Tensor) else np.asarray(ours)
    return bool(ours.shape == np.shape(theirs) and np.allclose(ours, theirs, rtol=1e-5, atol=1e-6))


@pytest.mark.parametrize("name", TENSORS)
def test_values_are_numpys(name: str) -> None:
    out = TENSORS[name](pb.tensor(A))
    assert isinstance(out, pb.Tensor) and close(out, TENSORS[name](A))
    assert str(np.asarray(out).dtype) == str(np.asarray(TENSORS[name](A)).dtype)


@pytest.mark.parametrize("name", [*TENSORS, *DERIVED])
def test_derivatives_go_through(name: str) -> None:
    f = {**TENSORS, **DERIVED}[name]
    x = pb.tensor(A, requires_grad=True)
    out = f(x)
    assert isinstance(out, pb.Tensor) and close(out, f(A))
    if not name.startswith(CONSTANT):
        assert out.requires_grad
        weights = pb.arange(1.0, out.numel() + 1).to(out.dtype).reshape(out.shape)
        (gradient,) = pb.autograd.grad((out * weights).sum(), x)
        step = 1e-3 * pb.tensor(np.random.default_rng(0).standard_normal(A.shape))
        y = x.detach().double()
        change = sum(s * (pb.tensor(np.array(f(y + s * step))) * weights).sum() for s in (1, -1)) / 2
        assert abs(change - (gradient * step).sum()) <= 2e-3 * abs(change) + 1e-5
    batch = pb.stack([x.detach(), 2 * x.detach()])
    if not name.startswith(("concatenate", "stack", "vstack", "tensordot", "dot", "einsum")):
        for k, part in enumerate(pb.func.vmap(f)(batch)):
            assert close(part, f(batch[k].numpy()))


@pytest.mark.parametrize("name", DERIVED)
def test_plain_tensors_give_what_they_give_with_pytorch(name: str) -> None:
    out = DERIVED[name](pb.tensor(A))
    assert not isinstance(out, pb.Tensor) and close(out, DERIVED[name](A))


def test_options_that_no_operator_has() -> None:
    t = pb.tensor(A)
    assert np.sum(t, where=A > 0).item() == A.sum(where=A > 0)
    assert np.sum(t, initial=5).item() == A.sum() + 5
    out = np.zeros(3, np.float32)
    assert np.sum(t, axis=0, out=out) is out and np.array_equal(out, A.sum(0))
    assert np.mean(pb.arange(3)).dtype is pb.float64 and np.sum(pb.arange(3, dtype=pb.int32)).dtype is pb.int64
    with pytest.raises((IndexError, ValueError), match="out of bounds"):
        np.sum(t, axis=2)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        np.sum(t, axis=(0, 0))
    with pytest.raises(ValueError, match="cannot select an axis"):
        np.squeeze(t, axis=0)
    assert np.shape(t) == (2, 3) and np.ndim(t) == 2 and np.size(t) == 6 and np.size(t, 1) == 3


def test_nothing_loses_its_derivative() -> None:
    x = pb.tensor(A, requires_grad=True)
    for f in (np.median, np.unique, np.diff, np.histogram, lambda t: np.sum(t, where=A > 0), lambda t: np.pad(t, 1)):
        with pytest.raises(RuntimeError, match="requires grad"):
            f(x)
    for f in (np.median, np.unique, lambda t: np.sum(t, where=A > 0)):
        with pytest.raises(RuntimeError):
            pb.func.vmap(f)(pb.tensor(A))
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(pb.tensor(A), pb.ones(2, 3))
        assert pb.autograd.forward_ad.unpack_dual(np.mean(dual)).tangent == 1
        with pytest.raises(RuntimeError):
            np.median(dual)


class Foreign:
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "theirs"


def test_other_types_answer_first() -> None:
    assert np.concatenate([pb.ones(1), Foreign()]) == "theirs"  # type: ignore[arg-type, comparison-overlap]


def test_numpys_own_promotion_of_plain_tensors() -> None:
    """What is called by NumPy's name gives the dtypes that it gives with arrays."""
    i, x = pb.arange(1, 4), pb.tensor([1.0, -2.0, 3.0])
    for f in (np.divide, np.add, np.power, np.floor_divide, np.multiply):
        for a, b in ((i, 2.0), (2, i), (i, i), (x, i), (x, 2), (i.int(), 2), (x.double(), x)):
            arrays = [t.numpy() if isinstance(t, pb.Tensor) else t for t in (a, b)]
            want = f(*arrays)
            found: Any = f(a, b)
            assert type(found) is pb.Tensor and found.numpy().dtype == want.dtype
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
    assert x.dtype is (x + 2).dtype is (np.float64(2) * x).dtype


def test_products_of_two_dtypes() -> None:
    x = pb.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    for a, b in ((x, np.ones((3, 2))), (np.ones((3, 2)), x), (x[0], np.ones(3)), (x, pb.arange(3)), (x.double(), x[0])):
        found: Any = np.matmul(a, b)
        want = np.matmul(np.asarray(a), np.asarray(b))
        assert type(found) is pb.Tensor and found.numpy().dtype == want.dtype and (found.numpy() == want).all()
    assert (x @ np.ones(3)).tolist() == [2, 3]


def test_single_numbers_and_bools_are_reduced() -> None:
    for f in (np.any, np.all, np.sum, np.prod, np.max, np.argmax, np.transpose):
        for value in (2.5, True, 3, 0.0):
            found: Any = f(pb.tensor(value))
            assert found.tolist() == f(np.array(value)).tolist() and type(found.item()) is type(
                f(np.array(value)).item()
            )
    mask = pb.tensor([[False, True], [True, True]])
    assert np.argmax(mask) == 1 and np.argmin(mask, 0).tolist() == [0, 0]
    assert np.any(pb.tensor([2.0, 0.0]), axis=()).tolist() == [True, False]
