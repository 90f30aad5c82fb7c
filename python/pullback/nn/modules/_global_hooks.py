"""Hooks of all modules at once, and handles that take a hook of a module away."""

from __future__ import annotations

from _weakref import ref
from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class HookHandle:
    """What registering a hook of a module gives back: `remove()` takes the hook away. Also a context manager."""

    next_id = 0

    def __init__(self, hooks: OrderedDict[int, Any], *extra: OrderedDict[int, Any]) -> None:
        self.id = HookHandle.next_id
        HookHandle.next_id += 1
        self._places = [ref(hooks), *(ref(place) for place in extra)]

    @property
    def hooks_dict_ref(self) -> Any:
        """A weak reference to the dict that holds the hook."""
        return self._places[0]

    def remove(self) -> None:
        """Takes the hook away; a second time does nothing."""
        for place in self._places:
            hooks = place()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.id, [place() for place in self._places]

    def __setstate__(self, state: Any) -> None:
        self.id, places = state
        self._places = [ref(OrderedDict() if place is None else place) for place in places]
        HookHandle.next_id = max(HookHandle.next_id, self.id + 1)


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
