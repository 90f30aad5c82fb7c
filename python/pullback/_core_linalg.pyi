# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, SupportsIndex, TypeAlias, TypeVar

from ._core import Size, Tensor, _Argnums, _Device, _Ints, _Leaf, _Number, _Operand, _P, _T, _device, _dtype, _layout, _memory_format, device, dtype

__all__ = [
    "LinAlgError",
    "diagonal",
    "matmul",
]

def diagonal(A: Tensor, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """As `diagonal`, of the last two dimensions."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast.

    >>> import pullback
    >>> pullback.matmul(pullback.ones(2, 3), pullback.ones(3)).shape
    pullback.Size([2])
    """

class LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
