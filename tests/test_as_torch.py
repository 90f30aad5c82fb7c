"""Programs for PyTorch run as they are, and what does not exist says so."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import as_torch

PROGRAM = """
import sys
import torch
import torch.nn.functional as F
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.backends.cudnn.deterministic = True
x = torch.randn(64, 3, device=device)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
w = Variable(torch.zeros(3, 1), requires_grad=True)
for epoch in range(40):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
        loss = F.mse_loss(a @ w, b) if hasattr(F, "mse_loss") else ((a @ w - b) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
print(sys.argv[1:], [round(v, 3) for v in w.flatten().tolist()], __name__)
"""


@pytest.fixture
def torch() -> Iterator[Any]:
    assert "torch" not in sys.modules
    with as_torch.install():
        import torch  # type: ignore[import-not-found]

        yield torch
    assert "torch" not in sys.modules and not as_torch.is_installed()


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pullback.as_torch", *args]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_a_program_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("import train")
    done = run(str(tmp_path / "train.py"), "--epochs", "3")
    assert done.stdout == "['--epochs', '3'] [1.0, -2.0, 0.5] __main__\n", done.stderr
    assert run(str(tmp_path / "beside.py"), "a").stdout == "['a'] [1.0, -2.0, 0.5] train\n"
    assert run("-m", "train", "b", cwd=tmp_path).stdout == "['b'] [1.0, -2.0, 0.5] __main__\n"
    assert run("-c", "import torch, sys; print(torch.ones(1), sys.argv)", "c").stdout == "tensor([1.]) ['-c', 'c']\n"


WORKERS = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor(index) ** 2

if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context=sys.argv[1])
    print([b.tolist() for b in loader])
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_programs_with_workers(method: str, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(WORKERS)
    done = run(str(tmp_path / "load.py"), method)
    assert done.stdout == "[[0, 1], [4, 9]]\n", done.stderr


def test_the_command_says_how_it_is_used() -> None:
    assert "usage: python -m pullback.as_torch" in run("--help").stdout
    for args in ((), ("-m",), ("-c",)):
        done = run(*args)
        assert done.returncode == 2 and "usage:" in done.stderr
    failed = run("-c", "raise SystemExit(3)")
    assert failed.returncode == 3


MODULES = """
    nn nn.functional func autograd autograd.functional autograd.forward_ad utils.data utils.checkpoint linalg fft
    special testing cuda cuda.amp amp backends backends.cudnn backends.cuda backends.mps jit compiler types version
    random serialization multiprocessing distributed _dynamo utils._pytree library utils.data.dataloader torch_version
    __config__ utils.data._utils.collate utils.data.distributed profiler autograd.profiler
    onnx accelerator utils.dlpack _vmap_internals _functorch.eager_transforms
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules_can_be_imported_in_every_way(name: str, torch: Any) -> None:
    found: dict[str, Any] = {}
    exec(f"import torch.{name}\nimport torch.{name} as a\nimport torch as t", found)
    above, _, last = name.rpartition(".")
    exec(f"from torch{'.' + above if above else ''} import {last} as b", found)
    part: Any = torch
    for step in name.split("."):
        part = getattr(part, step)
    assert found["a"] is found["b"] is part is sys.modules[f"torch.{name}"] and found["t"] is torch


def test_modules_are_those_of_this_package(torch: Any) -> None:
    import functorch  # type: ignore[import-not-found]
    from torch.nn import functional  # type: ignore[import-not-found]

    assert functional is pb.nn.functional and functional.__spec__.name == "pullback.nn.functional"
    assert torch.Tensor is pb.Tensor and torch.float32 is pb.float32 and torch.sin is pb.sin
    assert functorch.vmap is pb.func.vmap and functorch.jacrev is torch.func.jacrev
    assert {"sin", "float", "bool", "nn", "__version__"} <= set(dir(torch))
    names: dict[str, Any] = {}
    exec("from torch import *", names)
    assert names["sin"] is pb.sin and names["vmap"] is pb.vmap


def test_things_show_themselves_as_parts_of_torch(torch: Any) -> None:
    x = torch.ones(2, dtype=torch.float64)
    assert str(x.dtype) == "torch.float64" and eval(repr(x.dtype)) is torch.float64
    assert repr(x.shape) == "torch.Size([2])" and str(x) == "tensor([1., 1.], dtype=torch.float64)"
    assert str(torch.max(torch.eye(1), 0)).startswith("torch.return_types.max(\nvalues=tensor([1.]),")
    assert x.type() == "torch.DoubleTensor" == torch.DoubleTensor and torch.DoubleTensor == x.type()
    assert x.type("torch.FloatTensor").dtype is torch.float32 and str(torch.channels_last) == "torch.channels_last"
    as_torch.uninstall()
    assert str(x.dtype) == "pullback.float64" and x.type() == "pullback.DoubleTensor"
    assert x.type("torch.FloatTensor").dtype is pb.float32


def test_classes_of_tensors_say_that_they_are_of_torch(torch: Any) -> None:
    """Libraries such as opt_einsum and autoray ask the class of an array for its module to find their functions."""

    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    layer = torch.nn.Linear(2, 3)
    for x in (torch.ones(2), layer.weight, torch.nn.Buffer(torch.ones(2)), torch.nn.LazyLinear(2).weight):
        assert type(x).__module__.partition(".")[0] == "torch"
        for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x, 5))):
            assert type(made) is type(x)
    assert str(type(torch.ones(2))) == "<class 'torch.Tensor'>" and type(layer.weight) is pb.nn.Parameter
    assert Mine.__module__ == __name__
    for y in (torch.float32, torch.device("cpu"), torch.Size([2]), torch.Generator()):
        assert type(y).__module__.partition(".")[0] == "torch"
        assert type(pickle.loads(pickle.dumps(y))) is type(y) is type(copy.deepcopy(y))
    file = io.BytesIO()
    torch.save(layer.state_dict() | {"weight": layer.weight}, file)
    file.seek(0)
    as_torch.uninstall()
    assert type(pb.load(file)["weight"]) is pb.nn.Parameter
    assert pb.Tensor.__module__ == "pullback" and pb.nn.Parameter.__module__ == "pullback.nn.parameter"


