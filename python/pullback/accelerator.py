"""There is no accelerator here: `is_available()` is False."""

from ._absent import absent

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """Whether there is a device beside the CPU: False.

    >>> import pullback
    >>> pullback.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no device beside the CPU."""


__getattr__ = absent("torch.accelerator", __all__)
