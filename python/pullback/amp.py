"""Mixed precision: operators that gain from it run in bfloat16 or float16, others stay in float32.

`autocast` is for the CPU. What it does to the arguments of an operator stands with that operator.
"""

import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from . import _core
from ._scaling import GradScaler as GradScaler
from ._warnings import warn

__all__ = [
    *("GradScaler", "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype"),
    *("get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled"),
    *("is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype"),
    *("set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype"),
]
F = TypeVar("F", bound=Callable[..., Any])

DEVICES = frozenset(
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia".split()
)
IN_BFLOAT16 = frozenset(("cpu", "xla", "hpu"))
WITHOUT = frozenset(("meta", "mkldnn", "opengl", "opencl", "ideep", "ve", "fpga", "lazy", "vulkan"))


class _State(threading.local):
    """What a thread has set of devices and dtypes; whether autocast runs on the CPU is known to the core."""

    def __init__(self) -> None:
        self.dtypes: dict[str, _core.dtype] = {}
        self.enabled: set[str] = set()
        self.cache = True


_STATE = _State()


def _check_device(device_type: str) -> None:
    if device_type not in DEVICES and device_type != "privateuseone":
        raise RuntimeError(
            f"Expected one of {', '.join(sorted(DEVICES))} device type at start of device string: {device_type}"
        )
    if device_type in WITHOUT:
        raise RuntimeError(f"unsupported scalarType: the device '{device_type}' has no autocast; give 'cpu'")


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for a device.

    >>> import pullback
    >>> pullback.amp.is_autocast_available("cpu")
    True
    """
    return device_type in DEVICES - WITHOUT


def get_autocast_dtype(device_type: str) -> _core.dtype:
    """The dtype that operators are lowered to on a device: bfloat16 on the CPU and float16 elsewhere, unless set.

    >>> import pullback
    >>> pullback.get_autocast_dtype("cpu")
    pullback.bfloat16
    """
    _check_device(device_type)
    return _STATE.dtypes.get(device_type, _core.bfloat16 if device_type in IN_BFLOAT16 else _core.float16)


def set_autocast_dtype(device_type: str, dtype: _core.dtype) -> None:
    """Sets the dtype that operators are lowered to on a device, on this thread."""
    _check_device(device_type)
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' must be a pullback.dtype, not {type(dtype).__name__}")
    _STATE.dtypes[device_type] = dtype
    if device_type == "cpu" and _core._autocast() is not None:
        _core._set_autocast(dtype)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast runs for a device on this thread; without an argument, for CUDA devices.

    >>> import pullback
    >>> with pullback.autocast("cpu"):
    ...     pullback.is_autocast_enabled("cpu")
    True
    """
    if device_type == "cpu":
        return _core._autocast() is not None
    if device_type is not None:
        _check_device(device_type)
    return (device_type or "cuda") in _STATE.enabled


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turns autocast on or off for a device, on this thread; without a device, for CUDA devices."""
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    assert isinstance(device_type, str)
    _check_device(device_type)
    if device_type == "cpu":
        _core._set_autocast(get_autocast_dtype("cpu") if enabled else None)
    (_STATE.enabled.add if enabled else _STATE.enabled.discard)(device_type)


def is_autocast_cache_enabled() -> bool:
    """Whether tensors of lower precision may be kept for the next use: what `autocast(cache_enabled=)` said, or True.

    None are kept; each use converts again, with the same values.
    """
    return _STATE.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets what `is_autocast_cache_enabled` gives, on this thread."""
    _STATE.cache = bool(enabled)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast runs on the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Turns autocast on or off on the CPU."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> _core.dtype:
    """The dtype that operators are lowered to on the CPU."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: _core.dtype) -> None:
    """Sets the dtype that operators are lowered to on the CPU."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> _core.dtype:
    """The dtype that operators would be lowered to on CUDA devices."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: _core.dtype) -> None:
    """Sets the dtype that operators would be lowered to on CUDA devices."""
    set_autocast_dtype("cuda", dtype)


def clear_autocast_cache() -> None:
    """Does nothing: no tensors of a lower precision are kept."""


class autocast:
    """A context, or a decorator, in which products and convolutions run in `dtype`, and what needs it in float32.

    Arguments are converted in front of an operator, with a derivative: the gradient of a float32 weight is float32. Of
    float64 and of integers nothing is converted. `enabled=False` inside ends it for a block.

    >>> import pullback
    >>> x = pullback.ones(2, 2)
    >>> with pullback.autocast("cpu", dtype=pullback.bfloat16):
    ...     (x @ x).dtype, pullback.nn.functional.mse_loss(x @ x, x).dtype
    (pullback.bfloat16, pullback.float32)
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast(): Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if device_type != "cpu" and enabled:
            warn(f"autocast(): there is no device '{device_type}' here. Disabling autocast; give 'cpu'.")
            enabled = False
        if enabled and self.fast_dtype not in (_core.bfloat16, _core.float16):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"It takes bfloat16 and float16, not {self.fast_dtype}."
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[tuple[bool, _core.dtype, bool]] = []

    def __enter__(self) -> "autocast":
        device = self.device
        self._before.append((is_autocast_enabled(device), get_autocast_dtype(device), _STATE.cache))
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *error: object) -> None:
        self._set(*self._before.pop())

    def _set(self, enabled: bool, dtype: _core.dtype, cache: bool) -> None:
        _STATE.dtypes[self.device], _STATE.cache = dtype, cache
        set_autocast_enabled(self.device, enabled)

    def __call__(self, function: F) -> F:
        if not callable(function):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(function).__name__}; use it as a context "
                "manager: with pullback.autocast(device_type=...):"
            )

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)._again(self):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    def _again(self) -> "autocast":
        """The same settings for another block, which may run inside of this one or on another thread."""
        other = object.__new__(autocast)
        other.device, other.fast_dtype, other._enabled = self.device, self.fast_dtype, self._enabled
        other._cache_enabled, other._before = self._cache_enabled, []
        return other


def _cast(value: Any, dtype: _core.dtype) -> Any:
    """The value with its floating-point tensors in this dtype, but for those of float64."""
    if isinstance(value, _core.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype is not _core.float64 else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, dtype): _cast(v, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_cast(v, dtype) for v in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """For the forward of a Function: it runs as autocast is at its call, or off, with its floats in `cast_inputs`.

    >>> import pullback
    >>> class Square(pullback.autograd.Function):
    ...     @staticmethod
    ...     @pullback.amp.custom_fwd(device_type="cpu", cast_inputs=pullback.float32)
    ...     def forward(ctx, x):
    ...         return x @ x
    >>> with pullback.autocast("cpu"):
    ...     Square.apply(pullback.ones(2, 2, dtype=pullback.bfloat16)).dtype
    pullback.float32
    """
    _check_decorated("custom_fwd", device_type)
    if fwd is None:
        return lambda f: custom_fwd(f, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        on = is_autocast_enabled(device_type)
        if args and not isinstance(args[0], _core.Tensor):
            args[0]._dtype, args[0]._fwd_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return run


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """For the backward of a Function whose forward has `custom_fwd`: autocast is there as it was in the forward."""
    _check_decorated("custom_bwd", device_type)
    if bwd is None:
        return lambda f: custom_bwd(f, device_type=device_type)

    @wraps(bwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = getattr(args[0], "_dtype", None)
        with autocast(device_type, enabled=getattr(args[0], "_fwd_used_autocast", False), dtype=dtype):
            return bwd(*args, **kwargs)

    return run


def _check_decorated(name: str, device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"{name}(): Expected `device_type` of type `str`, got: `{type(device_type)}`")
