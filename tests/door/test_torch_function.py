"""Every call from Python passes one place, where subclasses may answer it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import pullback as pb
from pullback import _core

TABLE: list[dict[str, Any]] = _core.operator_table()
Calls = list[tuple[str, str]]


@contextmanager
def watched() -> Iterator[Calls]:
    calls: Calls = []
    _core._watch_calls(lambda kind, path: calls.append((kind, path)))
    try:
        yield calls
    finally:
        _core._watch_calls(None)


class Log(pb.Tensor):
    calls: list[tuple[Any, Any, Any, Any]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


class Refuses(pb.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Plain(pb.Tensor):
    pass


class Silent(pb.Tensor):
    __torch_function__ = None


class Answer(pb.Tensor):
    """Answers each call with the callable."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


def log(f: Callable[..., Any], *args: Any) -> list[Any]:
    Log.calls.clear()
    f(*args)
    return [c[0] for c in Log.calls]


def subject() -> Any:
    return Log([1.0, 2.0])


def required(entry: dict[str, Any], given: Any) -> list[Any]:
    """A class answers before anybody looks at what the arguments are."""
    return [given] * sum(p["required"] and not p["kwonly"] for p in entry["params"])


def required_names(entry: dict[str, Any]) -> dict[str, Any]:
    return {p["name"]: 1 for p in entry["params"] if p["required"] and p["kwonly"]}


def methods_of(entry: dict[str, Any]) -> list[str]:
    names = [n for n in [entry["name"], *entry["aliases"]] if "." not in n]
    return names or [entry["name"].rsplit(".", 1)[-1]]


def test_every_function_of_the_table() -> None:
    x = Answer([1.0])
    seen = 0
    for entry in TABLE:
        if not entry["flags"]["function"] or not entry["params"]:
            continue
        f = _core.functions[entry["name"]]
        with watched() as calls:
            out = f(*required(entry, x) or [x], **required_names(entry))
        assert calls == [("function", f"pullback.{entry['name']}")], entry["name"]
        assert out is f
        for alias in entry["aliases"]:
            if alias in _core.functions and _core.functions[alias] is f:
                assert _core.functions[alias](*required(entry, x) or [x], **required_names(entry)) is f
        seen += 1
    assert seen > 250


def test_functions_without_tensors_pass_too() -> None:
    with watched() as calls:
        pb.zeros(2)
        pb.eye(2)
        pb.arange(3)
    assert [c[1] for c in calls] == ["pullback.zeros", "pullback.eye", "pullback.arange"]
    with watched() as calls:
        pass
    pb.zeros(2)
    assert calls == []


@pytest.mark.parametrize("flag", ["method", "inplace", "property"])
def test_every_method_and_property_of_the_table(flag: str) -> None:
    x = Answer([1.0])
    seen = 0
    for entry in TABLE:
        if not entry["flags"][flag]:
            continue
        if flag == "property":
            name = entry["name"].rsplit(".", 1)[-1]
            assert getattr(x, name) == getattr(pb.Tensor, name).__get__, name
            seen += 1
            continue
        given = required(entry, x)[1:]
        for name in methods_of(entry):
            name += "_" if flag == "inplace" else ""
            with watched() as calls:
                out = getattr(x, name)(*given, **required_names(entry))
            assert len(calls) == 1 and calls[0][0] == flag, name
            main = methods_of(entry)[0] + ("_" if flag == "inplace" else "")
            assert out is pb.Tensor.__dict__[main], name
            seen += 1
    assert seen > {"method": 200, "inplace": 50, "property": 0}[flag]


def test_every_inplace_function() -> None:
    names = [n for n in _core.functions if n.endswith("_") and not n.endswith("__")]
    entries = {m + "_": e for e in TABLE if e["flags"].get("inplace_function") for m in methods_of(e)}
    assert names and set(names) >= set(entries) and entries
    x = Answer([1.0])
    for name, entry in entries.items():
        out = _core.functions[name](*required(entry, x))
        assert out is _core.functions[methods_of(entry)[0] + "_"]


