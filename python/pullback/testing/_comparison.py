"""`assert_close`: equality up to rounding, of tensors, numbers and containers of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pullback as pb

# (rtol, atol) by dtype, as in PyTorch: half of the digits, about. Integers and bools are compared exactly.
_TOLERANCES: dict[Any, tuple[float, float]] = {
    pb.float16: (1e-3, 1e-5),
    pb.bfloat16: (1.6e-2, 1e-5),
    pb.float32: (1.3e-6, 1e-5),
    pb.complex64: (1.3e-6, 1e-5),
    pb.float64: (1e-7, 1e-7),
    pb.complex128: (1e-7, 1e-7),
}
_NUMBERS = {bool: pb.bool, int: pb.int64, float: pb.float64, complex: pb.complex128}


class _Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class _Different(Exception):
    """What differs; places in containers are put in front on the way out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.path = ""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises unless ``|actual - expected| <= atol + rtol * |expected|`` for each pair of elements.

    Both may be tensors, NumPy arrays, Python numbers, None, or sequences and mappings of these with equal keys.
    Tolerances are given both or neither; by default they depend on the dtype, and are zero for integers.

    Args:
        allow_subclasses: accept objects of related types; otherwise the types must be the same.
        equal_nan: let two NaN be equal.
        check_dtype, check_device, check_layout, check_stride: which properties of tensors must agree too.
        msg: replaces the message, or makes one of it.

    Raises:
        AssertionError: if something differs. The message names the first place, and how far it is off.
        ValueError: if only one of the tolerances is given.
        TypeError: for objects that cannot be compared.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"assert_close(): argument '{missing}' must be given too: both tolerances, or neither")
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        with pb.no_grad():
            _compare(actual, expected, options)
    except _Different as difference:
        text = difference.text + (f"\nThis is about item {difference.path}." if difference.path else "")
        text = text if msg is None else msg(text) if callable(msg) else msg
    else:
        return
    raise AssertionError(text)


