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
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]

def gammainc(input: _Operand, other: _Operand) -> Tensor:
    """The regularised lower incomplete gamma function: how likely a gamma variable of shape `input` is at most `other`."""

def logsumexp(input: Tensor, dim: _Ints, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(input)))` over the given dimensions, without overflow."""

def softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along `dim`, without overflow."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along `dim`, without overflow."""

def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN."""

def xlog1py(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(1 + other)`; 0 where `input` is 0, unless `other` is NaN."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(πx) / πx` of each element, 1 at 0."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complementary error function `1 - erf(x)`, accurate in the upper tail."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse error function of each element; infinite at ±1 and NaN outside."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the absolute value of the gamma function."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, times `exp(-|x|)`."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, times `exp(-|x|)`."""

def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps]."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`."""

def multigammaln(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the multivariate gamma function of dimension `p`."""

def round(input: Tensor, *, decimals: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1`, accurate near 0."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)`, accurate near 0."""

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""
