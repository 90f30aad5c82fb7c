"""Random programs of views and in-place writes: values, aliasing, version counters, derivatives and batches.

A program runs eagerly beside a model of NumPy views as it is drawn. At its end it runs again under every transform. A
gradient is right or there is an error that names the write; which of both is the implementation's choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import event, note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import pullback as pb
from pullback.func import functionalize, grad, jvp, linearize, vjp, vmap
from support import strategies as s
from support import view_programs as vp
from support.stacks import Layer, cost, stacks, through

MOST = 14  # tensors of a program
# what an error of a refused gradient says; as_strided needs members of a batch that are in row-major order
REFUSED = ("in-place", "in place", "inplace", "as_strided(): the memory is not in row-major order")


unrecorded = st.integers(0, 7).map(lambda n: n == 7)


def sources(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """Arrays that broadcast to a shape."""

    def made(bits: int, cut: int, seed: int) -> np.ndarray:
        ones = tuple(1 if bits >> i & 1 else n for i, n in enumerate(shape))
        return s.numbers(seed, ones[min(cut, len(shape)) :])

    return st.builds(made, st.integers(0, 7), st.integers(0, 1), s.seeds)


class ViewsAndWrites(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[vp.Step] = []

    @initialize(base=s.arrays(s.shapes(1, 3, 1, 4)), how=s.arrangements, stack=stacks(most=2))
    def start(self, base: np.ndarray, how: str, stack: list[Layer]) -> None:
        self.base, self.how, self.stack = base, how, stack
        self.model = vp.Model(base, derivatives=False)
        self.tensors = [s.arranged(base, "contiguous")]
        self.versions = [0]

    # ------------------------------------------------------------ steps
    def take(self, says: str, on_tensors: Callable[[list[Any]], None], on_model: Callable[[vp.Model], None]) -> None:
        step = vp.Step(says, on_tensors, on_model)
        step.on_tensors(self.tensors)
        step.on_model(self.model)
        self.steps.append(step)
        while len(self.versions) < len(self.model.memories):
            self.versions.append(self.tensors[self.first_of(len(self.versions))]._version)

    def first_of(self, memory: int) -> int:
        return next(i for i, shown in enumerate(self.model.shown) if shown.memory == memory)

    def which(self, data: st.DataObject) -> int:
        return data.draw(st.integers(-len(self.tensors), -1)) + len(self.tensors)

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data())
    def view(self, data: st.DataObject) -> None:
        i = self.which(data)
        places = self.model.shown[i].places
        says, on_tensor, on_places = data.draw(st.sampled_from(vp.views_of(places)))(data.draw, places)
        try:
            shown = on_places(places)
        except ValueError:
            assert says.startswith("view"), says
            try:
                on_tensor(self.tensors[i])
            except RuntimeError:
                return
            raise AssertionError(f"{says} of strides {self.tensors[i].stride()} is no view") from None
        many = isinstance(shown, list)

        def on_model(model: vp.Model) -> None:
            new = on_places(model.shown[i].places)
            for p in new if many else [new]:
                model.view(i, p)

        self.take(
            f"t{len(self.tensors)} = t{i}.{says}",
            lambda ts: ts.extend(on_tensor(ts[i])) if many else ts.append(on_tensor(ts[i])),
            on_model,
        )

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        i = self.which(data)
        self.take(
            f"t{len(self.tensors)} = t{i}.detach()",
            lambda ts: ts.append(ts[i].detach()),
            lambda m: m.view(i, m.shown[i].places, detached=True),
        )

    @rule(data=st.data())
    def turn(self, data: st.DataObject) -> None:
        """Views in place: the tensor itself becomes another view."""
        i = self.which(data)
        places = self.model.shown[i].places
        kinds = [vp.unsqueezed] + ([vp.transposed, vp.squeezed] if places.ndim else [])
        says, _, on_places = data.draw(st.sampled_from(kinds))(data.draw, places)
        name, _, arguments = says.rstrip(")").partition("(")
        dims = [int(n) for n in arguments.split(",")]
        self.take(
            f"t{i}.{name}_({arguments})",
            lambda ts: getattr(ts[i], f"{name}_")(*dims),
            lambda m: m.turn(i, on_places(m.shown[i].places)),
        )
        self.versions[self.model.shown[i].memory] += 1

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data(), stride=st.lists(st.integers(0, 3), max_size=2))
    def as_strided(self, data: st.DataObject, stride: list[int]) -> None:
        i = self.which(data)
        whole = self.model.whole[self.model.shown[i].memory]
        offset = data.draw(st.integers(0, whole.size))
        size = []
        room = whole.size - offset
        if not room:
            return
        for step in stride:
            size.append(data.draw(st.integers(1, min(3, 1 + (room - 1) // step) if step else 2)))
            room -= (size[-1] - 1) * step
        to = tuple(size), tuple(stride), offset
        self.take(
            f"t{len(self.tensors)} = t{i}.as_strided{to}",
            lambda ts: ts.append(ts[i].as_strided(*to)),
            lambda m: m.view(i, vp.strided(m.whole[m.shown[i].memory], *to)),
        )

    @rule(data=st.data(), name=st.sampled_from(sorted(vp.ALONE)))
    def write_alone(self, data: st.DataObject, name: str) -> None:
        i = self.which(data)
        if name != "tril_()" or self.model.shown[i].places.ndim > 1:
            self.write(i, name, vp.ALONE[name], None, None, data.draw(unrecorded))

    @rule(data=st.data(), name=st.sampled_from(sorted(vp.WRITES)))
    def write_numbers(self, data: st.DataObject, name: str) -> None:
        i = self.which(data)
        self.write(
            i, name, vp.WRITES[name], data.draw(sources(self.model.shown[i].places.shape)), None, data.draw(unrecorded)
        )

    @rule(data=st.data(), name=st.sampled_from(sorted(vp.WRITES)))
    def write_tensor(self, data: st.DataObject, name: str) -> None:
        """From another tensor of the program, perhaps one that shares memory."""
        i = self.which(data)
        shape = self.model.shown[i].places.shape
        # a detached tensor would get a history of its own from one that has one
        ours = self.model.shown[i].detached
        fitting = [
            j for j, t in enumerate(self.model.shown) if fits(t.places.shape, shape) and (t.detached or not ours)
        ]
        self.write(i, name, vp.WRITES[name], None, data.draw(st.sampled_from(fitting)))

    def write(
        self, i: int, name: str, how: vp.Write, numbers: np.ndarray | None, j: int | None, quietly: bool = False
    ) -> None:
        if not self.model.distinct(i):
            return
        constant = None if numbers is None else pb.tensor(numbers)
        says = (
            f"t{i}.{name}"
            + (" in no_grad" if quietly else "")
            + ("" if numbers is None else f" with x = {numbers.tolist()}")
            + ("" if j is None else f" with x = t{j}")
        )

        def on_tensors(ts: list[Any]) -> None:
            with pb.set_grad_enabled(not quietly):
                how.on_tensor(ts[i], constant if j is None else ts[j])

        def on_model(model: vp.Model) -> None:
            current = model.value(i)
            source = numbers if j is None else aligned(model.value(j), current.ndim)
            model.write(i, how.on_values(current, source), not quietly)

        if j is not None and self.model.overlap(i, j):
            # sources that share some of the memory are refused, or read before anything is written
            before = [t.clone() for t in self.tensors]
            try:
                self.take(says, on_tensors, on_model)
            except RuntimeError:
                s.close(self.tensors, before, "after a refused write")
                return
        else:
            self.take(says, on_tensors, on_model)
        self.raised(i)

    def raised(self, i: int) -> None:
        """A write raises the counter of the memory by one."""
        memory = self.model.shown[i].memory
        self.versions[memory] += 1

    @rule(data=st.data(), value=s.seeds)
    def write_at(self, data: st.DataObject, value: int) -> None:
        i = self.which(data)
        places = self.model.shown[i].places
        index = data.draw(s.indices(places.shape))
        try:
            view, rest = s.in_two_steps(places, index)
            named = view[rest]
        except IndexError:
            return
        if np.unique(named).size != named.size or not self.model.distinct(i):
            return
        numbers = data.draw(sources(named.shape))
        ours, values = s.as_index(index, 0), pb.tensor(numbers)

        def on_model(model: vp.Model) -> None:
            part = vp.Shown(model.shown[i].memory, named, model.shown[i].detached)
            model.shown.append(part)
            model.write(len(model.shown) - 1, numbers + 0j)
            model.shown.pop()

        self.take(f"t{i}[{ours}] = {numbers.tolist()}", lambda ts: ts[i].__setitem__(ours, values), on_model)
        self.raised(i)

    @precondition(lambda self: len(self.tensors) < MOST)
    @rule(data=st.data(), name=st.sampled_from(sorted(vp.NEW)))
    def compute(self, data: st.DataObject, name: str) -> None:
        i = self.which(data)
        j = data.draw(
            st.sampled_from(
                [j for j, t in enumerate(self.model.shown) if fits(t.places.shape, self.model.shown[i].places.shape)]
            )
        )
        on_tensor, on_values = vp.NEW[name]
        made, orders = len(self.tensors), list[list[int]]()

        def on_model(model: vp.Model) -> None:
            x = model.value(i)
            if not orders:
                # As the new tensor has them in memory; tests/ops/test_order.py holds that to PyTorch's rule.
                stride = self.tensors[made].stride()
                orders.append(sorted(range(len(stride)), key=lambda d: -stride[d]))
            model.new(on_values(x, aligned(model.value(j), x.ndim)), orders[0])

        self.take(f"t{len(self.tensors)} = {name}(t{i}, t{j})", lambda ts: ts.append(on_tensor(ts[i], ts[j])), on_model)

    # ------------------------------------------------------------ what holds after each step
    @invariant()
    def values_and_aliases_agree(self) -> None:
        if not hasattr(self, "tensors"):
            return
        for i, (t, shown) in enumerate(zip(self.tensors, self.model.shown, strict=True)):
            s.close(t, self.model.value(i)[0].real, f"t{i}")
            assert t._version == self.versions[shown.memory], f"t{i}: version {t._version}"
            if shown.memory == 0 and shown.places.size:
                assert t.storage_offset() == shown.places.flat[0], f"t{i}: offset {t.storage_offset()}"

    # ------------------------------------------------------------ the program under transforms
    def program(self, x: Any) -> list[Any]:
        tensors = [(x * 1.0).contiguous()]
        for step in self.steps:
            step.on_tensors(tensors)
        return tensors

    def modelled(self, base: np.ndarray) -> vp.Model:
        model = vp.Model(base)
        for step in self.steps:
            step.on_model(model)
        return model

    def teardown(self) -> None:
        if not self.steps:
            return
        note(f"base: {self.base.tolist()}, {self.how}")
        for step in self.steps:
            note(step.says)
        event(f"steps: {len(self.steps) // 3 * 3}")
        weights = [s.numbers(7 + i, shown.places.shape) for i, shown in enumerate(self.model.shown)]
        ws = [pb.tensor(w) for w in weights]

        def loss(x: Any) -> Any:
            return sum((w * t).sum() for w, t in zip(ws, self.program(x), strict=True))

        def gradient_of(base: np.ndarray) -> np.ndarray:
            model = self.modelled(base)
            rows = sum((w * model.value(i).imag).reshape(base.size, -1).sum(1) / vp.STEP for i, w in enumerate(weights))
            return np.asarray(rows).reshape(base.shape)

        bases = [self.base, self.base[::-1] * 0.9 + 0.1]
        wants = [gradient_of(b) for b in bases]
        x, want = s.arranged(self.base, self.how), wants[0]
        stacked = pb.tensor(np.stack(bases, -1))
        v = pb.tensor(s.numbers(3, self.base.shape))
        if not any("no_grad" in step.says or "detach" in step.says for step in self.steps):
            # forward mode follows what nobody records, as in PyTorch
            self.tangents(x, v, loss, want)
            self.stacked(x, ws)
        with_values = vmap(self.program, in_dims=-1)(stacked)
        for i, got in enumerate(with_values):
            s.close(got, [self.values(b)[i] for b in bases], f"vmap: t{i}")
        s.close(functionalize(self.program)(x), self.values(self.base), "functionalize")
        s.close(x, self.base, "the argument")
        leaf = s.arranged(self.base, self.how).requires_grad_()
        right_or_refused("backward", lambda: pb.autograd.grad(loss(leaf), leaf)[0], want)
        right_or_refused("grad", lambda: grad(loss)(x), want)
        right_or_refused("vmap of grad", lambda: vmap(grad(loss), in_dims=-1)(stacked), np.stack(wants))
        batch = lambda x: vmap(loss, in_dims=-1)(x).sum()
        right_or_refused("grad of vmap", lambda: grad(batch)(stacked), np.stack(wants, -1))
        right_or_refused("vjp", lambda: vjp(lambda x: self.program(x), x)[1](ws)[0], want)

    def stacked(self, x: Any, ws: list[Any]) -> None:
        """Inside a random stack of transforms, against loops and eager derivatives."""
        totals = lambda x: pb.stack([(w * t).sum() for w, t in zip(ws, self.program(x), strict=True)])
        if cost(self.stack, x.numel(), len(ws)) > 60:
            return
        ours, slow = through(self.stack, totals)
        try:
            want = slow(x).detach().numpy()
        except RuntimeError as error:
            assert any(word in str(error) for word in REFUSED), error
            return
        right_or_refused(f"{self.stack}", lambda: ours(x), want)

    def tangents(self, x: Any, v: Any, loss: Callable[[Any], Any], want: np.ndarray) -> None:
        along = (want * v.numpy()).sum()
        s.close(jvp(loss, (x,), (v,))[1], along, "jvp", 1e-8, 1e-8)
        s.close(linearize(loss, x)[1](v), along, "linearize", 1e-8, 1e-8)
        both = lambda x, v: jvp(loss, (x,), (v,))[1]
        s.close(vmap(both)(x[None], v[None]), np.asarray([along]), "vmap of jvp", 1e-8, 1e-8)

    def values(self, base: np.ndarray) -> list[np.ndarray]:
        model = self.modelled(base)
        return [model.value(i)[0].real for i in range(len(model.shown))]


def fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1], strict=False))


def aligned(rows: np.ndarray, ndim: int) -> np.ndarray:
    """Rows of a tensor of fewer dimensions, with ones behind the dimension of rows."""
    return rows.reshape(rows.shape[0], *(1,) * (ndim - rows.ndim), *rows.shape[1:])


def right_or_refused(what: str, run: Callable[[], Any], want: np.ndarray) -> None:
    try:
        got = run()
    except RuntimeError as error:
        assert any(word in str(error) for word in REFUSED), error
        event(f"{what}: refused")
        return
    event(f"{what}: right")
    s.close(got, want, what, 1e-8, 1e-8)


TestViewsAndWrites = ViewsAndWrites.TestCase
