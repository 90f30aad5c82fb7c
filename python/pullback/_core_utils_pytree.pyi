# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
from ._core_autograd_graph import Node
from ._core_utils_hooks import RemovableHandle

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "GetAttrKey",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "broadcast_to_and_flatten",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_leaf",
    "treespec_tuple",
]

class TreeSpec:
    """The structure of a pytree: what remains when its leaves are taken out."""
    def __new__(cls, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> TreeSpec: ...
    @builtins.property
    def type(self) -> Any: ...
    @builtins.property
    def context(self) -> Any: ...
    @builtins.property
    def num_leaves(self) -> builtins.int: ...
    @builtins.property
    def num_nodes(self) -> builtins.int: ...
    @builtins.property
    def num_children(self) -> builtins.int: ...
    @builtins.property
    def children_specs(self) -> builtins.list[TreeSpec]: ...
    def children(self) -> builtins.list[TreeSpec]: ...
    def child(self, index: builtins.int) -> TreeSpec: ...
    def is_leaf(self) -> builtins.bool: ...
    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def flatten_up_to(self, tree: Any) -> builtins.list[Any]: ...

class SequenceKey:
    """A place in a tuple, list or deque."""
    def __eq__(self, value: Any, /) -> Any: ...
    def __ge__(self, value: Any, /) -> Any: ...
    def __gt__(self, value: Any, /) -> Any: ...
    def __hash__(self) -> builtins.int: ...
    def __le__(self, value: Any, /) -> Any: ...
    def __lt__(self, value: Any, /) -> Any: ...
    def __ne__(self, value: Any, /) -> Any: ...
    def __new__(cls, idx: Any) -> SequenceKey: ...
    def __repr__(self) -> builtins.str: ...
    def __str__(self) -> builtins.str: ...
    def get(self, /, sequence: Any) -> Any:
        """The item of a sequence at this place."""
    @builtins.property
    def idx(self) -> Any: ...

class MappingKey:
    """A key of a dict."""
    def __eq__(self, value: Any, /) -> Any: ...
    def __ge__(self, value: Any, /) -> Any: ...
    def __gt__(self, value: Any, /) -> Any: ...
    def __hash__(self) -> builtins.int: ...
    def __le__(self, value: Any, /) -> Any: ...
    def __lt__(self, value: Any, /) -> Any: ...
    def __ne__(self, value: Any, /) -> Any: ...
    def __new__(cls, key: Any) -> MappingKey: ...
    def __repr__(self) -> builtins.str: ...
    def __str__(self) -> builtins.str: ...
    def get(self, /, mapping: Any) -> Any:
        """The value of a mapping under this key."""
    @builtins.property
    def key(self) -> Any: ...

class GetAttrKey:
    """A field of a named tuple or a dataclass."""
    def __eq__(self, value: Any, /) -> Any: ...
    def __ge__(self, value: Any, /) -> Any: ...
    def __gt__(self, value: Any, /) -> Any: ...
    def __hash__(self) -> builtins.int: ...
    def __le__(self, value: Any, /) -> Any: ...
    def __lt__(self, value: Any, /) -> Any: ...
    def __ne__(self, value: Any, /) -> Any: ...
    def __new__(cls, name: Any) -> GetAttrKey: ...
    def __repr__(self) -> builtins.str: ...
    def __str__(self) -> builtins.str: ...
    def get(self, /, obj: Any) -> Any:
        """The attribute of an object."""
    @builtins.property
    def name(self) -> Any: ...

def keystr(kp: Iterable[Any]) -> builtins.str:
    """The text of a path, such as `[0]['a'].x`."""

def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What lies in `obj` at a path."""

def treespec_leaf() -> TreeSpec:
    """The structure of a single leaf."""

def treespec_tuple(iterable: Iterable[TreeSpec] | None = None, /) -> TreeSpec:
    """The structure of a tuple of trees with these structures."""

def treespec_dict(mapping: Mapping[Any, TreeSpec] | None = None, /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict of trees with these structures."""

def register_pytree_node(cls: builtins.type[Any], flatten_fn: Callable[[Any], builtins.tuple[Iterable[Any], Any]], unflatten_fn: Callable[[builtins.list[Any], Any], Any], *, serialized_type_name: builtins.str | None = None, to_dumpable_context: Callable[[Any], Any] | None = None, from_dumpable_context: Callable[[Any], Any] | None = None, flatten_with_keys_fn: Callable[[Any], builtins.tuple[Iterable[Any], Any]] | None = None) -> None:
    """Makes a class a pytree node: `flatten_fn(x)` gives `(children, context)`, `unflatten_fn(children, context)` gives x.

    `flatten_with_keys_fn(x)` gives `([(key, child), ...], context)` for functions that tell paths. The arguments about
    serialization are accepted; structures are pickled, for which classes and contexts must be picklable.
    """

def tree_flatten(tree: Any, is_leaf: _Leaf = None) -> builtins.tuple[builtins.list[Any], TreeSpec]:
    """The leaves of a tree in order, and its structure."""

def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree with this structure and these leaves: the inverse of `tree_flatten`."""

def tree_leaves(tree: Any, is_leaf: _Leaf = None) -> builtins.list[Any]:
    """The leaves of a tree in order."""

def tree_iter(tree: Any, is_leaf: _Leaf = None) -> Iterator[Any]:
    """An iterator over the leaves of a tree."""

def tree_structure(tree: Any, is_leaf: _Leaf = None) -> TreeSpec:
    """The structure of a tree."""

def tree_is_leaf(tree: Any, is_leaf: _Leaf = None) -> builtins.bool:
    """Whether a tree is a single leaf. None is one."""

def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any:
    """A tree of the results of `func` on the leaves of `tree` and what lies at the same places of `rests`."""

def tree_map_(func: Callable[..., Any], tree: _T, *rests: Any, is_leaf: _Leaf = None) -> _T:
    """Calls `func` like `tree_map` for what it does to the leaves; gives `tree` itself."""

def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: _Leaf = None) -> Any:
    """`tree_map` over the leaves of a type, or those that satisfy a predicate; the others stay."""

def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: _T, is_leaf: _Leaf = None) -> _T:
    """Calls `func` like `tree_map_only` for what it does to the leaves; gives `tree` itself."""

def tree_all(pred: Callable[[Any], Any], tree: Any, is_leaf: _Leaf = None) -> builtins.bool:
    """Whether all leaves satisfy a predicate."""

def tree_any(pred: Callable[[Any], Any], tree: Any, is_leaf: _Leaf = None) -> builtins.bool:
    """Whether a leaf satisfies a predicate."""

def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], Any], tree: Any, is_leaf: _Leaf = None) -> builtins.bool:
    """Whether all leaves of a type satisfy a predicate."""

def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], Any], tree: Any, is_leaf: _Leaf = None) -> builtins.bool:
    """Whether a leaf of a type satisfies a predicate."""

def tree_flatten_with_path(tree: Any, is_leaf: _Leaf = None) -> builtins.tuple[builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]], TreeSpec]:
    """A list of `(path, leaf)`, and the structure."""

def tree_leaves_with_path(tree: Any, is_leaf: _Leaf = None) -> builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]]:
    """A list of `(path, leaf)`."""

def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any:
    """`tree_map` with the path of the leaf as first argument of `func`."""

def broadcast_to_and_flatten(tree: Any, treespec: TreeSpec) -> builtins.list[Any] | None:
    """One value of `tree` for each leaf of a structure that it is a prefix of; None if it is not."""
