"""Functions with derivative rules of their own: `custom_vjp` for reverse mode, `custom_jvp` for forward mode.

The decorated function may take and return any pytrees, and each function may have both rules. Whichever is missing is
derived from the other. It may be nested in transforms like any other function.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import pullback as pb
from pullback import _core

from ._rules import Call

__all__ = ["custom_jvp", "custom_vjp"]


class _Custom:
    """What both decorators make."""

    _decorator = ""

    def __new__(cls, fun: Callable[..., Any] | None = None, **options: Any) -> Any:
        if fun is None:
            return functools.partial(cls, **options)
        return super().__new__(cls)

    def __init__(
        self,
        fun: Callable[..., Any] | None = None,
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(fun):
            raise TypeError(f"{self._decorator}(): argument 'fun' must be callable, got {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.name: str = getattr(fun, "__name__", type(fun).__name__)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.rule: Callable[..., Any] | None = None
        self.symbolic = False
        self._unverified = os.environ.get("PULLBACK_VERIFY") == "first"
        self._signature = _signature(fun)
        self._positional = _count(self._signature)
        self.nondiff = self._numbers(nondiff_argnums, nondiff_argnames)
        self._ruled = _core.autograd._Ruled(self.name)

    def _numbers(self, argnums: int | Sequence[int], argnames: str | Sequence[str]) -> frozenset[int]:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        known = [] if self._signature is None else list(self._signature.parameters)
        for name in names:
            if name not in known:
                raise ValueError(f"{self._decorator}(): argument 'nondiff_argnames' has {name!r}, not a parameter")
        if any(n < 0 for n in numbers) and self._positional is None:
            raise ValueError(f"{self._decorator}(): argument 'nondiff_argnums' counts from the end of *args")
        count = self._positional or 0
        found = {n + count if n < 0 else n for n in numbers} | {known.index(n) for n in names}
        if self._positional is not None and any(not 0 <= n < count for n in found):
            raise ValueError(
                f"{self._decorator}(): argument 'nondiff_argnums' expected numbers of the {count} arguments of "
                f"{self.name}, got {numbers}"
            )
        return frozenset(found)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Gives the rule for reverse mode.

        Args:
            fwd: takes the arguments of the function and returns ``(output, residuals)``, any pytrees.
            bwd: takes the residuals and the cotangent of the output (in its structure), and returns a tuple with one
                gradient for each argument, in its structure; None stands for zero. Arguments that are not
                differentiated come first, one by one, and have no gradient.
            symbolic_zeros: give None in place of cotangents and tangents that are zero.
            optimize_remat: accepted and without effect.
        """
        del optimize_remat
        for name, f in (("fwd", fwd), ("bwd", bwd)):
            if not callable(f):
                raise TypeError(f"{self.name}.defvjp(): argument '{name}' must be callable, got {type(f).__name__}")
        self.fwd, self.bwd = fwd, bwd
        self.symbolic = self.symbolic or symbolic_zeros

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Gives the rule for forward mode, and returns it; also a decorator.

        Args:
            jvp: takes the tuple of arguments and the tuple of their tangents, and returns ``(output, tangent)``.
                Arguments that are not differentiated come first, one by one. It must be linear in the tangents.
            symbolic_zeros: give None in place of tangents and cotangents that are zero.
        """
        if not callable(jvp):
            raise TypeError(f"{self.name}.defjvp(): argument 'jvp' must be callable, got {type(jvp).__name__}")
        self.rule = jvp
        self.symbolic = self.symbolic or symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Gives the rule for forward mode as one function per argument; None for an argument without influence.

        Args:
            jvps: each takes the tangent of its argument, the output and all arguments, and returns its share of the
                tangent of the output.
        """
        if self.nondiff:
            raise TypeError(f"{self.name}.defjvps(): cannot be used with nondiff_argnums; write one rule with defjvp()")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise TypeError(f"{self.name}.defjvps(): {len(jvps)} rules were given for {len(primals)} arguments")
            out = self(*primals)
            total: Any = pb.utils.pytree.tree_map(lambda _: None, out)
            for one, t in zip(jvps, tangents, strict=True):
                if one is not None and t is not None:
                    total = pb.utils.pytree.tree_map(_sum, total, one(t, out, *primals))
            return out, total

        self.rule = rule

    def parameter(self, i: int) -> str:
        """How messages call an argument."""
        names = [] if self._signature is None else list(self._signature.parameters)
        return repr(names[i]) if i < len(names) else str(i)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs and (self._signature is None or len(args) == self._positional):
            return args
        if self._signature is None:
            raise TypeError(f"{self.name}(): takes no keyword arguments, because its signature is not known")
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{self.name}(): the arguments {sorted(bound.kwargs)} can only be given by name, which functions with "
                "rules do not support; make them positional"
            )
        return bound.args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None and self.bwd is None:
            method = "defvjp" if self._decorator == "custom_vjp" else "defjvp"
            raise AttributeError(f"No rule is defined for the {self._decorator} function {self.name}; use {method}()")
        args = self._bound(args, kwargs)
        if self._unverified:
            self._verify(args)
        leaves, spec = pb.utils.pytree.tree_flatten(args)
        tensors = [x for x in leaves if isinstance(x, pb.Tensor)]
        if not _core.autograd._is_followed(*tensors):
            return self.fun(*args)
        call = Call(self, leaves, spec)
        rules = (self.fwd is not None, self.rule is not None, self.symbolic)
        results, ran = self._ruled.apply(call, tensors, rules, call.fixed)
        return call.output(ran, results)

    def _verify(self, args: tuple[Any, ...]) -> None:
        from ..autograd import _verify

        self._unverified = False
        written = {True: "written", False: "missing"}
        rules = {"backward": written[self.bwd is not None], "jvp": written[self.rule is not None]}
        self._unverified = not _verify.at_first_use(_verify.Named(self.name, self, rules), args, fixed=self.nondiff)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._decorator} function {self.name}>"


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None


