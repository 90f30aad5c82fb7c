"""Where `vmap` was before it had a public name."""

from collections.abc import Callable
from typing import Any

from ..func import vmap as batched


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`pullback.func.vmap`, with the parameters that it had."""
    return batched(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """`vmap` of a function whose results may be None, as gradients of what is not used are."""
    if not allow_none_pass_through:
        return batched(func, in_dims, out_dims)

    def run(*args: Any) -> Any:
        shape: list[Any] = []

        def present(*inner: Any) -> Any:
            found = func(*inner)
            several = found if isinstance(found, tuple) else (found,)
            shape[:] = isinstance(found, tuple), [result is None for result in several]
            return tuple(result for result in several if result is not None)

        found = iter(batched(present, in_dims, out_dims)(*args))
        several = tuple(None if missing else next(found) for missing in shape[1])
        return several if shape[0] else several[0]

    return run
