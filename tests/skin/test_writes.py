"""Programs that write in place mean the same under every transform, and compositions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@program
def views(x: Any) -> Any:
    z = x.clone()
    v = z[1:]
    v.mul_(v)
    z.t()[0].add_(x[:, 1])
    return z * 1 + v.sum()


@program
def views_of_views(x: Any) -> Any:
    z = x * 1
    row, turned = z[0], z.t()
    part = turned[1:]
    part.mul_(2)
    row.sin_()
    turned.diagonal().exp_()
    return part.sum() * z


@program
def masks(x: Any) -> Any:
    z = x.clone()
    z[z > 0.5] = 0.25
    z[pb.tensor([[True, False, True], [False, True, False], [True, True, False]])] = x.flatten()[:5] ** 2
    z.masked_scatter_(pb.tensor([True, False, True]), x.t().exp())
    return z * x


@program
def rows_of_a_buffer(x: Any) -> Any:
    z = pb.zeros(3, 3, dtype=x.dtype)
    for i in range(3):
        z[i] = x[i] * i
        z[:, i] += x[i]
    return z


@program
def indices(x: Any) -> Any:
    z = x.clone()
    i = pb.tensor([[0, 2, 1]])
    z.index_put_((pb.tensor([0, 2]),), x[1])
    z.index_put_((pb.tensor([0, 0]), pb.tensor([1, 1])), x[0, :2], accumulate=True)
    z.scatter_(0, i, x[:1] ** 2)
    z.scatter_add_(1, i, x[:1])
    z.index_add_(0, pb.tensor([1, 1]), x[:2])
    z.index_copy_(1, pb.tensor([1]), x[:, :1].cos())
    z.index_fill_(1, pb.tensor([2]), 4.0)
    return z.masked_fill_(z > 10, 1.0)


@program
def fills(x: Any) -> Any:
    z = x.clone()
    z[0].fill_(2.0)
    z[1].copy_(x[2])
    z[:, 2].zero_()
    z.fill_diagonal_(3.0)
    z[2, 0] = x[0, 0]
    return z * x


@program
def members(x: Any) -> Any:
    z = x.clone()
    a, b, c = (z[i] for i in range(3))
    a.mul_(b)
    b.add_(c)
    c.copy_(a)
    return z


@program
def every_view(x: Any) -> Any:
    z = x.clone()
    z.unfold(0, 1, 1).mul_(2)
    z.as_strided((2,), (4,), 1).mul_(x[0, 0])
    z.unflatten(0, (3, 1)).neg_()
    z.movedim(0, 1)[0].cos_()
    z.narrow(0, 1, 2).squeeze().sin_()
    z.unsqueeze(0).expand(1, 3, 3).mul_(x)
    z.view(9)[3:6].reshape(3, 1).select(1, 0).add_(x[0])
    return z


@program
def out_arguments(x: Any) -> Any:
    z = pb.zeros(3, 3, dtype=x.dtype)
    pb.add(z[1:], 1, out=z[1:])
    with pb.no_grad():
        pb.mul(z[:2], 3, out=z[1:])
    return (z * x).exp()


def slope(f: Callable[[Any], Any], x: Any, t: Any) -> Any:
    return (f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6


def near(a: Any, b: Any) -> None:
    same(a, b, rtol=1e-5, atol=1e-5)


@pytest.fixture(params=list(PROGRAMS))
def f(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return PROGRAMS[request.param]


X = pb.rand(2, 3, 3, dtype=pb.float64, generator=pb.Generator().manual_seed(7)) * 2 - 0.5
T = pb.rand(3, 3, dtype=pb.float64, generator=pb.Generator().manual_seed(8))


def scalar(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: (f(x) * T).sum()


def test_derivatives(f: Callable[[Any], Any]) -> None:
    x = X[0].clone()
    want = slope(f, x, T)
    value, tangent = jvp(f, (x,), (T,))
    same(value, f(x))
    near(tangent, want)
    g = grad(scalar(f))(x)
    near((g * T).sum(), (want * T).sum())
    leaf = x.clone().requires_grad_()
    scalar(f)(leaf).backward()
    same(leaf.grad, g)
    same(jacrev(f)(x), jacfwd(f)(x))
    same(x, X[0])


def test_batches(f: Callable[[Any], Any]) -> None:
    want = pb.stack([f(x) for x in X])
    same(vmap(f)(X), want)
    same(vmap(f, in_dims=2, out_dims=1)(X.movedim(0, 2)), want.movedim(0, 1))


def test_compositions(f: Callable[[Any], Any]) -> None:
    g = grad(scalar(f))
    gradients = pb.stack([g(x) for x in X])
    same(vmap(g)(X), gradients)
    same(grad(lambda xs: (vmap(f)(xs) * T).sum())(X), gradients)
    tangents = pb.stack([jvp(f, (x,), (T,))[1] for x in X])
    same(vmap(lambda x: jvp(f, (x,), (T,))[1])(X), tangents)
    same(jvp(vmap(f), (X,), (pb.stack([T, T]),))[1], tangents)


def test_second_derivatives(f: Callable[[Any], Any]) -> None:
    g = grad(scalar(f))
    curvature = jvp(g, (X[0],), (T,))[1]
    near(curvature, slope(g, X[0], T))
    same(grad(lambda x: (g(x) * T).sum())(X[0]), curvature)


def test_masked_rows_of_a_member_raise_under_vmap() -> None:
    def f(x: Any) -> Any:
        z = x.clone()
        z[x > 0] *= 3
        return z

    with pytest.raises(
        RuntimeError, match=r"vmap: We do not support .* aten::nonzero.*test_writes\.py.* use pullback.where"
    ):
        vmap(f)(X)


# ---------------------------------------------------------------- cost
def test_rows_are_written_where_they_are() -> None:
    z = pb.zeros(100, 32)
    address = z.data_ptr()
    for i in range(100):
        z[i] = float(i)
        z[i].mul_(2)
        z[i, 1:].copy_(z[i, :-1])
    assert z.data_ptr() == address
    same(z[:, 0], 2 * pb.arange(100.0))


def test_rows_are_written_where_they_are_under_grad() -> None:
    addresses = []

    def f(x: Any) -> Any:
        z = pb.zeros(100, 32)
        for i in range(100):
            z[i] = x * i
            if i in (1, 99):
                addresses.append(z.data_ptr())
        return z.sum()

    same(grad(f)(pb.ones(32)), pb.full((32,), 4950.0))
    assert addresses[0] == addresses[1]


def test_errors_of_leaves_name_the_form_in_place() -> None:
    leaf = pb.ones(2, requires_grad=True)
    for call in (lambda: leaf.add_(1), lambda: leaf[0].add_(1)):
        with pytest.raises(RuntimeError, match=r"^add_\(\): a .*leaf Variable that requires grad.*test_writes"):
            call()


def test_reversed() -> None:
    x = pb.arange(3, requires_grad=False)
    assert [int(v) for v in reversed(x)] == [2, 1, 0]  # type: ignore[call-overload]
    assert reversed(pb.tensor(1)).item() == 1  # type: ignore[call-overload]
