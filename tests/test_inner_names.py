"""Names of PyTorch's inside that programs use: modules that its own Python code is made of."""

from __future__ import annotations

import io
from collections import OrderedDict, deque, namedtuple
from threading import Thread
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap
from pullback.functorch.einops import rearrange
from pullback.futures import Future, collect_all, wait_all
from pullback.nn import _reduction
from pullback.nn.utils._per_sample_grad import call_for_per_sample_grads
from pullback.utils import collect_env

same = pb.testing.assert_close
X = pb.arange(24.0).reshape(2, 3, 4)


def test_words_of_reductions() -> None:
    assert [_reduction.get_enum(word) for word in ("none", "mean", "sum")] == [0, 1, 2]
    assert pb.nn._reduction is _reduction
    with pytest.raises(ValueError, match="elements is not a valid value for reduction"):
        _reduction.get_enum("elements")
    for flags, word in [
        ((None, None), "mean"),
        ((False, None), "sum"),
        ((True, False), "none"),
        ((None, True), "mean"),
    ]:
        assert _reduction.legacy_get_string(*flags, emit_warning=False) == word
    with pytest.warns(UserWarning, match="please use reduction='sum' instead") as caught:
        assert _reduction.legacy_get_enum(False, True) == 2
    assert caught[0].filename == __file__


def test_switches_of_printing() -> None:
    options: Any = pb._tensor_str.PRINT_OPTS
    x = pb.tensor([1.23456])
    with pb._tensor_str.printoptions(precision=2):
        assert options.precision == 2 and repr(x) == "tensor([1.23])"
    assert options.precision == 4 and pb._tensor_str._str(x) == repr(x) == "tensor([1.2346])"
    try:
        options.precision = 1
        assert repr(x) == "tensor([1.2])" and "precision=1" in repr(options)
    finally:
        options.precision = 4
    with pytest.raises(AttributeError, match="no option 'width'; it has precision"):
        _ = options.width


def test_functions_of_the_inside() -> None:
    with pb.as_torch.install():
        from torch import _VF  # type: ignore[attr-defined]

        assert _VF.tanh(pb.zeros(1)).item() == 0 and _VF.dropout(pb.ones(2), 0.0, True).tolist() == [1, 1]


def test_environment() -> None:
    assert f"PyTorch version: {pb.version.TORCH}" in collect_env.get_pretty_env_info()


def test_futures_give_what_is_set_and_call_back() -> None:
    later: Future[int] = Future()
    seen: list[int] = []
    later.add_done_callback(lambda f: seen.append(f.value()))
    chained = later.then(lambda f: f.wait() + 1).then(lambda f: 2 * f.value())
    with pytest.raises(RuntimeError, match="not there yet"):
        later.value()
    thread = Thread(target=lambda: later.set_result(1))
    thread.start()
    assert chained.wait() == 4 and later.done() and seen == [1]
    thread.join()
    with pytest.raises(RuntimeError, match="already completed"):
        later.set_result(2)
    failing: Future[int] = Future()
    failing.set_exception(KeyError("k"))
    for get in (
        failing.wait,
        failing.value,
        failing.then(lambda f: f.value()).wait,
        lambda: wait_all([later, failing]),
    ):
        with pytest.raises(KeyError, match="k"):
            get()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception(3)  # type: ignore[arg-type]


def test_futures_together() -> None:
    parts: list[Future[int]] = [Future() for _ in range(3)]
    together = collect_all(parts)
    for k, part in enumerate(parts):
        assert not together.done()
        part.set_result(k)
    assert wait_all(parts) == [0, 1, 2] and together.wait() == parts and collect_all([]).wait() == []


