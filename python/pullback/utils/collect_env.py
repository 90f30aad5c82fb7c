"""What a report about a fault says of the machine."""

import os
import platform
import sys


def get_pretty_env_info() -> str:
    """Versions and the machine, as lines of text.

    >>> from pullback.utils import collect_env
    >>> "Is CUDA available: False" in collect_env.get_pretty_env_info()
    True
    """
    import numpy

    import pullback

    from ..version import TORCH

    return (
        f"PyTorch version: {TORCH}, by pullback {pullback.__version__}\nIs CUDA available: False\n"
        f"OS: {platform.platform()}, {os.cpu_count()} CPUs\nPython version: {sys.version}\nnumpy=={numpy.__version__}"
    )


def main() -> None:
    """Prints them."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
