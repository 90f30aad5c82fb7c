"""Grids of calls, evaluated here and in PyTorch: numbers that do not fit, factors, ranges, special points.

A call is a line of Python over a module `T` (PyTorch or pullback), so that both answer the very same question.
Statements are separated by `;;`, the last part is the value. `tools/record_grids.py` writes PyTorch's answers,
`tests/ops/test_grids.py` compares ours with them.
"""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import grids_more

RECORDED = Path(__file__).parent.parent / "reference" / "grids.json.gz"

DTYPES = {
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "b": "bool",
}

NUMBERS = """0 -1 -129 127 128 255 256 -255 -256 300 32768 65504 65520 2**31-1 2**31 -2**31-1 2**40 2**53+1 2**63-1
-2**63 2**63 2**64 -2**70 10**400 0.5 -1.0 -0.5 255.9 -128.5 300.0 65520.0 3e38 3.5e38 9.2e18 2.0**63
1e300 -inf inf nan True 1j 300+0j""".split()

# How a number gets into a tensor of a dtype.
ENTRANCES = {
    "full": "T.full((2,), {v}, dtype={d})",
    "full_like": "T.full_like(t([0, 0], {d}), {v})",
    "new_full": "t([0], {d}).new_full((2,), {v})",
    "fill_": "t([0, 0], {d}).fill_({v})",
    "fill_diagonal_": "t([[1, 0], [0, 1]], {d}).fill_diagonal_({v})",
    "masked_fill": "t([0, 0], {d}).masked_fill(t([True, False]), {v})",
    "masked_fill_": "t([0, 0], {d}).masked_fill_(t([True, False]), {v})",
    "tensor": "T.tensor([{v}], dtype={d})",
    "tensor of a number": "T.tensor({v}, dtype={d})",
    "new_tensor": "t([0], {d}).new_tensor([{v}])",
    "setitem": "x = t([0, 0], {d}) ;; x[0] = {v} ;; x",
    "setitem by mask": "x = t([0, 0], {d}) ;; x[t([True, False])] = {v} ;; x",
    "setitem by indices": "x = t([0, 0], {d}) ;; x[[0]] = {v} ;; x",
    "index_fill": "t([0, 0], {d}).index_fill(0, t([0]), {v})",
    "scatter": "t([0, 0], {d}).scatter(0, t([0]), value={v})",
    "where": "T.where(t([True, False]), t([0, 0], {d}), {v})",
    "clamp min": "t([1, 0], {d}).clamp(min={v})",
    "clamp max": "t([1, 0], {d}).clamp(max={v})",
    "pad": "F.pad(t([1, 0], {d}), (1, 1), value={v})",
    "constant_pad_nd": "T.constant_pad_nd(t([1, 0], {d}), (1, 1), {v})",
    "linspace": "T.linspace(0, {v}, 3, dtype={d})",
    "add alpha": "T.add(t([1], {d}), t([2], {d}), alpha={v})",
    "sub alpha": "T.sub(t([1], {d}), t([2], {d}), alpha={v})",
    "addmm beta": "T.addmm(t([[1]], {d}), t([[1]], {d}), t([[1]], {d}), beta={v})",
    "baddbmm alpha": "T.baddbmm(t([[[1]]], {d}), t([[[1]]], {d}), t([[[1]]], {d}), alpha={v})",
    "addmv alpha": "T.addmv(t([1], {d}), t([[1]], {d}), t([1], {d}), alpha={v})",
    "index_add alpha": "t([1, 1], {d}).index_add(0, t([0]), t([1], {d}), alpha={v})",
    "add": "t([1, 0], {d}) + {v}",
    "rsub": "{v} - t([1, 0], {d})",
    "mul": "t([1, 2], {d}) * {v}",
    "floor_divide": "t([1, 2], {d}) // {v}",
    "remainder": "t([1, 2], {d}) % {v}",
    "pow": "t([1, 2], {d}) ** {v}",
    "rpow": "{v} ** t([1, 2], {d})",
    "and": "t([1, 2], {d}) & {v}",
    "shift": "t([1, 2], {d}) << {v}",
    "eq": "t([44, 127], {d}) == {v}",
    "lt": "t([44, 127], {d}) < {v}",
    "ge": "t([44, 127], {d}) >= {v}",
    "cast": "T.tensor([{v}] * 9).to({d})",
    "full, out": "T.full((2,), {v}, out=T.zeros(2, dtype={d}))",
}


def number(v: str) -> str:
    return v if v[0].isalpha() else f"({v})"


