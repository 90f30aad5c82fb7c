"""Names of PyTorch around tensors: settings, tensor types, identities, attributes."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import pullback as pb


def test_tensor_types() -> None:
    assert pb.FloatTensor(2, 3).tolist() == [[0] * 3] * 2 and pb.LongTensor([1, 2]).dtype is pb.int64
    assert pb.FloatTensor().shape == (0,) and pb.FloatTensor(pb.Size([2, 1])).shape == (2, 1)
    assert pb.DoubleTensor(np.ones(2)).dtype is pb.float64 and pb.BoolTensor([0, 2]).tolist() == [False, True]
    x = pb.ones(2)
    assert isinstance(x, pb.FloatTensor) and not isinstance(x, pb.DoubleTensor) and not isinstance(1, pb.FloatTensor)
    assert pb.FloatTensor(x).equal(x) and repr(pb.FloatTensor) == "<class 'pullback.FloatTensor'>"
    with pytest.raises(TypeError, match=r"FloatTensor\(\): expected a tensor of pullback.float32"):
        pb.FloatTensor(pb.arange(2))
    assert x.new(2, 2).shape == (2, 2) and x.new([3]).tolist() == [3] and pb.arange(2).new([1.0]).dtype is pb.int64
    assert (
        pb.arange(2).type(pb.FloatTensor).dtype is pb.float32 and pb.nn.Linear(1, 1).type(pb.DoubleTensor) is not None
    )
    assert pickle.loads(pickle.dumps(pb.FloatTensor)) is pb.FloatTensor
    assert pb.typename(x) == x.type() == "pullback.FloatTensor" and pb.typename(3) == "int"


def test_default_tensor_type() -> None:
    for kind in (pb.DoubleTensor, "torch.DoubleTensor"):
        pb.set_default_tensor_type(kind)
        assert pb.ones(1).dtype is pb.float64
        pb.set_default_tensor_type(pb.FloatTensor)
    for bad in (pb.LongTensor, "DoubleTensor", 3):
        with pytest.raises(TypeError, match="only floating-point tensor types"):
            pb.set_default_tensor_type(bad)


def test_determinism() -> None:
    try:
        pb.use_deterministic_algorithms(True, warn_only=True)
        assert pb.are_deterministic_algorithms_enabled() and pb.is_deterministic_algorithms_warn_only_enabled()
        pb.use_deterministic_algorithms(False, warn_only=True)
        assert not pb.are_deterministic_algorithms_enabled() and pb.is_deterministic_algorithms_warn_only_enabled()
        for mode, number in (("error", 2), (1, 1), ("default", 0)):
            pb.set_deterministic_debug_mode(mode)
            assert pb.get_deterministic_debug_mode() == number
            assert pb.is_deterministic_algorithms_warn_only_enabled() is (number == 1)
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            pb.set_deterministic_debug_mode("never")
        with pytest.raises(TypeError, match="must be bool"):
            pb.use_deterministic_algorithms(1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="'warn_only' must be bool, not int"):
            pb.use_deterministic_algorithms(True, warn_only=1)  # type: ignore[arg-type]
    finally:
        pb.use_deterministic_algorithms(False)


def test_settings() -> None:
    pb.set_float32_matmul_precision("high")
    assert pb.get_float32_matmul_precision() == "high"
    pb.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="invalid float32 matmul precision"):
        pb.set_float32_matmul_precision("low")
    pb.set_num_interop_threads(2)
    assert pb.get_num_interop_threads() == 2
    with pytest.raises(RuntimeError, match="positive integer"):
        pb.set_num_interop_threads(0)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        pb.set_num_interop_threads(2**65)
    pb.set_default_device("cpu")
    assert pb.get_default_device() == pb.device("cpu") and not pb.is_autocast_enabled()


def test_random_state_is_restored() -> None:
    pb.manual_seed(3)
    want = pb.rand(4)
    pb.manual_seed(3)
    with pb.random.fork_rng():
        pb.rand(7)
    assert pb.rand(4).equal(want)
    with pb.random.fork_rng(enabled=False):
        pb.manual_seed(3)
    assert pb.rand(4).equal(want)


def test_identities() -> None:
    def f(x: Any) -> Any:
        return x + 1

    jit, compiler = pb.jit, pb.compiler
    for made in (
        *(jit.script(f), jit.trace(f, (1,)), jit.ignore(f), jit.ignore(drop=True)(f), jit.export(f), jit.unused(f)),
        *(jit.script_if_tracing(f), compiler.disable(f), compiler.disable(recursive=False)(f), pb.compile(f)),
        *(pb.compile(mode="reduce-overhead")(f), compiler.allow_in_graph(f)),
    ):
        assert made is f
    assert not jit.is_scripting() and not compiler.is_compiling() and jit.wait(jit.fork(f, 1)) == 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        pb.compile(f, speed=9)
    with pytest.raises(TypeError, match="a function or a module is expected"):
        pb.compile(3)


def test_mixed_precision_of_other_devices_is_off() -> None:
    class Optimizer:
        def step(self) -> str:
            return "stepped"

    with pytest.warns(FutureWarning, match=r"torch\.cuda\.amp\.\w+.*deprecated"):
        off, scaler = pb.cuda.amp.autocast(enabled=False), pb.cuda.amp.GradScaler(enabled=False)
        fwd, bwd = pb.cuda.amp.custom_fwd, pb.cuda.amp.custom_bwd
        decorated = fwd(lambda ctx, x: x), fwd(cast_inputs=pb.float16)(lambda ctx, x: x), bwd(lambda ctx, g: g)
    with pb.amp.autocast("cuda", enabled=False):
        assert off(lambda: 5)() == 5 and [f(Optimizer, 3) for f in decorated] == [3, 3, 3]

    assert scaler.step(Optimizer()) == "stepped" and scaler.scale(3) == 3 and scaler.state_dict() == {}


def test_what_tensors_are_not() -> None:
    x = pb.ones(2)
    kinds = "is_cuda is_mps is_xpu is_xla is_mkldnn is_sparse is_sparse_csr is_quantized is_nested is_meta is_vulkan"
    assert not any(getattr(x, kind) for kind in kinds.split()) and x.layout is pb.strided
    assert x.pin_memory() is x and x.to_dense() is x and not x.is_shared()
    with pytest.raises(AttributeError):
        x.is_mps = True  # type: ignore[method-assign]


def test_attributes_out_of_scope_say_so() -> None:
    """Sparse, quantized and named tensors: the names are not there, and the error says why."""
    x = pb.ones(2)
    for name, why in {
        "to_sparse": "tensors are dense",
        "is_coalesced": "tensors are dense",
        "values": "tensors are dense",
        "q_scale": "no quantized dtypes",
        "names": "dimensions have no names",
        "align_to": "dimensions have no names",
        "refine_names": "dimensions have no names",
        "to_mkldnn": "use the tensor itself",
    }.items():
        assert not hasattr(x, name) and not hasattr(pb.Tensor, name)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is out of scope: .*{why}"):
            getattr(x, name)
    assert (x.sparse_dim(), x.dense_dim(), pb.ones(2, 3).dense_dim()) == (0, 1, 2)
    assert x.half().dequantize().dtype is pb.float32 and isinstance(x.storage(), x.storage_type())


def test_types_by_name() -> None:
    x = pb.ones(2)
    for name in ("torch.DoubleTensor", "pullback.DoubleTensor", pb.DoubleTensor, pb.float64):
        assert x.type(name).dtype is pb.float64
    assert x.type("torch.FloatTensor").equal(x)
    for bad in ("DoubleTensor", "torch.QuadTensor", "torch.cuda.FloatTensor", "float"):
        with pytest.raises(ValueError, match=f"invalid type: '{bad}'"):
            x.type(bad)


def test_layouts_without_data_stay() -> None:
    x = pb.empty(3, 4, device="meta").t()
    assert x.stride() == x.detach().stride() == (1, 4)
    assert x[1:, ::2].detach().stride() == x[1:, ::2].stride()


def test_classes_of_functions() -> None:
    class Double(pb.autograd.function.NestedIOFunction):
        @staticmethod
        def forward(ctx: Any, parts: Any) -> Any:
            return [2 * x for x in parts]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return [2 * g for g in grads]

    x = pb.ones(1, requires_grad=True)
    out = Double.apply([x, x])
    (out[0] + out[1]).sum().backward()
    assert x.grad is not None and x.grad.item() == 4


def test_notebooks_show_tables() -> None:
    html = pb.tensor([[1.0, 2.5], [-3.0, 0.0]], requires_grad=True)._repr_html_()
    assert html is not None and html.count("<tr>") == 2 and "<td>2.5000</td>" in html and "float32 [2, 2]" in html
    assert "<td>True</td>" in str(pb.tensor([True])._repr_html_())
    assert all(x._repr_html_() is None for x in (pb.tensor(1), pb.ones(2, 2, 2), pb.ones(100), pb.ones(0)))
    seen = []
    pb.func.vmap(lambda v: (seen.append(v._repr_html_()), v)[1])(pb.ones(2, 3))
    assert seen == [None]


DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_pickles_with_memory_apart(name: str) -> None:
    x = pb.arange(6).to(getattr(pb, name)).reshape(2, 3)
    for t in (x, x.t(), x[1:, ::2], x[0, 1], x[:0]):
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(t, 5, buffer_callback=buffers.append)
        assert len(data) < 300
        for given in (buffers, [bytearray(b.raw()) for b in buffers], [bytes(b.raw()) for b in buffers]):
            back = pickle.loads(data, buffers=given)
            assert back.dtype is t.dtype and back.shape == t.shape and back.equal(t)
        assert pickle.loads(pickle.dumps(t, 5)).equal(t) and pickle.loads(pickle.dumps(t, 2)).equal(t)


class Marked(pb.Tensor):
    pass


def test_pickles_keep_what_tensors_have() -> None:
    x = pb.ones(3, requires_grad=True)
    x.note = "n"  # type: ignore[attr-defined]
    back = pickle.loads(pickle.dumps(x, 5))
    assert back.requires_grad and back.note == "n"
    y = pickle.loads(pickle.dumps(pb.ones(2).as_subclass(Marked), 5))
    assert type(y) is Marked
    apart: list[Any] = []
    big = pb.zeros(1000)
    data = pickle.dumps(big, 5, buffer_callback=apart.append)
    shared = pickle.loads(data, buffers=apart)
    shared[0] = 1
    assert big[0] == 1, "nothing was copied"
    with pytest.raises(RuntimeError, match=r"pickle: .*value of"):
        pb.func.grad(lambda v: (pickle.dumps(v, 5), v.sum())[1])(pb.ones(2))
    with pytest.raises(ValueError, match="are no tensor of shape"):
        pickle.loads(data, buffers=[bytearray(8)])


def test_numpy_dtypes() -> None:
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        for name in DTYPES:
            if name != "bfloat16":
                assert np.dtype(getattr(pb, name)) == np.dtype(name)
        assert np.zeros(2, dtype=pb.int8).dtype == np.int8
    with pytest.raises(TypeError):
        np.dtype(pb.bfloat16)


def test_other_libraries_take_tensors() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pb.arange(3), "b": pb.ones(3)})
    assert frame["a"].sum() == 3 and str(frame["b"].dtype) == "float32"
    dask = pytest.importorskip("dask.array")
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        assert float(dask.from_array(pb.arange(10.0), chunks=5).sum().compute()) == 45


def test_files_of_types() -> None:
    file = io.BytesIO()
    pb.save(pb.FloatTensor, file)
    assert b"FloatTensor" in file.getvalue()


def test_stance_of_a_compiler_that_is_not_there():
    @pb.compiler.set_stance("eager_on_recompile")
    def f(x: int) -> int:
        return x + 1

    with pb.compiler.set_stance("force_eager", skip_guard_eval_unsafe=True):
        assert f(1) == 2
    with pytest.raises(RuntimeError, match="invalid stance 'none'; give one of default, force_eager"):
        pb.compiler.set_stance("none")


def test_classes_of_dtypes_stand_in_annotations() -> None:
    kind = pb.LongTensor | None
    assert isinstance(None, kind) and isinstance(pb.ones(1).long(), kind) and not isinstance(pb.ones(1), kind)
    assert repr(kind) == "pullback.LongTensor | None"
    other = int | (str | pb.LongTensor) | pb.FloatTensor
    assert all(isinstance(x, other) for x in (3, "", pb.ones(1), pb.ones(1).long()))
    assert not isinstance(pb.ones(1).double(), other)


def test_recording_is_switched_by_the_inner_name() -> None:
    was = pb.is_grad_enabled()
    try:
        pb._C._set_grad_enabled(False)
        assert not pb.is_grad_enabled()
    finally:
        pb._C._set_grad_enabled(was)
