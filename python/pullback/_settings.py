"""Settings of the process that PyTorch has. Results do not depend on threads or order here, so most change nothing."""

from threading import local
from typing import Any

from . import _core

__all__ = [
    *("are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode"),
    *(
        "get_float32_matmul_precision",
        "get_num_interop_threads",
    ),
    "is_deterministic_algorithms_warn_only_enabled",
    *("is_warn_always_enabled", "set_default_device", "set_default_tensor_type", "set_deterministic_debug_mode"),
    *("set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_warn_always", "typename"),
    "use_deterministic_algorithms",
]


class _State:
    deterministic = 0  # off, with warnings, with errors
    warn_only = False
    precision = "highest"
    interop = 1
    warn_always = False


# The device that a thread asked for, which is entered there.
_DEFAULT = local()
_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for the same results every time: they are, whatever is set, on any number of threads.

    >>> import pullback
    >>> pullback.use_deterministic_algorithms(True)
    >>> pullback.are_deterministic_algorithms_enabled()
    True
    >>> pullback.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): argument 'mode' must be bool, not {type(mode).__name__}")
    if not isinstance(warn_only, bool):
        got = type(warn_only).__name__
        raise TypeError(f"use_deterministic_algorithms(): argument 'warn_only' must be bool, not {got}")
    _State.deterministic, _State.warn_only = (1 if warn_only else 2) if mode else 0, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms(True)` was called."""
    return _State.deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was called with `warn_only=True`."""
    return _State.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Sets the same by a number or a word: 0 or "default", 1 or "warn", 2 or "error"; others raise RuntimeError."""
    if not isinstance(debug_mode, int | str) or isinstance(debug_mode, bool):
        raise TypeError(f"set_deterministic_debug_mode(): debug_mode must be str or int, got {type(debug_mode)}")
    found = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if found not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode(): invalid value of debug_mode, expected one of {_MODES} or 0, 1, 2, got "
            f"{debug_mode!r}"
        )
    _State.deterministic, _State.warn_only = int(found), found == 1


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as it was set."""
    return _State.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers "highest", "high" or "medium": products of float32 are computed in float32 all the same."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"set_float32_matmul_precision(): invalid float32 matmul precision: {precision!r}, must be one of "
            "'highest', 'high' or 'medium'"
        )
    _State.precision = precision


def get_float32_matmul_precision() -> str:
    """What was set."""
    return _State.precision


def set_num_interop_threads(num_threads: int) -> None:
    """Remembers a number: operators run one after the other. `set_num_threads` is for the threads of one operator."""
    if not isinstance(num_threads, int) or num_threads < 1:
        raise RuntimeError(f"set_num_interop_threads(): expects a positive integer, got {num_threads!r}")
    if num_threads >= 2**63:
        raise ValueError("set_num_interop_threads(): Overflow when unpacking long long: give a smaller number")
    _State.interop = num_threads


def get_num_interop_threads() -> int:
    """What was set; 1 at first."""
    return _State.interop


def set_warn_always(b: bool) -> None:
    """Whether warnings that are said once in a process are said each time; the filters of Python come behind."""
    _State.warn_always = bool(b)
    _core._set_warn_always(_State.warn_always)


def is_warn_always_enabled() -> bool:
    """What was set."""
    return _State.warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Whether small numbers can be made zero: False, they stay what they are."""
    return False


def set_default_device(device: Any) -> None:
    """Sets where tensors are made on this thread: on `cpu`, or on `meta`. Raises RuntimeError for another device.

    >>> import pullback
    >>> pullback.set_default_device("meta")
    >>> pullback.ones(2).device
    device(type='meta')
    >>> pullback.set_default_device(None)
    """
    entered = _core.device("cpu" if device is None else device)
    before = getattr(_DEFAULT, "device", None)
    if before is not None:
        before.__exit__(None, None, None)
    _DEFAULT.device = entered.__enter__() if device is not None else None


def get_default_device() -> Any:
    """Where tensors are made: the CPU, unless the program said otherwise.

    >>> import pullback
    >>> pullback.get_default_device()
    device(type='cpu')
    """
    from .overrides import DisableTorchFunction

    with DisableTorchFunction():
        return _core.functions["empty"](0).device


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype by a tensor type or its name, such as "torch.DoubleTensor"; others raise TypeError."""
    from . import _tensor_types

    kind = _tensor_types.named(t)
    if kind is None or not kind.dtype.is_floating_point:
        raise TypeError(f"set_default_tensor_type(): only floating-point tensor types are supported, got {t!r}")
    _core.set_default_dtype(kind.dtype)


def typename(obj: Any, /) -> str:
    """The name of the type of an object; for a tensor, that of its tensor type.

    >>> import pullback
    >>> pullback.typename(pullback.ones(1)), pullback.typename(1)
    ('pullback.FloatTensor', 'int')
    """
    if isinstance(obj, _core.Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    own = kind.__module__ in ("builtins", "", None)
    return str(kind.__qualname__) if own else f"{kind.__module__}.{kind.__qualname__}"
