"""Factors, least squares and names of linear algebra that PyTorch had once: errors, and what samples do not show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import func

L = pb.linalg
ZEROS = pb.zeros(2, 2)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: L.lu_factor(ZEROS), RuntimeError, r"U\[1,1\] is zero and using it on lu_solve"),
    (lambda: L.lu_factor_ex(ZEROS, check_errors=True), RuntimeError, r"U\[1,1\] is zero"),
    (lambda: L.lu_factor(pb.stack([pb.eye(2), ZEROS])), RuntimeError, r"\(Batch element 1\): U\[1,1\] is zero"),
    (lambda: L.lu(ZEROS, pivot=False), RuntimeError, "LU without pivoting is not implemented on the CPU"),
    (lambda: L.inv_ex(ZEROS, check_errors=True), L.LinAlgError, "The diagonal element 1 is zero"),
    (lambda: L.cholesky_ex(ZEROS, check_errors=True), L.LinAlgError, "leading minor of order 1 is not positive"),
    (lambda: L.solve_ex(ZEROS, ZEROS, check_errors=True), L.LinAlgError, "the input matrix is singular"),
    (lambda: pb.lu_unpack(ZEROS, pb.tensor([0, 3], dtype=pb.int32)), RuntimeError, "between 1 and LU.size"),
    (lambda: pb.lu_unpack(ZEROS, pb.tensor([1, 2])), RuntimeError, "LU_pivots is expected to be .*int32"),
    (lambda: L.lu_solve(ZEROS, pb.tensor([1], dtype=pb.int32), ZEROS), RuntimeError, "Number of pivots per batch"),
    (lambda: L.eig(pb.full((2, 2), float("nan"))), RuntimeError, "should not contain infs or NaNs"),
    (lambda: L.cond(pb.eye(2), 3), RuntimeError, "got an invalid norm type: 3"),
    (lambda: L.cond(pb.ones(2, 3), "fro"), RuntimeError, "must be batches of square matrices"),
    (lambda: L.pinv(pb.ones(2, 3), hermitian=True), RuntimeError, "must be batches of square matrices"),
    (lambda: L.lstsq(ZEROS, ZEROS, driver="qr"), RuntimeError, "parameter `driver` should be one of"),
    (lambda: L.lstsq(ZEROS, pb.ones(3)), RuntimeError, "Incompatible shapes of A and B"),
    (lambda: L.multi_dot([ZEROS]), RuntimeError, "expected at least 2 tensors but got 1"),
    (lambda: L.multi_dot([ZEROS, pb.ones(2), ZEROS]), RuntimeError, "tensor 1 must be 2D but got 1D"),
    (lambda: L.multi_dot([ZEROS, pb.ones(3, 2)]), RuntimeError, "tensors 0 and 1 .* cannot be multiplied"),
    (lambda: L.matrix_power(pb.ones(2, 3), 2), RuntimeError, "must be batches of square matrices"),
    (lambda: L.tensorinv(ZEROS, ind=0), RuntimeError, "strictly positive integer for 'ind'"),
    (lambda: L.tensorinv(pb.ones(2, 3), ind=1), RuntimeError, r"prod\(self.shape\[ind:\]\)"),
    (lambda: L.tensorsolve(pb.ones(2, 3), pb.ones(2)), RuntimeError, r"prod\(self.shape\[other.ndim:\]\)"),
    (lambda: L.householder_product(pb.ones(2, 3), pb.ones(2)), RuntimeError, r"input.shape\[-2\] must be greater"),
    (lambda: L.householder_product(pb.ones(3, 2), pb.ones(3)), RuntimeError, r"input.shape\[-1\] must be greater"),
    (lambda: pb.ormqr(pb.ones(3, 2), pb.ones(2), pb.ones(2, 2)), RuntimeError, r"other.shape\[-2\] must be equal"),
    (lambda: L.norm(pb.ones(2, dtype=pb.complex64), dtype=pb.float32), RuntimeError, "dtype should be complex"),
    (lambda: L.norm(pb.ones(2), dtype=pb.complex64), RuntimeError, "dtype should be real"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_names_say_what_to_use(name: str) -> None:
    arguments = (ZEROS, ZEROS) if name in ("lstsq", "solve") else (ZEROS,)
    text = re.escape(f"{name}(): This function was deprecated since version 1.9 and is now removed. linalg.")
    with pytest.raises(RuntimeError, match=text):
        getattr(pb, name)(*arguments)
    if name != "matrix_rank":
        with pytest.raises(RuntimeError, match=text):
            getattr(ZEROS, name)(*arguments[1:])


def test_failures_are_told_for_each_matrix() -> None:
    batch = pb.stack([pb.eye(2), ZEROS, -pb.eye(2)])
    assert L.cholesky_ex(batch).info.tolist() == [0, 1, 1]
    assert L.inv_ex(batch).info.tolist() == L.lu_factor_ex(batch).info.tolist() == [0, 1, 0]
    assert func.vmap(lambda a: L.lu_factor_ex(a).info)(batch).tolist() == [0, 1, 0]
    with pytest.raises(L.LinAlgError, match="singular"):
        func.vmap(lambda a: L.inv_ex(a, check_errors=True).inverse)(batch)
    x, info = L.solve_ex(pb.stack([pb.eye(2), 2 * pb.eye(2)]), pb.ones(2, 1))
    assert x.flatten().tolist() == [1, 1, 0.5, 0.5] and info.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, pb.complex64, pb.complex128])
@pytest.mark.parametrize("n", [1, 2, 5, 30, 70])
def test_eigenvalues_and_vectors(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    a = pb.tensor(rng.standard_normal((2, n, n)) + (1j * rng.standard_normal((2, n, n)) if dtype.is_complex else 0))
    a = a.to(dtype)
    w, v = L.eig(a)
    size, eps = n * float(a.abs().max()), pb.finfo(dtype).eps
    assert float((a.to(v.dtype) @ v - v * w.unsqueeze(-2)).abs().max()) < 50 * size * eps
    assert np.allclose(L.vector_norm(v, dim=-2), 1, atol=100 * eps)


def test_matrices_without_a_basis_of_eigenvectors() -> None:
    jordan = pb.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=pb.float64)
    assert np.allclose(L.eigvals(jordan), 1) and np.allclose(L.eigvals(pb.zeros(3, 3)), 0)
    assert np.allclose(sorted(L.eigvals(1e200 * jordan).real.tolist()), [1e200, 1e200])


def test_results_of_least_squares_by_driver() -> None:
    a, b = pb.randn(5, 3, dtype=pb.float64), pb.randn(5, 2, dtype=pb.float64)
    flat = a.clone()
    flat[:, 2] = flat[:, 0]
    empty = {None: "rs", "gelsy": "rs", "gels": "ks", "gelsd": "", "gelss": ""}
    for driver, left_out in empty.items():
        x, r, k, s = L.lstsq(a, b, driver=driver)
        assert np.allclose(a.mT @ (a @ x - b), 0)
        assert ("r" in left_out) == (r.numel() == 0) and ("s" in left_out) == (s.numel() == 0)
        assert ("k" in left_out) == (k.numel() == 0)
    x, r, k, s = L.lstsq(flat, b, driver="gelsd")
    assert k.item() == 2 and r.numel() == 0 and np.allclose(x[0], x[2])


# ---------------------------------------------------------------- ctc_loss


def enumerated(logp: Any, target: list[int], blank: int) -> float:
    """The negative log of the sum over all paths that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(logp.shape[1]), repeat=logp.shape[0]):
        merged = [c for c, _ in itertools.groupby(path) if c != blank]
        if merged == target:
            total += float(np.exp(sum(logp[t, c] for t, c in enumerate(path))))
    return -float(np.log(total)) if total else float("inf")


