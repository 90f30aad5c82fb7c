"""Where a module keeps what is registered with it, and how that is found as fast as any attribute.

Parameters, buffers and submodules lie in three dicts by name. Each dict also writes what it holds into the `__dict__`
of its
module, so that `module.weight` is an ordinary attribute; whoever writes to the dict, `module._parameters["weight"] =
w`,
changes the attribute with it. The dicts of hooks come into being when somebody first asks for one. A module without
any is
called without looking for hooks.
"""

from __future__ import annotations

import sys
from _weakref import ref
from collections import OrderedDict
from copy import deepcopy

from ... import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MISSING: Any = object()


def _of_class(owner: object, name: Any) -> bool:
    """Whether the class has an attribute of this name, which PyTorch's modules find before what is registered."""
    return any(name in vars(kind) for kind in type(owner).__mro__)


class Registry(dict):  # type: ignore[type-arg]
    """A dict of a module whose items are attributes of the module as well."""

    __slots__ = ("owner",)
    owner: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A plain dict: what a program makes with the type of `module._parameters` belongs to no module."""
        return dict(*args, **kwargs)

    def _attributes(self) -> dict[str, Any]:
        owner = self.owner()
        return {} if owner is None else owner.__dict__

    def _forget(self, name: Any, value: Any) -> None:
        attributes = self._attributes()
        if attributes.get(name, _MISSING) is value:
            del attributes[name]

    def __setitem__(self, name: Any, value: Any) -> None:
        dict.__setitem__(self, name, value)
        owner = self.owner()
        if owner is not None and not _of_class(owner, name):
            owner.__dict__[name] = value

    def __delitem__(self, name: Any) -> None:
        value = self[name]
        dict.__delitem__(self, name)
        self._forget(name, value)

    def pop(self, name: Any, *default: Any) -> Any:
        if name not in self:
            return dict.pop(self, name, *default)
        value = dict.pop(self, name)
        self._forget(name, value)
        return value

    def popitem(self) -> tuple[Any, Any]:
        name, value = dict.popitem(self)
        self._forget(name, value)
        return name, value

    def clear(self) -> None:
        items = list(self.items())
        dict.clear(self)
        for name, value in items:
            self._forget(name, value)

    def setdefault(self, name: Any, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def __ior__(self, other: Any) -> Registry:  # type: ignore[misc]
        self.update(other)
        return self

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: Any) -> dict[Any, Any]:
        return deepcopy(dict(self), memo)

    def __reduce_ex__(self, proto: Any) -> Any:
        # In the state of a class that gives its own: of what is a dict, loading only weights knows this class.
        return OrderedDict, (), None, None, iter(self.items())


def registry_of(owner: object, items: Any = ()) -> Registry:
    """A registry of a module, whose items become attributes of the module."""
    made: Registry = dict.__new__(Registry)
    made.owner = ref(owner)
    if items:
        dict.update(made, items)
        owner.__dict__.update((name, value) for name, value in made.items() if not _of_class(owner, name))
    return made


# In PyTorch it is a plain dict, which trees take apart.
_core.utils_pytree._register_dict(Registry)
# The module `optree` that was told so.
_told: Any = None


def _tell(optree: Any) -> None:
    """The same for the trees of `optree`, in which keys are sorted."""
    global _told
    _told = optree
    everywhere = getattr(getattr(optree, "registry", None), "__GLOBAL_NAMESPACE", None)
    if everywhere is None:
        return

    def taken_apart(registry: Registry) -> Any:
        names = tuple(sorted(registry))
        return [registry[name] for name in names], names, names

    optree.register_pytree_node(
        Registry, taken_apart, lambda names, values: dict(zip(names, values, strict=True)), namespace=everywhere
    )


class RegistryAttribute:
    """`module._parameters` and its like. A dict that a program put there, or that came out of a pickle, is taken
    over."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            return self
        optree = sys.modules.get("optree")
        if optree is not _told and optree is not None:
            _tell(optree)
        held = module.__dict__.get(self.name)
        if type(held) is Registry and held.owner() is module:
            return held
        if held is None:
            raise AttributeError(f"'{type(module).__name__}' object has no attribute '{self.name}'")
        own = module.__dict__[self.name] = registry_of(module, held)
        return own

    def __set__(self, module: Any, value: Any) -> None:
        old = module.__dict__.get(self.name)
        if type(old) is Registry and old.owner() is module and old is not value:
            for item in list(old.items()):
                old._forget(*item)
        module.__dict__[self.name] = registry_of(module, value)

    def __delete__(self, module: Any) -> None:
        del module.__dict__[self.name]


class HooksAttribute:
    """`module._forward_hooks` and its like: a dict that is made when it is first asked for."""

    __slots__ = ("matters", "name")

    def __init__(self, name: str, matters: bool = False) -> None:
        self.name = name
        # Whether a call has to look at it.
        self.matters = matters

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            return self
        made: OrderedDict[int, Any] = OrderedDict()
        module.__dict__[self.name] = made
        if self.matters:
            module.__dict__["_hooked"] = True
        return made