def test_libraries_find_it_without_importing(torch: Any) -> None:
    from importlib.metadata import distribution, version
    from importlib.util import find_spec

    assert version("torch") == distribution("torch").version == torch.__version__ and version("numpy")
    assert find_spec("torch") is not None and find_spec("torch.nn") is not None and find_spec("functorch") is not None


def test_private_modules_that_programs_import(torch: Any) -> None:
    from functorch.experimental import replace_all_batch_norm_modules_  # type: ignore[import-not-found]
    from torch._functorch.make_functional import make_functional  # type: ignore[import-not-found]
    from torch._tensor import Tensor  # type: ignore[import-not-found]
    from torch._utils import (  # type: ignore[import-not-found]
        _flatten_dense_tensors,
        _unflatten_dense_tensors,
    )

    assert Tensor is pb.Tensor and callable(make_functional) and callable(replace_all_batch_norm_modules_)
    parts = [torch.ones(2, 2), torch.arange(3.0)]
    flat = _flatten_dense_tensors(parts)
    assert flat.shape == (7,)
    assert all(a.equal(b) for a, b in zip(_unflatten_dense_tensors(flat, parts), parts, strict=True))


def test_names_of_the_inside_that_programs_use(torch: Any) -> None:
    from torch import _C
    from torch.autograd.profiler_util import EventList  # type: ignore[import-not-found]
    from torch.multiprocessing.spawn import ProcessRaisedException  # type: ignore[import-not-found]
    from torch.profiler.profiler import profile  # type: ignore[import-not-found]

    assert torch.torch is torch and torch.has_cuda is False and profile is torch.profiler.profile
    assert issubclass(ProcessRaisedException, Exception) and issubclass(EventList, list)
    assert _C._get_tracing_state() is None and _C._is_tracing() is False and _C._jit_set_profiling_mode(False) is False
    _C._log_api_usage_once("somewhere")
    assert _C._nn._parse_to("cpu") == (torch.device("cpu"), None, False, None)
    assert _C._nn._parse_to(torch.float64, non_blocking=True) == (None, torch.float64, True, None)
    assert _C._nn._parse_to("meta", torch.half, True) == (torch.device("meta"), torch.half, True, None)
    assert _C._nn._parse_to(torch.ones(1), memory_format=torch.channels_last)[3] is torch.channels_last
    assert _C._LinAlgError is torch.linalg.LinAlgError and _C._OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert _C._nn.gelu is torch.nn.functional.gelu and _C.TensorBase is torch.Tensor
    torch._logging.set_logs(graph_code=True)
    future = torch.__future__
    assert future.get_swap_module_params_on_conversion() is False
    future.set_swap_module_params_on_conversion(True)
    assert future.get_swap_module_params_on_conversion() is True
    with pytest.raises(AttributeError, match="it is the inside of PyTorch"):
        _ = _C._no_such_name