@pytest.mark.parametrize("target", [[], [1], [1, 2], [1, 1], [2, 1, 2], [1, 1, 1]])
def test_ctc_against_all_paths(target: list[int]) -> None:
    x = pb.randn(4, 3, dtype=pb.float64).log_softmax(-1)
    want = enumerated(x.numpy(), target, 0)
    got = pb.nn.functional.ctc_loss(x, pb.tensor(target, dtype=pb.int64), (4,), (len(target),), reduction="none")
    assert got.shape == () and np.isclose(got.item(), want)


def test_ctc_lengths_and_layouts() -> None:
    x = pb.randn(6, 3, 4).log_softmax(-1)
    padded, joined = pb.tensor([[1, 2, 9], [3, 9, 9], [1, 1, 2]]), pb.tensor([1, 2, 3, 1, 1, 2])
    losses = [
        pb.nn.functional.ctc_loss(x, t, steps, sizes)
        for t in (padded, joined, joined.int())
        for steps, sizes in [((6, 4, 5), [2, 1, 3]), (pb.tensor([6, 4, 5]), pb.tensor([2, 1, 3], dtype=pb.int32))]
    ]
    assert len({loss.item() for loss in losses}) == 1
    with pytest.raises(RuntimeError, match="the sum of target_lengths"):
        pb.nn.functional.ctc_loss(x, joined, (6, 4, 5), (2, 1, 2))
    with pytest.raises(RuntimeError, match="input_lengths to have value at most 6"):
        pb.nn.functional.ctc_loss(x, joined, (7, 4, 5), (2, 1, 3))
    with pytest.raises(RuntimeError, match="blank must be in label range"):
        pb.nn.functional.ctc_loss(x, joined, (6, 4, 5), (2, 1, 3), blank=4)


