"""Checks of functions by their properties: `check_vmap`, `check_pure`, `check_function`."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pullback as pb
from pullback import _core
from pullback.autograd._jacobians import coordinates, dot
from pullback.utils.pytree import tree_flatten, tree_leaves, tree_unflatten

from ._arguments import Function, Sample, name_of
from ._comparison import assert_close

_own: Any = _core

__all__ = ["check_function", "check_pure", "check_vmap"]

_ALL_COMBINATIONS = 4  # of tensors; with more of them, each is batched alone, and all together


def check_vmap(
    f: Function,
    *args: Any,
    batch_size: int = 3,
    randomness: str = "error",
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> None:
    """Compares ``vmap(f)`` with a loop over the members, for every choice of `in_dims`, and for several `out_dims`.

    Args:
        f: takes and returns pytrees of tensors.
        args, kwargs: the arguments of one member. The others are made of them: floating point numbers shrink a little,
            so that they stay in the domain of most functions, and integers are rotated.
        batch_size: the number of members.
        randomness: that of `vmap`; for "same", each member of the loop draws the same numbers.
        rtol, atol: tolerances, by default those of `assert_close`.

    Raises:
        AssertionError: if something differs, or raises under `vmap`. The message tells `in_dims` and `out_dims`.
        ValueError: if there are no tensors among the arguments.

    >>> import pullback
    >>> pullback.testing.check_vmap(lambda x, y: x @ y, pullback.rand(3), pullback.rand(3, 2))
    """
    sample = Sample(f, args, kwargs)
    if not sample.tensors:
        raise ValueError(f"check_vmap({sample.name}): expected a tensor among the arguments, got none")
    members = [[_member(x, k, batch_size) for x in sample.tensors] for k in range(batch_size)]
    batch = _Batch(sample, members, randomness, {"rtol": rtol, "atol": atol, "equal_nan": True})
    for dims in _choices(sample.tensors):
        batch.compare(dims, 0)
    front = (0,) * len(sample.tensors)
    batch.compare(front, -1)
    batch.compare_twice(front)
    _Batch(sample, members[:1], randomness, batch.options).compare(front, 0)


def _member(x: Any, k: int, n: int) -> Any:
    x = x.detach().clone()
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return x * (1 - k / (4 * n))
    return x.reshape(-1).roll(k).reshape(x.shape)


def _choices(tensors: Sequence[Any]) -> Iterator[tuple[int | None, ...]]:
    n = len(tensors)
    if n <= _ALL_COMBINATIONS:
        options = [(0, -1, None) if x.dim() else (0, None) for x in tensors]
        yield from (dims for dims in itertools.product(*options) if any(d is not None for d in dims))
        return
    yield (0,) * n
    yield (-1,) * n
    for k in range(n):
        yield tuple(0 if i == k else None for i in range(n))


class _Batch:
    def __init__(self, sample: Sample, members: list[list[Any]], randomness: str, options: dict[str, Any]) -> None:
        self.sample, self.members, self.randomness, self.options = sample, members, randomness, options
        self.spec: Any = None
        self.places: list[int] = []

    def _flat(self, *tensors: Any) -> tuple[Any, ...]:
        """The tensors of the result."""
        leaves, self.spec = tree_flatten(self.sample.call(tensors))
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, pb.Tensor)]
        return tuple(leaves[i] for i in self.places)

    def _tree(self, tensors: Sequence[Any]) -> Any:
        """The result again, with None in place of what is no tensor."""
        leaves: list[Any] = [None] * self.spec.num_leaves
        for place, x in zip(self.places, tensors, strict=True):
            leaves[place] = x
        return tree_unflatten(leaves, self.spec)

    def compare(self, dims: tuple[int | None, ...], out_dim: int) -> None:
        where = f"check_vmap({self.sample.name}) with in_dims={dims}, out_dims={out_dim}"
        own = [[m[i] if d is not None else self.members[0][i] for i, d in enumerate(dims)] for m in self.members]
        state = _own._rng_bytes()
        rows = []
        for member in own:
            if self.randomness == "same":
                pb.set_rng_state(state)
            rows.append(self._flat(*[x.clone() for x in member]))
        expected = tuple(pb.stack(column, out_dim) for column in zip(*rows, strict=True))
        arguments = [
            x.clone() if d is None else pb.stack([m[i] for m in own], d)
            for i, (d, x) in enumerate(zip(dims, own[0], strict=True))
        ]
        pb.set_rng_state(state)
        transformed = pb.func.vmap(self._flat, in_dims=dims, out_dims=out_dim, randomness=self.randomness)
        self._same(where, lambda: transformed(*arguments), expected)

    def compare_twice(self, dims: tuple[int, ...]) -> None:
        """A batch of batches."""
        if self.randomness == "same":
            return
        once = pb.func.vmap(self._flat, randomness=self.randomness)
        arguments = [pb.stack([m[i] for m in self.members]) for i in range(len(dims))]
        expected = tuple(pb.stack([y, y]) for y in once(*arguments))
        twice = pb.func.vmap(once, randomness=self.randomness)
        where = f"check_vmap({self.sample.name}) of a batch of batches"
        self._same(where, lambda: twice(*[pb.stack([x, x]) for x in arguments]), expected)

    def _same(self, where: str, run: Callable[[], Any], expected: Any) -> None:
        try:
            found = run()
        except Exception as e:
            raise AssertionError(f"{where}: vmap raised {type(e).__name__}, a loop does not: {e}") from e
        assert_close(
            self._tree(found),
            self._tree(expected),
            msg=lambda text: f"{where}: vmap differs from a loop: {text}",
            **self.options,
        )


def check_pure(f: Function, *args: Any, **kwargs: Any) -> None:
    """Raises unless `f` is a function of its arguments alone, and does nothing else.

    It must give the same results twice, leave its arguments, the tensors that it captures, the random generator and the
    modes as they were, and keep none of its arguments.

    Raises:
        AssertionError: telling what was changed or kept.

    >>> import pullback
    >>> pullback.testing.check_pure(lambda x: x * 2, pullback.ones(3))
    >>> pullback.testing.check_pure(lambda x: x.mul_(2), pullback.ones(3))
    Traceback (most recent call last):
    ...
    AssertionError: check_pure(<lambda>): argument 0 was written to
    """
    sample = Sample(f, args, kwargs)
    where = f"check_pure({sample.name})"
    captured = _captured(f)
    before = {name: (x._version, x.detach().clone()) for name, x in captured.items()}
    modes, state = _modes(), _own._rng_bytes()
    given = sample.copies()
    versions = [x._version for x in given]
    first = sample.call(given)
    for i, (x, old, version) in enumerate(zip(given, sample.tensors, versions, strict=True)):
        if x._version != version or not _identical(x, old.detach()):
            raise AssertionError(f"{where}: argument {i} was written to")
    for name, (version, old) in before.items():
        if captured[name]._version != version or not _identical(captured[name].detach(), old):
            raise AssertionError(f"{where}: the captured tensor {name!r} was written to")
    if _own._rng_bytes() != state:
        raise AssertionError(f"{where}: random numbers were drawn from the default generator")
    if (now := _modes()) != modes:
        raise AssertionError(f"{where}: the modes were changed from {modes} to {now}")
    second = sample.call(sample.copies())
    if tree_flatten(first)[1] != tree_flatten(second)[1] or not all(
        _identical(a, b) for a, b in zip(tree_leaves(first), tree_leaves(second), strict=True)
    ):
        raise AssertionError(f"{where}: a second call with equal arguments gives another result")
    kept = [weakref.ref(x) for x in given]
    del first, second, given, x
    gc.collect()
    if held := [i for i, ref in enumerate(kept) if ref() is not None]:
        raise AssertionError(f"{where}: argument {held[0]} is kept after the call")


def _modes() -> dict[str, Any]:
    return {"grad mode": pb.is_grad_enabled(), "default dtype": pb.get_default_dtype()}


def _identical(a: Any, b: Any) -> bool:
    try:
        assert_close(a, b, rtol=0.0, atol=0.0, equal_nan=True)
    except TypeError:
        return a is b or bool(a == b)
    except AssertionError:
        return False
    return True


def _captured(f: Function) -> dict[str, Any]:
    """The tensors that a function can reach by its closure, its globals and its defaults."""
    code = getattr(f, "__code__", None)
    if code is None:
        return {}
    found = dict(zip(code.co_freevars, (_content(c) for c in f.__closure__ or ()), strict=True))
    found.update((name, f.__globals__.get(name)) for name in code.co_names)
    found.update((f"default {i}", x) for i, x in enumerate(f.__defaults__ or ()))
    return {name: x for name, x in found.items() if isinstance(x, pb.Tensor)}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def check_function(
    f: Function,
    *args: Any,
    second_order: bool = True,
    batched: bool = True,
    pure: bool = True,
    nondet_tol: float = 0.0,
    rtol: float = 1e-3,
    atol: float = 1e-5,
    **kwargs: Any,
) -> None:
    """Checks all that transforms rely on, at sample arguments.

    - Derivatives of first and second order in both modes agree with differences, also for batches of cotangents.
    - Forward and reverse mode are adjoint to each other, and gradients have the dtypes of their arguments.
    - `vmap` of the function and of its gradient equals a loop.
    - Results do not depend on how the arguments lie in memory.
    - The function is pure: see `check_pure`.

    Args:
        f: takes and returns pytrees of tensors.
        args, kwargs: sample arguments, float64 where they are differentiable.
        second_order: whether to check second derivatives.
        batched: whether to check `vmap`.
        pure: whether to run `check_pure`.
        nondet_tol, rtol, atol: tolerances for derivatives, as in `gradcheck`.

    Raises:
        AssertionError: if something does not hold.

    >>> import pullback
    >>> x = pullback.tensor([0.5, 1.5], dtype=pullback.float64)
    >>> pullback.testing.check_function(lambda x, n: {"y": x.sin() ** n}, x, 2)
    """
    sample = Sample(f, args, kwargs)
    if pure:
        check_pure(f, *args, **kwargs)
    _check_layouts(sample)
    if batched and sample.tensors:
        check_vmap(f, *args, **kwargs)
    points = [x.requires_grad_() for x in sample.points()]
    if not points or not any(y.requires_grad for y in sample.of_floats(*points)):
        return
    tolerance: dict[str, Any] = {"rtol": rtol, "atol": atol, "nondet_tol": nondet_tol}
    name = f"check_function({name_of(f)})"
    try:
        pb.autograd.gradcheck(
            sample.of_floats,
            points,
            check_forward_ad=True,
            check_grad_dtypes=True,
            check_batched_grad=batched,
            check_batched_forward_grad=batched,
            **tolerance,
        )
        if second_order:
            pb.autograd.gradgradcheck(
                sample.of_floats, points, check_fwd_over_rev=True, check_batched_grad=batched, **tolerance
            )
    except pb.autograd.GradcheckError as e:
        raise AssertionError(f"{name}: {e}") from e
    _check_adjoint(name, sample)
    if batched:
        check_vmap(_named(f"gradient of {sample.name}", _gradient(sample)), *sample.points())


def _named(name: str, f: Function) -> Function:
    f.__name__ = name
    return f


def _gradient(sample: Sample) -> Function:
    def gradient(*points: Any) -> Any:
        values, pull = pb.func.vjp(sample.of_floats, *points)
        return pull(tuple(y.cos() for y in values))

    return gradient


def _check_layouts(sample: Sample) -> None:
    """Arguments whose elements lie apart."""
    expected = sample.outputs(sample.copies())
    apart = [pb.stack([x, x], -1)[..., 0] for x in sample.copies()]
    found = sample.outputs(apart)
    where = f"check_function({sample.name}): results depend on the strides of the arguments: "
    assert_close(found, expected, equal_nan=True, msg=lambda text: where + text)


def _check_adjoint(name: str, sample: Sample) -> None:
    """The inner products <v, J u> and <J.T v, u> are equal."""
    points = sample.points()
    generator = pb.Generator().manual_seed(0)
    values, pull = pb.func.vjp(sample.of_floats, *points)
    us, vs = ([pb.randn(x.shape, dtype=x.dtype, generator=generator) for x in xs] for xs in (points, values))
    _, pushed = pb.func.jvp(sample.of_floats, tuple(points), tuple(us))
    ahead = sum(dot(coordinates(v), coordinates(t)) for v, t in zip(vs, pushed, strict=True))
    behind = sum(dot(coordinates(g), coordinates(u)) for g, u in zip(pull(tuple(vs)), us, strict=True))
    text = f"{name}: forward mode is not the adjoint of reverse mode: "
    assert_close(ahead, behind, rtol=1e-7, atol=1e-9, msg=lambda reason: text + reason)