NATIVE_KINDS = {"method_descriptor", "getset_descriptor"}
OF_TABLE = {m + e for t in TABLE for m in methods_of(t) for e in ("", "_")} | {
    t["name"].rsplit(".", 1)[-1] for t in TABLE
}
# What Python's object model and pyo3 define, which answers no call for the tensor.
OF_OBJECTS = {"__dict__", "__weakref__", "__array_ufunc__", "__torch_function__", "as_subclass"}


def natives() -> list[str]:
    found = [n for n, v in vars(pb.Tensor).items() if type(v).__name__ in NATIVE_KINDS]
    return sorted(set(found) - OF_TABLE - OF_OBJECTS)


@pytest.mark.parametrize("name", natives())
def test_every_native_method_and_attribute(name: str) -> None:
    x, attribute = Answer([1.0]), vars(pb.Tensor)[name]
    if type(attribute).__name__ == "method_descriptor":
        with watched() as calls:
            out = getattr(x, name)(*NEEDED.get(name, ()))
        assert [c for c in calls if c[1] == f"pullback.Tensor.{name}"], calls
        assert out is attribute
        return
    with watched() as calls:
        assert getattr(x, name) == attribute.__get__
    assert calls == [("getter", f"pullback.Tensor.{name}.__get__")]
    with watched() as calls:
        try:
            setattr(x, name, None)
        except AttributeError:
            assert calls == []
            return
        delattr(x, name)
    assert calls == [
        ("setter", f"pullback.Tensor.{name}.__set__"),
        ("deleter", f"pullback.Tensor.{name}.__delete__"),
    ]


NEEDED: dict[str, tuple[Any, ...]] = {
    "__reduce_ex__": (2,),
    "__deepcopy__": ({},),
    "__format__": ("",),
}

BINARY: dict[str, tuple[str, str]] = {
    "+": ("add", "add"),
    "-": ("sub", "__rsub__"),
    "*": ("mul", "mul"),
    "/": ("div", "__rtruediv__"),
    "//": ("__floordiv__", "__rfloordiv__"),
    "%": ("remainder", "__rmod__"),
    "**": ("__pow__", "__rpow__"),
    "@": ("matmul", "__rmatmul__"),
    "&": ("__and__", "bitwise_and"),
    "|": ("__or__", "bitwise_or"),
    "^": ("__xor__", "bitwise_xor"),
    "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"),
}


@pytest.mark.parametrize("symbol", BINARY)
def test_every_operator_of_two_operands(symbol: str) -> None:
    x, y = Answer([1.0]), pb.ones(1)
    forward, reflected = (pb.Tensor.__dict__[n] for n in BINARY[symbol])
    for other in (y, x, 2, 2.0, None):
        assert eval(f"x {symbol} other", {"x": x, "other": other}) is forward
    assert eval(f"y {symbol} x", {"x": x, "y": y}) is forward
    assert eval(f"2 {symbol} x", {"x": x}) is reflected


INPLACE = {"+": "add_", "-": "sub_", "*": "mul_", "/": "div_", "//": "floor_divide_", "%": "remainder_"}


