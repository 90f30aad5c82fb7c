"""Handles of hooks that are kept in a dict."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Any
from weakref import ref

_ids = itertools.count()


class Handle:
    """What registering a hook gives back: `remove()` takes the hook away. Also a context manager."""

    def __init__(self, hooks: OrderedDict[int, Any]) -> None:
        self.id = next(_ids)
        self._hooks = ref(hooks)

    def remove(self) -> None:
        """Takes the hook away; does nothing if it is gone already."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