def values() -> Iterator[str]:
    for template in ENTRANCES.values():
        for d in DTYPES:
            for v in NUMBERS:
                yield template.format(d=d, v=number(v))


def factors() -> Iterator[str]:
    some = "-1 2 0.5 True -1.0 300 2**40 nan 1e30 1j 0".split()

    def of(d: str, rank: int, v: str) -> str:
        v = "True" if d == "b" else v
        return f"t({v}, {d})" if rank == 0 else f"t([{v}], {d})"

    for a, b in itertools.product(DTYPES, DTYPES):
        for ranks in [(1, 1), (0, 0), (1, 0), (0, 1)]:
            for alpha in some if ranks == (1, 1) else ["-1", "0.5", "True"]:
                for op in ("add", "sub", "rsub"):
                    yield f"T.{op}({of(a, ranks[0], '3')}, {of(b, ranks[1], '1')}, alpha={alpha})"
        yield f"x = {of(a, 1, '3')} ;; x.add_({of(b, 1, '1')}, alpha=-1) ;; x"
        yield f"T.sub({of(a, 1, '3')}, {of(b, 1, '1')}, alpha=2, out=T.zeros(1))"
    for d, s, alpha in itertools.product(DTYPES, ("1", "2.5", "True"), some):
        yield f"T.sub({of(d, 1, '3')}, {s}, alpha={alpha})"
    for d, beta, alpha in itertools.product(DTYPES, "1 2 0 0.5 True -1 2.0".split(), "1 3 0.5 0 -1".split()):
        m, v = f"t([[1, 2], [3, 4]], {d})", f"t([1, 2], {d})"
        yield f"T.addmm({m}, {m}, {m}, beta={beta}, alpha={alpha})"
        yield f"T.addmv({v}, {m}, {v}, beta={beta}, alpha={alpha})"
        yield f"T.baddbmm({m}[None], {m}[None], {m}[None], beta={beta}, alpha={alpha})"
    for x, beta, alpha in itertools.product(("nan", "inf"), ("0", "0.0", "False", "1"), ("1", "2.0")):
        for op, shape in (("addmm", "(2, 2)"), ("baddbmm", "(2, 2, 2)")):
            call = f"lambda a, m: T.{op}(a, m, m, beta={beta}, alpha={alpha})"
            yield f"grads({call}, T.full({shape}, {x}), T.ones({shape}))"
    for d, a, b, w in itertools.product(
        ("f16", "bf", "f32", "f64"), ("1e4", "0.1"), ("6e4", "-7.7"), ("0.1", "0.5", "0.7", "1.0")
    ):
        yield f"T.lerp(t([{a}], {d}), t([{b}], {d}), {w})"
        yield f"T.lerp(t([{a}], {d}), t([{b}], {d}), t([{w}], {d}))"
    for a, b, w in itertools.product(("inf", "-3e38"), ("-inf", "1.", "3e38"), ("0.", "1.", "0.25")):
        yield f"grads(lambda a, b, w: T.lerp(a, b, w), t([{a}]), t([{b}]), t([{w}]))"
    for d, w in itertools.product(DTYPES, ("1", "0.25")):
        yield f"T.lerp(t([1], {d}), t([3], {d}), {w})"


RANGES = """0,5,2 5,0,-2 0,5,-0.5 0.5,4.5,1 0.5,4.6,1.5 -2,3,1 250,260,1 -130,-120,1 0,1,0.1 1,2,0.3 1,1,1 1,0,1 0,1,0
0,1,nan 0,nan,1 -inf,0,1 2**53,2**53+5,1 2**53+1,2**53+10,3 -2**53-5,-2**53+5,3 2**62,2**62+5,1
2**63-5,2**63-1,3 2**63-1,2**63-5,-1 -2**63,-2**63+5,2 -2**63,2**63-1,2**62 2**63,2**63+3,1 0,2**64,2**62
0,1e19,1e18 5,5.5,1 0,0.9,1 1.9,4.1,1 0,10,2.5 0,255,100 0,300,100 300,0,-100 65000,66000,300 0,7,0.7 10,0,-0.1
2**24,2**24+7,1 2**31-3,2**31+3,1 0,True,1 0,1j,1 0,10**30,10**29 0,5,0.5""".split()
ENDS = """0,10 10,0 -5,5 0,255 0,-1 0.5,9.5 -0.5,0.5 3,3 2**53,2**53+5 -2**63,2**63-1 250,300 1e10,1e11 nan,1 0,inf
-100,100 0,1e39""".split()


