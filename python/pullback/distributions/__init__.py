"""What distributions are made with. The distributions themselves are out of scope."""

from .._absent import absent
from . import utils as utils

__all__ = ["utils"]
__getattr__ = absent(__name__, __all__, classes=True)
