"""Functions with derivative and batching rules of their own."""

from .._core import FunctionApply, FunctionCtx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class _Apply:
    """Makes a class's `apply` when it is first asked for, so that methods may still be added until then."""

    def __get__(self, instance: "Any", owner: "type") -> "Any":
        made = FunctionApply(owner)
        owner.apply = staticmethod(made)  # type: ignore[attr-defined]
        return made


class Function:
    """A function whose derivatives and batching rule you write.

    Derive a class and write staticmethods: `forward(*args)` and `setup_context(ctx, inputs, output)`, `backward(ctx,
    *grad_outputs)` for reverse mode, `jvp(ctx, *tangents)` for forward mode, and `vmap(info, in_dims, *args)` where the
    forward leaves this library (a function made of operators is batched without it). Call it by `apply`. The classic
    `forward(ctx, *args)` without `setup_context` is accepted outside of `vmap`.

    Gradients are returned one per argument of `forward`, `None` for arguments that are no tensors.

    >>> import pullback
    >>> class Cube(pullback.autograd.Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return x * x * x
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         ctx.save_for_backward(*inputs)
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x * x
    >>> pullback.func.grad(lambda x: Cube.apply(x).sum())(pullback.tensor([2.0]))
    tensor([12.])
    """

    _is_function_base = True
    generate_vmap_rule = False

    if TYPE_CHECKING:

        @staticmethod
        def apply(*args: Any) -> Any: ...

    else:

        @classmethod
        def apply(cls, *args):
            """Runs the function; only classes derived from `Function` have something to run."""
            raise NotImplementedError("Function.apply(): derive a class from Function and write its forward()")

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated: its methods are all static; "
            "use the static .apply(...) to invoke this function"
        )

    def __init_subclass__(cls, **kwargs: "Any") -> None:
        super().__init_subclass__(**kwargs)
        cls.apply = _Apply()  # type: ignore[assignment, method-assign]

    @staticmethod
    def forward(*args: "Any", **kwargs: "Any") -> "Any":
        """The outputs, from the arguments of `apply`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: "Any", inputs: "tuple[Any, ...]", output: "Any") -> "Any":
        """Saves on `ctx` what the rules need, from the inputs and the output of `forward`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: "Any", *grad_outputs: "Any") -> "Any":
        """Gradients of the inputs, from those of the outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for reverse mode.")

    @staticmethod
    def jvp(ctx: "Any", *grad_inputs: "Any") -> "Any":
        """Tangents of the outputs, from those of the inputs."""
        raise NotImplementedError("You must implement the jvp function for forward mode.")

    @staticmethod
    def vmap(info: "Any", in_dims: "tuple[int | None, ...]", *args: "Any") -> "Any":
        """The output over a batch, and where its batch dimension is."""
        raise NotImplementedError("To use this function with vmap, write its vmap staticmethod.")


class _Once(Function):
    """A value that must not be differentiated again; the first argument is the value, the others its history."""

    @staticmethod
    def forward(value: "Any", *history: "Any") -> "Any":
        return value.clone()

    @staticmethod
    def setup_context(ctx: "Any", inputs: "tuple[Any, ...]", output: "Any") -> None:
        ctx.count = len(inputs)

    @staticmethod
    def backward(ctx: "Any", *grads: "Any") -> "Any":
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @staticmethod
    def jvp(ctx: "Any", *tangents: "Any") -> "Any":
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: "Any") -> "Any":
    """Declares that a `backward` is not differentiable itself: its derivative raises instead of being wrong."""
    import functools

    import pullback

    @functools.wraps(fn)
    def wrapper(ctx: "Any", *grads: "Any") -> "Any":
        with pullback.no_grad():
            results = fn(ctx, *grads)
        several = isinstance(results, tuple)
        history = [g for g in (*grads, *ctx.saved_tensors) if g is not None]
        marked = [r if r is None else _Once.apply(r, *history) for r in (results if several else (results,))]
        return tuple(marked) if several else marked[0]

    return wrapper
