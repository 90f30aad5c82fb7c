"""Stand-ins for what is out of scope: many programs import it by name and use it only under a condition."""

import functools
import sys
import typing
from abc import ABCMeta
from types import ModuleType
from typing import Any

from .._absent import REASONS, explained, is_question, not_there, reason

# Parts whose names programs use at once, or have another way for.
_AT_ONCE = frozenset({"_C", "_inductor"})
# Classes of these parts that programs write in annotations.
_NAMED = frozenset({"_C.Graph", "_C.Node", "_C.ScriptFunction", "_C.ScriptModule", "_C.Value"})
# Whole parts that PyTorch loads by itself, so that programs name what is in them without importing them.
_LOADED = frozenset("ao classes export fx masked monitor nested package quantization sparse".split())
# The stand-ins that modules of this package hold: module and name.
_held: set[tuple[str, str]] = set()


class StandIn(ABCMeta):
    """The class of stand-ins. They can be named, compared, asked for attributes and derived from; a call raises."""

    _path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        module, _, name = cls._path.rpartition(".")
        raise NotImplementedError(explained(module, name).partition(": ")[2])

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return _member(cls._path, name)

    def __getitem__(cls, item: Any) -> Any:
        return cls  # as in an annotation

    def __repr__(cls) -> str:
        return f"<{cls._path}, out of scope>" if "_path" in cls.__dict__ else super().__repr__()


class _Part(ModuleType):
    """A module that is out of scope, and has a stand-in for each name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"Out of scope: {reason(name.partition('.')[2])}.")
        self.__path__: list[str] = []
        self.__all__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = _member(self.__name__, name)
        setattr(self, name, found)
        return found


def _marked(function: Any) -> Any:
    return function


def _marker(*args: Any, **kwargs: Any) -> Any:
    return _marked


# What tells a part something of a function, and leaves it as it is.
_MARKS = {
    ("fx", "wrap"): _marked,
    ("symbolic_helper", "parse_args"): _marker,
}


def _member(path: str, name: str) -> Any:
    """What stands for a name in what is out of scope: an answer for a question, the function itself for a mark, what
    `typing` has for an annotation, and else a stand-in."""
    if path.endswith("jit.annotations") and name in typing.__all__:
        return getattr(typing, name)
    if mark := _MARKS.get((path.rpartition(".")[2], name)):
        return mark
    return not_there if is_question(name) else stand_in(f"{path}.{name}")


@functools.cache
def stand_in(path: str) -> StandIn:
    """What stands for a class or function, by its dotted path behind `torch`."""
    module, _, name = path.rpartition(".")
    return StandIn(name, (), {"_path": path, "__module__": module, "__doc__": explained(module, name)})


def stands(path: str) -> bool:
    """Whether a dotted path gets a stand-in where a program imports it."""
    rest = path.partition(".")[2]
    return (rest.partition(".")[0] not in _AT_ONCE or rest in _NAMED) and reason(rest) is not None


def module_like(path: str) -> ModuleType:
    """What stands for a module."""
    return _Part(path)


def is_part(path: str) -> bool:
    """Whether a name that may be a module's, as in `from torch import fx`, is that of a whole part."""
    return path.partition(".")[2] in REASONS


def is_loaded(name: str) -> bool:
    """Whether `torch` itself has this name of a whole part, as in `class Mine(torch.fx.Interpreter)`."""
    return name in _LOADED


def hold(module: str, name: str) -> None:
    """Notes that importing a name has put a stand-in into a module of this package."""
    _held.add((module, name))


def let_go() -> None:
    """Takes all stand-ins out of the modules of this package."""
    for module, name in _held:
        sys.modules.pop(f"{module}.{name}", None)
        vars(sys.modules.get(module, ModuleType(module))).pop(name, None)
    _held.clear()
