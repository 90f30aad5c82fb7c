"""Types for annotations."""

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from . import _core
from ._core import Size as Size
from ._core import Tensor as Tensor
from ._core import UntypedStorage as Storage
from ._symbols import SymBool as SymBool
from ._symbols import SymFloat as SymFloat
from ._symbols import SymInt as SymInt

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
Device: TypeAlias = _core.device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_int, _float, _bool, _complex, _str, _bytes = int, float, bool, complex, str, bytes
_dtype, _device, _layout = _core.dtype, _core.device, _core.layout
_size: TypeAlias = _core.Size | Sequence[int]
_symsize: TypeAlias = _size
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
_dispatchkey: TypeAlias = Any

# Sizes that are not known yet, which here none is.
py_sym_types = (SymInt, SymFloat, SymBool)
PySymType: TypeAlias = SymInt | SymFloat | SymBool
