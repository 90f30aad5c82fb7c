"""Hooks of all modules at once."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Global:
    """The hooks that all modules have."""

    def __init__(self) -> None:
        self.buffer_registration: OrderedDict[int, Any] = OrderedDict()
        self.module_registration: OrderedDict[int, Any] = OrderedDict()
        self.parameter_registration: OrderedDict[int, Any] = OrderedDict()
        self.forward_pre: OrderedDict[int, Any] = OrderedDict()
        self.forward: OrderedDict[int, Any] = OrderedDict()
        self.forward_always: OrderedDict[int, bool] = OrderedDict()
        self.forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.backward_pre: OrderedDict[int, Any] = OrderedDict()
        self.backward: OrderedDict[int, Any] = OrderedDict()
        self.is_full_backward: bool | None = None


GLOBAL = _Global()
