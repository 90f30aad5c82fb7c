"""`opcheck`: whether an operator was declared as it behaves."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pullback as pb
from pullback.testing import assert_close

from ._running import Tree
from .custom_ops import CustomOpDef

__all__ = ["DEFAULT_TEST_UTILS", "OpCheckError", "opcheck"]

DEFAULT_TEST_UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
    "test_vmap",
)


class OpCheckError(Exception):
    """Raised by `opcheck`."""


def opcheck(
    op: CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT_TEST_UTILS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Runs an operator made by `custom_op` on sample arguments and compares what it does with what was registered.

    - ``test_schema``: it writes to the arguments that it says, and its results are new.
    - ``test_autograd_registration``: arguments that require gradients get them, of the right shapes and dtypes.
    - ``test_faketensor``: the function of `register_fake` gives the shapes, dtypes and strides.
    - ``test_aot_dispatch_dynamic``: gradients by transforms are those by `backward`.
    - ``test_vmap``: the rule of `register_vmap`, if any, gives what a loop gives.

    Whether gradients are right is what `gradcheck` tells.

    Args:
        args, kwargs: sample arguments. Repeat it for different dtypes, shapes, and with requires_grad.
        test_utils: which of the tests to run.
        raise_exception: raise the first failure; otherwise it is in the result.
        atol, rtol: tolerances where values are compared.

    Returns:
        "SUCCESS" or an exception for each test.

    Raises:
        OpCheckError: if a test fails.
        ValueError: for unknown tests.

    >>> import pullback
    >>> @pullback.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: pullback.Tensor) -> pullback.Tensor:
    ...     return x * 2
    >>> pullback.library.opcheck(twice, (pullback.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    if not isinstance(op, CustomOpDef):
        raise ValueError(f"opcheck(): argument 'op' expected an operator made by custom_op(), got {type(op).__name__}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := [n for n in names if n not in _TESTS]:
        raise ValueError(f"opcheck(): argument 'test_utils' expected some of {sorted(_TESTS)}, got {unknown}")
    sample = _Sample(op, args, kwargs or {}, {} if atol is None and rtol is None else {"atol": atol, "rtol": rtol})
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](sample)
            results[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                hint = "pass raise_exception=False to see all results"
                raise OpCheckError(f"opcheck({op._qualname}, ...): {name} failed with {e} ({hint})") from e
            results[name] = e
    return results


class _Sample:
    """An operator and arguments, of which each run gets fresh copies."""

    def __init__(
        self, op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any], tolerance: Mapping[str, Any]
    ) -> None:
        self.op, self.tolerance = op, tolerance
        self.tree = Tree(op._schema.bind(tuple(args), kwargs))
        self.tensors = self.tree.tensors
        self.varied = [k for k, x in enumerate(self.tensors) if x.requires_grad]

    def run(self, tensors: Sequence[Any], function: Callable[..., Any] | None = None) -> Any:
        n = len(self.op._schema.positional)
        values = self.tree.fill(tensors)
        names = [p.name for p in self.op._schema.keywords]
        return (function or self.op)(*values[:n], **dict(zip(names, values[n:], strict=True)))

    def results(self, tensors: Sequence[Any]) -> list[Any]:
        output = self.run(tensors)
        return Tree(tuple(output) if isinstance(output, (tuple, list)) else (output,)).tensors

    def fresh(self, grad: bool = False) -> list[Any]:
        return [
            x.detach().clone().requires_grad_() if grad and x.requires_grad else x.detach().clone()
            for x in self.tensors
        ]

    def differentiable(self) -> bool:
        return bool(self.varied) and self.op._backward is not None

    def of_varied(self, *values: Any) -> tuple[Any, ...]:
        tensors = self.fresh()
        for k, v in zip(self.varied, values, strict=True):
            tensors[k] = v
        return tuple(y for y in self.results(tensors) if y.dtype.is_floating_point or y.dtype.is_complex)


def _schema(sample: _Sample) -> None:
    given, before = sample.fresh(), sample.fresh()
    sample.results(given)  # the call itself checks what it returns, and that nothing is aliased
    numbers = sample.tree.fill(range(len(given)), plain=False)
    for i, p in enumerate(sample.op._schema.parameters):
        places = numbers[i] if isinstance(numbers[i], list) else [numbers[i]]
        for k in places:
            if k is not None and not p.alias and not _identical(given[k], before[k]):
                raise OpCheckError(
                    f"Argument {p.name} is not defined as mutable but was mutated; name it in mutates_args"
                )


def _identical(a: Any, b: Any) -> bool:
    try:
        assert_close(a, b, rtol=0.0, atol=0.0, equal_nan=True, check_stride=True)
    except AssertionError:
        return False
    return True


def _gradients(sample: _Sample) -> tuple[list[Any], tuple[Any, ...]]:
    tensors = sample.fresh(grad=True)
    outputs = [y for y in sample.results(tensors) if y.dtype.is_floating_point or y.dtype.is_complex]
    outputs = [y for y in outputs if y.requires_grad]
    inputs = [tensors[k] for k in sample.varied]
    if not outputs:
        return inputs, (None,) * len(inputs)
    ones = tuple(pb.ones_like(y) for y in outputs)
    return inputs, pb.autograd.grad(tuple(outputs), inputs, ones, allow_unused=True)


def _autograd_registration(sample: _Sample) -> None:
    if not sample.differentiable():
        return
    inputs, grads = _gradients(sample)
    if all(g is None for g in grads):
        raise OpCheckError("arguments require gradients, and an autograd formula is registered, but no result has any")
    for x, g in zip(inputs, grads, strict=True):
        if g is not None and (g.shape != x.shape or g.dtype != x.dtype):
            raise OpCheckError(f"a gradient is {g.dtype} {tuple(g.shape)}, its argument {x.dtype} {tuple(x.shape)}")


def _fake(sample: _Sample) -> None:
    op = sample.op
    if op._fake is None:
        raise OpCheckError(
            f"There was no fake impl registered for {op!r}. Please use `{op._name}.register_fake` to add a fake impl."
        )
    real = sample.results(sample.fresh())
    output = sample.run([pb.zeros_like(x) for x in sample.fresh()], op._fake)
    fake = Tree(tuple(output) if isinstance(output, (tuple, list)) else (output,)).tensors
    if len(real) != len(fake):
        raise OpCheckError(f"the fake impl gives {len(fake)} tensors, the operator {len(real)}")
    for i, (r, f) in enumerate(zip(real, fake, strict=True)):
        for what in ("shape", "dtype", "stride"):
            a, b = (getattr(x, what)() if what == "stride" else getattr(x, what) for x in (r, f))
            # Strides of dimensions of size 1 lead nowhere.
            if a != b and (what != "stride" or _steps(r) != _steps(f)):
                raise OpCheckError(f"result {i} of the fake impl has {what} {b}, that of the operator {a}")


def _steps(x: Any) -> list[int]:
    return [step for step, n in zip(x.stride(), x.shape, strict=True) if n > 1 and x.numel()]


def _transforms(sample: _Sample) -> None:
    if not sample.differentiable():
        return
    _, expected = _gradients(sample)
    values, pull = pb.func.vjp(sample.of_varied, *[x.detach().clone() for x in _varied(sample)])
    found = pull(tuple(pb.ones_like(y) for y in values))
    for g, e, x in zip(found, expected, _varied(sample), strict=True):
        assert_close(g, pb.zeros_like(x) if e is None else e, **sample.tolerance)


def _varied(sample: _Sample) -> list[Any]:
    return [sample.tensors[k].detach() for k in sample.varied]


def _vmap(sample: _Sample) -> None:
    op = sample.op
    if op._vmap is None or op._schema.mutated:
        return
    for k, x in enumerate(sample.tensors):
        for dim in (0, -1):
            one = functools.partial(_member, sample, k)
            batch = pb.stack([x.detach(), x.detach().flip(0) if x.dim() else x.detach()], dim)
            with _quietly():
                found = pb.func.vmap(one, in_dims=dim, randomness="different")(batch)
            members = [one(batch.select(dim, i).clone()) for i in range(2)]
            expected = tuple(pb.stack(column) for column in zip(*members, strict=True))
            assert_close(found, expected, **sample.tolerance)


def _member(sample: _Sample, k: int, x: Any) -> tuple[Any, ...]:
    tensors = sample.fresh()
    tensors[k] = x
    return tuple(sample.results(tensors))


@contextlib.contextmanager
def _quietly() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_TESTS: dict[str, Callable[[_Sample], None]] = {
    "test_schema": _schema,
    "test_autograd_registration": _autograd_registration,
    "test_faketensor": _fake,
    "test_aot_dispatch_dynamic": _transforms,
    "test_vmap": _vmap,
}
