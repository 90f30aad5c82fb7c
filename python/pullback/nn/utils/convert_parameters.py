"""Parameters as one vector."""

from __future__ import annotations

from ... import Tensor, cat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one behind the other.

    >>> import pullback
    >>> pullback.nn.utils.parameters_to_vector([pullback.ones(2), pullback.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes parts of a vector the elements of parameters; they share its memory.

    >>> import pullback
    >>> w = pullback.nn.Parameter(pullback.zeros(2))
    >>> pullback.nn.utils.vector_to_parameters(pullback.tensor([1.0, 2.0]), [w])
    >>> w.tolist()
    [1.0, 2.0]

    Raises TypeError if `vec` is no tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__name__}")
    at = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[at : at + n].view_as(p).data
        at += n
