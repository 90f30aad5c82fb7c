"""What watches changes nothing: modes, subclasses and handlers that call on, hooks that return nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

import pullback as pb
from pullback import nn
from pullback.autograd.graph import saved_tensors_hooks
from pullback.func import functional_call, grad, jvp, vmap
from pullback.nn.utils import parametrize
from pullback.overrides import TorchFunctionMode
from support import strategies as s
from support.expressions import Expression, expressions
from support.stacks import cost, stacks, through


class CallsOn(TorchFunctionMode):
    def __init__(self) -> None:
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


class Watched(pb.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


class Plain(pb.Tensor):
    pass


@st.composite
def cases(draw: st.DrawFn, most: int = 4) -> tuple[Expression, Any]:
    point = draw(s.arrays(s.shapes(0, 3, 1, 3)))
    return draw(expressions([point], most=most)), pb.tensor(point)


def exact(got: Any, want: Any, what: str) -> None:
    s.close(got, want, what, 0, 0)


@given(cases(), stacks(most=2), st.integers(1, 2))
def test_modes_that_call_on(case: Any, stack: Any, depth: int) -> None:
    f, x = case
    assume(cost(stack, x.numel(), f(x).numel()) <= 120)
    run, _ = through(stack, f)
    want = run(x)
    mode = CallsOn()
    with mode:
        got = run(x)
        if depth == 2:
            with CallsOn():
                exact(run(x), want, "two modes")
    exact(got, want, "a mode")
    assert mode.calls


@given(cases(), st.sampled_from([Plain, Watched]))
def test_subclasses_that_call_on(case: Any, kind: Any) -> None:
    f, x = case
    want = f(x)
    got = f(x.as_subclass(kind))
    assert type(got) is kind and got.dtype is want.dtype
    exact(got.as_subclass(pb.Tensor), want, "a subclass")
    leaf, plain = x.clone().as_subclass(kind).requires_grad_(), x.clone().requires_grad_()
    f(leaf).sum().backward()
    f(plain).sum().backward()
    exact(leaf.grad.as_subclass(pb.Tensor), plain.grad, "its gradient")


@given(cases())
def test_hooks_that_return_nothing(case: Any) -> None:
    f, x = case
    plain = x.clone().requires_grad_()
    f(plain).sum().backward()
    seen: list[Any] = []
    leaf = x.clone().requires_grad_()
    leaf.register_hook(lambda g: seen.append(g.clone()) and None)
    leaf.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()) and None)
    values = [leaf]
    for step in f.steps:
        values.append(step.run(*(values[i] for i in step.operands)))
        if values[-1].requires_grad and not values[-1].is_leaf:
            values[-1].register_hook(lambda g: None)
            values[-1].retain_grad()
            values[-1].grad_fn.register_hook(lambda gi, go: None)
            values[-1].grad_fn.register_prehook(lambda go: None)
    values[-1].sum().backward()
    exact(leaf.grad, plain.grad, "gradient")
    if seen:
        exact(seen[0], plain.grad, "seen by the hook")
        exact(seen[-1], plain.grad, "seen after accumulation")


@given(cases(), st.sampled_from(["copy", "number"]))
def test_packed_tensors(case: Any, how: str) -> None:
    """Saved tensors that are packed and unpacked to what they were."""
    f, x = case
    plain, leaf = x.clone().requires_grad_(), x.clone().requires_grad_()
    f(plain).sum().backward()
    kept: list[Any] = []

    def pack(t: Any) -> Any:
        if how == "copy":
            return t.clone()
        kept.append(t)
        return len(kept) - 1

    with saved_tensors_hooks(pack, lambda p: p if how == "copy" else kept[p]):
        y = f(leaf)
    y.sum().backward()
    exact(leaf.grad, plain.grad, "gradient")


# ---------------------------------------------------------------- modules
class Wrapped(nn.Module):
    """An expression of the argument and of parameters, by any of their names."""

    def __init__(self, f: Expression, params: list[Any]):
        super().__init__()
        self.f = f
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(params[0])
        self.tied = self.inner.weight
        self.register_buffer("offset", params[1])

    def forward(self, x: Any) -> Any:
        return self.f(x, self.inner.weight * 0.5 + self.tied * 0.5, self.offset)


@st.composite
def wrapped(draw: st.DrawFn) -> tuple[Any, Any, list[Any]]:
    shape = draw(s.shapes(0, 2, 1, 3))
    points = [draw(s.arrays(shape)) for _ in range(3)]
    f = draw(expressions(points, most=4))
    return f, Wrapped(f, [pb.tensor(p) for p in points[1:]]), [pb.tensor(p) for p in points]


@given(wrapped(), st.booleans())
def test_functional_calls_replace_parameters(case: Any, split: bool) -> None:
    f, module, (x, w, b) = case
    new = {"inner.weight": w * 0.7 + 0.1, "offset": b + 0.2}
    want = f(x, new["inner.weight"], new["offset"])
    before = {k: v.clone() for k, v in module.state_dict().items()}
    given_ = ({"inner.weight": new["inner.weight"]}, {"offset": new["offset"]}) if split else new
    exact(functional_call(module, given_, (x,)), want, "replaced")
    exact(module(x), f(x, w, b), "and back again")
    for k, v in module.state_dict().items():
        exact(v, before[k], k)

    def loss(p: Any) -> Any:
        return functional_call(module, p, (x,)).sum()

    got = grad(loss)(new)
    w2, b2 = (new[k].clone().requires_grad_() for k in new)
    y = f(x, w2, b2).sum()
    want = pb.autograd.grad(y, (w2, b2), allow_unused=True) if y.requires_grad else (None, None)
    for g, t, name in zip(want, (w2, b2), new, strict=True):
        s.close(got[name], pb.zeros_like(t) if g is None else g, f"gradient of {name}", 1e-8, 1e-9)
    many = {k: pb.stack([v, v * 1.1]) for k, v in new.items()}
    each = [f(x, many["inner.weight"][i], many["offset"][i]) for i in range(2)]
    s.close(vmap(lambda p: functional_call(module, p, (x,)))(many), pb.stack(each), "ensemble", 1e-8, 1e-9)


@given(wrapped())
def test_hooks_of_modules_that_return_nothing(case: Any) -> None:
    _, module, (x, _, _) = case
    x.requires_grad_()
    want = module(x)
    grads = gradients(module, x)
    calls: list[str] = []
    module.register_forward_pre_hook(lambda m, a: calls.append("before"))
    module.register_forward_pre_hook(lambda m, a, k: calls.append("before, kwargs"), with_kwargs=True)
    module.register_forward_hook(lambda m, a, y: calls.append("after"))
    module.register_full_backward_pre_hook(lambda m, g: calls.append("backward, before"))
    module.register_full_backward_hook(lambda m, gi, go: calls.append("backward"))
    exact(module(x), want, "value")
    assert calls == ["before", "before, kwargs", "after"]
    for a, b in zip(grads, gradients(module, x), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            exact(b, a, "gradient")


def gradients(module: Any, x: Any) -> list[Any]:
    module.zero_grad()
    y = module(x).sum()
    if y.requires_grad:
        y.backward()
    return [None if p.grad is None else p.grad.clone() for p in module.parameters()]


class Scaled(nn.Module):
    """A map with an inverse."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Any) -> Any:
        return (x * self.factor).sinh()

    def right_inverse(self, x: Any) -> Any:
        return x.asinh() / self.factor


