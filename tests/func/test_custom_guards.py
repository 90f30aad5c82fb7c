"""Rules that capture tensors or draw random numbers: of `custom_vjp`, `custom_jvp` and custom operators."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.func import custom_jvp, custom_vjp, grad, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, 3.0])
TWO = pb.tensor(2.0)


def by_fwd(w: Any) -> Any:
    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, w * x), lambda residual, g: (g * residual,))
    return f


def by_bwd(w: Any) -> Any:
    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda residual, g: (g * w,))
    return f


def by_function(w: Any) -> Any:
    f = custom_jvp(lambda x: x * w)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 2))
    return f


def by_rule(w: Any) -> Any:
    f = custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * w))
    return f


@pytest.mark.parametrize(("make", "rule"), [(by_fwd, "the fwd of defvjp"), (by_function, "the function itself")])
def test_captured_in_what_is_not_recorded(make: Any, rule: str) -> None:
    message = rf"<lambda>: {rule}.*: mul\(\) uses a captured tensor .* pass it to <lambda>\(\) as an argument.*"
    for w in (TWO.clone().requires_grad_(), pb.tensor(3.0, requires_grad=True) * 2):
        with pytest.raises(RuntimeError, match=message + r"test_custom_guards\.py:\d+"):
            make(w)(X.clone().requires_grad_())
        with pb.no_grad():
            make(w)(X)
    with pytest.raises(RuntimeError, match=message + r"test_custom_guards\.py:\d+"):
        grad(lambda w: grad(lambda x: make(w)(x).sum())(X).sum())(TWO)


@pytest.mark.parametrize("make", [by_bwd, by_rule])
def test_captured_in_what_is_recorded(make: Any) -> None:
    """The derivative of what the rules give is the true one."""
    gradient: Any = lambda w: grad(lambda x: make(w)(x).sum())(X)
    tangent: Any = lambda w: jvp(make(w), (X,), (X,))[1]
    assert grad(lambda w: gradient(w).sum())(TWO) == 3 and grad(lambda w: tangent(w).sum())(TWO) == 6
    same(jvp(gradient, (TWO,), (TWO,)), (pb.full((3,), 2.0),) * 2)
    same(vmap(gradient)(pb.tensor([1.0, 2.0])), pb.tensor([[1.0] * 3, [2.0] * 3]))
    assert grad(lambda w: make(w)(X).sum())(TWO) == 0


def test_captured_dual_numbers_and_batches() -> None:
    gradient: Any = lambda w: grad(lambda x: by_fwd(w)(x).sum())(X)
    same(jvp(gradient, (TWO,), (TWO,)), (2 * X, 2 * X))
    same(vmap(gradient)(pb.tensor([1.0, 2.0])), pb.stack([X, 2 * X]))
    with pytest.raises(RuntimeError, match="the fwd of defvjp.*captured tensor that is batched by vmap"):
        grad(lambda x: vmap(lambda w: by_fwd(w)(x))(pb.tensor([1.0, 2.0])).sum())(X)


def test_captured_in_kernels() -> None:
    def operator(name: str, w: Any) -> Any:
        @pb.library.custom_op(f"guards::{name}", mutates_args=())
        def scaled(x: pb.Tensor) -> pb.Tensor:
            return x * w

        scaled.register_autograd(lambda ctx, g: g * w)
        return scaled

    message = r"guards::\w+: the kernel: mul\(\) uses a captured tensor that requires grad.* pass it to guards::\w+\(\)"
    with pytest.raises(RuntimeError, match=message):
        operator("leaf", TWO.clone().requires_grad_())(X)
    with pytest.raises(RuntimeError, match=message):
        grad(lambda w: operator("level", w)(X).sum())(TWO)
    with pytest.raises(RuntimeError, match=message):
        grad(lambda w: grad(lambda x: operator("both", w)(x).sum())(X).sum())(TWO)
    same(operator("constant", TWO)(X), 2 * X)
    same(jvp(lambda w: operator("dual", w)(X), (TWO,), (TWO,))[1], 2 * X)


def test_draws_of_fwd_are_repeated_under_a_batch() -> None:
    f = custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x * (1 + pb.rand(3))), lambda residual, g: (g * 2 * residual,))
    pb.manual_seed(0)
    noise = pb.rand(3)
    for jacobian in (jacrev, lambda h: jacrev(h, chunk_size=1), lambda h: jacfwd(h, randomness="same")):
        pb.manual_seed(0)
        same(jacobian(grad(lambda x: f(x).sum()))(X), pb.diag(2 * (1 + noise)))
    pb.manual_seed(0)
    both = vmap(jacrev(grad(lambda x: f(x).sum())), randomness="different")(pb.stack([X, X]))
    pb.manual_seed(0)
    same(both, pb.stack([pb.diag(2 * (1 + n)) for n in pb.rand(2, 3)]))


def test_draws_of_a_rule_for_forward_mode_are_repeated() -> None:
    noisy = custom_jvp(lambda v: v * pb.rand(3))

    @noisy.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        noise = pb.rand(3)
        return primals[0] * noise, tangents[0] * noise

    for jacobian in (jacrev, lambda f: jacfwd(f, randomness="same"), lambda f: jacrev(f, chunk_size=2)):
        pb.manual_seed(1)
        found = jacobian(noisy)(X)
        pb.manual_seed(1)
        same(found, pb.diag(pb.rand(3)))
    pb.manual_seed(1)
    found = jacrev(lambda r: vmap(noisy, randomness="different")(r))(pb.stack([X, X]))
    pb.manual_seed(1)
    same(found.sum((0, 1)), pb.rand(2, 3))
    g = pb.Generator().manual_seed(2)
    out, pull = pb.func.vjp(noisy, X)
    rows = vmap(lambda c: pull(c)[0] + pb.rand(3, generator=g), randomness="different")(pb.ones(2, 3))
    same(rows[0] - rows[1], pb.subtract(*pb.rand(2, 3, generator=pb.Generator().manual_seed(2))))


def test_draws_of_bwd_under_jacrev_name_the_remedy() -> None:
    f = custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x), lambda x, g: (g * 2 * x * (1 + 0 * pb.rand(3)),))
    with pytest.raises(RuntimeError, match=r"rand\(\).*test_custom_guards.*draw in the forward.*chunk_size=1"):
        jacrev(f)(X)
    same(jacrev(f, chunk_size=1)(X), pb.diag(2 * X))
    with pytest.raises(RuntimeError, match=r"rand\(\).*pass randomness='different' or .* to jacfwd"):
        jacfwd(lambda x: x * pb.rand(3))(X)
