"""The libraries under comparison; PyTorch and JAX may be absent. All run on one thread unless a workload says so."""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

# Read by the numerical libraries when they are loaded, hence before the imports below.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np  # noqa: E402


class Tensors:
    """pullback or torch: the same names in both, so one program serves both."""

    def __init__(self, name: str, module: ModuleType):
        self.name, self.T = name, module
        self.F = module.nn.functional
        module.set_num_threads(1)

    @property
    def version(self) -> str:
        return str(self.T.__version__)

    def tensor(self, values: np.ndarray) -> Any:
        return self.T.from_numpy(np.array(values, order="C"))

    def tensors(self, values: dict[str, np.ndarray]) -> dict[str, Any]:
        return {key: self.tensor(value) for key, value in values.items()}


class Numpy:
    """NumPy takes part where a workload has no derivative."""

    name = "numpy"
    version = np.__version__


class Jax:
    """JAX takes part, compiled, in a few workloads of whole programs."""

    name = "jax"

    def __init__(self, module: ModuleType):
        self.version = str(module.__version__)


Library = Tensors | Numpy | Jax


def load(with_jax: bool = False) -> dict[str, Library]:
    """Those that are installed, pullback first."""
    found: dict[str, Library] = {"pullback": Tensors("pullback", importlib.import_module("pullback")), "numpy": Numpy()}
    try:
        torch = importlib.import_module("torch")
        found["torch"] = Tensors("torch", torch)
    except ImportError:
        pass
    try:
        if with_jax:
            found["jax"] = Jax(importlib.import_module("jax"))
    except ImportError:
        pass
    return found


def to_numpy(value: Any) -> list[np.ndarray]:
    """The leaves of a result as arrays."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in to_numpy(item)]
    return [np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)]


def normal(name: str, *shape: int, dtype: Any = np.float32, scale: float = 1.0) -> np.ndarray:
    """Normal values that depend on the name and the shape only."""
    seed = [ord(c) for c in name] + list(shape)
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)
