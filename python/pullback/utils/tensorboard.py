"""`SummaryWriter` of the package tensorboardX, which writes the same files and needs no PyTorch."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "SummaryWriter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tensorboardX import SummaryWriter  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(
            "utils.tensorboard: its SummaryWriter is that of tensorboardX; install it with pip install tensorboardX",
            name="tensorboardX",
        ) from e
    return SummaryWriter
