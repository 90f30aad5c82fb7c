"""Modules over several devices, of which there is one: `DataParallel` calls its module, `parallel_apply` calls modules
one after the other, and what splits work raises when it is called."""

from ..._members import missing
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .scatter_gather import gather, replicate, scatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name: "str") -> "Any":
    raise AttributeError(missing(__name__, name))
