"""Hooks on saved tensors may read them in any way: into files, arrays and storages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pullback as pb

READS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x.detach().numpy().copy(),
    "array": lambda x: x.detach().__array__().copy(),
    "storage": lambda x: x.untyped_storage().nbytes(),
    "pointer": lambda x: x.data_ptr(),
    "list": lambda x: x.tolist(),
    "deepcopy": lambda x: x.detach().clone(),
}


@pytest.mark.parametrize("size", [2, 5000])
@pytest.mark.parametrize("read", READS)
def test_reading_is_no_write(read: str, size: int) -> None:
    x = pb.arange(float(size)).requires_grad_()
    version = x._version
    seen = []

    def pack(t: Any) -> Any:
        seen.append(READS[read](t))
        return t

    with pb.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x * x).sum()
    y.backward()
    assert seen and x._version == version
    assert pb.equal(x.grad, 2 * x.detach())


def test_saved_tensors_go_through_files(tmp_path: Path) -> None:
    def pack(t: Any) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pt"
        pb.save(t, path)
        return path

    x = pb.randn(5000).requires_grad_()
    with pb.autograd.graph.saved_tensors_hooks(pack, pb.load):
        y = (x.sin() * x).sum()
    y.backward()
    pb.testing.assert_close(x.grad, (x.sin() + x.cos() * x).detach())


def test_a_write_in_a_hook_is_refused() -> None:
    x = pb.ones(5000).requires_grad_()
    with (
        pb.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(RuntimeError, match="pack hook"),
        pb.no_grad(),
        pb.enable_grad(),
    ):
        (x * x.clone()).sum()


def test_numbers_come_behind_the_tensor_in_graphs() -> None:
    x = pb.ones(3).requires_grad_()
    for y in (2 * x, 2 + x, x * 2, x + 2):
        assert y.grad_fn is not None and y.grad_fn.next_functions[0][0] is not None
    assert pb.equal(2 * x, x * 2) and pb.equal(2 - x, -(x - 2)) and pb.equal(2 / x, 1 / (x / 2))
