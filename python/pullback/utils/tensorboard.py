"""`SummaryWriter` of the package tensorboardX, which writes the same files and needs no PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import Tensor
from .pytree import tree_map


def _array(value: Any) -> Any:
    """A tensor as the array of its values; other objects as they are."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return (value.float() if str(value.dtype).endswith("bfloat16") else value).numpy()


def _with_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(_array, (args, kwargs))
        return method(self, *args, **kwargs)

    return called


@functools.cache
def _of(writer: type) -> type:
    """The class of writers whose methods take our tensors."""
    methods = {name: getattr(writer, name) for name in dir(writer) if name.startswith("add_") and name != "add_graph"}
    body = {name: _with_arrays(method) for name, method in methods.items() if callable(method)}
    return type("SummaryWriter", (writer,), {**body, "__module__": __name__, "__doc__": writer.__doc__})


def __getattr__(name: str) -> Any:
    if name != "SummaryWriter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tensorboardX import SummaryWriter  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(
            "utils.tensorboard: its SummaryWriter is that of tensorboardX; install it with pip install tensorboardX",
            name="tensorboardX",
        ) from e
    return _of(SummaryWriter)
