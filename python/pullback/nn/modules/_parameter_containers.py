"""Lists and dicts of parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from operator import index

from ... import Tensor
from ..parameter import Parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from typing_extensions import Self


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _shown(name: object, value: Any, kind_of_tensor: Callable[[Tensor], object]) -> str:
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(str(n) for n in value.size())
        return f"  ({name}): {kind} containing: [{kind_of_tensor(value)} of size {size}]"
    return f"  ({name}): Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters that is a module. Tensors become parameters; other objects are kept as they are.

    >>> import pullback
    >>> weights = pullback.nn.ParameterList([pullback.ones(2), pullback.zeros(3)])
    >>> len(weights), [name for name, _ in weights.named_parameters()]
    (2, ['0', '1'])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _place(self, i: Any) -> str:
        at = index(i)
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} is out of range")
        return str(at % len(self))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            out = type(self)()
            for k in range(*i.indices(len(self))):
                out.append(self[k])
            return out
        return getattr(self, self._place(i))

    def __setitem__(self, i: int, value: Any) -> None:
        setattr(self, self._place(i), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end. Raises TypeError if `values` cannot be iterated over, or is a tensor."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, i: int) -> Any:
        """Takes a value out and gives it."""
        rest = list(self)
        out = rest.pop(i)
        for k in range(len(self)):
            delattr(self, str(k))
        self._size = 0
        self.extend(rest)
        return out

    def extra_repr(self) -> str:
        return "\n".join(_shown(i, value, lambda t: t.dtype) for i, value in enumerate(self))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters that is a module. Tensors become parameters; other objects are kept as they are.

    >>> import pullback
    >>> weights = pullback.nn.ParameterDict({"left": pullback.ones(2), "right": pullback.zeros(3)})
    >>> list(weights), weights["left"].requires_grad
    (['left', 'right'], True)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: object) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is "
                f"not a string (type is '{type(key).__name__}')"
            )
        return key

    def __getitem__(self, key: str) -> Any:
        name = self._key_to_attr(key)
        if name not in self._keys:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}', nor a key of this name")
        return getattr(self, name)

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._key_to_attr(key)
        self._keys[name] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same values."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is set if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Takes all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes a value out and gives it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last value out and gives it with its key."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict of these keys, all with one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Sets values from a mapping or from pairs of keys and values.

        Those of a mapping come in the order of their keys, unless it is an OrderedDict or a ParameterDict.

        Raises TypeError for what is neither, and ValueError for items that are no pairs.
        """
        from .container import pairs

        found = pairs(parameters, "ParametersDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            found = sorted(found)
        for key, value in found:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_shown(key, value, Tensor.type) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        out = self.copy()
        out.update(other)
        return out

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        out = other.copy()
        out.update(self)
        return out

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
