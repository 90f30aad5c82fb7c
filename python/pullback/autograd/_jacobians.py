"""Jacobians as matrices of Python numbers: by differences, by backward, by forward, and batched.

Everything is in real coordinates: a complex element counts as two numbers, its real and imaginary part. The gradient
convention makes both sides real matrices then: for a cotangent v and a gradient g, ``Re(conj(v) du) = Re(conj(g) dz)``.
A Jacobian is a dict of blocks, one for each pair of an output and a varied input, by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pullback as pb

from .._warnings import warn

Vector = list[float]
Matrix = list[Vector]
Jacobian = dict[tuple[int, int], Matrix]
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


def coordinates(x: Any) -> Vector:
    values = x.detach().reshape(-1).tolist()
    return [part for z in values for part in (z.real, z.imag)] if x.dtype.is_complex else [float(v) for v in values]


def from_coordinates(numbers: Vector, like: Any) -> Any:
    values: list[Any] = list(numbers)
    if like.dtype.is_complex:
        values = [complex(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return pb.tensor(values, dtype=like.dtype).reshape(like.shape)


def size(x: Any) -> int:
    return int(x.numel()) * (2 if x.dtype.is_complex else 1)


def unit(n: int, i: int) -> Vector:
    numbers = [0.0] * n
    numbers[i] = 1.0
    return numbers


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def transposed(columns: Matrix, rows: int) -> Matrix:
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(rows)]


def directions(tensors: Sequence[Any]) -> list[Vector]:
    """Random unit vectors, the same at each call; they leave the state of the generator alone."""
    generator = pb.Generator().manual_seed(0)
    found = []
    for x in tensors:
        v = pb.randn(size(x), generator=generator, dtype=pb.float64)
        found.append((v / v.norm()).tolist() if size(x) else [])
    return found


def varied_places(arguments: tuple[Any, ...], function: str) -> list[int]:
    varied = [i for i, x in enumerate(arguments) if isinstance(x, pb.Tensor) and x.requires_grad]
    if not varied:
        raise ValueError(
            f"{function} expects at least one input tensor to require gradient, but none of them has requires_grad=True"
        )
    for i in varied:
        if arguments[i].dtype not in (pb.float64, pb.complex128):
            warn(
                f"{function}(): Input #{i} requires gradient and is not a double precision floating point or complex, "
                f"but {arguments[i].dtype}. This check will likely fail, because differences drown in rounding."
            )
    return varied


def is_differentiable(x: Any) -> bool:
    return bool(x.dtype.is_floating_point or x.dtype.is_complex)


def differentiable(outputs: Any, everything: bool = False) -> tuple[Any, ...]:
    """The outputs that require gradients, or all that could."""
    return tuple(y for y in as_tuple(outputs) if is_differentiable(y) and (everything or y.requires_grad))


def gradients(outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Any, **kwargs: Any) -> tuple[Any, ...]:
    if not outputs:
        return (None,) * len(inputs)
    return tuple(pb.autograd.grad(tuple(outputs), tuple(inputs), cotangents, allow_unused=True, **kwargs))


def dense(grad: Any, like: Any) -> Any:
    return pb.zeros_like(like) if grad is None else grad


def writable(x: Any) -> Any:
    """The tensor itself; one with memory for each element where it is expanded, since a write would move several."""
    shared = any(stride == 0 and n > 1 for stride, n in zip(x.stride(), x.shape, strict=True))
    return x.detach().clone(memory_format=pb.contiguous_format).requires_grad_() if shared else x


@contextmanager
def elements(x: Any, numbers: Vector) -> Iterator[None]:
    """Other elements in a tensor, for a while: a function may read it as the object that it knows."""
    before = x.detach().clone()
    x.data.copy_(from_coordinates(numbers, x))
    try:
        yield
    finally:
        x.data.copy_(before)


class Problem:
    """A function and its Jacobian. Rows belong to output coordinates, columns to input coordinates.

    The function gets the caller's own tensors, but in forward mode: it may know them as objects or by their class, and
    read them past its arguments, as a module does its parameters.
    """

    def __init__(self, func: Function, inputs: Any, tolerance: Tolerance) -> None:
        self.func, self.arguments, self.tolerance = func, list(as_tuple(inputs)), tolerance
        self.places = varied_places(as_tuple(inputs), "gradcheck")
        for i in self.places:
            self.arguments[i] = writable(self.arguments[i])
        self.inputs = [self.arguments[i] for i in self.places]
        outputs = as_tuple(func(*self.arguments))
        if not all(isinstance(y, pb.Tensor) for y in outputs):
            raise ValueError("gradcheck(): the function must return a tensor or a sequence of tensors")
        # Outputs marked as not differentiable are left alone; but if none is differentiable, none may vary.
        candidates = [i for i, y in enumerate(outputs) if is_differentiable(y)]
        self.followed = [i for i in candidates if outputs[i].requires_grad]
        self.rows = self.followed or candidates
        self.outputs = [outputs[i] for i in self.rows]

    # ------------------------------------------------------------ the function
    def evaluate(self, values: Sequence[Any]) -> tuple[Any, ...]:
        arguments = list(self.arguments)
        for place, value in zip(self.places, values, strict=True):
            arguments[place] = value
        outputs = as_tuple(self.func(*arguments))
        return tuple(outputs[i] for i in self.rows)

    def primals(self) -> tuple[Any, ...]:
        return tuple(x.detach().clone() for x in self.inputs)

    def blocks(self) -> list[tuple[int, int]]:
        return [(i, j) for i in self.rows for j in self.places]

    # ------------------------------------------------------------ differences
    def _moved(self, j: int, step: Vector, sign: float) -> list[Vector]:
        here = coordinates(self.inputs[j])
        with elements(self.inputs[j], [b + sign * self.tolerance.eps * s for b, s in zip(here, step, strict=True)]):
            return [coordinates(y) for y in self.evaluate(self.inputs)]

    def difference(self, j: int, direction: Vector) -> list[Vector]:
        """The central difference of each output along a direction of the j-th varied input."""
        ahead, behind = self._moved(j, direction, 1), self._moved(j, direction, -1)
        return [
            [(a - b) / (2 * self.tolerance.eps) for a, b in zip(*pair, strict=True)]
            for pair in zip(ahead, behind, strict=True)
        ]

    def _by_columns(self, column: Callable[[int, Vector], list[Vector]]) -> Jacobian:
        found: Jacobian = {}
        for j, x in enumerate(self.inputs):
            columns = [column(j, unit(size(x), c)) for c in range(size(x))]
            for k, (i, y) in enumerate(zip(self.rows, self.outputs, strict=True)):
                found[i, self.places[j]] = transposed([c[k] for c in columns], size(y))
        return found

    def by_differences(self) -> Jacobian:
        return self._by_columns(self.difference)

    # ------------------------------------------------------------ reverse mode
    def tracked(self) -> list[tuple[int, Any]]:
        """The outputs that depend on the inputs, with their numbers among the rows."""
        return [(k, y) for k, y in enumerate(self.evaluate(self.inputs)) if y.requires_grad]

    def pull(self, output: Any, cotangent: Vector) -> list[Vector]:
        """The gradients of the inputs, for a cotangent of an output."""
        grads: Sequence[Any] = [None] * len(self.inputs)
        if output is not None:
            grads = gradients([output], self.inputs, (from_coordinates(cotangent, output),), retain_graph=True)
        for g, x, place in zip(grads, self.inputs, self.places, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError(
                    f"gradcheck(): Analytical gradient has incorrect size: {tuple(g.shape)} for input {place} of size "
                    f"{tuple(x.shape)}"
                )
        return [coordinates(dense(g, x)) for g, x in zip(grads, self.inputs, strict=True)]

    def by_backward(self) -> Jacobian:
        found = dict(self.tracked())
        jacobian: Jacobian = {}
        for k, (i, y) in enumerate(zip(self.rows, self.outputs, strict=True)):
            rows = [self.pull(found.get(k), unit(size(y), c)) for c in range(size(y))]
            for j, place in enumerate(self.places):
                jacobian[i, place] = [row[j] for row in rows]
        return jacobian

    def by_batched_backward(self) -> Jacobian:
        found = dict(self.tracked())
        jacobian: Jacobian = {}
        for k, (i, y) in enumerate(zip(self.rows, self.outputs, strict=True)):
            n = size(y)
            rows = [[[0.0] * size(x) for x in self.inputs] for _ in range(n)]
            if n and k in found:
                basis = pb.stack([from_coordinates(unit(n, c), y) for c in range(n)])
                grads = gradients([found[k]], self.inputs, (basis,), retain_graph=True, is_grads_batched=True)
                for c in range(n):
                    rows[c] = [
                        coordinates(dense(g if g is None else g[c], x)) for g, x in zip(grads, self.inputs, strict=True)
                    ]
            for j, place in enumerate(self.places):
                jacobian[i, place] = [row[j] for row in rows]
        return jacobian

    # ------------------------------------------------------------ forward mode
    def push(self, j: int, direction: Vector) -> list[Vector]:
        """The tangents of the outputs along a direction of the j-th varied input."""
        primals = self.primals()
        tangents = tuple(from_coordinates(direction, x) if k == j else pb.zeros_like(x) for k, x in enumerate(primals))
        _, out = pb.func.jvp(lambda *values: self.evaluate(values), primals, tangents)
        return [coordinates(t) for t in out]

    def by_forward(self) -> Jacobian:
        return self._by_columns(self.push)

    def _pairs(self) -> list[list[Vector]]:
        """Two random directions of each varied input."""
        return [list(pair) for pair in zip(directions(self.inputs), directions(self.inputs[::-1])[::-1], strict=True)]

    def by_some_directions(self) -> Jacobian:
        """The derivatives along a few directions of each input, in place of columns."""
        return self._by_directions(lambda j, pair: [self.push(j, u) for u in pair])

    def by_batched_forward(self) -> Jacobian:
        """The same for all directions of an input at once."""
        primals = self.primals()

        def columns(j: int, pair: list[Vector]) -> list[list[Vector]]:
            def push(t: Any) -> Any:
                tangents = tuple(t if k == j else pb.zeros_like(x) for k, x in enumerate(primals))
                return pb.func.jvp(lambda *values: self.evaluate(values), primals, tangents)[1]

            batch = pb.stack([from_coordinates(u, self.inputs[j]) for u in pair])
            tangents = pb.func.vmap(push)(batch)
            return [[coordinates(t[c]) for t in tangents] for c in range(len(pair))]

        return self._by_directions(columns)

    def _by_directions(self, columns: Callable[[int, list[Vector]], list[list[Vector]]]) -> Jacobian:
        jacobian: Jacobian = {}
        for j, (x, pair) in enumerate(zip(self.inputs, self._pairs(), strict=True)):
            found = columns(j, pair) if size(x) else []
            for k, (i, y) in enumerate(zip(self.rows, self.outputs, strict=True)):
                jacobian[i, self.places[j]] = transposed([c[k] for c in found], size(y))
        return jacobian
