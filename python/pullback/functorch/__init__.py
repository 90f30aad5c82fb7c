"""The names of functorch: transforms, and modules taken apart into a function and tensors.

New programs use `pullback.func.functional_call` and `pullback.func.stack_module_state`.
"""

from __future__ import annotations

from .._members import lazily
from ..func import functionalize as functionalize
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import hessian as hessian
from ..func import jacfwd as jacfwd
from ..func import jacrev as jacrev
from ..func import jvp as jvp
from ..func import vjp as vjp
from ..func import vmap as vmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..nn import Module
    from . import experimental as experimental

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, ("experimental",))
__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "experimental",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


class FunctionalModuleWithBuffers:
    """A module without tensors of its own: `f(params, buffers, *args)`."""

    def __init__(self, module: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        self.stateless_model = module
        self.param_names = param_names
        self.buffer_names = buffer_names

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's call with these tensors."""
        from ..func import functional_call

        given = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)

    __call__ = forward


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without parameters of its own: `f(params, *args)`."""

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's call with these tensors."""
        return super().forward(params, (), *args, **kwargs)

    __call__ = forward


def _stateless(model: Module, disable: bool) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A copy of the module on device `meta`, and copies of its tensors."""
    from copy import deepcopy

    full = deepcopy(model)
    params: dict[str, Any] = dict(full.named_parameters())
    buffers: dict[str, Any] = dict(full.named_buffers())
    copy = deepcopy(full).to("meta")
    if disable:
        params = {name: p.detach() for name, p in params.items()}
    return copy, params, buffers


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A module as `f(params, *args)` and the tuple of its parameters.

    >>> import pullback
    >>> from pullback.functorch import grad, make_functional
    >>> f, params = make_functional(pullback.nn.Linear(2, 1))
    >>> [tuple(g.shape) for g in grad(lambda p, x: f(p, x).sum())(params, pullback.ones(3, 2))]
    [(1, 2), (1,)]

    The parameters are copies. Raises RuntimeError if the module has buffers: `make_functional_with_buffers` is for
    those.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    copy, params, _ = _stateless(model, disable_autograd_tracking)
    return FunctionalModule(copy, tuple(params), ()), tuple(params.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """A module as `f(params, buffers, *args)`, and the tuples of its parameters and buffers.

    >>> import pullback
    >>> from pullback.functorch import make_functional_with_buffers
    >>> f, params, buffers = make_functional_with_buffers(pullback.nn.BatchNorm1d(2).eval())
    >>> f(params, buffers, pullback.ones(1, 2)).shape
    pullback.Size([1, 2])
    """
    copy, params, buffers = _stateless(model, disable_autograd_tracking)
    made = FunctionalModuleWithBuffers(copy, tuple(params), tuple(buffers))
    return made, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """Modules of one class as one function `f(params, buffers, *args)`, and their tensors stacked along a first
    dimension, without gradients.

    >>> import pullback
    >>> from pullback.functorch import combine_state_for_ensemble, vmap
    >>> f, params, buffers = combine_state_for_ensemble([pullback.nn.Linear(2, 3) for _ in range(4)])
    >>> vmap(f, in_dims=(0, 0, None))(params, buffers, pullback.ones(5, 2)).shape
    pullback.Size([4, 5, 3])

    Raises RuntimeError for no modules, modules of different classes, or some in training and others not.
    """
    from ..func import stack_module_state

    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    params, buffers = stack_module_state(models)
    copy, _, _ = _stateless(models[0], False)
    return (
        FunctionalModuleWithBuffers(copy, tuple(params), tuple(buffers)),
        tuple(p.detach() for p in params.values()),
        tuple(buffers.values()),
    )
