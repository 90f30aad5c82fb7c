"""Reverse mode on recorded programs: gradients, custom functions, and checks of gradients."""

from .._members import lazily, members
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .function import explain as explain

# Not lazily: the submodule has the name of the function and must not take its place.
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_autograd import *  # noqa: F403
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import grad_mode as grad_mode
    from . import graph as graph
    from . import profiler as profiler
    from ._flags import is_multithreading_enabled as is_multithreading_enabled
    from ._flags import is_view_replay_enabled as is_view_replay_enabled
    from ._flags import kineto_available as kineto_available
    from ._flags import set_multithreading_enabled as set_multithreading_enabled
    from .function import NestedIOFunction as NestedIOFunction
    from .graph import SavedTensor as SavedTensor
    from .variable import Variable as Variable

_SUBMODULES = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph")
_CONTENTS = {
    **{"Variable": "variable", "NestedIOFunction": "function", "SavedTensor": "graph"},
    **dict.fromkeys(("is_multithreading_enabled", "is_view_replay_enabled", "kineto_available"), "_flags"),
    "set_multithreading_enabled": "_flags",
}
_INNER = {"_is_checkpoint_valid": "_flags"}
_CHECKS = ("GradcheckError", "detect_anomaly", "gradcheck", "gradgradcheck", "set_detect_anomaly")

globals().update(members("autograd"))
if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, (*_SUBMODULES, "profiler", "variable"), {**_CONTENTS, **_INNER})
__all__ = [*sorted(members("autograd")), *_CHECKS, "Function", *_CONTENTS, "explain", *_SUBMODULES]
