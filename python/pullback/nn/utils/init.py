"""Modules made without drawing their weights."""

from __future__ import annotations

import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module of this class whose parameters and buffers are not initialised.

    >>> import pullback
    >>> pullback.nn.utils.skip_init(pullback.nn.Linear, 3, 4).weight.shape
    pullback.Size([4, 3])

    Raises RuntimeError for what is no class of modules, or does not take `device`.
    """
    from ..modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
