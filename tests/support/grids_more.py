"""More calls for tests/support/grids.py: mixed dtypes, factors of layers, empty, tied and NaN elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

NUMERIC = ("u8", "i8", "i16", "i32", "i64", "f16", "bf", "f32", "f64", "b")
INTEGERS = NUMERIC[:5]
FLOATS = NUMERIC[5:9]
COMPARES = "eq ne lt le gt ge".split()
SIGNED = "[-7, 7, -2, 0, 5]"
SMALL = "[7, 3, 2, 0, 5]"


def items(d: str) -> str:
    return "[True, False, True, False, True]" if d == "b" else SMALL if d == "u8" else SIGNED


def arithmetic() -> Iterator[str]:
    """Two dtypes, ranks and Python numbers, in every form."""
    ops = "add sub mul div floor_divide remainder fmod pow maximum minimum atan2 hypot logaddexp true_divide".split()
    bits = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
    logic = "logical_and logical_or logical_xor".split()
    for a, b in itertools.product(NUMERIC, NUMERIC):
        for op in [*ops, *COMPARES, *bits, *logic]:
            if op not in ("pow", "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "remainder", "fmod"):
                yield f"T.{op}(t({items(a)}, {a}), t({items(b)}, {b}))"
            right = "True" if b == "b" else "3"
            yield f"T.{op}(t({items(a)}, {a}), t({right}, {b}))"
        for op in ("add_", "sub_", "mul_", "div_", "floor_divide_", "remainder_", "pow_", "bitwise_and_", "eq_"):
            right = "True" if b == "b" else "3"
            yield f"x = t({items(a)}, {a}) ;; x.{op}(t([{right}], {b})) ;; x"
        for op in ("add", "mul", "div", "eq", "sqrt"):
            args = f"t({items(a)}, {a})" + ("" if op == "sqrt" else ", t([3], i64)")
            yield f"T.{op}({args}, out=T.zeros(5, dtype={b}))"
        yield f"T.where(t([True, False, True, False, True]), t({items(a)}, {a}), t({items(b)}, {b}))"
        yield f"T.where(t([True, False, True, False, True]), t({items(a)}, {a}), t(2, {b}))"
        yield f"T.clamp(t({items(a)}, {a}), t(1, {b}), t([4], {b}))"
        yield f"T.clamp(t({items(a)}, {a}), t([5], {b}), t([2], {b}))"
        yield f"T.cat([t({items(a)}, {a}), t({items(b)}, {b})])"
        yield f"T.stack([t({items(a)}, {a}), t({items(b)}, {b})])"
        yield f"t({items(a)}, {a}).masked_fill(t([True, False, True, False, True]), t(2, {b}))"
        yield f"x = t({items(a)}, {a}) ;; x[1:3] = t([1, 0], {b}) ;; x"
        yield f"x = t({items(a)}, {a}) ;; x.copy_(t({items(b)}, {b})) ;; x"
        yield f"t({items(a)}, {a}).index_fill(0, t([1, 2]), t(1, {b}))"
        yield f"t({items(a)}, {a}).scatter(0, t([1, 2]), t([1, 0], {b}))"
        yield f"T.isclose(t({items(a)}, {a}), t({items(b)}, {b}))"
    yield from numbers()


def numbers() -> Iterator[str]:
    """Python numbers, zeros, and what floats do not tell apart."""
    for d, n in itertools.product(NUMERIC, ("2", "-2", "0", "2.5", "-0.5", "True", "0.0")):
        x = f"t({items(d)}, {d})"
        for op in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "<", ">="):
            if op in ("//", "%") and n in ("0", "True") and d in INTEGERS:
                continue
            yield f"{x} {op} {n}"
            yield f"{n} {op} {x}"
        for op in ("add_", "mul_", "div_", "pow_", "floor_divide_", "remainder_", "fmod_", "sub_"):
            if n in ("0", "True") and d in INTEGERS and op[0] in "fr":
                continue
            yield f"x = {x} ;; x.{op}({n}) ;; x"
        for op in ("fmod", "remainder", "div", "true_divide"):
            if n in ("0", "True") and d in INTEGERS and op[0] in "fr":
                continue
            yield f"T.{op}({x}, {n})"
        for mode in ("None", "'floor'", "'trunc'"):
            if n not in ("0", "True"):
                yield f"T.div({x}, {n}, rounding_mode={mode})"
    for d in INTEGERS:
        for op in ("floor_divide", "remainder", "fmod"):
            yield f"T.{op}(t([5], {d}), t([0], {d}))"
            yield f"T.{op}(t([5], {d}), 0)"
    for a, b in itertools.product(
        "2**53 2**53+1 2**63-1 -2**63 0".split(), "2.0**53 9.3e18 9.2e18 -9.3e18 inf nan 0.5".split()
    ):
        for op in COMPARES:
            yield f"T.{op}(t([{a}]), {b})"
            yield f"T.{op}(t([{a}]), t([{b}], f64))"
            yield f"T.{op}(t([{a}]), t({b}, f32))"
    for d in FLOATS:
        for a, b in itertools.product(("inf", "-inf", "nan", "0.", "1e4", "1."), repeat=2):
            yield f"T.isclose(t([{a}], {d}), t([{b}], {d}))"
            yield f"T.isclose(t([{a}], {d}), t([{b}], {d}), equal_nan=True, rtol=1., atol=1.)"
            for op in ("floor_divide", "remainder", "fmod", "maximum", "minimum", "pow", "logical_and", "logical_xor"):
                yield f"T.{op}(t([{a}], {d}), t([{b}], {d}))"


TIES = {
    "ints": "[[3, 1, 3, 1], [2, 2, 2, 2], [0, 5, 5, 0]]",
    "nan": "[[1., nan, 3., nan], [nan, nan, nan, nan], [2., 2., inf, -inf]]",
    "floats": "[[0., -0., 0., -0.], [inf, inf, 1., -inf], [1., 1., 2., 2.]]",
    "even": "[[4., 1., 3., 2.], [1., 1., 1., 5.], [2., 3., 2., 3.]]",
}
ALONG = """T.{op}(x, 1)|T.{op}(x, 0, keepdim=True)|T.{op}(x)"""
CHOICES = [
    *(f"T.{op}({a})" for op in ("argmax", "argmin") for a in ("x", "x, 1", "x, 0, keepdim=True", "x, -1, True")),
    *(f"T.{op}({a})" for op in ("max", "min") for a in ("x", "x, 1", "x, 0, keepdim=True", "x, dim=-1")),
    *(f"T.{op}({a})" for op in ("amax", "amin") for a in ("x", "x, 1", "x, (0, 1), True")),
    *(f"T.sort(x, {a})" for a in ("1", "dim=1, stable=True", "dim=0, descending=True, stable=True")),
    *(f"T.argsort(x, {a})" for a in ("dim=1, stable=True", "dim=0, descending=True, stable=True")),
    *(f"T.topk(x, {a})[0]" for a in ("2", "1, 0", "2, 1, False", "3, 1, True, True")),
    *(f"T.kthvalue(x, {a})[0]" for a in ("1", "2, 1", "3, 0, True", "4")),
    *(f"T.{op}(x, {d})" for op in ("cummax", "cummin") for d in (0, 1)),
    *(f"T.cumsum(x, {a})" for a in ("0", "1", "1, dtype=f64", "1, dtype=i32")),
    *(f"T.{op}({a})" for op in ("all", "any") for a in ("x", "x, 1", "x, dim=0, keepdim=True", "x, (0, 1)")),
    *(
        f"T.{op}({a})"
        for op in ("sum", "prod", "mean")
        for a in ("x", "x, 1", "x, 0, keepdim=True", "x, dtype=f64", "x, 1, dtype=i64")
    ),
    *(
        f"T.{op}({a})"
        for op in ("std", "var")
        for a in ("x", "x, 1", "x, 0, False", "x, dim=1, correction=0, keepdim=True", "x, unbiased=False")
    ),
    *("T.logsumexp(x, 1)", "T.logsumexp(x, (0, 1), True)", "T.softmax(x, 1)", "T.log_softmax(x, 0)", "T.nonzero(x)"),
    *(
        "T.softmax(x, 1, dtype=f64)",
        "T.norm(x)",
        "T.norm(x, 1, 0)",
        "T.trace(x)",
        "T.diag(x)",
        "T.tril(x, -1)",
        "T.triu(x, 1)",
    ),
    *("x.flip(0)", "x.roll(1)", "x.roll((1, 2), (0, 1))", "T.isnan(x)", "T.isinf(x)", "T.isfinite(x)", "T.signbit(x)"),
    *(
        "T.logical_not(x)",
        "x.abs()",
        "x.sign()",
        "-x",
        "x.round()",
        "x.trunc()",
        "x.reciprocal()",
        "x.exp()",
        "x.square()",
    ),
    *(
        "x.bool()",
        "x.to(i64)",
        "x.to(u8)",
        "x.to(f16)",
        "x.to(i8)",
        "x @ x.T",
        "T.linalg.vector_norm(x)",
        "T.masked_select(x, x > 1)",
    ),
    *(
        "T.linalg.vector_norm(x, 0)",
        "T.linalg.vector_norm(x, inf, 1)",
        "T.dist(x, x.flip(0), 1)",
        "T.einsum('ij,ij->i', x, x)",
    ),
    *(
        f"F.{op}(x)"
        for op in "relu relu6 hardtanh leaky_relu elu gelu silu mish softsign softplus logsigmoid glu".split()
    ),
]
EMPTY = [
    *(
        f"T.{op}({a})"
        for op in "sum prod mean amax amin max min argmax argmin all any std var logsumexp".split()
        for a in ("x", "x, 0", "x, 1", "x, 1, True")
    ),
    *(
        "T.sort(x)",
        "T.topk(x, 0)",
        "T.kthvalue(x, 1)",
        "T.cumsum(x, 0)",
        "T.cummax(x, 1)",
        "T.cummax(x, 0)",
        "T.softmax(x, 0)",
    ),
    *(
        "T.linalg.vector_norm(x, inf)",
        "T.linalg.vector_norm(x, -1)",
        "T.linalg.vector_norm(x, 0)",
        "T.linalg.vector_norm(x, inf, 1)",
    ),
    *(
        "T.cat([x, x])",
        "T.stack([x, x])",
        "x @ x.T",
        "x.T @ x",
        "T.nonzero(x)",
        "x.flip(0)",
        "x.roll(1, 0)",
        "x.T",
        "x.reshape(-1)",
    ),
    *(
        "x.reshape(0, 7)",
        "x.view(0, -1)",
        "x.unsqueeze(1)",
        "x.sum(()).shape",
        "x.split(1)",
        "x.chunk(2)",
        "x.unbind(1)",
    ),
    *(
        "F.mse_loss(x, x)",
        "F.l1_loss(x, x, reduction='sum')",
        "F.relu(x)",
        "F.softmax(x, 1)",
        "F.layer_norm(x, (3,))",
        "F.dropout(x)",
    ),
]


def choices() -> Iterator[str]:
    """Reductions, choices and sorts of equal, NaN and empty elements."""
    for call in CHOICES:
        for x in TIES:
            dtypes = ("i64", "u8", "i32", "f32", "b") if x == "ints" else FLOATS if x != "even" else ("f64", "f16")
            for d in dtypes:
                yield f"x = t({TIES[x]}, {d}) ;; {call}"
    for call, d in itertools.product(EMPTY, ("f32", "i64", "b")):
        yield f"x = T.zeros(0, 3, dtype={d}) ;; {call}"
    for call, d in itertools.product(CHOICES, ("f32", "i64")):
        if "T.d" not in call and "@" not in call and "einsum" not in call and "tri" not in call:
            yield f"x = t(3, {d}) ;; {call.replace('1', '0').replace('(0, 0)', '0')}"


def losses(d: str, x: str) -> Iterator[str]:
    other = f"t([0.5, 2., 1., 0., 1., 0., 0.25, 1., 2., 3., 1., 0.], {d})"
    for r in ("'none'", "'mean'", "'sum'"):
        for loss in ("mse_loss", "l1_loss", "huber_loss"):
            yield f"F.{loss}({x}, {other}, reduction={r})"
        for delta in ("0.5", "3", "0", "-1", "1e4"):
            yield f"F.huber_loss({x}, {other}, reduction={r}, delta={delta})"
        yield f"F.kl_div({x}, {other}, reduction={r})"
        yield f"F.kl_div({x}, {other}, reduction={r}, log_target=True)"
        prob = f"t([0., 1., 0.5, 0.25], {d})"
        yield f"F.binary_cross_entropy({prob}, t([0., 1., 1., 0.5], {d}), reduction={r})"
        yield f"F.binary_cross_entropy({prob}, t([1., 0., 1., 0.5], {d}), t([0., 2., 1., 1.], {d}), reduction={r})"
        yield f"F.binary_cross_entropy({prob} + 1, {prob}, reduction={r})"
        yield f"F.binary_cross_entropy({prob}, {prob} - 1, reduction={r})"
        yield f"F.binary_cross_entropy_with_logits({x}, {other}, reduction={r})"
        yield f"F.binary_cross_entropy_with_logits({x}, {other}, {other}, pos_weight={other}, reduction={r})"
        logits = f"t([[1., 2., 0.5], [-inf, 0., 1.], [3., 3., 3.], [100., -100., 0.]], {d})"
        classes = "t([0, 2, -100, 1])"
        for weight in ("None", f"t([0., 1., 2.], {d})"):
            for ignore in ("-100", "1"):
                target = classes if ignore == "-100" else "t([0, 2, 1, 1])"
                yield f"F.nll_loss({logits}, {target}, {weight}, ignore_index={ignore}, reduction={r})"
                for s in ("0", "0.3", "1", "-0.1", "1.5"):
                    yield (
                        f"F.cross_entropy({logits}, {target}, {weight}, ignore_index={ignore}, reduction={r}, "
                        f"label_smoothing={s})"
                    )
            soft = f"t([[1., 0., 0.], [0., 0.5, 0.5], [0.2, 0.2, 0.6], [0., 0., 0.]], {d})"
            for s in ("0", "0.3"):
                yield f"F.cross_entropy({logits}, {soft}, {weight}, reduction={r}, label_smoothing={s})"
        yield f"F.nll_loss({logits}, t([-100, -100, -100, -100]), reduction={r})"
        yield f"F.nll_loss({logits}, t([0, 3, 0, 0]), reduction={r})"


def norms(d: str) -> Iterator[str]:
    m = f"t([[1., 2., 4.], [5., 5., 5.], [0., -1., 1.]], {d})"
    for eps in ("1e-5", "0.", "0.5", "-0.1"):
        yield f"F.layer_norm({m}, (3,), eps={eps})"
        yield f"F.layer_norm({m}, (3,), t([0., 1., 2.], {d}), t([1., 0., 0.], {d}), eps={eps})"
        yield f"F.rms_norm({m}, (3,), eps={eps})"
        yield f"F.group_norm({m}, 3, eps={eps})"
        yield f"F.group_norm({m}, 1, t([0., 1., 2.], {d}), eps={eps})"
        yield f"F.batch_norm({m}, None, None, training=True, eps={eps})"
        yield f"F.batch_norm({m}, T.zeros(3, dtype={d}), T.ones(3, dtype={d}), eps={eps})"
        for mom in ("0", "0.3", "1"):
            args = f"{m}, a, b, training=True, momentum={mom}, eps={eps}"
            yield f"a = T.zeros(3, dtype={d}) ;; b = T.ones(3, dtype={d}) ;; F.batch_norm({args}) ;; [a, b]"
    for p in "0 1 2 3 -1 -2 0.5 inf -inf".split():
        yield f"T.norm({m}, {p}, 1)"
        yield f"T.linalg.vector_norm({m}, {p}, (0, 1), True)"
        yield f"T.dist({m}, {m}.flip(1), {p})"
    for p in "1 -1 inf -inf 'fro' 'nuc' 2 -2".split():
        if d in ("f32", "f64"):
            yield f"T.linalg.matrix_norm({m}, {p})"
    img = f"T.arange(16, dtype={d}).reshape(1, 1, 4, 4) - 8"
    for k, s, p, extra in itertools.product((2, 3), (1, 2), (0, 1), ("", ", ceil_mode=True")):
        yield f"F.max_pool2d({img}, {k}, {s}, {p}{extra})"
        yield f"F.avg_pool2d({img}, {k}, {s}, {p}{extra})"
        yield f"F.avg_pool2d({img}, {k}, {s}, {p}{extra}, count_include_pad=False)"
        yield f"F.avg_pool2d({img}, {k}, {s}, {p}{extra}, divisor_override=3)"
    for mode in ("'constant'", "'reflect'", "'replicate'", "'circular'"):
        for pad in ("(1, 1)", "(2, 1)", "(0, 3)", "(-1, 1)", "(1, 1, 2, 1)"):
            yield f"F.pad({img}, {pad}, mode={mode})"


def layers() -> Iterator[str]:
    """Factors and limits of activations, losses and norms."""
    points = "[-inf, -3., -1., -0.5, -0., 0., 0.5, 1., 3., 25., inf, nan]"
    for d in FLOATS:
        x = f"t({points}, {d})"
        for a in ("0.", "0.2", "-1.", "2", "nan", "inf"):
            yield f"F.leaky_relu({x}, {a})"
            yield f"F.elu({x}, {a})"
            yield f"F.softplus({x}, beta={a if a not in ('0.', 'nan') else '3'}, threshold={a})"
            yield f"F.hardtanh({x}, -1, {a})"
        yield from (f"F.softplus({x}, {b}, {c})" for b in ("0.5", "2", "-2") for c in ("20", "1", "0", "-3"))
        yield from (f"F.gelu({x}, approximate={m})" for m in ("'none'", "'tanh'", "'other'"))
        yield from (f"T.round({x} * 1.2345, decimals={n})" for n in ("0", "1", "3", "-1", "20"))
        for low, high in itertools.product(("None", "-1", "0.5", "inf", "nan"), ("None", "1", "-2", "-inf", "nan")):
            yield f"T.clamp({x}, {low}, {high})"
            bounds = [v if v == "None" else f"t([{v}], {d})" for v in (low, high)]
            yield f"T.clamp({x}, {bounds[0]}, {bounds[1]})"
        yield from losses(d, x)
        yield from norms(d)
    for d in INTEGERS:
        x = f"t([-3, -1, 0, 1, 3, 100], {'i8' if d == 'u8' else d}).to({d})"
        yield from (f"F.{op}({x})" for op in ("relu", "relu6", "hardtanh", "leaky_relu", "elu", "softsign", "silu"))
        yield from (f"T.clamp({x}, {a}, {b})" for a, b in (("1", "2"), ("2", "1"), ("0.5", "1.5"), ("None", "2")))
        yield from (f"F.{op}({x}, {x}.flip(0))" for op in ("mse_loss", "l1_loss", "huber_loss"))
        yield f"F.hardtanh({x}, -2, 2)"
        yield f"F.hardtanh({x}, 0.5, 2.5)"
        yield f"F.hardtanh({x}, -1000, 1000)"


HALVES = {
    "big": "[300., 400., -300., 200.]",
    "huge": "[60000., 50000., 60000., -1.]",
    "small": "[1e-4, 2e-4, -1e-4, 3e-7]",
    "mix": "[1000., 1001., 1002., 1003.]",
    "long": "[((i * 37) % 101 - 50) / 7. for i in range(3000)]",
}
HALF_CALLS = [
    *(f"T.{op}(x)" for op in "mean sum norm std var".split()),
    *(f"T.{op}(x)[:20]" for op in "sigmoid tanh sqrt exp square trunc".split()),
    *(f"T.linalg.vector_norm(x, {p})" for p in ("1", "3", "-2", "1.5", "0.5", "inf")),
    *("T.norm(x, 1)", "T.linalg.matrix_norm(x[None])", "T.std(x, correction=0)", "T.logsumexp(x, 0)", "T.dist(x, -x)"),
    *(
        "T.softmax(x, 0)[:20]",
        "T.log_softmax(x, 0)[:20]",
        "T.cumsum(x, 0)[-3:]",
        "T.prod(x[:4] / 200)",
        "T.dot(x, x)",
        "x[None] @ x[:, None]",
    ),
    *(
        "F.layer_norm(x, x.shape)[:20]",
        "F.layer_norm(x, x.shape, T.full_like(x, 3.), T.full_like(x, 1.))[:20]",
        "F.rms_norm(x, x.shape)[:20]",
    ),
    *(
        "F.group_norm(x[None], 1)[0, :20]",
        "F.group_norm(x.reshape(1, 2, -1), 2)[0, 0, :20]",
        "F.linear(x[None], x[None])",
    ),
    "F.batch_norm(x[:20, None], T.full((1,), 300., dtype=x.dtype), T.full((1,), 1e4, dtype=x.dtype))",
    *("F.mse_loss(x, x * 0)", "F.l1_loss(x, x * 0)", "F.huber_loss(x, x * 0)"),
    *("F.huber_loss(x, x * 0, delta=1e3, reduction='none')[:9]", "F.avg_pool1d(x[None, None], 4)[0, 0, :5]"),
    *("F.adaptive_avg_pool1d(x[None, None], 1)", "F.cross_entropy(x[None], T.tensor([1]))"),
    *("F.binary_cross_entropy_with_logits(x, T.full_like(x, .3))", "F.kl_div(x, T.softmax(x, 0))"),
    "F.scaled_dot_product_attention(x[None, :, None], x[None, :, None], x[None, :, None])[0, :5]",
    *(f"F.{op}(x)[:20]" for op in "gelu silu mish softplus softsign elu relu6 leaky_relu logsigmoid glu".split()),
    *("T.hypot(x, x)[:20]", "T.atan2(x, x + 1)[:20]", "T.lerp(x, x * 0 + 1, .3)[:20]", "T.pow(T.abs(x), 1.7)[:20]"),
    *(
        "T.round(x, decimals=2)[:20]",
        "T.round(x, decimals=8)[:20]",
        "T.einsum('i,i->', x, x)",
        "T.add(x, x, alpha=.3)[:20]",
    ),
    *(f"(x {op} {n})[:20]" for op in "+-*/" for n in ("1e5", "1e-5", "1e-8", "-1e6", "2**20", "0.1", "1e300", "inf")),
    *(f"({n} {op} x)[:20]" for op in "+-*/" for n in ("1e5", "1e-5", "1e-8", "2**20", "1e300")),
    *("x = x.clone() ;; x.mul_(1e5) ;; x[:5]", "x = x.clone() ;; x.div_(1e-6) ;; x[:5]", "T.mul(x, 1e5)[:5]"),
]
HALF_GRADIENTS = [
    *(
        "T.mean(x)",
        "T.norm(x)",
        "T.std(x)",
        "T.linalg.vector_norm(x, 1.5)",
        "F.gelu(x)",
        "F.silu(x)",
        "F.mish(x)",
        "F.softplus(x)",
    ),
    *(
        "x * 1e5",
        "x / 1e-5",
        "F.elu(x)",
        "T.logsumexp(x, 0)",
        "F.huber_loss(x, x * 0)",
        "F.mse_loss(x, x * 0)",
        "F.rms_norm(x, x.shape)[:1]",
    ),
    *(
        "F.layer_norm(x, x.shape)[:1]",
        "F.binary_cross_entropy_with_logits(x, T.full_like(x, .3))",
        "F.sigmoid(x)",
        "T.lerp(x, x * 0, .3)",
    ),
]


def halves() -> Iterator[str]:
    """Half precision: what only overflows or vanishes on the way must not."""
    for d, x in itertools.product(("f16", "bf"), HALVES.values()):
        for call in HALF_CALLS:
            yield f"x = t({x}, {d}) ;; {call}"
        for call in HALF_GRADIENTS:
            yield f"x = t({x}, {d}).requires_grad_() ;; T.autograd.grad(({call}).sum(), x)[0][:20]"


SPECIAL = "[[1., nan, inf], [-inf, 2., 0.], [3., -0., 1e30]]"
WHOLE = "[[1, 0, 3], [2, 5, 0], [0, 1, 7]]"
# One call each, separated by bars.
EVERYWHERE = """
T.cumsum(x, 0) | T.cumsum(x, 1) | x.T@x | T.einsum('ij,kj->ik', x, x) | T.trace(x) | T.diagonal(x) | T.tril(x) |
T.triu(x, 1) | T.outer(x[0], x[1]) | T.tensordot(x, x, 1) | T.mv(x, x[0]) | T.addmv(x[0], x, x[1], beta=0) |
T.addmm(x, x, x, beta=0, alpha=0) | T.addmm(x, x, x, alpha=0) | T.addmm(x, x*0, x) |
T.baddbmm(x[None], x[None], x[None], beta=0) | T.roll(x, 1) | T.flip(x, (0, )) | F.avg_pool1d(x, 2) |
F.max_pool1d(x, 2) | F.max_pool1d(x, 2, return_indices=True) | F.adaptive_avg_pool1d(x, 2) |
F.adaptive_max_pool1d(x, 2) | F.adaptive_max_pool1d(x, 2, return_indices=True) | F.max_pool2d(x[None], 2) |
F.max_pool2d(x[None], 2, return_indices=True) | F.max_pool2d(x[None], 2, 1, 1, return_indices=True) |
F.conv1d(x[None], x[None, :, :2]) | F.conv1d(x[None], x[None, :, :2], padding=1) | F.pad(x, (1, 1)) |
F.pad(x, (1, 1), value=nan) | F.softmax(x, 0) | F.softmax(x, 1) | F.log_softmax(x, 1) | F.layer_norm(x, (3, )) |
F.rms_norm(x, (3, )) | F.dropout(x, 0.) | F.dropout(x, 1.) | F.dropout(x, .5, False) |
x.scatter_add(0, t([[0, 0, 1]]), x) | x.scatter(0, t([[0, 0, 1]]), x, reduce='add') |
x.scatter(0, t([[0, 2, 1]]), x, reduce='multiply') | x.index_add(0, t([1, 1]), x[:2], alpha=0) |
x.index_add(0, t([1, 1]), x[:2], alpha=-2) | x.masked_fill(x>0, 0) | x.masked_select(x==x) | T.where(x>0, x, 0) |
T.where(x>0, 1, 2) | T.where(x>0, 1., x) | x.nonzero() | x.bool() | x.any(1) | x.all(0) | x==x | x!=x | x<=x |
T.isclose(x, x) | T.isclose(x, x, equal_nan=True) | T.equal(x, x) | T.allclose(x, x, equal_nan=True) |
T.maximum(x, x.T) | T.minimum(x, x.T) | x.clamp(0, 1) | x.sort(dim=0, stable=True)[0] |
x.sort(dim=1, descending=True, stable=True) | x.argmax() | x.argmin(1) | x.max(1) | x.min(0) | x.topk(2) |
x.topk(2, largest=False)[0] | x.kthvalue(2)[0] | x.cummax(1) | x.cummin(0) | x.prod() | x.prod(1) | x.mean(0) |
x.std(0) | x.var(1) | x.norm() | x.norm(0) | x.norm(inf) | x.norm(-inf) | x.logsumexp(0) | T.logaddexp(x, x.T) |
T.hypot(x, x.T) | T.atan2(x, x.T) | T.fmod(x, 2) | T.remainder(x, -2) | x//2 | x%0. | x//0. | x**2 | x**0.5 |
2**x | 0**x | x**x | T.lerp(x, x.T, .5) | T.lerp(x, x.T, x) | T.signbit(x) | x.frac() | x.trunc() | x.round() |
x.floor() | T.round(x, decimals=1) | F.mse_loss(x, x.T) | F.l1_loss(x, x.T, reduction='sum') |
F.huber_loss(x, x.T, reduction='none') | F.kl_div(x, x.T, reduction='none') |
F.kl_div(x, x.T, reduction='batchmean') | F.nll_loss(x, t([0, 1, 2])) |
F.cross_entropy(x, t([0, 1, 2]), reduction='none') |
F.cross_entropy(x, t([0, 1, 2]), label_smoothing=.1, reduction='none') |
F.embedding(t([0, 2, 0]), x, padding_idx=0) | F.one_hot(t([0, 2]), 4) | F.linear(x, x, x[0]) |
F.unfold(x[None, None], 2) | F.fold(x.reshape(1, 1, 9)[:, :, :4].reshape(1, 4, 1), (2, 2), 2) | T.diag_embed(x) |
T.cat([x, x], 1) | T.stack([x, x], 2) | x.repeat(2, 1) | T.linspace(0, 1, 3, dtype=x.dtype) |
T.eye(3, dtype=x.dtype)*x | T.linalg.norm(x, 1) | T.linalg.norm(x, inf) | T.linalg.vector_norm(x, 0) |
T.linalg.vector_norm(x, -1) | T.dist(x, x.T) | x.expand(2, 3, 3).sum(0) | T.take_along_dim(x, t([[0, 1, 0]]), 0) |
T.index_select(x, 1, t([2, 0])) | T.gather(x, 1, t([[0], [1], [2]])) | T.special.expm1(x) | T.special.expit(x) |
T.special.log1p(x) | T.erfinv(x) | T.lgamma(x) | T.digamma(x) | T.logical_and(x, x.T) | T.logical_xor(x, x.T) |
T.logical_not(x) | x.double().to(x.dtype) | x.reciprocal() | x.rsqrt() | T.broadcast_to(x[0], (2, 3)) |
T.positive(x) | T.abs(x) | T.sign(x) | T.exp2(x) | T.log10(x) | T.log2(x) | T.tan(x) | T.asinh(x) | T.acosh(x) |
T.atanh(x)"""
ROUNDED = """[0., 1., -1., 0.5, -0.9, 127.5, 128., 255., 256., -128.5, -129., 300., 32767., 32768., 65504., 65520.,
2.**31, -2.**31, 3e9, -3e9]"""
LIMITS = (
    """[0, 1, -1, 127, 128, 255, 256, -128, -129, 32767, 32768, 2**31-1, 2**31, -2**31, 2**53+1, 2**63-1, -2**63]"""
)


def specials() -> Iterator[str]:
    """Every kind of operator at infinity and NaN, and on integers; conversions at the limits of dtypes."""
    for call in EVERYWHERE.replace("\n", "").split("|"):
        for d in FLOATS:
            yield f"x = t({SPECIAL}, {d}) ;; {call.strip()}"
        for d in ("u8", "i8", "i32", "i64", "b"):
            yield f"x = t({WHOLE}).to({d}) ;; {call.strip()}"
    for a, b in itertools.product(FLOATS, NUMERIC):
        x = f"t({ROUNDED}, {a})".replace("\n", " ")
        yield f"{x}.to({b})"
        yield f"x = T.zeros(20, dtype={b}) ;; x.copy_({x}) ;; x"
    for d in NUMERIC:
        yield f"t({LIMITS}).to({d})"
        yield f"t({LIMITS}).to({d}).to(f64)"
        yield f"t({LIMITS}).float().to({d})"
