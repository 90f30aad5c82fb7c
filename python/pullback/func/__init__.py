"""Function transforms: they take a function and give one. They nest in any order and to any depth.

>>> import pullback
>>> from pullback.func import grad, vmap
>>> vmap(grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))(pullback.ones(2), pullback.ones(3, 2)).shape
pullback.Size([3, 2])
"""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_func import *  # noqa: F403

globals().update(members("func"))
__all__ = sorted(members("func"))
