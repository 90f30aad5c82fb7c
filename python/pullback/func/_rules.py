"""How functions with derivative rules of their own run: as one `autograd.Function` of the tensors in their arguments.

NOTE what a call computes. Where a tape follows, the forward is the user's `fwd`. Residuals that are arguments or
results are saved as such; those that `fwd` computed become further outputs of the Function, so that each level has its
own value of them. Their derivatives are those of `fwd` as ordinary code, run again for second derivatives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pullback as pb
from pullback.autograd.function import Function
from pullback.utils.pytree import broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_structure

Leaves = Sequence[Any]
_running, _level_moment = pb._core.autograd._running, pb._core.autograd._moment
_level_replay, _transposed = pb._core.autograd._replay, pb._core.autograd._transposed
_trying = pb._core.autograd._trying
_agree, _at_here = pb._core.autograd._agree, pb._core.autograd._at_here
_short = pb._core._short


def _text(spec: Any) -> str:
    """A structure in a message."""
    text: str = _short(str(spec), 2000)
    return text


def is_differentiable(x: Any) -> bool:
    """Whether it is a tensor of a floating point or complex dtype."""
    return isinstance(x, pb.Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def matched(tree: Any, spec: Any, what: str) -> list[Any]:
    """The leaves of a tree in the order of a structure; None stands for any part of it."""
    found, own = tree_flatten(tree)
    if own == spec:
        return list(found)
    leaves = broadcast_to_and_flatten(tree, spec)
    if leaves is None or sum(x is not None for x in leaves) != sum(x is not None for x in found):
        raise TypeError(_short(f"{what}: expected the structure {_text(spec)}, got {_text(own)}"))
    return list(leaves)


def zeros(x: Any) -> Any:
    """What stands for no (co)tangent: of tensors and Python numbers zero, of all else None."""
    if isinstance(x, (float, complex)):
        return type(x)(0)
    return pb.zeros_like(x) if is_differentiable(x) else None


class Generators:
    """The states of the generators at a moment, so that a function can draw the same numbers again."""

    def __init__(self, leaves: Leaves) -> None:
        self.generators = [pb.default_generator, *(g for g in leaves if isinstance(g, pb.Generator))]
        self.states = [g.get_state() for g in self.generators]
        self.moment = _level_moment()

    def unchanged(self) -> bool:
        return all(g.get_state() == s for g, s in zip(self.generators, self.states, strict=True))

    @contextmanager
    def again(self) -> Iterator[None]:
        now = Generators(self.generators[1:])
        before = _level_replay((self.moment, now.moment))
        try:
            self._restore()
            yield
        finally:
            _level_replay(before)
            now._restore()

    def _restore(self) -> None:
        for g, s in zip(self.generators, self.states, strict=True):
            g.set_state(s)


class Call:
    """One call: where its tensors lie in its arguments and results, and what was saved."""

    def __init__(self, owner: Any, leaves: Leaves, spec: Any, followers: tuple[int, int, bool]) -> None:
        self.owner, self.spec = owner, spec
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, pb.Tensor)]
        self.rest = [None if isinstance(x, pb.Tensor) else x for x in leaves]
        numbers = [i for i, child in enumerate(self.spec.children()) for _ in range(child.num_leaves)]
        self.fixed = {k for k, place in enumerate(self.places) if numbers[place] in owner.nondiff}
        self.nondiff = owner.nondiff
        self.names = numbers
        tapes, duals, traced = followers
        self.uses_fwd = owner.fwd is not None and (tapes > 0 or traced or owner.rule is None)
        # A traced call may be run again under any levels.
        self.levels = sys.maxsize if traced else tapes + duals
        self.random: Generators | None = None
        # Set by the forward.
        self.count = 0
        self.out_spec: Any = None
        self.out_rest: list[Any] = []
        self.metas: list[tuple[Any, Any]] = []
        self.residual_spec: Any = None
        self.residual_rest: list[Any] = []
        self.residuals: list[tuple[int, bool, int]] = []  # place among the leaves, of the inputs?, number
        self.computed: list[int] = []  # places of the residuals that are outputs of their own

    # ------------------------------------------------------------ trees
    def arguments(self, tensors: Leaves) -> list[Any]:
        leaves = list(self.rest)
        for place, x in zip(self.places, tensors, strict=True):
            leaves[place] = x
        return list(pb.utils.pytree.tree_unflatten(leaves, self.spec))

    def split(self, tensors: Leaves) -> tuple[list[Any], list[Any]]:
        """The arguments that the rules get in front, and those that are differentiated."""
        arguments = self.arguments(tensors)
        fixed = [x for i, x in enumerate(arguments) if i in self.nondiff]
        return fixed, [x for i, x in enumerate(arguments) if i not in self.nondiff]

    def along(self, tangents: Leaves, tensors: Leaves) -> list[Any]:
        """Tangents as a tree of the differentiated arguments."""
        leaves = [zeros(x) for x in self.rest]
        for place, t, x in zip(self.places, tangents, tensors, strict=True):
            leaves[place] = zeros(x) if t is None and not self.owner.symbolic else t
        tree = pb.utils.pytree.tree_unflatten(leaves, self.spec)
        return [t for i, t in enumerate(tree) if i not in self.nondiff]

    def output(self, tensors: Leaves) -> Any:
        found = iter(tensors)
        leaves = [next(found) if x is _TENSOR else x for x in self.out_rest]
        return pb.utils.pytree.tree_unflatten(leaves, self.out_spec)

    def cotangents(self, grads: Leaves) -> Any:
        filled = []
        for g, (shape, dtype) in zip(grads, self.metas[: self.count], strict=True):
            differentiable = dtype.is_floating_point or dtype.is_complex
            missing = g is None and differentiable and not self.owner.symbolic
            filled.append(pb.zeros(shape, dtype=dtype) if missing else g)
        found = iter(filled)
        leaves = [next(found) if x is _TENSOR else None for x in self.out_rest]
        return pb.utils.pytree.tree_unflatten(leaves, self.out_spec)

    # ------------------------------------------------------------ forward
    def run(self, tensors: Leaves) -> tuple[Any, ...]:
        if _trying():
            return self._tried(tensors)
        before = Generators(self.rest)
        out, residual = self._evaluate(tensors)
        self.random = None if before.unchanged() else before
        leaves, self.out_spec = tree_flatten(out)
        outputs = [x for x in leaves if isinstance(x, pb.Tensor)]
        self.out_rest = [_TENSOR if isinstance(x, pb.Tensor) else x for x in leaves]
        self.count = len(outputs)
        self._note(residual, tensors, outputs)
        self.metas = [(x.shape, x.dtype) for x in outputs]
        return tuple(outputs)

    def _tried(self, tensors: Leaves) -> tuple[Any, ...]:
        """The results of a run that leaves the call as it is."""
        out, residual = self._evaluate(tensors)
        outputs = [x for x in tree_leaves(out) if isinstance(x, pb.Tensor)]
        leaves = tree_leaves(residual)
        return (*outputs, *(leaves[place] for place in self.computed))

    def _evaluate(self, tensors: Leaves) -> tuple[Any, Any]:
        arguments = self.arguments(tensors)
        _running("fwd" if self.uses_fwd else "fun")
        if not self.uses_fwd:
            return self.owner.fun(*arguments), ()
        found = self.owner.fwd(*arguments)
        if not isinstance(found, tuple) or len(found) != 2:
            got = type(found).__name__
            raise TypeError(
                _short(f"{self.owner.name}: the fwd of defvjp() must return a pair (output, residuals), got {got}")
            )
        return found

    def _note(self, residual: Any, inputs: Leaves, outputs: list[Any]) -> None:
        leaves, self.residual_spec = tree_flatten(residual)
        self.residual_rest, self.residuals, self.computed = [], [], []
        for place, x in enumerate(leaves):
            self.residual_rest.append(None if isinstance(x, pb.Tensor) else x)
            if not isinstance(x, pb.Tensor):
                continue
            source = next((i for i, t in enumerate(inputs) if t is x), None)
            if source is not None:
                self.residuals.append((place, True, source))
                continue
            number = next((i for i, t in enumerate(outputs) if t is x), None)
            if number is None:
                number = len(outputs)
                outputs.append(x)
                self.computed.append(place)
            self.residuals.append((place, False, number))

    # ------------------------------------------------------------ what is saved
    def saved(self, inputs: Leaves, outputs: Leaves, reverse: bool) -> tuple[list[int], list[Any]]:
        """Which inputs are kept, and the tensors to save."""
        kept = list(range(len(inputs)))
        if reverse and self.uses_fwd and not any(is_differentiable(x) for x in outputs[self.count :]):
            kept = sorted({n for _, is_input, n in self.residuals if is_input} | self.fixed)
        numbers = sorted({n for _, is_input, n in self.residuals if not is_input})
        return kept, [inputs[i] for i in kept] + [outputs[n] for n in numbers]

    def restored(self, kept: list[int], saved: Leaves) -> tuple[list[Any], Any]:
        """The inputs as far as they were kept, and the residuals."""
        inputs: list[Any] = [None] * len(self.places)
        for i, x in zip(kept, saved, strict=False):
            inputs[i] = x
        numbers = sorted({n for _, is_input, n in self.residuals if not is_input})
        outputs = dict(zip(numbers, saved[len(kept) :], strict=True))
        leaves = list(self.residual_rest)
        for place, is_input, n in self.residuals:
            leaves[place] = inputs[n] if is_input else outputs[n]
        return inputs, pb.utils.pytree.tree_unflatten(leaves, self.residual_spec)

    # ------------------------------------------------------------ rules
    def refuse(self, k: int) -> None:
        name = self.owner.parameter(self.names[self.places[k]])
        raise RuntimeError(
            _short(
                f"{self.owner.name}: argument {name} is in nondiff_argnums, but is being differentiated; detach() it, "
                "or take it out of nondiff_argnums and let the rules handle it"
            )
        )

    def again(self) -> Any:
        from contextlib import nullcontext

        return nullcontext() if self.random is None else self.random.again()

    def backward_rule(self, inputs: Leaves, residual: Any, grads: Leaves) -> list[Any]:
        """The user's bwd: gradients of the tensors among the arguments."""
        owner = self.owner
        _running("bwd")
        fixed, others = self.split([None if x is None else x for x in inputs])
        found = owner.bwd(*fixed, residual, self.cotangents(grads))
        specs = [s for i, s in enumerate(self.spec.children()) if i not in self.nondiff]
        if not isinstance(found, (tuple, list)) or len(found) != len(specs):
            got = f"{len(found)} values" if isinstance(found, (tuple, list)) else type(found).__name__
            raise TypeError(
                _short(
                    f"{owner.name}: the bwd of defvjp() must return a tuple of one gradient for each differentiated "
                    f"argument, {len(specs)}, got {got}"
                )
            )
        places = [i for i in range(self.spec.num_children) if i not in self.nondiff]
        by_argument = {
            i: matched(g, s, f"{owner.name}: the gradient that bwd returned for argument {owner.parameter(i)}")
            for i, g, s in zip(places, found, specs, strict=True)
        }
        every: list[Any] = []
        for i, spec in enumerate(self.spec.children()):
            every += by_argument.get(i) or [None] * spec.num_leaves
        return [every[place] for place in self.places]

    def forward_rule(self, tensors: Leaves, tangents: Leaves) -> list[Any]:
        """The user's jvp rule: tangents of the tensors among the results."""
        owner = self.owner
        _running("jvp")
        fixed, primals = self.split(tensors)
        with self.again():
            found = owner.rule(*fixed, tuple(primals), tuple(self.along(tangents, tensors)))
        if not isinstance(found, tuple) or len(found) != 2:
            got = type(found).__name__
            raise TypeError(
                _short(
                    f"{owner.name}: the rule of defjvp() must return a pair (output, tangent of the output), got {got}"
                )
            )
        if tree_structure(found[0]) != self.out_spec:
            given, expected = _text(tree_structure(found[0])), _text(self.out_spec)
            raise TypeError(
                _short(
                    f"{owner.name}: the rule of defjvp() gave an output of structure {given}, the function {expected}"
                )
            )
        leaves = matched(found[1], self.out_spec, f"{owner.name}: the tangent that the rule of defjvp() returned")
        return [t for t, x in zip(leaves, self.out_rest, strict=True) if x is _TENSOR]

    # ------------------------------------------------------------ derivatives of what there is no rule for
    def residuals_of(
        self, tensors: Leaves, first: Any, chosen: Sequence[int], varied: Sequence[int]
    ) -> Callable[..., Any]:
        """Computed residuals as a function of some of the inputs. `first`: the residuals of the first run."""
        known = tree_leaves(first)

        def function(*values: Any) -> tuple[Any, ...]:
            changed = list(tensors)
            for k, x in zip(varied, values, strict=True):
                changed[k] = x
            with self.again():
                _, residual = self._evaluate(changed)
            leaves = tree_leaves(residual)
            if len(leaves) != len(known) or not all(_agree(known[place], leaves[place]) for place in self.computed):
                raise RuntimeError(
                    f"{self.owner.name}: the fwd of defvjp() runs once more, to differentiate the residuals that it "
                    "computes, and then gives other residuals than the first time, because it draws random numbers of "
                    "NumPy, random or a generator, or keeps a state. Draw with pullback, or pass what was drawn as an "
                    f"argument{_at_here()}"
                )
            return tuple(leaves[place] for place in chosen)

        return function

    def transposed_rule(self, tensors: Leaves, grads: Leaves, needs: Sequence[bool]) -> list[Any]:
        """Gradients by the transpose of the forward rule, which must be linear in the tangents."""
        varied = [k for k, x in enumerate(tensors) if needs[k] and is_differentiable(x)]

        def tangent_map(*directions: Any) -> list[Any]:
            tangents: list[Any] = [None] * len(tensors)
            for k, t in zip(varied, directions, strict=True):
                tangents[k] = t
            return self.forward_rule(tensors, tangents)

        names = (self.owner.name, "the rule of defjvp()", "write a rule for reverse mode with defvjp()")
        result: list[Any] = [None] * len(tensors)
        found = _transposed(names, False, tangent_map, [pb.zeros_like(tensors[k]) for k in varied], list(grads))
        for k, g in zip(varied, found, strict=True):
            result[k] = g
        return result

    def transposed_backward(self, inputs: Leaves, residual: Any, tangents: Leaves) -> list[Any]:
        """Tangents by the transpose of the backward rule, which must be linear in the cotangents."""
        places = [n for n, (_, d) in enumerate(self.metas[: self.count]) if d.is_floating_point or d.is_complex]

        def pullback(*cotangents: Any) -> list[Any]:
            grads: list[Any] = [None] * self.count
            for n, g in zip(places, cotangents, strict=True):
                grads[n] = g
            return self.backward_rule(inputs, residual, grads)

        names = (self.owner.name, "the bwd of defvjp()", "write a rule for forward mode with defjvp()")
        points = [pb.zeros(self.metas[n][0], dtype=self.metas[n][1]) for n in places]
        result: list[Any] = [None] * self.count
        for n, t in zip(places, _transposed(names, True, pullback, points, list(tangents)), strict=True):
            result[n] = t
        return result


