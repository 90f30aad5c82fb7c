"""Names of earlier releases of PyTorch."""

from typing import Any

import pullback as pb

from ._comparison import assert_close

_TOLERANCES = {pb.float16: (1e-3, 1e-3), pb.float32: (1e-4, 1e-5), pb.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` with wider tolerances, for programs older than it; dtypes may differ, NaNs are equal.

    Tolerances that are not given are (1e-4, 1e-5) for float32, (1e-5, 1e-8) for float64 and (1e-3, 1e-3) for float16;
    of two dtypes the wider ones count. Raises AssertionError, which says where the values differ.

    >>> import pullback
    >>> pullback.testing.assert_allclose(pullback.tensor([1.0, 2.0]), [1.0, 2.00001])
    """
    if not isinstance(actual, pb.Tensor):
        actual = pb.tensor(actual)
    if not isinstance(expected, pb.Tensor):
        expected = pb.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        found = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