def test_private_names_that_programs_import(torch: Any) -> None:
    from torch._dynamo import graph_break  # type: ignore[import-not-found]
    from torch.nn.init import (  # type: ignore[import-not-found]
        _no_grad_normal_,
        _no_grad_trunc_normal_,
        _no_grad_uniform_,
    )
    from torch.nn.modules.module import _addindent  # type: ignore[import-not-found]
    from torch.utils.checkpoint import (  # type: ignore[import-not-found]
        check_backward_validity,
        detach_variable,
        get_device_states,
        set_device_states,
    )
    from torch.utils.data.dataloader import (  # type: ignore[import-not-found]
        _collate_fn_t,
        _worker_init_fn_t,
    )

    assert _collate_fn_t[int] and _worker_init_fn_t and graph_break() is None
    with pytest.raises(OSError, match=r"libmine\.so has operators in C\+\+, which are out of scope"):
        torch.ops.load_library("libmine.so")
    assert _addindent("a\nb\nc", 2) == "a\n  b\n  c"
    w = torch.nn.Parameter(torch.zeros(1000))
    for fill, args, most in (
        (_no_grad_uniform_, (-1, 1), 1),
        (_no_grad_normal_, (0, 1), 9),
        (_no_grad_trunc_normal_, (0, 1, -2, 2), 2),
    ):
        fill(w, *args)
        assert w.grad_fn is None and 0.3 < w.std() < 1.2 and w.abs().max() <= most
    x = torch.ones(2, requires_grad=True) * 2
    a, b, n = detach_variable((x, torch.ones(1), 3))
    assert a.is_leaf and a.requires_grad and not b.requires_grad and n == 3
    set_device_states(*get_device_states(x))
    for call in (lambda: detach_variable([x]), lambda: set_device_states([0], [x])):
        with pytest.raises(RuntimeError):
            call()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([b])
    check_backward_validity([b, x])


def test_old_ways_of_making_tensors(torch: Any) -> None:
    assert torch.Tensor(torch.Size([2])).shape == (2,) and torch.Tensor((2,)).tolist() == [2.0]
    assert torch.FloatTensor(torch.Size([2, 3])).shape == (2, 3) and torch.ones(4).new(torch.Size([1])).shape == (1,)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert torch.autograd.Variable(torch.ones(1), volatile=True).requires_grad is False


def test_versions_compare(torch: Any) -> None:
    from torch.torch_version import TorchVersion  # type: ignore[import-not-found]

    version = torch.__version__
    assert version >= "1.13" and version > "2.9" and version >= (2, 0) and version < "3" and not version < "2.13.0"
    assert version == torch.version.__version__ and version != "2.12" and version.split(".")[0] == "2"
    assert int(version.split(".")[1]) == 13 and torch.version.cuda is None and TorchVersion("2.1.0+cu118") < "2.2"
    assert "pullback" in torch.__config__.show() and "threads" in torch.__config__.parallel_info()


