"""Arguments and results of functions with derivative rules of their own, taken apart into tensors and put together.

What happens at which level, and which rule follows from the other, is the core's (`src/function/rules.rs`): it calls a
`Call` with the tensors of the levels that rules run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pullback as pb
from pullback.utils.pytree import broadcast_to_and_flatten, tree_flatten, tree_structure, tree_unflatten

Leaves = Sequence[Any]
_short = pb._core._short


class _Tensor:
    pass


_TENSOR = _Tensor()


def _text(spec: Any) -> str:
    """A structure in a message."""
    text: str = _short(str(spec), 2000)
    return text


def matched(tree: Any, spec: Any, what: str) -> list[Any]:
    """The leaves of a tree in the order of a structure; None stands for any part of it."""
    found, own = tree_flatten(tree)
    if own == spec:
        return list(found)
    leaves = broadcast_to_and_flatten(tree, spec)
    if leaves is None or sum(x is not None for x in leaves) != sum(x is not None for x in found):
        raise TypeError(_short(f"{what}: expected the structure {_text(spec)}, got {_text(own)}"))
    return list(leaves)


def _zero(x: Any) -> Any:
    """What stands for the tangent of a value that is no tensor."""
    return type(x)(0) if isinstance(x, (float, complex)) else None


def _parts(tree: Any) -> tuple[Any, list[Any], list[Any]]:
    """The structure of a tree, its leaves with a mark in place of each tensor, and the tensors."""
    leaves, spec = tree_flatten(tree)
    tensors = [x for x in leaves if isinstance(x, pb.Tensor)]
    return spec, [_TENSOR if isinstance(x, pb.Tensor) else x for x in leaves], tensors


def _filled(rest: Leaves, tensors: Leaves, plain: bool = True) -> list[Any]:
    """The leaves with tensors in the marked places; the others are left out if not `plain`."""
    found = iter(tensors)
    return [next(found) if x is _TENSOR else x if plain else None for x in rest]


class Ran(NamedTuple):
    """The structures of what a run gave, and the leaves that are no tensors."""

    out_spec: Any
    out_rest: list[Any]
    residual_spec: Any
    residual_rest: list[Any]


class Call:
    """One call: where its tensors lie in its arguments."""

    def __init__(self, owner: Any, leaves: Leaves, spec: Any) -> None:
        self.owner, self.spec = owner, spec
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, pb.Tensor)]
        self.rest = [None if isinstance(x, pb.Tensor) else x for x in leaves]
        self.fixed: list[int] = []
        if owner.nondiff:
            numbers = self._numbers()
            self.fixed = [k for k, place in enumerate(self.places) if numbers[place] in owner.nondiff]

    def _numbers(self) -> list[int]:
        """For each leaf the number of its argument."""
        return [i for i, child in enumerate(self.spec.children()) for _ in range(child.num_leaves)]

    def _arguments(self, tensors: Leaves) -> list[Any]:
        leaves = list(self.rest)
        for place, x in zip(self.places, tensors, strict=True):
            leaves[place] = x
        return list(tree_unflatten(leaves, self.spec))

    def _split(self, arguments: Leaves) -> tuple[list[Any], list[Any]]:
        """The arguments that the rules get in front, and those that are differentiated."""
        nondiff = self.owner.nondiff
        fixed = [x for i, x in enumerate(arguments) if i in nondiff]
        return fixed, [x for i, x in enumerate(arguments) if i not in nondiff]

    def refuse(self, k: int) -> None:
        name = self.owner.parameter(self._numbers()[self.places[k]])
        raise RuntimeError(
            _short(
                f"{self.owner.name}: argument {name} is in nondiff_argnums, but is being differentiated; detach() it, "
                "or take it out of nondiff_argnums and let the rules handle it"
            )
        )

    def output(self, ran: Ran, tensors: Leaves) -> Any:
        return tree_unflatten(_filled(ran.out_rest, tensors), ran.out_spec)

    # ------------------------------------------------------------ what the core calls
    def evaluate(self, forward: bool, tensors: Leaves) -> tuple[list[Any], list[Any], Ran]:
        """The tensors of the results and of the residuals."""
        owner, arguments = self.owner, self._arguments(tensors)
        if not forward:
            out, residual = owner.fun(*arguments), ()
        else:
            found = owner.fwd(*arguments)
            if not isinstance(found, tuple) or len(found) != 2:
                got = type(found).__name__
                raise TypeError(
                    _short(f"{owner.name}: the fwd of defvjp() must return a pair (output, residuals), got {got}")
                )
            out, residual = found
        out_spec, out_rest, results = _parts(out)
        residual_spec, residual_rest, residuals = _parts(residual)
        return results, residuals, Ran(out_spec, out_rest, residual_spec, residual_rest)

    def backward(self, ran: Ran, inputs: Leaves, residuals: Leaves, grads: Leaves) -> list[Any]:
        """The user's bwd: gradients of the tensors among the arguments."""
        owner = self.owner
        fixed, _ = self._split(self._arguments(inputs))
        residual = tree_unflatten(_filled(ran.residual_rest, residuals), ran.residual_spec)
        cotangent = tree_unflatten(_filled(ran.out_rest, grads, plain=False), ran.out_spec)
        found = owner.bwd(*fixed, residual, cotangent)
        children = self.spec.children()
        places = [i for i in range(len(children)) if i not in owner.nondiff]
        if not isinstance(found, (tuple, list)) or len(found) != len(places):
            got = f"{len(found)} values" if isinstance(found, (tuple, list)) else type(found).__name__
            raise TypeError(
                _short(
                    f"{owner.name}: the bwd of defvjp() must return a tuple of one gradient for each differentiated "
                    f"argument, {len(places)}, got {got}"
                )
            )
        what = f"{owner.name}: the gradient that bwd returned for argument"
        by_argument = {
            i: matched(g, children[i], f"{what} {owner.parameter(i)}") for i, g in zip(places, found, strict=True)
        }
        every: list[Any] = []
        for i, spec in enumerate(children):
            every += by_argument.get(i) or [None] * spec.num_leaves
        return [every[place] for place in self.places]

    def forward(self, ran: Ran, tensors: Leaves, tangents: Leaves) -> list[Any]:
        """The user's rule for forward mode: tangents of the tensors among the results."""
        owner = self.owner
        fixed, primals = self._split(self._arguments(tensors))
        leaves = [_zero(x) for x in self.rest]
        for place, t in zip(self.places, tangents, strict=True):
            leaves[place] = t
        _, along = self._split(tree_unflatten(leaves, self.spec))
        found = owner.rule(*fixed, tuple(primals), tuple(along))
        if not isinstance(found, tuple) or len(found) != 2:
            got = type(found).__name__
            raise TypeError(
                _short(
                    f"{owner.name}: the rule of defjvp() must return a pair (output, tangent of the output), got {got}"
                )
            )
        if tree_structure(found[0]) != ran.out_spec:
            given, expected = _text(tree_structure(found[0])), _text(ran.out_spec)
            raise TypeError(
                _short(
                    f"{owner.name}: the rule of defjvp() gave an output of structure {given}, the function {expected}"
                )
            )
        found = matched(found[1], ran.out_spec, f"{owner.name}: the tangent that the rule of defjvp() returned")
        return [t for t, x in zip(found, ran.out_rest, strict=True) if x is _TENSOR]
