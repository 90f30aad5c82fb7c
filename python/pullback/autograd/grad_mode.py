"""Gradient modes as context managers and decorators."""

from .. import enable_grad, inference_mode, no_grad, set_grad_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

__all__ = ["decorate", "enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


def decorate(make: "Callable[[], Any]", func: "Any") -> "Any":
    """`func` run inside of `with make():`. A class gets it around its constructor, a generator around each step."""
    import functools
    import inspect

    if inspect.isclass(func):
        func.__init__ = decorate(make, func.__init__)  # type: ignore[method-assign]
        return func
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def steps(*args: "Any", **kwargs: "Any") -> "Generator[Any, Any, Any]":
            generator = func(*args, **kwargs)
            try:
                with make():
                    request = generator.send(None)
                while True:
                    try:
                        answer = yield request
                    except GeneratorExit:
                        with make():
                            generator.close()
                        raise
                    except BaseException as error:
                        with make():
                            request = generator.throw(error)
                    else:
                        with make():
                            request = generator.send(answer)
            except StopIteration as stop:
                return stop.value

        return steps

    @functools.wraps(func)
    def inside(*args: "Any", **kwargs: "Any") -> "Any":
        with make():
            return func(*args, **kwargs)

    return inside
