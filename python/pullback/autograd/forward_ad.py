"""Forward mode step by step: dual tensors that live in a `dual_level`."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_autograd_forward_ad import *  # noqa: F403

globals().update(members("autograd.forward_ad"))
__all__ = sorted(members("autograd.forward_ad"))
