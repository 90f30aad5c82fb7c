"""Networks: modules with parameters, and the functions that they are made of."""

from ._names import CONTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import attention as attention
    from . import common_types as common_types
    from . import functional as functional
    from . import grad as grad
    from . import init as init
    from . import modules as modules
    from . import parallel as parallel
    from . import parameter as parameter
    from . import utils as utils
    from .modules.activation import *  # noqa: F403
    from .modules.adaptive import *  # noqa: F403
    from .modules.batchnorm import *  # noqa: F403
    from .modules.channelshuffle import *  # noqa: F403
    from .modules.container import *  # noqa: F403
    from .modules.conv import *  # noqa: F403
    from .modules.distance import *  # noqa: F403
    from .modules.dropout import *  # noqa: F403
    from .modules.flatten import *  # noqa: F403
    from .modules.fold import *  # noqa: F403
    from .modules.instancenorm import *  # noqa: F403
    from .modules.linear import *  # noqa: F403
    from .modules.linear_cross_entropy_options import *  # noqa: F403
    from .modules.loss import *  # noqa: F403
    from .modules.module import Module as Module
    from .modules.normalization import *  # noqa: F403
    from .modules.padding import *  # noqa: F403
    from .modules.pixelshuffle import *  # noqa: F403
    from .modules.pooling import *  # noqa: F403
    from .modules.rnn import *  # noqa: F403
    from .modules.sparse import *  # noqa: F403
    from .modules.transformer import *  # noqa: F403
    from .modules.upsampling import *  # noqa: F403
    from .parallel import DataParallel as DataParallel
    from .parameter import Buffer as Buffer
    from .parameter import Parameter as Parameter
    from .parameter import UninitializedBuffer as UninitializedBuffer
    from .parameter import UninitializedParameter as UninitializedParameter

_SUBMODULES = ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils")
__all__ = sorted([*_SUBMODULES, *CONTENTS])

if not TYPE_CHECKING:

    def __getattr__(name: "str") -> "Any":
        holder = name if name in _SUBMODULES or name == "_reduction" else CONTENTS.get(name)
        if holder is None:
            from .._members import missing

            raise AttributeError(missing(__name__, name))
        from importlib import import_module

        found: Any = import_module(f"{__name__}.{holder}")
        if name != holder:
            found = globals()[name] = getattr(found, name)
        return found


def __dir__() -> "list[str]":
    return __all__
