"""Pytrees: flattening, rebuilding, registered types."""

from __future__ import annotations

import collections
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, vmap
from pullback.utils import pytree

Point = namedtuple("Point", ["x", "y"])
TREES: list[Any] = [
    1,
    None,
    (),
    [],
    {},
    (1, [2, {"b": 3, "a": (4,)}]),
    Point(1, [2, 3]),
    OrderedDict([("z", 1), ("a", [2])]),
    {"nested": {"deep": [None, (1, 2)]}},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_round_trip(tree: Any) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert pytree.tree_flatten(again)[1] == spec


def test_order_and_map() -> None:
    assert pytree.tree_flatten((1, [2, {"b": 3, "a": 4}], Point(5, 6)))[0] == [1, 2, 3, 4, 5, 6]
    assert pytree.tree_map(lambda v: v * 10, {"b": 1, "a": [2, (3,)]}) == {"b": 10, "a": [20, (30,)]}
    assert pytree.tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert pytree.tree_leaves([1, (2, [3])]) == [1, 2, 3]


def test_specs_tell_structures_apart() -> None:
    specs = [pytree.tree_flatten(tree)[1] for tree in TREES if tree is not None]
    for i, a in enumerate(specs):
        for j, b in enumerate(specs):
            assert (a == b) == (i == j)


def test_wrong_number_of_leaves() -> None:
    _, spec = pytree.tree_flatten([1, 2])
    with pytest.raises(ValueError, match="2"):
        pytree.tree_unflatten([1], spec)


class Pair:
    def __init__(self, first: Any, second: Any, label: str = ""):
        self.first, self.second, self.label = first, second, label


@dataclass
class Line:
    slope: Any
    offset: Any


def register_once() -> None:
    if not getattr(register_once, "done", False):
        pytree.register_pytree_node(
            Pair, lambda p: ([p.first, p.second], p.label), lambda children, label: Pair(*children, label)
        )
        pytree.register_dataclass(Line)
        register_once.done = True  # type: ignore[attr-defined]


def test_registered_types_pass_through_transforms() -> None:
    register_once()
    x = pb.tensor([1.0, 2.0])
    g = grad(lambda p: (p.first * p.second).sum())(Pair(x, 3 * x, "kept"))
    assert isinstance(g, Pair) and g.label == "kept"
    pb.testing.assert_close((g.first, g.second), (3 * x, x))
    line = vmap(lambda line, t: Line(line.slope * t, line.offset + t), in_dims=(None, 0))(Line(2.0, 1.0), x)
    pb.testing.assert_close((line.slope, line.offset), (2 * x, 1 + x))
    g = grad(lambda p: (p.x * p.y).sum())(Point(x, 3 * x))
    assert isinstance(g, Point)
    pb.testing.assert_close(g.x, 3 * x)


def test_structures_of_leaves() -> None:
    from pullback.utils import _pytree

    leaf = _pytree.LeafSpec()
    assert leaf == _pytree.tree_structure(1) and isinstance(leaf, _pytree.LeafSpec)
    assert not isinstance(_pytree.tree_structure([1]), _pytree.LeafSpec) and not isinstance(1, _pytree.LeafSpec)
    assert _pytree.TreeSpec(list, None, [leaf, leaf]) == _pytree.tree_structure([1, 2])


Row = namedtuple("Row", "a b")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tuple", (1, 2)),
        ("list", [1, 2]),
        ("dict", {"x": 1, "y": 2}),
        ("namedtuple", Row(1, 2)),
        ("ordereddict", collections.OrderedDict(x=1, y=2)),
        ("defaultdict", collections.defaultdict(int, x=1, y=2)),
        ("deque", collections.deque([1, 2], maxlen=3)),
    ],
)
def test_containers_are_put_together_as_they_were(name: str, value: Any) -> None:
    from pullback.utils import _pytree

    values, context = getattr(_pytree, f"_{name}_flatten")(value)
    again = getattr(_pytree, f"_{name}_unflatten")(values, context)
    assert values == [1, 2] == _pytree.tree_leaves(value) and again == value and type(again) is type(value)
    assert getattr(again, "maxlen", None) == getattr(value, "maxlen", None)
    assert _pytree.is_namedtuple(value) == (name == "namedtuple") == _pytree.is_namedtuple(type(value))


def test_older_names_register_nodes() -> None:
    from pullback.utils import _pytree

    class Bag(dict[str, Any]):
        pass

    class Box(dict[str, Any]):
        pass

    for kind, register in ((Bag, _pytree._register_pytree_node), (Box, _pytree._private_register_pytree_node)):
        register(kind, _pytree._dict_flatten, lambda values, keys, kind=kind: kind(zip(keys, values, strict=True)))
        tree = _pytree.tree_map(lambda x: x + 1, kind(a=1, b=2))
        assert type(tree) is kind and tree == {"a": 2, "b": 3}
    assert _pytree.arg_tree_leaves([1, 2], Bag(a=3), key=(4,)) == [1, 2, 3, 4]
