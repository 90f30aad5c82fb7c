"""The name under which PyTorch keeps `pullback.utils.pytree`."""

from .pytree import *  # noqa: F403
from .pytree import TreeSpec, tree_structure
from .pytree import broadcast_to_and_flatten as _broadcast_to_and_flatten  # noqa: F401
from .pytree import register_pytree_node as _register_pytree_node  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LeafSpecs(type):
    def __instancecheck__(cls, instance: "Any") -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()

    def __call__(cls) -> "Any":
        return tree_structure(0)


class LeafSpec(metaclass=_LeafSpecs):
    """The structure of a leaf: `LeafSpec()` gives it, and it is an instance."""
