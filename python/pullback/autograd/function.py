"""Functions with derivative and batching rules of their own."""

from .._core import FunctionApply, FunctionCtx
from .._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "Rules", "explain", "once_differentiable"]


class _AdoptingCtx(FunctionCtx):
    """A ctx with attributes that hold saved tensors."""

    __slots__ = ()

    def __getattr__(self, name: str) -> "Any":
        return self._adopted(name)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or not self._forget(name):
            super().__delattr__(name)


_AdoptingCtx.__name__ = _AdoptingCtx.__qualname__ = FunctionCtx.__name__


class _Apply:
    """Makes a class's `apply` when it is first asked for, so that methods may still be added until then."""

    def __get__(self, instance: "Any", owner: "type") -> "Any":
        if owner is Function:
            return _nothing_to_apply
        made = owner.__dict__.get("_made_apply")
        if made is None:
            made = owner._made_apply = FunctionApply(owner)  # type: ignore[attr-defined]
        if isinstance(owner.__dict__.get("apply"), _Apply):
            owner.apply = staticmethod(made)  # type: ignore[attr-defined]
        return made


class _BackwardClass:
    """The class of the nodes that a Function's calls are recorded as: that of `grad_fn`."""

    def __get__(self, instance: "Any", owner: "type") -> "Any":
        from .. import _core

        return _core.autograd_graph._node_class(f"{owner.__name__}Backward")


def _nothing_to_apply(*args: "Any", **kwargs: "Any") -> "Any":
    """Runs the function; only classes derived from `Function` have something to run."""
    raise NotImplementedError("Function.apply(): derive a class from Function and write its forward()")


class Function:
    """A function whose derivatives and batching rule you write.

    Derive a class and write staticmethods: `forward(*args)` and `setup_context(ctx, inputs, output)`, `backward(ctx,
    *grad_outputs)` (or `vjp`, the same) for reverse mode, `jvp(ctx, *tangents)` for forward mode, and `vmap(info,
    in_dims, *args)` where the forward leaves this library. What is made of operators needs no more: such a function is
    batched without a `vmap`, and of `backward` and `jvp` one is derived from the other. Call it by `apply`. The classic
    `forward(ctx, *args)` without `setup_context` works under all transforms too. `explain` says which rules there are,
    and `verify` checks them.

    Arguments and results may be trees of tensors (tuples, lists, dicts, dataclasses). A tuple is several results;
    `backward` gets one argument for each of them, in its structure. It returns one gradient per argument of `forward`,
    in its structure, None where there is none; or one per leaf.

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
    _backward_cls = _BackwardClass()

    if TYPE_CHECKING:

        @staticmethod
        def apply(*args: Any, **kwargs: Any) -> Any: ...

    else:
        apply = _Apply()

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:

        warn(
            f"{type(self)} should not be instantiated. Its methods are all static: call apply() of the class itself",
            DeprecationWarning,
        )

    def __call__(self, *args: "Any", **kwargs: "Any") -> None:
        raise RuntimeError(
            f"{type(self).__name__}: Legacy autograd function with non-static forward method is deprecated; make "
            "forward and backward staticmethods with a ctx in front, and call the static .apply(...) of the class"
        )

    def __init_subclass__(cls, **kwargs: "Any") -> None:
        super().__init_subclass__(**kwargs)
        if "apply" not in cls.__dict__:
            cls.apply = _Apply()  # type: ignore[assignment, method-assign]

    @classmethod
    def verify(cls, *sample_inputs: "Any", **options: "Any") -> bool:
        """Checks all rules on sample arguments and prints a table; see `pullback.autograd.function.verify`.

        Floating point samples should be float64. Compares `backward` and `jvp` with finite differences and with each
        other, takes second derivatives, compares `vmap` with a loop for every choice of dimensions, and tries
        arguments that are not contiguous, of other dtypes and of sizes 0 and 1. Returns whether all checks passed.

        >>> import pullback
        >>> class Double(pullback.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> Double.verify(pullback.ones(3, dtype=pullback.float64), quiet=True)
        True
        """
        from ._verify import verify

        return verify(cls, *sample_inputs, **options)

    if TYPE_CHECKING:
        # Any signature may override these.
        @staticmethod
        def forward(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any: ...
        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any: ...

    else:

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


class InplaceFunction(Function):
    """A Function as others; kept because programs derive from it. Its `forward` may write to its arguments and says so
    by `ctx.mark_dirty`.
    """

    _is_function_base = True

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function as others, which take and give trees of tensors anyway; kept because programs name it."""

    _is_function_base = True


class Rules(dict[str, str]):
    """For each rule of a Function, where it comes from; printed as a list."""

    def __init__(self, name: str, rules: "dict[str, str]") -> None:
        super().__init__(rules)
        self.name = name

    def __repr__(self) -> str:
        width = max(map(len, self))
        return "\n".join([self.name, *(f"  {rule:<{width}}  {source}" for rule, source in self.items())])


def explain(function: "type[Function]") -> Rules:
    """Says for each rule of a Function whether it is written, derived, generated or missing.

    `backward` and `jvp` are derived from each other, where the other one is made of operators. The rule of `vmap` is
    generated by running the methods on a batch, for which they must be made of operators too.

    >>> import pullback
    >>> class Double(pullback.autograd.Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         pass
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> pullback.autograd.function.explain(Double)
    Double
      forward        written
      setup_context  written
      backward       written
      jvp            derived from backward
      vmap           generated

    Raises:
        TypeError: if it is no class derived from Function.
    """
    if not (isinstance(function, type) and issubclass(function, Function)):
        raise TypeError(f"explain(): expected a class derived from Function, got {function!r}")
    return Rules(function.__name__, FunctionApply(function).rules())


class _Once(Function):
    """A value that must not be differentiated again; the first argument is the value, the others its history."""

    @staticmethod
    def forward(value: "Any", *history: "Any") -> "Any":
        return value.clone()

    @staticmethod
    def setup_context(ctx: "Any", inputs: "tuple[Any, ...]", output: "Any") -> None:
        pass

    @staticmethod
    def backward(ctx: "Any", *grads: "Any") -> "Any":
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @staticmethod
    def jvp(ctx: "Any", *tangents: "Any") -> "Any":
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: "_F") -> "_F":
    """Declares that a `backward` is not differentiable itself: its derivative raises instead of being wrong."""
    import functools

    import pullback

    @functools.wraps(fn)
    def wrapper(ctx: "Any", *grads: "Any") -> "Any":
        with pullback.no_grad():
            results = fn(ctx, *grads)
        several = isinstance(results, tuple)
        followed = [g for g in pullback.utils.pytree.tree_leaves((grads, ctx._history)) if g is not None]
        history = [g for g in followed if isinstance(g, pullback.Tensor)]
        mark = lambda r: _Once.apply(r, *history) if isinstance(r, pullback.Tensor) else r
        marked = [pullback.utils.pytree.tree_map(mark, r) for r in (results if several else (results,))]
        return tuple(marked) if several else marked[0]

    marking: Any = wrapper
    marking._once_differentiable = True
    made: _F = marking
    return made
