"""Forward mode step by step: dual tensors that live in a `dual_level`.

>>> import pullback
>>> from pullback.autograd import forward_ad
>>> x, t = pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 0.0])
>>> with forward_ad.dual_level():
...     dual = forward_ad.make_dual(x, t)
...     forward_ad.unpack_dual(dual * dual).tangent
tensor([2., 0.])
"""

from typing import NamedTuple

from .._core import Tensor
from .._members import members
from .grad_mode import decorate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core_autograd_forward_ad import (
        is_fwd_grad_enabled,
        make_dual,
        switch_fwd_grad,
        unpack,
    )


_made_in_rust = members("autograd.forward_ad")
for _name in ("is_fwd_grad_enabled", "make_dual", "switch_fwd_grad", "unpack"):
    globals()[_name] = _made_in_rust[_name]
_enter: "Callable[[], int]" = _made_in_rust["enter_dual_level"]
_exit: "Callable[..., None]" = _made_in_rust["exit_dual_level"]
_levels: "Callable[[], int]" = _made_in_rust["dual_levels"]

# PyTorch's name for the number of the innermost level; -1 outside of all.
_current_level: int = -1

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "is_fwd_grad_enabled",
    "make_dual",
    "set_fwd_grad_enabled",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; `tangent` is None where the tensor has none."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: "int | None" = None) -> UnpackedDualTensor:
    """Primal and tangent of a tensor, which share its memory.

    The tangent is None if the tensor has none at this level (the innermost, unless given), or forward mode is off.
    RuntimeError where the tensor belongs to a transform such as `grad` that began after the level.

    >>> import pullback
    >>> from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
    >>> with dual_level():
    ...     unpack_dual(make_dual(pullback.ones(2), pullback.zeros(2)))
    UnpackedDualTensor(primal=tensor([1., 1.]), tangent=tensor([0., 0.]))
    """
    return UnpackedDualTensor(*unpack(tensor, level=level))


def enter_dual_level() -> int:
    """Enters a level of dual tensors and returns its number, from 0 on. RecursionError if too many are open.

    >>> from pullback.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    global _current_level
    _current_level = _enter()
    return _current_level


def exit_dual_level(*, level: "int | None" = None) -> None:
    """Leaves the innermost level: its dual tensors are their primals from now on. RuntimeError for another level."""
    global _current_level
    _exit(level=level)
    _current_level = _levels() - 1


class dual_level:
    """A block, or a function it decorates, in which tensors can be dual. They are their primals when it ends.

    Levels nest, and those inside hold derivatives of those outside. `with` gives the number of the level.

    >>> import pullback
    >>> from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
    >>> @dual_level()
    ... def slope(f, x):
    ...     return unpack_dual(f(make_dual(x, pullback.ones_like(x)))).tangent
    >>> slope(lambda x: x**3, pullback.tensor(2.0))
    tensor(12.)
    """

    def __enter__(self) -> int:
        global _current_level
        self._level = _current_level = _enter()
        return _current_level

    def __exit__(self, *_: "Any") -> None:
        global _current_level
        _exit(level=self._level)
        _current_level = self._level - 1

    def __call__(self, func: "Callable[..., Any]") -> "Any":
        return decorate(type(self), func)


class set_fwd_grad_enabled:
    """Turns forward mode on or off at once; as a context manager or decorator, until the block ends.

    >>> import pullback
    >>> from pullback.autograd.forward_ad import dual_level, make_dual, set_fwd_grad_enabled, unpack_dual
    >>> with dual_level():
    ...     dual = make_dual(pullback.ones(1), pullback.ones(1))
    ...     with set_fwd_grad_enabled(False):
    ...         constant = dual * 2
    ...     unpack_dual(constant).tangent is None
    True
    """

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._before = switch_fwd_grad(mode)

    def __enter__(self) -> None:
        switch_fwd_grad(self._mode)

    def __exit__(self, *_: "Any") -> None:
        switch_fwd_grad(self._before)

    def __call__(self, func: "Callable[..., Any]") -> "Any":
        switch_fwd_grad(self._before)
        return decorate(lambda: set_fwd_grad_enabled(self._mode), func)


# The names that PyTorch has them under.
_set_fwd_grad_enabled, _is_fwd_grad_enabled = set_fwd_grad_enabled, is_fwd_grad_enabled
