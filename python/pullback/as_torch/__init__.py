"""Programs written for PyTorch run with this library: `import torch` means pullback.

    python -m pullback.as_torch program.py arguments
    python -m pullback.as_torch -m package.module arguments

Inside of a program, `install()` does the same from then on, and `with install():` for a while; processes that are
started meanwhile do as well. `torch.nn`,
`torch.func`, `torch.utils.data`, `functorch` and the others are the modules of this package. What does not exist raises
an AttributeError or ImportError that says so, and what to use instead. What PyTorch has and is out of scope can be
imported by its name, and raises where it is called. `torch.cuda.is_available()` and its like are False.

>>> from pullback import as_torch
>>> with as_torch.install():
...     import torch
...     import torch.nn.functional as F
...     F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

import sys
from types import ModuleType, TracebackType
from typing import Any

from .. import _core
from ..nn import parameter
from . import _children
from ._facade import covers
from ._finder import Explainer, Finder
from ._standins import let_go

__all__ = ["install", "is_installed", "uninstall"]

_own: Any = _core
_finder: Finder | None = None
_explainer = Explainer()
# The classes whose module libraries ask for, to tell whose objects they are.
_KINDS: tuple[Any, ...] = (
    *(_core.Tensor, parameter.Parameter, parameter.Buffer),
    *(parameter.UninitializedParameter, parameter.UninitializedBuffer),
    *(_core.dtype, _core.device, _core.Size, _core.Generator, _core.layout, _core.memory_format),
)
_before: dict[str, ModuleType] = {}


class _Installed:
    """What `install` gives: as a context manager it ends what it began."""

    def __init__(self, began: bool) -> None:
        self._began = began

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._began:
            uninstall()


def install() -> _Installed:
    """Makes `import torch` and `import functorch`, and all below them, mean this package.

    Modules of PyTorch that were imported before come back with `uninstall`; what programs hold of them stays PyTorch's.
    As a context manager it uninstalls at the end, unless it was installed before.

    >>> from pullback import as_torch
    >>> with as_torch.install():
    ...     from torch.cuda import is_available
    >>> is_available(), as_torch.is_installed()
    (False, False)
    """
    global _finder
    if _finder is not None:
        return _Installed(False)
    _before.update(_taken())
    _finder = Finder()
    sys.meta_path.insert(0, _finder)
    sys.meta_path.append(_explainer)
    _children.tell()
    _show(True)
    return _Installed(True)


def uninstall() -> None:
    """Ends what `install` began: `import torch` means PyTorch again, if it is there. Does nothing if nothing began.

    >>> from pullback import as_torch
    >>> as_torch.uninstall()
    """
    global _finder
    if _finder is None:
        return
    sys.meta_path.remove(_finder)
    sys.meta_path.remove(_explainer)
    _children.tell_no_more()
    _show(False)
    _finder = None
    let_go()
    _taken()
    sys.modules.update(_before)
    _before.clear()


def _show(as_torch: bool) -> None:
    """Lets dtypes, sizes and the classes of tensors say that they are of `torch`, as libraries ask them."""
    _own._show_as_torch(as_torch)
    for kind in _KINDS:
        _, point, rest = kind.__module__.partition(".")
        kind.__module__ = f"{'torch' if as_torch else 'pullback'}{point}{rest}"


def is_installed() -> bool:
    """Whether `import torch` means this package."""
    return _finder is not None


def _taken() -> dict[str, ModuleType]:
    """Takes all modules that are concerned out of those that are imported."""
    names = [name for name in sys.modules if covers(name)]
    return {name: sys.modules.pop(name) for name in names}