def ranges() -> Iterator[str]:
    for d in [d for d in DTYPES if d != "b"]:
        for end in "0.5 2.5 5 130 True -3 0 nan 3.7".split():
            yield f"T.arange({end}, dtype={d})"
        for r in RANGES:
            yield f"T.arange({r}, dtype={d})"
        for e, n in itertools.product(ENDS, (0, 1, 2, 3, 4, 7)):
            yield f"T.linspace({e}, {n}, dtype={d})"
        for e in ENDS[:8]:
            start, end = e.split(",")
            yield f"T.linspace(T.tensor({start}), {end}, 4, dtype={d})"
    for r in RANGES:
        yield f"T.arange({r})"
    yield from (
        "T.arange(2, dtype=b)",
        "T.linspace(0, 1, 3, dtype=b)",
        "T.arange(5.)",
        "T.arange(2**62)",
        "T.arange(1e30)",
    )
    yield from ("T.arange(0, 9, 2, out=T.zeros(0, dtype=f64))", "T.full((1,), 255.9, out=T.zeros(1, dtype=f64))")


UNARY = """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p log2 log10 sqrt
rsqrt reciprocal erf erfc erfinv sigmoid lgamma digamma abs neg square sign floor ceil trunc round frac
positive""".split()
ACTIVATIONS = "logsigmoid softplus silu gelu leaky_relu elu softsign mish".split()
EXPONENTS = "0 1 2 3 4 0. 1. 2. 3. -1 -2 1.5 inf -inf nan".split()
BINARY = "add sub mul div atan2 hypot fmod remainder pow logaddexp".split()
POINTS = {
    "f64": "0.,-0.,1.,-1.,2.,-2.,0.5,-0.5,3.,inf,-inf,nan,1e-300,-1e-300,1e300,-1e300,100.,-100.,1e-3",
    "f32": "0.,-0.,1.,-1.,2.,-2.,0.5,-0.5,3.,inf,-inf,nan,1e-30,-1e-30,1e30,-1e30,100.,-100.,1e-3",
}


def pointwise() -> Iterator[str]:
    pairs = list(itertools.product(["0.", "-0.", "1.", "-1.", "2.", "0.5", "-3.", "inf", "-inf", "nan"], repeat=2))
    for d, points in POINTS.items():
        x = f"t([{points}], {d})"
        for name in UNARY:
            yield f"grads(T.{name}, {x})"
        for name in ACTIVATIONS:
            yield f"grads(F.{name}, {x})"
        for e in EXPONENTS:
            yield f"grads(lambda x: x ** {e}, {x})"
            yield f"grads(lambda x: {e} ** x, {x})"
            yield f"grads(lambda x: T.pow(x, t({e}, {d})), {x})"
        for low, high in [
            ("None", "nan"),
            ("nan", "1."),
            ("-1.", "1."),
            ("1.", "-1."),
            ("-inf", "inf"),
            ("0.", "None"),
        ]:
            yield f"grads(lambda x: T.clamp(x, {low}, {high}), {x})"
        a = f"t([{', '.join(p for p, _ in pairs)}], {d})"
        b = f"t([{', '.join(q for _, q in pairs)}], {d})"
        for name in BINARY:
            yield f"grads(T.{name}, {a}, {b})"
        for mode in ("floor", "trunc"):
            yield f"grads(lambda a, b: T.div(a, b, rounding_mode='{mode}'), {a}, {b})"
        for target in ("0.", "1.", "0.3"):
            loss = f"F.binary_cross_entropy(x, T.full_like(x, {target}), reduction='none')"
            yield f"grads(lambda x: {loss}, t([0., 1., 0.5, 1e-30, 1e-12], {d}))"
            logits = "t([0., 1., 200., -200., 50., -50., 1000., -1000.], "
            yield f"grads(lambda z: (lambda x: {loss})(T.sigmoid(z)), {logits}{d}))"
            loss = f"F.binary_cross_entropy_with_logits(x, T.full_like(x, {target}), reduction='none')"
            yield f"grads(lambda x: {loss}, {x})"


