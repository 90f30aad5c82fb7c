"""Samples of operators that work element by element."""

from __future__ import annotations

from collections.abc import Iterator

import scipy.special as sp

import pullback as pb
from support.samples import FAMILIES, Family, Maker, S, Sample, of

INTERVALS = {
    "acos": (-0.8, 0.8), "asin": (-0.8, 0.8), "atanh": (-0.8, 0.8), "erfinv": (-0.8, 0.8), "acosh": (1.2, 4.0),
    "log": (0.2, 3.0), "log2": (0.2, 3.0), "log10": (0.2, 3.0), "log1p": (-0.7, 3.0), "sqrt": (0.2, 3.0),
    "rsqrt": (0.2, 3.0), "lgamma": (0.3, 4.0), "digamma": (0.3, 4.0), "tan": (-1.2, 1.2), "frac": (0.1, 0.9),
    "floor": (0.1, 0.9), "ceil": (0.1, 0.9), "trunc": (0.1, 0.9), "round": (0.6, 1.4),
}  # fmt: skip
PLAIN = """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p log2 log10 sqrt rsqrt
reciprocal erf erfc erfinv sigmoid lgamma digamma abs neg sign floor ceil trunc frac square positive relu round
nn.functional.logsigmoid nn.functional.relu nn.functional.silu nn.functional.softsign nn.functional.mish
nn.functional.relu6 clone""".split()


def unary(low: float | None, high: float | None) -> Family:
    def family(m: Maker) -> Iterator[Sample]:
        for shape in [(), (0,), (1,), (2, 0, 3)]:
            yield S(m(*shape, low=low, high=high))
        for x in m.layouts(2, 3, low=low, high=high):
            yield S(x)

    return family


for _name in PLAIN:
    of(_name)(unary(*INTERVALS.get(_name, (None, None))))
for _name, _like in {"i0": sp.i0, "special.i0e": sp.i0e, "special.i1": sp.i1, "special.i1e": sp.i1e}.items():
    of(_name, like=_like)(unary(None, None))


@of("round")
def rounded(m: Maker) -> Iterator[Sample]:
    yield S(m(3, low=1.21, high=1.24), decimals=1)
    yield S(m(3, low=12, high=14), decimals=-1)


@of("nn.functional.gelu")
def gelu(m: Maker) -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        yield from (S(m(*shape), approximate=approximate) for shape in [(), (0,), (2, 3)])


@of("nn.functional.softplus")
def softplus(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m(5), beta=2.0, threshold=1.5)


@of("nn.functional.leaky_relu", "nn.functional.elu")
def with_slope(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m(5), 0.3)


@of("nn.functional.hardtanh")
def hardtanh(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape, low=-0.9, high=0.9)) for shape in [(), (0,), (2, 3)])
    yield S(m(5, low=1.2, high=3.0), -0.5, 0.7)
    yield S(m(5), -0.1, 0.1)


SHAPES = [((), ()), ((0,), (0,)), ((2, 0), (1,)), ((1,), (2, 2)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (3,))]
BINARY = {
    "add": (-2, 2, -2, 2), "sub": (-2, 2, -2, 2), "rsub": (-2, 2, -2, 2), "mul": (None, None, None, None),
    "div": (-2, 2, 0.5, 2), "true_divide": (-2, 2, 0.5, 2), "pow": (0.3, 2, -2, 2), "atan2": (0.2, 2, 0.2, 2),
    "hypot": (0.2, 2, 0.2, 2), "logaddexp": (-2, 2, -2, 2), "remainder": (0.1, 0.9, 1.1, 1.9),
    "fmod": (0.1, 0.9, 1.1, 1.9), "floor_divide": (0.1, 0.9, 1.1, 1.9),
    "maximum": (0.1, 2, -2, -0.1), "minimum": (0.1, 2, -2, -0.1),
}  # fmt: skip


def binary(a: float | None, b: float | None, c: float | None, d: float | None) -> Family:
    def family(m: Maker) -> Iterator[Sample]:
        for first, second in SHAPES:
            yield S(m(*first, low=a, high=b), m(*second, low=c, high=d))
        for x, y in zip(m.layouts(2, 3, low=a, high=b), m.layouts(2, 3, low=c, high=d), strict=True):
            yield S(x, y)

    return family


for _name, _bounds in BINARY.items():
    of(_name)(binary(*_bounds))


def with_numbers(number: float, first: bool) -> Family:
    def family(m: Maker) -> Iterator[Sample]:
        yield S(m(2, 3, low=0.2, high=0.9), number)
        if first:
            yield S(number, m(3, low=1.2, high=1.8))

    return family


