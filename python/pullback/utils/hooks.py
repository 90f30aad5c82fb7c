"""Handles of hooks."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_utils_hooks import *  # noqa: F403

globals().update(members("utils.hooks"))
__all__ = sorted(members("utils.hooks"))
