"""Modes hear of every call of their thread while they are entered."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import pullback as pb
from pullback import _C, overrides
from pullback.overrides import BaseTorchFunctionMode, TorchFunctionMode


class Log(TorchFunctionMode):
    def __init__(self, calls: list[Any], name: str = "") -> None:
        self.calls, self.name = calls, name

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((self.name, func) if self.name else func)
        return func(*args, **(kwargs or {}))


class Answer(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


class Sub(pb.Tensor):
    pass


class Duck:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "duck"


def calls_of(f: Any) -> list[Any]:
    calls: list[Any] = []
    with Log(calls):
        f()
    return calls


def test_functions_methods_attributes_and_operators() -> None:
    x = pb.ones(2)
    assert calls_of(lambda: pb.sin(x)) == [pb.sin]
    assert calls_of(lambda: x.sin()) == [pb.Tensor.sin]
    assert calls_of(lambda: x + 1) == [pb.Tensor.add]
    assert calls_of(lambda: x[0]) == [pb.Tensor.__getitem__]
    assert calls_of(lambda: x.shape) == [pb.Tensor.shape.__get__]
    assert calls_of(lambda: setattr(x, "requires_grad", False)) == [pb.Tensor.requires_grad.__set__]
    assert calls_of(lambda: pb.nn.functional.celu(x))[0] is pb.nn.functional.celu
    w = pb.ones(1, requires_grad=True)
    y = (w * 2).sum()
    assert calls_of(lambda: pb.autograd.grad(y, w)) == [pb.autograd.grad]
    assert calls_of(lambda: None) == []


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *(("zeros", (2,)), ("ones", (2,)), ("empty", (2,)), ("arange", (3,)), ("eye", (2,)), ("rand", (2,))),
        *(("tensor", ([1.0],)), ("as_tensor", ([1.0],)), ("asarray", ([1.0],)), ("frombuffer", (b"1234",))),
    ],
)
def test_makers_of_tensors(name: str, args: Any) -> None:
    kwargs: Any = {"dtype": pb.uint8} if name == "frombuffer" else {}
    f = getattr(pb, name)
    with Answer():
        assert f(*args, **kwargs) is f
    assert isinstance(f(*args, **kwargs), pb.Tensor)


def test_keywords_of_makers_arrive() -> None:
    class Keep(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args, kwargs

    with Keep():
        assert pb.tensor([1], dtype=pb.float64) == (([1],), {"dtype": pb.float64, "requires_grad": False})


def test_the_handler_runs_outside_of_its_mode() -> None:
    calls: list[Any] = []

    class Twice(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func)
            assert overrides._get_current_function_mode() is not self
            return func(*args, **(kwargs or {})) * 2

    with Twice():
        x = pb.ones(1)
    assert x.tolist() == [2] and calls == [pb.ones]


def test_nested_modes_and_the_same_mode_twice() -> None:
    calls: list[Any] = []
    with Log(calls, "outer"), Log(calls, "inner"):
        pb.ones(1)
    assert calls == [("inner", pb.ones), ("outer", pb.ones)]
    calls.clear()
    with Log(calls, "a") as a, a:
        pb.ones(1)
    assert calls == [("a", pb.ones)] * 2


def test_a_handler_enters_its_mode_again() -> None:
    calls: list[Any] = []

    class Rewrite(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func)
            if func is pb.sub:
                with self:
                    return pb.add(args[0], args[1], alpha=-1)
            return func(*args, **(kwargs or {}))

    with Rewrite():
        out = pb.sub(pb.full((1,), 5.0), pb.full((1,), 3.0))
    assert out.tolist() == [2] and calls[-2:] == [pb.sub, pb.add]


def test_exceptions_leave_the_stack_as_it_was() -> None:
    class Raises(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"), Raises():
        pb.ones(1)
    assert overrides._get_current_function_mode_stack() == []
    with Raises() as mode:
        for _ in range(2):
            with pytest.raises(LookupError, match="mine"):
                pb.ones(1)
        assert overrides._get_current_function_mode_stack() == [mode]
    assert pb.ones(1).tolist() == [1]


def test_modes_come_before_classes() -> None:
    seen = []

    class Types(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(types)
            return NotImplemented

    x = Sub([1.0])
    with Types():
        assert pb.add(Duck(), pb.Tensor.__new__(pb.Tensor)) == "duck"
        with pytest.raises(TypeError, match=r"Types.*handlers|handlers.*Types"):
            pb.sin(x)
    assert (Duck,) in seen and (Sub,) in seen


def test_classes_that_inherit_answer_behind_a_mode() -> None:
    asked = []

    class Plain(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(types)
            return NotImplemented if types else func(*args, **(kwargs or {}))

    x = Sub([1.0])
    with Plain():
        out = pb.neg(x)
    assert type(out) is Sub and out.tolist() == [-1] and asked == [(Sub,), ()]


def test_what_turns_asking_off() -> None:
    x = Sub([1.0])
    assert type(x + 1) is Sub
    with _C.DisableTorchFunctionSubclass():
        assert type(x + 1) is pb.Tensor and not overrides.has_torch_function_unary(x)
        guard = _C._EnableTorchFunction()
        assert type(x + 1) is Sub
        del guard
        assert type(x + 1) is pb.Tensor
        with overrides.enable_reentrant_dispatch():
            assert type(x + 1) is Sub
        assert calls_of(lambda: x + 1) == [pb.Tensor.add]
    calls: list[Any] = []
    with Log(calls), _C.DisableTorchFunction(), _C.DisableTorchFunctionSubclass():
        assert type(x + 1) is pb.Tensor
        assert not overrides._is_torch_function_mode_enabled()
    assert calls == [] and type(x + 1) is Sub


def test_a_mode_of_a_thread_is_not_one_of_others() -> None:
    calls: list[Any] = []
    done: list[Any] = []
    with Log(calls):
        thread = threading.Thread(target=lambda: done.append(pb.zeros(1) + 1))
        thread.start()
        thread.join()
    assert calls == [] and done[0].tolist() == [1]

    def leaves_it_entered() -> None:
        Log(calls).__enter__()
        pb.ones(1)

    thread = threading.Thread(target=leaves_it_entered)
    thread.start()
    thread.join()
    assert calls == [pb.ones]
    pb.ones(1)
    assert calls == [pb.ones]


def test_mistakes() -> None:
    class ClassMethod(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 1

    with (
        pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"),
        ClassMethod(),
    ):
        pb.ones(1)
    with pytest.raises(NotImplementedError, match="Nothing defines no __torch_function__"):
        with type("Nothing", (TorchFunctionMode,), {})():
            pb.ones(1)
    with pytest.raises(RuntimeError, match="no mode is entered"):
        overrides._pop_mode()


def test_the_stack() -> None:
    assert overrides._get_current_function_mode() is None
    with BaseTorchFunctionMode() as a, BaseTorchFunctionMode() as b:
        assert overrides._get_current_function_mode_stack() == [a, b]
        assert (pb.ones(2) * 2).tolist() == [2, 2]
        with overrides._pop_mode_temporarily() as mode:
            assert mode is b and overrides._get_current_function_mode() is a
        assert overrides._get_current_function_mode() is b


def test_transforms_run_under_a_mode() -> None:
    calls: list[Any] = []
    x = pb.ones(2)
    with Log(calls):
        out = pb.func.grad(lambda v: (v * v).sum())(x)
    assert pb.Tensor.mul in calls and pb.Tensor.sum in calls
    assert out.tolist() == [2, 2]
    y = pb.ones(2, requires_grad=True)
    with Log(calls):
        (y * y).sum().backward()
    assert y.grad.tolist() == [2, 2]
