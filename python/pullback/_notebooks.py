"""What notebooks show of a tensor: a table of its numbers, if there are few."""

from html import escape

from . import _core
from ._core import Tensor

_ROWS, _COLUMNS = 20, 12


def table(tensor: Tensor) -> "str | None":
    """A table of one or two dimensions; None for large tensors and values of transforms, shown as text."""
    if tensor.ndim not in (1, 2) or not tensor.numel() or tensor.is_meta:
        return None
    if not _core.autograd._is_plain(tensor.detach()) or type(tensor).__repr__ is not Tensor.__repr__:
        return None
    rows = tensor.detach().reshape(1, -1) if tensor.ndim == 1 else tensor.detach()
    if rows.shape[0] > _ROWS or rows.shape[1] > _COLUMNS:
        return None
    cells = "".join(f"<tr>{''.join(f'<td>{_shown(x)}</td>' for x in row)}</tr>" for row in rows)
    kind = str(tensor.dtype).rpartition(".")[2]
    text = f"{type(tensor).__name__} {kind} {list(tensor.shape)}" + (" requires_grad" if tensor.requires_grad else "")
    return f"<table><caption>{escape(text)}</caption><tbody>{cells}</tbody></table>"


def _shown(element: Tensor) -> str:
    """A number as the text of a tensor shows it."""
    text = repr(element)
    inside = text[text.index("(") + 1 : text.rindex(")")]
    return escape(inside.partition(", dtype")[0].partition(", device")[0].strip())
