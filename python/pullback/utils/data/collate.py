"""Batches of samples."""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def _stacked(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return _core.functions["stack"](tuple(batch), 0)


def _numbers(dtype: Any) -> Callable[..., Any]:
    return lambda batch, *, collate_fn_map=None: _core.tensor(list(batch), dtype=dtype)


def _as_it_is(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


# What makes a batch of samples of a type; `collate` takes such a table.
default_collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] = {
    Tensor: _stacked,
    float: _numbers(_core.float64),
    int: _numbers(None),
    str: _as_it_is,
    bytes: _as_it_is,
}


def collate(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """A batch of samples by the type of the first one: what the table has for it, or its members one by one."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, make in collate_fn_map.items():
            if isinstance(first, known):
                return make(batch, collate_fn_map=collate_fn_map)
    if kind.__module__ == "numpy":
        return _arrays(batch, first)
    if isinstance(first, Mapping):
        parts = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first}
        return _like(first, parts, isinstance(first, MutableMapping))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("default_collate(): each element in list of batch should be of equal size")
        columns = [collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _like(first, columns, isinstance(first, MutableSequence))
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}: give the "
        "loader a collate_fn"
    )


def _arrays(batch: Any, first: Any) -> Any:
    """Arrays and scalars of NumPy."""
    if hasattr(first, "__array_interface__") and first.dtype.kind in "biufc":
        return _core.functions["stack"]([_core.as_tensor(x) for x in batch], 0)
    raise TypeError(
        f"default_collate: arrays of the dtype {getattr(first, 'dtype', type(first))} do not become tensors"
    )


def _like(first: Any, parts: Any, changes: bool) -> Any:
    """A container of the type of the first sample, if one can be made."""
    if type(first) in (dict, list):
        return parts
    try:
        if changes:
            made = copy.copy(first)
            if isinstance(parts, dict):
                made.update(parts)
            else:
                for k, part in enumerate(parts):
                    made[k] = part
            return made
        return type(first)(parts)
    except TypeError:
        return parts


def default_collate(batch: Any) -> Any:
    """A batch of samples: tensors, arrays and numbers become one tensor with the samples along the first dimension,
    tuples, lists and dicts are taken apart, and strings stay a list.

    >>> from pullback.utils.data import default_collate
    >>> default_collate([{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b"}])
    {'x': tensor([1.5000, 2.5000], dtype=pullback.float64), 'name': ['a', 'b']}

    Raises TypeError for samples of other types, RuntimeError if lists differ in length or tensors in shape.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """A sample with its arrays as tensors: what the loader does without batches.

    >>> import numpy
    >>> from pullback.utils.data import default_convert
    >>> default_convert([numpy.arange(2), "a"])
    [tensor([0, 1]), 'a']
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and hasattr(data, "__array_interface__"):
        return _core.as_tensor(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(x) for key, x in data.items()}, isinstance(data, MutableMapping))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(x) for x in data))
    if isinstance(data, tuple):
        return [default_convert(x) for x in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _like(data, [default_convert(x) for x in data], isinstance(data, MutableSequence))
    return data
