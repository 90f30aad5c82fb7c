"""Classes of tensors: one that overrides nothing, and one whose `__torch_function__` passes every call on."""

from __future__ import annotations

from typing import Any

from libraries import Tensors, normal
from measure import Workload
from small import of_torch


def plain(lib: Tensors) -> type:
    class Plain(lib.T.Tensor):  # type: ignore[misc, name-defined]
        pass

    return Plain


def passing(lib: Tensors) -> type:
    class Passing(lib.T.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    return Passing


def adding(make: Any) -> Any:
    def build(lib: Tensors) -> Any:
        kind = make(lib)
        a, b = (lib.tensor(normal(name, 8)).as_subclass(kind) for name in "ab")
        assert type(a + b) is kind, "a sum is of the class of its terms"
        return "a + b", {"a": a, "b": b}

    return build


def calling(make: Any) -> Any:
    def build(lib: Tensors) -> Any:
        kind = make(lib)
        a = lib.tensor(normal("a", 8)).as_subclass(kind)
        assert type(lib.T.sin(a)) is kind, "a sine is of the class of its argument"
        return "sin(a)", {"a": a, "sin": lib.T.sin}

    return build


WORKLOADS = [
    Workload("subclass_add", "`a + b` of a subclass without overrides, 8", adding(plain), of_torch(0.3)),
    Workload("subclass_sin", "`sin(a)` of it", calling(plain), of_torch(0.3)),
    Workload("override_add", "`a + b` through a `__torch_function__` that calls on, 8", adding(passing), of_torch(0.3)),
    Workload("override_sin", "`sin(a)` through it", calling(passing), of_torch(0.3)),
]
