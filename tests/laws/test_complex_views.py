"""Programs of views that show complex numbers as real ones and back, with writes through all of them.

The model keeps real numbers. A complex tensor shows pairs of places, perhaps conjugated; each number has its
derivatives by all real parts of the base beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import pullback as pb
from pullback.func import functionalize, grad, jvp, vjp, vmap
from support import strategies as s

MOST = 10
REFUSED = ("in-place", "in place", "inplace")


class Dual:
    """Numbers, and a row of derivatives for each of them."""

    def __init__(self, value: np.ndarray, slope: np.ndarray):
        self.value, self.slope = value, slope

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.slope * other.value[..., None] + self.value[..., None] * other.slope)

    def map(self, f: Callable[[np.ndarray], np.ndarray]) -> Dual:
        return Dual(f(self.value), f(self.slope))


def constant(value: Any, rows: int) -> Dual:
    value = np.asarray(value)
    return Dual(value, np.zeros((*value.shape, rows)))


class Shown(NamedTuple):
    memory: int
    places: np.ndarray  # of the real part, for complex tensors
    complex: bool
    conjugated: bool = False
    negated: bool = False


class Model:
    def __init__(self, base: np.ndarray):
        flat = np.stack([base.reshape(-1).real, base.reshape(-1).imag], -1).reshape(-1)
        self.rows = flat.size
        self.memories = [Dual(flat, np.eye(flat.size))]
        self.shown = [Shown(0, (np.arange(base.size) * 2).reshape(base.shape), True)]

    def read(self, i: int) -> Dual:
        at = self.shown[i]
        m = self.memories[at.memory]
        if not at.complex:
            out = Dual(m.value[at.places], m.slope[at.places])
            return out.map(np.negative) if at.negated else out
        sign = -1j if at.conjugated else 1j
        return Dual(
            m.value[at.places] + sign * m.value[at.places + 1], m.slope[at.places] + sign * m.slope[at.places + 1]
        )

    def write(self, i: int, new: Dual) -> None:
        at = self.shown[i]
        m = self.memories[at.memory]
        value, slope = (
            np.broadcast_to(new.value, at.places.shape),
            np.broadcast_to(new.slope, (*at.places.shape, self.rows)),
        )
        sign = -1 if at.negated or at.conjugated else 1
        if not at.complex:
            m.value[at.places], m.slope[at.places] = sign * value.real, sign * slope.real
            return
        m.value[at.places], m.slope[at.places] = value.real, slope.real
        m.value[at.places + 1], m.slope[at.places + 1] = sign * value.imag, sign * slope.imag

    def new(self, number: Dual) -> None:
        is_complex = np.iscomplexobj(number.value)
        flat, slope = number.value.reshape(-1), number.slope.reshape(-1, self.rows)
        if is_complex:
            flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
            slope = np.stack([slope.real, slope.imag], 1).reshape(-1, self.rows)
        self.memories.append(Dual(flat.copy(), slope.copy()))
        places = (np.arange(number.value.size) * (2 if is_complex else 1)).reshape(number.value.shape)
        self.shown.append(Shown(len(self.memories) - 1, places, is_complex))


Change = Callable[[Shown], Shown]
BY_NUMBERS: dict[str, tuple[Callable[[Any], Any], Change]] = {
    "conj()": (lambda t: t.conj(), lambda a: a._replace(conjugated=a.complex and not a.conjugated)),
    "mT": (lambda t: t.mT, lambda a: a._replace(places=a.places.swapaxes(-1, -2))),
    "mH": (
        lambda t: t.mH,
        lambda a: a._replace(places=a.places.swapaxes(-1, -2), conjugated=a.complex and not a.conjugated),
    ),
    "real": (lambda t: t.real, lambda a: Shown(a.memory, a.places, False)),
    "imag": (lambda t: t.imag, lambda a: Shown(a.memory, a.places + 1, False, negated=a.conjugated)),
    "view_as_real": (
        lambda t: pb.view_as_real(t),
        lambda a: Shown(a.memory, np.stack([a.places, a.places + 1], -1), False),
    ),
    "view_as_complex": (lambda t: pb.view_as_complex(t), lambda a: Shown(a.memory, a.places[..., 0], True)),
}


def able(a: Shown) -> list[str]:
    """The views that there are of such a tensor."""
    pairs = a.places.ndim and a.places.shape[-1] == 2 and not a.negated
    pairs = pairs and bool((np.diff(a.places, axis=-1) == 1).all() and (a.places[..., 0] % 2 == 0).all())
    names = ["mT", "mH"] if a.places.ndim > 1 else []
    if a.complex:
        return [*names, "conj()", "real", "imag"] + ([] if a.conjugated else ["view_as_real"])
    return names + (["view_as_complex"] if pairs else [])


WRITES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Dual, Dual], Dual]]] = {
    "add_(x)": (lambda t, x: t.add_(x), lambda v, x: v + x),
    "mul_(x)": (lambda t, x: t.mul_(x), lambda v, x: v * x),
    "copy_(x)": (lambda t, x: t.copy_(x), lambda v, x: x),
    "[...] = x": (lambda t, x: t.__setitem__(..., x), lambda v, x: x),
    "neg_()": (lambda t, x: t.neg_(), lambda v, x: v.map(np.negative)),
    "square_()": (lambda t, x: t.square_(), lambda v, x: v * v),
}


class ComplexViews(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, Callable[[list[Any]], None], Callable[[Model], None]]] = []

    @initialize(shape=s.shapes(0, 2, 1, 3), seed=s.seeds)
    def start(self, shape: Any, seed: int) -> None:
        self.base = s.numbers(seed, shape) + 1j * s.numbers(seed + 1, shape)
        self.model, self.tensors = Model(self.base), [pb.tensor(self.base)]

    def take(self, says: str, on_tensors: Callable[[list[Any]], None], on_model: Callable[[Model], None]) -> None:
        on_tensors(self.tensors)
        on_model(self.model)
        self.steps.append((says, on_tensors, on_model))

    def which(self, data: st.DataObject) -> int:
        return data.draw(st.integers(-len(self.tensors), -1)) + len(self.tensors)

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data())
    def show(self, data: st.DataObject) -> None:
        i = self.which(data)
        names = able(self.model.shown[i])
        if not names:
            return
        name = data.draw(st.sampled_from(names))
        view, change = BY_NUMBERS[name]
        self.take(
            f"t{len(self.tensors)} = t{i}.{name}",
            lambda ts: ts.append(view(ts[i])),
            lambda m: m.shown.append(change(m.shown[i])),
        )

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data())
    def part(self, data: st.DataObject) -> None:
        i = self.which(data)
        index = data.draw(s.indices(self.model.shown[i].places.shape, arrays_too=False))
        whole = index if Ellipsis in index else (*index, ...)
        self.take(
            f"t{len(self.tensors)} = t{i}[{index}]",
            lambda ts: ts.append(ts[i][index]),
            lambda m: m.shown.append(m.shown[i]._replace(places=m.shown[i].places[whole])),
        )

    @rule(data=st.data(), name=st.sampled_from(sorted(WRITES)), seed=s.seeds, from_tensor=st.booleans())
    def write(self, data: st.DataObject, name: str, seed: int, from_tensor: bool) -> None:
        i = self.which(data)
        at = self.model.shown[i]
        on_tensor, on_dual = WRITES[name]
        fitting = [
            j
            for j, b in enumerate(self.model.shown)
            if b.places.shape == at.places.shape and (at.complex or not b.complex)
        ]
        j = data.draw(st.sampled_from(fitting)) if from_tensor else None
        x = s.numbers(seed, at.places.shape[seed % 2 :])
        x = x + 1j * s.numbers(seed + 1, x.shape) if at.complex and seed % 3 else x
        fixed = pb.tensor(x)
        rows = self.model.rows
        says = f"t{i}.{name} with x = " + (f"t{j}" if from_tensor else str(x.tolist()))
        before = [t.clone() for t in self.tensors]
        try:
            self.take(
                says,
                lambda ts: on_tensor(ts[i], fixed if j is None else ts[j]),
                lambda m: m.write(i, on_dual(m.read(i), constant(x, rows) if j is None else m.read(j))),
            )
        except RuntimeError as error:
            assert from_tensor and ("overlap" in str(error) or "memory" in str(error)), error
            s.close(self.tensors, before, "after a refused write")

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data())
    def compute(self, data: st.DataObject) -> None:
        i = self.which(data)
        self.take(
            f"t{len(self.tensors)} = t{i} * t{i}",
            lambda ts: ts.append(ts[i] * ts[i]),
            lambda m: m.new(m.read(i) * m.read(i)),
        )

    @invariant()
    def values_agree(self) -> None:
        for i, t in enumerate(getattr(self, "tensors", ())):
            s.close(settled(t), self.model.read(i).value, f"t{i}")

    def program(self, z: Any) -> list[Any]:
        tensors = [z * 1.0]
        for _, on_tensors, _ in self.steps:
            on_tensors(tensors)
        return tensors

    def modelled(self, base: np.ndarray) -> Model:
        model = Model(base)
        for _, _, on_model in self.steps:
            on_model(model)
        return model

    def teardown(self) -> None:
        if not self.steps:
            return
        note(f"base: {self.base.tolist()}")
        for says, _, _ in self.steps:
            note(says)
        ws = [s.numbers(3 + i, a.places.shape) * (1 + 0.5j if a.complex else 1) for i, a in enumerate(self.model.shown)]

        def loss(z: Any) -> Any:
            return sum((pb.tensor(w) * t).real.sum() for w, t in zip(ws, self.program(z), strict=True))

        def gradient_of(base: np.ndarray) -> np.ndarray:
            model = self.modelled(base)
            slopes = [
                (w[..., None] * model.read(i).slope).real.reshape(-1, model.rows).sum(0) for i, w in enumerate(ws)
            ]
            pairs = sum(slopes).reshape(*base.shape, 2)
            return np.asarray(pairs[..., 0] + 1j * pairs[..., 1])

        z, bases = pb.tensor(self.base), [self.base, self.base * 0.7 + 0.2j]
        wants = [gradient_of(b) for b in bases]
        stacked = pb.tensor(np.stack(bases))
        models = [self.modelled(b) for b in bases]
        want = [np.stack([m.read(i).value for m in models]) for i in range(len(ws))]
        s.close([settled(t) for t in vmap(self.program)(stacked)], want, "vmap")
        s.close([settled(t) for t in functionalize(self.program)(z)], [w[0] for w in want], "functionalize")
        v = pb.tensor(self.base * 0.3 - 0.4j)
        along = (np.conj(wants[0]) * v.numpy()).real.sum()
        s.close(jvp(loss, (z,), (v,))[1], along, "jvp", 1e-8, 1e-8)
        leaf = z.clone().requires_grad_()
        right_or_refused("backward", lambda: pb.autograd.grad(loss(leaf), leaf)[0], wants[0])
        right_or_refused("grad", lambda: grad(loss)(z), wants[0])
        right_or_refused("vmap of grad", lambda: vmap(grad(loss))(stacked), np.stack(wants))
        one = pb.tensor(1.0, dtype=pb.float64)
        right_or_refused("vjp", lambda: vjp(loss, z)[1](one)[0], wants[0])


def settled(t: Any) -> Any:
    return (t * 1.0).resolve_conj().resolve_neg()


def right_or_refused(what: str, run: Callable[[], Any], want: np.ndarray) -> None:
    try:
        got = run()
    except RuntimeError as error:
        assert any(word in str(error) for word in REFUSED), error
        return
    s.close(settled(got), want, what, 1e-8, 1e-8)


TestComplexViews = ComplexViews.TestCase