class _Tensor:
    pass


_TENSOR = _Tensor()


class CustomDerivative(Function):
    """`Function.apply` of a call and the tensors among its arguments."""

    generate_vmap_rule = True

    @staticmethod
    def forward(call: Call, *tensors: Any) -> Any:
        return call.run(tensors)

    @staticmethod
    def _further(call: Call) -> int:
        return len(call.computed)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, tensors = inputs[0], inputs[1:]
        needs = ctx.needs_input_grad[1:]
        for k in call.fixed:
            if needs[k]:
                call.refuse(k)
        ctx.set_materialize_grads(False)
        ctx.call = call
        ctx.kept, saved = call.saved(tensors, output, any(needs))
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call, needs = ctx.call, ctx.needs_input_grad[1:]
        inputs, residual = call.restored(ctx.kept, ctx.saved_tensors)
        own, further = grads[: call.count], grads[call.count :]
        found: list[Any] = [None] * len(inputs)
        if any(g is not None for g in own):
            if call.uses_fwd:
                found = call.backward_rule(inputs, residual, own)
            else:
                found = call.transposed_rule(inputs, own, needs)
        chosen = [n for n, g in enumerate(further) if g is not None]
        varied = [k for k, x in enumerate(inputs) if needs[k] and is_differentiable(x)]
        if chosen and varied:
            function = call.residuals_of(inputs, residual, [call.computed[n] for n in chosen], varied)
            _, pull = pb.func.vjp(function, *(inputs[k] for k in varied))
            for k, g in zip(varied, pull(tuple(further[n] for n in chosen)), strict=True):
                found[k] = g if found[k] is None else found[k] + g
        return (None, *(g if need else None for g, need in zip(found, needs, strict=True)))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        call = ctx.call
        for k in call.fixed:
            if tangents[k] is not None:
                call.refuse(k)
        inputs, residual = call.restored(ctx.kept, ctx.saved_tensors)
        if call.owner.rule is not None:
            found = call.forward_rule(inputs, tangents)
        else:
            found = call.transposed_backward(inputs, residual, tangents)
        further: list[Any] = [None] * len(call.computed)
        varied = [k for k, t in enumerate(tangents) if t is not None]
        chosen = [n for n, (_, d) in enumerate(call.metas[call.count :]) if d.is_floating_point or d.is_complex]
        # Levels above this one may differentiate the residuals; the highest has no use for their tangents.
        below = sum(pb._core.autograd._followers(*inputs, *tangents)[:2])
        if below + 1 < call.levels and chosen and varied:
            function = call.residuals_of(inputs, residual, [call.computed[n] for n in chosen], varied)
            points, directions = (tuple(values[k] for k in varied) for values in (inputs, tangents))
            for n, t in zip(chosen, pb.func.jvp(function, points, directions)[1], strict=True):
                further[n] = t
        return (*found, *further)
