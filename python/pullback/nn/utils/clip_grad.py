"""Gradients cut to a norm, or to values."""

from __future__ import annotations

from collections.abc import Generator

from ... import Tensor, linalg, no_grad, stack, tensor
from ..._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _list(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector.

    >>> import pullback
    >>> pullback.nn.utils.get_total_norm([pullback.tensor([3.0]), pullback.tensor([4.0])])
    tensor(5.)

    Raises RuntimeError for a norm that is not finite, if `error_if_nonfinite`.
    """
    norm_type = float(norm_type)
    parts = _list(tensors)
    with no_grad():
        if not parts:
            return tensor(0.0)
        norms = stack([linalg.vector_norm(t, norm_type) for t in parts])
        total = linalg.vector_norm(norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales the gradients of parameters, whose norm is known, so that it is at most `max_norm`."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with no_grad():
        for p in _list(parameters):
            if p.grad is not None:
                p.grad.mul_(scale.to(p.grad.dtype))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters so that their norm as one vector is at most `max_norm`; gives the norm before.

    >>> import pullback
    >>> w = pullback.nn.Parameter(pullback.zeros(2))
    >>> w.grad = pullback.tensor([3.0, 4.0])
    >>> pullback.nn.utils.clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))

    Raises RuntimeError for a norm that is not finite, if `error_if_nonfinite`.
    """
    found = _list(parameters)
    if not found and isinstance(parameters, Generator):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    grads = [p.grad for p in found if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Cuts the elements of the gradients of parameters to [-clip_value, clip_value].

    >>> import pullback
    >>> w = pullback.nn.Parameter(pullback.zeros(2))
    >>> w.grad = pullback.tensor([3.0, -0.5])
    >>> pullback.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    with no_grad():
        for p in _list(parameters):
            if p.grad is not None:
                p.grad.clamp_(min=-bound, max=bound)
