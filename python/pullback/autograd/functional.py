"""Jacobians, Hessians and their products with vectors, as functions of a function and its inputs.

`pullback.func` has the same as transforms; these take the inputs at once. Where inputs or outputs are tuples, so are
the results: a Jacobian is ``result[output][input]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback as pb

from . import forward_ad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]


def _checked_tuple(x: Any, function: str, what: str) -> tuple[bool, Tensors]:
    """Whether it is a sequence, and its tensors."""
    is_tuple = isinstance(x, (tuple, list))
    tensors = tuple(x) if is_tuple else (x,)
    if what in ("inputs", "v"):
        tensors = tuple(_converted(t) for t in tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, pb.Tensor):
            place = f"the value at index {i}" if is_tuple else "it"
            raise TypeError(
                f"{function}(): The {what} given to {function} must be either a Tensor or a tuple of Tensors, but "
                f"{place} has type {type(t).__name__}"
            )
    return is_tuple, tensors


# The names that programs take from PyTorch's module, which has them as private ones: with the arguments that it has.
def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """A tuple of the argument; with the names that an error is to give, also whether it was a tuple, and checked."""
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, (tuple, list)) else (inp,)
    return isinstance(inp, tuple), _checked_tuple(
        (inp,) if isinstance(inp, list) else inp, f"{fn_name}", f"{arg_name}"
    )[1]


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Takes the tuples off that were put around single values: one, or those of outputs and of inputs."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if isinstance(to_unpack, tuple) and not inner:
        res = tuple(row[0] for row in res)
    return res if outer else res[0]


def _grad_preprocess(inputs: Sequence[Any], create_graph: bool, need_graph: bool) -> Tensors:
    """What to differentiate by: views in the caller's graph, or leaves of their own; other objects as they are."""
    if create_graph:
        return tuple(x.view_as(x) if isinstance(x, pb.Tensor) else x for x in inputs)
    return tuple(x.detach().requires_grad_(need_graph) if isinstance(x, pb.Tensor) else x for x in inputs)


def _grad_postprocess(inputs: Sequence[Any], create_graph: bool) -> Any:
    """Results of a derivative, cut from the graph unless it was asked for."""
    return _released(tuple(inputs), create_graph)


def _converted(x: Any) -> Any:
    """A float, or an array or scalar of NumPy, as the tensor of its values; other objects as they are."""
    numpy = type(x).__module__ == "numpy" and hasattr(x, "__array_struct__")
    return pb.tensor(x) if numpy or isinstance(x, (float, complex)) else x


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
            raise RuntimeError(
                f"{function}(): The vector v can only be None if {of} a single Tensor with a single element"
            )
        return (pb.ones_like(like[0]),)
    _, vs = _checked_tuple(v, function, "v")
    if len(vs) != len(like):
        if len(like) == 1:
            raise RuntimeError(f"{function}(): The given v should contain a single Tensor. It has {len(vs)}")
        raise RuntimeError(f"{function}(): v is a tuple of invalid length: should be {len(like)} but got {len(vs)}")
    for i, (w, t) in enumerate(zip(vs, like, strict=True)):
        if w.shape != t.shape:
            entry = f"Entry {i} in v" if len(vs) > 1 else "v"
            sizes = ", ".join(map(str, t.shape))
            want = f"should be torch.Size([{sizes}])"
            raise RuntimeError(f"{function}(): {entry} has invalid size: {want} but got {list(w.shape)}")
    return vs


def _grad(output: Any, inputs: Tensors, **kwargs: Any) -> list[Any]:
    if not output.requires_grad:
        return [None] * len(inputs)
    return list(pb.autograd.grad(output, inputs, allow_unused=True, **kwargs))


def _check_outputs(outputs: Tensors, function: str) -> None:
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            raise RuntimeError(
                f"{function}(): Output {i} of the user-provided function does not require gradients. The outputs must "
                "be computed in a differentiable manner from the input when running in strict mode."
            )


def _check_used(grads: Sequence[Any], function: str, what: str = "The output") -> None:
    for i, g in enumerate(grads):
        if g is None:
            raise RuntimeError(
                f"{function}(): {what} of the user-provided function is independent of input {i}. This is not "
                "allowed in strict mode."
            )


def _check_graph(results: Sequence[Any], function: str, what: str) -> None:
    """With `create_graph`, strict mode also wants something to differentiate."""
    for i, x in enumerate(results):
        if not x.requires_grad:
            raise RuntimeError(
                f"{function}(): The {what} of the user-provided function is independent of input {i}. This is not "
                "allowed in strict mode when create_graph=True."
            )


