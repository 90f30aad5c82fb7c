"""The modules `torch` and `functorch`, which give the names of this package."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pullback

from .._absent import explained, reason
from ..version import TORCH
from ._standins import is_loaded, is_part, module_like, stand_in, stands

# Modules that have another name here, or a class of names.
_OTHERS = {
    "torch._VF": "pullback",
    "torch._custom_ops": "pullback.library",
    "torch._dynamo": "pullback.compiler",
    "torch._dynamo.utils": "pullback.compiler",
    "torch.utils.flop_counter": "pullback.compiler",
    "torch.autograd.profiler_util": "pullback.autograd.profiler",
    "torch.profiler.profiler": "pullback.profiler",
    "torch.multiprocessing.spawn": "pullback.multiprocessing",
    "torch.amp.autocast_mode": "pullback.amp",
    "torch.amp.grad_scaler": "pullback.amp",
    "torch.cuda.amp.autocast_mode": "pullback.cuda.amp",
    "torch.cuda.amp.grad_scaler": "pullback.cuda.amp",
    "torch.utils.tensorboard.writer": "pullback.utils.tensorboard",
    "torch._functorch": "pullback.func",
    "torch._functorch.apis": "pullback.func",
    "torch._functorch.eager_transforms": "pullback.func",
    "torch._functorch.vmap": "pullback.func",
    "torch._vmap_internals": "pullback.functorch._vmap_internals",
    "torch._functorch.make_functional": "pullback.functorch",
    "torch.utils.data._utils.collate": "pullback.utils.data.collate",
    "safetensors.torch": "pullback.utils.safetensors",
    "functorch.compile": "pullback.compiler",
}
_ROOTS = ("torch", "functorch")


def covers(name: str) -> bool:
    """Whether a module is one of those that mean this package."""
    return name.partition(".")[0] in _ROOTS or name in _OTHERS


class Version(str):
    """A version that compares with strings and tuples by its numbers."""

    def _numbers(self, other: Any) -> tuple[int, ...]:
        parts = other if isinstance(other, tuple | list) else str(other).partition("+")[0].split(".")
        found = []
        for part in parts:
            digits = "".join(c for c in str(part) if c.isdigit())
            if not digits or str(part)[:1].isalpha():
                break
            found.append(int(digits))
        return tuple(found)

    def _order(self, other: Any) -> int:
        a, b = self._numbers(self), self._numbers(other)
        size = max(len(a), len(b))
        a, b = a + (0,) * (size - len(a)), b + (0,) * (size - len(b))
        return (a > b) - (a < b)

    def __lt__(self, other: Any) -> bool:
        return self._order(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._order(other) >= 0

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, str | tuple | list) and self._order(other) == 0

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


class _Facade(ModuleType):
    """A module whose names are looked up here and kept, so that each is found quickly from then on."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self.__path__: list[str] = []
        self.__file__ = pullback.__file__
        # Programs ask `importlib.util.find_spec` whether there is PyTorch.
        self.__spec__ = ModuleSpec(name, None, origin=self.__file__, is_package=True)

    def _find(self, name: str) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__config__", "__future__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = self._find(name)
        setattr(self, name, found)
        return found


class Torch(_Facade):
    def __init__(self) -> None:
        super().__init__("torch", pullback.__doc__ or "")
        self.__version__ = Version(TORCH)
        self.__all__ = [*pullback.__all__, "bool", "float", "int"]
        own = ("as_torch", "version")
        self.__dict__.update((n, x) for n, x in vars(pullback).items() if n[0] != "_" and n not in own)

    def _find(self, name: str) -> Any:
        if name == "torch":
            return self
        if f"torch.{name}" in _OTHERS or f"torch.{name}" in _MADE:
            return import_module(f"torch.{name}")
        try:
            return getattr(pullback, name)
        except AttributeError:
            if is_loaded(name):
                return import_module(f"torch.{name}")
            raise AttributeError(explained("torch", name, dir(pullback))) from None

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})


