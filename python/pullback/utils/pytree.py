"""Pytrees: nested tuples, lists, dicts and registered classes, taken apart into leaves and put together again.

None is a leaf. Dicts keep the order of insertion and match by key. Named tuples are nodes; other subclasses of the
builtin containers are leaves unless they are registered. Classes registered with `optree` count, if it is loaded.
"""

from .. import _core
from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core_utils_pytree import *  # noqa: F403
    from .._core_utils_pytree import register_pytree_node

globals().update(members("utils.pytree"))

PyTree: "Any" = object  # any object is one


class ConstantNode:
    """What the structure of a tree holds in place of a constant."""

    __slots__ = ("value",)

    def __init__(self, value: "Any") -> None:
        self.value = value

    def __eq__(self, other: "object") -> bool:
        return isinstance(other, ConstantNode) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"ConstantNode({self.value!r})"


def register_constant(cls: "type[Any]") -> None:
    """Makes the instances of a class part of the structure: they hold no leaves and must compare by `==`.

    Raises:
        TypeError: if the class compares by identity.
    """
    if cls.__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        raise TypeError(f"register_constant(): {cls} must define __eq__, because structures are compared by it")
    register_pytree_node(
        cls,
        lambda x: ((), ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ((), ConstantNode(x)),
    )


def register_dataclass(
    cls: "type[Any]",
    *,
    field_names: "list[str] | None" = None,
    drop_field_names: "list[str] | None" = None,
    serialized_type_name: "str | None" = None,
) -> None:
    """Makes a dataclass a pytree node whose children are its fields, as the constructor takes them.

    Fields that are None belong to the structure. `field_names` is needed for classes that merely behave like a
    dataclass. `drop_field_names` are left out of trees; the constructor must have defaults for them.

    Raises:
        ValueError: if `field_names` is missing or is not the fields of the class, or the class is a node already.
    """
    del serialized_type_name
    from dataclasses import fields, is_dataclass

    dropped = set(drop_field_names or ())
    if not is_dataclass(cls):
        if field_names is None:
            raise ValueError(f"register_dataclass(): argument 'field_names' is needed, for {cls} is not a dataclass")
        names = [name for name in field_names if name not in dropped]
    else:
        expected = [f.name for f in fields(cls) if f.init and f.name not in dropped]
        names = expected if field_names is None else list(field_names)
        if missing := sorted(set(expected) - set(names)):
            raise ValueError(
                f"register_dataclass(): argument 'field_names' lacks {missing} of {cls}; "
                "name them there or in 'drop_field_names'"
            )
        if unexpected := sorted(set(names) - set(expected)):
            raise ValueError(
                f"register_dataclass(): argument 'field_names' has {unexpected}, which {cls} does not take"
            )
    _core.utils_pytree._register_fields(cls, names)


def map_only(type_or_types_or_pred: "Any", /) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    """A decorator: the function then applies to leaves of a type, or those that satisfy a predicate."""
    by_type = isinstance(type_or_types_or_pred, (type, tuple)) or hasattr(type_or_types_or_pred, "__args__")

    def decorate(func: "Callable[..., Any]") -> "Callable[..., Any]":
        def apply(leaf: "Any") -> "Any":
            chosen = isinstance(leaf, type_or_types_or_pred) if by_type else type_or_types_or_pred(leaf)
            return func(leaf) if chosen else leaf

        return apply

    return decorate


__all__ = sorted(
    {*members("utils.pytree"), "ConstantNode", "PyTree", "map_only", "register_constant", "register_dataclass"}
)