def test_ctc_without_an_alignment() -> None:
    x = pb.randn(2, 1, 3).log_softmax(-1).requires_grad_()
    labels = (pb.tensor([[1, 1]]), (2,), (2,))
    assert pb.nn.functional.ctc_loss(x, *labels).item() == float("inf")
    loss = pb.nn.functional.ctc_loss(x, *labels, zero_infinity=True)
    (g,) = pb.autograd.grad(loss, x)
    assert loss.item() == 0 and g.abs().sum().item() == 0


# ---------------------------------------------------------------- interpolate


def test_sizes_that_a_factor_leaves() -> None:
    F = pb.nn.functional
    x = pb.randn(1, 1, 5, 5)
    for mode in ("nearest", "bilinear"):
        assert F.interpolate(x, scale_factor=1.1, mode=mode).equal(x)
    y = F.interpolate(x, scale_factor=1.0)
    assert y.equal(x) and y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", [pb.float32, pb.float16, pb.uint8])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resized_images_keep_their_layout_and_dtype(mode: str, dtype: Any) -> None:
    x = (pb.rand(2, 3, 5, 4) * 200).to(dtype).to(memory_format=pb.channels_last)
    y = pb.nn.functional.interpolate(x, size=(7, 3), mode=mode)
    assert y.dtype == dtype and y.is_contiguous(memory_format=pb.channels_last)
    same = pb.nn.functional.interpolate(x.contiguous(), size=(7, 3), mode=mode)
    assert same.is_contiguous() and same.equal(y)


@pytest.mark.parametrize("dtype", [pb.bool, pb.int16, pb.int64, pb.complex64, pb.complex128])
def test_elements_of_any_dtype_are_repeated(dtype: Any) -> None:
    x = pb.arange(6).reshape(1, 1, 2, 3).to(dtype)
    y = pb.nn.functional.interpolate(x, scale_factor=2)
    assert y.dtype == dtype and y.equal(x[..., [0, 0, 1, 1], :][..., [0, 0, 1, 1, 2, 2]])


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, pb.complex64])
@pytest.mark.parametrize("scale", [1e-7, 1e4, 1e8])
def test_eigenvalues_of_matrices_of_mixed_sizes(dtype: Any, scale: float) -> None:
    """A companion matrix whose roots are far from 1 has rows of different sizes; balancing keeps the small ones."""
    roots = [1.0, 2.0, 3.0, -4.0]
    polynomial = np.poly(np.array(roots) * scale)
    companion = np.zeros((4, 4))
    companion[:-1, 1:], companion[-1] = np.eye(3), -polynomial[:0:-1]
    matrix = pb.tensor(companion.tolist(), dtype=dtype)
    values, vectors = pb.linalg.eig(matrix)
    found = sorted((values / scale).real.tolist())
    tolerance = 1e-3 if dtype is not pb.float64 else 1e-10
    assert found == pytest.approx(sorted(roots), rel=tolerance)
    pb.testing.assert_close(pb.linalg.vector_norm(vectors, dim=0), pb.ones(4, dtype=vectors.real.dtype))
