"""Gradients of each sample, left beside the parameters by an ordinary backward pass."""

from __future__ import annotations

import functools

from ..._core import Tensor
from ...utils import pytree
from ..modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """The module as a function whose backward pass gives each parameter `grad_sample`, of shape [batch, *parameter].

    `grad` of the parameters stays as it was. The module sees one sample at a time, in a batch of one.

    >>> import pullback
    >>> from pullback.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = pullback.nn.Linear(2, 3)
    >>> call_for_per_sample_grads(layer)(pullback.ones(4, 2)).sum().backward()
    >>> layer.weight.grad_sample.shape, layer.weight.grad is None
    (pullback.Size([4, 3, 2]), True)

    `loss_reduction` says how the loss joins the samples, "sum" or "mean". Samples lie along the first dimension of the
    arguments, or along the second. Raises RuntimeError for batches of several sizes, unless `batch_size` says which.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if any(getattr(p, "grad_sample", None) is not None for p in module.parameters()):
        raise RuntimeError(
            "call_for_per_sample_grads(): grad_sample is there from an earlier pass; set it to None first"
        )
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        size = _size(dim, args, kwargs) if batch_size is None else batch_size
        return _forward(module, size, size if loss_reduction == "mean" else 1, dim, args, kwargs)

    return forward


def _size(dim: int, args: Any, kwargs: Any) -> int:
    sizes = {x.shape[dim] for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
    if len(sizes) != 1:
        raise RuntimeError(
            f"call_for_per_sample_grads(): the arguments have batches of sizes {sorted(sizes)}; give batch_size"
        )
    return int(sizes.pop())


def _forward(module: Module, size: int, scale: int, dim: int, args: Any, kwargs: Any) -> Any:
    from ...func import functional_call, vmap

    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    each = {name: _for_samples(p, size, scale) for name, p in parameters.items()}
    leaves, spec = pytree.tree_flatten((args, kwargs))
    at = [k for k, x in enumerate(leaves) if isinstance(x, Tensor) and x.ndim > dim and x.shape[dim] == size]

    def of_sample(parameters: dict[str, Tensor], *samples: Tensor) -> Any:
        given = list(leaves)
        for k, sample in zip(at, samples, strict=True):
            given[k] = sample.unsqueeze(dim)
        arguments, options = pytree.tree_unflatten(given, spec)
        out = functional_call(module, parameters, arguments, options)
        return pytree.tree_map(lambda x: x.squeeze(dim) if isinstance(x, Tensor) else x, out)

    mapped: Any = vmap(of_sample, (0, *(dim for _ in at)), dim, randomness="different")
    return mapped(each, *(leaves[k] for k in at))


def _for_samples(parameter: Tensor, size: int, scale: int) -> Tensor:
    """A copy of a parameter for each sample, whose gradient becomes the parameter's `grad_sample`."""
    each: Any = parameter.detach().expand(size, *parameter.shape).requires_grad_()

    def keep(gradient: Tensor) -> None:
        owner: Any = parameter
        before = getattr(owner, "grad_sample", None)
        gradient = gradient.detach() * scale if scale != 1 else gradient.detach()
        owner.grad_sample = gradient if before is None else before + gradient

    each.register_hook(keep)
    made: Tensor = each
    return made
