"""Function transforms: they take a function and give one. They nest in any order and to any depth.

>>> import pullback
>>> from pullback.func import grad, vmap
>>> vmap(grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))(pullback.ones(2), pullback.ones(3, 2)).shape
pullback.Size([3, 2])
"""

from .._members import lazily, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core_func import *  # noqa: F403
    from . import custom_derivatives as custom_derivatives
    from . import functionalization as functionalization
    from . import scipy_functions as scipy_functions
    from .batch_norms import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
    from .custom_derivatives import custom_jvp as custom_jvp
    from .custom_derivatives import custom_vjp as custom_vjp
    from .functional_calls import functional_call as functional_call
    from .functional_calls import stack_module_state as stack_module_state
    from .functionalization import functionalize as functionalize
    from .scipy_functions import as_scipy as as_scipy

_CONTENTS = {
    "replace_all_batch_norm_modules_": "batch_norms",
    **dict.fromkeys(("custom_jvp", "custom_vjp"), "custom_derivatives"),
    **dict.fromkeys(("functional_call", "stack_module_state"), "functional_calls"),
    "functionalize": "functionalization",
    "as_scipy": "scipy_functions",
}

globals().update(members("func"))
if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, ("batch_norms", *_CONTENTS.values()), _CONTENTS)
__all__ = sorted({*members("func"), *_CONTENTS})
