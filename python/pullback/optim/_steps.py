"""Steps of parameters and states that are given as lists, under PyTorch's names: `torch.optim.adam.adam` and others."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from .. import Tensor, set_grad_enabled
from ._ruled import by_formula, by_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._rules import Rule

# Arguments that say how the step is computed, which changes nothing here but for `differentiable`.
_HOW = {
    **{"foreach": None, "capturable": False, "differentiable": False, "fused": None, "has_complex": False},
    **{"grad_scale": None, "found_inf": None, "has_sparse_grad": False},
}
# Options that a rule has as one pair.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def step_function(
    rule: Rule, lists: dict[str, str], accepted: str, options: str, *, grads: str = "grads", name: str = ""
) -> Callable[..., None]:
    """A function that steps parameters in place: of lists of parameters, gradients and states, in the order of
    PyTorch's, behind them what is `accepted`, and then `options` by name.

    `lists` has what the rule calls the tensors of each list. A list of states that the options do not ask for may be
    empty.
    """
    place, named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    defaults = {**_HOW, "maximize": False, "decoupled_weight_decay": False}
    parameters = [Parameter(name, place) for name in ("params", grads, *lists)]
    parameters += [Parameter(name, place, default=defaults[name]) for name in accepted.split()]
    parameters += [Parameter(name, named) for name in options.split()]
    signature = Signature(parameters)

    def step(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        arguments = given.arguments
        chosen = {**rule.options, "differentiable": False, **_paired(arguments)}
        _run(rule, chosen, arguments["params"], arguments[grads], {key: arguments[name] for name, key in lists.items()})

    step.__name__ = step.__qualname__ = name or rule.name
    step.__signature__ = signature  # type: ignore[attr-defined]
    step.__doc__ = (
        f"A step of the optimiser of this module: parameters and states, in lists of one length, change in place. "
        f"`{grads}` has the gradients; the other arguments are those of the class."
    )
    return step


def _paired(arguments: dict[str, Any]) -> dict[str, Any]:
    out = dict(arguments)
    for name, (first, second) in _PAIRS.items():
        if first in out:
            out[name] = out.pop(first), out.pop(second)
    return out


def _run(rule: Rule, options: dict[str, Any], params: Any, grads: Any, lists: dict[str, Any]) -> None:
    skip = options.get("found_inf")
    if isinstance(skip, Tensor) and skip.item() != 0:
        return
    scale = options.get("grad_scale")
    grads = list(grads) if scale is None else [g / scale for g in grads]
    needed = (*rule.scalars(options), *rule.states(options))
    for name in needed:
        if name in lists and len(lists[name]) != len(params):
            raise ValueError(
                f"{rule.name}(): the list of {name!r} has {len(lists[name])} tensors for {len(params)} parameters"
            )
    entries = [{name: lists[name][i] for name in needed if name in lists} for i in range(len(params))]
    done = 0 if options["differentiable"] else by_kernel(rule, options, list(params), grads, entries)
    with set_grad_enabled(bool(options["differentiable"])):
        for p, g, entry in zip(params[done:], grads[done:], entries[done:], strict=True):
            by_formula(rule, options, p, g, entry)
