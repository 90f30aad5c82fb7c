"""Layers and losses as plain functions."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_nn_functional import *  # noqa: F403

globals().update(members("nn.functional"))
__all__ = sorted(members("nn.functional"))
