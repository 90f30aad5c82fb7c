"""Pytrees: the semantics of `torch.utils._pytree`."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import pullback as pb
from pullback.utils import pytree
from pullback.utils._pytree import _broadcast_to_and_flatten

Point = namedtuple("Point", "x y")

TREES = [
    (1, "*"),
    (None, "*"),
    ("ab", "*"),
    ((), "TreeSpec(tuple, None, [])"),
    ((1, 2), "TreeSpec(tuple, None, [*, *])"),
    ([1, None], "TreeSpec(list, None, [*, *])"),
    (
        [[1], (2, [3])],
        "TreeSpec(list, None, [TreeSpec(list, None, [*]), TreeSpec(tuple, None, [*, TreeSpec(list, None, [*])])])",
    ),
    ({"b": 1, "a": (2,)}, "TreeSpec(dict, ['b', 'a'], [*, TreeSpec(tuple, None, [*])])"),
    (OrderedDict(b=1, a=2), "TreeSpec(OrderedDict, ['b', 'a'], [*, *])"),
    (defaultdict(list, {"a": 1}), "TreeSpec(defaultdict, [<class 'list'>, ['a']], [*])"),
    (deque([1, 2], maxlen=3), "TreeSpec(deque, 3, [*, *])"),
    (Point(1, (2, 3)), f"TreeSpec(namedtuple, {Point!r}, [*, TreeSpec(tuple, None, [*, *])])"),
    (pb.Size([2, 3]), "TreeSpec(Size, None, [*, *])"),
]


@contextmanager
def registered(cls: type, *args: Any, **kwargs: Any) -> Iterator[None]:
    pytree.register_pytree_node(cls, *args, **kwargs)
    try:
        yield
    finally:
        pb._core.utils_pytree._deregister_pytree_node(cls)


@pytest.mark.parametrize(("tree", "text"), TREES, ids=[text[:40] for _, text in TREES])
def test_round_trip(tree: Any, text: str) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert repr(spec) == text
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(again))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert leaves == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))
    assert (spec.num_leaves, spec.num_nodes) == (len(leaves), text.count("*") + text.count("TreeSpec"))
    assert pytree.tree_is_leaf(tree) == spec.is_leaf() == (text == "*")
    assert pytree.TreeSpec(spec.type if not isinstance(tree, Point) else Point, spec.context, spec.children()) == spec


def test_structures_differ() -> None:
    specs = [pytree.tree_structure(tree) for tree, _ in TREES[2:]]
    for i, a in enumerate(specs):
        for j, b in enumerate(specs):
            assert (a == b) == (i == j)
    assert pytree.tree_structure(deque([1], maxlen=2)) != pytree.tree_structure(deque([1]))
    assert pytree.tree_structure({"a": 1, "b": 2}) != pytree.tree_structure({"b": 1, "a": 2})
    assert pytree.tree_structure(1) != 1


def test_unflatten_restores_order_and_factories() -> None:
    leaves, spec = pytree.tree_flatten({"b": 1, "a": 2})
    assert list(pytree.tree_unflatten(leaves, spec)) == ["b", "a"]
    moved = OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert pytree.tree_leaves(moved) == [2, 1]
    factory = pytree.tree_map(lambda x: x, defaultdict(set, a=1))
    assert factory.default_factory is set
    assert pytree.tree_map(lambda x: x, deque([1, 2], maxlen=2)).maxlen == 2


def test_subclasses_of_containers_are_leaves() -> None:
    class Special(list[int]):
        pass

    for tree in (Counter("aab"), Special([1, 2])):
        assert pytree.tree_leaves(tree) == [tree]


def test_map_over_several_trees() -> None:
    assert pytree.tree_map(lambda x, y: (x, y), (1, 2), ((1, 5), 2)) == ((1, (1, 5)), (2, 2))
    assert pytree.tree_map(lambda a, b, c: a + b + c, [1, {"k": 2}], [10, {"k": 20}], [100, {"k": 200}]) == [
        111,
        {"k": 222},
    ]
    result = pytree.tree_map(lambda x, y: (x, y), {"b": 1, "a": 2}, OrderedDict(a=3, b=4))
    assert list(result.items()) == [("b", (1, 4)), ("a", (2, 3))]
    seen: list[Any] = []
    tree = [1, (2,)]
    assert pytree.tree_map_(seen.append, tree) is tree and seen == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((1, 2), (1, 2, 3), "arity 2, got 3"),
        ((1, 2), [1, 2], "tuple, got list"),
        ((1, 2), 3, "tuple, got int"),
        ([1, (2,)], [1, (2, 3)], "arity 1, got 2"),
        ({"a": 1}, {"b": 1}, "missing 'a', unexpected 'b'"),
        ({"a": 1}, {}, "missing|empty"),
        ({"a": 1}, (1,), "dict, got tuple"),
        (Point(1, 2), (1, 2), "Point, got tuple"),
    ],
)
def test_mismatch(first: Any, second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pytree.tree_map(lambda x, y: x, first, second)


def test_only_some_leaves() -> None:
    tree = (1, "a", [2.0])
    add = lambda x: x + 1
    assert pytree.tree_map_only(int, add, tree) == (2, "a", [2.0])
    assert pytree.tree_map_only((int, float), add, tree) == (2, "a", [3.0])
    assert pytree.tree_map_only(int | float, add, tree) == (2, "a", [3.0])
    assert pytree.tree_map_only(lambda x: x == 1, add, tree) == (2, "a", [2.0])
    assert pytree.tree_map(pytree.map_only(int)(add), tree) == (2, "a", [2.0])
    with pytest.raises(TypeError, match="predicate"):
        pytree.tree_map_only(3, add, tree)
    assert pytree.tree_any(lambda x: x == "a", tree) and not pytree.tree_all(lambda x: x == "a", tree)
    assert pytree.tree_all_only(int, lambda x: x == 1, tree) and not pytree.tree_any_only(float, lambda x: x == 1, tree)


def test_leaf_predicate() -> None:
    is_tuple = lambda x: isinstance(x, tuple)
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=is_tuple) == [1, (2, 3)]
    assert pytree.tree_map(lambda x: x, (1, 2), is_leaf=is_tuple) == (1, 2)
    assert pytree.tree_is_leaf((1, 2), is_leaf=is_tuple)
    with pytest.raises(ZeroDivisionError):
        pytree.tree_leaves([1], is_leaf=lambda x: 1 / 0)


def test_wrong_arguments() -> None:
    spec = pytree.tree_structure((1, [2]))
    for leaves in ([], [1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"2 leaves, got {len(leaves)}"):
            spec.unflatten(leaves)
    with pytest.raises(TypeError, match="treespec"):
        pytree.tree_unflatten([1, 2], 3)
    with pytest.raises(IndexError):
        spec.child(2)
    assert pytree.tree_unflatten(spec, [1, 2]) == (1, [2])
    assert spec.child(-1) == pytree.tree_structure([0])


def test_tree_that_contains_itself() -> None:
    tree: list[Any] = []
    tree.append(tree)
    with pytest.raises(RecursionError):
        pytree.tree_leaves(tree)


def test_containers_that_change_while_they_are_visited() -> None:
    tree: dict[str, Any] = {"a": 1, "b": [2, 3]}

    def clears(x: Any) -> bool:
        tree.clear()
        return False

    assert pytree.tree_leaves(tree, is_leaf=clears) in ([], [1, 2, 3])
    items = [1, [2], 3]
    assert pytree.tree_leaves(items, is_leaf=lambda x: items.clear() or False) == []


@pytest.mark.parametrize(
    ("prefix", "tree", "expected"),
    [
        (0, ((1, 2), {"a": 3}), [0, 0, 0]),
        ((0, None), ((1, 2), {"a": 3}), [0, 0, None]),
        ((0, {"a": 1}), ((1, 2), {"a": 3}), [0, 0, 1]),
        ({"b": 1, "a": 2}, {"a": (1, 2), "b": 3}, [2, 2, 1]),
        ((0, (None,)), ((1, 2), {"a": 3}), None),
        ((0,), (1, 2), None),
        ([0, 1], (1, 2), None),
        ((0, 1), 5, None),
        (None, (), []),
    ],
)
def test_broadcast_of_a_prefix(prefix: Any, tree: Any, expected: Any) -> None:
    assert _broadcast_to_and_flatten(prefix, pytree.tree_structure(tree)) == expected


class Pair:
    def __init__(self, left: Any, right: Any, label: str = "") -> None:
        self.left, self.right, self.label = left, right, label


def test_registered_class() -> None:
    flatten = lambda p: ([p.left, p.right], p.label)
    unflatten = lambda children, label: Pair(*children, label)
    with registered(Pair, flatten, unflatten):
        leaves, spec = pytree.tree_flatten([Pair(1, (2, 3), "u")])
        assert leaves == [1, 2, 3]
        again = spec.unflatten([4, 5, 6])[0]
        assert (again.left, again.right, again.label) == (4, (5, 6), "u")
        assert spec != pytree.tree_structure([Pair(1, (2, 3), "v")])
        with pytest.raises(ValueError, match="context 'u', got 'v'"):
            spec.flatten_up_to([Pair(1, (2, 3), "v")])
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            pytree.tree_leaves_with_path(Pair(1, 2))
        with pytest.raises(ValueError, match="already"):
            pytree.register_pytree_node(Pair, flatten, unflatten)
    assert len(pytree.tree_leaves(Pair(1, 2))) == 1
    with registered(Pair, lambda p: 3, unflatten), pytest.raises(TypeError, match="Pair"):
        pytree.tree_leaves(Pair(1, 2))


def test_registration_is_refused() -> None:
    for cls in (list, tuple, dict, OrderedDict, deque, pb.Tensor):
        with pytest.raises(ValueError):
            pytree.register_pytree_node(cls, lambda x: (x, None), lambda x, _: x)
    with pytest.raises(TypeError, match="class"):
        pytree.register_pytree_node(3, lambda x: (x, None), lambda x, _: x)


@dataclass
class Layer:
    weight: Any
    bias: Any = None
    name: str = "layer"
    cache: Any = field(default=None, init=False)


def test_dataclass() -> None:
    pytree.register_dataclass(Layer, drop_field_names=["name"])
    try:
        leaves, spec = pytree.tree_flatten({"l": Layer(1, (2, 3))})
        assert leaves == [1, 2, 3]
        assert spec.unflatten([4, 5, 6]) == {"l": Layer(4, (5, 6))}
        assert pickle.loads(pickle.dumps(spec)) == spec
        without = pytree.tree_structure({"l": Layer(1)})
        assert without.num_leaves == 1 and without != spec
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path([Layer(1, 2)])] == [
            "[0].weight",
            "[0].bias",
        ]
    finally:
        pb._core.utils_pytree._deregister_pytree_node(Layer)
    for kwargs, message in [
        ({"field_names": ["weight"]}, "lacks"),
        ({"field_names": ["weight", "bias", "name", "x"]}, "has"),
    ]:
        with pytest.raises(ValueError, match=message):
            pytree.register_dataclass(Layer, **kwargs)
    with pytest.raises(ValueError, match="not a dataclass"):
        pytree.register_dataclass(Pair)


def test_constants() -> None:
    @dataclass(frozen=True)
    class Setting:
        value: int

    pytree.register_constant(Setting)
    leaves, spec = pytree.tree_flatten((Setting(3), 1))
    assert leaves == [1] and spec.unflatten([2]) == (Setting(3), 2)
    assert spec != pytree.tree_structure((Setting(4), 1))
    with pytest.raises(TypeError, match="__eq__"):
        pytree.register_constant(Pair)


def test_paths() -> None:
    tree = {"a": (1, Point(2, 3)), "b": deque([4]), "c": None}
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [pytree.keystr(path) for path, _ in pairs] == ["['a'][0]", "['a'][1].x", "['a'][1].y", "['b'][0]", "['c']"]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in pairs)
    assert spec == pytree.tree_structure(tree)
    assert pytree.tree_map_with_path(lambda p, x, y: (len(p), x, y), [1, (2,)], [3, (4,)]) == [(1, 1, 3), ((2, 2, 4),)]
    path = pairs[1][0]
    assert path == (pytree.MappingKey("a"), pytree.SequenceKey(1), pytree.GetAttrKey("x"))
    assert pickle.loads(pickle.dumps(path)) == path and len({path, tuple(path)}) == 1
    with registered(
        Pair,
        lambda p: ([p.left, p.right], None),
        lambda c, _: Pair(*c),
        flatten_with_keys_fn=lambda p: (
            [(pytree.GetAttrKey("left"), p.left), (pytree.GetAttrKey("right"), p.right)],
            None,
        ),
    ):
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Pair(1, [2]))] == [".left", ".right[0]"]


def test_structures_from_parts() -> None:
    leaf = pytree.treespec_leaf()
    assert pytree.treespec_tuple([leaf, leaf]) == pytree.tree_structure((1, 2))
    assert pytree.treespec_dict({"a": leaf}, b=pytree.treespec_tuple()) == pytree.tree_structure({"a": 1, "b": ()})
    with pytest.raises(ValueError):
        pytree.TreeSpec(dict, ["a"], [])
    with pytest.raises(ValueError, match="not a pytree node"):
        pytree.TreeSpec(int, None, [])


def test_structures_own_no_leaves() -> None:
    class Leaf:
        pass

    leaf = Leaf()
    gone = weakref.ref(leaf)
    spec = pytree.tree_structure([leaf, {"a": leaf}])
    del leaf
    gc.collect()
    assert gone() is None and spec.num_leaves == 2


def test_classes_registered_with_optree(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Pair):
        pass

    class Entry:
        type = Mine
        flatten_func = staticmethod(lambda p: ((p.left, p.right), p.label, ("left", "right")))
        unflatten_func = staticmethod(lambda label, children: Mine(*children, label))

    class FakeOptree:
        """The interface of `optree` that is used: a global entry, or one in a namespace."""

        class register_pytree_node:
            get = staticmethod(lambda cls: None)

        class registry:
            _NODETYPE_REGISTRY = {("mine", Mine): Entry}

    class Other:
        pass

    monkeypatch.setitem(sys.modules, "optree", FakeOptree)
    doubled = pytree.tree_map(lambda x: 2 * x, [Mine(1, 2, "u")])[0]
    assert (doubled.left, doubled.right, doubled.label) == (2, 4, "u")
    assert len(pytree.tree_leaves(Other())) == 1


def test_registries_of_modules_are_dicts() -> None:
    """What `module._parameters` gives stands in trees for a dict: in prefixes, structures and what is put together."""
    layer = pb.nn.Linear(2, 3)
    spec = pytree.tree_structure(layer._parameters)
    assert spec == pytree.tree_structure(dict(layer._parameters)) and spec.type is dict
    assert type(pytree.tree_map(lambda p: p, layer._parameters)) is dict
    assert _broadcast_to_and_flatten({"weight": 0, "bias": None}, spec) == [0, None]
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(layer._parameters)] == [
        "['weight']",
        "['bias']",
    ]

    def run(params: Any, x: Any) -> Any:
        return pb.func.functional_call(layer, params, (x,))

    x = pb.ones(4, 2)
    for dims in ({"weight": None, "bias": None}, None):
        assert pb.vmap(run, in_dims=(dims, 0))(layer._parameters, x).shape == (4, 3)
