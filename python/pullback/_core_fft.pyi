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

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return_aminmax, _return_cummax, _return_cummin, _return_histogram, _return_kthvalue, _return_linalg_eigh, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_svd, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_sort, _return_topk, device, dtype

__all__ = [
]
