"""One process computes here: `is_available()` is False, and nothing else of `torch.distributed` exists."""

from ._absent import absent

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes compute together: False.

    >>> import pullback
    >>> pullback.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether processes compute together: False."""
    return False


_PARTS = "algorithms autograd checkpoint device_mesh distributed_c10d elastic fsdp nn optim pipelining rpc tensor"
__getattr__ = absent("torch.distributed", __all__, classes=True, parts=_PARTS)
