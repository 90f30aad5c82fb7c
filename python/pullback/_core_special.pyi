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
    """The regularised lower incomplete gamma function: how likely a gamma variable of shape `input` is at most `other`.

    >>> import pullback
    >>> pullback.special.gammainc(pullback.tensor([1.0]), pullback.tensor([1.0]))
    tensor([0.6321])
    """

def logsumexp(input: Tensor, dim: _Ints, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(input)))` over the given dimensions, without overflow.

    >>> import pullback
    >>> pullback.logsumexp(pullback.tensor([0.0, 0.0]), 0)
    tensor(0.6931)
    """

def softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along `dim`, without overflow.

    >>> import pullback
    >>> pullback.softmax(pullback.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """

def log_softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along `dim`, without overflow.

    >>> import pullback
    >>> pullback.log_softmax(pullback.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """

def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN.

    >>> import pullback
    >>> pullback.xlogy(pullback.tensor([0.0, 2.0]), pullback.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """

def xlog1py(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(1 + other)`; 0 where `input` is 0, unless `other` is NaN.

    >>> import pullback
    >>> pullback.special.xlog1py(pullback.tensor([0.0, 2.0]), pullback.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(πx) / πx` of each element, 1 at 0.

    >>> import pullback
    >>> pullback.sinc(pullback.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element.

    >>> import pullback
    >>> pullback.erf(pullback.tensor([0.0]))
    tensor([0.])
    """

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complementary error function `1 - erf(x)`, accurate in the upper tail.

    >>> import pullback
    >>> pullback.erfc(pullback.tensor([0.0]))
    tensor([1.])
    """

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse error function of each element; infinite at ±1 and NaN outside.

    >>> import pullback
    >>> pullback.erfinv(pullback.tensor([0.0]))
    tensor([0.])
    """

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the absolute value of the gamma function.

    >>> import pullback
    >>> pullback.lgamma(pullback.tensor([1.0]))
    tensor([0.])
    """

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function.

    >>> import pullback
    >>> pullback.digamma(pullback.tensor([1.0]))
    tensor([-0.5772])
    """

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function.

    >>> import pullback
    >>> pullback.digamma(pullback.tensor([1.0]))
    tensor([-0.5772])
    """

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    >>> import pullback
    >>> pullback.special.i0(pullback.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, times `exp(-|x|)`.

    >>> import pullback
    >>> pullback.special.i0e(pullback.tensor([0.0]))
    tensor([1.])
    """

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    >>> import pullback
    >>> pullback.special.i1(pullback.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, times `exp(-|x|)`.

    >>> import pullback
    >>> pullback.special.i1e(pullback.tensor([0.0]))
    tensor([0.])
    """

def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps].

    >>> import pullback
    >>> pullback.logit(pullback.tensor([0.5]))
    tensor([0.])
    """

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`.

    >>> import pullback
    >>> pullback.polygamma(1, pullback.tensor([1.0]))
    tensor([1.6449])
    """

def multigammaln(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the multivariate gamma function of dimension `p`.

    >>> import pullback
    >>> pullback.mvlgamma(pullback.tensor([1.0]), 2)
    tensor([1.1447])
    """

def round(input: Tensor, *, decimals: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even.

    >>> import pullback
    >>> pullback.round(pullback.tensor([0.5, 1.5, 2.25]), decimals=1)
    tensor([0.5000, 1.5000, 2.2000])
    """

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element.

    >>> import pullback
    >>> pullback.exp2(pullback.tensor([3.0]))
    tensor([8.])
    """

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1`, accurate near 0.

    >>> import pullback
    >>> pullback.expm1(pullback.tensor([0.0]))
    tensor([0.])
    """

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)`, accurate near 0.

    >>> import pullback
    >>> pullback.log1p(pullback.tensor([0.0]))
    tensor([0.])
    """

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails.

    >>> import pullback
    >>> pullback.sigmoid(pullback.tensor([0.0]))
    tensor([0.5000])
    """
