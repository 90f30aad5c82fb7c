"""`rearrange`, for programs without the package einops."""

from __future__ import annotations

import re
from math import prod

from .. import _core
from .._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["rearrange"]
# What stands for the dimensions without names, as dimensions of their own and in a group.
_REST, _REST_IN_GROUP = "...", "(...)"


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions in another order, taken apart and put together, as a pattern with names says.

    >>> import pullback
    >>> from pullback.functorch.einops import rearrange
    >>> rearrange(pullback.ones(2, 6), "a (b c) -> c b a", b=2).shape
    pullback.Size([3, 2, 2])

    The pattern is "left -> right", of names, 1, `...`, and groups of them in parentheses, which are one dimension; a
    name of a group may have no length. Raises ValueError for a pattern that is none or does not fit.
    """
    whole: Tensor = tensor if isinstance(tensor, Tensor) else _core.functions["stack"](list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange(): a pattern has a single '->', got {pattern!r}")
    left, right = (_groups(side) for side in sides)
    _check(left, right, axes_lengths, pattern)
    sizes, rest = _sizes(left, whole, axes_lengths, pattern)

    def spread(group: list[str]) -> list[str]:
        return [name for part in group for name in (rest if part in (_REST, _REST_IN_GROUP) else [part])]

    flat = [name for group in left for name in spread(group)]
    order = [name for group in right for name in spread(group)]
    apart = whole.reshape([sizes[name] for name in flat])
    moved = apart.permute([flat.index(name) for name in order])
    # What `...` stands for alone stays several dimensions.
    at = right.index([_REST]) if [_REST] in right else len(right)
    parts = [*map(spread, right[:at]), *([n] for n in rest if at < len(right)), *map(spread, right[at + 1 :])]
    return moved.reshape([prod(sizes[name] for name in group) for group in parts])


def _groups(side: str) -> list[list[str]]:
    """The parts of a side, each with its names; a 1 has none."""
    groups: list[list[str]] = []
    inside = False
    for token in re.findall(r"\(|\)|\.\.\.|[^()\s]+", side):
        if token in "()":
            if inside is (token == "("):
                raise ValueError(f"rearrange(): imbalanced parentheses in {side!r}")
            inside = token == "("
            groups += [[]] if inside else []
            continue
        if token not in (_REST, "1") and (not token.isidentifier() or token[0] == "_" or token[-1] == "_"):
            raise ValueError(f"rearrange(): {token!r} is neither a name nor 1")
        names = [] if token == "1" else [_REST_IN_GROUP if inside and token == _REST else token]
        if inside:
            groups[-1] += names
        else:
            groups.append(names)
    if inside:
        raise ValueError(f"rearrange(): imbalanced parentheses in {side!r}")
    return groups


def _check(left: list[list[str]], right: list[list[str]], lengths: dict[str, int], pattern: str) -> None:
    names = [[_REST if n == _REST_IN_GROUP else n for group in side for n in group] for side in (left, right)]
    differ = sorted(set(names[0]) ^ set(names[1]))
    if differ:
        raise ValueError(f"rearrange(): {differ} on one side of {pattern!r} only")
    if any(len(set(side)) < len(side) for side in names):
        raise ValueError(f"rearrange(): a name stands twice on a side of {pattern!r}")
    if any(_REST_IN_GROUP in group for group in left):
        raise ValueError(f"rearrange(): '...' in parentheses on the left side of {pattern!r}")
    unknown = sorted(set(lengths) - set(names[0]))
    if unknown:
        raise ValueError(f"rearrange(): {unknown} have lengths and are not in {pattern!r}")


def _sizes(
    left: list[list[str]], tensor: Tensor, lengths: dict[str, int], pattern: str
) -> tuple[dict[str, int], list[str]]:
    """The size of each name, and the names that stand for the dimensions of `...`."""
    has_rest, known = [_REST] in left, len([g for g in left if g != [_REST]])
    if tensor.ndim < known or (tensor.ndim > known and not has_rest):
        raise ValueError(f"rearrange(): {pattern!r} has {known} dimensions on the left, and the tensor {tensor.ndim}")
    rest = [f"...{k}" for k in range(tensor.ndim - known)]
    at = left.index([_REST]) if has_rest else len(left)
    parts = [*left[:at], *([n] for n in rest), *left[at + 1 :]]
    sizes = dict(lengths)
    for group, size in zip(parts, tensor.shape, strict=True):
        open_names = [name for name in group if name not in sizes]
        given = prod(sizes[name] for name in group if name in sizes)
        if len(open_names) > 1:
            raise ValueError(f"rearrange(): give the lengths of all but one of {open_names} in {pattern!r}")
        if size % given if open_names and given else size != given:
            raise ValueError(
                f"rearrange(): ({' '.join(group)}) of {pattern!r} has size {size}, which {given} does not fit"
            )
        for name in open_names:
            sizes[name] = size // given if given else 0
    return sizes, rest
