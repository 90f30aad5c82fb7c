"""Operators made of functions in other languages: declared once, with gradients, batches and shapes of their own."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .checks import OpCheckError as OpCheckError
    from .checks import opcheck as opcheck
    from .custom_ops import CustomOpDef as CustomOpDef
    from .custom_ops import custom_op as custom_op
    from .custom_ops import register_autograd as register_autograd
    from .custom_ops import register_fake as register_fake
    from .custom_ops import register_kernel as register_kernel
    from .custom_ops import register_vmap as register_vmap
    from .libraries import Library as Library
    from .libraries import define as define
    from .libraries import impl as impl
    from .schema import infer_schema as infer_schema

_CONTENTS = {
    "CustomOpDef": "custom_ops",
    "Library": "libraries",
    "OpCheckError": "checks",
    "custom_op": "custom_ops",
    "define": "libraries",
    "impl": "libraries",
    "infer_schema": "schema",
    "opcheck": "checks",
    "register_autograd": "custom_ops",
    "register_fake": "custom_ops",
    "register_kernel": "custom_ops",
    "register_vmap": "custom_ops",
}

if not TYPE_CHECKING:
    _HOMES = {**_CONTENTS, "_scoped_library": "libraries"}
    __getattr__ = lazily(__name__, ("checks", "custom_ops", "libraries", "schema"), _HOMES)
__all__ = sorted(_CONTENTS)
