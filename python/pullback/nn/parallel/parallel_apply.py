"""Calls of several modules."""

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """What each module gives for its inputs, one after the other.

    >>> import pullback
    >>> pullback.nn.parallel.parallel_apply([pullback.nn.ReLU()] * 2, [(pullback.ones(1),), -pullback.ones(1)])
    [tensor([1.]), tensor([0.])]

    Args:
        modules: the modules.
        inputs: for each a tuple of arguments, or its only one.
        kwargs_tup: for each its keyword arguments.
        devices: accepted, and without effect.

    Raises:
        ValueError: if there are not as many inputs as modules.
    """
    named = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    if not len(modules) == len(inputs) == len(named):
        raise ValueError(
            f"parallel_apply(): {len(modules)} modules, {len(inputs)} inputs and {len(named)} keyword arguments; there "
            "must be as many of each"
        )
    calls = zip(modules, inputs, named, strict=True)
    return [module(*(x if isinstance(x, (list, tuple)) else (x,)), **options) for module, x, options in calls]
