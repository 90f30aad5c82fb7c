"""Functions of tensors as SciPy wants them: of arrays of float64, with derivatives beside them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..utils import pytree

__all__ = ["ScipyFunction", "as_scipy"]


def as_scipy(f: Callable[..., Any], example: Any = None) -> "ScipyFunction":
    """`f`, a function of a tensor or a tree of tensors, for `scipy.optimize` and its like.

    What is returned is called with an array and gives a number or an array; `jac`, `hess` and `hessp` give its
    derivatives. A value and its gradient are computed together, so `jac` costs nothing more at the same point. Further
    arguments, SciPy's `args`, are passed to `f` as they are.

    Args:
        f: gives a tensor of no dimensions for `minimize`, or of one dimension for `least_squares` and `root`.
        example: a tree of tensors like the argument of `f`; without one `f` gets a tensor of float64 with the elements
            of SciPy's array. `x0` is the example as an array, `tree(x)` an array as such a tree.

    Raises:
        TypeError: if the example has leaves that are no tensors of floating point numbers.
        ValueError: from a call, if `f` gives something else than a tensor with at most one dimension.

    >>> import pullback
    >>> from scipy.optimize import minimize
    >>> rosenbrock = pullback.func.as_scipy(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
    >>> found = minimize(rosenbrock, [-1.0, 2.0, 0.5], jac=rosenbrock.jac, hess=rosenbrock.hess, method="trust-exact")
    >>> found.x.round(4).tolist(), found.success
    ([1.0, 1.0, 1.0], True)

    With parameters in a tree:

    >>> x, y = pullback.linspace(0, 1, 20), pullback.linspace(0, 1, 20) * 3 + 1
    >>> line = lambda p: ((p["slope"] * x + p["offset"] - y) ** 2).mean()
    >>> fit = pullback.func.as_scipy(line, {"slope": pullback.zeros(()), "offset": pullback.zeros(())})
    >>> {name: round(float(v), 3) for name, v in fit.tree(minimize(fit, fit.x0, jac=fit.jac).x).items()}
    {'slope': 3.0, 'offset': 1.0}
    """
    return ScipyFunction(f, example)


class ScipyFunction:
    """What `as_scipy` gives."""

    def __init__(self, f: Callable[..., Any], example: Any = None) -> None:
        if not callable(f):
            raise TypeError(f"as_scipy(): argument 'f' must be callable, got {type(f).__name__}")
        self.f, self.example = f, example
        self._leaves: list[Tensor] = []
        self._spec: Any = None
        if example is not None:
            self._leaves, self._spec = pytree.tree_flatten(example)
            for leaf in self._leaves:
                if not isinstance(leaf, Tensor) or not leaf.dtype.is_floating_point:
                    got = leaf.dtype if isinstance(leaf, Tensor) else type(leaf).__name__
                    raise TypeError(f"as_scipy(): the example has a leaf that is no tensor of real numbers: {got}")
        self._at: tuple[Any, tuple[Any, ...]] | None = None
        self._value: Any = None
        self._gradient: Any = None

    @property
    def x0(self) -> np.ndarray[Any, Any]:
        """The example as an array of float64."""
        if self._spec is None:
            raise ValueError("as_scipy(): there is no example that x0 could be made of")
        parts = [leaf.detach().to(_core.float64).reshape(-1).numpy() for leaf in self._leaves]
        return np.concatenate(parts) if parts else np.zeros(0)

    def tree(self, x: Any) -> Any:
        """An array as a tree like the example, or as a tensor."""
        return self._unpacked(_core.tensor(np.asarray(x, dtype=np.float64)))

    def _unpacked(self, x: Tensor) -> Any:
        if self._spec is None:
            return x
        total = sum(leaf.numel() for leaf in self._leaves)
        if x.ndim != 1 or x.shape[0] != total:
            raise ValueError(
                f"as_scipy(): an array of {total} numbers is expected, as x0 is, got shape {list(x.shape)}"
            )
        parts, start = [], 0
        for leaf in self._leaves:
            parts.append(x[start : start + leaf.numel()].reshape(leaf.shape).to(leaf.dtype))
            start += leaf.numel()
        return pytree.tree_unflatten(parts, self._spec)

    def _run(self, x: Tensor, *args: Any) -> Tensor:
        out = self.f(self._unpacked(x), *args)
        if not isinstance(out, Tensor) or out.ndim > 1:
            got = f"a tensor of shape {list(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            raise ValueError(f"as_scipy(): the function must give a tensor with at most one dimension, got {got}")
        wide: Tensor = out.to(_core.float64)
        return wide

    def _compute(self, x: Any, args: tuple[Any, ...]) -> None:
        """Value and gradient at a point, unless they are known."""
        point = np.array(x, dtype=np.float64)
        known = self._at
        same = (
            known is not None
            and len(known[1]) == len(args)
            and all(a is b for a, b in zip(known[1], args, strict=True))
        )
        if same and known is not None and np.array_equal(known[0], point):
            return
        value, back = _core.func.vjp(lambda v: self._run(v, *args), _core.tensor(point))
        if value.ndim:
            gradient = _core.func.vmap(back)(_core.functions["eye"](value.shape[0], dtype=_core.float64))[0]
        else:
            gradient = back(_core.functions["ones"]((), dtype=_core.float64))[0]
        self._value = value.item() if not value.ndim else value.detach().numpy()
        self._gradient = gradient.detach().numpy()
        self._at = point, args

    def __call__(self, x: Any, *args: Any) -> Any:
        """The value: a number, or an array."""
        self._compute(x, args)
        return self._value if isinstance(self._value, float) else self._value.copy()

    def jac(self, x: Any, *args: Any) -> np.ndarray[Any, Any]:
        """The gradient; for a function that gives an array, the Jacobian."""
        self._compute(x, args)
        out: np.ndarray[Any, Any] = self._gradient.copy()
        return out

    def hess(self, x: Any, *args: Any) -> np.ndarray[Any, Any]:
        """The matrix of second derivatives."""
        point = _core.tensor(np.asarray(x, dtype=np.float64))
        out: np.ndarray[Any, Any] = _core.func.hessian(lambda v: self._run(v, *args))(point).detach().numpy()
        return out

    def hessp(self, x: Any, p: Any, *args: Any) -> np.ndarray[Any, Any]:
        """The second derivatives times a vector, without the matrix."""
        point, along = (_core.tensor(np.asarray(v, dtype=np.float64)) for v in (x, p))
        gradient = _core.func.grad(lambda v: self._run(v, *args))
        out: np.ndarray[Any, Any] = _core.func.jvp(gradient, (point,), (along,))[1].detach().numpy()
        return out
