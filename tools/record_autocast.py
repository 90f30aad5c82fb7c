"""Records which dtypes PyTorch's operators give under autocast on the CPU: tests/reference/autocast.json.

For each operator of the table that PyTorch has under the same name, the first samples that it takes, with floats of
float32 and with floats of bfloat16. Run it where PyTorch and pullback are installed:

    PYTHONPATH=python python tools/record_autocast.py
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = 3


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    import torch

    import pullback as pb
    from support.samples import build, load, replaced, table

    def there(tensor: Any, floats: Any) -> Any:
        made = torch.from_numpy(tensor.detach().numpy().copy())
        return (
            made.to(floats) if made.dtype is torch.float64 else made.to(torch.complex64) if made.is_complex() else made
        )

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(plain(v) for v in value)
        return getattr(torch, str(value).rpartition(".")[2]) if isinstance(value, pb.dtype) else value

    def run(function: Any, sample: Any, floats: Any) -> list[str]:
        supply = (there(t, floats) for t in sample.tensors())
        args = [plain(replaced(a, supply)) for a in sample.args]
        kwargs = {k: plain(replaced(v, supply)) for k, v in sample.kwargs.items()}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = function(*args, **kwargs)
        return [str(t.dtype).rpartition(".")[2] for t in (out if isinstance(out, (list, tuple)) else [out])]

    found: dict[str, list[Any]] = {}
    for name, entry in table().items():
        function: Any = torch
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is None or name not in load() or entry["flags"]["random"] or entry["flags"]["internal"]:
            continue
        for floats in (torch.float32, torch.bfloat16):
            taken = 0
            for i, sample in enumerate(build(name, 0)):
                if taken == SAMPLES or sample.via:
                    continue
                try:
                    dtypes = run(function, sample, floats)
                except Exception:
                    continue
                taken += 1
                found.setdefault(name, []).append([i, str(floats).rpartition(".")[2], dtypes])
    lines = [f"{json.dumps(name)}: {json.dumps(calls)}" for name, calls in sorted(found.items())]
    target = ROOT / "tests/reference/autocast.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(found)} operators in {target}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
