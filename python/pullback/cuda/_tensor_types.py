"""The classes of tensors on CUDA devices: there are none, so no tensor is an instance, and calls raise."""

from __future__ import annotations

from typing import NoReturn

from .._tensor_types import TYPES


class _Type(type):
    def __call__(cls, *args: object, **options: object) -> NoReturn:
        raise RuntimeError(
            f"cuda.{cls.__name__}(): there is no CUDA device: tensors are on the CPU. Ask cuda.is_available() first, "
            f"or write pullback.{cls.__name__}"
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<class 'pullback.cuda.{cls.__name__}'>"


CUDA_TYPES = {
    name: _Type(name, (), {"__doc__": f"Tensors like those of `{name}` on a CUDA device, of which there are none."})
    for kind in TYPES
    for name in (kind, kind.replace("Tensor", "Storage"))
}
