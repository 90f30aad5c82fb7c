"""Lists of tensors by device and dtype, for optimisers written by hand that step over lists."""

from __future__ import annotations

from typing import Any


def grouped(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[Any, tuple[list[list[Any]], list[int]]]:
    """The same lists for each device and dtype of the first, with places in it if `with_indices`."""
    if len({len(each) for each in tensorlistlist}) > 1:
        raise RuntimeError("_group_tensors_by_device_and_dtype(): lists must have the same number of tensors")
    found: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for place, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, places = found.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
        for one, x in zip(lists, row, strict=True):
            one.append(x)
        if with_indices:
            places.append(place)
    return found
