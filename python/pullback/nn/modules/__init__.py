"""The classes of `pullback.nn`, by file."""

from .._names import CONTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .activation import *  # noqa: F403
    from .adaptive import *  # noqa: F403
    from .batchnorm import *  # noqa: F403
    from .channelshuffle import *  # noqa: F403
    from .container import *  # noqa: F403
    from .conv import *  # noqa: F403
    from .distance import *  # noqa: F403
    from .dropout import *  # noqa: F403
    from .flatten import *  # noqa: F403
    from .fold import *  # noqa: F403
    from .instancenorm import *  # noqa: F403
    from .linear import *  # noqa: F403
    from .linear_cross_entropy_options import *  # noqa: F403
    from .loss import *  # noqa: F403
    from .module import Module as Module
    from .normalization import *  # noqa: F403
    from .padding import *  # noqa: F403
    from .pixelshuffle import *  # noqa: F403
    from .pooling import *  # noqa: F403
    from .rnn import *  # noqa: F403
    from .sparse import *  # noqa: F403
    from .transformer import *  # noqa: F403
    from .upsampling import *  # noqa: F403

_CONTENTS = {name: file.partition(".")[2] for name, file in CONTENTS.items() if file.startswith("modules.")}
_SUBMODULES = frozenset({*_CONTENTS.values(), "lazy", "utils"})
__all__ = sorted(_CONTENTS)

if not TYPE_CHECKING:

    def __getattr__(name: "str") -> "Any":
        holder = name if name in _SUBMODULES else _CONTENTS.get(name)
        if holder is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found: Any = import_module(f"{__name__}.{holder}")
        if name not in _SUBMODULES:
            found = globals()[name] = getattr(found, name)
        return found


def __dir__() -> "list[str]":
    return __all__
