"""Hooks on the gradients of a module's inputs and outputs."""

from __future__ import annotations

from ... import Tensor, _core, is_grad_enabled
from ..._warnings import warn
from ...autograd.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_is_plain: Any = _core.autograd._is_plain


class BackwardHookFunction(Function):
    """The identity, whose backward hands the gradients to `run` and passes on what it gives."""

    @staticmethod
    def forward(ctx: Any, run: Any, materialize: bool, constant: tuple[int, ...], *tensors: Tensor) -> Any:
        ctx.run = run
        ctx.set_materialize_grads(materialize)
        out = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(*(out[i] for i in constant))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        out = ctx.run(grads)
        return None, None, None, *(grads if out is None else out)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tuple(None if t is None else t.view_as(t) for t in tangents[3:])


class BackwardHook:
    """One call of a module whose backward hooks are to run.

    The tensors among its arguments and among its results pass an identity each. The backward of the one behind the
    results
    runs the pre-hooks, and keeps the gradients for that of the one before the arguments, which runs the hooks.
    """

    def __init__(self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.count = 0
        self.places: list[int] | None = None
        self.out_count = 0
        self.out_places: list[int] = []

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the forward, behind an identity."""
        self.count = len(args)
        out, self.places = self._through(args, self._run_hooks, True)
        return out

    def setup_output_hook(self, result: Any) -> Any:
        """The result of the forward, behind an identity."""
        single = not isinstance(result, tuple)
        results = (result,) if single else result
        self.out_count = len(results)
        out, places = self._through(results, self._run_pre_hooks, False)
        self.out_places = places or []
        if single:
            return out[0]
        make = getattr(type(result), "_make", None)
        return type(result)(out) if make is None else make(out)

    def _through(
        self, args: Sequence[Any], run: Callable[..., Any], materialize: bool
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not places or not is_grad_enabled() or not any(args[i].requires_grad for i in places):
            return tuple(args), None
        constant = tuple(n for n, i in enumerate(places) if not args[i].requires_grad)
        passed = BackwardHookFunction.apply(run, materialize, constant, *(args[i] for i in places))
        out = list(args)
        for i, t in zip(places, passed, strict=True):
            front = args[i].detach()
            if _is_plain(front):
                # The memory is that of the tensor in front, as of a view: programs tell by `data_ptr` which it was.
                t.data = front
            out[i] = t
        return tuple(out), places

    def _run_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # no gradient has reached the results
            return None
        places = self.places or []
        grad_input = _spread(places, grads, self.count)
        for hook in self.hooks:
            out = hook(self.module, grad_input, self.grad_outputs)
            if out is not None:
                grad_input = _checked("hook", "grad_input", out, grad_input)
        self.grad_outputs = None
        return tuple(grad_input[i] for i in places)

    def _run_pre_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
        grad_outputs = _spread(self.out_places, grads, self.out_count)
        changed = False
        for hook in self.pre_hooks:
            out = hook(self.module, grad_outputs)
            if out is None:
                continue
            grad_outputs, changed = _checked("pre hook", "grad_output", out, grad_outputs), True
        self.grad_outputs = grad_outputs
        if self.places is None:
            self._run_without_inputs(grad_outputs)
        return tuple(grad_outputs[i] for i in self.out_places) if changed else None

    def _run_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        if self.hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs "
                "require gradients"
            )
        for hook in self.hooks:
            out = hook(self.module, (None,) * self.count, grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None


def _spread(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    out = [None] * count
    for i, value in zip(places, values, strict=True):
        out[i] = value
    return tuple(out)


def _checked(kind: str, what: str, given: Any, expected: Any) -> Any:
    """What a hook gave in the place of gradients: one for each; a tensor stands for the only one."""
    if isinstance(given, Tensor):
        given = (given,)
    elif not isinstance(given, (tuple, list)):
        raise TypeError(
            f"Backward {kind} should return None, or a tuple of {what} with a tensor or None for each of the "
            f"{len(expected)}, but got {type(given).__name__}"
        )
    if len(given) != len(expected):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {what}, got {len(given)}, but expected {len(expected)}"
        )
    return given


def register_on_result(module: Any, hooks: Sequence[Any], args: Any, result: Any) -> None:
    """Hooks of the old kind: they hang on the node of the first tensor of the result."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_inputs, grad_outputs, hook=hook: hook(module, grad_inputs, grad_outputs))
    module._maybe_warn_non_full_backward_hook(args, result, node)


def warn_of_old_kind(args: Any, result: Any, node: Any) -> None:
    """Says where hooks of the old kind show other gradients than those of the module's inputs and outputs."""
    if not isinstance(result, Tensor) and not (
        isinstance(result, tuple) and all(isinstance(r, Tensor) for r in result)
    ):
        warn(
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_output",
            FutureWarning,
        )
        return
    if not isinstance(args, tuple) or not all(isinstance(a, Tensor) for a in args):
        warn(
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_input",
            FutureWarning,
        )
        return
    results = (result,) if isinstance(result, Tensor) else result
    nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if len(nodes) > 1 or (nodes and nodes != {node}):
        what = "outputs are generated by different autograd Nodes"
        lost = "This hook will be missing some grad_output"
    else:
        from ...autograd.graph import get_gradient_edge

        own = {get_gradient_edge(a).node for a in args if a.requires_grad}
        inputs = {n[0] for n in node.next_functions}
        if inputs == own:
            return
        what = "forward contains multiple autograd Nodes"
        lost = "This hook will be missing some grad_input"
    warn(
        f"Using a non-full backward hook when {what} is deprecated and will be removed in future versions. {lost}. "
        "Please "
        "use register_full_backward_hook to get the documented behavior",
        FutureWarning,
    )
