"""The package einops, which must be there for these tests."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb

einops = pytest.importorskip("einops")
pytest.importorskip("pullback.utils.einops")

X = pb.arange(24.0).reshape(2, 3, 4)
PATTERNS = ["a b c -> (a b) c", "a b c -> c b a", "a (b k) c -> a b k c", "a b c -> a c () b"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rearrange(pattern: str) -> None:
    sizes = {"k": 1} if "k" in pattern else {}
    out = einops.rearrange(X, pattern, **sizes)
    assert out.equal(pb.tensor(np.ascontiguousarray(einops.rearrange(X.numpy(), pattern, **sizes))))
    assert pb.func.grad(lambda v: (einops.rearrange(v, pattern, **sizes) ** 2).sum())(X).equal(2 * X)


@pytest.mark.parametrize("operation", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("pattern", ["a b c -> b", "a b c ->", "a b c -> a () c", "a b c -> a b c"])
def test_reduce(operation: str, pattern: str) -> None:
    out = einops.reduce(X, pattern, operation)
    np.testing.assert_allclose(out.numpy(), einops.reduce(X.numpy(), pattern, operation), rtol=1e-6)
    each = pb.func.vmap(lambda v: einops.reduce(v, "b c -> c", operation))(X)
    np.testing.assert_allclose(each.numpy(), einops.reduce(X.numpy(), "a b c -> a c", operation), rtol=1e-6)


def test_the_rest() -> None:
    assert einops.repeat(X, "a b c -> a b c k", k=2).shape == (2, 3, 4, 2)
    assert einops.repeat(X, "a b c -> (k a) b c", k=2).equal(pb.cat([X, X]))
    packed, shapes = einops.pack([X, X[:, 0]], "a * c")
    assert packed.shape == (2, 4, 4) and einops.unpack(packed, shapes, "a * c")[0].equal(X)
    assert einops.einsum(X, X, "a b c, a b c -> a").equal((X * X).sum((1, 2)))
    assert einops.rearrange([X, X], "k a b c -> k a b c").shape == (2, 2, 3, 4)
    assert einops.parse_shape(X, "a _ c") == {"a": 2, "c": 4} and type(einops.asnumpy(X)) is np.ndarray
    with pytest.raises(NotImplementedError, match="non-floating"):
        einops.reduce(pb.arange(4), "a ->", "mean")
