"""Jacobians, Hessians and their products with vectors, as functions of a function and its inputs.

`pullback.func` has the same as transforms; these take the inputs at once. Where inputs or outputs are tuples, so are
the results: a Jacobian is ``result[output][input]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback as pb

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]


def _as_tuple(x: Any, function: str, what: str) -> tuple[bool, Tensors]:
    """Whether it is a sequence, and its tensors."""
    is_tuple = isinstance(x, (tuple, list))
    tensors = tuple(x) if is_tuple else (x,)
    for i, t in enumerate(tensors):
        if not isinstance(t, pb.Tensor):
            place = f"item {i} of {what}" if is_tuple else what
            raise TypeError(f"{function}(): {place} must be a tensor, got {type(t).__name__}")
    return is_tuple, tensors


def _tracked(inputs: Sequence[Any], create_graph: bool) -> Tensors:
    """Inputs to differentiate by: their own nodes if the result is part of the caller's graph, else fresh leaves."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _released(x: Any, create_graph: bool) -> Any:
    if create_graph:
        return x
    return tuple(_released(t, False) for t in x) if isinstance(x, tuple) else x.detach()


def _unpack(is_tuple: bool, x: Sequence[Any]) -> Any:
    return tuple(x) if is_tuple else x[0]


def _vector(v: Any, like: Tensors, function: str, of: str) -> Tensors:
    """The vector of a product, by default 1 for a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{function}(): argument 'v' may only be left out if {of} is a single number")
        return (pb.ones_like(like[0]),)
    _, vs = _as_tuple(v, function, "argument 'v'")
    if [t.shape for t in vs] != [t.shape for t in like]:
        got, expected = ([tuple(t.shape) for t in ts] for ts in (vs, like))
        raise RuntimeError(f"{function}(): argument 'v' expected the shapes of {of}, {expected}, got {got}")
    return vs


def _grad(output: Any, inputs: Tensors, **kwargs: Any) -> list[Any]:
    if not output.requires_grad:
        return [None] * len(inputs)
    return list(pb.autograd.grad(output, inputs, allow_unused=True, **kwargs))


def _check_dependence(outputs: Tensors, inputs: Tensors, function: str) -> None:
    for i, y in enumerate(outputs):
        for j, g in enumerate(_grad(y.sum(), inputs, retain_graph=True)):
            if g is None:
                raise RuntimeError(f"{function}(): output {i} does not depend on input {j}, which strict mode forbids")


def _filled(grads: Sequence[Any], inputs: Tensors) -> Tensors:
    return tuple(pb.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`, of shape ``output.shape + input.shape`` for each pair of output and input.

    Args:
        create_graph: let the result be differentiable.
        strict: raise if an output does not depend on an input; otherwise such a Jacobian is zero.
        vectorize: compute all rows (or columns) at once with `vmap`.
        strategy: ``"reverse-mode"``, or ``"forward-mode"`` together with `vectorize`.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian(): argument 'strategy' expected 'reverse-mode' or 'forward-mode', got {strategy!r}")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("jacobian(): forward mode needs vectorize=True")
    if vectorize and strict:
        raise RuntimeError("jacobian(): strict mode needs vectorize=False")
    many_inputs, xs = _as_tuple(inputs, "jacobian", "argument 'inputs'")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if vectorize:
            transform = pb.func.jacrev if strategy == "reverse-mode" else pb.func.jacfwd
            found = transform(func, argnums=tuple(range(len(xs))))(*xs)
            many_outputs = bool(found) and isinstance(found[0], tuple)
            table = found if many_outputs else (found,)
        else:
            many_outputs, ys = _as_tuple(func(*xs), "jacobian", "what the function returns")
            if strict:
                _check_dependence(ys, xs, "jacobian")
            table = tuple(_rows(y, xs, create_graph) for y in ys)
    result = tuple(_unpack(many_inputs, row) for row in table)
    return _released(_unpack(many_outputs, result), create_graph)


def _rows(y: Any, xs: Tensors, create_graph: bool) -> Tensors:
    """The Jacobians of one output, row by row."""
    flat = y.reshape(-1)
    rows = [_filled(_grad(flat[i], xs, retain_graph=True, create_graph=create_graph), xs) for i in range(flat.numel())]
    if not rows:
        return tuple(x.new_zeros((*y.shape, *x.shape)) for x in xs)
    return tuple(
        pb.stack(column).reshape((*y.shape, *x.shape)) for column, x in zip(zip(*rows, strict=True), xs, strict=True)
    )


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with a single number as its value: ``result[i][j]`` for tuples of inputs.

    The arguments are those of `jacobian`; `outer_jacobian_strategy` is the strategy of the second derivative.
    """
    many_inputs, xs = _as_tuple(inputs, "hessian", "argument 'inputs'")

    def gradient(*args: Any) -> Tensors:
        value = _number(func(*args), "hessian")
        found = _grad(value, args, create_graph=True)
        if strict and any(g is None for g in found):
            raise RuntimeError("hessian(): the output does not depend on each input, which strict mode forbids")
        return _filled(found, args)

    if outer_jacobian_strategy == "forward-mode":
        of_function = lambda *args: _number(func(*args), "hessian")
        gradient = pb.func.grad(of_function, argnums=tuple(range(len(xs))))
    table = jacobian(gradient, xs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return table if many_inputs else table[0][0]


def _number(value: Any, function: str) -> Any:
    if not isinstance(value, pb.Tensor) or value.numel() != 1:
        got = f"shape {tuple(value.shape)}" if isinstance(value, pb.Tensor) else type(value).__name__
        raise RuntimeError(f"{function}(): the function must return a tensor with one element, got {got}")
    return value.reshape(())


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of the vector `v` with its Jacobian."""
    many_inputs, xs = _as_tuple(inputs, "vjp", "argument 'inputs'")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        many_outputs, ys = _as_tuple(func(*xs), "vjp", "what the function returns")
        vs = _vector(v, ys, "vjp", "the output")
        if strict:
            _check_dependence(ys, xs, "vjp")
        pairs = [(y, w) for y, w in zip(ys, vs, strict=True) if y.requires_grad]
        grads: Sequence[Any] = [None] * len(xs)
        if pairs:
            outputs, cotangents = zip(*pairs, strict=True)
            grads = pb.autograd.grad(outputs, xs, cotangents, create_graph=create_graph, allow_unused=True)
        product = _filled(grads, xs)
    return _results(many_outputs, ys, many_inputs, product, create_graph)


def _results(
    many: bool, values: Sequence[Any], many_products: bool, products: Any, create_graph: bool
) -> tuple[Any, Any]:
    first, second = _unpack(many, values), _unpack(many_products, products)
    return _released(first, create_graph), _released(second, create_graph)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of its Jacobian with the vector `v`."""
    _, xs = _as_tuple(inputs, "jvp", "argument 'inputs'")
    vs = _vector(v, xs, "jvp", "the input")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if strict:
            _check_dependence(_as_tuple(func(*xs), "jvp", "what the function returns")[1], xs, "jvp")
        value, product = pb.func.jvp(func, xs, vs)
        many_outputs, ys = _as_tuple(value, "jvp", "what the function returns")
        _, products = _as_tuple(product, "jvp", "the product")
    return _results(many_outputs, ys, many_outputs, products, create_graph)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """Forward over reverse. The Hessian is symmetric, so the product is the same from either side."""
    many_inputs, xs = _as_tuple(inputs, name, "argument 'inputs'")
    vs = _vector(v, xs, name, "the input")

    def of_function(*args: Any) -> Any:
        return _number(func(*args), name)

    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if strict:
            _check_dependence((of_function(*xs),), xs, name)
        gradient = pb.func.grad_and_value(of_function, argnums=tuple(range(len(xs))))
        (_, value), (product, _) = pb.func.jvp(gradient, xs, vs)
    return _results(False, [value], many_inputs, product, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of its Hessian with `v`."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of `v` with its Hessian."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)
