"""Utilities: pytrees, checkpointing, handles of hooks."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import checkpoint as checkpoint
    from . import hooks as hooks
    from . import pytree as pytree

__getattr__ = lazily(__name__, ("checkpoint", "hooks", "pytree", "_pytree"))
__all__ = ["checkpoint", "hooks", "pytree"]
