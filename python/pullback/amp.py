"""Mixed precision, which is for devices that are not here: everything keeps its dtype.

A program that asks for `autocast` on the CPU gets the same numbers, or more exact ones, and a warning.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import _core

__all__ = [
    *("GradScaler", "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype"),
    *("get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available"),
]
F = TypeVar("F", bound=Callable[..., Any])


def is_autocast_available(device_type: str) -> bool:
    """Whether operators choose lower precision by themselves on a device: False.

    >>> import pullback
    >>> pullback.amp.is_autocast_available("cpu")
    False
    """
    return False


def get_autocast_dtype(device_type: str) -> _core.dtype:
    """The dtype that operators would be lowered to on a device: bfloat16 on the CPU, float16 elsewhere.

    >>> import pullback
    >>> pullback.get_autocast_dtype("cpu")
    pullback.bfloat16
    """
    return _core.bfloat16 if device_type == "cpu" else _core.float16


def get_autocast_cpu_dtype() -> _core.dtype:
    """The same for the CPU: bfloat16."""
    return _core.bfloat16


def get_autocast_gpu_dtype() -> _core.dtype:
    """The same for CUDA devices: float16."""
    return _core.float16


def clear_autocast_cache() -> None:
    """Does nothing: no tensors of a lower precision are kept."""


class autocast:
    """A context, or a decorator, in which operators keep the dtypes of their arguments.

    Warns if it is enabled: nothing is lowered to bfloat16 or float16. Convert tensors with `.bfloat16()` for that.

    >>> import pullback
    >>> with pullback.amp.autocast("cpu", enabled=False):
    ...     (pullback.ones(1) @ pullback.ones(1)).dtype
    pullback.float32
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast(): Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype = device_type, dtype
        if enabled:
            warnings.warn(
                f"autocast(): the device '{device_type}' does not lower the precision by itself here, so everything "
                "keeps its dtype",
                stacklevel=3,
            )

    def __enter__(self) -> "autocast":
        return self

    def __exit__(self, *error: object) -> None: ...

    def __call__(self, function: F) -> F:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def _as_it_is(function: Any = None, **options: Any) -> Any:
    return (lambda f: f) if function is None else function


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """The forward of a Function, as it is: there is no autocast that it would have to know of."""
    return _as_it_is(fwd)


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """The backward of a Function, as it is."""
    return _as_it_is(bwd)


class GradScaler:
    """What scales losses of float16 networks, switched off: `scale` gives its argument, `step` calls the optimizer.

    >>> import pullback
    >>> scaler = pullback.amp.GradScaler(enabled=False)
    >>> scaler.scale(pullback.ones(1)), scaler.is_enabled()
    (tensor([1.]), False)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled:
            warnings.warn(
                f"GradScaler(): there is no device '{device}' with mixed precision here. Disabling.", stacklevel=3
            )

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None: ...

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None: ...

    def get_scale(self) -> float:
        return 1.0

    def is_enabled(self) -> bool:
        return False

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
