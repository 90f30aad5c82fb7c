"""Where a function is constant its derivative is 0, whatever comes in: infinity and NaN do not pass.

The calls and PyTorch's answers are described in tests/support/constant_points.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback import func
from pullback.func import grad, jvp, vjp, vmap
from support import constant_points as points
from support import properties, samples

RECORDED: dict[str, str] = json.loads(
    (Path(__file__).resolve().parent.parent / "reference" / "constant_points.json").read_text(encoding="utf-8")
)
DTYPES = [pb.float64, pb.float32, pb.float16, pb.bfloat16]

# Modes in which PyTorch multiplies with a mask, or with a zero that stands in the call, and gives NaN where 0 is right.
# `maximum`, `minimum`, `max` and `min` are right there in reverse mode, `amax` in forward mode; `embedding` forgets its
# padding in forward mode.
FIRST, SECOND = "forward reverse", "forward_of_reverse reverse_of_reverse reverse_of_infinite"
EXCEPTIONS: dict[str, str] = {
    "amax": "reverse",
    "amax all": "reverse",
    "amin": "reverse",
    "max": "forward reverse",
    "min": "forward reverse",
    "max other": "forward",
    "maximum": "forward",
    "minimum": "forward",
    "remainder": FIRST,
    "fmod": FIRST,
    "nn.functional.leaky_relu 0": FIRST,
    "nn.functional.elu 0": f"{FIRST} {SECOND}",
    "nn.functional.elu": SECOND,
    "nn.functional.huber_loss": "reverse_of_reverse reverse_of_infinite",
    "nn.functional.softplus": "reverse_of_infinite",
    "nn.functional.softplus sharp": SECOND,
    "nn.functional.dropout all": FIRST,
    "nn.functional.embedding": "forward",
    "norm": "reverse reverse_of_reverse reverse_of_infinite",
    "linalg_vector_norm": "forward_of_reverse reverse_of_reverse",
    "linalg_vector_norm inf": "forward reverse",
    "pow": "forward reverse reverse_of_reverse reverse_of_infinite",
    "pow exponents": "reverse_of_reverse reverse_of_infinite",
}


def differences(name: str, dtype: Any = None) -> list[tuple[str, str, str]]:
    """Derivatives that are not PyTorch's: key, here, there."""
    probe = points.Probe(pb, func, name, dtype)
    found = [(key, probe.letters(key), want) for key, want in zip(probe.keys(), RECORDED[name].split(), strict=True)]
    return [d for d in found if d[1] != d[2] != "!"]


def better(here: str, there: str) -> bool:
    """Whether the numbers differ only where PyTorch has NaN, or an infinity in the place of 0."""
    pairs = [(a, b) for a, b in zip(here, there, strict=True) if a != b]
    return all(b == "n" or (a, b) == ("0", "i") for a, b in pairs)


def test_every_case_was_recorded() -> None:
    assert set(RECORDED) == set(points.CASES)


@pytest.mark.parametrize("name", sorted(points.CASES))
def test_infinity_does_not_pass(name: str) -> None:
    allowed = set(EXCEPTIONS.get(name, "").split())
    seen = set()
    for key, here, there in differences(name):
        mode = key.split()[0]
        assert mode in allowed and better(here, there), f"{key}: {here}, expected {there}"
        seen.add(mode)
    assert seen == allowed, "PyTorch gives the same here: shorten the list of exceptions"


def zeros_stay(wide: str, other: str) -> bool:
    return len(wide) == len(other) and all(b == "0" for a, b in zip(wide, other, strict=True) if a == "0")


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_every_dtype(dtype: Any) -> None:
    for name in sorted(points.CASES):
        wide, probe = points.Probe(pb, func, name), points.Probe(pb, func, name, dtype)
        for key in probe.keys():
            assert zeros_stay(wide.letters(key), probe.letters(key)), f"{name}: {key}"


# The shape of their results depends on values.
UNBATCHED = {"masked_select", "index_put mask_vector"}


