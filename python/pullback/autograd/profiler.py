"""Marks of a profiler that is not here, under the name that they had before `profiler`."""

from .._absent import absent
from ..profiler import record_function as record_function

__all__ = ["record_function"]
__getattr__ = absent("torch.profiler", __all__)
