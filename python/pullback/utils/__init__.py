"""Utilities: pytrees, checkpointing, handles of hooks, exchange of tensors."""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import _pytree as _pytree
    from . import checkpoint as checkpoint
    from . import collect_env as collect_env
    from . import data as data
    from . import dlpack as dlpack
    from . import einops as einops
    from . import hooks as hooks
    from . import model_zoo as model_zoo
    from . import pytree as pytree
    from . import safetensors as safetensors

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        (
            "checkpoint",
            "collect_env",
            "data",
            "dlpack",
            "einops",
            "hooks",
            "model_zoo",
            "pytree",
            "safetensors",
            "_pytree",
        ),
    )
__all__ = ["checkpoint", "data", "hooks", "pytree", "safetensors", "swap_tensors"]


def swap_tensors(t1: "Any", t2: "Any") -> None:
    """Exchanges two tensors of any shapes and dtypes: who refers to one object finds all of the other from then on, its
    elements, views, history, gradient, class and attributes.

    A graph follows the values: gradients of what `t1` was arrive at `t2`. Weak references stay with the objects.

    >>> import pullback
    >>> a, b = pullback.ones(2), pullback.zeros(1)
    >>> pullback.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0.]), tensor([1., 1.]))

    Raises:
        TypeError: if an argument is no tensor, or the classes differ in what instances hold.
        RuntimeError: if one of the tensors was made in inference mode.
    """
    from .. import _C, Tensor

    for name, t in (("t1", t1), ("t2", t2)):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors(): argument '{name}' must be Tensor, got {type(t).__name__}")
    if t1 is t2:
        return
    ours, theirs = type(t1), type(t2)
    slots = [{n for c in type(t).__mro__ for n in c.__dict__.get("__slots__", ())} for t in (t1, t2)]
    if slots[0] != slots[1]:
        raise TypeError(f"swap_tensors(): cannot swap {ours.__name__} and {theirs.__name__}: their slots differ")
    attributes = [{n: getattr(t, n) for n in slots[0] if hasattr(t, n)} for t in (t1, t2)]
    dicts = [dict(getattr(t, "__dict__", {})) for t in (t1, t2)]
    if ours is not theirs:
        t1.__class__, t2.__class__ = theirs, ours
    # What the objects are is exchanged, whatever their classes make of calls.
    with _C.DisableTorchFunctionSubclass():
        t1._swap(t2)
    for t, values, dictionary in ((t1, attributes[1], dicts[1]), (t2, attributes[0], dicts[0])):
        for name in slots[0]:
            if name in values:
                setattr(t, name, values[name])
            elif hasattr(t, name):
                delattr(t, name)
        if hasattr(t, "__dict__"):
            t.__dict__.clear()
            t.__dict__.update(dictionary)
