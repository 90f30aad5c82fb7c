"""The import hook: names of PyTorch's modules lead to modules of this package."""

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._facade import covers, module_for, not_a_name
from ._standins import hold, stand_in, stands


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # What stands in `sys.modules` afterwards is what was imported; the module of this package keeps its own name.
        found = module_for(module.__name__, _is_asked_for_a_name())
        if not hasattr(found, "__path__"):
            # Names that it lacks are looked for as modules below it, where the error says more.
            found.__path__ = []
        sys.modules[module.__name__] = found


def _is_asked_for_a_name() -> bool:
    """Whether `from module import name` looks for a module of that name."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_handle_fromlist":
        if not frame.f_code.co_filename.startswith("<frozen importlib") and frame.f_code.co_filename != __file__:
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


class Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not covers(fullname):
            return None
        # Every module may have others below it.
        return ModuleSpec(fullname, _Loader(), is_package=True)

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """What `importlib.metadata.version("torch")` asks for."""
        from ._distribution import Torch

        if getattr(context, "name", None) in (None, "torch"):
            yield Torch()


class _StandInLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        above, _, name = module.__name__.rpartition(".")
        stood: Any = stand_in(f"torch{module.__name__[8:]}")
        sys.modules[module.__name__] = stood
        hold(above, name)


class Explainer(MetaPathFinder):
    """The last finder: gives what stands for `name` in `from torch.x import name`, or says why there is nothing."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith("pullback.") and _is_asked_for_a_name():
            if stands(f"torch{fullname[8:]}"):
                return ModuleSpec(fullname, _StandInLoader())
            raise not_a_name(f"torch{fullname[8:]}")
        return None
