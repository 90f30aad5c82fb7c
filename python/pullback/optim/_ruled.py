"""Optimisers that follow a rule: the kernel for plain tensors, the formula where a derivative or a transform
follows.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .. import Tensor, _core, float32, float64, get_default_dtype, is_complex, set_grad_enabled, tensor
from ._rules import Rule
from .optimizer import Closure, Group, Optimizer, ParamsT

_kernels: Any = _core.optim


class Ruled(Optimizer):
    """An optimiser whose class names its rule."""

    rule: ClassVar[Rule]
    #: Options that groups of saved optimisers may lack, and what they mean then.
    _later: ClassVar[dict[str, Any]] = {"maximize": False, "foreach": None, "differentiable": False}

    def __init__(self, params: ParamsT, options: Group) -> None:
        self.rule.check(options)
        if options.get("fused"):
            if options.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`; leave one of them out")
            if options.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._later.items():
                group.setdefault(name, value)
            for p in group["params"]:
                entry = self.state.get(p)
                for name in self.rule.scalars(group) if entry else ():
                    # Programs before PyTorch 1.12 kept numbers.
                    if entry and name in entry and not isinstance(entry[name], Tensor):
                        entry[name] = _number(float(entry[name]))

    def step(self, closure: Closure | None = None) -> Any:
        """One step along the gradients; parameters without one stay. `closure`, if given, computes the loss and the
        gradients first; its result is returned.
        """
        loss = self._evaluated(closure)
        for group in self.param_groups:
            self._update(group)
        return loss

    def _update(self, group: Group) -> None:
        state, params, grads, entries = self.state, [], [], []
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            entry = state[p]
            if not entry:
                self._begin(group, p, entry)
            params.append(p)
            grads.append(grad)
            entries.append(entry)
        self._advance(group, params, grads, entries)

    def _begin(self, group: Group, p: Tensor, entry: dict[str, Any]) -> None:
        """What is kept of a parameter, before its first step."""
        rule = self.rule
        with set_grad_enabled(False):
            for name, value in rule.scalars(group).items():
                entry[name] = _number(value, bool(group.get("fused")))
            for name in rule.states(group):
                entry[name] = rule.first(group, p, name)

    def _advance(self, group: Group, params: list[Any], grads: list[Any], entries: list[Any]) -> None:
        done = 0
        if not group.get("differentiable"):
            done = by_kernel(self.rule, group, params, grads, entries)
        if done < len(params):
            with set_grad_enabled(bool(group.get("differentiable"))):
                for p, g, entry in zip(params[done:], grads[done:], entries[done:], strict=True):
                    self._by_formula(group, p, g, entry)

    def _by_formula(self, group: Group, p: Tensor, g: Tensor, entry: dict[str, Any]) -> None:
        if group.get("differentiable") and p.is_leaf and p.requires_grad:
            raise RuntimeError(
                f"{type(self).__name__}(differentiable=True): the step is recorded, so that a parameter cannot be a "
                f"leaf "
                "that requires grad, whose gradient belongs to the value that it has; give the optimizer clones of the "
                "parameters, or use pullback.optim.functional"
            )
        by_formula(self.rule, group, p, g, entry)


def by_kernel(rule: Rule, options: Any, params: list[Any], grads: list[Any], entries: list[Any]) -> int:
    """Steps parameters by the rule's kernel, and says how many: it stops at the first that is not plain."""
    if not rule.has_kernel:
        return 0
    done: int = _kernels._step(rule.name, options, params, grads, entries, rule.states(options))
    return done


def by_formula(rule: Rule, options: Any, p: Tensor, g: Tensor, entry: dict[str, Any]) -> None:
    """Steps one parameter by the rule's formula."""
    scalars = rule.scalars(options)
    state = {name: entry[name] for name in rule.states(options)}
    state.update((name, _known(entry[name])) for name in scalars)
    new, kept = rule.apply(options, p, g, state)
    p.copy_(new)
    for name, value in kept.items():
        if name in scalars and not isinstance(value, Tensor):
            with set_grad_enabled(False):
                entry[name].fill_(value)
        else:
            entry[name].copy_(value)


def _number(value: float, single: bool = False) -> Tensor:
    """A number that is kept in a tensor, as in PyTorch."""
    return tensor(value, dtype=float64 if get_default_dtype() is float64 and not single else float32)


def _known(x: Any) -> Any:
    """The number in a tensor, or the tensor if a transform follows it."""
    try:
        return x.item()
    except RuntimeError:
        return x


def full_like_parameter(p: Tensor, value: Any) -> Tensor:
    """A tensor of the parameter's kind with this number everywhere, in both parts of complex ones."""
    from .. import full_like

    return full_like(p, complex(value, value) if is_complex(p) else float(value))
