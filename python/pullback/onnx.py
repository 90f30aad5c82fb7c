"""Models are not exported to ONNX: `is_in_onnx_export()` is False, and what libraries register is not asked for."""

from typing import Any

from ._absent import absent

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: False.

    >>> import pullback
    >>> pullback.onnx.is_in_onnx_export()
    False
    """
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int, **options: Any) -> None:
    """Does nothing: how an operator would be exported is never asked."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Does nothing: nothing was registered."""


__getattr__ = absent("torch.onnx", __all__)
