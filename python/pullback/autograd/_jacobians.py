"""Jacobians as matrices of Python numbers: by differences, by backward, by forward, and batched.

Everything is in real coordinates: a complex element counts as two numbers, its real and imaginary part. The gradient
convention makes both sides real matrices then: for a cotangent v and a gradient g, ``Re(conj(v) du) = Re(conj(g) dz)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pullback as pb

Matrix = list[list[float]]
Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when derivatives are wrong."""


class Tolerance(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet: float


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, Sequence) and not isinstance(x, str) else (x,)


def coordinates(x: Any) -> list[float]:
    values = x.detach().reshape(-1).tolist()
    return [part for z in values for part in (z.real, z.imag)] if x.dtype.is_complex else [float(v) for v in values]


def from_coordinates(numbers: list[float], like: Any) -> Any:
    values: list[Any] = list(numbers)
    if like.dtype.is_complex:
        values = [complex(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return pb.tensor(values, dtype=like.dtype).reshape(like.shape)


def size(x: Any) -> int:
    return int(x.numel()) * (2 if x.dtype.is_complex else 1)


def unit(i: int, like: Any) -> Any:
    numbers = [0.0] * size(like)
    numbers[i] = 1.0
    return from_coordinates(numbers, like)


def varied_places(arguments: tuple[Any, ...], function: str) -> list[int]:
    varied = [i for i, x in enumerate(arguments) if isinstance(x, pb.Tensor) and x.requires_grad]
    if not varied:
        raise ValueError(f"{function}(): expected at least one input tensor that requires gradients, got none")
    for i in varied:
        if arguments[i].dtype not in (pb.float64, pb.complex128):
            warnings.warn(
                f"{function}(): input {i} is {arguments[i].dtype}; with less than double precision the finite "
                "differences will hardly agree",
                stacklevel=4,
            )
    return varied


def differentiable(outputs: Any, everything: bool = False) -> tuple[Any, ...]:
    """The outputs that require gradients, or all that could."""
    return tuple(
        y
        for y in as_tuple(outputs)
        if (y.dtype.is_floating_point or y.dtype.is_complex) and (everything or y.requires_grad)
    )


def gradients(outputs: Sequence[Any], inputs: list[Any], cotangents: Any, **kwargs: Any) -> tuple[Any, ...]:
    return tuple(pb.autograd.grad(tuple(outputs), inputs, cotangents, allow_unused=True, **kwargs))


def dense(grad: Any, like: Any) -> Any:
    return pb.zeros_like(like) if grad is None else grad


class Problem:
    """A function and its Jacobian. Rows belong to output coordinates, columns to input coordinates."""

    def __init__(self, func: Function, inputs: Any, tolerance: Tolerance) -> None:
        self.func, self.arguments, self.tolerance = func, as_tuple(inputs), tolerance
        self.places = varied_places(self.arguments, "gradcheck")
        self.inputs = [self.arguments[i] for i in self.places]
        self.outputs = as_tuple(func(*self.arguments))
        if not all(isinstance(y, pb.Tensor) for y in self.outputs):
            raise ValueError("gradcheck(): the function must return a tensor or a sequence of tensors")
        # Outputs marked as not differentiable are left alone; but if none is differentiable, none may vary.
        candidates = [i for i, y in enumerate(self.outputs) if y.dtype.is_floating_point or y.dtype.is_complex]
        self.rows = [i for i in candidates if self.outputs[i].requires_grad] or candidates

    def evaluate(self, values: list[Any]) -> tuple[Any, ...]:
        arguments = list(self.arguments)
        for place, value in zip(self.places, values, strict=True):
            arguments[place] = value
        outputs = as_tuple(self.func(*arguments))
        return tuple(outputs[i] for i in self.rows)

    def _moved(self, points: list[list[float]]) -> list[float]:
        values = [from_coordinates(p, x).requires_grad_() for p, x in zip(points, self.inputs, strict=True)]
        return [c for y in self.evaluate(values) for c in coordinates(y)]

    def difference(self, direction: list[list[float]]) -> list[float]:
        """The central difference along a direction in input coordinates."""
        eps = self.tolerance.eps
        base = [coordinates(x) for x in self.inputs]
        ahead, behind = (
            self._moved(
                [[b + s * eps * d for b, d in zip(*pair, strict=True)] for pair in zip(base, direction, strict=True)]
            )
            for s in (1, -1)
        )
        return [(a - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]

    def directions(self) -> list[list[list[float]]]:
        units = []
        for i, x in enumerate(self.inputs):
            for j in range(size(x)):
                direction = [[0.0] * size(other) for other in self.inputs]
                direction[i][j] = 1.0
                units.append(direction)
        return units

    def _transpose(self, columns: Matrix) -> Matrix:
        if not columns:
            return [[] for r in self.rows for _ in range(size(self.outputs[r]))]
        return [list(row) for row in zip(*columns, strict=True)]

    def by_differences(self) -> Matrix:
        return self._transpose([self.difference(d) for d in self.directions()])

    def tracked(self) -> tuple[list[Any], list[tuple[int, Any]]]:
        """Fresh inputs, and the outputs that depend on them with their numbers among the rows."""
        values = [x.detach().clone().requires_grad_() for x in self.inputs]
        return values, [(i, y) for i, y in enumerate(self.evaluate(values)) if y.requires_grad]

    def by_backward(self) -> Matrix:
        inputs, tracked = self.tracked()
        found = dict(tracked)
        rows: Matrix = []
        for i, like in enumerate(self.outputs[r] for r in self.rows):
            for j in range(size(like)):
                grads: Sequence[Any] = [None] * len(inputs)
                if i in found:
                    grads = gradients([found[i]], inputs, (unit(j, like),), retain_graph=True)
                self._check_shapes(grads)
                rows.append([c for g, x in zip(grads, inputs, strict=True) for c in coordinates(dense(g, x))])
        return rows

    def by_forward(self) -> Matrix:
        return self._transpose([self.push(d) for d in self.directions()])

    def push(self, direction: list[list[float]]) -> list[float]:
        """The tangents of the outputs along a direction."""
        primals = tuple(x.detach() for x in self.inputs)
        tangents = tuple(from_coordinates(d, x) for d, x in zip(direction, self.inputs, strict=True))
        _, out = pb.func.jvp(lambda *values: self.evaluate(list(values)), primals, tangents)
        return [c for t in out for c in coordinates(t)]

    def by_batched_backward(self) -> Matrix:
        inputs, tracked = self.tracked()
        found = dict(tracked)
        rows: Matrix = []
        for i, like in enumerate(self.outputs[r] for r in self.rows):
            n = size(like)
            if i not in found or not n:
                rows += [[0.0] * sum(size(x) for x in inputs)] * n
                continue
            basis = pb.stack([unit(j, like) for j in range(n)])
            _, pull = pb.func.vjp(lambda *values, i=i: self.evaluate(list(values))[i], *[x.detach() for x in inputs])
            grads = pb.func.vmap(pull)(basis)
            for j in range(n):
                rows.append([c for g in grads for c in coordinates(g[j])])
        return rows

    def by_batched_forward(self) -> Matrix:
        directions = self.directions()
        primals = tuple(x.detach() for x in self.inputs)
        tangents = tuple(pb.stack([from_coordinates(d[i], x) for d in directions]) for i, x in enumerate(self.inputs))
        push = lambda *t: pb.func.jvp(lambda *values: self.evaluate(list(values)), primals, t)[1]
        columns = pb.func.vmap(push)(*tangents)
        return self._transpose([[c for t in columns for c in coordinates(t[k])] for k in range(len(directions))])

    def check_repeatable(self) -> None:
        first, second = self.by_backward(), self.by_backward()
        worst = max(
            (abs(a - b) for r, s in zip(first, second, strict=True) for a, b in zip(r, s, strict=True)), default=0.0
        )
        if worst > self.tolerance.nondet:
            raise GradcheckError(
                f"gradcheck(): two backward passes of the same inputs differ by {worst}, "
                f"allowed {self.tolerance.nondet}"
            )

    def check_lone_outputs(self) -> None:
        """All outputs together with cotangents, and each without the others: sums must agree."""
        inputs, tracked = self.tracked()
        if len(tracked) < 2:
            return
        ones = [pb.ones_like(y) for _, y in tracked]
        together = gradients([y for _, y in tracked], inputs, tuple(ones), retain_graph=True)
        total = [pb.zeros_like(x) for x in inputs]
        for (_, y), one in zip(tracked, ones, strict=True):
            alone = gradients([y], inputs, (one,), retain_graph=True)
            total = [t + dense(g, x) for t, g, x in zip(total, alone, inputs, strict=True)]
        for g, t, x in zip(together, total, inputs, strict=True):
            for a, b in zip(coordinates(dense(g, x)), coordinates(t), strict=True):
                if abs(a - b) > self.tolerance.atol + self.tolerance.rtol * abs(b):
                    raise GradcheckError(
                        "gradcheck(): backward gives something else when some outputs have no cotangent; "
                        "it must treat an undefined cotangent as zeros"
                    )

    def check_dtypes(self) -> None:
        inputs, tracked = self.tracked()
        grads = gradients([y for _, y in tracked], inputs, tuple(pb.ones_like(y) for _, y in tracked))
        for i, (g, x) in enumerate(zip(grads, inputs, strict=True)):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(f"gradcheck(): the gradient of input {i} is {g.dtype}, the input {x.dtype}")

    def _check_shapes(self, grads: Sequence[Any]) -> None:
        for i, (g, x) in enumerate(zip(grads, self.inputs, strict=True)):
            if g is not None and g.shape != x.shape:
                raise GradcheckError(f"gradcheck(): the gradient of input {i} has shape {g.shape}, the input {x.shape}")

    def pull(self, u: list[list[float]], v: list[float]) -> float:
        """The product ``v.T @ J @ u`` by one backward pass."""
        inputs, tracked = self.tracked()
        if not tracked:
            return 0.0
        found, cotangents, start = dict(tracked), [], 0
        for i, like in enumerate(self.outputs[r] for r in self.rows):
            part, start = v[start : start + size(like)], start + size(like)
            if i in found:
                cotangents.append(from_coordinates(part, like))
        grads = gradients(list(found.values()), inputs, tuple(cotangents))
        pairs = [(coordinates(dense(g, x)), d) for g, x, d in zip(grads, inputs, u, strict=True)]
        return sum(a * b for g, d in pairs for a, b in zip(g, d, strict=True))


def direction(n: int) -> list[float]:
    """Fixed numbers between -1 and 1, so that a check repeats and leaves the state of the generator alone."""
    return [((i + 1) * 0.6180339887498949 % 1.0) * 2 - 1 for i in range(n)]