class Functorch(_Facade):
    def __init__(self) -> None:
        super().__init__("functorch", "The transforms, under the name that they had before `torch.func`.")
        self.__version__ = Version(TORCH)

    def _find(self, name: str) -> Any:
        for path in ("pullback.func", "pullback.functorch"):
            try:
                return getattr(import_module(path), name)
            except (AttributeError, ImportError):
                continue
        if name == "dim" or name == "einops":
            return import_module(f"functorch.{name}")
        raise AttributeError(explained("functorch", name, dir(pullback.func)))

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *pullback.func.__all__})


def _version() -> ModuleType:
    module = ModuleType("torch.version", "The version of PyTorch whose names these are.")
    module.__dict__.update({n: getattr(pullback.version, n) for n in ("cuda", "debug", "git_version", "hip", "xpu")})
    module.__dict__["__version__"] = TORCH
    return module


def _torch_version() -> ModuleType:
    module = ModuleType("torch.torch_version", "The version of PyTorch whose names these are.")
    module.__dict__.update({"TorchVersion": Version, "__version__": Version(TORCH)})
    return module


def _future() -> ModuleType:
    module = ModuleType("torch.__future__", "Switches for how modules are converted, which are remembered.")
    chosen = {"overwrite": False, "swap": False}

    def switch(name: str) -> None:
        def write(value: bool) -> None:
            chosen[name] = bool(value)

        def read() -> bool:
            return chosen[name]

        write.__doc__ = "Remembers a switch: modules convert their parameters in place, whatever it is."
        read.__doc__ = "What was set; False at first."
        setattr(module, f"set_{name}_module_params_on_conversion", write)
        setattr(module, f"get_{name}_module_params_on_conversion", read)

    for name in chosen:
        switch(name)
    return module


def _logging() -> ModuleType:
    module = ModuleType(
        "torch._logging", "What PyTorch's compiler says; nothing is compiled, so there is nothing to say."
    )

    def set_logs(**options: Any) -> None:
        """Does nothing: there is no compiler to log."""

    module.__dict__["set_logs"] = set_logs
    return module


def _inductor() -> ModuleType:
    module = ModuleType("torch._inductor", "A compiler that is not here; programs set its switches.")
    module.__dict__["config"] = import_module("torch._inductor.config")
    return module


def _config() -> Any:
    """Switches of the compiler."""
    return import_module("pullback.compiler").config


_MADE = {
    "torch._dynamo.config": _config,
    "torch._functorch.config": _config,
    "torch._inductor": _inductor,
    "torch._inductor.config": _config,
    "torch": Torch,
    "functorch": Functorch,
    "torch.version": _version,
    "torch.torch_version": _torch_version,
    "torch.__future__": _future,
    "torch._logging": _logging,
}


def not_a_name(path: str) -> ImportError:
    """The error of `from module import name` for a name that is not there."""
    module, _, name = path.rpartition(".")
    return ImportError(
        f"cannot import name {name!r}: {explained(module, name, dir(sys.modules.get(module)))}", name=module
    )


def module_for(name: str, as_name: bool) -> Any:
    """The module that a name of PyTorch's means, what stands for it, or an error that says why there is none.

    `as_name` says that any name is looked for, which need not be a module.
    """
    if name in _MADE:
        return _MADE[name]()
    path = _OTHERS.get(name)
    if path is None:
        root, _, rest = name.partition(".")
        path = f"pullback.functorch.{rest}" if root == "functorch" else f"pullback.{rest}"
    try:
        return import_module(path)
    except ModuleNotFoundError as e:
        if e.name is None or not path.startswith(e.name):
            raise
        above, _, last = path.rpartition(".")
        found = getattr(sys.modules.get(above), last, None)
        if isinstance(found, ModuleType):
            return found
    if stands(name):
        return stand_in(name) if as_name and not is_part(name) else module_like(name)
    if as_name:
        raise not_a_name(name)
    why = reason(name.partition(".")[2])
    text = f"No module named {name!r}"
    if why is not None:
        text += f": {name} is out of scope: {why}"
    else:
        text += ": pullback has no module of this name"
    raise ModuleNotFoundError(text, name=name)
