"""Discrete Fourier transforms."""

from ._absent import absent
from ._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core_fft import *  # noqa: F403

globals().update(members("fft"))
__all__ = sorted(members("fft"))
__getattr__ = absent(__name__, __all__)
