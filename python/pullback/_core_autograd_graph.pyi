# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
from ._core_utils_hooks import RemovableHandle

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "Node",
]

class Node:
    """A recorded operator: what `grad_fn` of a tensor is. It keeps the graph below it alive."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __eq__(self, value: Any, /) -> Any: ...
    def __ge__(self, value: Any, /) -> Any: ...
    def __getattribute__(self, name: Any, /) -> Any: ...
    def __gt__(self, value: Any, /) -> Any: ...
    def __hash__(self) -> builtins.int: ...
    def __le__(self, value: Any, /) -> Any: ...
    def __lt__(self, value: Any, /) -> Any: ...
    def __ne__(self, value: Any, /) -> Any: ...
    def __new__(cls) -> Node: ...
    def __repr__(self) -> builtins.str: ...
    def _sequence_nr(self, /) -> Any:
        """A number that grows with time."""
    @builtins.property
    def metadata(self) -> builtins.dict[Any, Any]:
        """A dictionary for whatever the program wants to keep with the node."""
    def name(self) -> builtins.str:
        """The operator's name, such as `MulBackward0`."""
    @builtins.property
    def next_functions(self) -> builtins.tuple[builtins.tuple[Node | None, builtins.int], ...]:
        """The nodes of the inputs, each with the number of the output that was used; (None, 0) for inputs without gradient."""
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_inputs, grad_outputs)` after the node has run; a tuple that it returns replaces `grad_inputs`."""
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_outputs)` before the node runs; a tuple that it returns replaces `grad_outputs`."""