def _compare(actual: Any, expected: Any, options: _Options) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise _Different(f"None mismatch: got {actual!r}, expected {expected!r}")
    elif type(actual) in _NUMBERS and type(expected) in _NUMBERS:
        _compare_numbers(actual, expected, options)
    elif _is_array(actual) and _is_array(expected):
        _compare_tensors(*_as_tensors(actual, expected, options), options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_mappings(actual, expected, options)
    elif _is_sequence(actual) and _is_sequence(expected):
        _compare_sequences(actual, expected, options)
    else:
        raise _incomparable(actual, expected)


def _incomparable(actual: Any, expected: Any) -> TypeError:
    return TypeError(f"assert_close(): cannot compare {type(actual).__name__} with {type(expected).__name__}")


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _is_ndarray(x: Any) -> bool:
    return any(c.__module__ == "numpy" and c.__name__ in ("ndarray", "generic") for c in type(x).__mro__)


def _is_array(x: Any) -> bool:
    return isinstance(x, pb.Tensor) or _is_ndarray(x)


def _compare_mappings(actual: Any, expected: Any, options: _Options) -> None:
    missing = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    if missing or extra:
        raise _Different(f"the keys of the mappings do not match: missing {missing}, unexpected {extra}")
    for key in expected:
        _compare_item(key, actual[key], expected[key], options)


def _compare_sequences(actual: Any, expected: Any, options: _Options) -> None:
    if len(actual) != len(expected):
        raise _Different(f"the lengths of the sequences do not match: got {len(actual)}, expected {len(expected)}")
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        _compare_item(i, a, e, options)


def _compare_item(key: Any, actual: Any, expected: Any, options: _Options) -> None:
    try:
        _compare(actual, expected, options)
    except _Different as difference:
        difference.path = f"[{key!r}]{difference.path}"
        raise


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Different(f"the types do not match: got {type(actual).__name__}, expected {type(expected).__name__}")
    rtol, atol = _tolerances(options, _NUMBERS[type(actual)], _NUMBERS[type(expected)])
    if _close(actual, expected, rtol, atol, options.equal_nan):
        return
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else math.inf
    raise _Different(
        f"scalars are not {_kind(rtol, atol)}: expected {expected!r}, got {actual!r}\n"
        f"absolute difference {difference!r}{_allowed(atol)}, relative difference {relative!r}{_allowed(rtol)}"
    )


def _close(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if actual != actual or expected != expected:
        return equal_nan and actual != actual and expected != expected
    difference = abs(actual - expected)
    return bool(math.isfinite(difference) and difference <= atol + rtol * abs(expected))


def _tolerances(options: _Options, *dtypes: Any) -> tuple[float, float]:
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    pairs = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _kind(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _allowed(tolerance: float) -> str:
    return f" (up to {tolerance} allowed)" if tolerance else ""


def _as_tensors(actual: Any, expected: Any, options: _Options) -> tuple[Any, Any]:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or (not options.allow_subclasses and type(actual) is not type(expected)):
        raise _incomparable(actual, expected)
    made = [x.detach() if isinstance(x, pb.Tensor) else pb.as_tensor(x) for x in (actual, expected)]
    return made[0], made[1]


def _compare_tensors(actual: Any, expected: Any, options: _Options) -> None:
    for name, wanted in [
        ("shape", True),
        ("device", options.check_device),
        ("dtype", options.check_dtype),
        ("layout", options.check_layout),
        ("stride", options.check_stride),
    ]:
        a, e = (getattr(x, name) for x in (actual, expected))
        if wanted and callable(a):
            a, e = a(), e()
        if wanted and a != e:
            raise _Different(f"the {name}s do not match: got {a}, expected {e}")
    rtol, atol = _tolerances(options, actual.dtype, expected.dtype)
    if actual.dtype.is_complex or expected.dtype.is_complex:
        bad, absolute, relative = _complex_errors(actual, expected, rtol, atol, options.equal_nan)
    else:
        bad, absolute, relative = _errors(actual, expected, rtol, atol, options.equal_nan)
    if bad:
        total = actual.numel()
        raise _Different(
            f"tensors are not {_kind(rtol, atol)}: {bad} of {total} elements differ ({100 * bad / total:.1f} %)\n"
            f"greatest absolute difference {_at(actual, *absolute)}{_allowed(atol)}, "
            f"greatest relative difference {_at(actual, *relative)}{_allowed(rtol)}"
        )


_Errors = tuple[int, tuple[float, int], tuple[float, int]]
_NONE: _Errors = (0, (0.0, 0), (0.0, 0))


def _errors(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> _Errors:
    """How many elements differ, and the greatest absolute and relative differences of those with their places."""
    dtype = pb.promote_types(actual.dtype, expected.dtype)
    equal = actual.to(dtype) == expected.to(dtype)
    if equal_nan and dtype.is_floating_point:
        equal = equal | ((actual != actual) & (expected != expected))
    if bool(equal.all()):
        return _NONE
    a, e = (x.to(pb.float64).reshape(-1) for x in (actual, expected))
    difference = (a - e).abs()
    # Infinite differences are no rounding: infinities pass only where they are equal.
    close = (difference <= atol + rtol * e.abs()) & (difference < math.inf) & (e.abs() < math.inf)
    # Without tolerances float64 must not decide: large integers may agree there and differ.
    bad = ~(equal.reshape(-1) | close) if rtol or atol else ~equal.reshape(-1)
    count = int(bad.sum().item())
    if not count:
        return _NONE
    difference = pb.where(bad, difference, pb.zeros_like(difference))
    return count, _greatest(difference), _greatest(difference / e.abs(), difference)


def _greatest(values: Any, where: Any | None = None) -> tuple[float, int]:
    """The largest value and its place; 0/0 of elements that do not count gives 0, NaN of those that do counts most."""
    if where is not None:
        values = pb.where(where == 0, pb.zeros_like(values), values)
    at = int(values.argmax().item())
    return float(values[at].item()), at


def _complex_errors(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> _Errors:
    absolute, relative, bad = (0.0, 0), (0.0, 0), 0
    pairs = zip(actual.reshape(-1).tolist(), expected.reshape(-1).tolist(), strict=True)
    for i, (a, e) in enumerate(pairs):
        if _close(a, e, rtol, atol, equal_nan):
            continue
        bad += 1
        difference = abs(a - e)
        absolute = max(absolute, (difference, i))
        relative = max(relative, (difference / abs(e) if e else math.inf, i))
    return bad, absolute, relative


def _at(tensor: Any, value: float, flat: int) -> str:
    index: list[int] = []
    for size in reversed(tensor.shape):
        flat, i = divmod(flat, size)
        index.insert(0, i)
    return f"{value!r} at index {tuple(index)}" if index else repr(value)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str | None = None,
) -> None:
    """`assert_close` as it was before: NaN are equal, and dtypes may differ.

    >>> import pullback
    >>> from pullback.testing import assert_allclose
    >>> assert_allclose(pullback.ones(2), [1.0, 1.0])

    Raises AssertionError if something differs.
    """
    actual = actual if isinstance(actual, pb.Tensor) else pb.tensor(actual)
    expected = expected if isinstance(expected, pb.Tensor) else pb.tensor(expected, dtype=actual.dtype)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
