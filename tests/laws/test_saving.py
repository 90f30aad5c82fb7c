"""What is saved comes back: nests, shared memory, views, dtypes, subclasses, modules; trees are put together again."""

from __future__ import annotations

import copy
import io
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pullback as pb
from pullback import nn
from pullback.utils import pytree
from support import strategies as s

Point = namedtuple("Point", "x y")
DTYPES = [
    *(pb.float16, pb.float32, pb.float64, pb.bfloat16, pb.int8, pb.int16, pb.int32, pb.int64, pb.uint8, pb.bool),
    *(pb.complex64, pb.complex128),
]
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.t(),
    lambda x: x[1:],
    lambda x: x[:, ::2],
    lambda x: x.view(-1)[3],
    lambda x: x[:1].expand(3, *x.shape[1:]),
    lambda x: x.unfold(0, 2, 1),
    lambda x: x.diagonal(),
    lambda x: x[:0],
]


class Tagged(pb.Tensor):
    pass


def through_file(obj: Any, weights_only: bool = True) -> Any:
    file = io.BytesIO()
    pb.save(obj, file)
    file.seek(0)
    return pb.load(file, weights_only=weights_only)


def through_old_file(obj: Any) -> Any:
    file = io.BytesIO()
    pb.save(obj, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return pb.load(file)


WAYS: dict[str, Callable[[Any], Any]] = {
    "file": through_file,
    "older file": through_old_file,
    "pickle": lambda obj: pickle.loads(pickle.dumps(obj)),
    "pickle 5": lambda obj: pickle.loads(pickle.dumps(obj, protocol=5)),
    "deepcopy": copy.deepcopy,
}


def sources(dtypes: tuple[Any, ...], count: int, seed: int) -> list[Any]:
    """Memories that the tensors of a nest are views of."""
    return [pb.tensor(s.numbers(seed + i, (4, 6)) * 3).abs().to(dtypes[i % len(dtypes)]) for i in range(count)]


@st.composite
def tensors(draw: st.DrawFn, memories: list[Any]) -> Any:
    x = draw(st.sampled_from(VIEWS))(draw(st.sampled_from(memories)))
    kind = draw(st.sampled_from(["plain", "plain", "leaf", "parameter"]))
    if kind == "leaf" and x.is_floating_point():
        return x.detach().requires_grad_()
    if kind == "parameter":
        return nn.Parameter(x.detach(), requires_grad=x.is_floating_point())
    return x


numbers = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=4)


def nests(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        keys = st.text(max_size=3) | st.integers(0, 9)
        return (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(keys, inner, max_size=3)
            | st.dictionaries(keys, inner, max_size=3).map(OrderedDict)
        )

    return st.recursive(leaves | numbers, grow, max_leaves=8)


def flat(obj: Any) -> list[Any]:
    if isinstance(obj, dict):
        return [type(obj), *(e for k, v in obj.items() for e in (k, *flat(v)))]
    if isinstance(obj, list | tuple):
        return [type(obj), len(obj), *(e for v in obj for e in flat(v))]
    return [obj]


def same(got: Any, want: Any, parameters: bool = True) -> None:
    """Holds a nest to another; copies of parameters have memory of their own, as in PyTorch."""
    a, b = flat(got), flat(want)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y)
        if not isinstance(x, pb.Tensor):
            assert x == y
            continue
        assert (x.dtype, x.shape, x.requires_grad) == (y.dtype, y.shape, y.requires_grad)
        assert pb.equal(x, y)
        if parameters or type(x) is pb.Tensor or y.untyped_storage().nbytes() == y.numel() * y.element_size():
            assert x.stride() == y.stride() or not (parameters or x.numel())
    counted = [[t for t in ts if parameters or type(t) is pb.Tensor] for ts in (a, b)]
    assert places(counted[0]) == places(counted[1])


def places(found: list[Any]) -> list[Any]:
    """Which tensors lie in one memory, and how far from each other."""
    ts = [t for t in found if isinstance(t, pb.Tensor) and t.numel()]
    first: dict[int, int] = {}
    return [(first.setdefault(t.untyped_storage().data_ptr(), i), t.storage_offset()) for i, t in enumerate(ts)]


@st.composite
def saved(draw: st.DrawFn) -> Any:
    dtypes = tuple(draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3)))
    memories = sources(dtypes, draw(st.integers(1, 3)), draw(s.seeds))
    return [*draw(st.lists(tensors(memories), min_size=1, max_size=4)), draw(nests(tensors(memories)))]


@pytest.mark.parametrize("way", WAYS)
@given(obj=saved())
def test_nests_come_back(way: str, obj: Any) -> None:
    if way == "pickle 5" or way == "pickle":
        got = WAYS[way](obj)
        assert [x for x in flat(got) if not isinstance(x, pb.Tensor)] == [
            x for x in flat(obj) if not isinstance(x, pb.Tensor)
        ]
        for x, y in zip(flat(got), flat(obj), strict=True):
            if isinstance(x, pb.Tensor):
                assert pb.equal(x, y) and x.dtype is y.dtype and type(x) is type(y)
        return
    same(WAYS[way](obj), obj, parameters=way != "deepcopy")