def test_devices_are_not_there(torch: Any) -> None:
    for part in (torch.cuda, torch.mps, torch.xpu, torch.distributed, torch.backends.cudnn, torch.backends.mps):
        assert part.is_available() is False
    assert torch.backends.mps.is_built() is False and torch.cuda.device_count() == 0
    assert torch.distributed.is_nccl_available() is torch.distributed.is_backend_available("gloo") is False
    assert torch.xpu.is_initialized() is False
    assert not isinstance(torch.ones(1), torch.distributed.fsdp.FSDPModule)
    assert torch.distributed.rpc.is_available() is False
    from torch import mtia  # type: ignore[import-not-found]
    from torch.distributed import autograd, rpc  # type: ignore[import-not-found]

    assert mtia.is_available() is rpc.is_available() is autograd.is_available() is False
    torch.cuda.manual_seed_all(0)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_stats() == {} and torch.cuda.memory.memory_allocated() == 0
    assert not isinstance(torch.ones(1).storage(), torch.cuda.FloatStorage) and torch.cuda.get_arch_list() == []
    with torch.cuda.stream(None), torch.cuda.StreamContext(None):
        torch.cuda.reset_max_memory_allocated()
    assert torch.cuda._initialized is torch.cuda.is_initialized() is False
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        torch.cuda.nvtx.range_push("part")
    with pytest.raises(RuntimeError, match="NVTX functions not installed"), torch.cuda.nvtx.range("part"):
        pass
    for call in (
        torch.cuda.synchronize,
        torch.cuda.current_device,
        lambda: torch.cuda.set_device(0),
        lambda: torch.cuda.Event(enable_timing=True),
        torch.cuda.Stream,
        torch.cuda.current_stream,
        torch.cuda.mem_get_info,
        torch.cuda.get_rng_state,
        torch.ones(1).cuda,
    ):
        with pytest.raises(RuntimeError, match="there is no CUDA device"):
            call()


ABSENT = [
    ("torch.distributed.init_process_group", r"torch\.distributed\.init_process_group is out of scope: one process"),
    ("torch.onnx.export", r"torch\.onnx\.export is out of scope: models are not exported"),
    ("torch.sparse_coo_tensor", r"out of scope: tensors are dense"),
    ("torch.fft.rfft", r"out of scope: there are no Fourier transforms"),
    ("torch.stft", r"out of scope: there are no Fourier transforms"),
    ("torch.jit.save", r"out of scope: programs are not compiled by TorchScript"),
    ("torch.cuda.gds", r"out of scope: tensors are on the CPU"),
    ("torch.randnn", r"no attribute 'randnn'\. Did you mean: 'randn'"),
    ("torch.no_such_name", r"module 'torch' has no attribute 'no_such_name'$"),
    ("functorch.no_such_name", r"module 'functorch' has no attribute"),
]


@pytest.mark.parametrize(("path", "match"), ABSENT)
def test_names_that_do_not_exist(path: str, match: str, torch: Any) -> None:
    import functorch

    assert functorch is not None
    with pytest.raises(AttributeError, match=match):
        eval(path, {"torch": torch, "functorch": functorch})
    module, _, name = path.rpartition(".")
    assert not hasattr(eval(module, {"torch": torch, "functorch": functorch}), name)
    if "out of scope" not in match:
        with pytest.raises(ImportError, match=match.rstrip("$")):
            exec(f"from {module} import {name}")
        return
    found: dict[str, Any] = {}
    exec(f"from {module} import {name}", found)
    with pytest.raises(NotImplementedError, match="out of scope"):
        found[name](1)


def test_annotations_that_name_what_is_out_of_scope(torch: Any) -> None:
    """They are made where a program starts, which may be with parameters in brackets."""
    from torch._C import _TensorMeta
    from torch.fx import Node
    from torch.serialization import MAP_LOCATION

    assert isinstance(torch.ones(1), Node[torch.Tensor] | torch.Tensor)
    assert isinstance(torch.Tensor, _TensorMeta)
    assert MAP_LOCATION is not None


