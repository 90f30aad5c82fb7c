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

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "RemovableHandle",
]

from .utils.hooks import RemovableHandle as _OfDicts

class RemovableHandle(_OfDicts):
    """What registering a hook gives back: `remove()` takes the hook away. Also a context manager."""
