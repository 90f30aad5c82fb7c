"""Models are not exported to ONNX: `is_in_onnx_export()` is False, and nothing else of `torch.onnx` exists."""

from ._absent import absent

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: False.

    >>> import pullback
    >>> pullback.onnx.is_in_onnx_export()
    False
    """
    return False


__getattr__ = absent("torch.onnx", __all__)