def _check_dependence(outputs: Tensors, inputs: Tensors, function: str) -> None:
    """Each output is differentiable, and each input has influence on one."""
    _check_outputs(outputs, function)
    _check_used(_grad(sum(y.sum() for y in outputs), inputs, retain_graph=True), function)


def _construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> Tensors:
    """The rows of the identity matrix of all elements, cut to those of each tensor and in its dtype."""
    if len(tensors) != len(tensor_numels):
        raise ValueError(f"expected a number of elements for each of {len(tensors)} tensors, got {len(tensor_numels)}")
    n, start = sum(tensor_numels), 0
    chunks = []
    for tensor, numel in zip(tensors, tensor_numels, strict=True):
        chunk = tensor.new_zeros(n, numel)
        chunk[start : start + numel].fill_diagonal_(1)
        chunks.append(chunk)
        start += numel
    return tuple(chunks)


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

    Raises:
        RuntimeError: in strict mode, if an output does not depend on an input.
        TypeError: if inputs or outputs are no tensors.
        AssertionError: for another strategy.

    >>> import pullback
    >>> pullback.autograd.functional.jacobian(lambda x: x * x, pullback.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy, "jacobian")
    if strategy == "forward-mode" and strict:
        raise RuntimeError(
            'jacobian(): strict=True and strategy="forward-mode" are not supported together (yet); set strict=False or '
            'strategy="reverse-mode"'
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "jacobian(): Computing Jacobian using forward-AD is only implemented for vectorize=True"
        )
    if vectorize and strict:
        raise RuntimeError(
            "jacobian(): strict=True and vectorize=True are not supported together; set strict=False or vectorize=False"
        )
    many_inputs, xs = _checked_tuple(inputs, "jacobian", "inputs")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if vectorize:
            transform = pb.func.jacrev if strategy == "reverse-mode" else pb.func.jacfwd
            found = transform(func, argnums=tuple(range(len(xs))))(*xs)
            many_outputs = bool(found) and isinstance(found[0], tuple)
            table = found if many_outputs else (found,)
        else:
            many_outputs, ys = _checked_tuple(func(*xs), "jacobian", "outputs of the user-provided function")
            if strict:
                _check_outputs(ys, "jacobian")
            table = tuple(_rows(i, y, xs, create_graph, strict) for i, y in enumerate(ys))
    result = tuple(_unpack(many_inputs, row) for row in table)
    return _released(_unpack(many_outputs, result), create_graph)


def _check_strategy(strategy: str, function: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'{function}(): Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}. Forward '
            "mode is for functions with more outputs than inputs."
        )


