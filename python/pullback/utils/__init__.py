"""Utilities: pytrees, checkpointing, handles of hooks."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import hooks as hooks
    from . import pytree as pytree

__getattr__ = lazily(__name__, ("hooks", "pytree", "_pytree"))
__all__ = ["hooks", "pytree"]
