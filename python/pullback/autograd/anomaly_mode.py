"""Finding the operator whose derivative fails or is not a number."""

from __future__ import annotations

from .. import _core
from .._warnings import warn

TYPE_CHECKING = False

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_autograd = _core.autograd


def _enter(mode: bool, check_nan: bool) -> int:
    before: int = _autograd._set_anomaly((2 if check_nan else 1) if mode else 0)
    return before


class detect_anomaly:
    """Inside, recorded operators remember where they were called, and `backward` stops at gradients that are NaN.

    An error in the derivative of an operator then comes with a warning that shows the traceback of its forward call.
    `check_nan=False` leaves the search for NaN out. Recording gets slower: for finding mistakes only.

    >>> import pullback, warnings
    >>> x = pullback.tensor([0.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with pullback.autograd.detect_anomaly():
    ...         (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output. ...
    """

    def __init__(self, check_nan: bool = True) -> None:

        self.check_nan = check_nan
        self._before: list[int] = []
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        self._before.append(_enter(True, self.check_nan))

    def __exit__(self, *args: object) -> None:
        _autograd._set_anomaly(self._before.pop())


class set_detect_anomaly:
    """Turns the anomaly mode on or off at once; as a context manager, until the block ends.

    >>> import pullback
    >>> with pullback.autograd.set_detect_anomaly(True):
    ...     pullback.is_anomaly_enabled()
    True
    >>> pullback.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _enter(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        _autograd._set_anomaly(self._before)
