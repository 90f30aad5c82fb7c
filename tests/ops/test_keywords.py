"""Every keyword of every operator changes something, raises, or is listed with the reason why it does not."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from support import samples
from support.samples import Sample

SEED = 20260
TABLE = {n: e for n, e in samples.table().items() if n in samples.load() and not e["flags"]["internal"]}

# (operator or "*", keyword): why no value of it changes a result.
WITHOUT_EFFECT = {
    ("*", "requires_grad"): "asks the caller for a leaf; tested with the makers of tensors",
    ("*", "layout"): "strided is the only layout; other objects raise",
    ("*", "_stacklevel"): "PyTorch's own, for its warnings",
    ("nn.functional.softmax", "_stacklevel"): "PyTorch's own, for its warnings",
    ("gather", "sparse_grad"): "gradients are dense: equal in value",
    ("nn.functional.embedding", "sparse"): "gradients are dense: equal in value",
    ("nn.functional.embedding", "norm_type"): "belongs to max_norm, which raises",
    ("sort", "stable"): "few elements are sorted in one way; see tests/ops/test_ties.py",
    ("argsort", "stable"): "few elements are sorted in one way; see tests/ops/test_ties.py",
    ("isin", "assume_unique"): "a promise that makes nothing faster here",
    ("unique", "sorted"): "results are always sorted, which False allows",
    ("topk", "sorted"): "few elements lie in one order; see tests/ops/test_ties.py",
    ("nn.functional.embedding", "padding_idx"): "changes the gradient only; see below",
    ("nn.functional.embedding", "scale_grad_by_freq"): "changes the gradient only; see tests/nn/test_edges.py",
    ("chain_matmul", "matrices"): "the name that PyTorch gives to any number of arguments",
    ("Tensor.expand", "implicit"): "PyTorch's own, for its tracer",
    ("*", "cudnn_enable"): "chooses a library in PyTorch",
    ("nn.functional.max_pool1d_with_indices", "return_indices"): "the name says that there are indices, as in PyTorch",
    ("nn.functional.max_pool2d_with_indices", "return_indices"): "the name says that there are indices, as in PyTorch",
    ("nn.functional.max_pool3d_with_indices", "return_indices"): "the name says that there are indices, as in PyTorch",
}


X = pb.arange(6.0).reshape(2, 3)
Z = pb.complex(pb.tensor([[2.0, 1.0], [1.0, 3.0]]), pb.tensor([[0.0, 1.0], [2.0, 0.5]]))
MORE = {
    "scatter": [Sample(X, 0, pb.tensor([[0, 1, 0]]), value=2.0)],
    # Matrices without factors, for which errors are checked or not.
    "linalg.inv_ex": [Sample(pb.zeros(2, 2), check_errors=False)],
    "linalg.cholesky_ex": [Sample(pb.zeros(2, 2), check_errors=False)],
    "linalg.lu_factor_ex": [Sample(pb.zeros(2, 2), check_errors=False)],
    # Complex matrices, for which it matters what is on the other side of the diagonal.
    "linalg.ldl_factor_ex": [Sample(pb.zeros(2, 2), check_errors=False), Sample(Z)],
    "linalg.ldl_solve": [Sample(Z, pb.tensor([1, 2]), pb.ones(2, 1, dtype=Z.dtype))],
    "linalg.solve_ex": [Sample(pb.zeros(2, 2), pb.ones(2), check_errors=False)],
    "nn.functional.batch_norm": [Sample(X, pb.zeros(3), pb.ones(3), training=True)],
}


def callee(name: str, entry: dict[str, Any]) -> Any:
    if entry["flags"]["function"]:
        return pb._core.functions[name]
    form = name.rpartition(".")[2] + ("" if entry["flags"]["method"] else "_")
    return lambda *args, **kwargs: getattr(args[0], form)(*args[1:], **kwargs)


def alternatives(param: dict[str, Any], seen: list[Any]) -> Iterator[Any]:
    """Values that the keyword may have, by its kind and by what samples give it."""
    kind = param["kind"].rstrip("?")
    name = param["name"]
    yield from seen
    if name == "device":
        yield "cuda"
    elif name == "pin_memory":
        yield True
    elif name == "memory_format":
        yield from (pb.channels_last, pb.channels_last_3d)
    elif name == "driver":
        yield "gesvd"
    elif kind == "bool" or param["default"] in ("True", "False"):
        yield from (True, False)
    elif kind in ("int", "ints", "any"):
        yield from (0, 1, -1, 2, 3, (0,), (0, 1), (1, 1), (2, 2))
    if kind in ("Number", "float", "any", "TensorOrNumber"):
        yield from (0.0, 0.25, 2.5, -1.5, 1)
    if kind == "dtype":
        yield from (pb.float64, pb.float32, pb.int64, pb.float16)
    if kind == "str":
        yield from (
            "none",
            "sum",
            "mean",
            "batchmean",
            "reflect",
            "replicate",
            "circular",
            "nearest",
            "bilinear",
            "tanh",
        )
        yield from ("floor", "trunc", "ortho", "forward", "reduced", "r", "complete", "U", "L", "amax", "prod", "left")
    if kind == "Generator":
        yield pb.Generator().manual_seed(3)
    if param["kind"].endswith("?") or param["default"] == "None":
        yield None
    if kind in ("Tensor", "TensorOrNumber", "any"):
        yield from (pb.ones(3, dtype=pb.float64) * 0.7, pb.tensor(0.3, dtype=pb.float64), pb.tensor([1]))


def outcome(name: str, entry: dict[str, Any], s: Sample, kwargs: dict[str, Any]) -> Any:
    """What a call gives, so that it can be compared; errors count by their text."""
    pb.manual_seed(7)
    tensors = [t.clone() for t in samples.tensors_in([s.args, list(kwargs.values())])]
    copies = iter([s.via[k](t) if k in s.via else t for k, t in enumerate(tensors)])
    args = samples.replaced(s.args, copies)
    kwargs = {k: samples.replaced(v, copies) for k, v in kwargs.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = callee(name, entry)(*args, **kwargs)
    except (RuntimeError, ValueError, IndexError, NotImplementedError) as e:
        return type(e)
    except TypeError:
        return TypeError
    out = out if isinstance(out, (tuple, list)) else [out]
    # In-place forms show in their first argument.
    return [described(x) for x in [*out, *samples.tensors_in([*args, *kwargs.values()])]]


def described(x: Any) -> Any:
    if isinstance(x, pb.Tensor):
        return (x.dtype, tuple(x.shape), x.stride(), x.detach().resolve_conj().tolist())
    return repr(x)


def different(a: Any, b: Any) -> bool:
    return repr(a) != repr(b)


def given(entry: dict[str, Any], s: Sample) -> dict[str, Any]:
    """Arguments by name."""
    return {**dict(zip((p["name"] for p in entry["params"]), s.args, strict=False)), **s.kwargs}


def matters(name: str, entry: dict[str, Any], param: dict[str, Any]) -> bool:
    made = [*samples.build(name, SEED), *MORE.get(name, [])]
    seen = [g[param["name"]] for g in (given(entry, s) for s in made) if param["name"] in g]
    position = [p["name"] for p in entry["params"]].index(param["name"])
    for s in made:
        if len(s.args) > position:
            # Given by position: what comes behind goes by name.
            names = [p["name"] for p in entry["params"]]
            rest = dict(zip(names[position:], s.args[position:], strict=False))
            rest.pop(param["name"])
            s = Sample(*s.args[:position], **rest, **s.kwargs)
        base = {k: v for k, v in s.kwargs.items() if k != param["name"]}
        without = outcome(name, entry, s, base)
        with_own = [outcome(name, entry, s, {**base, param["name"]: v}) for v in alternatives(param, seen)]
        valid = [x for x in [without, *with_own] if x is not TypeError]
        if any(different(a, b) for a, b in itertools.pairwise(valid)):
            return True
    return False


KEYWORDS = [
    (name, p["name"])
    for name, e in sorted(TABLE.items())
    for p in e["params"]
    if not p["required"] and not {(name, p["name"]), ("*", p["name"])} & WITHOUT_EFFECT.keys()
]


@pytest.mark.parametrize("name", sorted({n for n, _ in KEYWORDS}))
def test_every_keyword_matters(name: str) -> None:
    entry = TABLE[name]
    params = [p for p in entry["params"] if (name, p["name"]) in KEYWORDS]
    ignored = [p["name"] for p in params if not matters(name, entry, p)]
    assert not ignored, f"{name}: nothing changes with {ignored} (seed {SEED})"


def test_the_list_has_no_strangers() -> None:
    known = {(name, p["name"]) for name, e in TABLE.items() for p in e["params"]}
    anywhere = {p for _, p in known}
    for name, keyword in WITHOUT_EFFECT:
        assert (name, keyword) in known or (name == "*" and keyword in anywhere), (name, keyword)


def test_options_with_one_value_raise_for_others() -> None:
    x = pb.ones(2, 3)
    for call, kind, text in [
        (
            lambda: pb.ones(2, device="cuda"),
            RuntimeError,
            r"ones\(\): the only devices are 'cpu' and 'meta', got",
        ),
        (lambda: pb.rand(2, device="cuda:1"), RuntimeError, "only devices are"),
        (
            lambda: pb.zeros_like(x, layout="strided"),
            TypeError,
            r"zeros_like\(\): argument 'layout' must be pullback.strided",
        ),
        (lambda: pb.ones(2, pin_memory=True), RuntimeError, "pin_memory=True needs an accelerator"),
        (lambda: pb.tensor([1], pin_memory=True), RuntimeError, "pin_memory=True needs an accelerator"),
        (lambda: x.new_tensor([1], pin_memory=True), RuntimeError, "pin_memory=True needs an accelerator"),
        (lambda: x.new_ones(2, device="mps"), RuntimeError, "only devices are"),
        (lambda: pb.Generator(device="cuda"), RuntimeError, "only devices are"),
        (lambda: x.is_pinned(device="cuda"), RuntimeError, "only devices are"),
        (
            lambda: x.to(memory_format="last"),
            TypeError,
            r"to\(\): argument 'memory_format' must be a memory_format, not str",
        ),
        (
            lambda: x.contiguous(memory_format=pb.channels_last),
            RuntimeError,
            "required rank 4 tensor to use channels_last",
        ),
        (
            lambda: x.resize_(1, 1, 6, memory_format=pb.channels_last),
            RuntimeError,
            "required rank 4 tensor to use channels_last",
        ),
        (lambda: pb.linalg.svd(x, driver="gesvd"), RuntimeError, r"`driver=` is only supported on CUDA"),
        (lambda: x.max(keepdim=True), TypeError, r"max\(\): argument 'keepdim' needs 'dim'.*amax\(keepdim=True\)"),
        (lambda: pb.min(x, keepdim=True), TypeError, r"min\(\): argument 'keepdim' needs 'dim'.*amin\(keepdim=True\)"),
    ]:
        with pytest.raises(kind, match=text):
            call()
    assert pb.ones(2, device="cpu", layout=pb.strided, pin_memory=False).device.type == "cpu"
    assert pb.Generator(device="cpu").initial_seed() is not None


def test_keywords_that_change_gradients_only() -> None:
    w = pb.ones(3, 2, requires_grad=True)
    i = pb.tensor([0, 1, 1])
    (g,) = pb.autograd.grad(pb.nn.functional.embedding(i, w).sum(), w)
    (h,) = pb.autograd.grad(pb.nn.functional.embedding(i, w, padding_idx=1).sum(), w)
    assert g.tolist() == [[1, 1], [2, 2], [0, 0]] and h.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_orders_in_memory_are_real() -> None:
    x = pb.arange(2 * 3 * 2 * 5.0).reshape(2, 3, 2, 5)
    for y in (
        x.contiguous(memory_format=pb.channels_last),
        x.clone(memory_format=pb.channels_last),
        x.to(memory_format=pb.channels_last),
        x.double().float(memory_format=pb.channels_last),
        x.cpu(memory_format=pb.channels_last),
    ):
        assert y.stride() == (30, 1, 15, 3) and pb.equal(x, y)
        assert y.is_contiguous(memory_format=pb.channels_last) and not y.is_contiguous()
        assert y.contiguous(memory_format=pb.channels_last) is y
        assert y.contiguous().stride() == x.stride()
        assert y.numpy().strides == (120, 4, 60, 12)
    assert pb.empty(2, 3, 2, 5, memory_format=pb.channels_last).stride() == (30, 1, 15, 3)
    assert pb.ones_like(x, memory_format=pb.channels_last).stride() == (30, 1, 15, 3)
    three = pb.ones(2, 3, 2, 2, 2).contiguous(memory_format=pb.channels_last_3d)
    assert three.stride() == (24, 1, 12, 6, 3)
    g = pb.func.grad(lambda t: (t.contiguous(memory_format=pb.channels_last) ** 2).sum())(x)
    pb.testing.assert_close(g, 2 * x)


HUB = ("force_reload", "skip_validation", "trust_repo", "verbose")
# Parameters of Python functions that nobody reads, and why.
UNREAD = {
    **dict.fromkeys((f"_absent.py:not_there({p})" for p in ("args", "kwargs")), "whatever is asked for is not there"),
    **dict.fromkeys(
        (f"utils/_pytree.py:_{kind}_unflatten(context)" for kind in ("list", "tuple")),
        "one signature for all containers",
    ),
    "autograd/_verify.py:need(s)": "one of several checks of one signature",
    "autograd/function.py:forward(history)": "part of a method's signature",
    "_tensor_str.py:_str(tensor_contents)": "given by wrapper classes of PyTorch's own alone",
    "testing/compliance.py:_event(arg)": "part of the signature of a trace function",
    "_utils.py:_rebuild_tensor_v2(backward_hooks)": "hooks are no part of what is loaded",
    "_attached.py:pin_memory(device)": "there is no device that memory would be pinned for",
    "_numpy_functions.py:_einsum(optimize)": "the order of products is chosen here",
    **dict.fromkeys(
        (f"_lobpcg.py:lobpcg(ortho_{p}params)" for p in "ifb"),
        "the basis is made orthonormal in a way without parameters",
    ),
    "_settings.py:set_flush_denormal(mode)": "says that it changes nothing",
    "random.py:fork_rng(devices)": "there is one generator",
    "random.py:fork_rng(device_type)": "there is one generator",
    "serialization/_names.py:parameter(hooks)": "PyTorch writes none",
    **dict.fromkeys(("_numpy_functions.py:_sort(kind)", "_numpy_functions.py:_sort(stable)"), "values do not tell"),
    **dict.fromkeys((f"as_torch/_finder.py:{p}" for p in ("find_spec(path)", "find_spec(target)")), "of a protocol"),
    "as_torch/_finder.py:create_module(spec)": "of a protocol",
    **dict.fromkeys(
        (
            *(
                "nn/modules/_lazy_convolutions.py:initialize_parameters(args)",
                "nn/modules/lazy.py:_lazy_load_hook(rest)",
            ),
            *("nn/modules/_lazy_convolutions.py:initialize_parameters(kwargs)", "nn/utils/prune.py:compute_mask(t)"),
            *("nn/utils/parametrizations.py:rename(rest)", "optim/lr_scheduler/_plateau.py:_reduce_lr(epoch)"),
            "optim/swa_utils.py:ema_update(num_averaged)",
        ),
        "part of the signature of a hook or method that programs override",
    ),
    **dict.fromkeys(
        (
            *("optim/_rules.py:_like_parameter(name)", "optim/_rules.py:_like_parameter(options)"),
            "optim/lr_scheduler/_cycles.py:_triangular(x)",
        ),
        "one of several functions of one signature",
    ),
    **dict.fromkeys(
        (
            f"nn/utils/clip_grad.py:{f}(foreach)"
            for f in ("clip_grad_value_", "clip_grads_with_norm_", "get_total_norm")
        ),
        "both values mean the one way that there is",
    ),
    **dict.fromkeys(
        (f"_functions.py:{f}(cudnn_enabled)" for f in ("batch_norm", "group_norm", "instance_norm")),
        "there is one library of kernels",
    ),
    **dict.fromkeys(
        (
            *(f"nn/_composites/pools.py:adaptive_max_pool{n}d_with_indices(return_indices)" for n in (1, 2, 3)),
            *(f"nn/_composites/pools.py:fractional_max_pool{n}d_with_indices(return_indices)" for n in (2, 3)),
        ),
        "the name says it",
    ),
    **dict.fromkeys(
        ("_functions.py:get_device(input)", "cpu/__init__.py:current_stream(device)", "cpu/__init__.py:stream(stream)"),
        "there is one device",
    ),
    "nn/attention.py:sdpa_kernel(set_priority)": "there is one kernel",
    "optim/adafactor.py:_first(options)": "one of several functions of one signature",
    **dict.fromkeys((f"as_torch/_standins.py:_marker({p})" for p in ("args", "kwargs")), "marks say nothing here"),
    "optim/_inner.py:_disable_dynamo_if_unsupported(single_tensor_fn)": "nothing is compiled",
    **dict.fromkeys(
        (f"optim/sgd.py:sgd({name})" for name in ("foreach", "fused", "has_sparse_grad")),
        "there is one way of a step, and gradients are dense",
    ),
    **dict.fromkeys(("nn/utils/rnn.py:cpu(args)", "nn/utils/rnn.py:cpu(kwargs)"), "there is one device"),
    **dict.fromkeys(
        (*(f"hub.py:{f}({p})" for f in ("list", "help", "load") for p in HUB[: 3 if f == "help" else 4]),),
        "repositories lie in a folder: nothing is fetched",
    ),
    **dict.fromkeys(
        (
            *("storage.py:is_pinned(device)", "storage.py:cuda(device)", "_C.py:_get_accelerator(check)"),
            *(f"storage.py:{f}(non_blocking)" for f in ("to", "copy_", "type", "cuda")),
            *(f"utils/checkpoint.py:set_device_states({p})" for p in ("states", "device_type")),
            "utils/checkpoint.py:get_device_states(args)",
            *("_forms.py:cast(non_blocking)", "optim/_inner.py:_device_dtype_check_for_fused(cuda_unsupported)"),
            *(
                f"optim/optimizer.py:_default_to_fused_or_foreach({p})"
                for p in ("params", "differentiable", "use_fused")
            ),
        ),
        "there is one device",
    ),
    **dict.fromkeys(
        (
            *(f"profiler/{f}.py:key_averages(group_by_overload_name)" for f in ("__init__", "_events")),
            *(
                "autograd/profiler.py:key_averages(options)",
                "profiler/__init__.py:tensorboard_trace_handler(use_python_export)",
            ),
        ),
        "calls have one name",
    ),
    **dict.fromkeys(
        (
            *(
                f"distributions/distribution.py:{f}"
                for f in (
                    *(f"{name}(value)" for name in ("cdf", "icdf", "log_prob")),
                    "_log_normalizer(natural_params)",
                    "enumerate_support(expand)",
                    "rsample(sample_shape)",
                )
            ),
            "distributions/_transform.py:log_abs_det_jacobian(y)",
            "distributions/transforms.py:log_abs_det_jacobian(y)",
            "distributions/multivariate_normal.py:_batch_lowrank_logdet(factor)",
        ),
        "of a protocol",
    ),
    **dict.fromkeys((f"utils/data/collate.py:{f}(collate_fn_map)" for f in ("_stacked", "_as_it_is")), "of a protocol"),
}
# Modules of names that PyTorch has and that give back what they get, or say that there is nothing.
NAMES_ALONE = ("amp.py", "backends/__init__.py", "compiler.py", "cuda/", "jit.py", "nn/parallel/")


def parameters(f: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    a = f.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
    return [p.arg for p in named if p.arg not in ("self", "cls", "ctx") and not p.arg.startswith("_")]


def test_python_functions_read_their_parameters() -> None:
    root = Path(pb.__file__).parent
    unread = []
    for path in sorted(root.rglob("*.py")):
        for f in ast.walk(ast.parse(path.read_text())):
            if not isinstance(f, ast.FunctionDef) or f.name.startswith("__") or "abstract" in ast.dump(f)[:200]:
                continue
            stub = all(
                isinstance(s, (ast.Raise, ast.Pass)) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
                for s in f.body
            )
            if stub:
                continue
            read = {n.id for s in f.body for n in ast.walk(s) if isinstance(n, ast.Name)}
            if not str(path.relative_to(root)).startswith(NAMES_ALONE):
                unread += [f"{path.relative_to(root)}:{f.name}({p})" for p in parameters(f) if p not in read]
    assert set(unread) == set(UNREAD)


# Parameters that Rust code throws away, and why.
THROWN_AWAY = {
    **dict.fromkeys(("layout", "device", "pin_memory", "memory_format", "driver"), "the door checks their values"),
    **dict.fromkeys(("requires_grad", "inplace"), "the door does what they ask for"),
    **dict.fromkeys(("cudnn_enable", "_stacklevel", "implicit"), "PyTorch's own"),
    **dict.fromkeys(("sparse_grad", "sparse", "norm_type", "stable", "return_indices"), "see WITHOUT_EFFECT"),
    **dict.fromkeys(("assume_unique", "sorted"), "see WITHOUT_EFFECT"),
    "non_blocking": "there is nothing to wait for",
    "at": "all tensors that are broadcast have one shape",
    "context": "of NumPy's protocol",
    "return_scalar": "of NumPy's protocol: results are tensors",
    "owner": "of Python's protocol of descriptors",
    "types": "of the protocol of __torch_function__",
    **dict.fromkeys(
        ("serialized_type_name", "to_dumpable_context", "from_dumpable_context"), "for PyTorch's exported programs"
    ),
}


def test_rust_functions_throw_no_other_parameter_away() -> None:
    root = Path(__file__).parent.parent.parent
    found = set()
    for part in ("src/ops", "crates/python/src"):
        for path in (root / part).rglob("*.rs"):
            text = path.read_text()
            for names in re.findall(r"let _ = \(?([a-z_]+(?:, [a-z_]+)*)\)?;", text):
                found |= set(names.split(", "))
            for names in re.findall(r"\b(?:ignore|options)!\(([a-z_]+(?:, [a-z_]+)*)\)", text):
                found |= set(names.split(", "))
    kernels = {"x", "point"}  # in macros of kernels and partials
    assert found - kernels <= THROWN_AWAY.keys(), found - kernels - THROWN_AWAY.keys()