PATTERNS: dict[str, tuple[dict[str, int], Any]] = {
    "a b c -> c b a": ({}, lambda x: x.permute(2, 1, 0)),
    "a b c -> a (c b)": ({}, lambda x: x.transpose(1, 2).flatten(1)),
    "a b (x y) -> y a b x": ({"x": 2}, lambda x: x.reshape(2, 3, 2, 2).permute(3, 0, 1, 2)),
    "... c -> c ...": ({}, lambda x: x.permute(2, 0, 1)),
    "a ... -> (...) a": ({}, lambda x: x.permute(1, 2, 0).flatten(0, 1)),
    "a b c -> a 1 b () c": ({}, lambda x: x[:, None, :, None]),
    "... -> (...)": ({}, lambda x: x.flatten()),
    "(a 1) b c -> b a c": ({}, lambda x: x.transpose(0, 1)),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rearrange(pattern: str) -> None:
    lengths, expected = PATTERNS[pattern]
    same(rearrange(X, pattern, **lengths), expected(X))
    batch = pb.stack([X, 2 * X])
    same(vmap(lambda x: rearrange(x, pattern, **lengths))(batch), vmap(expected)(batch))
    same(grad(lambda x: (rearrange(x, pattern, **lengths) ** 2).sum())(X), 2 * X)


@pytest.mark.parametrize(
    ("pattern", "lengths", "match"),
    [
        ("a b c", {}, "a single '->'"),
        ("a b -> b a", {}, "has 2 dimensions on the left, and the tensor 3"),
        ("a b c -> a b", {}, r"\['c'\] on one side"),
        ("a b c -> a a b c", {}, "stands twice"),
        ("a b (x y) -> a b x y", {}, "give the lengths of all but one"),
        ("a b (x y) -> a b x y", {"x": 3}, "has size 4, which 3 does not fit"),
        ("a b 4 -> a b 4", {}, "is neither a name nor 1"),
        ("(... x) c -> x ... c", {"x": 2}, "in parentheses on the left side"),
        ("a b c -> a b c", {"d": 2}, r"\['d'\] have lengths"),
        ("a (b c -> a b c", {}, "imbalanced parentheses"),
        ("a _b c -> a c _b", {}, "is neither a name nor 1"),
    ],
)
def test_patterns_that_do_not_fit(pattern: str, lengths: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        rearrange(X, pattern, **lengths)


def test_a_sequence_is_stacked() -> None:
    same(rearrange([X[0], X[1]], "l a b -> a l b"), X.transpose(0, 1))


def test_inner_operators() -> None:
    aten, x = pb.ops.aten, X[0]
    assert aten.add is aten.add and aten.add.Tensor is aten.add.Tensor and str(aten.add.Tensor) == "aten.add.Tensor"
    assert aten.add.Tensor.overloadpacket is aten.add and aten.add._qualified_op_name == "aten::add"
    same(aten.add.Tensor(x, x, alpha=2), 3 * x)
    same(aten.mm.default(x, x.t()), x @ x.t())
    same(aten.sum.dim_IntList(x, [1]), x.sum(1))
    same(aten.view.default(x, [4, 3]), x.view(4, 3))
    same(aten._softmax.default(x, 1, False), x.softmax(1))
    same(aten.linear(x, x), x @ x.t())
    same(aten.linalg_det(x[:, :3]), pb.linalg.det(x[:, :3]))
    same(vmap(aten.relu.default)(x - 5), (x - 5).relu())
    same(aten._unsafe_view.default(x, [4, 3]), x.reshape(4, 3))
    copy = aten._to_copy.default(x, dtype=pb.float64)
    assert copy.dtype is pb.float64 and aten._to_copy(x) is not x
    signal, kernel = x.reshape(1, 3, 4), pb.ones(2, 3, 2)
    conv, back = pb.nn.functional.conv1d, pb.nn.functional.conv_transpose1d
    same(aten.convolution.default(signal, kernel, None, [1], [1], [1], False, [0], 1), conv(signal, kernel, padding=1))
    kernel = kernel.transpose(0, 1)
    same(aten.convolution(signal, kernel, None, [2], [0], [1], True, [1], 1), back(signal, kernel, None, 2, 0, 1))
    for missing in (lambda: aten.no_such, lambda: aten.mse_loss, lambda: aten.add.no_such):
        with pytest.raises(AttributeError):
            missing()


def test_storages_keep_their_memory() -> None:
    x = pb.ones(3)
    for memory, size in ((x.untyped_storage(), 12), (x.storage(), 3)):
        assert memory.resize_(0) is memory and memory.resize_(size) is memory
        with pytest.raises(NotImplementedError, match=rf"has {size} elements here and 20 were asked for"):
            memory.resize_(20)
    assert x.tolist() == [1, 1, 1]


def test_old_names_of_tensors() -> None:
    x = pb.arange(4.0, requires_grad=True)
    for other in (lambda: x.resize(2, 2), lambda: x.resize((2, 2)), lambda: x.resize_as(pb.ones(2, 2))):
        with pytest.warns(UserWarning, match="non-inplace resize") as caught:
            y = other()
        assert caught[0].filename == __file__
        same(y, x.reshape(2, 2))
        (gradient,) = pb.autograd.grad(y.square().sum(), x)
        same(gradient, 2 * x.detach())
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match=r"3 elements in total.*resize_ changes"):
        x.resize(3)
    assert pb._cast_Long(pb.ones(2)).dtype is pb.int64 and pb._cast_Half(pb.ones(2)).dtype is pb.float16
    same(pb.spmm(X[0], X[0].t()), X[0] @ X[0].t())


def test_switches_of_a_compiler_can_be_set() -> None:
    with pb.as_torch.install():
        import torch._inductor.config  # type: ignore[import-not-found]

        torch._dynamo.config.suppress_errors = True
        torch._inductor.config.triton.unique_kernel_names = True
        assert torch._inductor.config.triton.unique_kernel_names and not torch._dynamo.config.verbose

        @torch._dynamo.config.patch(cache_size_limit=1)  # type: ignore[untyped-decorator]
        def doubled(x: Any) -> Any:
            return 2 * x

        assert doubled(1) == 2
        with torch._dynamo.config.patch("verbose", True):
            assert issubclass(torch.Future, object)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_gradients_of_each_sample(reduction: str) -> None:
    pb.manual_seed(0)
    module = pb.nn.Sequential(pb.nn.Conv1d(2, 3, 2), pb.nn.Tanh(), pb.nn.Flatten(), pb.nn.Linear(9, 2))
    module[3].bias.requires_grad_(False)
    x = pb.randn(5, 2, 4)
    out = call_for_per_sample_grads(module, loss_reduction=reduction)(x)
    same(out, module(x))
    getattr(out.square().sum(1), reduction)().backward()
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            assert not hasattr(parameter, "grad_sample")
            continue
        assert parameter.grad is None
        each = [pb.autograd.grad(module(sample[None]).square().sum(), parameter)[0] for sample in x]
        same(parameter.grad_sample, pb.stack(each), msg=name)
    with pytest.raises(RuntimeError, match="grad_sample is there from an earlier pass"):
        call_for_per_sample_grads(module)


def test_gradients_of_each_sample_along_the_second_dimension() -> None:
    layer, x = pb.nn.Linear(3, 2), pb.randn(4, 5, 3)
    out = call_for_per_sample_grads(layer, batch_first=False)(x)
    same(out, layer(x))
    out.square().sum().backward()
    grad_sample: Any = layer.weight.grad_sample
    for k in range(5):
        same(grad_sample[k], pb.autograd.grad(layer(x[:, k]).square().sum(), layer.weight)[0])


def test_what_is_no_batch() -> None:
    layer = pb.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="to be sum or mean, got max"):
        call_for_per_sample_grads(layer, loss_reduction="max")
    with pytest.raises(RuntimeError, match="must be nn.Module, got int"):
        call_for_per_sample_grads(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"batches of sizes \[2, 3\]"):
        call_for_per_sample_grads(layer)(pb.ones(2, 2), pb.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"batches of sizes \[\]"):
        call_for_per_sample_grads(layer)(1)


