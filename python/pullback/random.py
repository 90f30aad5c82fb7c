"""The state of the default random generator. Numbers are keyed by seed and place, so they repeat on any machine."""

from . import _core
from ._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import *  # noqa: F403

_NAMES = ("Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state")

globals().update({name: getattr(_core, name) for name in _NAMES if hasattr(_core, name)})
globals().update(members("random"))
__all__ = [name for name in (*_NAMES, *sorted(members("random"))) if name in globals()]
