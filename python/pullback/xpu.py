"""There is no device `xpu` here: `is_available()` is False."""

from ._absent import absent

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]


def is_available() -> bool:
    """Whether there is a device: False.

    >>> import pullback
    >>> pullback.xpu.is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Does nothing: there is no device with a generator."""


def empty_cache() -> None:
    """Does nothing: there is no memory of a device."""


__getattr__ = absent("torch.xpu", __all__)