@given(saved(), st.sampled_from(["file", "deepcopy"]))
def test_subclasses_come_back(obj: Any, way: str) -> None:
    tree = pytree.tree_map_only(pb.Tensor, lambda t: t.detach().as_subclass(Tagged), obj)
    got = through_file(tree, weights_only=False) if way == "file" else copy.deepcopy(tree)
    for x, y in zip(flat(got), flat(tree), strict=True):
        assert type(x) is type(y)
        if isinstance(x, Tagged):
            assert pb.equal(x, y)


@st.composite
def modules(draw: st.DrawFn) -> Any:
    """A tree of modules, with parts that occur twice."""
    size = draw(st.integers(1, 3))
    parts: list[Any] = [nn.Linear(size, size, bias=draw(st.booleans())), nn.BatchNorm1d(size), nn.PReLU()]
    shared = draw(st.sampled_from(parts))

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, max_size=3)
        return lists.map(lambda ms: nn.Sequential(*ms)) | lists.map(
            lambda ms: nn.ModuleDict({f"m{i}": m for i, m in enumerate(ms)})
        )

    leaf = st.sampled_from([*parts, shared])
    module = draw(st.recursive(leaf, grow, max_leaves=4))
    seed = draw(s.seeds)
    with pb.no_grad():
        for i, p in enumerate(module.state_dict().values()):
            p.copy_(pb.tensor(s.numbers(seed + i, tuple(p.shape))))
    return module


@given(modules())
def test_states_of_modules_come_back(module: Any) -> None:
    state = module.state_dict()
    other = copy.deepcopy(module)
    with pb.no_grad():
        for p in other.state_dict().values():
            p.zero_()
    keys = other.load_state_dict(through_file(state))
    assert not keys.missing_keys and not keys.unexpected_keys
    for (k, v), (name, w) in zip(state.items(), other.state_dict().items(), strict=True):
        assert k == name and pb.equal(v, w)
    whole = through_file(module, weights_only=False)
    assert [n for n, _ in whole.named_parameters()] == [n for n, _ in module.named_parameters()]
    for v, w in zip(state.values(), whole.state_dict().values(), strict=True):
        assert pb.equal(v, w)


# ---------------------------------------------------------------- trees
def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, max_size=3)
        dicts = st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
        return (
            *(lists, lists.map(tuple), lists.map(deque), dicts, dicts.map(OrderedDict)),
            dicts.map(lambda d: defaultdict(list, d)),
            st.builds(Point, inner, inner),
        )

    return st.recursive(leaves, lambda inner: st.one_of(*grow(inner)), max_leaves=10)


leaves = st.integers(0, 99)


@given(trees(leaves | st.none()))
def test_trees_are_put_together_again(tree: Any) -> None:
    found, spec = pytree.tree_flatten(tree)
    assert pytree.tree_unflatten(found, spec) == tree and spec.num_leaves == len(found)
    assert type(pytree.tree_unflatten(found, spec)) is type(tree)
    assert pytree.tree_leaves(tree) == found == list(pytree.tree_iter(tree))
    assert pytree.tree_structure(pytree.tree_map(str, tree)) == spec
    paths = pytree.tree_leaves_with_path(tree)
    assert [leaf for _, leaf in paths] == found
    for path, leaf in paths:
        assert pytree.key_get(tree, path) == leaf
    assert len({pytree.keystr(path) for path, _ in paths}) == len(paths)
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec and hash(spec) == hash(again)


@given(trees(leaves), trees(leaves))
def test_trees_of_one_structure_alone_are_mapped_together(a: Any, b: Any) -> None:
    def total() -> Any:
        return pytree.tree_map(lambda x, y: x + y, a, b)

    if pytree.tree_structure(a) == pytree.tree_structure(b):
        assert pytree.tree_leaves(total()) == [
            x + y for x, y in zip(pytree.tree_leaves(a), pytree.tree_leaves(b), strict=True)
        ]
    assert pytree.tree_leaves(pytree.tree_map(lambda x, y: x - y, a, a)) == [0] * len(pytree.tree_leaves(a))
    composed = pytree.tree_map(lambda x: (x + 1) * 2, a)
    assert composed == pytree.tree_map(lambda x: x * 2, pytree.tree_map(lambda x: x + 1, a))


@given(trees(leaves.map(lambda n: float(n) / 10)))
def test_transforms_keep_trees(tree: Any) -> None:
    tree = pytree.tree_map(lambda v: pb.tensor([v, v + 1], dtype=pb.float64), tree)
    values, spec = pytree.tree_flatten(tree)
    assume(values)

    def f(t: Any) -> Any:
        return pytree.tree_map(lambda x: x * x, t)

    def total(t: Any) -> Any:
        return sum((x.sin().sum() for x in pytree.tree_leaves(t)), pb.tensor(0.0, dtype=pb.float64))

    out, tangents = pb.func.jvp(f, (tree,), (tree,))
    assert pytree.tree_structure(out) == pytree.tree_structure(tangents) == spec
    s.close(pytree.tree_leaves(tangents), [2 * x * x for x in values], "tangents")
    g = pb.func.grad(total)(tree)
    assert pytree.tree_structure(g) == spec
    s.close(pytree.tree_leaves(g), [x.cos() for x in values], "gradients")
    got = pb.func.vmap(f)(tree)
    assert pytree.tree_structure(got) == spec
    s.close(pytree.tree_leaves(got), [x * x for x in values], "batch")