@pytest.mark.parametrize("symbol", [symbol for symbol in BINARY if symbol != "@"])
def test_every_inplace_operator(symbol: str) -> None:
    slot = {"**": "pow", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}.get(symbol)
    name = INPLACE.get(symbol) or f"__i{slot}__"
    integers = symbol in ("&", "|", "^", "<<", ">>")
    operand = pb.ones(1, 1, dtype=pb.int64 if integers else pb.float32)
    x = y = Log(operand.tolist()).to(operand.dtype)
    Log.calls.clear()
    scope = {"x": x, "o": operand}
    exec(f"x {symbol}= o", scope)
    assert scope["x"] is y
    assert Log.calls[0][0] is pb.Tensor.__dict__[name]
    assert Log.calls[0][2][0] is y and Log.calls[0][2][1] is operand
    answer: dict[str, Any] = {"x": Answer([1.0]), "o": operand}
    exec(f"x {symbol}= o", answer)
    assert answer["x"] is pb.Tensor.__dict__[name]


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x == 1, "__eq__"),
        (lambda x: x != 1, "ne"),
        (lambda x: x < 1, "lt"),
        (lambda x: x <= 1, "le"),
        (lambda x: x > 1, "gt"),
        (lambda x: x >= 1, "ge"),
        (lambda x: x.__ge__(2), "ge"),
        (lambda x: -x, "neg"),
        (lambda x: +x, "positive"),
        (abs, "abs"),
        (lambda x: ~x.to(pb.int64), "__invert__"),
        (lambda x: x[0], "__getitem__"),
        (lambda x: pb.arange(3)[x.to(pb.int64)], "__getitem__"),
        (lambda x: x.__setitem__(0, 1.0), "__setitem__"),
        (lambda x: pb.zeros(1).__setitem__(0, x[0]), "__setitem__"),
        (len, "__len__"),
        (bool, "__bool__"),
        (int, "__int__"),
        (float, "__float__"),
        (complex, "__complex__"),
        (lambda x: [1, 2][x.to(pb.int64)], "__index__"),
        (lambda x: 1 in x, "__contains__"),
        (repr, "__repr__"),
        (lambda x: f"{x}", "__format__"),
        (lambda x: x.__array__(), "__array__"),
        (copy.copy, "__copy__"),
        (copy.deepcopy, "__deepcopy__"),
        (pickle.dumps, "__reduce_ex__"),
    ],
)
def test_every_other_slot(f: Any, name: str) -> None:
    expected = pb.Tensor.__dict__[name]
    assert expected in log(f, Log([1.0]))
    with watched() as calls:
        f(pb.ones(1))
    assert f"pullback.Tensor.{name}" in [c[1] for c in calls]


def test_a_comparison_is_reflected() -> None:
    assert log(lambda x: pb.ones(2) < x, subject()) == [pb.Tensor.gt]
    assert log(lambda x: pb.ones(2) == x, subject()) == [pb.Tensor.__eq__]


def test_transforms_and_custom_functions() -> None:
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    def f(x: Any) -> Any:
        return (x * x).sum()

    x, fn = pb.ones(2), pb.func
    made = {
        "grad": fn.grad(f),
        "vmap": fn.vmap(f),
        "jacrev": fn.jacrev(f),
        "jacfwd": fn.jacfwd(f),
        "grad_and_value": fn.grad_and_value(f),
    }
    for name, transform in made.items():
        with watched() as calls:
            transform(x)
        assert calls[0] == ("transform", f"pullback.func.{name}"), name
    direct = {
        "jvp": lambda: fn.jvp(f, (x,), (x,)),
        "vjp": lambda: fn.vjp(f, x),
        "linearize": lambda: fn.linearize(f, x),
    }
    for name, call in direct.items():
        with watched() as calls:
            call()
        assert calls[0] == ("transform", f"pullback.func.{name}"), name
    with watched() as calls:
        Square.apply(x)
    assert calls[0][0] == "apply"