def _rows(number: int, y: Any, xs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobians of one output, row by row."""
    flat = y.reshape(-1)
    rows = []
    for i in range(flat.numel()):
        grads = _grad(flat[i], xs, retain_graph=True, create_graph=create_graph)
        if strict:
            _check_used(grads, "jacobian", f"Output {number}")
            if create_graph:
                _check_graph(grads, "jacobian", "jacobian")
        rows.append(_filled(grads, xs))
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

    >>> import pullback
    >>> pullback.autograd.functional.hessian(lambda x: x.prod(), pullback.tensor([1.0, 2.0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    _check_strategy(outer_jacobian_strategy, "hessian")
    many_inputs, xs = _checked_tuple(inputs, "hessian", "inputs")

    def gradient(*args: Any) -> Tensors:
        value = _number(func(*args), "hessian")
        found = _grad(value, args, create_graph=True)
        if strict:
            _check_outputs((value,), "hessian")
            _check_used(found, "hessian")
            _check_gradient(found, "hessian")
        return _filled(found, args)

    if outer_jacobian_strategy == "forward-mode":
        of_function = lambda *args: _number(func(*args), "hessian")
        gradient = pb.func.grad(of_function, argnums=tuple(range(len(xs))))
    table = jacobian(gradient, xs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return table if many_inputs else table[0][0]


def _number(value: Any, function: str) -> Any:
    _checked_tuple(value, function, "outputs of the user-provided function")
    if not isinstance(value, pb.Tensor):
        raise RuntimeError(
            f"{function}(): The function given to {function} should return a single Tensor, got {type(value).__name__}"
        )
    if value.numel() != 1:
        raise RuntimeError(
            f"{function}(): The Tensor returned by the function given to {function} should contain a single element, "
            f"got shape {tuple(value.shape)}"
        )
    return value.reshape(())


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of the vector `v` with its Jacobian.

    Args:
        v: in the structure and shapes of the outputs; 1 by default, if the output is a single number.
        create_graph: let the results be differentiable.
        strict: raise if an output is not differentiable, or an input has no influence.

    >>> import pullback
    >>> pullback.autograd.functional.vjp(lambda x: x * x, pullback.tensor([1.0, 2.0]), pullback.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    many_inputs, xs = _checked_tuple(inputs, "vjp", "inputs")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        many_outputs, ys = _checked_tuple(func(*xs), "vjp", "outputs of the user-provided function")
        vs = _vector(v, ys, "vjp", "the user-provided function returns")
        if strict:
            _check_outputs(ys, "vjp")
        pairs = [(y, w) for y, w in zip(ys, vs, strict=True) if y.requires_grad]
        grads: Sequence[Any] = [None] * len(xs)
        if pairs:
            outputs, cotangents = zip(*pairs, strict=True)
            grads = pb.autograd.grad(outputs, xs, cotangents, create_graph=create_graph, allow_unused=True)
        if strict:
            _check_used(grads, "vjp")
            if create_graph:
                _check_graph(grads, "vjp", "jacobian")
        product = _filled(grads, xs)
    return _results(many_outputs, ys, many_inputs, product, create_graph)


def _results(
    many: bool, values: Sequence[Any], many_products: bool, products: Any, create_graph: bool
) -> tuple[Any, Any]:
    first, second = _unpack(many, values), _unpack(many_products, products)
    return _released(first, create_graph), _released(second, create_graph)


def _pushed(func: Callable[..., Any], xs: Tensors, vs: Tensors) -> tuple[bool, Tensors, Tensors]:
    """The outputs and their tangents. By dual numbers, so that `func` may ask for gradients of its own."""
    with forward_ad.dual_level():
        outputs = func(*(forward_ad.make_dual(x, v) for x, v in zip(xs, vs, strict=True)))
        many_outputs, ys = _checked_tuple(outputs, "jvp", "outputs of the user-provided function")
        pairs = [forward_ad.unpack_dual(y) for y in ys]
    tangents = [pb.zeros_like(y) if t is None else t for y, t in pairs]
    return many_outputs, tuple(y for y, _ in pairs), tuple(tangents)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of its Jacobian with the vector `v`, in the shapes of the inputs.

    The other arguments are those of `vjp`.

    >>> import pullback
    >>> pullback.autograd.functional.jvp(lambda x: x * x, pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    _, xs = _checked_tuple(inputs, "jvp", "inputs")
    vs = _vector(v, xs, "jvp", "the input to the user-provided function is")
    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if strict:
            _check_dependence(_checked_tuple(func(*xs), "jvp", "outputs of the user-provided function")[1], xs, "jvp")
        many_outputs, ys, products = _pushed(func, xs, vs)
        if strict and create_graph:
            _check_graph(products, "jvp", "jacobian")
    return _results(many_outputs, ys, many_outputs, products, create_graph)


def _check_gradient(gradient: Sequence[Any], function: str) -> None:
    for i, g in enumerate(gradient):
        if not g.requires_grad:
            raise RuntimeError(
                f"{function}(): The jacobian of the user-provided function with respect to input {i} is independent of "
                "the input. This is not allowed in strict mode."
            )


def _check_second_order(value: Any, inputs: Tensors, function: str) -> None:
    """Each input has influence on the gradient, too."""
    _check_outputs((value,), function)
    first = _grad(value, inputs, create_graph=True)
    _check_used(first, function)
    _check_gradient(first, function)
    _check_used(_grad(sum(g.sum() for g in first), inputs, retain_graph=True), function, "The jacobian")


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """Forward over reverse. The Hessian is symmetric, so the product is the same from either side."""
    many_inputs, xs = _checked_tuple(inputs, name, "inputs")
    vs = _vector(v, xs, name, "the input to the user-provided function is")

    def of_function(*args: Any) -> Any:
        return _number(func(*args), name)

    with pb.enable_grad():
        xs = _tracked(xs, create_graph)
        if strict:
            _check_second_order(of_function(*xs), xs, name)
        gradient = pb.func.grad_and_value(of_function, argnums=tuple(range(len(xs))))
        (_, value), (product, _) = pb.func.jvp(gradient, xs, vs)
        if strict and create_graph:
            _check_graph(product, name, "hessian")
    return _results(False, [value], many_inputs, product, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of its Hessian with `v`.

    The arguments are those of `jvp`. It costs about two evaluations of the gradient, however large the Hessian is.

    >>> import pullback
    >>> pullback.autograd.functional.hvp(lambda x: x.prod(), pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 0.0]))
    (tensor(2.), tensor([0., 1.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of `v` with its Hessian.

    The Hessian is symmetric, so this is `hvp`.

    >>> import pullback
    >>> pullback.autograd.functional.vhp(lambda x: x.prod(), pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 0.0]))
    (tensor(2.), tensor([0., 1.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)
