"""The name under which PyTorch keeps `pullback.utils.pytree`."""

from .pytree import *  # noqa: F403
from .pytree import TreeSpec, register_pytree_node, tree_is_leaf, tree_leaves, tree_structure
from .pytree import broadcast_to_and_flatten as _broadcast_to_and_flatten  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import OrderedDict, defaultdict, deque
    from collections.abc import Callable, Iterable
    from typing import Any

    FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
    UnflattenFunc = Callable[[Iterable[Any], Any], Any]


class _LeafSpecs(type):
    def __instancecheck__(cls, instance: "Any") -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()

    def __call__(cls) -> "Any":
        return tree_structure(0)


class LeafSpec(metaclass=_LeafSpecs):
    """The structure of a leaf: `LeafSpec()` gives it, and it is an instance."""


_is_leaf = tree_is_leaf


def is_namedtuple_class(cls: "type") -> "bool":
    """Whether a class of tuples names its fields."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple(obj: "Any") -> "bool":
    """Whether an object, or the instances of a class, are named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple


def arg_tree_leaves(*args: "Any", **kwargs: "Any") -> "list[Any]":
    """The leaves of the arguments of a call."""
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_leaves(arg)]


class NodeDef:
    """How a class of containers is taken apart and put together."""

    def __init__(self, type: "Any", flatten_fn: "FlattenFunc", unflatten_fn: "UnflattenFunc") -> None:
        self.type, self.flatten_fn, self.unflatten_fn = type, flatten_fn, unflatten_fn


def _register_pytree_node(
    cls: "type[Any]",
    flatten_fn: "FlattenFunc",
    unflatten_fn: "UnflattenFunc",
    to_str_fn: "Any" = None,
    maybe_from_str_fn: "Any" = None,
    **options: "Any",
) -> "None":
    """The older name of `register_pytree_node`; functions that write structures as text are not asked."""
    del to_str_fn, maybe_from_str_fn
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _get_node_type(tree: "Any") -> "Any":
    """The class of a container; that of all named tuples is the function that makes them."""
    from collections import namedtuple

    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def _supported() -> "dict[Any, NodeDef]":
    """The containers of Python."""
    from collections import OrderedDict, defaultdict, deque, namedtuple

    ways: Any = {
        **{tuple: (_tuple_flatten, _tuple_unflatten), list: (_list_flatten, _list_unflatten)},
        **{dict: (_dict_flatten, _dict_unflatten), namedtuple: (_namedtuple_flatten, _namedtuple_unflatten)},
        **{OrderedDict: (_ordereddict_flatten, _ordereddict_unflatten), deque: (_deque_flatten, _deque_unflatten)},
        **{defaultdict: (_defaultdict_flatten, _defaultdict_unflatten)},
    }
    return {kind: NodeDef(kind, *way) for kind, way in ways.items()}


_private_register_pytree_node = register_pytree_node


# How the containers of Python are taken apart and put together, for programs that register classes like them.
def _tuple_flatten(d: "tuple[Any, ...]") -> "tuple[list[Any], Any]":
    return list(d), None


def _tuple_unflatten(values: "Iterable[Any]", context: "Any") -> "tuple[Any, ...]":
    return tuple(values)


def _list_flatten(d: "list[Any]") -> "tuple[list[Any], Any]":
    return d, None


def _list_unflatten(values: "Iterable[Any]", context: "Any") -> "list[Any]":
    return list(values)


def _dict_flatten(d: "dict[Any, Any]") -> "tuple[list[Any], Any]":
    return list(d.values()), list(d)


def _dict_unflatten(values: "Iterable[Any]", context: "Any") -> "dict[Any, Any]":
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: "Any") -> "tuple[list[Any], Any]":
    return list(d), type(d)


def _namedtuple_unflatten(values: "Iterable[Any]", context: "Any") -> "Any":
    return context(*values)


def _ordereddict_flatten(d: "OrderedDict[Any, Any]") -> "tuple[list[Any], Any]":
    return list(d.values()), list(d)


def _ordereddict_unflatten(values: "Iterable[Any]", context: "Any") -> "OrderedDict[Any, Any]":
    from collections import OrderedDict

    return OrderedDict(zip(context, values, strict=True))


def _defaultdict_flatten(d: "defaultdict[Any, Any]") -> "tuple[list[Any], Any]":
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: "Iterable[Any]", context: "Any") -> "defaultdict[Any, Any]":
    from collections import defaultdict

    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


def _deque_flatten(d: "deque[Any]") -> "tuple[list[Any], Any]":
    return list(d), d.maxlen


def _deque_unflatten(values: "Iterable[Any]", context: "Any") -> "deque[Any]":
    from collections import deque

    return deque(values, maxlen=context)


PyTree = object
# Those of Python, and what is registered by the names of this module.
SUPPORTED_NODES = _supported()
