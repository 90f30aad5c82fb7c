"""Results lie in memory as PyTorch's do (tools/record_orders.py), so that `x.t().relu().t().view(-1)` is a view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, vmap
from support.orders import SINGLES, arranged, exact, operands, order, programs

RECORDED = json.loads((Path(__file__).parents[1] / "reference/orders.json").read_text())
PROGRAMS = programs(pb)
OPERANDS = list(operands(pb))
EXACT = exact(pb)


def test_all_programs_are_recorded() -> None:
    assert set(PROGRAMS) == set(RECORDED["programs"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECORDED["programs"])
def test_results_lie_as_in_pytorch(name: str) -> None:
    wanted = RECORDED["orders"][RECORDED["programs"][name]]
    wrong = []
    for (where, x), want in zip(OPERANDS, wanted, strict=True):
        got = order(PROGRAMS[name](x)) if want != "error" else want
        if got != want:
            wrong.append(f"{where}: {got}, in PyTorch {want}")
    assert not wrong


@pytest.mark.parametrize("name", EXACT)
def test_results_have_the_strides_of_pytorch(name: str) -> None:
    """Those of dimensions of size 1 too, which say whether channels lie behind."""
    wrong = []
    for at, want in zip(SINGLES, RECORDED["strides"][name], strict=True):
        got = ",".join(map(str, EXACT[name](arranged(pb, *at)).stride()))
        if got != want:
            wrong.append(f"{at}: {got}, in PyTorch {want}")
    assert not wrong


def test_all_strides_are_recorded() -> None:
    assert set(EXACT) == set(RECORDED["strides"])


@pytest.mark.parametrize("n", [2, 40])
def test_addresses_stay_where_all_elements_are_written(n: int) -> None:
    x = pb.zeros(n, n)
    place = x.data_ptr()
    x[:].fill_(2.0)
    x.view(-1).add_(1)
    x.t().mul_(2)
    x[...] = pb.ones(n, n)
    x.view(n * n, 1)[:] = 5
    view = x[:]
    view.exp_()
    view.copy_(pb.ones(n, n))
    assert x.data_ptr() == place == view.data_ptr() and x.sum() == n * n


def test_gradients_do_not_run_backwards_in_memory() -> None:
    x = pb.rand(40, 50, requires_grad=True)
    (slope,) = pb.autograd.grad(x.cumsum(0).square().sum(), x)
    assert slope.stride() == (50, 1) and slope.storage_offset() == 0
    assert slope.view(-1).shape == (2000,)


def test_numbers_have_no_matrices_to_transpose() -> None:
    x = pb.tensor(1.0 + 2.0j)
    with pytest.warns(UserWarning, match="0-d"):
        assert x.mT == x and x.mH == x.conj() == x.adjoint()
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        _ = pb.ones(3).mT


@pytest.mark.parametrize("n", [2, 40])
def test_a_result_is_viewed_as_its_operand_is(n: int) -> None:
    x = pb.arange(3.0 * n).reshape(n, 3)
    there = x.t().relu().t()
    assert there.view(-1).data_ptr() == there.data_ptr()
    flat = x.t().clone().t().view(-1)
    flat[0] = 7.0
    assert flat[0] == 7


@pytest.mark.parametrize("n", [2, 40])
def test_views_of_a_result_share_its_memory(n: int) -> None:
    y = pb.arange(3.0 * n).reshape(n, 3).t() * 2
    row, column, strided = y[1], y[:, 1], y.as_strided((2,), (1,), 1)
    y[1, 1] = -1.0
    assert (row[1], column[1]) == (-1, -1)
    strided[0] = -5.0
    assert y[1, 0] == -5
    assert y.stride() == (1, 3)
    shared = y.numpy()
    shared[2, 1] = 9
    assert column[2] == 9


def test_numpy_shares_memory_whose_dimensions_are_permuted() -> None:
    t = pb.empty_strided((3, 4), (1, 3)).squeeze().detach()
    t.numpy()[1, 2] = 5
    assert t[1, 2] == 5


@pytest.mark.parametrize("n", [2, 40])
def test_as_strided_counts_as_memory_does_under_transforms(n: int) -> None:
    w = pb.arange(1.0, 3.0 * n + 1)

    def f(x: Any) -> Any:
        y = x.t() * 2.0
        return (y.as_strided((3 * n,), (1,), 0) * w).sum()

    x = pb.rand(n, 3, dtype=pb.float64)
    want = 2 * w.double().reshape(n, 3)
    assert pb.allclose(grad(f)(x), want)
    assert pb.allclose(vmap(grad(f))(x[None].repeat(2, 1, 1)), want.expand(2, n, 3))
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    assert pb.allclose(leaf.grad, want)


def test_batch_norm_keeps_channels_behind_where_sizes_of_1_say_nothing() -> None:
    x = pb.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    y = pb.nn.functional.batch_norm(x, pb.zeros(2), pb.ones(2), eps=0.0)
    assert y.is_contiguous(memory_format=pb.channels_last)
    assert pb.equal(y, x)
