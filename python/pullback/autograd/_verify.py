"""Checks of the rules of a Function on sample arguments."""

import itertools

import pullback
from pullback import _core

from ..utils import pytree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

FLOATS = (pullback.float64, pullback.float32)
MOST_DIMS = 64  # choices of in_dims that are tried


_own: "Any" = _core


class Failed(Exception):
    """A check did not hold."""


class Skipped(Exception):
    """A check does not apply."""


def close(got: "Any", expected: "Any", what: str, loose: bool = False) -> None:
    """Raises Failed unless all tensors of two trees are close and everything else is equal."""
    a, structure = pytree.tree_flatten(got)
    b, other = pytree.tree_flatten(expected)
    if structure != other:
        raise Failed(f"{what}: {structure} instead of {other}")
    for x, y in zip(a, b, strict=True):
        if not isinstance(y, pullback.Tensor):
            continue
        if x.shape != y.shape or x.dtype != y.dtype:
            raise Failed(f"{what}: {x.dtype} of shape {list(x.shape)}, not {y.dtype} of shape {list(y.shape)}")
        if not y.numel():
            continue
        tolerance = 1e-4 if loose and y.dtype == pullback.float64 else 1e-9 if y.dtype == pullback.float64 else 1e-3
        if not y.dtype.is_floating_point:
            if not (x == y).all():
                raise Failed(f"{what}: values differ")
            continue
        bound = tolerance * (1 + y.abs().amax())
        worst = (x - y).abs().amax()
        if not worst <= bound:
            raise Failed(f"{what}: differs by {float(worst):.2g}")


def is_float(x: "Any") -> bool:
    return isinstance(x, pullback.Tensor) and x.dtype.is_floating_point


