"""Numbers beside tensors of half precision: which operators meet them as they are, and which meet them rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jvp, linearize, trace, vjp, vmap
from support.samples import S, build, load, replaced, table, tensors_in

F = pb.nn.functional
HALVES = [pb.bfloat16, pb.float16]
NUMBERS = [0.1, 0.3, -0.7, 3, 1e-3, 7]
Call = Callable[..., Any]

# Computed in single precision with the number as it is, and rounded once, as PyTorch's kernels do.
KEEPING: dict[str, Call] = {
    "mul": lambda x, n: x * n,
    "rmul": lambda x, n: n * x,
    "div": lambda x, n: x / n,
    "rdiv": lambda x, n: n / x,
    "trunc": lambda x, n: pb.div(x, n, rounding_mode="trunc"),
    "floor": lambda x, n: pb.div(x, n, rounding_mode="floor"),
    "floor_divide": lambda x, n: x // n,
    "add alpha": lambda x, n: pb.add(x, x, alpha=n),
    "sub alpha": lambda x, n: pb.sub(x, x * 2, alpha=n),
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "elu": lambda x, n: F.elu(x, n),
    "celu": lambda x, n: F.celu(x, n),
    "softplus": lambda x, n: F.softplus(x, abs(n)),
    "softplus threshold": lambda x, n: F.softplus(x, 1.3, n),
    "hardtanh": lambda x, n: F.hardtanh(x, -abs(n), abs(n)),
    "huber_loss": lambda x, n: F.huber_loss(x, x.flip(0), "none", abs(n)),
    "smooth_l1_loss": lambda x, n: F.smooth_l1_loss(x, x.flip(0), reduction="none", beta=abs(n)),
    "logit": lambda x, n: pb.logit(x.abs().clamp(max=1), abs(n) % 0.5),
    "lerp": lambda x, n: pb.lerp(x, x.flip(0), n),
    "addcmul": lambda x, n: pb.addcmul(x, x, x.flip(0), value=n),
    "addcdiv": lambda x, n: pb.addcdiv(x, x.flip(0), x, value=n),
    "deg2rad": lambda x, n: pb.deg2rad(x),
    "rad2deg": lambda x, n: pb.rad2deg(x),
    "glu": lambda x, n: F.glu(x.flatten()[:120]),
}
# Computed with the number rounded to half precision, as PyTorch does.
ROUNDING: dict[str, Call] = {
    "add": lambda x, n: x + n,
    "sub": lambda x, n: x - n,
    "rsub": lambda x, n: n - x,
    "remainder": lambda x, n: x % n,
    "fmod": lambda x, n: pb.fmod(x, n),
    "pow": lambda x, n: x.abs() ** n,
    "rpow": lambda x, n: abs(n) ** x,
    "xlogy": lambda x, n: pb.xlogy(x, abs(n)),
    "clamp": lambda x, n: x.clamp(-abs(n), abs(n)),
    "clamp_min": lambda x, n: pb.clamp_min(x, n),
    "where": lambda x, n: pb.where(x > 0, x, n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "copysign": lambda x, n: pb.copysign(x, n),
    "eq": lambda x, n: x == n,
    "ge": lambda x, n: x >= n,
    "lt": lambda x, n: x < n,
}


def values(dtype: Any) -> Any:
    spread = pb.linspace(-1, 1, 240, dtype=pb.float64)
    some = pb.tensor([0.1, -0.1, 0.3, -0.3, 0.7, -0.7, 1.0, -1.0, 3.0, 7.0])
    return pb.cat([spread * spread.abs() * 9 + 0.004, some.double()]).to(dtype)


def rounded(n: float, dtype: Any) -> Any:
    return pb.tensor(n, dtype=dtype).item()


def same(got: Any, want: Any) -> None:
    assert got.dtype is want.dtype and got.shape == want.shape
    assert pb.allclose(got.float(), want.float(), rtol=0, atol=0, equal_nan=True), (got, want)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", KEEPING)
def test_numbers_are_met_as_they_are(name: str, dtype: Any) -> None:
    f, x = KEEPING[name], values(dtype)
    for n in NUMBERS:
        for at in (x, x.reshape(50, 5), x[::2], x.reshape(50, 5).t()):
            same(f(at, n), f(at.float(), n).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ROUNDING)
def test_numbers_are_met_rounded(name: str, dtype: Any) -> None:
    f, x = ROUNDING[name], values(dtype)
    for n in NUMBERS:
        want = f(x.float(), rounded(n, dtype))
        same(f(x, n), want if want.dtype is pb.bool else want.to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["mul", "rmul", "div", "trunc", "floor", "leaky_relu", "elu", "softplus", "hardtanh"])
def test_numbers_stay_under_transforms(name: str, dtype: Any) -> None:
    f, x, n = KEEPING[name], values(dtype), 0.3
    want, wide = f(x, n), x.float()
    rows = x.reshape(5, 50)
    same(vmap(lambda row: f(row, n))(rows), pb.stack([f(row, n) for row in rows]))
    same(
        vmap(vmap(lambda e: f(e[None], n)[0]))(rows),
        pb.stack([pb.stack([f(e[None], n)[0] for e in row]) for row in rows]),
    )
    same(trace(lambda v: f(v, n))(x)(x), want)
    same(pb.compile(lambda v: f(v, n))(x), want)
    weight = pb.linspace(0.1, 2, x.numel()).to(dtype)
    (exact,) = vjp(lambda v: f(v, n), wide)[1](weight.float())
    slope = exact.to(dtype)
    same(vjp(lambda v: f(v, n), x)[1](weight)[0], slope)
    leaf = x.clone().requires_grad_()
    f(leaf, n).backward(weight)
    same(leaf.grad, slope)
    tangent = jvp(lambda v: f(v, n), (x,), (weight,))[1]
    assert tangent.dtype is dtype and pb.allclose(tangent.float(), slope.float(), rtol=2e-2, atol=1e-2)
    same(linearize(lambda v: f(v, n), x)[1](weight), tangent)
    same(
        vmap(grad(lambda v: f(v, n).float().sum()))(rows),
        vjp(lambda v: f(v, n), wide)[1](pb.ones_like(wide))[0].to(dtype).reshape(5, 50),
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_products_in_place(dtype: Any) -> None:
    for large in (False, True):
        x = values(dtype).repeat(12000 if large else 1)
        for name in ("mul_", "div_", "floor_divide_"):
            at, wide = x.clone(), x.float()
            getattr(at, name)(0.3)
            same(at, getattr(wide, name)(0.3).to(dtype))
        at = x.clone()
        at *= 0.1
        at /= 0.7
        same(at, ((x.float() * 0.1).to(dtype).float() / 0.7).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("other", [pb.float64, pb.float32])
def test_tensors_without_dimensions(dtype: Any, other: Any) -> None:
    """Second operands of products and quotients are met as numbers are; others are rounded."""
    x = values(dtype)
    for n in (0.1, 0.3, 1e6):
        at = pb.tensor(n, dtype=other)
        same(x * at, (x.float() * at.float()).to(dtype))
        same(x / at, (x.float() / at.float()).to(dtype))
        same(at * x, (at.to(dtype).float() * x.float()).to(dtype))
        same(x + at, x + at.to(dtype))
    at = pb.tensor([0.1, 0.3, 0.7], dtype=other)
    same(vmap(lambda a: x * a)(at), pb.stack([x * a for a in at]))
    same(vmap(lambda a: x / a)(at), pb.stack([x / a for a in at]))
    assert (x * pb.tensor([0.1], dtype=other)).dtype is other
    leaf = pb.tensor(0.3, dtype=other, requires_grad=True)
    (x * leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad.dtype is other
    assert pb.allclose(leaf.grad, x.to(other).sum(), rtol=1e-5, atol=1e-5)
    assert jvp(lambda a: (x * a).sum(), (leaf.detach(),), (pb.ones((), dtype=other),))[1].dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_that_half_precision_does_not_have(dtype: Any) -> None:
    x = pb.tensor([1e-3, -2e-3, 0.5, 6e4]).to(dtype)
    for n in (1e6, 1e-8, 1e30, -1e5, 10**9):
        for f in (KEEPING["mul"], KEEPING["div"], KEEPING["rmul"], KEEPING["rdiv"], KEEPING["leaky_relu"]):
            same(f(x, n), f(x.float(), n).to(dtype))
    same(pb.addcmul(x, x, x, value=1e6), pb.addcmul(x.float(), x.float(), x.float(), value=1e6).to(dtype))


def test_recorded_values() -> None:
    """Of PyTorch 2.13."""
    x = pb.tensor([1.0, 3.0, -0.30078125, 100.0, 0.0123291015625]).to(pb.bfloat16)
    half = pb.tensor([1.0, 3.0, -0.300048828125, 100.0, 0.01232147216796875]).to(pb.float16)
    for call, wants in RECORDED.items():
        for at, want in zip((x, half), wants, strict=True):
            same(eval(call, {"x": at, "pb": pb, "F": F}), pb.tensor(want).to(at.dtype))


RECORDED: dict[str, tuple[list[float], list[float]]] = {
    "x * 0.1": (
        [0.10009765625, 0.30078125, -0.030029296875, 10.0, 0.0012359619140625],
        [0.0999755859375, 0.300048828125, -0.029998779296875, 10.0, 0.001232147216796875],
    ),
    "0.3 * x": (
        [0.30078125, 0.8984375, -0.09033203125, 30.0, 0.003692626953125],
        [0.300048828125, 0.89990234375, -0.09002685546875, 30.0, 0.003696441650390625],
    ),
    "x / 0.3": ([3.328125, 10.0, -1.0, 334.0, 0.041015625], [3.333984375, 10.0, -1.0, 333.25, 0.04107666015625]),
    "x / 1e-3": ([1000.0, 2992.0, -300.0, 99840.0, 12.3125], [1000.0, 3000.0, -300.0, float("inf"), 12.3203125]),
    "pb.div(x, 0.3, rounding_mode='floor')": ([3.0, 9.0, -2.0, 332.0, 0.0], [3.0, 9.0, -2.0, 333.0, 0.0]),
    "pb.div(x, 0.3, rounding_mode='trunc')": ([3.0, 10.0, -1.0, 332.0, 0.0], [3.0, 10.0, -1.0, 333.0, 0.0]),
    "x // 0.1": ([9.0, 29.0, -4.0, 1000.0, 0.0], [9.0, 29.0, -4.0, 999.0, 0.0]),
    "x + 0.1": (
        [1.1015625, 3.09375, -0.201171875, 100.0, 0.1123046875],
        [1.099609375, 3.099609375, -0.2000732421875, 100.125, 0.1123046875],
    ),
    "x - 0.3": (
        [0.69921875, 2.703125, -0.6015625, 99.5, -0.2890625],
        [0.7001953125, 2.69921875, -0.60009765625, 99.6875, -0.287841796875],
    ),
    "x % 0.3": (
        [0.09765625, 0.29296875, -0.0, 0.140625, 0.0123291015625],
        [0.099853515625, 0.299560546875, -0.0, 0.083740234375, 0.01232147216796875],
    ),
    "x.abs() ** 0.3": (
        [1.0, 1.390625, 0.6953125, 4.0, 0.265625],
        [1.0, 1.390625, 0.69677734375, 3.982421875, 0.267333984375],
    ),
    "x * 1e6": (
        [999424.0, 2998272.0, -301056.0, 100139008.0, 12352.0],
        [float("inf"), float("inf"), -float("inf"), float("inf"), 12320.0],
    ),
    "x / 1e6": (
        [
            9.98377799987793e-07,
            2.995133399963379e-06,
            -2.998858690261841e-07,
            0.00010013580322265625,
            1.234002411365509e-08,
        ],
        [1.0132789611816406e-06, 2.9802322387695312e-06, -2.980232238769531e-07, 0.00010001659393310547, 0.0],
    ),
    "F.leaky_relu(x, 0.3)": (
        [1.0, 3.0, -0.09033203125, 100.0, 0.0123291015625],
        [1.0, 3.0, -0.09002685546875, 100.0, 0.01232147216796875],
    ),
    "F.elu(x, 0.3)": (
        [1.0, 3.0, -0.078125, 100.0, 0.0123291015625],
        [1.0, 3.0, -0.0777587890625, 100.0, 0.01232147216796875],
    ),
    "F.softplus(x, 0.3)": (
        [2.84375, 4.125, 2.15625, 100.0, 2.3125],
        [2.84765625, 4.13671875, 2.1640625, 100.0, 2.31640625],
    ),
    "F.hardtanh(x, -0.1, 0.1)": (
        [0.10009765625, 0.10009765625, -0.10009765625, 0.10009765625, 0.0123291015625],
        [0.0999755859375, 0.0999755859375, -0.0999755859375, 0.0999755859375, 0.01232147216796875],
    ),
    "x.clamp(-0.1, 0.1)": (
        [0.10009765625, 0.10009765625, -0.10009765625, 0.10009765625, 0.0123291015625],
        [0.0999755859375, 0.0999755859375, -0.0999755859375, 0.0999755859375, 0.01232147216796875],
    ),
    "x * pb.tensor(0.3, dtype=pb.float64)": (
        [0.30078125, 0.8984375, -0.09033203125, 30.0, 0.003692626953125],
        [0.300048828125, 0.89990234375, -0.09002685546875, 30.0, 0.003696441650390625],
    ),
    "pb.tensor(0.3, dtype=pb.float64) * x": (
        [0.30078125, 0.90234375, -0.09033203125, 30.125, 0.0037078857421875],
        [0.300048828125, 0.900390625, -0.09002685546875, 30.0, 0.003696441650390625],
    ),
    "pb.deg2rad(x)": (
        [0.0174560546875, 0.05224609375, -0.0052490234375, 1.7421875, 0.0002155303955078125],
        [0.0174560546875, 0.0523681640625, -0.005237579345703125, 1.7451171875, 0.00021505355834960938],
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
def test_slopes_at_rounded_bounds(dtype: Any) -> None:
    """Of a bound that is rounded, `softshrink` asks on which side x is, and `hardtanh` of the exact one."""
    for n in (0.1, 0.3, 0.7):
        at = pb.tensor([n, -n, 2 * n, n / 2]).to(dtype).requires_grad_()
        F.softshrink(at, n).sum().backward()
        assert at.grad is not None and at.grad.tolist() == [0, 0, 1, 0]
        at.grad = None
        F.hardtanh(at, -n, n).sum().backward()
        inside = float(rounded(n, dtype) < rounded(n, pb.float32))
        assert at.grad.tolist() == [inside, inside, 0, 1]


def takes_number(entry: dict[str, Any]) -> bool:
    kinds = {p["kind"].rstrip("?") for p in entry["params"]}
    return bool(kinds & {"Number", "float", "TensorOrNumber"}) and not entry["flags"]["random"]


# What rounds more than once, as PyTorch's composites do, chooses by comparing, or reads memory that it did not write.
SEVERAL_STEPS = {
    "float_power",
    "linspace",
    "logspace",
    "renorm",
    "trapezoid",
    "cumulative_trapezoid",
    "isclose",
    "rsub",
}


@pytest.mark.parametrize("dtype", HALVES)
def test_operators_of_the_table_with_numbers(dtype: Any) -> None:
    """Whatever takes a number gives what single precision does, to the last bits."""
    seen = 0
    for name, entry in table().items():
        if name not in load() or not takes_number(entry) or name in SEVERAL_STEPS:
            continue
        for sample in build(name, 0):
            if not any(t.dtype is pb.float64 for t in sample.tensors()) or sample.via:
                continue
            seen += compared(name, sample, dtype)
    assert seen > 150, seen


def compared(name: str, sample: S, dtype: Any) -> bool:
    halves = [t.to(dtype) if t.dtype is pb.float64 else t for t in sample.tensors()]
    wides = [t.float() if t.dtype is dtype else t for t in halves]
    path = name.removeprefix("Tensor.")
    f: Any = getattr(pb.Tensor, path) if path != name else pb._core.functions.get(name)
    if f is None:
        return False

    def run(tensors: list[Any]) -> list[Any]:
        supply = iter(tensors)
        args = [replaced(a, supply) for a in sample.args]
        return list(tensors_in([f(*args, **{k: replaced(v, supply) for k, v in sample.kwargs.items()})]))

    try:
        got = run(halves)
    except (NotImplementedError, RuntimeError) as e:
        assert isinstance(e, NotImplementedError) or "convert it with" in str(e), (name, e)
        return False
    for a, b in zip(got, run(wides), strict=True):
        if a.dtype is dtype:
            bits = 2.0 ** (-8 if dtype is pb.bfloat16 else -11)
            assert pb.allclose(a.float(), b.float(), rtol=3 * bits, atol=4 * bits, equal_nan=True), (name, sample, a, b)
    return True
