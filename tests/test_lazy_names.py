"""Names of the package that are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import pullback as pb
from pullback.types import PySymType, py_sym_types


def test_names_are_listed_and_loaded_alone() -> None:
    code = (
        "import sys, pullback\n"
        "print('pullback._names' in sys.modules, 'sym_int' in dir(pullback), 'sym_int' in vars(pullback))\n"
        "pullback.sym_int\n"
        "print('sym_int' in vars(pullback), 'pullback.nn' in sys.modules)\n"
        "from pullback import *\n"
        "print(numel(ones(2)), nn.Linear.__name__, sorted(pullback.__all__) == dir(pullback), type(int))\n"
    )
    seen = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert seen.splitlines() == ["False True False", "True False", "2 Linear True <class 'type'>"]
    with pytest.raises(AttributeError, match="module 'pullback' has no attribute 'numell'"):
        pb.numell  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="out of scope: models are not exported"):
        pb.export  # type: ignore[attr-defined]  # noqa: B018


def test_methods_as_functions() -> None:
    x = pb.arange(6.0).reshape(2, 3)
    assert pb.numel(x) == 6 and not pb.is_conj(x) and not pb.is_neg(x) and not pb.is_distributed(x)
    assert pb.resolve_conj(x) is x and pb.resolve_neg(x) is x
    y = pb.ones(2, requires_grad=True) * 2
    assert pb.detach_(y) is y and not y.requires_grad
    assert pb.fill(x, 2).equal(pb.full((2, 3), 2.0)) and x[1, 2] == 5 and pb.fill(pb.arange(2), 7).tolist() == [7, 7]
    assert pb.zero_(x) is x and x.sum() == 0 and pb.fill_(x, pb.tensor(3.0)) is x and x.sum() == 18
    assert pb.resize_as_(pb.ones(1), x).shape == (2, 3)
    assert pb.as_strided_(pb.arange(6), (2,), (3,), 1).tolist() == [1, 4]
    for name in ("numel", "is_conj", "is_distributed", "resolve_neg", "zero_"):
        with pytest.raises(TypeError, match=rf"{name}\(\): argument 'input' \(position 1\) must be Tensor, not int"):
            getattr(pb, name)(3)


def test_symbols_are_numbers() -> None:
    assert not isinstance(3, (pb.SymInt, pb.SymFloat, pb.SymBool)) and not isinstance(2.0, py_sym_types)
    assert PySymType is not None and pb.sym_int(2.5) == 2 and pb.sym_sqrt(4) == 2.0 and pb.sym_sum([1, 2]) == 3
    for made, want in ((pb.sym_max(2, 1.0), 2.0), (pb.sym_min(2, 3), 2), (pb.sym_float(1), 1.0)):
        assert made == want and type(made) is type(want)
    assert pb.sym_not(0) is True and pb.sym_ite(False, 1, 2) == 2
    with pytest.raises(TypeError, match=r"SymInt\(\): sizes are numbers here; use an int"):
        pb.SymInt(3)


def test_names_around_accelerators() -> None:
    assert issubclass(pb.OutOfMemoryError, RuntimeError) and pb.cuda.OutOfMemoryError is pb.OutOfMemoryError
    assert issubclass(pb.AcceleratorError, RuntimeError) and pb.version.rocm is None
    assert pb.get_autocast_dtype("cpu") is pb.get_autocast_cpu_dtype() is pb.bfloat16
    assert pb.get_autocast_dtype("cuda") is pb.get_autocast_gpu_dtype() is pb.float16
    assert pb.GradScaler is pb.amp.GradScaler and pb.clear_autocast_cache() is None  # type: ignore[func-returns-value]


def test_assert_allclose() -> None:
    close: Any = pb.testing.assert_allclose
    close(pb.tensor([1.0, float("nan")]), [1.0, float("nan")])
    close(pb.ones(2), pb.ones(2, dtype=pb.float64))
    close(pb.ones(2), pb.full((2,), 1.1), rtol=0.2, atol=0)
    with pytest.raises(AssertionError, match="no"):
        close(pb.ones(2), pb.zeros(2), msg="no")


def test_the_cpu_is_a_device() -> None:
    cpu = pb.cpu
    assert cpu.is_available() and cpu.is_initialized() and cpu.device_count() == 1
    assert pb.ones(1, device=cpu.current_device()).device == pb.device("cpu")
    cpu.synchronize()
    cpu.set_device("cpu")
    with pytest.warns(FutureWarning, match=r"torch\.cpu\.amp\.\w+.*deprecated"):
        off, scaler = cpu.amp.autocast(enabled=False), cpu.amp.GradScaler(enabled=False)
    with cpu.stream(cpu.current_stream()), off:
        assert cpu.current_stream() is cpu.current_stream()
    assert not scaler.is_enabled()


def test_tensors_of_other_devices_do_not_exist() -> None:
    kinds = [getattr(pb.cuda, name) for name in ("FloatTensor", "LongTensor", "BoolTensor")]
    assert not any(isinstance(pb.ones(1), kind) for kind in kinds) and len({k.__name__ for k in kinds}) == 3
    with pytest.raises(RuntimeError, match=r"cuda.FloatTensor\(\): there is no CUDA device"):
        kinds[0](2)
    with pytest.raises(AttributeError):
        pb.cuda.NoTensor  # noqa: B018


def test_switches_of_the_engine() -> None:
    assert pb.autograd.is_multithreading_enabled()
    with pb.autograd.set_multithreading_enabled(False) as inside:
        assert inside is None and not pb.autograd.is_multithreading_enabled()
    assert pb.autograd.is_multithreading_enabled()
    assert not pb.autograd.is_view_replay_enabled() and not pb.autograd.kineto_available()
    assert issubclass(pb.autograd.NestedIOFunction, pb.autograd.Function)


def test_nothing_is_compiled() -> None:
    kinds = (pb.jit.ScriptFunction, pb.jit.RecursiveScriptModule, pb.jit.TracedModule, pb.jit.CompilationUnit)
    assert not isinstance(pb.jit.script(lambda x: x), kinds)
    with pytest.raises(RuntimeError, match=r"jit.ScriptFunction\(\): programs are not compiled"):
        pb.jit.ScriptFunction()
    assert issubclass(pb.jit.TracerWarning, Warning) and issubclass(pb.jit.Error, RuntimeError)


def test_functions_under_their_other_name() -> None:
    from pullback import functional

    assert functional.einsum is pb.einsum and functional.norm is pb.norm
    assert {"broadcast_tensors", "split", "tensordot"} <= set(functional.__all__)
    with pytest.raises(AttributeError):
        functional.sin  # noqa: B018
