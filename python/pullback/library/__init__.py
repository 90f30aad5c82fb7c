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
    from .schema import infer_schema as infer_schema

_CONTENTS = {
    "CustomOpDef": "custom_ops",
    "OpCheckError": "checks",
    "custom_op": "custom_ops",
    "infer_schema": "schema",
    "opcheck": "checks",
    "register_autograd": "custom_ops",
    "register_fake": "custom_ops",
    "register_kernel": "custom_ops",
    "register_vmap": "custom_ops",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, ("checks", "custom_ops", "schema"), _CONTENTS)
__all__ = sorted(_CONTENTS)
