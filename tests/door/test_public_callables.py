"""Every public function that takes tensors shows its calls to classes with `__torch_function__`, as PyTorch's do."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback as pb
from pullback import _core

TABLE: dict[str, dict[str, Any]] = {
    name: entry for entry in _core.operator_table() for name in (entry["name"], *entry["aliases"])
}

# Modules whose functions take tensors. Those of the others take functions, or are written in operators, which show
# their calls: `func`, `library`, `testing`, `utils`, `autograd.functional`, `autograd.graph`, `autograd.forward_ad`.
MODULES = ("", "linalg", "fft", "special", "nn.functional", "autograd")

MAKES = "makes a tensor of what is none, or of a tensor's values"
ASKS = "asks the interpreter or the library, no tensor"
SETS = "sets what holds for the process or the thread"
RULES = "rules of dtypes and shapes"
CHECKS = "checks derivatives of a function, whose operators show their calls"
# What does not, here and in PyTorch.
EXCEPTIONS: dict[str, str] = {
    "tensor": MAKES,
    "as_tensor": MAKES,
    "asarray": MAKES,
    "from_numpy": MAKES,
    "frombuffer": MAKES,
    "from_dlpack": "calls __dlpack__ of its argument, which shows the call",
    "to_dlpack": "reads the memory of the object that it is given",
    "is_tensor": "asks what an object is",
    "is_storage": "asks what an object is",
    "typename": "asks what an object is",
    "autograd.explain": "tells the rules of a class",
    "autograd.verify": "checks the rules of a class, whose operators show their calls",
    "autograd.gradcheck": CHECKS,
    "autograd.gradgradcheck": CHECKS,
    "vmap": "a transform, whose function shows its calls",
    "cond": "calls one of two functions, whose operators show their calls",
}
for _names, _reason in (
    ("save load from_file", "writes or reads a file"),
    ("compile", "gives back the function that it is given"),
    ("set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal", SETS),
    ("set_warn_always", SETS),
    ("get_deterministic_debug_mode get_float32_matmul_precision is_autocast_enabled is_autocast_cpu_enabled", ASKS),
    ("is_autocast_cache_enabled is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled", ASKS),
    ("autograd.is_multithreading_enabled autograd.is_view_replay_enabled autograd.kineto_available", ASKS),
    ("clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype", ASKS),
    ("set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype", SETS),
    ("set_autocast_enabled set_autocast_gpu_dtype", SETS),
    ("sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum", "computes with numbers of Python"),
    ("can_cast promote_types finfo iinfo", RULES),
    ("manual_seed seed set_rng_state set_default_dtype set_default_device set_num_threads set_printoptions", SETS),
    ("use_deterministic_algorithms set_num_interop_threads empty_cache set_grad_enabled set_anomaly_enabled", SETS),
    ("get_default_dtype get_default_device get_num_threads get_num_interop_threads get_rng_state initial_seed", ASKS),
    ("get_printoptions is_grad_enabled is_inference_mode_enabled is_anomaly_enabled", ASKS),
    ("eig lstsq matrix_rank solve symeig", "raises: PyTorch had it once"),
    ("is_anomaly_check_nan_enabled are_deterministic_algorithms_enabled operator_table", ASKS),
):
    EXCEPTIONS |= dict.fromkeys(_names.split(), _reason)
for _name in list(EXCEPTIONS):
    EXCEPTIONS.setdefault(f"autograd.{_name}", EXCEPTIONS[_name])


class Answer(pb.Tensor):
    """Answers each call with the callable."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for path in MODULES:
        module = importlib.import_module(f"pullback.{path}" if path else "pullback")
        for name in getattr(module, "__all__", dir(module)):
            f = getattr(module, name)
            kind = isinstance(f, type) or name.endswith("Tensor")
            if name[0] != "_" and callable(f) and not kind:
                yield f"{path}.{name}" if path else name, f


def takes_tensors(path: str, f: Callable[..., Any]) -> bool:
    """Functions of the table say what they take; a maker takes none."""
    entry = TABLE.get(path) or TABLE.get(path.rsplit(".", 1)[-1])
    if entry is None or _core.functions.get(path, _core.functions.get(entry["name"])) is not f:
        return True
    return any("tensor" in str(p["kind"]).lower() or "operand" in str(p["kind"]).lower() for p in entry["params"])


def required(path: str, f: Callable[..., Any], given: Any) -> tuple[list[Any], dict[str, Any]]:
    entry = TABLE.get(path) or TABLE.get(path.rsplit(".", 1)[-1])
    if entry is not None:
        needed = [p for p in entry["params"] if p["required"]]
        args = [given for p in needed if not p["kwonly"]]
        return args or [given], {p["name"]: given for p in needed if p["kwonly"]}
    parameters = inspect.signature(f).parameters.values()
    free = [p for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    named = [p for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    return [given for _ in free] or [given], {p.name: given for p in named}


ALL = dict(functions())
WALKED = sorted(name for name in ALL if name not in EXCEPTIONS)


def test_the_walk_finds_them() -> None:
    assert len(WALKED) > 380
    assert {"add", "einsum", "equal", "autograd.grad", "autograd.backward", "nn.functional.relu"} <= set(WALKED)


@pytest.mark.parametrize("name", WALKED)
def test_every_function_shows_its_calls(name: str) -> None:
    f = ALL[name]
    if not takes_tensors(name, f):
        pytest.skip("takes no tensor")
    args, kwargs = required(name, f, Answer([1.0]))
    out = f(*args, **kwargs)
    # An alias that is a function of its own shows the operator's.
    assert out is f or out.__doc__ == f.__doc__, out


def test_exceptions_are_needed() -> None:
    """No reason stands for what is not there."""
    short = {n.removeprefix("autograd.") for n in EXCEPTIONS}
    present = {n.removeprefix("autograd.") for n in ALL}
    for name in sorted(short & present):
        f = ALL.get(name) or ALL[f"autograd.{name}"]
        args, kwargs = required(name, f, Answer([1.0]))
        try:
            out = f(*args, **kwargs)
        except Exception:
            continue
        finally:
            pb.set_default_dtype(pb.float32)
        assert out is not f, name
