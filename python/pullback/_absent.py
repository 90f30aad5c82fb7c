"""What PyTorch has and this library does not: the errors of names that are looked for."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Parts of PyTorch that are out of scope, and what to do instead.
REASONS: "dict[str, str]" = {
    "distributed": "one process computes here; use multiprocessing or joblib around it",
    "cuda": "tensors are on the CPU; write device='cpu', or ask cuda.is_available() first",
    "mps": "tensors are on the CPU; write device='cpu', or ask backends.mps.is_available() first",
    "xpu": "tensors are on the CPU; write device='cpu', or ask xpu.is_available() first",
    "mtia": "tensors are on the CPU; write device='cpu'",
    "accelerator": "tensors are on the CPU; write device='cpu'",
    "jit": "programs are not compiled by TorchScript; func.trace records a program",
    "sparse": "tensors are dense; scipy.sparse has sparse matrices",
    "nested": "tensors are not nested; pad them, or use a list",
    "names": "dimensions have no names; keep them beside the tensor, or use einops",
    "mkldnn": "tensors have one layout; use the tensor itself",
    "quantization": "tensors have no quantized dtypes",
    "ao": "tensors have no quantized dtypes",
    "nn.quantized": "tensors have no quantized dtypes",
    "nn.parallel": "one process computes here; call the module itself",
    "optim.SparseAdam": "gradients are dense; use optim.Adam",
    "onnx": "models are not exported to ONNX",
    "export": "models are not exported; func.trace records a program",
    "fx": "modules are not rewritten; func.trace records a program",
    "package": "models are not packaged; save() and load() write and read files",
    "profiler": "profiler.profile measures calls of operators; perf and cProfile measure the rest",
    "utils.cpp_extension": "operators in C++ are out of scope; library.custom_op makes one of a Python function",
    "utils.mobile_optimizer": "programs run where Python runs",
    "fft": "there are no Fourier transforms; wrap those of numpy.fft in an autograd.Function",
    "masked": "use where() and masked_fill()",
    "utils._python_dispatch": "calls are not dispatched below Python; overrides.TorchFunctionMode sees each of them",
    "testing._internal": "it is how PyTorch tests itself; testing.assert_close compares, autograd.gradcheck checks",
    **dict.fromkeys(
        ("_C", "_ops", "_refs", "_prims", "_prims_common", "_decomp", "_higher_order_ops", "_linalg_utils"),
        "it is the inside of PyTorch",
    ),
    **dict.fromkeys(("_weights_only_unpickler", "autograd._functions"), "it is the inside of PyTorch"),
    **dict.fromkeys(("nn.qat", "nn.intrinsic", "nn.quantizable"), "tensors have no quantized dtypes"),
    **dict.fromkeys(("qint8", "quint8", "qint32", "quint4x2", "quint2x4"), "tensors have no quantized dtypes"),
    "_inductor": "programs are not compiled",
    "classes": "operators in C++ are out of scope; library.custom_op makes one of a Python function",
    "monitor": "use logging of the standard library",
    "quasirandom": "scipy.stats.qmc has low-discrepancy sequences",
}
# Attributes of PyTorch's tensors that belong to such a part.
_ATTRIBUTES = {
    "sparse": "_coalesced_ _indices _nnz _values ccol_indices coalesce col_indices crow_indices hspmm indices "
    "is_coalesced row_indices smm sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm to_sparse "
    "to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values",
    "quantization": "int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point "
    "qscheme",
    "names": "align_as align_to has_names names refine_names rename rename_",
    "mkldnn": "to_mkldnn",
}


class AbsentAttribute:
    """An attribute of tensors that is not there, and says why."""

    def __init__(self, name: "str", why: "str") -> None:
        self._text = f"'pullback.Tensor' object has no attribute {name!r}: it is out of scope: {why}"

    def __get__(self, instance: "Any", owner: "Any" = None) -> "Any":
        raise AttributeError(self._text)


def attributes() -> "dict[str, AbsentAttribute]":
    """What stands for each of them in the class."""
    return {name: AbsentAttribute(name, REASONS[part]) for part, all in _ATTRIBUTES.items() for name in all.split()}


# Functions of such a part, by how their names begin.
_PREFIXES = {
    **{"sparse_": "sparse", "quantize_": "quantization", "quantized_": "quantization", "q_per_": "quantization"},
    **{"stft": "fft", "istft": "fft"},
}


def reason(path: "str") -> "str | None":
    """Why something is out of scope, by its dotted path behind `torch`."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        found = REASONS.get(".".join(parts[:count]))
        if found is not None:
            return found
    for prefix, part in _PREFIXES.items():
        if path.startswith(prefix):
            return REASONS[part]
    return None


def not_there(*args: "Any", **kwargs: "Any") -> "bool":
    """What a part that is out of scope answers when a program asks whether it is there: False."""
    return False


def is_question(name: "str") -> "bool":
    """Whether a function of this name asks if something is there, as `is_nccl_available` does."""
    return name.startswith("is_") and name.endswith(("available", "built", "initialized", "launched"))


def explained(module: "str", name: "str", known: "Any" = ()) -> "str":
    """The text of the error for a name that a module does not have."""
    text = f"module {module!r} has no attribute {name!r}"
    path = f"{module}.{name}".partition(".")[2]
    why = reason(path)
    if why is not None:
        return f"{text}: {module.partition('.')[0]}.{path} is out of scope: {why}"
    from difflib import get_close_matches

    close = get_close_matches(name, [n for n in known if n[0] != "_"], 1, 0.8)
    if close:
        return f"{text}. Did you mean: {close[0]!r}?"
    return text


def absent(module: "str", known: "Any" = (), classes: "bool" = False, parts: "str" = "") -> "Callable[[str], Any]":
    """A `__getattr__` for a module that has a few names of PyTorch's, and tells why it has no others.

    `classes` says that programs name its classes where they define functions, as types and defaults of arguments: under
    `as_torch` these have a stand-in, which raises where it is called. So have `parts`, names of its modules.
    """
    modules = parts.split()

    def __getattr__(name: "str") -> "Any":
        if is_question(name) and reason(f"{module}.{name}".partition(".")[2]) is not None:
            return not_there
        if name in modules or (classes and name[0].isupper()):
            import sys

            own = sys.modules.get("pullback.as_torch")
            if own is not None and own.is_installed():
                from .as_torch._standins import module_like, stand_in

                path = f"torch.{module.partition('.')[2]}.{name}"
                return module_like(path) if name in modules else stand_in(path)
        raise AttributeError(explained(module, name, known))

    return __getattr__