ROWS = """[2.,2.,2.] [0.,0.,0.] [5.] [-inf] [inf] [nan] [0.1,0.1,0.1,0.1,0.1,0.1,0.1] [1e30,-1e30,2e30]
[1e-30,2e-30,1e-30] [1e-23,3e-23] [inf,1.,2.] [-inf,-inf] [-inf,1.] [inf,inf] [nan,1.] [0.,1.,0.] [0.,0.,2.]
[3.,0.,4.] [-1.,0.,2.,2.] [1.,1.+1e-7]""".split()
REDUCTIONS = [
    *(f"T.{op}(x, correction={c})" for op in ("std", "var") for c in ("0", "1", "2", "0.5")),
    *("T.std(x, 0)", "T.var(x, unbiased=False)", "T.std(x, (0,), keepdim=True)"),
    *(f"T.linalg.vector_norm(x, {p})" for p in "inf -inf 0.5 1 2 3 -1 -2 1.5".split()),
    *(
        "T.norm(x)",
        "T.norm(x, 1, dim=0)",
        "T.linalg.norm(x, -1)",
        "T.dist(x, T.zeros_like(x), 3)",
        "T.linalg.matrix_norm(x[None])",
    ),
    *(
        "T.logsumexp(x, 0)",
        "T.softmax(x, 0)[:1]",
        "T.log_softmax(x, 0)[:1]",
        "T.prod(x)",
        "T.mean(x)",
        "T.cumsum(x, 0)",
    ),
    *("T.amax(x)", "T.amin(x, 0)", "T.max(x, 0)[0]", "T.kthvalue(x, 1)[0]", "T.sort(x)[0][:1]", "T.cummax(x, 0)[0]"),
    *(
        "F.rms_norm(x, x.shape)",
        "F.cross_entropy(x[None], T.tensor([0]))",
        "F.cross_entropy(x[None], T.tensor([0]), label_smoothing=0.1)",
    ),
]


def reductions() -> Iterator[str]:
    for d, row, call in itertools.product(POINTS, ROWS, REDUCTIONS):
        yield f"grads(lambda x: {call}, t({row}, {d}))"
    for d, row in itertools.product(POINTS, ("[2.,2.,2.]", "[5.]", "[0.,0.]", "[1.,2.]")):
        for call in (
            "T.std(x)",
            "T.var(x)",
            "T.std(x, correction=0)",
            "T.norm(x)",
            "T.linalg.vector_norm(x, 3)",
            "T.prod(x)",
        ):
            yield f"fn.hessian(lambda x: {call})(t({row}, {d}))"
            yield f"fn.jvp(lambda x: {call}, (t({row}, {d}),), (T.ones_like(t({row}, {d})),))"
    for d, x in itertools.product(POINTS, ("0.", "1.", "-2.")):
        for e in ("T.arange(4)", f"T.arange(4, dtype={d})"):
            yield f"fn.hessian(lambda x: (t([1., 2., 3., 4.], {d}) * x ** {e}).sum())(t({x}, {d}))"
            yield f"fn.grad(fn.grad(fn.grad(lambda x: (t([1., 2., 3., 4.], {d}) * x ** {e}).sum())))(t({x}, {d}))"
        for e in range(5):
            yield f"fn.grad(fn.grad(lambda x: x ** {e}))(t({x}, {d}))"
            yield f"fn.jacfwd(fn.jacfwd(lambda x: x ** t({e}., {d})))(t({x}, {d}))"
        for call in ("T.atan2(x[0], x[1])", "T.pow(x[0], x[1])"):
            yield f"fn.hessian(lambda x: {call})(t([0., {x}], {d}))"
            yield f"fn.jacfwd(lambda x: {call})(t([0., {x}], {d}))"


EXTREMES = {
    "u8": "[0, 1, 2, 7, 8, 255, 128]",
    "i8": "[0, 1, -1, -128, 127, 7, 8]",
    "i16": "[0, 1, -1, -32768, 32767, 15, 16]",
    "i32": "[0, 1, -1, -2147483648, 2147483647, 31, 32]",
    "i64": "[0, 1, -1, -2**63, 2**63-1, 63, 64]",
}


def integers() -> Iterator[str]:
    for d, x in EXTREMES.items():
        for op in "abs neg sign square bitwise_not reciprocal sqrt logical_not signbit".split():
            yield f"T.{op}(t({x}, {d}))"
        binary = (
            "floor_divide fmod remainder bitwise_left_shift bitwise_right_shift pow bitwise_xor add sub mul".split()
        )
        for op, s in itertools.product(binary, (-1, 0, 1, 2, 7, 8, 31, 32, 63, 64, 100, -2, -128)):
            yield f"T.{op}(t({x}, {d}), t([{s}]).to({d}))"
            yield f"T.{op}(t({s}).to({d}), t({x}, {d}))"
        for s in (-1, 0, 2):
            yield f"T.div(t({x}, {d}), {s}, rounding_mode='trunc')"
            yield f"T.div(t({x}, {d}), {s})"
        yield f"T.prod(t({x}, {d}), dtype={d})"
        yield f"T.cumsum(t({x}, {d}), 0, dtype={d})"


