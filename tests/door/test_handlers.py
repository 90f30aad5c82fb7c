"""Handlers as programs write them: they unwrap, replace, count and name calls."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.overrides import TorchFunctionMode, resolve_name

PLACES = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod),
    *(operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift),
]


class Unwrapped(pb.Tensor):
    """Answers with plain tensors."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = [a.as_subclass(pb.Tensor) if isinstance(a, Unwrapped) else a for a in args]
        return func(*args, **(kwargs or {}))


class Heard(pb.Tensor):
    names: list[str | None] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.names.append(resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs)


class Log(TorchFunctionMode):
    def __init__(self) -> None:
        self.names: list[str | None] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


def heard(f: Any) -> list[str | None]:
    Heard.names.clear()
    f(Heard([[1.0, 2.0], [3.0, 4.0]]))
    return list(Heard.names)


def test_a_handler_makes_plain_tensors_of_its_objects() -> None:
    x = Unwrapped([1.0, 2.0])
    for found in (x + 1, 1 + x, x.exp(), x[0], pb.sum(x), 2**x, -x, next(iter(x))):
        assert type(found) is pb.Tensor
    assert x.shape == (2,) and len(x) == 2 and list(x) == [1.0, 2.0] and float(x.sum()) == 3.0
    with Log() as log:
        assert type(pb.ones(1).as_subclass(Unwrapped)) is Unwrapped
    assert log.names == ["pullback.ones"]


@pytest.mark.parametrize("place", PLACES)
def test_what_a_handler_answers_takes_the_place_of_the_left_operand(place: Any) -> None:
    class Replaced(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "replaced", func.__name__

    class Below(Replaced):
        pass

    name = f"__{place.__name__}__"
    for kind in (Replaced, Below):
        assert place(pb.ones(2, 2).as_subclass(kind), 2)[0] == "replaced"
        assert getattr(kind, name)(pb.ones(2, 2).as_subclass(kind), 2)[0] == "replaced"
    integers = place in PLACES[7:]
    x = pb.ones(2, 2, dtype=pb.int64 if integers else pb.float32)
    kept = x
    x = place(x, x.clone())
    assert x is kept
    assert getattr(pb.Tensor, name)(x, x.clone()) is x


def test_a_product_takes_the_name_and_leaves_the_tensor() -> None:
    leaf = pb.ones(2, 2, requires_grad=True)
    x = leaf
    x @= pb.ones(2, 3)
    x.sum().backward()
    assert x.shape == (2, 3) and leaf.shape == (2, 2) and leaf.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    y = view = pb.eye(2)
    y @= y + 1
    assert view.tolist() == [[1.0, 0.0], [0.0, 1.0]] and not hasattr(pb.Tensor, "__imatmul__")
    assert heard(lambda x: operator.imatmul(x, x)) == ["pullback.Tensor.matmul"]


def test_rows_are_asked_for_by_methods() -> None:
    assert heard(iter) == ["pullback.Tensor.dim", "pullback.Tensor.unbind"]
    with Log() as log:
        a, b = pb.ones(2)
    assert log.names == ["pullback.ones", "pullback.Tensor.dim", "pullback.Tensor.unbind"]
    assert a == b
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(Heard(1.0).sum())


def test_handlers_know_the_names_of_makers_and_of_what_sets() -> None:
    with Log() as log:
        x = pb.rand(2)
        x.requires_grad = True
        x.data = pb.zeros(2)
        nn.init.uniform_(x.detach(), 0, 1)
        nn.functional.layer_norm(x, (2,))
        pb.split(x, 1)
        x**2
    attributes = ["pullback.Tensor.requires_grad.__set__", "pullback.zeros", "pullback.Tensor.data.__set__"]
    assert log.names[:4] == ["pullback.rand", *attributes]
    assert log.names[4:6] == ["pullback.Tensor.detach", "pullback.nn.init.uniform_"]
    assert log.names[-3:] == [
        "pullback.nn.functional.layer_norm",
        "pullback.functional.split",
        "pullback.Tensor.__pow__",
    ]


def test_methods_written_in_python_are_asked() -> None:
    assert heard(lambda x: x.new([1.0])) == ["pullback.Tensor.new"]
    assert heard(lambda x: x.storage())[0] == "pullback.Tensor.storage"
    assert heard(lambda x: x.is_shared()) == ["pullback.Tensor.is_shared"]
    assert heard(lambda x: nn.init.kaiming_uniform_(x))[0] == "pullback.nn.init.kaiming_uniform_"
    assert heard(lambda x: nn.init.ones_(x))[0] == "pullback.nn.init.constant_"


def test_a_parameter_may_take_more_arguments() -> None:
    class Named(nn.Parameter):
        def __new__(cls, data: Any = None, requires_grad: bool = True, name: str = "") -> Named:
            made: Any = super().__new__(cls, data, requires_grad)
            made.label = name
            return made  # type: ignore[no-any-return]

    p = Named(pb.ones(1), name="p")
    assert p.label == "p" and isinstance(p, nn.Parameter)  # type: ignore[attr-defined]
    assert repr(p) == "Parameter containing:\nParameter(Named([1.], requires_grad=True))"


def test_parameters_of_a_subclass_show_that_they_are() -> None:
    assert repr(nn.Parameter(Heard([1.0]))) == "Parameter(Heard([1.], requires_grad=True))"
    assert repr(Heard([1.0])) == "Heard([1.])"


def test_modes_do_not_hear_of_types_that_are_made_late() -> None:
    with Log() as log:
        assert isinstance(pb.ones(1), pb.FloatTensor)
    assert log.names[0] == "pullback.ones" and "pullback.zeros" not in log.names
