"""`DataParallel` where there is a single device."""

from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls its module. PyTorch splits batches over accelerators, of which there are none here; so it does the same as
    there without one. Names of parameters begin with `module.`, as in files of programs that used it.

    >>> import pullback
    >>> from pullback import nn
    >>> model = nn.DataParallel(nn.Linear(2, 1))
    >>> model(pullback.ones(3, 2)).shape, list(model.state_dict())
    (pullback.Size([3, 1]), ['module.weight', 'module.bias'])

    Args:
        module: the module.
        device_ids, output_device, dim: accepted, and without effect.

    Raises:
        TypeError: if `module` is none.
    """

    module: Module

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DataParallel(): argument 'module' must be a Module, got {type(module).__name__}")
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives for these arguments."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What the module gives for these inputs, a tuple of arguments or the only one.

    >>> import pullback
    >>> pullback.nn.parallel.data_parallel(pullback.nn.ReLU(), pullback.ones(1))
    tensor([1.])
    """
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