@pytest.mark.parametrize("name", sorted(set(points.CASES) - UNBATCHED))
def test_members_of_a_batch(name: str) -> None:
    probe = points.Probe(pb, func, name)
    for i, x in enumerate(probe.inputs):
        many = pb.stack([x, x, x])
        for c in points.PROBES.values():
            for mode in (probe.gradient(i, c), lambda x, i=i, c=c: jvp(probe.alone(i), (x,), (probe.full(x, c),))[1]):
                assert points.letters(vmap(mode)(many)) == 3 * points.letters(mode(x))


ALONE = [
    name
    for name, (_, inputs) in sorted(points.CASES.items())
    if name.split()[0]
    in "relu clamp maximum minimum remainder fmod pow round sign floor nn.functional.relu6 "
    "nn.functional.hardtanh nn.functional.leaky_relu nn.functional.elu nn.functional.huber_loss".split()
    and name not in ("pow exponents", "maximum sqrt")
]


@pytest.mark.parametrize("name", ALONE)
def test_scalars_and_strided_operands(name: str) -> None:
    """Elements alone, and in rows that repeat in memory, give what they give in a vector."""
    probe = points.Probe(pb, func, name)
    for i in range(len(probe.inputs)):
        for mode in ("reverse", "forward", "forward_of_reverse"):
            for label, c in points.PROBES.items():
                want = probe.letters(f"{mode} {i} {label}")
                alone, rows = points.Probe(pb, func, name), points.Probe(pb, func, name)
                found = ""
                for k in range(len(want)):
                    alone.inputs = [x[k] for x in probe.inputs]
                    found += points.letters(getattr(alone, mode)(i, c))
                assert found == want, f"{mode} {i} {label}"
                rows.inputs = [x.expand(3, -1).T if j == i else x[:, None] for j, x in enumerate(probe.inputs)]
                assert points.letters(getattr(rows, mode)(i, c).T) == 3 * want, f"{mode} {i} {label}, strided"


def test_broadcasting() -> None:
    inf = float("inf")
    a, b = pb.tensor([[1.0], [3.0]]), pb.tensor([2.0, 4.0])
    _, pull = vjp(pb.maximum, a, b)
    assert [points.letters(g) for g in pull(pb.full((2, 2), inf))] == ["0i", "ii"]
    _, pull = vjp(lambda a: pb.where(b > 3, a, 0.0), pb.tensor(1.0))
    assert points.letters(pull(pb.tensor([inf, 1.0]))[0]) == "x"
    same = jvp(lambda a: pb.where(b > 3, a, 0.0), (pb.tensor(1.0),), (pb.tensor(inf),))[1]
    assert points.letters(same) == "0i"


def test_dropout_drops_infinity() -> None:
    """PyTorch gives NaN where an element was dropped."""
    x = pb.ones(64)

    def f(x: Any) -> Any:
        pb.manual_seed(3)
        return pb.nn.functional.dropout(x, 0.5)

    kept = f(x) != 0
    assert kept.any() and not kept.all()
    _, pull = vjp(f, x)
    infinite = pb.full((64,), float("inf"))
    for derivative in (pull(infinite)[0], jvp(f, (x,), (infinite,))[1]):
        assert pb.equal(derivative.isinf(), kept) and (derivative[~kept] == 0).all()
    assert (f(infinite)[~kept] == 0).all()


def test_powers_of_zero() -> None:
    """The exponents 0 and 1 under second derivatives; the mixed one at exponent 0 is 1 / a, where PyTorch says 0."""
    c, n = pb.tensor([5.0, 7.0, 11.0, 13.0]), pb.arange(4.0)
    f = lambda x: (c * x**n).sum()
    assert pb.func.hessian(f)(pb.tensor(0.0)).item() == 22.0
    assert grad(grad(f))(pb.tensor(0.0)).item() == 22.0
    slope = grad(pb.pow)
    mixed = grad(lambda b: slope(pb.tensor(2.0), b))
    assert abs(mixed(pb.tensor(0.0)).item() - 0.5) < 1e-6
    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(0.0, requires_grad=True)
    (g,) = pb.autograd.grad(a**b, a, create_graph=True)
    (h,) = pb.autograd.grad(g, b)
    assert abs(h.item() - 0.5) < 1e-6


