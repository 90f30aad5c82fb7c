"""Properties that every operator has, checked on its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
from pullback import func
from pullback.autograd import gradcheck, gradgradcheck
from support import fuzz, samples
from support.fuzz import resolve
from support.samples import Sample, replaced, tensors_in

BATCH = 3
SLOW = 20  # elements from which one projection of the Jacobian is compared instead of all of it


def function_of(name: str) -> Callable[..., Any]:
    found = fuzz.function_of(samples.table()[name])
    assert found is not None, f"{name} cannot be called"
    return found


class Call:
    """A sample as a function of its tensors. Random operators start from the same seed at each call."""

    def __init__(self, name: str, sample: Sample, function: Callable[..., Any] | None = None):
        self.sample = sample
        self.function = function or function_of(name)
        self.random = samples.table()[name]["flags"]["random"]
        self.tensors = sample.tensors()
        self.places = [i for i, t in enumerate(self.tensors) if t.dtype == pb.float64] if sample.grad else []

    def result(self, tensors: list[Any]) -> Any:
        supply = iter([self.sample.via[i](t) if i in self.sample.via else t for i, t in enumerate(tensors)])
        args, kwargs = replaced([list(self.sample.args), list(self.sample.kwargs.items())], supply)
        if self.random:
            pb.manual_seed(5)
        out = self.function(*args, **dict(kwargs))
        return self.sample.after(out) if self.sample.after else out

    def leaves(self, *tensors: Any) -> tuple[Any, ...]:
        return tuple(tensors_in(self.result(list(tensors))))

    def smooth(self, tensors: list[Any]) -> Callable[..., tuple[Any, ...]]:
        """The outputs of floats as a function of the inputs of floats."""

        def f(*points: Any) -> tuple[Any, ...]:
            full = list(tensors)
            for i, x in zip(self.places, points, strict=True):
                full[i] = x
            return tuple(real_form(y) for y in self.leaves(*full) if y.dtype in (pb.float64, pb.complex128))

        return f

    def points(self, tensors: list[Any]) -> tuple[Any, ...]:
        return tuple(tensors[i] for i in self.places)


def real_form(x: Any) -> Any:
    """Complex numbers as pairs of real ones."""
    return pb.view_as_real(x) if x.dtype.is_complex else x


def calls(name: str, seed: int = 0) -> list[Call]:
    return [Call(name, sample) for sample in samples.build(name, seed)]


def members(name: str) -> Iterator[list[Call]]:
    """The samples, each with other values for each member of a batch."""
    for group in zip(*(calls(name, seed) for seed in range(BATCH)), strict=True):
        if group[0].tensors:
            yield list(group)


def differentiable(name: str) -> list[Call]:
    return [c for c in calls(name) if c.places and c.smooth(c.tensors)(*c.points(c.tensors))]


def where(call: Call, error: Exception | str) -> AssertionError:
    return AssertionError(f"{call.sample.describe()}: {error}")


def assert_same(got: Any, want: Any, call: Call, what: str, rtol: float = 1e-9, atol: float = 1e-10) -> None:
    if tuple(got.shape) != tuple(want.shape) or got.dtype != want.dtype:
        raise where(call, f"{what}: {tuple(got.shape)} {got.dtype}, expected {tuple(want.shape)} {want.dtype}")
    a, b = (
        np.asarray((t.to(pb.float32) if t.dtype == pb.bfloat16 else t).detach().resolve_conj().resolve_neg())
        for t in (got, want)
    )
    if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        raise where(call, f"{what}: {a}, expected {b}")


def assert_all_same(got: Any, want: Any, call: Call, what: str, **limits: float) -> None:
    if len(got) != len(want):
        raise where(call, f"{what}: {len(got)} results, expected {len(want)}")
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        assert_same(g, w, call, f"{what}, result {k}", **limits)


# ---------------------------------------------------------------- derivatives


def leaves_of_graph(call: Call) -> list[Any]:
    return [t.detach().clone().requires_grad_() for t in call.points(call.tensors)]


def check_gradients(call: Call) -> None:
    """Both modes against differences."""
    f = call.smooth(call.tensors)
    try:
        points = leaves_of_graph(call)
        fast = sum(x.numel() for x in points) > SLOW
        gradcheck(f, points, check_forward_ad=True, check_undefined_grad=False, fast_mode=fast)
    except Exception as error:
        raise where(call, error) from error


def check_second_order(call: Call) -> None:
    f, points = call.smooth(call.tensors), leaves_of_graph(call)
    varied = [y for y in f(*points) if y.requires_grad and y.numel()]
    if not (call.sample.second and varied):
        return
    try:
        gradgradcheck(f, points, check_fwd_over_rev=True, check_undefined_grad=False, fast_mode=True)
    except Exception as error:
        raise where(call, error) from error


def noise(like: Any, rng: np.random.Generator) -> list[Any]:
    return [pb.tensor(rng.standard_normal(tuple(t.shape)), dtype=pb.float64) for t in like]


def inner(a: Any, b: Any) -> float:
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True))


def check_transpose(call: Call) -> None:
    """⟨v, J u⟩ = ⟨Jᵀ v, u⟩."""
    rng, points = np.random.default_rng(3), call.points(call.tensors)
    f = call.smooth(call.tensors)
    out, pull = func.vjp(f, *points)
    u, v = noise(points, rng), noise(out, rng)
    primal, forward = func.jvp(f, points, tuple(u))
    assert_all_same(primal, out, call, "value under jvp")
    left, right = inner(v, forward), inner(pull(tuple(v)), u)
    if not np.isclose(left, right, rtol=1e-8, atol=1e-9):
        raise where(call, f"⟨v, Ju⟩ = {left}, ⟨Jᵀv, u⟩ = {right}")


def check_jvp_of_vjp(call: Call) -> None:
    """Forward over reverse equals reverse over forward."""
    rng, points = np.random.default_rng(4), call.points(call.tensors)
    f = call.smooth(call.tensors)
    u, v = tuple(noise(points, rng)), tuple(noise(f(*points), rng))
    _, first = func.jvp(lambda *xs: func.vjp(f, *xs)[1](v), points, u)
    forward = func.vjp(lambda *xs: func.jvp(f, xs, u)[1], *points)[1]
    assert_all_same(first, forward(v), call, "jvp of vjp against vjp of jvp", rtol=1e-7, atol=1e-8)


def check_constant(call: Call) -> None:
    """An operator without derivative gives constants."""
    points = [t.clone().requires_grad_() if t.dtype == pb.float64 else t for t in call.tensors]
    for y in call.leaves(*points):
        if y.requires_grad:
            raise where(call, "the result requires a gradient")


def check_zero_gradients(call: Call) -> None:
    """What is drawn does not change with the parameters of its law: gradients are zero, and are there."""
    points = [t.clone().requires_grad_() if t.dtype == pb.float64 else t for t in call.tensors]
    given = [p for p in points if p.requires_grad]
    for y in call.leaves(*points) if given else ():
        if not y.requires_grad:
            raise where(call, "the result requires no gradient")
        for g in pb.autograd.grad(y.sum(), given):
            if g.count_nonzero():
                raise where(call, "a gradient is not zero")


# ---------------------------------------------------------------- batches


def dims_of(group: list[Call]) -> Iterator[tuple[int | None, ...]]:
    """Every dimension from both ends for all tensors, then each tensor alone."""
    ranks = [t.ndim for t in group[0].tensors]
    top = max(ranks)
    for d in range(-top - 1, top + 1) if not group[0].sample.strict else (0,):
        yield tuple(min(d, r) if d >= 0 else max(d, -r - 1) for r in ranks)
    if len(ranks) > 1:
        for i in range(len(ranks)):
            for d in (0, -1):
                yield tuple(d if k == i else None for k in range(len(ranks)))


def stacked(group: list[list[Any]], dims: tuple[int | None, ...]) -> list[Any]:
    columns = zip(*group, strict=True)
    return [c[0] if d is None else pb.stack(list(c), d) for c, d in zip(columns, dims, strict=True)]


def member(group: list[list[Any]], k: int, dims: tuple[int | None, ...]) -> list[Any]:
    return [group[0][i] if d is None else group[k][i] for i, d in enumerate(dims)]


def check_batch(group: list[Call], f: Callable[..., Any], inputs: list[list[Any]], dims: Any, what: str) -> None:
    """`vmap` of `f` against a loop over the members."""
    call, random = group[0], group[0].random
    try:
        got = func.vmap(f, in_dims=dims, randomness="same" if random else "error")(*stacked(inputs, dims))
        loop = [f(*member(inputs, k, dims)) for k in range(BATCH)]
    except Exception as error:
        raise where(call, f"{what}, in_dims {dims}: {type(error).__name__}: {error}") from error
    want = [pb.stack(list(column)) for column in zip(*loop, strict=True)]
    assert_all_same(got, want, call, f"{what}, in_dims {dims}")


def check_vmap(group: list[Call]) -> None:
    inputs = [c.tensors for c in group]
    if group[0].sample.batched:
        for dims in dims_of(group):
            check_batch(group, group[0].leaves, inputs, dims, "vmap")
        return
    try:
        func.vmap(group[0].leaves, in_dims=(0,) * len(inputs[0]))(*stacked(inputs, (0,) * len(inputs[0])))
    except RuntimeError as error:
        assert "vmap" in str(error) or "under a transform" in str(error), error
    else:
        raise where(group[0], "runs under vmap, which `batched=False` denies")


def check_vmap_of_derivatives(group: list[Call]) -> None:
    call = group[0]
    n = len(call.tensors)
    if not (call.places and call.sample.batched):
        return
    rng = np.random.default_rng(6)
    shapes = call.smooth(call.tensors)(*call.points(call.tensors))
    if not shapes:
        return
    points = call.points(call.tensors)
    pulled = [c.tensors + noise(shapes, rng) for c in group]
    pushed = [c.tensors + noise(points, rng) for c in group]

    def gradient(*flat: Any) -> Any:
        tensors = list(flat[:n])
        return func.vjp(call.smooth(tensors), *call.points(tensors))[1](tuple(flat[n:]))

    def tangent(*flat: Any) -> Any:
        tensors = list(flat[:n])
        return func.jvp(call.smooth(tensors), call.points(tensors), tuple(flat[n:]))[1]

    for f, inputs in ((gradient, pulled), (tangent, pushed)):
        extra = len(inputs[0]) - n
        last = 0 if call.sample.strict else -1
        for dims in [(0,) * (n + extra), (last,) * (n + extra), (None,) * n + (0,) * extra, (0,) * n + (None,) * extra]:
            check_batch(group, f, inputs, dims, f"vmap of {f.__name__}")


# ---------------------------------------------------------------- forms and layouts


def relayouts(tensors: list[Any]) -> Iterator[list[Any]]:
    """The same values in other layouts: reversed in memory, transposed, with gaps."""
    yield [t.flip(tuple(range(t.ndim))).contiguous().flip(tuple(range(t.ndim))) if t.ndim else t for t in tensors]
    yield [
        t.permute(*range(t.ndim)[::-1]).contiguous().permute(*range(t.ndim)[::-1]) if t.ndim > 1 else t for t in tensors
    ]
    yield [pb.stack([t, t], -1)[..., 1] for t in tensors]


def in_memory(t: Any) -> Any:
    """The elements as they lie in memory."""
    return t.permute(sorted(range(t.ndim), key=lambda d: -t.stride(d))).reshape(-1)


def check_layouts(call: Call, drawn: bool) -> None:
    if not call.tensors or call.sample.strict:
        return
    want = call.leaves(*call.tensors)
    before = [t.clone() for t in call.tensors]
    for tensors in relayouts(call.tensors):
        got = call.leaves(*tensors)
        if drawn:
            # Most numbers are drawn in the order of memory.
            ordered = [in_memory(t).reshape(t.shape) for t in got]
            got = [o if pb.equal(o, w) else g for o, g, w in zip(ordered, got, want, strict=True)]
        assert_all_same(got, want, call, "other layout")
    assert_all_same(call.tensors, before, call, "the arguments afterwards")


def check_forms(name: str, call: Call) -> None:
    """Method, in-place form and other names give what the function gives."""
    entry = samples.table()[name]
    flags, short = entry["flags"], name.rpartition(".")[2]
    first = call.sample.args[0] if call.sample.args else None
    want = call.leaves(*call.tensors)
    for alias in entry["aliases"]:
        other = Call(name, call.sample, resolve(alias))
        assert_all_same(other.leaves(*call.tensors), want, call, alias)
    if not isinstance(first, pb.Tensor) or not flags["function"]:
        return
    if flags["method"]:
        plain = [n for n in [name, *entry["aliases"]] if "." not in n] or [short]
        for method in plain:
            other = Call(name, call.sample, getattr(pb.Tensor, method))
            assert_all_same(other.leaves(*call.tensors), want, call, f"method {method}")
    same = len(want) == 1 and want[0].shape == call.tensors[0].shape and want[0].dtype == call.tensors[0].dtype
    if flags["inplace"] and same:
        check_inplace(call, Call(name, call.sample, getattr(pb.Tensor, short + "_")), want)
    if flags["inplace_keyword"] and same:
        asked = Call(name, call.sample, lambda *a, **k: function_of(name)(*a, **k, inplace=True))
        check_inplace(call, asked, want)


def check_inplace(call: Call, inplace: Call, want: Any) -> None:
    tensors = [t.clone() for t in call.tensors]
    if 0 in call.sample.via:
        return
    (got,) = inplace.leaves(*tensors)
    if got is not tensors[0]:
        raise where(call, "the in-place form returned another object")
    assert_same(tensors[0], want[0], call, "in-place form")


def check_trace(call: Call) -> None:
    """The recorded program gives what the operator gives."""
    if not call.tensors or not call.sample.batched or call.random:
        return
    program = func.trace(call.leaves)(*call.tensors)
    assert_all_same(as_tuple(program(*call.tensors)), call.leaves(*call.tensors), call, "trace")


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def check_linearized(call: Call) -> None:
    """The recorded tangent program gives what `jvp` gives."""
    points = call.points(call.tensors)
    f = call.smooth(call.tensors)
    u = tuple(noise(points, np.random.default_rng(7)))
    value, push = func.linearize(f, *points)
    primal, tangent = func.jvp(f, points, u)
    assert_all_same(value, primal, call, "value of linearize")
    assert_all_same(push(*u), tangent, call, "linearize")
