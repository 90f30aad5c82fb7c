"""Weights by length and direction, with hooks. `parametrizations.weight_norm` is the newer way."""

from __future__ import annotations

from ... import Tensor
from ..._warnings import warn
from ..parameter import Parameter, is_lazy
from ._norms import norm_except_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes the weight before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """g * v / |v|"""
        g: Tensor = getattr(module, self.name + "_g")
        v: Tensor = getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Takes the weight of a module apart, and registers the hook.

        Raises RuntimeError if that was done before, and ValueError for a lazy module.
        """
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward "
                "before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, made.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Any) -> None:
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight g * v / |v|: the parameters are `weight_g`, one length for each index of `dim`, and `weight_v`.

    >>> import pullback
    >>> m = pullback.nn.utils.weight_norm(pullback.nn.Linear(4, 3))
    >>> m.weight_g.shape, m.weight_v.shape
    (pullback.Size([3, 1]), pullback.Size([3, 4]))
    """
    warn("`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.", FutureWarning)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a parameter again. Raises ValueError if it is not normalized."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
