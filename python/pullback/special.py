"""Special functions, element by element."""

from ._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core_special import *  # noqa: F403

globals().update(members("special"))
__all__ = sorted(members("special"))
