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
    "dual_levels",
    "enter_dual_level",
    "exit_dual_level",
    "is_fwd_grad_enabled",
    "make_dual",
    "switch_fwd_grad",
    "unpack",
]

def enter_dual_level() -> builtins.int:
    """Enters a level of dual tensors and returns its number, from 0 on."""

def exit_dual_level(*, level: builtins.int | None = None) -> None:
    """Leaves the innermost level: its dual tensors are their primals from now on. Raises RuntimeError for another level."""

def dual_levels() -> builtins.int:
    """How many levels of dual tensors this thread has entered."""

def make_dual(tensor: Tensor, tangent: Tensor, *, level: builtins.int | None = None) -> Tensor:
    """A dual tensor with the elements of `tensor` and this tangent, of the same shape; writes to it reach both.

    Raises ValueError for dtypes without derivatives, and RuntimeError where no level was entered, the shapes differ, or
    one of the tensors has a tangent at the level already.
    """

def unpack(tensor: Tensor, *, level: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor | None]:
    """Primal and tangent of a tensor, as views of it; the tangent is None if it has none at the level."""

def is_fwd_grad_enabled() -> builtins.bool:
    """Whether tangents are propagated on this thread."""

def switch_fwd_grad(mode: builtins.bool) -> builtins.bool:
    """Turns the propagation of tangents on or off, and returns how it was."""
