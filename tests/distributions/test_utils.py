"""What distributions are made with."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.distributions import utils


def test_broadcast_all() -> None:
    a, b = utils.broadcast_all(pb.ones(3, 1, dtype=pb.float64), 2)
    assert a.shape == b.shape == (3, 1) and b.dtype is pb.float64 and b[0, 0] == 2
    a, b, c = utils.broadcast_all(pb.ones(3, 1), pb.zeros(4), 0.5)
    assert a.shape == b.shape == c.shape == (3, 4)
    assert [t.item() for t in utils.broadcast_all(1, 2.5)] == [1.0, 2.5]
    with pytest.raises(ValueError, match="Input arguments must all be instances of Number"):
        utils.broadcast_all("a", 1)


def test_broadcast_all_of_other_types() -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return (func, args)

    d = Duck()
    func, args = utils.broadcast_all(d, 1.0)
    assert func is pb.broadcast_tensors and args[0] is d


@pytest.mark.parametrize("is_binary", [False, True])
def test_logits_and_probabilities(is_binary: bool) -> None:
    logits = pb.tensor([[-1.0, 0.5, 2.0]]).log_softmax(-1) if not is_binary else pb.tensor([-1.0, 0.0, 2.0])
    probs = utils.logits_to_probs(logits, is_binary)
    pb.testing.assert_close(utils.probs_to_logits(probs, is_binary), logits)
    assert utils.probs_to_logits(pb.tensor([0.0, 1.0]), is_binary).isfinite().all()
    slopes = pb.func.grad(lambda x: utils.probs_to_logits(utils.logits_to_probs(x, True), True).sum())(pb.zeros(2))
    pb.testing.assert_close(slopes, pb.ones(2))


def test_scales_of_precisions() -> None:
    from pullback.distributions.multivariate_normal import _precision_to_scale_tril

    a = pb.rand(2, 3, 4, 4, dtype=pb.float64)
    precision = a @ a.mT + pb.eye(4, dtype=pb.float64)
    scale = _precision_to_scale_tril(precision)
    pb.testing.assert_close(scale @ scale.mT, pb.linalg.inv(precision))
    assert pb.equal(scale, scale.tril()) and (scale.diagonal(dim1=-2, dim2=-1) > 0).all()
    pb.testing.assert_close(pb.vmap(pb.vmap(_precision_to_scale_tril))(precision), scale)
    one = pb.eye(4, dtype=pb.float64)
    leaf = a[0, 0].clone().requires_grad_()
    assert pb.autograd.gradcheck(lambda a: _precision_to_scale_tril(a @ a.mT + one), (leaf,))
    with pytest.raises(pb.linalg.LinAlgError):
        _precision_to_scale_tril(-precision)


def test_lazy_properties_are_computed_once_and_with_gradients() -> None:
    class Scaled:
        def __init__(self, x: Any) -> None:
            self.x, self.calls = x, 0

        @utils.lazy_property
        def twice(self) -> Any:
            """Two times x."""
            self.calls += 1
            return 2 * self.x

    scaled = Scaled(pb.ones(2, requires_grad=True))
    with pb.no_grad():
        first = scaled.twice
    assert first is scaled.twice and scaled.calls == 1 and first.requires_grad
    assert isinstance(Scaled.twice, property)


@pytest.mark.parametrize("diag", [-2, -1, 0, 1, 2])
def test_triangles_as_vectors(diag: int) -> None:
    x = pb.rand(2, 3, 3)
    vector = utils.tril_matrix_to_vec(x, diag)
    pb.testing.assert_close(utils.vec_to_tril_matrix(vector, diag), x.tril(diag))
    pb.testing.assert_close(pb.vmap(lambda x: utils.tril_matrix_to_vec(x, diag))(x), vector)
    pb.testing.assert_close(pb.vmap(lambda v: utils.vec_to_tril_matrix(v, diag))(vector), x.tril(diag))


def test_triangles_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"diag \(3\) provided is outside \[-3, 2\]"):
        utils.tril_matrix_to_vec(pb.ones(3, 3), 3)
    with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
        utils.vec_to_tril_matrix(pb.ones(4))
