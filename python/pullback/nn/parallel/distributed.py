"""`DistributedDataParallel` where one process computes."""

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients several processes share: programs may name the class and ask whether a module is of it.

    Raises:
        NotImplementedError: when one is made, for one process computes here.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(
            "torch.nn.parallel.DistributedDataParallel is out of scope: one process computes here; call the module "
            "itself"
        )
