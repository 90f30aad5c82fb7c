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
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]

from ._core import no_grad as no_grad

from ._core import enable_grad as enable_grad

from ._core import set_grad_enabled as set_grad_enabled

from ._core import inference_mode as inference_mode

def backward(tensors: Tensor | Iterable[Any], grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, grad_variables: Tensor | Sequence[Tensor | None] | None = None, inputs: Tensor | Iterable[Any] | None = None) -> None:
    """Accumulates gradients of all leaves that `tensors` depend on, or only of `inputs`, in their `.grad`.

    `tensors` and `inputs` are tensors or gradient edges, alone or in sequences; `grad_tensors` has one gradient for each
    of `tensors`, which scalars do not need. Raises RuntimeError for tensors without history, and for a graph whose saved
    tensors are freed because `retain_graph` was not given before.
    """

def grad(outputs: Tensor | Iterable[Any], inputs: Tensor | Iterable[Any], grad_outputs: Tensor | Sequence[Tensor | None] | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, only_inputs: builtins.bool = True, allow_unused: builtins.bool | None = None, is_grads_batched: builtins.bool = False, materialize_grads: builtins.bool = False) -> builtins.tuple[Tensor, ...]:
    """Gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`, as a tuple.

    `outputs` and `inputs` are tensors or gradient edges, alone or in sequences. With `is_grads_batched` the gradients
    have a batch dimension in front, and so have the results. An input that no output depends on is an error unless
    `allow_unused`, which gives None for it, or `materialize_grads`, which gives zeros.
    """
