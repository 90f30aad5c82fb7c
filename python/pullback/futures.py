"""Values that come later: what some programs return where PyTorch would compute elsewhere."""

from __future__ import annotations

from threading import Condition
from typing import Generic, TypeVar, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that some thread sets once, and that others wait for; nothing depends on `devices`."""

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._changed = Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        return self._done

    def wait(self) -> T:
        """The value, as soon as it is there. Raises the error that was set instead."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """The value. Raises the error that was set instead, and RuntimeError if there is neither yet."""
        if not self._done:
            raise RuntimeError("Future.value(): the value is not there yet; wait() waits for it")
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what the callback makes of this one, once it is done."""
        after: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                after.set_result(callback(done))
            except Exception as e:
                after.set_exception(e)

        self.add_done_callback(run)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls the callback with this future once it is done: at once if it is, else in the thread that sets it."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Sets the value. Raises RuntimeError if it was set before."""
        self._finish("set_result", result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an error, which `wait` and `value` raise. Raises RuntimeError if a value was set before."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result).__name__}, not an Exception.")
        self._finish("set_exception", None, result)

    def _finish(self, name: str, value: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(f"Future.{name}(): the future is already completed; make another one")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all of them, which is done when they are."""
    futures = list(futures)
    together: Future[list[Future[Any]]] = Future()
    # Taking from a list is one step for all threads.
    others = futures[1:]

    def count(_: Any) -> None:
        try:
            others.pop()
        except IndexError:
            together.set_result(futures)

    if not futures:
        together.set_result(futures)
    for one in futures:
        one.add_done_callback(count)
    return together


def wait_all(futures: list[Future[T]]) -> list[T]:
    """The values of all of them, as soon as they are there. Raises the first error in the order of the list."""
    return [one.value() for one in collect_all(futures).wait()]
