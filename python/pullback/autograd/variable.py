"""`Variable`, the name that tensors had: calling it gives a tensor, and every tensor is an instance."""

from typing import Any

from .._core import Tensor
from .._warnings import warn

__all__ = ["Variable"]


class _Kind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_Kind):
    """A tensor over the memory of `data`, without its history.

    >>> import pullback
    >>> from pullback.autograd import Variable
    >>> x = Variable(pullback.ones(2), requires_grad=True)
    >>> x.requires_grad, isinstance(x, Variable)
    (True, True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with no_grad():` instead.")
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable(): argument 'data' must be Tensor, not {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