for _name in "add sub rsub mul div true_divide pow remainder fmod floor_divide".split():
    of(_name)(with_numbers(1.3, _name != "rsub"))


@of("maximum", "minimum")
def crossing(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3) + 0.01)


@of("pow")
def powers(m: Maker) -> Iterator[Sample]:
    yield from (S(m(3), n) for n in (2, 3, 1, -1, -2, 0))
    yield S(m(3, low=0.2, high=2), 0.5)


@of("add", "sub", "rsub")
def with_alpha(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3), alpha=2.5)
    yield S(m(2), m(2), alpha=0)


@of("div")
def rounded_quotients(m: Maker) -> Iterator[Sample]:
    for mode in ("floor", "trunc"):
        yield S(m(3, low=0.1, high=0.9), m(3, low=1.1, high=1.9), rounding_mode=mode)


@of("lerp")
def lerp(m: Maker) -> Iterator[Sample]:
    for a, b, c in [((), (), ()), ((2, 3), (3,), (2, 1)), ((0,), (1,), (0,)), ((1,), (2, 2), ())]:
        yield S(m(*a), m(*b), m(*c, low=0.1, high=0.9))
    yield S(m(2, 3), m(2, 3), 0.3)


@of("where")
def where(m: Maker) -> Iterator[Sample]:
    for c, a, b in [((), (), ()), ((2, 3), (3,), (2, 1)), ((0,), (1,), (0,)), ((2,), (1, 2), ())]:
        yield S(m.bools(*c), m(*a), m(*b))
    yield S(m.bools(2, 3), m(2, 3), 0.5)
    yield S(m.bools(2, 3), 1.0, m(3))
    yield S(m.bools(2, 3)).but(batched=False)


@of("Tensor.where")
def where_method(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m.bools(3), m(2, 1))
    yield S(m(), m.bools(2), 1.5)


@of("clamp")
def clamp(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3)]:
        yield S(m(*shape), -0.17, 0.19)
    yield S(m(2, 3), min=0.1)
    yield S(m(2, 3), max=-0.1)
    yield S(m(2, 3), m(3, low=-0.19, high=-0.1), m(2, 1, low=0.1, high=0.19))
    yield S(m(2, 3), m(2, 3, low=2.5, high=3.0), None)


PREDICATES = "logical_not isnan isinf isfinite signbit".split()


@of(*PREDICATES)
def predicates(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3)]:
        yield S(m(*shape))
    yield S(m.ints(2, 3))
    yield S(m.bools(3))
    yield S(pb.tensor([float("nan"), float("inf"), -0.0, 1.0]))


@of("isclose")
def isclose(m: Maker) -> Iterator[Sample]:
    for a, b in SHAPES:
        yield S(m(*a), m(*b), 0.3, 0.1)
    yield S(m.ints(2, 3), m.ints(3))
    yield S(pb.tensor([1.0, float("nan")]), pb.tensor([1.0, float("nan")]), equal_nan=True)


@of(*"eq ne lt le gt ge logical_and logical_or logical_xor".split())
def comparisons(m: Maker) -> Iterator[Sample]:
    for a, b in SHAPES:
        yield S(m.ints(*a), m.ints(*b))
    yield S(m(2, 3), m(3))
    yield S(m.bools(2, 3), m.bools(2, 1))


@of(*"eq ne lt le gt ge".split())
def comparisons_with_numbers(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(2, 3), 2)
    yield S(m(2, 3), 0.5)


@of(*"bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split())
def bitwise(m: Maker) -> Iterator[Sample]:
    for a, b in SHAPES:
        yield S(m.ints(*a, low=0, high=60), m.ints(*b, low=0, high=5))
    yield S(m.ints(2, 3), 3)


@of("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise_bools(m: Maker) -> Iterator[Sample]:
    yield S(m.bools(2, 3), m.bools(3))


@of("bitwise_not")
def bitwise_not(m: Maker) -> Iterator[Sample]:
    yield from (S(m.ints(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m.bools(3))


@of(*(f"Tensor.{d}" for d in "bool byte char short int long half bfloat16 float cfloat cdouble".split()))
def conversions(m: Maker) -> Iterator[Sample]:
    yield from (S(m.ints(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m.bools(3))


@of("Tensor.double")
def to_double(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m.ints(3))


@of("Tensor.type_as")
def type_as(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m())
    yield S(m.ints(3), m(1))
    yield S(m(3), m.ints(1))


assert not set(PLAIN) - set(FAMILIES)
