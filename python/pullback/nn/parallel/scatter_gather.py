"""What splits work over devices, of which there is one."""

from typing import Any, NoReturn

__all__ = ["gather", "replicate", "scatter", "scatter_kwargs"]


def _one_device(name: str) -> NoReturn:
    raise RuntimeError(
        f"nn.parallel.{name}(): there are no devices to share work: tensors are on the CPU. Call the module itself, or "
        "use chunk() and cat() for parts of a batch"
    )


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Raises RuntimeError: there are no devices."""
    _one_device("scatter")


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Raises RuntimeError: there are no devices."""
    _one_device("scatter_kwargs")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Raises RuntimeError: there are no devices."""
    _one_device("gather")


def replicate(network: Any, devices: Any, detach: bool = False) -> Any:
    """Raises RuntimeError: there are no devices."""
    _one_device("replicate")
