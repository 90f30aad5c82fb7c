"""`assert_composite_compliant`: whether a function and its rules are made of operators only."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pullback as pb

from ._arguments import Function, Sample

__all__ = ["assert_composite_compliant"]

_PACKAGE = str(Path(pb.__file__).parent)
_ALL_SUBSETS = 4


def assert_composite_compliant(f: Function, *args: Any, **kwargs: Any) -> None:
    """Raises unless `f` and its derivative rules are made of operators.

    A composite, or a rule of a custom function, must not read the data of its arguments, branch on their values, or
    write to them in place: under a transform they are wrapped, and have no data of their own. `f` runs with each choice
    of wrapped arguments, then its backward formula, with arguments and cotangents wrapped, then its forward formula.

    Args:
        f: takes and returns pytrees of tensors.
        args, kwargs: sample arguments, at which `f` itself must succeed.

    Raises:
        AssertionError: telling the formula, which arguments were wrapped, and the operator and line at fault.

    >>> import pullback
    >>> x = pullback.ones(3)
    >>> pullback.testing.assert_composite_compliant(lambda x: pullback.where(x > 0, x, -x), x)
    >>> pullback.testing.assert_composite_compliant(lambda x: x if x.sum() > 0 else -x, x)
    Traceback (most recent call last):
    ...
    AssertionError: assert_composite_compliant(<lambda>): the function, with argument 0 wrapped, raised ...
    """
    sample = Sample(f, args, kwargs)
    if not sample.tensors:
        raise ValueError(f"assert_composite_compliant({sample.name}): expected a tensor among the arguments, got none")
    results = sample.outputs(sample.copies())
    check = _Check(sample.name)
    for wrapped in _subsets(len(sample.tensors)):
        check.run("the function", "argument", wrapped, sample.copies(), sample.outputs)
    if not sample.floats or not any(y.dtype.is_floating_point or y.dtype.is_complex for y in results):
        return
    points = sample.points()
    values = sample.of_floats(*points)
    n = len(points)

    def backward(tensors: Sequence[Any]) -> Any:
        found, pull = pb.func.vjp(sample.of_floats, *tensors[:n])
        assert len(found) == len(values)
        return pull(tuple(tensors[n:]))

    def forward(tensors: Sequence[Any]) -> Any:
        return pb.func.jvp(sample.of_floats, tuple(tensors[:n]), tuple(tensors[n:]))[1]

    cotangents = [pb.ones_like(y) for y in values]
    for wrapped in _subsets(n, len(cotangents)):
        check.run("the backward formula", "argument or cotangent", wrapped, [*points, *cotangents], backward)
    if not _has_forward(forward, points):
        return
    for wrapped in _subsets(n, n):
        tangents = [pb.ones_like(x) for x in points]
        check.run("the forward formula", "argument or tangent", wrapped, [*points, *tangents], forward)


def _has_forward(forward: Callable[[Sequence[Any]], Any], points: list[Any]) -> bool:
    """A function may lack a forward formula; then there is nothing to check."""
    try:
        forward([*points, *(pb.ones_like(x) for x in points)])
    except (NotImplementedError, RuntimeError) as e:
        if "jvp" in str(e) or "forward" in str(e):
            return False
        raise
    return True


def _subsets(n: int, further: int = 0) -> Iterator[tuple[int, ...]]:
    """Which tensors to wrap: any of the first n; and of further ones, none, all, or all alone."""
    rest = tuple(range(n, n + further))
    if n <= _ALL_SUBSETS:
        chosen = [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
    else:
        chosen = [*((k,) for k in range(n)), tuple(range(n))]
    yield from chosen
    if rest:
        yield rest
        yield from (s + rest for s in chosen)


class _Check:
    def __init__(self, name: str) -> None:
        self.name = name

    def run(
        self,
        formula: str,
        kind: str,
        wrapped: tuple[int, ...],
        tensors: list[Any],
        function: Callable[[Sequence[Any]], Any],
    ) -> None:
        """Runs a formula with some tensors wrapped: as the only member of a batch, which has no data to read."""
        chosen = ", ".join(map(str, wrapped))
        where = f"assert_composite_compliant({self.name}): {formula}, with {kind} {chosen} wrapped,"
        writes = _Writes()

        def inner(*members: Any) -> Any:
            given = list(tensors)
            for k, x in zip(wrapped, members, strict=True):
                given[k] = x
            versions = [x._version for x in given]
            with writes.watched():
                out = function(given)
            changed = [k for k, x in enumerate(given) if x._version != versions[k]]
            if changed:
                writes.found.append(f"{kind} {changed[0]}")
            return out

        try:
            pb.func.vmap(inner, randomness="different")(*[tensors[k].unsqueeze(0) for k in wrapped])
        except Exception as e:
            raise AssertionError(f"{where} raised {type(e).__name__}: {e}") from e
        if writes.found:
            raise AssertionError(
                f"{where} wrote in place to {writes.found[0]}; use the operator that gives a new tensor"
            )


class _Writes:
    """Watches the methods that the library calls, and what they write to among their own arguments."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._open: dict[FrameType, list[tuple[str, Any, int]]] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self._event)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and self._is_rule(frame):
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)]
            self._open[frame] = [(name, x, x._version) for name in names for x in _tensors(frame.f_locals.get(name))]
        elif event == "return":
            for name, x, version in self._open.pop(frame, ()):
                if x._version != version:
                    place = f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_firstlineno}"
                    self.found.append(f"argument {name!r} of {frame.f_code.co_name} ({place})")

    def _is_rule(self, frame: FrameType) -> bool:
        """A method with a ctx, or code outside of this package that the package calls."""
        code = frame.f_code
        if code.co_filename.startswith(_PACKAGE):
            return False
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        caller = frame.f_back
        return isinstance(first, pb.autograd.function.FunctionCtx) or (
            caller is not None and caller.f_code.co_filename.startswith(_PACKAGE)
        )


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, pb.Tensor):
        return [value]
    return [x for x in value if isinstance(x, pb.Tensor)] if isinstance(value, (tuple, list)) else []
