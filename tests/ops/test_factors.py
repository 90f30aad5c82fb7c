"""Numbers by position in front of the operands that they scale, as old programs write them."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

x: Any
y: Any
m: Any
n: Any
v: Any
x, y = pb.tensor([1.0, -2.0, 0.5]), pb.tensor([3.0, 0.25, -1.0])
m, n, v = pb.arange(4.0).view(2, 2), pb.tensor([[1.0, -1.0], [2.0, 0.5]]), pb.tensor([1.0, 2.0])

CASES: list[tuple[Any, Any]] = [
    (lambda t: t.add(x, 2, y), x + 2 * y),
    (lambda t: x.add(2, y), x + 2 * y),
    (lambda t: x.clone().add_(0.5, y), x + 0.5 * y),
    (lambda t: t.sub(x, 2.5, y), x - 2.5 * y),
    (lambda t: x.clone().sub_(2, y), x - 2 * y),
    (lambda t: t.addcmul(x, 0.5, x, y), x + 0.5 * x * y),
    (lambda t: x.clone().addcdiv_(-2, x, y), x - 2 * x / y),
    (lambda t: t.addmm(2, m, 3, m, n), 2 * m + 3 * (m @ n)),
    (lambda t: m.addmm(2, 3, m, n), 2 * m + 3 * (m @ n)),
    (lambda t: m.addmm(2, m, n), 2 * m + m @ n),
    (lambda t: v.addmv(2, 3, m, v), 2 * v + 3 * (m @ v)),
]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_numbers_scale_what_follows(k: int) -> None:
    call, want = CASES[k]
    assert pb.equal(call(pb), want)


def test_derivatives_are_those_of_the_keyword() -> None:
    old: Any = lambda a, b: a.add(3, b).sum()
    new: Any = lambda a, b: a.add(b, alpha=3).sum()
    for f in (old, new):
        assert pb.equal(pb.func.grad(f, argnums=1)(x, y), pb.full((3,), 3.0))
    assert pb.equal(pb.func.vmap(old)(x[:, None], y[:, None]), pb.func.vmap(new)(x[:, None], y[:, None]))


def test_what_is_no_such_form() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: x.add(2, 3, y), r"add\(\): takes 2 positional arguments but 4 were given"),
        (lambda: x.add(y, y, y), "takes 2 positional arguments but 4 were given"),
        (lambda: x.mul(2, y), r"mul\(\): takes 2 positional arguments but 3 were given"),
        (lambda: x.add(2, y, alpha=3), "got multiple values for argument 'alpha'"),
    ]
    for call, match in bad:
        with pytest.raises(TypeError, match=match):
            call()
    with pytest.raises(TypeError, match=r"randint_like\(\): missing required argument 'high'; give the end"):
        pb.randint_like(x)
    assert pb.randint_like(x, high=1).sum() == 0