def _count(signature: inspect.Signature | None) -> int | None:
    """The number of positional parameters, if it is fixed."""
    if signature is None:
        return None
    kinds = [p.kind for p in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)


class custom_vjp(_Custom):
    """Decorator for a function whose rule for reverse mode is given by `defvjp`.

    Args:
        fun: the function. Arguments and results may be any pytrees of tensors and other values.
        nondiff_argnums: numbers of arguments that are not differentiated. The rules get them first, one by one.
            Differentiating them raises.
        nondiff_argnames: the same by name.

    The rules are written in operators of this library. What they close over is not differentiated. Forward mode uses
    the rule of `defjvp` if there is one, and otherwise the transpose of `bwd`.

    Raises:
        AttributeError: if the function is called before it has a rule.
        TypeError: if a rule returns another structure than is expected.
        RuntimeError: if an argument of `nondiff_argnums` is differentiated.

    >>> import pullback
    >>> from pullback.func import custom_vjp, grad
    >>> @custom_vjp
    ... def clipped(x, bound):
    ...     return x * 1.0
    >>> def fwd(x, bound):
    ...     return x * 1.0, bound
    >>> def bwd(bound, g):
    ...     return g.clamp(-bound, bound), None
    >>> clipped.defvjp(fwd, bwd)
    >>> grad(lambda x: (clipped(x, 0.5) * pullback.tensor([0.1, 2.0])).sum())(pullback.zeros(2))
    tensor([0.1000, 0.5000])
    """

    _decorator = "custom_vjp"


class custom_jvp(_Custom):
    """Decorator for a function whose rule for forward mode is given by `defjvp` or `defjvps`.

    Args:
        fun: the function. Arguments and results may be any pytrees of tensors and other values.
        nondiff_argnums: numbers of arguments that are not differentiated. The rule gets them first, one by one.
            Differentiating them raises.
        nondiff_argnames: the same by name.

    Reverse mode uses the rule of `defvjp` if there is one, and otherwise the transpose of the forward rule, which must
    therefore be linear in the tangents and written in operators of this library.

    Raises:
        AttributeError: if the function is called before it has a rule.
        TypeError: if a rule returns another structure than is expected.
        RuntimeError: if an argument of `nondiff_argnums` is differentiated.

    >>> import pullback
    >>> from pullback.func import custom_jvp, grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return (1 + x.exp()).log()
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + x.exp()))
    >>> grad(log1pexp)(pullback.tensor(100.0))
    tensor(1.)
    """

    _decorator = "custom_jvp"