def test_operators_inside_of_a_transform_reach_the_class() -> None:
    x = subject()

    class Twice(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    assert pb.Tensor.mul in log(Twice.apply, x)


def test_the_protocol() -> None:
    x, y = subject(), pb.ones(2)
    Log.calls.clear()
    out = pb.add(y, x, alpha=2)
    func, types, args, kwargs = Log.calls[0]
    assert func is pb.add and types == (Log,) and len(args) == 2 and args[0] is y and args[1] is x
    assert kwargs == {"alpha": 2}
    assert type(out) is Log and pb.Tensor(out).tolist() == [3, 5]
    Log.calls.clear()
    pb.add(y, other=x)
    assert Log.calls[0][2] == (y,) and Log.calls[0][3]["other"] is x
    Log.calls.clear()
    pb.cat([y, x])
    pb.stack((x, y))
    assert [c[0] for c in Log.calls] == [pb.cat, pb.stack]
    Log.calls.clear()
    pb.add(y, y, out=subject())
    assert Log.calls[0][0] is pb.add


def test_results_become_objects_of_the_class() -> None:
    x = subject()
    assert type(x + 1) is Log and type(x.sum()) is Log and type(x[0]) is Log
    values, indices = pb.sort(x)
    assert type(values) is Log and type(indices) is Log
    assert type(pb.sort(x)).__name__ == "sort"
    assert all(type(t) is Log for t in x.unbind())
    assert x.shape == (2,) and type(x.shape) is pb.Size
    x.requires_grad_()
    (x * x).sum().backward()
    assert type(x.grad) is pb.Tensor and x.grad.tolist() == [2.0, 4.0]


def test_views_of_a_class_alias() -> None:
    x = subject()
    v = x[0]
    v += 5
    assert x.tolist() == [6.0, 2.0]


def test_subclasses_are_asked_before_their_bases() -> None:
    asked = []

    class Base(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append((cls.__name__, [t.__name__ for t in types]))
            return NotImplemented

    class Derived(Base):
        pass

    class Other(Base):
        pass

    with pytest.raises(TypeError, match=r"'pullback\.cat'.*NotImplemented"):
        pb.cat([Base([1.0]), Other([1.0]), Derived([1.0]), Base([1.0])])
    names = [a[0] for a in asked]
    assert sorted(names) == ["Base", "Derived", "Other"] and names[-1] == "Base"
    assert all(a[1] == names for a in asked)


def test_a_class_that_refuses() -> None:
    x, y = Refuses([1.0]), pb.ones(1)
    for f in (lambda: pb.add(x, y), lambda: x.sin(), lambda: x.shape, lambda: x[0], lambda: len(x)):
        with pytest.raises(TypeError, match="handlers returned NotImplemented"):
            f()
    for f in (lambda: x + y, lambda: y + x, lambda: x < y):
        with pytest.raises(TypeError, match=r"unsupported operand|not supported"):
            f()
    assert (x == y) is False


def test_classes_without_a_say() -> None:
    x = Silent([1.0, 2.0])
    assert type(x + 1) is pb.Tensor and x.sum().tolist() == 3 and pb.add(x, x).tolist() == [2, 4]


def test_classes_that_inherit_keep_their_results() -> None:
    x = Plain([1.0, 2.0])
    assert type(x + 1) is Plain and x.sum().tolist() == 3 and pb.add(x, x).tolist() == [2, 4]


def test_a_class_gets_and_loses_its_say() -> None:
    class Changing(pb.Tensor):
        pass

    x = Changing([1.0])
    assert (x + 1).tolist() == [2]
    Changing.__torch_function__ = classmethod(lambda cls, *rest: "answered")
    assert x + 1 == "answered" and pb.sin(x) == "answered" and x.shape == "answered"
    del Changing.__torch_function__
    assert (x + 1).tolist() == [2]


def test_exceptions_of_a_handler_arrive() -> None:
    class Raises(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise LookupError("mine")

    x = Raises([1.0])
    for f in (lambda: x + 1, lambda: pb.sin(x), lambda: x.sum(), lambda: x.shape, lambda: repr(x)):
        with pytest.raises(LookupError, match="mine"):
            f()
    with pytest.raises(LookupError, match="mine"):
        x.requires_grad = True


def test_as_subclass() -> None:
    x = pb.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Plain)
    assert type(y) is Plain and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    z = pb.zeros(2)
    z.as_subclass(Plain).add_(1)
    assert z.tolist() == [1, 1]
    for wrong in (int, None, 3):
        with pytest.raises(TypeError, match="must be a subclass of Tensor"):
            z.as_subclass(wrong)