def test_parts_that_are_loaded_with_torch_can_be_named(torch: Any) -> None:
    class Printer(torch.fx.Interpreter):  # type: ignore[misc, name-defined]
        def run_node(self, node: torch.fx.Node) -> Any: ...  # type: ignore[name-defined]

    @torch.fx.wrap
    def marked(x: Any) -> Any:
        return x + 1

    assert marked(1) == 2
    namespace: dict[str, Any] = {}
    exec("from torch._C import Graph, Value\nfrom torch.jit.annotations import Dict, List", namespace)
    assert namespace["List"][int] is not namespace["Dict"][int, int]
    assert not isinstance(torch.ones(1), (torch.fx.Proxy, torch.sparse.FloatTensor, torch.ao.quantization.QuantStub))
    for call, why in (
        (Printer, "modules are not rewritten"),
        (lambda: torch.fx.symbolic_trace(torch.nn.ReLU()), "modules are not rewritten"),
        (lambda: torch.sparse.mm(torch.ones(1, 1), torch.ones(1, 1)), "tensors are dense"),
        (lambda: torch.quantization.quantize_dynamic(torch.nn.ReLU()), "no quantized dtypes"),
        (lambda: torch.nested.nested_tensor([torch.ones(1)]), "tensors are not nested"),
    ):
        with pytest.raises(NotImplementedError, match=f"out of scope: .*{why}"):
            call()


NAMED_ONLY = """
import abc
import torch
import torch.distributed as dist
import torch.distributed.nn as dist_nn
import torch.fx
from torch import fx, sparse_coo_tensor
from torch.distributed import ReduceOp, destroy_process_group, init_process_group
from torch.distributions.utils import broadcast_all
from torch.fx import GraphModule, Interpreter
from torch.nn.parallel import DataParallel, DistributedDataParallel as DDP
from torch.utils.cpp_extension import load


class Mine(Interpreter, abc.ABC):
    graph = fx.Graph

    def sample(self, like: "GraphModule | None" = None, how=ReduceOp.SUM): ...


def reduced(x, group: dist.ProcessGroup = None, op=dist.ReduceOp.SUM) -> fx.Node:
    return x if op is ReduceOp.SUM else None


class Other(fx.Interpreter): ...


def shown(model):
    assert not isinstance(model, (DDP, GraphModule, torch.fx.Node)) and isinstance(model, torch.nn.Module)
    assert broadcast_all(torch.ones(2), 1)[1].shape == (2,) and not dist.is_initialized()
    return DataParallel(model)(torch.ones(1, 2)).shape


print(tuple(shown(torch.nn.Linear(2, 3))), GraphModule, Mine.__name__)
"""


def test_programs_may_name_what_is_out_of_scope(torch: Any) -> None:
    """A name that is imported and not called, as those for several processes, stops no program."""
    program: dict[str, Any] = {"__name__": "program"}
    exec(NAMED_ONLY, program)
    for name in (
        "init_process_group",
        "DDP",
        "GraphModule",
        "Mine",
        "load",
        "sparse_coo_tensor",
    ):
        with pytest.raises(NotImplementedError, match=r"^torch\..* is out of scope: "):
            program[name]()
    with pytest.raises(
        NotImplementedError, match=r"^torch\.fx\.symbolic_trace is out of scope: modules are not rewritten"
    ):
        program["fx"].symbolic_trace(1)
    with pytest.raises(AttributeError, match="__wrapped__"):
        _ = program["DDP"].__wrapped__
    assert program["reduced"](1) == 1 and issubclass(program["Other"], program["Interpreter"])
    assert not hasattr(torch.distributed, "all_reduce")
    as_torch.uninstall()
    assert not hasattr(pb.distributed, "ReduceOp")
    assert "pullback.distributed.ReduceOp" not in sys.modules
    with pytest.raises(ImportError):
        exec("from pullback.distributed import ReduceOp")


