"""What a report about a fault says of the machine: `python -m pullback.utils.collect_env` prints it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple


class SystemEnv(NamedTuple):
    """What is known of this process; there is no CUDA."""

    torch_version: str
    pullback_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_count: int
    pip_packages: str


def _packages() -> str:
    found = []
    for name in ("numpy", "scipy", "pullback"):
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return "\n".join(found)


def get_env_info() -> SystemEnv:
    """The facts one by one.

    >>> from pullback.utils import collect_env
    >>> collect_env.get_env_info().is_cuda_available
    'False'
    """
    import pullback

    from ..version import TORCH

    return SystemEnv(
        torch_version=TORCH,
        pullback_version=pullback.__version__,
        is_debug_build="False",
        cuda_compiled_version="None",
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available="False",
        cpu_count=os.cpu_count() or 1,
        pip_packages=_packages(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """The facts as lines of text."""
    known = envinfo._asdict()
    packages = known.pop("pip_packages")
    lines = [f"{name.replace('_', ' ')}: {fact}" for name, fact in known.items()]
    return "\n".join([*lines, "", "Versions of relevant libraries:", packages])


def get_pretty_env_info() -> str:
    """The facts of this process as lines of text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints the facts."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
