"""Marks of a profiler that is not here; they change nothing. `cProfile` and `perf` measure programs."""

from contextlib import ContextDecorator

from ._absent import absent

__all__ = ["record_function"]


class record_function(ContextDecorator):
    """A context, or a decorator, that names a part of a program.

    >>> import pullback
    >>> with pullback.profiler.record_function("product"):
    ...     pullback.ones(1) @ pullback.ones(1)
    tensor(1.)
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> "record_function":
        return self

    def __exit__(self, *error: object) -> None: ...


__getattr__ = absent("torch.profiler", __all__)
