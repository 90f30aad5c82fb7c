"""All ordered pairs and triples of transforms, and deeper nests of one kind, against the written-out derivative.

f(x) = Σ w·x³ on vectors. Each transform maps a function of one vector to another one whose value is known:
`grad` and `jacrev` multiply by the next factor, `jvp` along ones too, `vmap` adds a row dimension and removes it again.
The expected values come from the polynomial itself, not from another transform.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
W = pb.tensor([0.5, -1.5, 2.0], dtype=pb.float64)
X = pb.tensor([0.8, 1.3, -0.6], dtype=pb.float64)
Function = Callable[[Any], Any]


class Power:
    """Elementwise w·x^n with a coefficient: what a function has become after some derivatives."""

    def __init__(self, n: int, factor: float = 1.0):
        self.n, self.factor = n, factor

    def __call__(self, x: Any) -> Any:
        return self.factor * W * (x**self.n if self.n else pb.ones_like(x))

    def slope(self) -> Power:
        return Power(max(self.n - 1, 0), self.factor * self.n)


# Each step takes an elementwise function of a vector to the elementwise function that is its derivative.
STEPS: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: lambda x: grad(lambda u: f(u).sum())(x),
    "vjp": lambda f: lambda x: vjp(f, x)[1](pb.ones_like(x))[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (pb.ones_like(x),))[1],
    "jacrev": lambda f: lambda x: jacrev(f)(x).sum(0),
    "jacfwd": lambda f: lambda x: jacfwd(f)(x).sum(1),
    "vmap": lambda f: lambda x: vmap(f)(pb.stack([x, 2 * x]))[0],
    "vmap_last": lambda f: lambda x: vmap(f, in_dims=1, out_dims=1)(pb.stack([2 * x, x], 1))[:, 1],
    "hessian": lambda f: lambda x: hessian(lambda u: f(u).sum())(x).sum(0),
}
ORDER = {"grad": 1, "vjp": 1, "jvp": 1, "jacrev": 1, "jacfwd": 1, "vmap": 0, "vmap_last": 0, "hessian": 2}


def check(names: tuple[str, ...], power: int = 5) -> None:
    f: Function = Power(power)
    want = Power(power)
    for name in names:
        f = STEPS[name](f)
        for _ in range(ORDER[name]):
            want = want.slope()
    same(f(X), want(X))


@pytest.mark.parametrize("names", list(product(STEPS, repeat=2)), ids="-".join)
def test_pairs(names: tuple[str, ...]) -> None:
    check(names)


@pytest.mark.parametrize("first", STEPS)
def test_triples(first: str) -> None:
    for rest in product(STEPS, repeat=2):
        check((first, *rest), power=7)


@pytest.mark.parametrize("name", ["grad", "vjp", "jvp", "jacrev", "jacfwd", "vmap"])
def test_six_deep(name: str) -> None:
    check((name,) * 6, power=7)


def test_alternating_nest() -> None:
    check(("vmap", "grad", "jvp", "vmap_last", "jacfwd", "jacrev", "vmap"), power=6)


def test_captured_values_of_every_level() -> None:
    """Each level uses the arguments of all levels outside of it."""
    a, b, c = (pb.tensor(v, dtype=pb.float64) for v in (0.7, 1.9, -0.4))

    def outer(x: Any) -> Any:
        def middle(y: Any) -> Any:
            def inner(z: Any) -> Any:
                return x**3 * y**2 * z + x * y * z**2

            return grad(inner)(c) * y

        return jvp(middle, (b * x,), (x,))[1]

    # d/dy (x³y³ + 2xy²z) along x at y = bx: (3x³y² + 4xyz)·x = 3b²x⁶ + 4bcx³
    same(grad(outer)(a), 18 * b**2 * a**5 + 12 * b * c * a**2)
    rows = pb.stack([a, b, c])
    same(vmap(grad(outer))(rows), 18 * b**2 * rows**5 + 12 * b * c * rows**2)
