"""Parameters of which some elements are kept at zero.

A pruned parameter `weight` becomes `weight_orig`, a buffer `weight_mask` says what is kept, and a hook before each
forward
sets `weight` to their product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ... import Tensor, cat, linalg, no_grad, ones_like, rand, rand_like
from ..parameter import Parameter
from ._pruning_amounts import amount_to_prune, check_amount, check_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A way of pruning: subclasses define `compute_mask`, and say by `PRUNING_TYPE` what they prune.

    "unstructured" methods prune elements, "structured" ones slices, "global" ones elements of all that there is.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of what is kept of `t`, of which `default_mask` is kept so far."""

    def apply_mask(self, module: Any) -> Tensor:
        """The parameter times its mask. Raises AssertionError before the module was pruned."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask: Tensor = getattr(module, name + "_mask")
        original: Tensor = getattr(module, name + "_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter of a module, behind what was pruned before.

        Raises TypeError if it is no parameter, and AssertionError for scores of another shape.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        old = _hook_of(module, name)
        if old is not None:
            number, before = old
            del module._forward_pre_hooks[number]
            container = PruningContainer(before) if not isinstance(before, PruningContainer) else before
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name + "_orig") if old is not None else getattr(module, name)
        if not isinstance(original, Parameter):
            raise TypeError(
                f"cannot prune '{name}' of {type(module).__name__}: expected a Parameter, got {type(original).__name__}"
            )
        # What is pruned already counts as zero.
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        default = getattr(module, name + "_mask") if old is not None else ones_like(original.detach())
        mask = method.compute_mask(scores.detach(), default)
        if old is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` with what this method prunes set to zero."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default)

    def remove(self, module: Any) -> None:
        """Makes the pruned parameter a parameter again, with its zeros."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hook_of(module: Any, name: str) -> tuple[int, Any] | None:
    found = [
        (number, hook)
        for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}")
    return found[0] if found else None


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, each on what those before it have kept."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods = list(args[0]) if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else list(args)
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds a method at the end. Raises TypeError for what is none, and ValueError for one of another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, i: int) -> BasePruningMethod:
        return self._pruning_methods[i]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What the last method keeps of what is left: elements, whole slices, or anything."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            left: Any = mask == 1
        elif kind == "structured":
            dim = method.dim % t.dim()  # type: ignore[attr-defined]
            others = [d for d in range(t.dim()) if d != dim]
            alive = mask.sum(others) != 0 if others else mask != 0
            left = tuple(alive if d == dim else slice(None) for d in range(t.dim()))
        elif kind == "global":
            left = tuple(slice(None) for _ in range(t.dim()))
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        new = mask.clone()
        new[left] = method.compute_mask(t[left], default_mask=mask[left]).to(new.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Amount(BasePruningMethod):
    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Prunes elements drawn at random: `amount` of them, or this fraction."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = amount_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            # Those that draw the largest numbers.
            mask.view(-1)[rand_like(t.reshape(-1)).topk(count).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prunes the elements of least magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = amount_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[t.abs().reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class RandomStructured(_Amount):
    """Prunes slices along `dim`, drawn at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_structured(t, self.dim)
        count = amount_to_prune(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        # Those that draw the smallest numbers.
        return _without(t, default_mask, self.dim, rand(t.shape[self.dim]).topk(count, largest=False).indices)


class LnStructured(_Amount):
    """Prunes the slices along `dim` of least n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_structured(t, self.dim)
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = linalg.vector_norm(t, _order(self.n), dim=others)
        count = amount_to_prune(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        return _without(t, default_mask, self.dim, norms.topk(count, largest=False).indices)


def _order(n: Any) -> float:
    return 2.0 if n == "fro" else float(n)


def _check_structured(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    check_dim(t, dim)


def _without(t: Tensor, default_mask: Tensor, dim: int, places: Tensor) -> Tensor:
    mask = ones_like(t)
    mask.index_fill_(dim, places, 0)
    return mask * default_mask.to(mask.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask leaves out."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask has shape {list(self.mask.shape)}, the parameter {list(default_mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Prunes nothing of a parameter, and makes it what a pruned one is."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prunes elements of a parameter drawn at random: `amount` of them, or this fraction.

    >>> import pullback
    >>> from pullback.nn.utils import prune
    >>> m = prune.random_unstructured(pullback.nn.Linear(4, 2), "weight", amount=3)
    >>> int((m.weight_mask == 0).sum())
    3
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
    """Prunes the elements of a parameter of least magnitude, or of least score.

    >>> import pullback
    >>> from pullback.nn.utils import prune
    >>> m = prune.l1_unstructured(pullback.nn.Linear(4, 2), "weight", amount=0.5)
    >>> sorted(m.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prunes slices of a parameter along `dim`, drawn at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prunes the slices of a parameter along `dim` of least n-norm."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes what `mask` leaves out of a parameter."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prunes elements of several parameters as if they were one; `parameters` are pairs of a module and a name.

    Raises TypeError for what is no list of pairs, or a method that does not prune elements.
    """
    if not isinstance(parameters, (list, tuple)):
        parameters = list(parameters)
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    scores = importance_scores or {}
    found = [scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in parameters]
    masks = [getattr(m, n + "_mask", ones_like(getattr(m, n).detach())).reshape(-1) for m, n in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    with no_grad():
        mask = container.compute_mask(cat(found), cat(masks))
    at = 0
    for module, name in parameters:
        param = getattr(module, name)
        custom_from_mask(module, name, mask=mask[at : at + param.numel()].view_as(param))
        at += param.numel()


def remove(module: Any, name: str) -> Any:
    """Makes a pruned parameter a parameter again, with its zeros. Raises ValueError if it is not pruned."""
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    number, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Any) -> bool:
    """Whether the module, or one below it, has a pruned parameter."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
