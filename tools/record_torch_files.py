#!/usr/bin/env python3
"""Writes tests/data/*.pt: the objects of tests/support/saved.py, saved by PyTorch.

    python tools/record_torch_files.py

Needs PyTorch 2.13.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.utils.prune

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import saved


def main() -> None:
    saved.FOLDER.mkdir(exist_ok=True)
    for name, make in saved.OBJECTS.items():
        torch.save(make(torch), saved.FOLDER / f"{name}.pt")
    torch.save(saved.containers(torch), saved.FOLDER / "containers-protocol4.pt", pickle_protocol=4)
    torch.save(saved.layouts(torch), saved.FOLDER / "layouts-legacy.pt", _use_new_zipfile_serialization=False)
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with torch.no_grad():
        for k, parameter in enumerate(module.parameters()):
            parameter.fill_(k)
    torch.save(module, saved.FOLDER / "module.pt")
    torch.save(module.state_dict(), saved.FOLDER / "module-state.pt")
    torch.save(dict(module.named_parameters()), saved.FOLDER / "parameters.pt")
    torch.save(saved.modules(torch), saved.FOLDER / "modules.pt")
    sizes = [path.stat().st_size for path in sorted(saved.FOLDER.glob("*.pt"))]
    print(f"{len(sizes)} files, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
