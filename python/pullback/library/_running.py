"""Arguments and results of custom operators, taken apart into tensors and put together.

What happens at which level, and what stands for a rule that is missing, is the core's (`src/function/operator.rs`): it
calls the methods of `Rules` with a `Call` and the tensors of the levels that they run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback as pb

from .._warnings import warn

_TENSOR = object()


class Tree:
    """Values with the tensors taken out, also those in lists."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.tensors: list[Any] = []
        self.shape = [self._take(v) for v in values]

    def _take(self, value: Any) -> Any:
        if isinstance(value, pb.Tensor):
            self.tensors.append(value)
            return _TENSOR
        if isinstance(value, (list, tuple)) and any(isinstance(v, pb.Tensor) for v in value):
            return [self._take(v) for v in value]
        return value

    @staticmethod
    def count(shape: Sequence[Any]) -> int:
        """How many tensors there are."""
        return sum(Tree.count(s) if isinstance(s, list) else s is _TENSOR for s in shape)

    def fill(self, tensors: Sequence[Any], other: Any = None, plain: bool = True) -> list[Any]:
        """The values with these tensors; what is no tensor stays if `plain`, and becomes `other` if not."""
        found = iter(tensors)

        def put(x: Any) -> Any:
            if x is _TENSOR:
                return next(found)
            if isinstance(x, list) and any(v is _TENSOR for v in x):
                return [put(v) for v in x]
            return x if plain else other

        return [put(x) for x in self.shape]


class Context:
    """The ctx of a Function, with `needs_input_grad` for the arguments of the operator."""

    __slots__ = ("_ctx", "_needs")

    def __init__(self, ctx: Any, needs: tuple[Any, ...]) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_needs", needs)

    @property
    def needs_input_grad(self) -> Any:
        return self._needs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


