"""Packages with a compiled library for PyTorch can be imported: what is in Python runs, and the rest says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pullback as pb
from pullback import _C, as_torch, futures

LIBRARY = """
import functools
import torch
import torch._custom_ops
import torch.library
from torch._dynamo.utils import is_compile_supported
from torch.onnx import symbolic_opset11 as opset11
from torch.onnx.symbolic_helper import parse_args

try:
    torch.ops.load_library("libseen.so")
    loaded = True
except OSError:
    loaded = False

keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet("AutocastCUDA")


def without_autocast(f):
    @functools.wraps(f)
    def call(*args):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return f(*args)
    return call


@torch.library.register_fake("seen::nms")
def fake_nms(boxes, scores):
    return boxes.new_empty(torch._custom_ops.get_ctx().create_unbacked_symint())


def backward(ctx, g):
    return g


torch.library.register_autograd("seen::nms", backward)


@parse_args("v", "v", "f")
def symbolic_nms(g, boxes, scores):
    return opset11.unsqueeze(g, boxes, 0)


torch.onnx.register_custom_op_symbolic("seen::nms", symbolic_nms, 11)


@torch.jit._script_if_tracing
@without_autocast
def area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


class Layer(torch.nn.Module):
    @torch.jit._overload_method
    def forward(self, x: list[torch.Tensor]) -> torch.Tensor: ...

    def forward(self, x):
        return area(x) if isinstance(x, torch.Tensor) else area(torch.cat(x))
"""
PROGRAM = """
import torch, seen
print(seen.loaded, seen.is_compile_supported("cpu"), seen.Layer()([torch.tensor([[0.0, 0, 2, 3]])]))
"""


def test_a_package_without_its_compiled_library(tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "pullback.as_torch", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False False tensor([6.])\n", "")


def test_rules_for_operators_of_others_need_the_operator() -> None:
    with pytest.raises(RuntimeError, match="there is no operator seen::nms"):
        pb.library.register_fake("seen::nms", lambda x: x)
    with pytest.raises(RuntimeError, match="there is no operator seen::nms"):
        pb.library.register_autograd("seen::nms", lambda ctx, g: g)


def test_names_that_packages_ask_the_inside_for() -> None:
    assert _C.Future is futures.Future
    assert _C.DispatchKeySet(_C.DispatchKey.CPU).has("CPU")
    assert not hasattr(_C.DispatchKey, "__wrapped__")
    with as_torch.install():
        from torch import hub  # type: ignore[import-not-found]
        from torch.utils import model_zoo  # type: ignore[import-not-found]

        assert getattr(hub, "tqdm", None) is getattr(model_zoo, "tqdm", None)
        assert not hasattr(hub, "seen") and not hasattr(model_zoo, "seen")