@given(st.lists(st.floats(0.3, 2.0), min_size=1, max_size=3), s.shapes(1, 2, 1, 4), s.seeds, st.booleans())
def test_parametrizations_come_and_go(factors: list[float], shape: Any, seed: int, leave: bool) -> None:
    module = nn.Module()
    value = pb.tensor(s.numbers(seed, shape))
    module.weight = nn.Parameter(value.clone())
    for factor in factors:
        parametrize.register_parametrization(module, "weight", Scaled(factor))
    want = value
    for factor in factors[1:]:  # the first keeps the value, each other one maps it
        want = (want * factor).sinh()
    s.close(module.weight, want, "registered", 1e-9, 1e-9)
    assert parametrize.is_parametrized(module, "weight")
    new = pb.tensor(s.numbers(seed + 1, shape))
    module.weight = new
    s.close(module.weight, new, "assigned", 1e-9, 1e-9)
    original = module.parametrizations.weight.original

    def through_all(t: Any) -> Any:
        for factor in factors:
            t = (t * factor).sinh()
        return t

    module.weight.sum().backward()
    s.close(original.grad, jvp(through_all, (original.detach(),), (pb.ones_like(original),))[1], "gradient", 1e-9, 1e-9)
    with parametrize.cached():
        assert module.weight is module.weight
    parametrize.remove_parametrizations(module, "weight", leave_parametrized=leave)
    assert not parametrize.is_parametrized(module) and [n for n, _ in module.named_parameters()] == ["weight"]
    s.close(module.weight, new if leave else original, "removed", 1e-9, 1e-9)
