"""Which kernel computes attention: there is one here, so that choices are accepted and change nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """Names of kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """A context for `scaled_dot_product_attention`, which gives the same in it.

    >>> import pullback
    >>> from pullback.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     pullback.nn.functional.scaled_dot_product_attention(*[pullback.ones(1, 1, 2)] * 3)
    tensor([[[1., 1.]]])

    Raises TypeError for what names no kernel.
    """
    for backend in backends if isinstance(backends, list) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise TypeError(f"sdpa_kernel(): a SDPBackend or a list of them is expected, got {type(backend).__name__}")
    yield
