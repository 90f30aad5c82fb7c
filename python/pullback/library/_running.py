"""How custom operators run: as `autograd.Function`s of the tensors among their arguments."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pullback as pb
from pullback import _core
from pullback.autograd.function import Function

_PACKAGE = str(Path(pb.__file__).parent)
_TENSOR = object()


def user_stacklevel() -> int:
    """The `stacklevel` of the innermost line outside of this package, for a warning by the caller."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
        level += 1
    return level


def place(x: Any) -> object:
    """Where the first element lies in memory; nowhere if there is none."""
    return x.data_ptr() if x.numel() else object()


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


class Call:
    """One call of an operator: its values, and the structure of its results."""

    def __init__(self, op: Any, values: Sequence[Any]) -> None:
        self.op = op
        self.tree = Tree(values)
        self.out: Tree | None = None
        self.kind: type = tuple

    def like(self) -> Call:
        """A call with the same values."""
        made = object.__new__(Call)
        made.op, made.tree, made.out, made.kind = self.op, self.tree, None, tuple
        return made

    # ------------------------------------------------------------ arguments and results
    def arguments(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        n = len(self.op._schema.positional)
        names = [p.name for p in self.op._schema.keywords]
        return tuple(values[:n]), dict(zip(names, values[n:], strict=True))

    def written(self, tensors: Sequence[Any]) -> list[int]:
        """Which of the tensors the operator writes to."""
        if not self.op._schema.mutated:
            return []
        numbers = self.tree.fill(range(len(tensors)), plain=False)
        places: list[int] = []
        for i in self.op._schema.mutated:
            n = numbers[i]
            places += [k for k in (n if isinstance(n, list) else [n]) if k is not None]
        return places

    def note(self, output: Any) -> list[Any]:
        """The tensors of the results."""
        several = isinstance(output, (tuple, list))
        self.kind = type(output) if several else type(None)
        self.out = Tree(tuple(output) if several else (output,))
        return self.out.tensors

    def output(self, tensors: Sequence[Any]) -> Any:
        assert self.out is not None
        values = self.out.fill(tensors)
        return self.kind(values) if self.kind in (tuple, list) else values[0]

    # ------------------------------------------------------------ running
    def start(self) -> Any:
        tensors, self.tree.tensors = self.tree.tensors, []
        if _core.autograd._is_plain(*tensors):
            return self.evaluate(tensors)
        places = self.written(tensors)
        results = self.op._function.apply(self, *tensors)
        count = len(results) - len(places)
        for k, new in zip(places, results[count:], strict=True):
            tensors[k].copy_(new)
        return self.output(results[:count])

    def evaluate(self, tensors: Sequence[Any]) -> Any:
        """What the kernel makes of arrays."""
        args, kwargs = self.arguments(self.tree.fill(tensors))
        output = self.op._kernel_runner.run(self.op._kernel(), args, kwargs)
        self.op._schema.check_output(output)
        self._check_aliases(tensors, self.note(output))
        return output

    def run(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The results on arrays, and behind them what became of the arguments that are written to."""
        given, places = list(tensors), self.written(tensors)
        for k in places:
            given[k] = given[k].clone()
        self.evaluate(given)
        assert self.out is not None
        results, self.out.tensors = self.out.tensors, []
        return (*results, *(given[k] for k in places))

    def fake(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """As `run`, for tensors without data: what the shape rule says."""
        op = self.op
        if op._fake is None:
            raise NotImplementedError(
                f"{op._qualname}: has no rule that says what shapes its results have, and runs on tensors without data "
                "(of device 'meta', or under eval_shape); write one with register_fake"
            )
        args, kwargs = self.arguments(self.tree.fill(tensors))
        results = self.note(op._fake(*args, **kwargs))
        self.out.tensors = []  # type: ignore[union-attr]
        written = [tensors[k] for k in self.written(tensors)]
        return tuple(pb.empty(y.shape, dtype=y.dtype, device="meta") for y in (*results, *written))

    def _check_aliases(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        places = [place(x) for x in inputs]
        for i, y in enumerate(results):
            own = place(y)
            if own in places or any(y is x for x in inputs):
                raise RuntimeError(
                    f"{self.op._qualname}: The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or other returns. "
                    f"Output {i} does; return a clone() of it, or do not return it."
                )
            places.append(own)

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

    def backward(self, ctx: Any, mask: Sequence[bool], grads: Sequence[Any]) -> list[Any]:
        assert self.out is not None
        values = self.out.fill(grads, plain=False)
        if self.kind is list:
            values = [values]
        return self.gradients(self.op._backward(Context(ctx, self.needs(mask)), *values))


class CustomOperator(Function):
    """`Function.apply` of a call and its tensors."""

    @staticmethod
    def forward(call: Call, *tensors: Any) -> Any:
        for t in tensors:
            if t.is_meta:
                return call.fake(tensors)
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, tensors = inputs[0], inputs[1:]
        ctx._operator_call = call
        ctx._result_types = [(y.shape, y.dtype) for y in output]
        op = call.op
        if op._setup_context is None or op._backward is None:
            return
        mask = ctx.needs_input_grad[1:]
        # Forward mode asks for no gradients, but differentiates the rule for them.
        proxy = Context(ctx, call.needs(mask if any(mask) else [True] * len(mask)))
        args, kwargs = call.arguments(call.tree.fill(tensors))
        more = {"keyword_only_inputs": kwargs} if op._schema.keywords else {}
        op._setup_context(ctx=proxy, inputs=args, output=call.output(output), **more)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call = ctx._operator_call
        if call.op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {call.op._qualname}.default but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        mask = ctx.needs_input_grad[1:]
        found = call.backward(ctx, mask, grads)
        return (None, *(g if need else None for g, need in zip(found, mask, strict=True)))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        """The transpose of backward, which is linear in the gradients."""
        call = ctx._operator_call
        if call.op._backward is None:
            raise RuntimeError(
                f"Trying to use forward mode through {call.op._qualname}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        places = [i for i, (_, d) in enumerate(ctx._result_types) if d.is_floating_point or d.is_complex]

        def pullback(*values: Any) -> list[Any]:
            grads: list[Any] = [None] * len(ctx._result_types)
            for i, v in zip(places, values, strict=True):
                grads[i] = v
            pulled: list[Any] = call.backward(ctx, [t is not None for t in tangents], grads)
            return pulled

        names = (call.op._qualname, "the backward of register_autograd()", "use reverse mode, or make it linear")
        points = [pb.zeros(ctx._result_types[i][0], dtype=ctx._result_types[i][1]) for i in places]
        result: list[Any] = [None] * len(ctx._result_types)
        transposed = _core.autograd._transposed(names, True, pullback, points, list(tangents))
        for i, t in zip(places, transposed, strict=True):
            result[i] = t
        return tuple(result)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], call: Call, *tensors: Any) -> Any:
        return by_rule(info, in_dims[1:], call, tensors) if call.op._vmap else by_loop(info, in_dims[1:], call, tensors)


def by_rule(info: Any, in_dims: Sequence[Any], call: Call, tensors: Sequence[Any]) -> Any:
    op = call.op
    places = call.written(tensors)
    given = list(tensors)
    for k in places:
        given[k] = given[k].clone()
    args, kwargs = call.arguments(call.tree.fill(given))
    dims = tuple(call.tree.fill(in_dims, plain=False)[: len(args)])
    found = op._vmap(info, dims, *args, **kwargs)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"{op._qualname}: the function of register_vmap() must return (output, out_dims), a tuple of length 2, got "
            f"{type(found).__name__}"
        )
    output, out_dims = found
    op._schema.check_output(output)
    results = call.note(output)
    assert call.out is not None
    several = isinstance(out_dims, (tuple, list))
    if several and len(out_dims) != len(call.out.shape):
        raise RuntimeError(
            f"{op._qualname}: the function of register_vmap() returned {len(out_dims)} out_dims for "
            f"{len(call.out.shape)} results"
        )
    spread = list(out_dims) if several else [out_dims] * len(call.out.shape)
    flat: list[Any] = []
    for d, shape in zip(spread, call.out.shape, strict=True):
        if isinstance(shape, list):
            flat += d if isinstance(d, (tuple, list)) else [d] * sum(s is _TENSOR for s in shape)
        elif shape is _TENSOR:
            flat.append(d)
    call.out.tensors = []
    return (*results, *(given[k] for k in places)), (*flat, *(in_dims[k] for k in places))


def by_loop(info: Any, in_dims: Sequence[Any], call: Call, tensors: Sequence[Any]) -> Any:
    op, size = call.op, info.batch_size
    _warn_of_loop(op)
    op.loops += size
    places = call.written(tensors)
    for k in places:
        if in_dims[k] is None:
            raise RuntimeError(
                f"vmap: {op._qualname} writes to an argument that has no batch, but others have one; expand it first"
            )
    if size == 0:
        return _of_no_member(call, in_dims, tensors)
    rows, calls = [], []
    state = pb.get_rng_state()
    for i in range(size):
        if info.randomness == "same":
            pb.set_rng_state(state)
        member = call.like()
        one = [t if d is None else t.select(d, i) for t, d in zip(tensors, in_dims, strict=True)]
        rows.append(op._function.apply(member, *one))
        calls.append(member)
    if info.randomness == "error" and pb.get_rng_state() != state:
        raise RuntimeError(
            f"vmap: called random operation while in randomness error mode: {op._qualname}(); pass "
            "randomness='different' or randomness='same' to vmap"
        )
    first = calls[0]
    assert first.out is not None
    for other in calls[1:]:
        if other.out is None or other.out.shape != first.out.shape:
            raise RuntimeError(f"vmap: {op._qualname} gives members of the batch results of different kinds")
    call.out, call.kind = first.out, first.kind
    return tuple(_stacked(op, column) for column in zip(*rows, strict=True)), 0


def _stacked(op: Any, members: Sequence[Any]) -> Any:
    shapes = {tuple(m.shape) for m in members}
    if len(shapes) > 1:
        raise RuntimeError(f"vmap: {op._qualname} gives members of the batch different shapes: {sorted(shapes)}")
    return pb.stack(members)


def _of_no_member(call: Call, in_dims: Sequence[Any], tensors: Sequence[Any]) -> Any:
    op = call.op
    if op._fake is None:
        raise RuntimeError(
            f"vmap: the batch is empty, and {op._qualname} has no rule that says what shapes its results have; write "
            "one with register_fake or register_vmap"
        )
    shapes = [
        tuple(n for i, n in enumerate(t.shape) if d is None or i != d % t.dim())
        for t, d in zip(tensors, in_dims, strict=True)
    ]
    member = [pb.zeros(s, dtype=t.dtype) for s, t in zip(shapes, tensors, strict=True)]
    args, kwargs = call.arguments(call.tree.fill(member))
    results = call.note(op._fake(*args, **kwargs))
    made = tuple(pb.zeros((0, *y.shape), dtype=y.dtype) for y in results)
    call.out.tensors = []  # type: ignore[union-attr]
    places = call.written(tensors)
    return (*made, *(tensors[k] for k in places)), (*[0] * len(made), *(in_dims[k] for k in places))


def _warn_of_loop(op: Any) -> None:
    if op._warned:
        return
    op._warned = True
    warnings.warn(
        f"vmap: {op._qualname} has no batching rule, so the members of the batch are computed one by one; write one "
        "with register_vmap",
        stacklevel=user_stacklevel(),
    )
