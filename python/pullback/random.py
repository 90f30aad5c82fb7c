"""The state of the default random generator. Numbers are keyed by seed and place, so they repeat on any machine."""

from . import _core
from ._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import *  # noqa: F403

_own: "Any" = _core
_NAMES = ("Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state")

globals().update({name: getattr(_core, name) for name in _NAMES if hasattr(_core, name)})
globals().update(members("random"))


def fork_rng(
    devices: "Any" = (),
    enabled: "Any" = True,
    _caller: "str" = "",
    _devices_kw: "str" = "",
    device_type: "str" = "cpu",
) -> "Any":
    """A context at whose end the state of the default generator is what it was at its begin.

    >>> import pullback
    >>> with pullback.random.fork_rng():
    ...     _ = pullback.rand(3)
    >>> state = pullback.get_rng_state()
    """
    from contextlib import contextmanager

    @contextmanager
    def kept() -> "Any":
        state = _own._rng_bytes()
        try:
            yield
        finally:
            if enabled:
                _core.set_rng_state(state)

    return kept()


__all__ = [name for name in (*_NAMES, "fork_rng", *sorted(members("random"))) if name in globals()]