class Sample:
    """A function of its floating point tensors only, around the arguments of one call."""

    def __init__(
        self,
        function: "Any",
        args: "tuple[Any, ...]",
        kwargs: "dict[str, Any] | None" = None,
        fixed: "frozenset[int]" = frozenset(),
    ) -> None:
        """`fixed`: numbers of arguments that are not differentiated."""
        self.function, self.fixed = function, fixed
        self.leaves, self.structure = pytree.tree_flatten((args, kwargs or {}))
        self.leaves = [x.detach() if isinstance(x, pullback.Tensor) else x for x in self.leaves]
        sizes = [len(pytree.tree_leaves(x)) for x in args]
        held = {i for n in fixed for i in range(sum(sizes[:n]), sum(sizes[: n + 1]))}
        self.places = [i for i, x in enumerate(self.leaves) if is_float(x) and i not in held]
        self.tensors = [i for i, x in enumerate(self.leaves) if isinstance(x, pullback.Tensor)]

    @property
    def floats(self) -> "tuple[Any, ...]":
        return tuple(self.leaves[i] for i in self.places)

    def call(self, leaves: "list[Any]") -> "Any":
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return self.function.apply(*args, **kwargs)

    def results(self, *floats: "Any") -> "tuple[Any, ...]":
        """The results that have a derivative, given the floating point arguments."""
        leaves = list(self.leaves)
        for i, x in zip(self.places, floats, strict=True):
            leaves[i] = x
        return tuple(y for y in pytree.tree_leaves(self.call(leaves)) if is_float(y))

    def differentiable(self) -> "list[bool]":
        """Which floating point results carry a derivative."""
        outs = self.results(*(x.clone().requires_grad_() for x in self.floats))
        return [bool(y.requires_grad) for y in outs]

    def with_leaves(self, change: "Callable[[Any], Any]") -> "Sample":
        leaves = [change(x) if isinstance(x, pullback.Tensor) else x for x in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return Sample(self.function, args, kwargs, self.fixed)


def direction(x: "Any", seed: int) -> "Any":
    """A tensor like `x` of fixed numbers in (-1, 1), without touching the generator."""
    n = pullback.arange(x.numel(), dtype=pullback.float64)
    return (n * (12.9898 + seed) + seed + 1).sin().reshape(x.shape).to(x.dtype)


def numeric(s: "Sample", tangents: "tuple[Any, ...]") -> "list[Any]":
    """Directional derivatives by central differences."""
    h = 1e-5
    plus = s.results(*(x + h * t for x, t in zip(s.floats, tangents, strict=True)))
    minus = s.results(*(x - h * t for x, t in zip(s.floats, tangents, strict=True)))
    return [(p - m) / (2 * h) for p, m in zip(plus, minus, strict=True)]


def need(s: "Sample", ok: bool, why: str) -> None:
    if not ok:
        raise Skipped(why)


def check_reverse(s: "Sample") -> None:
    """The cotangents against finite differences."""
    need(s, all(x.dtype == pullback.float64 for x in s.floats), "needs float64 samples")
    tangents = tuple(direction(x, 1) for x in s.floats)
    outs, pull = pullback.func.vjp(s.results, *s.floats)
    mask = s.differentiable()
    cotangents = tuple(direction(y, 2) * on for y, on in zip(outs, mask, strict=True))
    grads = pull(cotangents)
    left = sum(
        ((g * t).sum() for g, t in zip(grads, tangents, strict=True)), pullback.zeros((), dtype=pullback.float64)
    )
    slopes = zip(numeric(s, tangents), cotangents, strict=True)
    right = sum(((d * c).sum() for d, c in slopes), pullback.zeros((), dtype=pullback.float64))
    close(left, right, "backward against finite differences", loose=True)


def check_forward(s: "Sample") -> None:
    """The tangents against finite differences."""
    need(s, all(x.dtype == pullback.float64 for x in s.floats), "needs float64 samples")
    tangents = tuple(direction(x, 1) for x in s.floats)
    _, got = pullback.func.jvp(s.results, s.floats, tangents)
    for t, d, on in zip(got, numeric(s, tangents), s.differentiable(), strict=True):
        close(t, d * on, "jvp against finite differences", loose=True)


def check_both(s: "Sample") -> None:
    """<v, J u> = <J^T v, u>."""
    tangents = tuple(direction(x, 1) for x in s.floats)
    outs, got = pullback.func.jvp(s.results, s.floats, tangents)
    cotangents = tuple(direction(y, 2) * on for y, on in zip(outs, s.differentiable(), strict=True))
    grads = pullback.func.vjp(s.results, *s.floats)[1](cotangents)
    zero = pullback.zeros((), dtype=pullback.float64)
    left = sum(((t * c).sum().double() for t, c in zip(got, cotangents, strict=True)), zero)
    right = sum(((g * t).sum().double() for g, t in zip(grads, tangents, strict=True)), zero)
    close(left, right, "backward against jvp", loose=True)


def check_second(s: "Sample") -> None:
    """The derivative of the gradient against finite differences of it."""
    need(s, all(x.dtype == pullback.float64 for x in s.floats), "needs float64 samples")
    mask = s.differentiable()

    def gradient(*floats: "Any") -> "Any":
        outs, pull = pullback.func.vjp(s.results, *floats)
        return pull(tuple(direction(y, 2) * on for y, on in zip(outs, mask, strict=True)))

    tangents = tuple(direction(x, 1) for x in s.floats)
    weights = tuple(direction(x, 3) for x in s.floats)
    h = 1e-5
    plus = gradient(*(x + h * t for x, t in zip(s.floats, tangents, strict=True)))
    minus = gradient(*(x - h * t for x, t in zip(s.floats, tangents, strict=True)))
    zero = pullback.zeros((), dtype=pullback.float64)
    right = sum((((p - m) / (2 * h) * w).sum() for p, m, w in zip(plus, minus, weights, strict=True)), zero)
    second = pullback.func.vjp(gradient, *s.floats)[1](weights)
    left = sum(((g * t).sum() for g, t in zip(second, tangents, strict=True)), zero)
    close(left, right, "second derivative against finite differences", loose=True)


def choices(s: "Sample") -> "Iterator[tuple[int | None, ...]]":
    """Batch dimensions of the tensors: each at any place or absent, not all absent."""
    ranks = [s.leaves[i].dim() for i in s.tensors]
    every = itertools.product(*([None, *range(r + 1)] for r in ranks))
    return itertools.islice((c for c in every if any(d is not None for d in c)), MOST_DIMS)


def check_batch(s: "Sample") -> None:
    """Forward over a batch against a loop, for the choices of in_dims, with each out_dim."""
    need(s, bool(s.tensors), "no tensors")
    size = 2
    for dims in choices(s):
        rows = [
            x if d is None else pullback.stack([x, scaled(x)], d)
            for x, d in zip((s.leaves[i] for i in s.tensors), dims, strict=True)
        ]

        def member(*tensors: "Any") -> "tuple[Any, ...]":
            leaves = list(s.leaves)
            for i, x in zip(s.tensors, tensors, strict=True):
                leaves[i] = x
            return tuple(y for y in pytree.tree_leaves(s.call(leaves)) if isinstance(y, pullback.Tensor))

        loop = []
        for k in range(size):
            loop.append(member(*(x if d is None else x.select(d, k) for x, d in zip(rows, dims, strict=True))))
        for out_dim in (0, -1):
            got = pullback.func.vmap(member, in_dims=dims, out_dims=out_dim)(*rows)
            expected = tuple(pullback.stack([m[j] for m in loop], out_dim) for j in range(len(loop[0])))
            close(got, expected, f"vmap with in_dims={dims}, out_dims={out_dim}")


def check_batch_of_gradients(s: "Sample") -> None:
    """vmap of the gradient against a loop."""
    mask = s.differentiable()
    need(s, bool(s.places), "no floating point tensors")

    def gradient(*floats: "Any") -> "Any":
        outs, pull = pullback.func.vjp(s.results, *floats)
        return pull(tuple(direction(y, 2) * on for y, on in zip(outs, mask, strict=True)))

    rows = tuple(pullback.stack([x, scaled(x)]) for x in s.floats)
    loop = [gradient(*(x[k] for x in rows)) for k in range(2)]
    expected = tuple(pullback.stack([m[j] for m in loop]) for j in range(len(rows)))
    close(pullback.func.vmap(gradient)(*rows), expected, "vmap of the gradient", loose=True)


def scaled(x: "Any") -> "Any":
    return x * 0.75 if x.dtype.is_floating_point else x.clone()


def compare(s: "Sample", other: "Sample", what: str) -> None:
    close(other.call(other.leaves), s.call(s.leaves), f"forward {what}")
    mask = s.differentiable()

    def gradient(t: "Sample") -> "Any":
        outs, pull = pullback.func.vjp(t.results, *t.floats)
        return pull(tuple(direction(y, 2) * on for y, on in zip(outs, mask, strict=True)))

    if any(mask) and s.places:
        close(gradient(other), gradient(s), f"gradient {what}")


def strided(x: "Any") -> "Any":
    """The same values with gaps between them."""
    if x.dim() == 0:
        return x
    gaps = pullback.stack([x, x], -1).reshape(*x.shape[:-1], 2 * x.shape[-1])
    return gaps[..., ::2]


def check_strided(s: "Sample") -> None:
    """Arguments that are not contiguous."""
    compare(s, s.with_leaves(strided), "of arguments that are not contiguous")


def check_dtypes(s: "Sample") -> None:
    """Arguments of the other floating point dtype: results and gradients have it too."""
    need(s, bool(s.places), "no floating point tensors")
    from_, to = FLOATS if s.floats[0].dtype == FLOATS[0] else FLOATS[::-1]
    t = s.with_leaves(lambda x: x.to(to) if x.dtype == from_ else x)
    outs = t.results(*t.floats)
    for y, before in zip(outs, s.results(*s.floats), strict=True):
        if before.dtype == from_ and y.dtype != to:
            raise Failed(f"for {to} arguments the result has {y.dtype}")
    if any(t.differentiable()):
        grads = pullback.func.vjp(t.results, *t.floats)[1](tuple(direction(y, 2) for y in outs))
        for g, x in zip(grads, t.floats, strict=True):
            if g.dtype != x.dtype or g.shape != x.shape:
                raise Failed(f"the gradient of a {x.dtype} argument has {g.dtype}")


def check_sizes(s: "Sample") -> None:
    """The first dimension of all tensors with 0 and with 1 elements, where the forward accepts that."""
    sizes = {s.leaves[i].shape[0] for i in s.tensors if s.leaves[i].dim()}
    need(s, len(sizes) == 1, "no common first dimension")
    for n in (0, 1):

        def shortened(x: "Any", n: int = n) -> "Any":
            return x[:n].clone() if x.dim() else x

        t = s.with_leaves(shortened)
        outs = t.results(*t.floats)
        if any(t.differentiable()):
            grads = pullback.func.vjp(t.results, *t.floats)[1](tuple(direction(y, 2) for y in outs))
            for g, x in zip(grads, t.floats, strict=True):
                if g.shape != x.shape:
                    raise Failed(f"size {n}: gradient of shape {list(g.shape)}")


def check_pure(s: "Sample") -> None:
    """The forward gives the same twice, and leaves its arguments alone unless it says otherwise."""
    before = [x.clone() if isinstance(x, pullback.Tensor) else x for x in s.leaves]
    mine = [x.clone() if isinstance(x, pullback.Tensor) else x for x in s.leaves]
    follow = [x.requires_grad_() * 1 if i in s.places else x for i, x in enumerate(mine)]
    first = s.call(follow)
    plain = s.call(list(before))
    for x, y in zip(s.leaves, before, strict=True):
        if isinstance(x, pullback.Tensor) and not (x == y).all() and not (x != x).any():
            raise Failed("forward changes its argument without ctx.mark_dirty()")
    detach = lambda y: y.detach() if isinstance(y, pullback.Tensor) else y
    close(pytree.tree_map(detach, plain), pytree.tree_map(detach, first), "forward run twice")


CHECKS: "tuple[tuple[str, str | None, Callable[[Sample], None]], ...]" = (
    ("forward is repeatable", None, check_pure),
    ("backward ~ differences", "backward", check_reverse),
    ("jvp ~ differences", "jvp", check_forward),
    ("backward ~ jvp", "both", check_both),
    ("second order", "backward", check_second),
    ("vmap ~ loop", "vmap", check_batch),
    ("vmap of gradient ~ loop", "backward", check_batch_of_gradients),
    ("not contiguous", None, check_strided),
    ("dtypes", None, check_dtypes),
    ("size 0 and 1", None, check_sizes),
)


def run(check: "Callable[[Sample], None]", sample: "Sample") -> "tuple[str, str]":
    try:
        check(sample)
    except Skipped as why:
        return "-", str(why)
    except Failed as why:
        return "FAILED", str(why)
    except Exception as error:
        text = str(error)
        if "def vmap(" in text:
            return "missing", "write the vmap staticmethod"
        if "once_differentiable" in text:
            return "-", "once_differentiable"
        return "FAILED", f"{type(error).__name__}: {next(iter(text.splitlines()), '')}"
    return "ok", ""


def verify(function: "Any", *sample_inputs: "Any", quiet: bool = False, raise_exception: bool = False) -> bool:
    """Checks all rules of a Function on sample arguments and prints a table. Returns whether all passed.

    Args:
        function: the class.
        sample_inputs: arguments of `apply`; float64 where finite differences shall be taken.
        quiet: print nothing.
        raise_exception: raise RuntimeError with the table if a check fails.
    """
    from .function import explain

    rules = explain(function)
    sample = Sample(function, sample_inputs)
    rows = []
    for name, rule, check in CHECKS:
        missing = [r for r in (("backward", "jvp") if rule == "both" else (rule,)) if rules.get(r or "") == "missing"]
        status, note = ("-", f"no {missing[0]}") if missing else run(check, sample)
        rows.append((name, status, note))
    table = "\n".join([f"{function.__name__}", *(f"  {n:<24} {s:<7} {note}".rstrip() for n, s, note in rows)])
    if not quiet:
        print(table)
    passed = all(status != "FAILED" for _, status, _ in rows)
    if raise_exception and not passed:
        raise RuntimeError(f"verify(): {table}")
    return passed


class Named:
    """A function with rules that is no class, as one."""

    def __init__(self, name: str, apply: "Callable[..., Any]", rules: "dict[str, str]") -> None:
        self.__name__, self.apply, self.rules = name, apply, rules


def at_first_use(
    function: "Any",
    args: "tuple[Any, ...]",
    kwargs: "dict[str, Any] | None" = None,
    fixed: "frozenset[int]" = frozenset(),
) -> bool:
    """The cheap part of `verify`, when the environment variable PULLBACK_VERIFY is `first`.

    Under transforms the sample is what one member of a batch has, without what follows it. Gives whether there was one:
    values without data are none.

    Raises:
        RuntimeError: if a check fails.
    """
    from .function import explain

    core = pullback._core.autograd
    leaves, structure = pytree.tree_flatten((args, kwargs or {}))
    sampled = [core._sample(x) if isinstance(x, pullback.Tensor) else x for x in leaves]
    if any(y is None and x is not None for x, y in zip(leaves, sampled, strict=True)):
        return False
    if any(x.numel() > 10_000 for x in sampled if isinstance(x, pullback.Tensor)):
        return True
    rules = function.rules if isinstance(function, Named) else explain(function)
    state = _own._rng_bytes()
    try:
        args, kwargs = pytree.tree_unflatten(sampled, structure)
        sample = Sample(function, args, kwargs, fixed)
        checks = [("forward is repeatable", check_pure)]
        if rules["backward"] == "written":
            checks.append(("backward ~ differences", check_reverse))
        if rules["jvp"] == "written":
            checks.append(("jvp ~ differences", check_forward))
        for name, check in checks:
            status, note = core._outside(run, check, sample)
            if status == "FAILED":
                raise RuntimeError(f"PULLBACK_VERIFY: {function.__name__}: {name}: {note}")
    finally:
        pullback.set_rng_state(state)
    return True
