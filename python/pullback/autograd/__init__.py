"""Reverse mode on recorded programs: gradients, custom functions, and checks of gradients."""

from .._members import lazily, members
from .function import Function as Function

# Not lazily: the submodule has the name of the function and must not take its place.
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_autograd import *  # noqa: F403
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import graph as graph

_SUBMODULES = ("forward_ad", "function", "functional", "graph")
_CHECKS = ("GradcheckError", "gradcheck", "gradgradcheck")

globals().update(members("autograd"))
__getattr__ = lazily(__name__, _SUBMODULES)
__all__ = [*sorted(members("autograd")), *_CHECKS, "Function", *_SUBMODULES]
