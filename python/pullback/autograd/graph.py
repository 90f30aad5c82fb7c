"""What a recorded program saves: hooks that pack and unpack saved tensors."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_autograd_graph import *  # noqa: F403

globals().update(members("autograd.graph"))
__all__ = sorted(members("autograd.graph"))
