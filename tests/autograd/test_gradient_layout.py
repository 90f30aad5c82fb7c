"""How the elements of gradients lie: programs write `p.grad.view(-1)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.nn import functional as F

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda w, x: F.linear(x, w),
    "linear of a batch": lambda w, x: F.linear(x.view(4, -1, x.shape[-1]), w),
    "matmul": lambda w, x: x @ w.T,
    "einsum": lambda w, x: pb.einsum("ij,kj->ik", x, w),
    "transposed": lambda w, x: w.T * x[: w.shape[1], :1],
    "expanded": lambda w, x: w.sum(0),
    "part": lambda w, x: w[:, ::2].exp(),
    "flipped": lambda w, x: w.flip(0).T.exp(),
}


@pytest.mark.parametrize("size", [(3, 5), (64, 48)])
@pytest.mark.parametrize("name", CASES)
def test_first_gradients_are_contiguous(name: str, size: tuple[int, int]) -> None:
    x = pb.randn(64, size[1])
    w = pb.randn(*size, requires_grad=True)
    CASES[name](w, x).sum().backward()
    assert w.grad is not None
    assert w.grad.is_contiguous() and w.grad.view(-1).shape == (w.numel(),)
    [g] = pb.autograd.grad(CASES[name](w, x).sum(), w)
    assert pb.equal(g, w.grad)


@pytest.mark.parametrize("weight_last", [False, True])
@pytest.mark.parametrize("input_last", [False, True])
def test_gradients_of_convolutions_lie_as_the_weights(weight_last: bool, input_last: bool) -> None:
    formats = {False: pb.contiguous_format, True: pb.channels_last}
    x = pb.randn(4, 3, 8, 8).contiguous(memory_format=formats[input_last])
    w = pb.randn(6, 3, 3, 3).contiguous(memory_format=formats[weight_last]).requires_grad_()
    F.conv2d(x, w).relu().sum().backward()
    assert w.grad is not None and w.grad.is_contiguous(memory_format=formats[weight_last])


def test_channels_stay_last_in_gradients() -> None:
    w = pb.randn(2, 3, 4, 5).contiguous(memory_format=pb.channels_last).requires_grad_()
    (w * pb.randn(2, 3, 4, 5)).exp().sum().backward()
    assert w.grad is not None and w.grad.shape == w.shape
    assert w.grad.contiguous().view(-1).shape == (120,)


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3), (2, 2, 4, 3), (3,), (0, 3)])
def test_linear_is_the_product_with_a_transpose(shape: tuple[int, ...]) -> None:
    """Values, derivatives of both orders and batches of the primitive against products that are written out."""
    x = pb.randn(*shape, dtype=pb.float64)
    w = pb.randn(5, 3, dtype=pb.float64)
    same = lambda a, b: pb.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    for of in (lambda f: f(x, w), lambda f: pb.func.jvp(f, (x, w), (x.sin(), w.cos()))[1]):
        same(of(F.linear), of(lambda a, b: a @ b.mT))
    for argnums in (0, 1):
        total = lambda f: lambda a, b: f(a, b).sin().sum()
        first = [pb.func.grad(total(f), argnums)(x, w) for f in (F.linear, lambda a, b: a @ b.mT)]
        same(*first)
        if x.numel():
            second = [pb.func.hessian(total(f), argnums)(x, w) for f in (F.linear, lambda a, b: a @ b.mT)]
            same(*second)
    ws = pb.randn(4, 5, 3, dtype=pb.float64)
    same(pb.func.vmap(F.linear, (None, 0))(x, ws), pb.stack([x @ one.mT for one in ws]))
    assert pb.autograd.gradcheck(F.linear, (x.requires_grad_(), w.requires_grad_()))
    assert pb.autograd.gradgradcheck(F.linear, (x, w))


@pytest.mark.parametrize("bias_shape", [(5,), (1,), (), (4, 5)])
@pytest.mark.parametrize("width", [3, 40])
def test_a_bias_is_a_sum(width: int, bias_shape: tuple[int, ...]) -> None:
    """Bits, derivatives of both orders and batches over each of the three arguments, against products and sums."""
    args = x, w, b = pb.randn(4, width), pb.randn(5, width), pb.randn(bias_shape)
    plain = lambda x, w, b: F.linear(x, w) + b
    assert pb.equal(F.linear(x, w, b), plain(x, w, b))
    args = x, w, b = tuple(a.double().requires_grad_() for a in args)
    same = lambda a, b: pb.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    for some in ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)):
        tangents = tuple(a.detach().cos() if i in some else pb.zeros_like(a) for i, a in enumerate(args))
        same(*(pb.func.jvp(f, args, tangents)[1] for f in (F.linear, plain)))
        total = lambda f: lambda *args: f(*args).sin().sum()
        same(*(pb.func.hessian(total(f), some)(*args) for f in (F.linear, plain)))
        stacked = tuple(pb.stack([a, a.sin(), a.cos()], -1) if i in some else a for i, a in enumerate(args))
        in_dims = tuple(-1 if i in some else None for i in range(3))
        same(*(pb.func.vmap(f, in_dims)(*stacked) for f in (F.linear, plain)))
    assert pb.autograd.gradcheck(F.linear, args)
    assert pb.autograd.gradgradcheck(F.linear, args)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1 + 2j, 1 - 1j), (1 + 0.5j, 1.0), (1.0, 1 + 3j)], ids=["both", "alpha", "beta"]
)
def test_complex_factors_whose_real_part_is_one(alpha: complex, beta: complex) -> None:
    m, v = pb.randn(2, 2, dtype=pb.complex128), pb.randn(2, dtype=pb.complex128)
    pb.testing.assert_close(pb.addmm(m, m, m, beta=beta, alpha=alpha), beta * m + alpha * (m @ m))
    pb.testing.assert_close(pb.addmv(v, m, v, beta=beta, alpha=alpha), beta * v + alpha * (m @ v))


@pytest.mark.parametrize("make", [lambda x: x[:, ::2], lambda x: x[:, :, 1:], lambda x: x[1:, 1:]])
def test_parts_of_images_keep_channels_last(make: Callable[[Any], Any]) -> None:
    x = make(pb.randn(3, 6, 4, 5).contiguous(memory_format=pb.channels_last))
    for y in (x.double(), x + 1, x.exp(), x * x):
        assert y.is_contiguous(memory_format=pb.channels_last)
        assert y.shape == x.shape
    pb.testing.assert_close(x.exp().contiguous(), x.contiguous().exp())
