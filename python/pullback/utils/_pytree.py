"""The name under which PyTorch keeps `pullback.utils.pytree`."""

from .pytree import *  # noqa: F403
from .pytree import broadcast_to_and_flatten as _broadcast_to_and_flatten  # noqa: F401
