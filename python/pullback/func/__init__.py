"""Function transforms: they take a function and give one. They nest in any order and to any depth."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_func import *  # noqa: F403

globals().update(members("func"))
__all__ = sorted(members("func"))
