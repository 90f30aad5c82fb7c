"""What computes: own kernels and those of Rust crates. The libraries that PyTorch asks for here are not used.

Switches can be set and are remembered; they change nothing.
"""

from contextlib import nullcontext
from types import ModuleType
from typing import Any

from .._absent import absent

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]


class _Switches(ModuleType):
    """Switches of a library that is not used, and questions whether it is there: a module in PyTorch."""

    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(f"{__name__}.{name}", "A library that is not used here.")
        self.__dict__.update(values)

    def is_available(self) -> bool:
        """False."""
        return False

    def is_built(self) -> bool:
        """False."""
        return False

    def version(self) -> None:
        """None."""

    def flags(self, *args: Any, **kwargs: Any) -> Any:
        """A context that changes nothing."""
        return nullcontext()


class _Attention(_Switches):
    _fastpath = True

    def get_fastpath_enabled(self) -> bool:
        """Whether a `TransformerEncoder` gives zeros for padding, in evaluation and without gradients."""
        return self._fastpath

    def set_fastpath_enabled(self, value: bool) -> None:
        """Without it padding passes the layers as everything else."""
        self._fastpath = value


cudnn = _Switches("cudnn", enabled=False, benchmark=False, deterministic=True, allow_tf32=False, benchmark_limit=10)
cuda = _Switches(
    "cuda",
    matmul=_Switches(
        "cuda.matmul",
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=False,
        allow_bf16_reduced_precision_reduction=False,
    ),
    sdp_kernel=lambda *args, **kwargs: nullcontext(),
    enable_flash_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
    flash_sdp_enabled=lambda: False,
    mem_efficient_sdp_enabled=lambda: False,
    math_sdp_enabled=lambda: True,
)
mps = _Switches("mps", is_macos_or_newer=lambda major, minor: False)
mkl = _Switches("mkl")
mkldnn = _Switches("mkldnn", enabled=False, deterministic=True, allow_tf32=False)
mha = _Attention("mha")
openmp = _Switches("openmp")
nnpack = _Switches("nnpack")
opt_einsum = _Switches("opt_einsum", enabled=False, strategy=None)


class _Cpu(_Switches):
    def get_cpu_capability(self) -> str:
        """The instruction set is chosen for each kernel: DEFAULT."""
        return "DEFAULT"


cpu = _Cpu("cpu")
__getattr__ = absent("torch.backends", __all__)
