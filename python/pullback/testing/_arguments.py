"""Sample arguments taken apart into tensors, and functions as functions of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback as pb
from pullback.utils.pytree import tree_flatten, tree_leaves, tree_unflatten

Function = Callable[..., Any]


def name_of(f: Function) -> str:
    return getattr(f, "__name__", type(f).__name__)


def is_differentiable(x: Any) -> bool:
    return bool(x.dtype.is_floating_point or x.dtype.is_complex)


class Sample:
    """A function and sample arguments."""

    def __init__(self, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.f, self.name = f, name_of(f)
        self.leaves, self.spec = tree_flatten((args, kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, pb.Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        self.floats = [k for k, x in enumerate(self.tensors) if is_differentiable(x)]

    def copies(self) -> list[Any]:
        return [x.detach().clone() for x in self.tensors]

    def call(self, tensors: Sequence[Any]) -> Any:
        leaves = list(self.leaves)
        for place, x in zip(self.places, tensors, strict=True):
            leaves[place] = x
        args, kwargs = tree_unflatten(leaves, self.spec)
        return self.f(*args, **kwargs)

    def outputs(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The tensors of the result."""
        return tuple(x for x in tree_leaves(self.call(tensors)) if isinstance(x, pb.Tensor))

    def of_floats(self, *values: Any) -> tuple[Any, ...]:
        """The differentiable results as a function of the differentiable arguments."""
        tensors = self.copies()
        for k, v in zip(self.floats, values, strict=True):
            tensors[k] = v
        return tuple(y for y in self.outputs(tensors) if is_differentiable(y))

    def points(self) -> list[Any]:
        return [self.tensors[k].detach().clone() for k in self.floats]
