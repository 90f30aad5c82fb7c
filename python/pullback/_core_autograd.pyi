# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, SupportsIndex, TypeAlias, TypeVar

from ._core import Size, Tensor, _Argnums, _Device, _Ints, _Leaf, _Number, _Operand, _P, _T, _device, _dtype, _layout, _memory_format, _return_cummax, _return_cummin, _return_kthvalue, _return_linalg_eigh, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_svd, _return_max, _return_min, _return_sort, _return_topk, device, dtype

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
    """As `no_grad`, and `enable_grad` has no effect inside: what is computed is never recorded. Tensors that are made inside
    say so by `is_inference()`; they may be used anywhere. `inference_mode(False)` ends the mode for a block."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __enter__(self, /) -> Any: ...
    def __exit__(self, /, *_args: Any) -> Any: ...
    def __new__(cls, mode: Any = None) -> inference_mode: ...

def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: Any = False, grad_variables: Any = None, inputs: Any = None) -> Any:
    """Accumulates gradients of all leaves that `tensors` depend on, or only of `inputs`, in their `.grad`.

    `tensors` and `inputs` are tensors or gradient edges, alone or in sequences; `grad_tensors` has one gradient for each
    of `tensors`, which scalars do not need. Raises RuntimeError for tensors without history, and for a graph whose saved
    tensors are freed because `retain_graph` was not given before.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> pullback.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """

def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: Any = False, only_inputs: Any = True, allow_unused: Any = None, is_grads_batched: Any = False, materialize_grads: Any = False) -> Any:
    """Gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`, as a tuple.

    `outputs` and `inputs` are tensors or gradient edges, alone or in sequences. With `is_grads_batched` the gradients
    have a batch dimension in front, and so have the results. An input that no output depends on is an error unless
    `allow_unused`, which gives None for it, or `materialize_grads`, which gives zeros.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> pullback.autograd.grad((x**3).sum(), x)
    (tensor([ 3., 12.]),)
    """
