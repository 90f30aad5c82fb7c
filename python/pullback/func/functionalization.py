"""Functions that write to their arguments, and give views of them, as functions that do neither."""

from __future__ import annotations

import functools

from .. import Tensor, _core
from ..utils.pytree import tree_flatten, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _T = TypeVar("_T")

__all__ = ["functionalize"]

_stand_in: Any = _core.func._stand_in
_same_view: Any = _core.func._same_view
_REMOVABLE = ("mutations", "mutations_and_views")


def functionalize(func: Callable[_P, _T], *, remove: str = "mutations") -> Callable[_P, _T]:
    """Returns a function with the results of `func` whose writes in place do not reach its arguments while it runs.

    Args:
        func: function of any arguments and results; the tensors among them may be at any depth of pytrees.
        remove: "mutations", or "mutations_and_views", after which results share no memory with each other or with
            arguments, unless an argument is given back as it is.

    `func` gets tensors of its own in place of the arguments. Those that it wrote to are written to when it has ended,
    once each; if it raises, none is. Each argument is on its own: two that show the same memory do not see each
    other's writes. Tensors that `func` takes from outside are no arguments, and a write to one is done at once.

    Under `vmap`, `jvp` and `grad` the last write obeys their rules: the argument that `grad` differentiates cannot be
    written to. A program that `trace` records has operators alone, and no writes in place: what such a function
    writes to between its arguments and its results is part of it, and an argument that is written to raises.

    >>> import pullback
    >>> from pullback.func import functionalize
    >>> def f(x):
    ...     x.view(-1)[0] = 7
    ...     return x.sum()
    >>> x = pullback.zeros(2, 2)
    >>> functionalize(f)(x), x
    (tensor(7.), tensor([[7., 0.],
            [0., 0.]]))
    >>> y = functionalize(lambda x: x.view(-1), remove="mutations_and_views")(x)
    >>> y._base is None
    True

    Raises RuntimeError for another `remove`.
    """
    if remove not in _REMOVABLE:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are "
            "'mutations', after which nothing is written in place, and 'mutations_and_views', after which results are "
            "no views either"
        )

    @functools.wraps(func)
    def functionalized(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        leaves, structure = tree_flatten((args, kwargs))
        arguments = [_Argument(x) for x in leaves if isinstance(x, Tensor)]
        waiting = iter(arguments)
        inside = [next(waiting).inside if isinstance(x, Tensor) else x for x in leaves]
        own_args, own_kwargs = tree_unflatten(inside, structure)
        results, form = tree_flatten(func(*own_args, **own_kwargs))
        shown = [_result(x, arguments, remove) if isinstance(x, Tensor) else x for x in results]
        for argument in arguments:
            argument.write_back()
        out: _T = tree_unflatten(shown, form)
        return out

    return functionalized


class _Argument:
    """A tensor that was given, and the one that the function got."""

    def __init__(self, given: Tensor) -> None:
        self.given = given
        # Through an operator, so that it is no leaf where derivatives are recorded and may be written to.
        self.inside: Tensor = _stand_in(given.view(given.shape))
        self.version = self.inside._version

    @property
    def written(self) -> bool:
        return self.inside._version != self.version or self.inside.shape != self.given.shape

    def write_back(self) -> None:
        if not self.written:
            return
        if self.inside.shape != self.given.shape:
            self.given.resize_(self.inside.shape)
        self.given.copy_(self.inside)


def _result(x: Tensor, arguments: list[_Argument], remove: str) -> Tensor:
    """A result of the function as its caller gets it."""
    base = x._base
    for argument in arguments:
        if argument.written:
            continue
        if x is argument.inside:
            return argument.given
        if base is argument.inside and remove == "mutations":
            seen: Tensor | None = _same_view(x, argument.inside, argument.given)
            return x if seen is None else seen
    if base is not None and remove != "mutations":
        apart: Tensor = _stand_in(x)
        return apart
    return x
