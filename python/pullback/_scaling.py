"""`GradScaler`: losses are scaled, so that gradients of float16 do not vanish, and gradients scaled back."""

from collections import defaultdict
from collections.abc import Iterable
from inspect import signature
from typing import Any

from . import _core
from ._warnings import warn

READY, UNSCALED, STEPPED = range(3)


class _Progress:
    """How far an optimizer is since the last update, and whether its gradients were finite."""

    def __init__(self) -> None:
        self.stage = READY
        self.found_inf: bool | None = None


class GradScaler:
    """Scales losses, and gradients back. A step with gradients that are not finite is left out, and the scale shrinks.

    After `growth_interval` steps without such gradients the scale grows.

    >>> import pullback
    >>> w = pullback.ones(2, requires_grad=True)
    >>> optimizer = pullback.optim.SGD([w], lr=0.5)
    >>> scaler = pullback.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale((w * w).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist(), scaler.get_scale()
    ([0.0, 0.0], 1024.0)
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
        if enabled and str(device).partition(":")[0] != "cpu":
            warn(f"GradScaler(): there is no device '{device}' with mixed precision here. Disabling; give 'cpu'.")
            enabled = False
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, but it is {growth_factor}.")
        if not backoff_factor < 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, but it is {backoff_factor}.")
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._growth_tracker = 0
        self._progress: dict[int, _Progress] = defaultdict(_Progress)

    _scale: Any

    def _scale_of(self, caller: str) -> Any:
        if self._scale is None:
            raise AssertionError(f"Attempted {caller} but the scale is not there yet; call scale(loss) first.")
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale, or an iterable of tensors, each times the scale.

        Raises ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = _core.tensor(self._init_scale, dtype=_core.float32)
        if isinstance(outputs, _core.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(x) for x in outputs]
            if isinstance(outputs, tuple) and hasattr(outputs, "_fields"):
                return type(outputs)(*scaled)
            return type(outputs)(scaled)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, and notes whether all are finite.

        Raises RuntimeError if that was done since the last `update`, ValueError for gradients of float16.
        """
        if not self._enabled:
            return
        scale = self._scale_of("unscale_()")
        progress = self._progress[id(optimizer)]
        if progress.stage == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step(); call update() before.")
        inverse = scale.double().reciprocal().float()
        with _core.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    if parameter.grad.dtype is _core.float16:
                        raise ValueError("Attempting to unscale FP16 gradients; keep the parameters in float32.")
                    found = not bool(parameter.grad.isfinite().all())
                    progress.found_inf = bool(progress.found_inf) or found
                    parameter.grad.mul_(inverse)
        progress.stage = UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step`, with gradients scaled back; left out if some are not finite.

        Raises RuntimeError for a closure, or if this optimizer has stepped since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._scale_of("step()")
        progress = self._progress[id(optimizer)]
        if progress.stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            out = self._step_of_its_own(optimizer, progress, *args, **kwargs)
            progress.stage = STEPPED
            return out
        if progress.stage == READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError("No inf checks were recorded for this optimizer: it has no gradients.")
        out = None if progress.found_inf else optimizer.step(*args, **kwargs)
        progress.stage = STEPPED
        return out

    def _step_of_its_own(self, optimizer: Any, progress: _Progress, *args: Any, **kwargs: Any) -> Any:
        """A step of an optimizer that scales gradients back itself, and leaves out what is not finite."""
        if "grad_scaler" in signature(optimizer.step).parameters:
            warn(
                "GradScaler passes itself where step() of an optimizer has a parameter 'grad_scaler', which is "
                "deprecated: use the attributes grad_scale and found_inf of the optimizer instead",
                FutureWarning,
            )
            return optimizer.step(*args, grad_scaler=self, **kwargs)
        if progress.stage == READY:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            progress.found_inf = not all(bool(g.isfinite().all()) for g in grads)
            optimizer.grad_scale = self._scale_of("step()").clone()
        else:
            optimizer.grad_scale = None
        optimizer.found_inf = _core.tensor(float(bool(progress.found_inf)))
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: Any = None) -> None:
        """Adapts the scale to the gradients of the last steps, or sets it."""
        if not self._enabled:
            return
        scale = self._scale_of("update()")
        if new_scale is not None:
            self._scale = _core.tensor(float(new_scale), dtype=_core.float32)
        else:
            found = [p.found_inf for p in self._progress.values() if p.found_inf is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, any(found))
        self._progress.clear()

    def _adapt(self, scale: Any, found_inf: bool) -> None:
        if found_inf:
            self._scale, self._growth_tracker = scale * self._backoff_factor, 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = scale * self._growth_factor
            self._scale, self._growth_tracker = grown if bool(grown.isfinite()) else scale, 0

    def get_scale(self) -> float:
        """The scale; 1 if switched off."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale.item())

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and counts; nothing if switched off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` gave.

        Raises RuntimeError for that of a scaler that was switched off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty: it was saved from a GradScaler that was switched off.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale = _core.tensor(self._init_scale, dtype=_core.float32)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._progress:
            raise AssertionError(
                "A GradScaler may only be pickled at the beginning of an iteration, or after update()."
            )
        return dict(self.__dict__)
