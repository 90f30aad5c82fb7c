"""Modules that hold modules: in a row, in a list, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import index

from ..._members import adopt
from ._parameter_containers import ParameterDict as ParameterDict
from ._parameter_containers import ParameterList as ParameterList
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _place(module: Any, i: Any) -> int:
    """An index from either end as one from the front."""
    at, size = index(i), len(module)
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range")
    return at % size


class _Row(Module):
    """What lists of modules have in common: submodules are named by their places."""

    def _name_of(self, i: Any) -> str:
        return list(self._modules)[_place(self, i)]

    def __len__(self) -> int:
        return len(self.__dict__["_modules"])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__["_modules"].values())

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._name_of(i), module)

    def __delitem__(self, i: int | slice) -> None:
        names = list(self._modules)[i] if isinstance(i, slice) else [self._name_of(i)]
        for name in names:
            delattr(self, name)
        self._modules = {str(n): m for n, m in enumerate(list(self._modules.values()))}

    def insert(self, i: int, module: Module) -> Any:
        """Puts a module in front of the one at a place."""
        modules = list(self._modules.values())
        modules.insert(i, module)
        self._modules = {str(n): m for n, m in enumerate(modules)}

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end. Raises TypeError if `modules` cannot be iterated over."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.add_module(str(len(self)), module)
        return self

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_Row):
    """Modules in a row: each gets what the one before it gave.

    Takes modules, or one ordered dict of modules by name.

    >>> import pullback
    >>> from pullback import nn
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> net(pullback.ones(2, 3)).shape
    pullback.Size([2, 1])
    >>> net[:2]
    Sequential(
      (0): Linear(in_features=3, out_features=4, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (OrderedDict, dict)):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(OrderedDict(list(self._modules.items())[i]))
        return self._modules[self._name_of(i)]

    def pop(self, i: int | slice) -> Any:
        """Takes a module out and gives it."""
        out = self[i]
        del self[i]
        return out

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, count: int) -> Sequential:
        return Sequential(*(m for _ in range(_checked_count(count)) for m in self))

    def __rmul__(self, count: int) -> Sequential:
        return self * count

    def __imul__(self, count: int) -> Self:
        own = list(self)
        for _ in range(_checked_count(count) - 1):
            self.extend(own)
        return self

    def insert(self, i: int, module: Module) -> Self:
        """Puts a module in front of the one at a place.

        Raises:
            AssertionError: if `module` is no Module.
            IndexError: if there is no such place.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= i <= len(self):
            raise IndexError(f"Index out of range: {i}")
        super().insert(i, module)
        return self

    def forward(self, input: Any) -> Any:
        for module in self.__dict__["_modules"].values():
            input = module(input)
        return input


def _checked_count(count: Any) -> int:
    if not isinstance(count, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(count)}")
    if count <= 0:
        raise ValueError(f"Non-positive multiplication factor {count} for {Sequential}")
    return count


class ModuleList(_Row):
    """A list of modules that is a module.

    >>> from pullback import nn
    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(list(self._modules.values())[i])
        return self._modules[self._name_of(i)]

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def pop(self, key: int | slice) -> Any:
        """Takes a module out and gives it."""
        out = self[key]
        del self[key]
        return out

    def __repr__(self) -> str:
        """Neighbours that look the same are shown once."""
        lines: list[tuple[int, int, str]] = []
        for i, text in enumerate(repr(m) for m in self):
            if lines and lines[-1][2] == text:
                lines[-1] = (lines[-1][0], i, text)
            else:
                lines.append((i, i, text))
        if not lines:
            return f"{self._get_name()}()"
        shown = []
        for first, last, text in lines:
            text = text.replace("\n", "\n  ")
            shown.append(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
        return f"{self._get_name()}(\n  " + "\n  ".join(shown) + "\n)"


class ModuleDict(Module):
    """A dict of modules that is a module. It keeps the order of insertion.

    >>> from pullback import nn
    >>> heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Identity()})
    >>> list(heads), "a" in heads
    (['a', 'b'], True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes a module out and gives it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Sets modules from a mapping or from pairs of names and modules.

        Raises TypeError for what is neither, and ValueError for items that are no pairs.
        """
        for name, module in pairs(modules, "ModuleDict"):
            self[name] = module


def pairs(given: Any, owner: str) -> list[tuple[str, Any]]:
    """Names and values of a mapping, or of an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    out = []
    for i, pair in enumerate(given):
        item: Any = pair
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        if not hasattr(pair, "__len__") or len(item) != 2:
            size = len(item) if hasattr(pair, "__len__") else "unknown"
            raise ValueError(f"{owner} update sequence element #{i} has length {size}; 2 is required")
        name, value = pair
        out.append((name, value))
    return out


adopt(globals())
