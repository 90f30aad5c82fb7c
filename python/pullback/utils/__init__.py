"""Utilities: pytrees."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import pytree as pytree

__getattr__ = lazily(__name__, ("pytree", "_pytree"))
__all__ = ["pytree"]
