"""Views as tensors of their own: `view_copy(x, (2, 2))` is what `x.view(2, 2)` shows, in memory that nobody shares."""

from __future__ import annotations

from ._core import Tensor, contiguous_format, functions
from .nn._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _written(name: str, made: Tensor, out: Any) -> Tensor:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.shape != made.shape:
        out.resize_(made.shape)
    return out.copy_(made)


def _copied(name: str, views: Any, out: Any) -> Any:
    if isinstance(views, Tensor):
        return views.clone(memory_format=contiguous_format) if out is None else _written(name, views, out)
    if out is None:
        return tuple(view.clone(memory_format=contiguous_format) for view in views)
    if not isinstance(out, (list, tuple)) or len(out) != len(views):
        got = len(out) if isinstance(out, (list, tuple)) else type(out).__name__
        raise RuntimeError(
            f"{name}(): argument 'out' must have {len(views)} tensors, one for each result, but got {got}"
        )
    return tuple(_written(name, view, target) for view, target in zip(views, out, strict=True))


def _made(view: str) -> Callable[..., Any]:
    name = f"{view}_copy"
    method = functions.get(view) or getattr(Tensor, view)

    def copy(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        return _copied(name, method(input, *args, **kwargs), out)

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = (
        f"`Tensor.{view}` with memory of its own, or in that of `out`. Arguments and errors are those of `{view}`."
    )
    return shown(copy)


@shown
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of a tensor.

    >>> import pullback
    >>> pullback.alias_copy(pullback.ones(2))
    tensor([1., 1.])
    """
    copy: Tensor = _copied("alias_copy", input, out)
    return copy


@shown
def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements of a slice of a dimension. Raises IndexError for a dimension that there is not.

    >>> import pullback
    >>> pullback.slice_copy(pullback.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    part = input.movedim(dim, 0)[start:end:step].movedim(0, dim)
    copy: Tensor = _copied("slice_copy", part, out)
    return copy


as_strided_copy = _made("as_strided")
detach_copy = _made("detach")
diagonal_copy = _made("diagonal")
expand_copy = _made("expand")
permute_copy = _made("permute")
select_copy = _made("select")
split_copy = _made("split")
split_with_sizes_copy = _made("split_with_sizes")
squeeze_copy = _made("squeeze")
t_copy = _made("t")
transpose_copy = _made("transpose")
unbind_copy = _made("unbind")
unfold_copy = _made("unfold")
unsqueeze_copy = _made("unsqueeze")
view_copy = _made("view")
view_as_complex_copy = _made("view_as_complex")
view_as_real_copy = _made("view_as_real")
