"""Every entry of the operator table: derivatives, batches, layouts and forms, on samples of its calls.

An entry without samples fails here; so does one without derivative that is not listed.
"""

from __future__ import annotations

import pytest

from support import properties, samples

TABLE = samples.table()
NAMES = sorted(TABLE)

# No result of floats depends on the values of an argument of floats: predicates, integers, new tensors, random numbers.
CONSTANT = set(
    """all any argmax argmin argsort argwhere bucketize count_nonzero histc isin nonzero_static searchsorted
    unravel_index bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor eq ge gt isclose isfinite isinf isnan isreal le logical_and logical_not logical_or logical_xor lt ne
    nonzero result_type signbit detach nn.functional.one_hot arange empty empty_like eye full full_like ones ones_like
    scalar_tensor zeros zeros_like Tensor.new_empty Tensor.new_full Tensor.new_ones Tensor.new_zeros bernoulli
    multinomial normal rand rand_like randint randint_like randn randn_like randperm gcd lcm heaviside isposinf isneginf
    poisson binomial _rrelu_slopes tril_indices triu_indices range hann_window hamming_window bartlett_window
    blackman_window kaiser_window empty_strided empty_permuted Tensor.new_empty_strided linalg.matrix_rank""".split()
)
# Numbers by laws whose parameters are tensors.
DRAWN = {"bernoulli", "binomial", "normal", "poisson"}
# Their derivatives are not those of their values, or there are none: tests/distributions has them.
MOVED = {"_standard_gamma", "_standard_gamma_grad", "_dirichlet_grad", "special.gammainc"}
# Their samples are integers: the derivatives of conversions between floats are among the reference vectors.
CONVERSIONS = {f"Tensor.{d}" for d in "bool byte char short int long half bfloat16 float cfloat cdouble".split()}
# Memory that nobody has written.
UNWRITTEN = {"empty", "empty_like", "empty_permuted", "empty_strided", "Tensor.new_empty", "Tensor.new_empty_strided"}
SMOOTH = [name for name in NAMES if name not in CONSTANT | CONVERSIONS | MOVED]
VALUED = [name for name in NAMES if name not in UNWRITTEN | {"result_type"}]


def test_every_entry_has_samples() -> None:
    known = set(samples.load())
    assert not set(TABLE) - known, "entries without samples: add them to tests/support/samples_*.py"
    assert not known - set(TABLE), "samples of entries that do not exist"
    assert not (CONSTANT | CONVERSIONS) - set(TABLE)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    cases = properties.differentiable(name)
    assert cases, "no sample has a derivative: add one, or list the entry in CONSTANT"
    for call in cases:
        properties.check_gradients(call)


@pytest.mark.parametrize("name", SMOOTH)
def test_second_order(name: str) -> None:
    for call in properties.differentiable(name):
        properties.check_second_order(call)
        properties.check_jvp_of_vjp(call)


@pytest.mark.parametrize("name", SMOOTH)
def test_forward_is_transpose_of_reverse(name: str) -> None:
    for call in properties.differentiable(name):
        properties.check_transpose(call)


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_drawn_numbers_have_zero_gradients(name: str) -> None:
    for call in properties.calls(name):
        properties.check_zero_gradients(call)


@pytest.mark.parametrize("name", sorted(CONSTANT - UNWRITTEN - DRAWN - {"result_type"}))
def test_constants_have_no_gradient(name: str) -> None:
    for call in properties.calls(name):
        properties.check_constant(call)


@pytest.mark.parametrize("name", VALUED)
def test_vmap_equals_loop(name: str) -> None:
    for group in properties.members(name):
        properties.check_vmap(group)


@pytest.mark.parametrize("name", SMOOTH)
def test_vmap_of_derivatives_equals_loop(name: str) -> None:
    for group in properties.members(name):
        properties.check_vmap_of_derivatives(group)


@pytest.mark.parametrize("name", VALUED)
def test_layouts_do_not_matter(name: str) -> None:
    for call in properties.calls(name):
        properties.check_layouts(call, samples.table()[name]["flags"]["random"])


@pytest.mark.parametrize("name", VALUED)
def test_forms_agree(name: str) -> None:
    for call in properties.calls(name):
        properties.check_forms(name, call)


@pytest.mark.parametrize("name", VALUED)
def test_traced_equals_eager(name: str) -> None:
    for call in properties.calls(name):
        properties.check_trace(call)


@pytest.mark.parametrize("name", SMOOTH)
def test_linearize_equals_jvp(name: str) -> None:
    for call in properties.differentiable(name):
        properties.check_linearized(call)
