"""Places where everyday operators have a choice: ties, NaN, nothing at all, shapes that depend on data, and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jacrev, vmap

NAN, INF = float("nan"), float("inf")
T = pb.tensor


def gradient_of(f: Callable[[Any], Any], *values: float) -> list[float]:
    return grad(f)(T(list(values), dtype=pb.float64)).tolist()


def test_ties_of_medians() -> None:
    assert gradient_of(pb.median, 2.0, 1.0, 2.0, 3.0) == [0.5, 0.0, 0.5, 0.0]
    assert gradient_of(lambda x: x.median(0).values, 2.0, 1.0, 2.0, 3.0) == [1.0, 0.0, 0.0, 0.0]
    assert gradient_of(pb.nanmedian, NAN, 1.0, 1.0) == [0.0, 0.5, 0.5]
    assert gradient_of(pb.median, NAN, 1.0, NAN) == [0.5, 0.0, 0.5]


def test_ties_of_extremes() -> None:
    assert gradient_of(lambda x: pb.aminmax(x).max, 2.0, 1.0, 2.0) == [0.5, 0.0, 0.5]
    i = T([0, 0, 1])
    f = lambda x: pb.scatter_reduce(x[:2], 0, i, x[2:], "amax").sum()
    assert gradient_of(f, 4.0, 1.0, 4.0, 4.0, 1.0) == pytest.approx([1 / 3, 0.5, 1 / 3, 1 / 3, 0.5])
    f = lambda x: pb.scatter_reduce(x[:2], 0, i, x[2:], "amin", include_self=False).sum()
    assert gradient_of(f, 4.0, 1.0, 4.0, 4.0, 1.0) == [0.0, 0.0, 0.5, 0.5, 1.0]


def test_medians_and_modes_of_nan() -> None:
    x = T([[1.0, NAN, 3.0], [2.0, 2.0, 5.0]])
    assert math.isnan(x.median(1).values[0].item()) and x.median(1).indices.tolist() == [1, 1]
    assert x.nanmedian(1).values.tolist() == [1.0, 2.0]
    assert pb.mode(T([NAN, NAN, 1.0])).values.item() == 1.0
    assert pb.mode(T([2, 1, 2, 1])).indices.item() == 3
    assert math.isnan(pb.median(pb.empty(0)).item())
    assert pb.median(pb.empty(0, dtype=pb.int64)).item() == -(2**63)


@pytest.mark.parametrize("dtype", [pb.float16, pb.bfloat16, pb.float32, pb.float64, pb.int8, pb.uint8, pb.int64])
def test_orders_of_all_dtypes(dtype: Any) -> None:
    x = T([[3, 1, 2, 1], [0, 5, 5, 4]], dtype=dtype)
    assert x.median(1).values.tolist() == [1, 4] and x.mode(1).values.tolist() == [1, 5]
    assert x.unique().tolist() == [0, 1, 2, 3, 4, 5] and x.msort()[0].tolist() == [0, 1, 2, 1]
    assert pb.isin(x, T([1, 5], dtype=dtype)).sum().item() == 4
    assert pb.searchsorted(x.sort().values, x).tolist() == [[3, 0, 2, 0], [0, 2, 2, 1]]
    assert x.cumprod(1)[0].tolist() == [3, 3, 6, 6] and x.unique().dtype == dtype


def test_quantiles_between_elements() -> None:
    x = T([0.0, 1.0, 2.0, 10.0])
    got = {how: pb.quantile(x, 0.5, interpolation=how).item() for how in "linear lower higher midpoint nearest".split()}
    assert got == {"linear": 1.5, "lower": 1.0, "higher": 2.0, "midpoint": 1.5, "nearest": 2.0}
    q = T([0.0, 0.5, 1.0])
    assert pb.quantile(T([[1.0, NAN], [1.0, 3.0]]), q, 1).tolist()[2][1] == 3.0
    assert math.isnan(pb.quantile(T([1.0, NAN]), 0.0).item()) and pb.nanquantile(T([1.0, NAN]), q).tolist() == [1.0] * 3
    assert pb.quantile(T([[1.0, 2.0]]), q, keepdim=True).shape == (3, 1, 1)
    assert jacrev(lambda q: pb.quantile(x, q))(T(0.4)).item() == pytest.approx(3.0)


def test_distinct_elements() -> None:
    nan = T([NAN, 1.0, NAN])
    assert pb.unique(nan).numel() == 3 and pb.unique_consecutive(T([NAN, NAN])).numel() == 2
    assert pb.unique(T([0.0, -0.0])).tolist() == [0.0]
    values, inverse, counts = pb.unique(T([[1, 2], [0, 5], [1, 2]]), return_inverse=True, return_counts=True, dim=0)
    assert values.tolist() == [[0, 5], [1, 2]] and inverse.tolist() == [1, 0, 1] and counts.tolist() == [1, 2]
    assert pb.unique(T(3), return_inverse=True)[1].shape == ()
    # The first of equal elements gets the derivative.
    assert gradient_of(lambda x: (x.unique() * T([1.0, 10.0])).sum(), 2.0, 1.0, 2.0) == [10.0, 1.0, 0.0]


def test_large_distinct_rows() -> None:
    x = pb.arange(200_000) % 1000
    assert x.unique().equal(pb.arange(1000))
    rows = pb.stack([x, -x], 1)
    values, counts = pb.unique(rows, dim=0, return_counts=True)
    assert values[:, 0].equal(pb.arange(1000)) and counts.eq(200).all().item()


def test_running_products_with_zeros() -> None:
    x = T([2.0, 0.0, 3.0, 0.0, 5.0], dtype=pb.float64)
    want = pb.stack([jacrev(lambda v, k=k: v[: k + 1].prod())(x) for k in range(5)])
    pb.testing.assert_close(jacrev(lambda v: v.cumprod(0))(x), want)
    assert gradient_of(lambda x: x.logcumsumexp(0).sum(), -INF, -INF, 0.0) == [0.0, 0.0, 1.0]


def test_means_of_integers_round_down() -> None:
    i = T([0, 0])
    assert pb.scatter_reduce(T([1, 2]), 0, i, T([-4, -6]), "mean").tolist() == [-3, 2]
    assert pb.scatter_reduce(T([1, 2]), 0, i, T([4, 5]), "mean", include_self=False).tolist() == [4, 2]


def test_bins() -> None:
    assert pb.histc(T([1.0, NAN, INF, 2.0]), 2, 0, 2).tolist() == [0.0, 2.0]
    assert pb.histc(T([2.0, 2.0]), 2).tolist() == [0.0, 2.0]
    assert pb.histogram(T([2.0, 2.0]), 2).bin_edges.tolist() == [1.5, 2.0, 2.5]
    w = T([1.0, 2.0, 3.0], dtype=pb.float64)
    assert jacrev(lambda w: pb.bincount(T([1, 0, 1]), w))(w).tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]


def test_batches_where_shapes_depend_on_data() -> None:
    x = pb.ones(2, 3, dtype=pb.int64)
    for f, remedy in (
        (pb.unique, r"use sort\(\)"),
        (pb.unique_consecutive, r"use sort\(\)"),
        (pb.bincount, r"scatter_add\(\)"),
        (pb.argwhere, r"where\("),
    ):
        with pytest.raises(RuntimeError, match=f"depends on the data.*{remedy}"):
            vmap(f)(x)
    for f in (pb.unique, pb.bincount, pb.argwhere):
        with pytest.raises(NotImplementedError, match="depends on the data"):
            f(pb.ones(3, dtype=pb.int64, device="meta"))
    assert vmap(lambda v: pb.nonzero_static(v, size=2))(T([[0, 1, 1], [0, 0, 1]])).tolist() == [[[1], [2]], [[2], [-1]]]


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: pb.median(pb.empty(0, 2), 0), IndexError, r"median\(\): Expected reduction dim 0 to have non-zero size"),
    (lambda: pb.mode(pb.empty(0)), IndexError, r"mode\(\): Expected reduction dim 0"),
    (lambda: pb.median(T([True])), NotImplementedError, "not implemented for bool"),
    (lambda: pb.median(T([1.0]), keepdim=True), TypeError, "'keepdim' needs 'dim'"),
    (lambda: pb.quantile(T([1, 2]), 0.5), RuntimeError, "input tensor must be either float or double dtype"),
    (lambda: pb.quantile(T([1.0]), 1.5), RuntimeError, r"q must be in the range \[0, 1\] but got 1\.5"),
    (lambda: pb.quantile(T([1.0]), T([0.5, 2.0])), RuntimeError, r"q values must be in the range \[0, 1\]"),
    (lambda: pb.quantile(pb.empty(0), 0.5), RuntimeError, "input tensor must be non-empty"),
    (lambda: pb.searchsorted(T([1j]), T([1.0])), NotImplementedError, "no order"),
    (lambda: pb.searchsorted(T([1]), 1, side="left", right=True), RuntimeError, "can't be set to opposites"),
    (lambda: pb.searchsorted(T([[1]]), 1), RuntimeError, "only when boundaries tensor dimension is 1"),
    (lambda: pb.bucketize(T([1]), T([[1]])), RuntimeError, "boundaries tensor must be 1 dimension"),
    (lambda: pb.isin(T([True]), T([True])), RuntimeError, "Unsupported input type"),
    (lambda: pb.isin(1, 2), TypeError, "one must be a Tensor"),
    (lambda: pb.bincount(T([-1])), RuntimeError, "1-d non-negative integral inputs"),
    (lambda: pb.bincount(T([1.0])), NotImplementedError, "not implemented for float32"),
    (lambda: pb.histc(T([1.0]), 2, 3, 1), RuntimeError, "max must be larger than min"),
    (lambda: pb.histc(T([1.0, INF])), RuntimeError, "is not finite"),
    (lambda: pb.cov(T([1.0, 2.0]), fweights=T([1, -2])), RuntimeError, "fweights cannot be negative"),
    (lambda: pb.cov(T([1.0, 2.0]), fweights=T([0, 0])), RuntimeError, "sum to zero"),
    (lambda: pb.cov(T([1.0, 2.0]), aweights=T([1, 2])), RuntimeError, "expected aweights to have floating point dtype"),
    (lambda: pb.scatter_reduce(T([1.0]), 0, T([0]), T([1.0]), "max"), RuntimeError, "'max' is not a valid value"),
    (lambda: pb.scatter_reduce(T([1.0]), 0, T([3]), T([1.0]), "amax"), RuntimeError, "out of bounds"),
    (lambda: pb.index_reduce(T([1.0]), 0, T([3]), T([1.0]), "prod"), IndexError, "out of bounds"),
    (lambda: pb.take(T([1, 2]), T([2])), IndexError, "out of range"),
    (lambda: pb.take(pb.empty(0), T([0])), IndexError, "tried to take from an empty tensor"),
    (lambda: pb.put(T([1, 2]), T([0]), T([1, 2])), IndexError, "same number of elements"),
    (lambda: pb.unravel_index(T([1.0]), (2,)), TypeError, "expected 'indices' to be integer dtype"),
    (lambda: pb.unravel_index(T([1]), (-2,)), ValueError, "cannot have negative values"),
    (lambda: pb.renorm(T([1.0]), 2, 0, 1), RuntimeError, "needs at least 2 dimensions"),
    (lambda: pb.renorm(T([[1.0]]), 0, 0, 1), RuntimeError, "non-positive-norm"),
    (lambda: pb.diff(T(1)), RuntimeError, "at least one-dimensional"),
    (lambda: pb.trapezoid(T([1.0, 2.0]), T([1.0, 2.0, 3.0])), RuntimeError, "one `x` value for each sample point"),
    (lambda: pb.trapezoid(T([1.0]), T([1.0]), dx=2), TypeError, "exclude each other"),
    (lambda: pb.gradient(T([1.0])), RuntimeError, r"at least edge_order\+1"),
    (lambda: pb.gradient(T([1.0, 2.0]), edge_order=3), RuntimeError, "only supports edge_order=1"),
    (lambda: pb.gradient(pb.ones(2, 2), spacing=[1.0]), RuntimeError, "a list of length 2"),
    (lambda: T([1, 2]).sum_to_size(3), RuntimeError, "not expandable"),
    (lambda: pb.is_nonzero(T([1, 2])), RuntimeError, "ambiguous"),
    (lambda: pb.nanmean(T([1])), RuntimeError, "expected input to have floating point or complex dtype"),
    (lambda: pb.aminmax(pb.empty(0)), RuntimeError, "no identity"),
    (lambda: pb.logcumsumexp(T([1]), 0), NotImplementedError, "not implemented for int64"),
]


@pytest.mark.parametrize("at", range(len(ERRORS)))
def test_errors(at: int) -> None:
    call, kind, text = ERRORS[at]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert "<operator>" not in str(caught.value)


def test_huge_requests_end_in_errors() -> None:
    for call in (
        lambda: pb.nonzero_static(T([1]), size=2**60),
        lambda: pb.nonzero_static(T([1]), size=2**45),
        lambda: pb.bincount(T([2**62])),
        lambda: pb.histc(T([1.0]), 2**60),
        lambda: pb.histogram(T([1.0]), 2**60),
    ):
        with pytest.raises((RuntimeError, ValueError, OverflowError)):
            call()


def test_a_list_without_dimensions_reduces_none() -> None:
    x = pb.tensor([[True, False], [True, True]])
    assert pb.equal(x.all(()), x) and pb.equal(pb.any(x, dim=()), x)
    assert x.all() == T(False) and x.all(None) == T(False) and x.any((0, 1)) == T(True)


def test_keywords_of_members() -> None:
    assert pb.isin(T([1, 2]), test_element=2).tolist() == [False, True]
    assert pb.isin(element=2, test_elements=T([1, 2])).item() is True


def test_a_flag_is_a_bool() -> None:
    """`x.sum(0, 1)` names no second dimension."""
    with pytest.raises(TypeError, match=r"argument 'keepdim' \(position 3\) must be bool, not int"):
        pb.sum(pb.ones(2, 2), 0, 1)  # type: ignore[arg-type]
    assert pb.ones(2, 2).sum(0, True).shape == (1, 2)


def test_indices_out_of_range_of_selections() -> None:
    x = pb.ones(2, 3)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 1 with size 3"):
        x.gather(1, T([[3], [0]]))
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 1 with size 3"):
        x.index_select(1, T([3]))


def test_logsumexp_of_complex_numbers() -> None:
    z = T([[1 + 2j, 3 - 1j], [-1j, 2 + 0j]], dtype=pb.complex128)
    assert pb.allclose(z.logsumexp(0).exp(), z.exp().sum(0))
    assert pb.allclose((z + 1000).logsumexp((0, 1)) - 1000, z.logsumexp((0, 1)))
    assert z.logsumexp(1, keepdim=True).shape == (2, 1)
    leaf = z.clone().requires_grad_()
    leaf.logsumexp(1).real.sum().backward()
    assert leaf.grad is not None
    assert pb.allclose(leaf.grad.conj(), z.exp() / z.exp().sum(1, True))


def test_circular_padding_that_crops() -> None:
    """What is left goes round."""
    x = pb.arange(5.0)[None]
    assert pb.nn.functional.pad(x, (-1, 2), "circular").tolist() == [[1.0, 2.0, 3.0, 4.0, 1.0, 2.0]]
    assert pb.nn.functional.pad(x, (2, -1), "circular").tolist() == [[2.0, 3.0, 0.0, 1.0, 2.0, 3.0]]
    assert pb.nn.functional.pad(x, (2, 1), "circular").tolist() == [[3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0]]


def test_reflections_of_wide_factors() -> None:
    a = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]], dtype=pb.float64)
    r, tau = pb.geqrf(a)
    assert pb.allclose(pb.ormqr(r, tau, r.triu()), a)


def test_a_margin_loss_for_each_target() -> None:
    x = T([0.5, 1.0, 0.25])
    each = pb.nn.functional.multi_margin_loss(x, T([1]), reduction="none")
    assert each.shape == (1,) and pb.nn.functional.multi_margin_loss(x, T(1), reduction="none").shape == ()


def test_forms_that_programs_use() -> None:
    x = T([[1.0, 2.0], [3.0, 4.0]])
    assert T([1, 2]).broadcast_to(3, 2).shape == pb.broadcast_to(T([1, 2]), (3, 2)).shape == (3, 2)
    y = T([1.0, 1.0])
    assert pb.addmv_(y, x, y.clone(), beta=2) is y and y.tolist() == [5.0, 9.0]
    z = T([1 + 2j])
    assert pb.conj_physical_(z) is z and z.tolist() == [1 - 2j]
    assert pb.nn.functional.normalize(x, out=pb.empty(0)).shape == (2, 2)


def test_sign_of_zeros() -> None:
    assert str(pb.sign(T([-0.0, 0.0, -2.0]))) == str(T([0.0, 0.0, -1.0]))


@pytest.mark.parametrize("convert", [int, float, complex])
def test_several_elements_are_no_number(convert: Callable[[Any], Any]) -> None:
    for x in (T([1, 2]), pb.ones(0)):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            convert(x)
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            x.item()


def test_inverting_floats() -> None:
    with pytest.raises(TypeError, match="only implemented on integer and Boolean-type tensors"):
        ~T([1.0])  # type: ignore[operator]


def test_tensors_of_one_element_in_sequences_are_numbers() -> None:
    one, two = T([1.0]), T([[2.0]])
    assert T([one, two]).tolist() == [1.0, 2.0]
    assert T([[one], [3]]).tolist() == [[1.0], [3.0]]
    assert grad(lambda x: T([x * 2, x * 3]).sum())(T([4.0])).tolist() == [5.0]


def test_dtypes_of_parts() -> None:
    assert [d.to_real() for d in (pb.int64, pb.bool, pb.float16, pb.complex128)] == [
        pb.int64,
        pb.bool,
        pb.float16,
        pb.float64,
    ]
    assert pb.ones(1).type("torch.DoubleTensor").dtype == pb.ones(1).type("pullback.DoubleTensor").dtype == pb.float64


def test_old_forms_take_tensors_without_dimensions_as_factors() -> None:
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 5.0])
    half = pb.tensor(0.5)
    assert x.add(half, y).tolist() == [2.5, 4.5] == pb.add(x, half, y).tolist()
    assert x.sub(half, y).tolist() == [-0.5, -0.5]
    assert x.clone().add_(-half, y).tolist() == [-0.5, -0.5]
    assert x.addcmul(half, y, y).tolist() == [5.5, 14.5]
    assert pb.add(half, half).item() == 1.0 and half.add(2, half).item() == 1.5
    with pytest.raises(TypeError):
        x.add(y, y)


def test_no_dimensions_are_all() -> None:
    x = pb.arange(6.0).reshape(2, 3)
    assert pb.amax(x, None) == 5 and x.amin(dim=None) == 0 and x.amax(None, True).shape == (1, 1)
    assert x.roll(1, None).equal(pb.roll(x, 1)) and pb.roll(x, shifts=-2, dims=None).tolist() == [[2, 3, 4], [5, 0, 1]]
    for f in (pb.amax, pb.amin):
        with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
            f(pb.ones(0), None)


def test_integrals_of_bytes_add_up() -> None:
    # The differences and products wrap, as those of bytes do; their sum does not.
    y, x = pb.tensor([[5, 1, 6], [5, 6, 4]], dtype=pb.uint8), pb.tensor([[2, 5, 5], [9, 3, 1]], dtype=pb.uint8)
    assert pb.trapezoid(y, x).tolist() == [9.0, 213.0]
    assert pb.cumulative_trapezoid(y, x).tolist() == [[9.0, 9.0], [95.0, 213.0]]


def test_cuts_that_members_have_of_their_own() -> None:
    for cuts in (pb.tensor([1, 2]), pb.tensor([[1, 3], [2, 4]])):
        with pytest.raises(RuntimeError, match="you're calling .item"):
            vmap(lambda c: pb.tensor_split(pb.arange(5), c)[0])(cuts)
    with pytest.raises(RuntimeError, match="are not known here"):
        pb.func.trace(lambda c: pb.tensor_split(pb.arange(5), c)[0])(pb.tensor(2))
    assert [p.tolist() for p in pb.arange(3).tensor_split(pb.tensor([1]))] == [[0], [1, 2]]


def test_sums_of_integers_in_einsum_are_wide() -> None:
    assert pb.einsum("ij->i", pb.full((3, 3), 100, dtype=pb.int8)).tolist() == [300] * 3
    total = pb.einsum("ij,jk->", pb.ones(3, 3, dtype=pb.bool), pb.ones(3, 3, dtype=pb.bool))
    assert total.dtype is pb.int64 and total == 27
    assert pb.einsum("ij->ji", pb.ones(2, 3, dtype=pb.bool)).dtype is pb.bool
    assert pb.tensor(3, dtype=pb.int8).sum_to_size(()).dtype is pb.int64


def test_distances_of_batches_by_product() -> None:
    a, b = pb.arange(900.0).reshape(30, 30).sin(), pb.arange(1800.0).reshape(2, 30, 30).cos()
    want = pb.stack([pb.cdist(a, m, compute_mode="donot_use_mm_for_euclid_dist") for m in b])
    pb.testing.assert_close(pb.cdist(a, b), want, rtol=1e-4, atol=1e-4)


def test_bounds_promote_together() -> None:
    assert pb.clamp(T(3), pb.ones(4), pb.ones(4, dtype=pb.float16)).dtype is pb.float32
    assert pb.logspace(T(2), T(1.2), 2, dtype=pb.int32).tolist() == [100, 10]


def test_writes_to_results_reach_what_they_show() -> None:
    x = pb.ones(4, 4)
    pb.linalg.diagonal(x).mul_(3)
    assert x.sum() == 24
    y = pb.ones(8, 4)
    y[:, ::4].ravel().mul_(3)
    assert y.sum() == 32 and y.ravel()._base is y
    z = pb.ones(1, 4, 2, 2)
    pb.nn.functional.pixel_shuffle(z, 1).mul_(3)
    assert z.sum() == 16
