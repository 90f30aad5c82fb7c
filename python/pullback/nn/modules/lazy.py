"""Modules whose parameters get their shapes from the first arguments."""

from __future__ import annotations

from ..parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module lazy: a hook before the first forward calls `initialize_parameters` with its arguments.

    The class comes before the module's in the list of bases. After the first forward the module's class is
    `cls_to_become`, if that is set.

    Raises RuntimeError in the first forward if `initialize_parameters` leaves a parameter without a shape.
    """

    cls_to_become: type | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if is_lazy(param) or keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if is_lazy(buffer) or keep_vars else buffer.detach()

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Gives parameters without a shape that of what is loaded into them."""
        for name, param in (*self._parameters.items(), *self._buffers.items()):
            key = prefix + name
            if param is None or key not in state_dict:
                continue
            given = state_dict[key]
            if is_lazy(param) and not is_lazy(given):
                param.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters the shapes that the arguments of the first forward ask for; subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        for name in ("_initialize_hook", "_load_hook"):
            delattr(module, name)
        # Without empty dicts of hooks, calls stop looking for them.
        own = module.__dict__
        names = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
        if not any(own.get(name) for name in names):
            for name in (*names, "_forward_pre_hooks_with_kwargs", "_hooked"):
                own.pop(name, None)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self: Any) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly "
            "initialize the modules"
        )
