"""Handles of hooks, and what warns of hooks that are lost."""

from __future__ import annotations

from _weakref import ref
from abc import ABCMeta
from collections import OrderedDict

from .. import _core
from .._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

_OfNodes: Any = _core.utils_hooks.RemovableHandle


class RemovableHandle(metaclass=ABCMeta):  # noqa: B024
    """What registering a hook gives back: `remove()` takes the hook away. Also a context manager.

    Libraries with hooks of their own keep them in an ordered dict under the handle's `id`; `extra_dict` is a dict, or
    several, that the id goes out of as well.

    >>> from collections import OrderedDict
    >>> from pullback.utils.hooks import RemovableHandle
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> len(hooks)
    0
    """

    next_id = 0

    def __init__(self, hooks_dict: OrderedDict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        others = () if extra_dict is None else (extra_dict,) if isinstance(extra_dict, dict) else extra_dict
        self._places = _references((hooks_dict, *others))

    @property
    def hooks_dict_ref(self) -> Any:
        """A weak reference to the dict that holds the hook."""
        return self._places[0]

    @property
    def extra_dict_ref(self) -> Any:
        """Weak references to further dicts that know the hook."""
        return self._places[1:]

    def remove(self) -> None:
        """Takes the hook away; a second time does nothing."""
        for place in self._places:
            hooks = place()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.id, [place() for place in self._places]

    def __setstate__(self, state: Any) -> None:
        self.id, places = state
        self._places = _references(OrderedDict() if place is None else place for place in places)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


# Hooks of tensors and nodes have handles of the core.
RemovableHandle.register(_OfNodes)


def _references(hooks: Iterable[Any]) -> list[Any]:
    return [ref(place) for place in hooks]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook that pickles leave out on purpose: `warn_if_has_hooks` does not speak of it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of the hooks of a tensor that a pickle of it would lose, unless they are marked as such."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(f"backward hook {hook!r} on tensor will not be serialized")
