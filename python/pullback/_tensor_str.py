"""How tensors are printed, under the names of PyTorch's inside: the switches, and the text of a tensor."""

from __future__ import annotations

from contextlib import contextmanager

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

set_printoptions, get_printoptions = _core.set_printoptions, _core.get_printoptions


class _Options:
    """The switches as attributes, which can be read and set."""

    def __getattr__(self, name: str) -> Any:
        options = get_printoptions()
        if name not in options:
            raise AttributeError(f"PRINT_OPTS has no option {name!r}; it has {', '.join(options)}")
        return options[name]

    def __setattr__(self, name: str, value: Any) -> None:
        set_printoptions(**{name: value})

    def __repr__(self) -> str:
        return f"__PrinterOptions({', '.join(f'{n}={x}' for n, x in get_printoptions().items())})"


PRINT_OPTS = _Options()


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Prints otherwise for a while; the arguments are those of `set_printoptions`."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _str(self: Any, *, tensor_contents: Any = None) -> str:
    """The text of a tensor."""
    return repr(self)