def test_an_argument_that_took_part_has_a_gradient() -> None:
    """Zeros, as in PyTorch, not none."""
    x = pb.tensor([1.5, -2.5], requires_grad=True)
    for f in (pb.floor, pb.sign, pb.round, lambda x: x**0, lambda x: pb.div(x, 2.0, rounding_mode="trunc")):
        assert pb.autograd.grad(f(x).sum(), x)[0].tolist() == [0.0, 0.0]
    pb.ceil(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- every operator of the table

# Operators in whose samples an element of the Jacobian is a zero that was computed, not one that a mask can tell from
# the inputs: each group with what computes it.
COMPUTED_BY = {
    # Rules are products and solutions of whole matrices: zeros of a cotangent meet each infinity of a row or column.
    "products of matrices": "cholesky cholesky_inverse cholesky_solve geqrf linalg.cholesky linalg.cholesky_ex "
    "linalg.det linalg.eig linalg.eigvals linalg.householder_product linalg.ldl_factor linalg.ldl_factor_ex "
    "linalg.ldl_solve linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.qr lu ormqr qr triangular_solve",
    # Zeros of the cotangent are multiplied with elements of a window or of a row.
    "products of sums": "rnn_relu nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d "
    "nn.functional.scaled_dot_product_attention nn.functional.ctc_loss",
    # The derivative in one factor is the product of the others, one of which is the cotangent 0 of a neighbour.
    "products of factors": "cumprod prod scatter",
    # What an infinity adds to one element is taken away again by another.
    "differences of infinities": "corrcoef cov dist histogram logcumsumexp",
    # A complex infinity times a real number is NaN in one of its parts.
    "complex products": "gradient nn.functional.interpolate std std_mean trapezoid var var_mean",
    # A factor 0 stands in the call, or in the formula for the ends of a range.
    "factors": "add linspace logspace nanquantile quantile rsub sub",
    # Of one element, and of elements that vanish in a sum.
    "weights": "log_softmax logsumexp nn.functional.log_softmax nn.functional.softmax softmax",
    # The slope is 0 at a point, around which the function is not constant.
    "slopes": "sinc",
}
COMPUTED = {name for names in COMPUTED_BY.values() for name in names.split()}


def unit(like: Any, place: int, value: float) -> Any:
    out = pb.zeros_like(like).reshape(-1)
    out[place] = value
    return out.reshape(like.shape)


def units(like: Any, which: int, place: int, value: float) -> tuple[Any, ...]:
    """Zeros, but for one element of one tensor."""
    return tuple(unit(t, place, value) if k == which else pb.zeros_like(t) for k, t in enumerate(like))


def letters_of(tensors: Any) -> str:
    return "".join(map(points.letters, tensors))


def places(x: Any) -> list[int]:
    return sorted({0, x.numel() // 2, x.numel() - 1}) if x.numel() else []


@pytest.mark.parametrize("name", sorted(set(samples.table()) - COMPUTED))
def test_what_does_not_depend_gets_no_infinity(name: str) -> None:
    """Where one element of the Jacobian is 0, an infinite cotangent or tangent gives 0 too."""
    for call in properties.differentiable(name):
        f, at = call.smooth(call.tensors), call.points(call.tensors)
        out, pull = vjp(f, *at)
        for k, y in enumerate(out):
            for e in places(y):
                found = [letters_of(pull(units(out, k, e, c))) for c in (1.0, float("inf"))]
                assert zeros_stay(*found), f"{call.sample.describe()}: reverse, output {k}, element {e}: {found}"
        for k, x in enumerate(at):
            for e in places(x):
                found = [letters_of(jvp(f, at, units(at, k, e, c))[1]) for c in (1.0, float("inf"))]
                assert zeros_stay(*found), f"{call.sample.describe()}: forward, input {k}, element {e}: {found}"
