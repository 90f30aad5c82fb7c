"""Reverse mode on recorded programs: gradients, custom functions, and checks of gradients."""

from .._members import lazily, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core_autograd import *  # noqa: F403
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import graph as graph
    from .function import Function as Function
    from .gradcheck import GradcheckError as GradcheckError
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck

_CHECKS = ("GradcheckError", "gradcheck", "gradgradcheck")
_SUBMODULES = ("forward_ad", "function", "functional", "graph")
_submodule = lazily(__name__, _SUBMODULES)

globals().update(members("autograd"))
__all__ = [*sorted(members("autograd")), *_CHECKS, "Function", *_SUBMODULES]


def __getattr__(name: "str") -> "Any":
    if name in _CHECKS:
        # The module has the name of the function: taking all names at once puts the function in its place.
        from . import gradcheck as module

        globals().update((check, getattr(module, check)) for check in _CHECKS)
        return globals()[name]
    if name == "Function":
        from .function import Function

        globals()[name] = Function
        return Function
    return _submodule(name)
