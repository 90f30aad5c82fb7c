"""Data on their way in: files of tensors, and batches of a data set."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from libraries import Tensors, normal
from measure import Workload
from small import of_torch

TENSORS, ELEMENTS = 50, 2_500_000


def loading(lib: Tensors) -> Any:
    """Each library loads what it saved; the file is in the memory of the system."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "weights.pt"
    some = lib.tensor(normal("weights", ELEMENTS))
    lib.T.save({f"w{k}": some * (k + 1) for k in range(TENSORS)}, path)

    def run() -> Any:
        assert folder is not None, "the folder lasts as long as the program"
        loaded = lib.T.load(path)
        assert len(loaded) == TENSORS
        return loaded["w0"], loaded[f"w{TENSORS - 1}"]

    return run


def batches(shuffled: bool) -> Any:
    def build(lib: Tensors) -> Any:
        data = lib.T.utils.data
        x, y = lib.tensor(normal("x", 10_000, 16)), lib.T.arange(10_000)
        loader = data.DataLoader(data.TensorDataset(x, y), batch_size=64, shuffle=shuffled)

        def run() -> Any:
            count = 0
            for inputs, labels in loader:
                count += len(inputs)
                last = inputs, labels
            return count if shuffled else last

        return run

    return build


WORKLOADS = [
    Workload("load", "`load` of 50 tensors, 500 MB", loading, of_torch(1.0)),
    Workload("loader", "`DataLoader` over a `TensorDataset`, 10,000 in batches of 64", batches(False), of_torch(0.5)),
    Workload("loader_shuffled", "the same, shuffled", batches(True), of_torch(0.5)),
]
