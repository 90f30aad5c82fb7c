"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from .. import Tensor, stack
from .._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol, TypeVar

    from ..nn import Module

    _R = TypeVar("_R")
    _Result = TypeVar("_Result", covariant=True)

    class _ModuleOf(Protocol[_Result]):
        """A module whose `forward` gives this."""

        _buffers: dict[str, Any]

        @property
        def forward(self) -> Callable[..., _Result]: ...


__all__ = ["functional_call", "stack_module_state"]

# A place of a tensor: the dict of parameters or buffers that holds it, and its name there.
Place = tuple[dict, str]  # type: ignore[type-arg]
_NOTHING = object()


def functional_call(
    module: _ModuleOf[_R],
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> _R:
    """Calls a module with these tensors in the place of its parameters and buffers; returns what `forward` returns.

    Args:
        module: the module; it has its own tensors again when the call ends.
        parameter_and_buffer_dicts: tensors by dotted name, in one dict or several that share no name. Those that a
        forward
            puts in the place of what was given, as `self.count = self.count + 1` does, are found in the dict
            afterwards.
        args: the argument, or a tuple of arguments.
        kwargs: arguments by name.
        tie_weights: whether one parameter under several names is replaced everywhere.
        strict: whether all parameters and buffers must be given, and nothing else.

    >>> import pullback
    >>> from pullback.func import functional_call, grad
    >>> m = pullback.nn.Linear(2, 1, bias=False)
    >>> w = {"weight": pullback.tensor([[1.0, 2.0]])}
    >>> functional_call(m, w, pullback.ones(2))
    tensor([3.])
    >>> grad(lambda w: functional_call(m, w, pullback.ones(2)).sum())(w)
    {'weight': tensor([[1., 1.]])}

    Raises:
        TypeError: if the module is none, or a value is no tensor.
        ValueError: if the dicts are none, for a name in several dicts, or tied names with different tensors.
        RuntimeError: for a tensor of another shape, and with `strict` for names that are missing or not known.
    """
    from ..nn.modules.module import Module

    if not isinstance(module, Module):
        raise TypeError(f"functional_call(): argument 'module' must be a Module, got {type(module).__name__}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with Replaced(module, _one_dict(parameter_and_buffer_dicts), tie_weights=tie_weights, strict=strict):
        result: _R = module(*args, **(kwargs or {}))
        return result


class Replaced:
    """A context in which a module has other tensors."""

    def __init__(self, module: Any, given: Any, *, tie_weights: bool = False, strict: bool = False) -> None:
        self.given, self.places = given, _places(module, given, tie_weights, strict)
        self.undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for name, held in self.places.items():
            for registry, leaf in held:
                self.undo.append((registry, leaf, registry.get(leaf, _NOTHING)))
                registry[leaf] = self.given[name]

    def __exit__(self, *error: object) -> None:
        _write_back(self.given, self.places)
        for registry, leaf, tensor in reversed(self.undo):
            if tensor is not _NOTHING:
                registry[leaf] = tensor
            elif leaf in registry:
                del registry[leaf]


def _one_dict(dicts: Any) -> Any:
    if isinstance(dicts, dict):
        return dicts
    if hasattr(dicts, "keys"):
        return dict(dicts)
    if not isinstance(dicts, (list, tuple)):
        raise ValueError(
            "functional_call(): Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts).__name__}"
        )
    for d in dicts:
        if not isinstance(d, dict):
            raise ValueError(
                "functional_call(): Expected all elements of parameter_and_buffer_dicts to be dictionaries, but one is "
                f"{type(d).__name__}"
            )
    merged: dict[str, Any] = {}
    repeated: list[str] = []
    for d in dicts:
        repeated += [name for name in d if name in merged]
        merged.update(d)
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return merged


def _write_back(given: Any, places: dict[str, list[Place]]) -> None:
    for name, held in places.items():
        registry, leaf = held[0]
        now = registry.get(leaf)
        if now is not given[name] and now is not None:
            given[name] = now


def _places(module: Any, given: Any, tie_weights: bool, strict: bool) -> dict[str, list[Place]]:
    """Where each tensor goes. Names that the module does not have are told of, or with `strict` an error."""
    places: dict[str, list[Place]] = {}
    known: dict[str, Place] = {}
    _collect(module, "", known, [])
    unknown = []
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor) and tensor is not None:
            raise TypeError(f"functional_call(): {name}: {tensor} is not an instance of torch.Tensor")
        place = known.get(name)
        if place is not None:
            own: Any = place[0][place[1]]
        else:
            place, own = _find(module, name, tensor, strict)
        if own is None:
            unknown.append(name)
        # Its own may have no shape yet: the call of a lazy module gives it one.
        elif tensor is not None and tensor is not own and own.shape != tensor.shape:
            _refuse_shape(name, own, tensor)
        places[name] = [place]
    if tie_weights:
        _tie(known, given, places)
    if strict or unknown:
        missing = _missing(known, given, tie_weights) if strict else []
        _tell_of(unknown, missing, known, strict)
    return places


def _collect(module: Any, prefix: str, known: dict[str, Place], above: list[Any]) -> None:
    """All parameters and buffers by dotted name."""
    for registry in (module._parameters, module._buffers):
        for leaf, tensor in registry.items():
            if tensor is not None:
                known[prefix + leaf] = (registry, leaf)
    children = module.__dict__["_modules"]
    if not children:
        return
    above.append(module)
    for name, child in children.items():
        if child is not None and child not in above:
            _collect(child, f"{prefix}{name}.", known, above)
    above.pop()


def _find(module: Any, name: str, tensor: Any, strict: bool) -> tuple[Place, Tensor | None]:
    """Where a name leads that is no parameter or buffer: an attribute that is a tensor, or a new one."""
    path, _, leaf = name.rpartition(".")
    try:
        found = module.get_submodule(path)
    except AttributeError:
        if strict:  # which tells of all names
            return ({}, leaf), None
        raise
    own = found.__dict__
    if own.get(leaf) is not None:
        if not isinstance(own[leaf], Tensor):
            raise TypeError(f"functional_call(): attribute `{leaf}`: {own[leaf]} is not an instance of torch.Tensor")
        return (own, leaf), own[leaf]
    from ..nn.parameter import Parameter

    return (found._parameters if isinstance(tensor, Parameter) else own, leaf), None


def _refuse_shape(name: str, own: Tensor, tensor: Tensor) -> None:
    raise RuntimeError(
        f"functional_call(): {name} has shape {list(own.shape)} in the module, and the tensor given for it has shape "
        f"{list(tensor.shape)}. Under vmap, map over the leading dimension of what stack_module_state() gave"
    )


def _missing(known: dict[str, Place], given: Any, tie_weights: bool) -> list[str]:
    """Names that are not given, nor tied to one that is."""
    tied = {id(known[name][0][known[name][1]]) for name in given if name in known} if tie_weights else set()
    return [name for name, (r, leaf) in known.items() if name not in given and id(r[leaf]) not in tied]


def _tell_of(unknown: list[str], missing: list[str], known: Iterable[str], strict: bool) -> None:
    if strict and (unknown or missing):
        parts = []
        if unknown:
            parts.append("Unexpected key(s): " + ", ".join(_quoted(unknown, known)) + ".")
        if missing:
            parts.append("Missing key(s): " + ", ".join(f"'{name}'" for name in missing) + ".")
        raise RuntimeError("Error(s) in functional_call: " + " ".join(parts))
    if unknown:
        warn(
            f"functional_call(): the module has no parameter or buffer {', '.join(_quoted(unknown, known))}; it is an "
            "attribute during the call"
        )


def _quoted(names: list[str], known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    out = []
    for name in names:
        close = get_close_matches(name, list(known), 1, 0.5)
        out.append(f"'{name}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
    return out


def _tie(known: dict[str, Place], given: Any, places: dict[str, list[Place]]) -> None:
    """Adds the other places of tensors that the module has in several."""
    groups: dict[int, list[str]] = {}
    for name, (registry, leaf) in known.items():
        groups.setdefault(id(registry[leaf]), []).append(name)
    if len(groups) == len(known):
        return
    for group in groups.values():
        named = [name for name in group if name in places]
        if len(group) == 1 or not named:
            continue
        first = named[0]
        if any(given[name] is not given[first] for name in named):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(named)}, which are tied. Consider using "
                "tie_weights=False"
            )
        places[first] += [known[name] for name in group if name not in named]


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of modules of one kind, stacked along a new first dimension, as `vmap` maps over them.

    The stacked parameters are leaves that require gradients as those of the modules do.

    >>> import pullback
    >>> from pullback.func import functional_call, stack_module_state, vmap
    >>> models = [pullback.nn.Linear(2, 3) for _ in range(5)]
    >>> params, buffers = stack_module_state(models)
    >>> vmap(lambda p, b: functional_call(models[0], (p, b), pullback.ones(2)))(params, buffers).shape
    pullback.Size([5, 3])

    Raises RuntimeError for no modules, modules of different classes, or some in training and others not.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) != 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = _stacked([dict(m.named_parameters()) for m in models], "parameters")
    buffers = _stacked([dict(m.named_buffers()) for m in models], "buffers")
    return params, buffers


def _stacked(states: list[dict[str, Any]], what: str) -> dict[str, Any]:
    names = states[0].keys()
    for i, state in enumerate(states):
        if state.keys() != names:
            raise RuntimeError(f"stack_module_state: model {i} has other {what} than model 0")
    out = {}
    for name in names:
        tensors = [state[name] for state in states]
        requires = {t.requires_grad for t in tensors}
        if len(requires) != 1:
            raise RuntimeError(
                f"stack_module_state: Expected {what} from different models to have the same .requires_grad, and "
                f"{name} has both"
            )
        if any(t.shape != tensors[0].shape for t in tensors):
            raise RuntimeError(
                f"stack_module_state: {name} has different shapes: {sorted({tuple(t.shape) for t in tensors})}"
            )
        joined = stack([t.detach() for t in tensors])
        out[name] = joined.requires_grad_(requires.pop())
    return out
