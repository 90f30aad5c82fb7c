"""Objects that are saved and loaded, made of a library's tensors: `m` is pullback or PyTorch.

`tools/record_torch_files.py` saves them with PyTorch to `tests/data/`.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "data"
DTYPES = (
    *("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"),
    *("complex64", "complex128"),
)


def dtypes(m: Any) -> Any:
    return {name: m.tensor([0, 1, 2, 3]).to(getattr(m, name)) for name in DTYPES}


def layouts(m: Any) -> Any:
    """Tensors that show the same memory by sizes, strides and offsets."""
    x = m.arange(24, dtype=m.float32)
    y = x.view(2, 3, 4)
    return {
        **{"x": x, "y": y, "transposed": y.transpose(0, 2), "row": y[1, 2], "steps": x[3::5], "scalar": x[7]},
        **{"expanded": x[:3].expand(2, 3), "empty": x[:0], "no rows": m.empty(0, 3), "alone": m.tensor(2.5)},
        "last": m.arange(16.0).reshape(1, 2, 2, 4).permute(0, 3, 1, 2),
    }


def containers(m: Any) -> Any:
    inner = [m.ones(2), {"k": m.zeros(1)}]
    return {
        "numbers": [0, 255, 256, 65536, -1, 2**40, -(2**70), 1.5, -0.0, math.inf, 1 + 2j, True, False, None],
        "texts": ["", "ä", "\U0001f40d", "x" * 300, b"", b"\x00\xff", bytearray(b"ab")],
        "nested": (inner, inner, (), [], {}, {1, 2}, ((((1,),),),)),
        "keys": {1: "a", (1, "b"): 2, None: 3, 1.5: 4, b"b": 6},
        "ordered": OrderedDict([("b", m.ones(1)), ("a", 1)]),
        "counter": Counter("abca"),
        "kinds": [m.float32, m.bool, m.device("cpu"), m.Size([2, 3]), m.strided],
    }


def state_dict(m: Any) -> Any:
    state = OrderedDict([("0.weight", m.ones(3, 2)), ("0.bias", m.zeros(3)), ("1.count", m.tensor(4))])
    state._metadata = OrderedDict([("", {"version": 1}), ("1", {"version": 2})])  # type: ignore[attr-defined]
    optimizer = {
        "state": {0: {"step": m.tensor(3.0), "exp_avg": m.ones(3, 2)}},
        "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "foreach": None, "params": [0, 1]}],
    }
    return {"model": state, "optimizer": optimizer, "epoch": 3}


def tensors(m: Any) -> Any:
    """Tensors that are more than their elements."""
    with_attribute = m.ones(2)
    with_attribute.note = ["a", 1]
    return {
        "leaf": m.tensor([1.0, 2.0], requires_grad=True),
        "conjugated": m.tensor([1 + 2j, 3 - 1j]).conj(),
        "attribute": with_attribute,
        "meta": m.ones(2, 3, device="meta"),
    }


OBJECTS: dict[str, Callable[[Any], Any]] = {f.__name__: f for f in (dtypes, layouts, containers, state_dict, tensors)}


def described(x: Any) -> Any:
    """An object as numbers and strings that two libraries have in common."""
    if hasattr(x, "untyped_storage"):
        kind = "Parameter" if type(x).__name__ == "Parameter" else "Tensor"
        values = None if x.is_meta else [repr(v) for v in x.detach().resolve_conj().reshape(-1).tolist()]
        attributes = described(dict(getattr(x, "__dict__", {})))
        parts = (x.requires_grad, tuple(x.shape), x.stride(), x.storage_offset())
        return kind, str(x.dtype).partition(".")[2], *parts, values, attributes
    if isinstance(x, dict):
        extra = described(getattr(x, "_metadata", None))
        return type(x).__name__, [(described(k), described(v)) for k, v in x.items()], extra
    if isinstance(x, list | tuple | set):
        return type(x).__name__, [described(v) for v in x]
    if type(x).__module__ in ("builtins", "collections"):
        return repr(x)
    return type(x).__name__, str(x).rpartition(".")[2]


def modules(m: Any) -> Any:
    """Modules whose classes, hooks and functions lie at many places, and what they make of a formula's numbers."""
    nn = m.nn
    utils = nn.utils
    made = {
        "pool": (nn.FractionalMaxPool2d(2, 3, _random_samples=m.full((1, 1, 2), 0.3)), (1, 1, 7, 7)),
        "encoder": (nn.TransformerEncoderLayer(2, 1, 3, activation=nn.functional.gelu), (2, 1, 2)),
        "spectral": (utils.spectral_norm(nn.Linear(2, 3)), (1, 2)),
        "lengths": (utils.weight_norm(nn.Linear(2, 3)), (1, 2)),
        "pruned": (utils.prune.ln_structured(nn.Linear(2, 3), "weight", 1, 2, 0), (1, 2)),
        "recurrent": (nn.GRU(2, 3), (2, 1, 2)),
    }
    out: dict[str, Any] = {"loss": nn.LinearCrossEntropyLoss(2, 3), "functions": functions(m)}
    for name, (module, shape) in made.items():
        module.eval()
        with m.no_grad():
            for k, p in enumerate(module.parameters()):
                p.copy_((m.arange(float(p.numel())).reshape(p.shape) + k).sin())
            result = module(numbers(m, *shape))
        out[name] = (module, list(shape), result[0] if isinstance(result, tuple) else result)
    return out


def numbers(m: Any, *shape: int) -> Any:
    return (m.arange(float(math.prod(shape))) * 1.7).cos().reshape(shape)


def functions(m: Any) -> Any:
    """Of one argument; the last takes logarithms of sigmoids."""
    f = m.nn.functional
    return [m.tanh, m.Tensor.exp, f.relu, f.gelu, f.softplus, m.special.expit, m.linalg.norm, f.logsigmoid]