GRIDS: dict[str, Callable[[], Iterator[str]]] = {
    "values": values,
    "factors": factors,
    "ranges": ranges,
    "pointwise": pointwise,
    "reductions": reductions,
    "integers": integers,
    "arithmetic": grids_more.arithmetic,
    "choices": grids_more.choices,
    "layers": grids_more.layers,
    "halves": grids_more.halves,
    "specials": grids_more.specials,
}


# ---------------------------------------------------------------- evaluation
def namespace(module: str) -> dict[str, Any]:
    """The names that calls may use."""
    T = importlib.import_module(module)

    def t(x: Any, dtype: Any = None) -> Any:
        return T.tensor(x, dtype=dtype)

    def grads(f: Callable[..., Any], *xs: Any) -> list[Any]:
        """The value, the gradients of its sum, and the gradients of the sum of each."""
        xs = tuple(x.clone().requires_grad_() for x in xs)
        y = f(*xs)
        first = T.autograd.grad(y.sum(), xs, create_graph=True, allow_unused=True)
        out = [y, list(first)]
        for g in first:
            followed = g is not None and g.requires_grad
            out.append(list(T.autograd.grad(g.sum(), xs, allow_unused=True, retain_graph=True)) if followed else None)
        return out

    names = {short: getattr(T, name) for short, name in DTYPES.items()}
    names |= {
        "T": T,
        "F": importlib.import_module(f"{module}.nn.functional"),
        "fn": importlib.import_module(f"{module}.func"),
    }
    return names | {"t": t, "grads": grads, "inf": math.inf, "nan": math.nan}


def plain(x: Any) -> Any:
    """A number as JSON has it; a complex one as two."""
    if isinstance(x, list):
        return [plain(y) for y in x]
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    if isinstance(x, float):
        return x if math.isfinite(x) else repr(x)
    return x


def described(x: Any) -> Any:
    """A result as JSON: tensors by dtype, shape and flat values."""
    if isinstance(x, list | tuple):
        return ["list", *(described(y) for y in x)]
    if x is None:
        return None
    # Adding nothing turns PyTorch's symbolic zeros into ordinary ones.
    x = x.detach().clone()
    x = x + 0.0 if x.dtype.is_floating_point else x
    return ["tensor", str(x.dtype).rpartition(".")[2], list(x.shape), plain(x.reshape(-1).tolist())]


def outcome(call: str, names: dict[str, Any]) -> Any:
    """What a call gives: a described result, or the class of an exception."""
    names = dict(names)
    *statements, last = call.split(";;")
    try:
        for s in statements:
            exec(s.strip(), names)
        return described(eval(last.strip(), names))
    except Exception as error:
        return ["error", type(error).__name__]


# ---------------------------------------------------------------- comparison
TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-9, "complex64": 1e-5}


def close(x: Any, y: Any, tolerance: float) -> bool:
    if isinstance(x, list):
        return isinstance(y, list) and all(close(p, q, tolerance) for p, q in zip(x, y, strict=True))
    if isinstance(x, bool) or isinstance(y, bool):
        return x is y
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    a, b = float(x), float(y)
    if math.isnan(a) or math.isinf(a) or math.isnan(b) or math.isinf(b):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-37


def is_zero(x: Any) -> bool:
    """Whether a derivative is zero, said or not."""
    if x is None:
        return True
    if x[0] == "list":
        return all(is_zero(y) for y in x[1:])
    return x[0] == "tensor" and all(v in (0, 0.0) for v in x[3])


def same(x: Any, y: Any) -> bool:
    """Whether two outcomes agree."""
    if x is None or y is None:
        return is_zero(x) and is_zero(y)
    if x[0] != y[0]:
        return False
    if x[0] == "error":
        return True
    if x[0] == "list":
        return len(x) == len(y) and all(map(same, x[1:], y[1:]))
    return x[1:3] == y[1:3] and close(x[3], y[3], TOLERANCES.get(x[1], 0.0))


def load() -> dict[str, list[Any]]:
    """PyTorch's outcomes by grid, in the order of its calls."""
    with gzip.open(RECORDED, "rt") as f:
        stored = json.load(f)
    return {name: [grid["outcomes"][i] for i in grid["order"]] for name, grid in stored.items()}
