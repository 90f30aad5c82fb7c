"""`functional_call` under its old name."""

from __future__ import annotations

from ..._warnings import warn
from ...func.functional_calls import Replaced
from ...func.functional_calls import functional_call as _functional_call_of_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["functional_call"]
_reparametrize_module = Replaced


def functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`pullback.func.functional_call`, which new programs use.

    >>> import pullback
    >>> from pullback.func import functional_call
    >>> functional_call(pullback.nn.Linear(1, 1, bias=False), {"weight": pullback.ones(1, 1)}, pullback.ones(1))
    tensor([1.])
    """
    warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
        "torch.func.functional_call instead which is a drop-in replacement for this API.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    return _functional_call_of_func(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