def test_distributions_have_their_modules(torch: Any) -> None:
    program: dict[str, Any] = {}
    exec(
        "import torch.distributions as D\n"
        "import torch.distributions.constraints as constraints\n"
        "from torch.distributions import Normal, kl_divergence, transforms\n"
        "from torch.distributions.categorical import Categorical\n"
        "from torch.distributions.transformed_distribution import TransformedDistribution\n"
        "from torch.distributions.exp_family import ExponentialFamily\n",
        program,
    )
    assert program["D"] is pb.distributions and program["Categorical"] is pb.distributions.Categorical
    assert issubclass(program["Normal"], program["ExponentialFamily"])
    with pytest.raises(AttributeError, match=r"Did you mean|no attribute 'Norml'"):
        _ = program["D"].Norml


def test_modules_that_do_not_exist(torch: Any) -> None:
    for name, match in (
        ("torch._inductor.utils", "out of scope: programs are not compiled"),
        ("torch.no_such_module", "pullback has no module of this name"),
    ):
        with pytest.raises(ModuleNotFoundError, match=match):
            exec(f"import {name}")
    assert not hasattr(pb, "export")
    with pytest.raises(AttributeError, match=r"pullback\.export is out of scope"):
        _ = pb.export  # type: ignore[attr-defined]


def test_install_and_uninstall() -> None:
    pretended = types.ModuleType("torch")
    sys.modules["torch"] = pretended
    try:
        with as_torch.install():
            import torch

            assert torch is not pretended and as_torch.is_installed()
            with as_torch.install():
                pass
            assert as_torch.is_installed(), "the outer one goes on"
        assert sys.modules["torch"] is pretended
    finally:
        del sys.modules["torch"]
    as_torch.install()
    as_torch.uninstall()
    as_torch.uninstall()
    assert not as_torch.is_installed()
    with pytest.raises(ModuleNotFoundError):
        import torch.nn


def test_einops_takes_us_for_pytorch(torch: Any) -> None:
    einops = pytest.importorskip("einops")
    x = torch.rand(2, 3, requires_grad=True)
    assert einops.rearrange(x, "a b -> b a").requires_grad and einops.reduce(x, "a b -> a", "mean").shape == (2,)


def test_files_of_modules_load(torch: Any) -> None:
    from support import saved

    assert torch.load(saved.FOLDER / "module-state.pt")["0.weight"].shape == (3, 2)


def test_writers_of_tensorboard(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of a package that needs no PyTorch."""
    module = import_module("torch.utils.tensorboard")
    with monkeypatch.context() as m:
        m.setitem(sys.modules, "tensorboardX", None)
        with pytest.raises(ModuleNotFoundError, match="install it with pip install tensorboardX"):
            _ = module.SummaryWriter

    class Writer:
        """Takes numbers and arrays, as that of tensorboardX."""

        def __init__(self, folder: str) -> None:
            self.folder, self.taken = folder, []  # type: ignore[var-annotated]

        def add_scalar(self, tag: str, value: Any, global_step: Any = None) -> None:
            self.taken.append((tag, value, global_step))

        def add_scalars(self, tag: str, values: Any, *, walltime: Any = None) -> None:
            self.taken.append((tag, values, walltime))

        def close(self) -> str:
            return "closed"

    writers = types.ModuleType("tensorboardX")
    writers.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboardX", writers)
    assert module.SummaryWriter is module.SummaryWriter and issubclass(module.SummaryWriter, Writer)
    w = module.SummaryWriter("runs")
    w.add_scalar("loss", torch.ones(2, requires_grad=True).sum(), global_step=3)
    w.add_scalars("both", {"a": torch.tensor(1.5, dtype=torch.bfloat16), "b": 2}, walltime=4)
    (tag, value, step), (_, values, time) = w.taken
    assert (tag, step, time) == ("loss", 3, 4) and isinstance(value, np.ndarray) and value == 2
    assert isinstance(values["a"], np.ndarray) and values["a"] == 1.5 and values["b"] == 2
    assert w.folder == "runs" and w.close() == "closed"
    with pytest.raises(AttributeError, match="has no attribute 'FileWriter'"):
        _ = module.FileWriter
