# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, SupportsIndex, TypeAlias, TypeVar

from ._core import Size, Tensor, _Argnums, _Device, _Ints, _Leaf, _Number, _Operand, _P, _T, _device, _dtype, _layout, _memory_format, device, dtype

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]

class no_grad:
    """Nothing is recorded inside: `with no_grad():`, or `@no_grad()` on a function."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    def __new__(cls, orig_func: Any = None) -> no_grad: ...
    def clone(self, /) -> Any:
        """Another manager of the same kind."""

class enable_grad:
    """Recording is on inside, also within `no_grad`."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    def __new__(cls, orig_func: Any = None) -> enable_grad: ...
    def clone(self, /) -> Any:
        """Another manager of the same kind."""

class set_grad_enabled:
    """Turns recording on or off at once; as a context manager, until the block ends."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    def __new__(cls, mode: Any) -> set_grad_enabled: ...
    def clone(self, /) -> Any:
        """Another manager of the same kind."""

class inference_mode:
    """As `no_grad`; `inference_mode(False)` changes nothing."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    def __new__(cls, mode: Any = None) -> inference_mode: ...

def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None) -> Any:
    """Accumulates gradients of all leaves that `tensors` depend on."""

def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: Any = False, allow_unused: Any = None, is_grads_batched: Any = False, materialize_grads: Any = False) -> Any:
    """Gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`."""
