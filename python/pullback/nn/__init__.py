"""Functions that networks are made of."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import functional as functional

__getattr__ = lazily(__name__, ("functional",))
__all__ = ["functional"]
