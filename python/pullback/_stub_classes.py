"""Texts for `_stubs` of whole classes, by path."""

from __future__ import annotations

# Whole classes.
CLASSES = {
    "dtype": '''dtype:
    """The type of a tensor's elements, such as `pullback.float32`."""
    @builtins.property
    def is_floating_point(self) -> builtins.bool: ...
    @builtins.property
    def is_complex(self) -> builtins.bool: ...
    @builtins.property
    def is_signed(self) -> builtins.bool: ...
    @builtins.property
    def itemsize(self) -> builtins.int: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...
''',
    "device": '''device:
    """Where a tensor lives. Only `cpu` exists."""
    def __new__(cls, type: builtins.str | device, index: builtins.int | None = None) -> device: ...
    @builtins.property
    def type(self) -> builtins.str: ...
    @builtins.property
    def index(self) -> builtins.int | None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *args: Any) -> builtins.bool: ...
''',
    # Handles of nodes count as those that Python has of dicts.
    "utils.hooks.RemovableHandle": '''RemovableHandle(_OfDicts):
    """What registering a hook gives back: `remove()` takes the hook away. Also a context manager."""
''',
    "layout": '''layout:
    """How elements are stored."""
''',
    "memory_format": '''memory_format:
    """An order of the dimensions in memory."""
''',
    "Size": '''Size(builtins.tuple[builtins.int, ...]):
    """The dimensions of a tensor."""
    def __new__(cls, dims: Iterable[SupportsIndex] = ()) -> Size: ...
    def numel(self) -> builtins.int: ...
''',
    "finfo": '''finfo:
    """Limits of a float dtype; of a complex one, those of its parts."""
    def __new__(cls, type: _dtype | None = None) -> finfo: ...
    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    resolution: builtins.float
    smallest_normal: builtins.float
    tiny: builtins.float
    dtype: builtins.str
''',
    "iinfo": '''iinfo:
    """Limits of an integer dtype."""
    def __new__(cls, type: _dtype) -> iinfo: ...
    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: builtins.str
''',
    "InternalError": '''InternalError(builtins.RuntimeError):
    """A bug in pullback itself."""
''',
    "linalg.LinAlgError": '''LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
''',
    "utils.pytree.TreeSpec": '''TreeSpec:
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
''',
}

# Classes for types alone, by the module whose stub they stand in.
HELPERS = {
    "utils.hooks": "from .utils.hooks import RemovableHandle as _OfDicts",
    "func": '''
class _LikeFirst(Generic[_P]):
    """A function with the arguments of another, which gives what has the structure of its first argument."""
    @overload
    def __call__(self: _LikeFirst[Concatenate[_A, _Q]], first: _A, /, *args: _Q.args, **kwargs: _Q.kwargs) -> _A: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

class _LikeFirstAnd(Generic[_P, _T]):
    """The same, and something besides."""
    @overload
    def __call__(
        self: _LikeFirstAnd[Concatenate[_A, _Q], _T], first: _A, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> builtins.tuple[_A, _T]: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> builtins.tuple[Any, _T]: ...

class _Hessian(Generic[_P]):
    """A function with the arguments of another, which gives the Hessian by the first: a tensor for a tensor."""
    @overload
    def __call__(
        self: _Hessian[Concatenate[Tensor, _Q]], first: Tensor, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> Tensor: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...
''',
}