def test_old_checkpoints_ask_whether_they_may_differentiate() -> None:
    assert pb.autograd._is_checkpoint_valid()


def test_records_of_a_file() -> None:
    file = io.BytesIO()
    pb.save({"w": pb.tensor([1.0, 2.0])}, file)
    reader = pb.PyTorchFileReader(file)
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records()) and not reader.has_record("data/1")
    assert np.frombuffer(reader.get_record("data/0"), "f4").tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="failed locating file data/1"):
        reader.get_record("data/1")


def test_nodes_of_trees_can_be_taken_apart_by_their_class() -> None:
    from pullback.utils import _pytree

    Pair = namedtuple("Pair", "a b")
    for tree in ([1, 2], (1, 2), {"a": 1, "b": 2}, Pair(1, 2), OrderedDict(b=1, a=2), deque([1, 2], 3)):
        node = _pytree.SUPPORTED_NODES[_pytree._get_node_type(tree)]
        children, context = node.flatten_fn(tree)
        assert list(children) == [1, 2] and node.unflatten_fn(children, context) == tree

    class Box:
        def __init__(self, x: Any) -> None:
            self.x = x

    _pytree._register_pytree_node(Box, lambda box: ([box.x], None), lambda xs, _: Box(*xs))
    assert _pytree.SUPPORTED_NODES[Box].flatten_fn(Box(3)) == ([3], None)


def test_iterators_of_loaders_are_of_known_classes() -> None:
    from pullback.utils.data import DataLoader, dataloader

    loader = DataLoader([1, 2])
    assert isinstance(iter(loader), dataloader._BaseDataLoaderIter)
    kept: Any = DataLoader([1, 2], num_workers=1, persistent_workers=True)
    assert [x.item() for x in kept] == [1, 2]
    assert isinstance(kept._iterator, dataloader._MultiProcessingDataLoaderIter)
    kept._iterator._shutdown_workers()
    kept._iterator = None
    assert [x.item() for x in kept] == [1, 2]


def test_operations_are_not_counted() -> None:
    from pullback.compiler import FlopCounterMode

    counter = FlopCounterMode(display=False)
    assert counter.get_total_flops() == 0 and counter.get_flop_counts() == {"Global": {}}
    with pytest.raises(NotImplementedError, match="operations are not counted"), counter:
        pass


def test_what_compile_gives_is_no_class_of_its_own() -> None:
    layer = pb.nn.Linear(1, 1)
    assert not isinstance(pb.compile(layer), pb.compiler.OptimizedModule)
    assert issubclass(pb.nn.Linear, pb.ScriptModule)
