# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, SupportsIndex, TypeAlias, TypeVar

from ._core import Size, Tensor, _Argnums, _Device, _Ints, _Leaf, _Number, _Operand, _P, _T, _device, _dtype, _layout, _memory_format, _return_cummax, _return_cummin, _return_kthvalue, _return_linalg_eigh, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_svd, _return_max, _return_min, _return_sort, _return_topk, device, dtype

__all__ = [
    "RemovableHandle",
]

class RemovableHandle:
    """What registering a hook gives back: `remove()` takes the hook away. Also a context manager."""
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    @builtins.property
    def id(self) -> Any: ...
    def remove(self, /) -> Any:
        """Takes the hook away."""
