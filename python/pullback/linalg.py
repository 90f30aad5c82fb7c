"""Linear algebra on the last two dimensions; all dimensions in front are batches."""

from ._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core_linalg import *  # noqa: F403

globals().update(members("linalg"))
__all__ = sorted(members("linalg"))