class Results:
    """The structure of the results of one run."""

    def __init__(self, output: Any) -> None:
        several = isinstance(output, (tuple, list))
        self.kind = type(output) if several else type(None)
        self.tree = Tree(tuple(output) if several else (output,))

    def take(self) -> list[Any]:
        """The tensors, which are no longer held."""
        tensors, self.tree.tensors = self.tree.tensors, []
        return tensors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self.tree.shape == other.tree.shape

    __hash__ = None  # type: ignore[assignment]

    def fill(self, tensors: Sequence[Any]) -> Any:
        values = self.tree.fill(tensors)
        return self.kind(values) if self.kind in (tuple, list) else values[0]

    def gradients(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments of a backward: one for each result, and one for a list of them."""
        values = self.tree.fill(tensors, plain=False)
        return [values] if self.kind is list else values


class Call:
    """One call of an operator: its values."""

    def __init__(self, op: Any, values: Sequence[Any]) -> None:
        self.op = op
        self.tree = Tree(values)

    # ------------------------------------------------------------ arguments and results
    def arguments(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        n = len(self.op._schema.positional)
        names = [p.name for p in self.op._schema.keywords]
        return tuple(values[:n]), dict(zip(names, values[n:], strict=True))

    def written(self, count: int) -> list[int]:
        """Which of the tensors the operator writes to."""
        if not self.op._schema.mutated:
            return []
        numbers = self.tree.fill(range(count), plain=False)
        places: list[int] = []
        for i in self.op._schema.mutated:
            n = numbers[i]
            places += [k for k in (n if isinstance(n, list) else [n]) if k is not None]
        return places

    # ------------------------------------------------------------ what the core calls
    def start(self) -> Any:
        tensors, self.tree.tensors = self.tree.tensors, []
        if not self.op._schema.mutated:
            return self.op._runner.call(self, tensors)
        written = [(tensors[k], tensors[k]._version) for k in self.written(len(tensors))]
        result = self.op._runner.call(self, tensors)
        # What a kernel writes through memory that it was shown is counted here.
        from ..autograd.graph import increment_version

        increment_version([t for t, version in written if t._version == version])
        return result

    def registered(self) -> dict[str, bool]:
        """Which rules there are."""
        op = self.op
        return {"backward": op._backward is not None, "vmap": op._vmap is not None, "fake": op._fake is not None}

    def loops(self, members: int) -> None:
        _warn_of_loop(self.op)
        self.op.loops += members

    def output(self, found: Sequence[Any]) -> Any:
        """The results, from what `Rules` returned."""
        return found[-1].fill(found[:-1])

    def evaluate(self, tensors: Sequence[Any]) -> Any:
        """What the kernel makes of arrays."""
        args, kwargs = self.arguments(self.tree.fill(tensors))
        return self.op._runner.run(self.op._kernel(), self.op._schema.check_output, args, kwargs, tensors)

    # ------------------------------------------------------------ derivatives
    def needs(self, mask: Sequence[bool]) -> tuple[Any, ...]:
        return tuple(self.tree.fill(mask, other=False, plain=False)[: len(self.op._schema.positional)])

    def gradients(self, found: Any) -> list[Any]:
        """Gradients of the tensors, from what the user's backward returned."""
        op, count = self.op, len(self.op._schema.positional)
        results = list(found) if isinstance(found, tuple) else [found]
        while len(results) > count and results[-1] is None:
            results.pop()
        if len(results) != count:
            raise RuntimeError(
                f"{op._qualname}: backward returned {len(results)} gradients for {count} positional arguments; return "
                "one for each, None for those that are no tensors"
            )
        grads: list[Any] = []
        for p, shape, g in zip(op._schema.positional, self.tree.shape, results, strict=False):
            if isinstance(shape, list) and any(s is _TENSOR for s in shape):
                given = [None] * len(shape) if g is None else g
                if not isinstance(given, (list, tuple)) or len(given) != len(shape):
                    raise RuntimeError(
                        f"{op._qualname}: backward must return a list of {len(shape)} gradients for argument '{p.name}'"
                    )
                grads += [v for v, s in zip(given, shape, strict=True) if s is _TENSOR]
            elif shape is _TENSOR:
                grads.append(g)
            elif g is not None and isinstance(g, pb.Tensor):
                raise RuntimeError(f"{op._qualname}: backward returned a gradient for '{p.name}', which is no tensor")
        # Arguments by name have no gradient.
        return grads + [None] * Tree.count(self.tree.shape[count:])


class Rules:
    """The methods of an operator on the tensors of one level, as those of an `autograd.Function`.

    What gives results gives them with the new values of the arguments that the operator writes to, and their structure.
    """

    @staticmethod
    def forward(call: Call, *tensors: Any) -> Any:
        results = Results(call.evaluate(list(tensors)))
        return (*results.take(), *(tensors[k] for k in call.written(len(tensors))), results)

    @staticmethod
    def fake(call: Call, *tensors: Any) -> Any:
        args, kwargs = call.arguments(call.tree.fill(tensors))
        results = Results(call.op._fake(*args, **kwargs))
        values = (*results.take(), *(tensors[k] for k in call.written(len(tensors))))
        return (*(pb.empty(y.shape, dtype=y.dtype, device="meta") for y in values), results)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, tensors = inputs[0], inputs[1:]
        ctx._operator_call, ctx._operator_results = call, output[-1]
        op = call.op
        if op._setup_context is None or op._backward is None:
            return
        args, kwargs = call.arguments(call.tree.fill(tensors))
        more = {"keyword_only_inputs": kwargs} if op._schema.keywords else {}
        proxy = Context(ctx, call.needs(ctx.needs_input_grad[1:]))
        op._setup_context(ctx=proxy, inputs=args, output=call.output(output), **more)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call, mask = ctx._operator_call, ctx.needs_input_grad[1:]
        values = ctx._operator_results.gradients(grads[:-1])
        found = call.gradients(call.op._backward(Context(ctx, call.needs(mask)), *values))
        return (None, *(g if need else None for g, need in zip(found, mask, strict=True)))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], call: Call, *tensors: Any) -> Any:
        """The rule of `register_vmap`."""
        op, in_dims, places = call.op, in_dims[1:], call.written(len(tensors))
        args, kwargs = call.arguments(call.tree.fill(tensors))
        dims = tuple(call.tree.fill(in_dims, plain=False)[: len(args)])
        found = op._vmap(info, dims, *args, **kwargs)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(
                f"{op._qualname}: the function of register_vmap() must return (output, out_dims), a tuple of length 2, "
                f"got {type(found).__name__}"
            )
        output, out_dims = found
        op._schema.check_output(output)
        results = Results(output)
        flat = _spread(op, out_dims, results.tree.shape)
        return (*results.take(), *(tensors[k] for k in places), results), (*flat, *(in_dims[k] for k in places), None)


def _spread(op: Any, out_dims: Any, shape: Sequence[Any]) -> list[Any]:
    """Where the batch of each tensor of the results is."""
    several = isinstance(out_dims, (tuple, list))
    if several and len(out_dims) != len(shape):
        raise RuntimeError(
            f"{op._qualname}: the function of register_vmap() returned {len(out_dims)} out_dims for {len(shape)} "
            "results"
        )
    flat: list[Any] = []
    for d, part in zip(list(out_dims) if several else [out_dims] * len(shape), shape, strict=True):
        if isinstance(part, list):
            flat += d if isinstance(d, (tuple, list)) else [d] * sum(s is _TENSOR for s in part)
        elif part is _TENSOR:
            flat.append(d)
    return flat


def _warn_of_loop(op: Any) -> None:
    if op._warned:
        return
    op._warned = True
    warn(
        f"vmap: {op._qualname} has no batching rule, so the members of the batch are computed one by one; write one "
        "with register_vmap"
    )
