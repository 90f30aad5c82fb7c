"""`pullback.overrides`: what it lists is what can be answered, and all of it can."""

from __future__ import annotations

import inspect
from types import BuiltinFunctionType
from typing import Any

import pytest

import pullback as pb
from pullback import overrides

OVERRIDABLE = overrides.get_overridable_functions()
TESTING = overrides.get_testing_overrides()
NAMES = {overrides.resolve_name(f): f for functions in OVERRIDABLE.values() for f in functions}


class Sub(pb.Tensor):
    heard: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.heard.append(func)
        return func if func not in TESTING else NotImplemented


class Like:
    heard: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.heard.append(func)
        return func


def given(f: Any, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """What a call needs: the value for each argument."""
    parameters = inspect.signature(TESTING[f]).parameters.values()
    free = [p for p in parameters if p.default is p.empty]
    args = [value for p in free if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return args or [value], {p.name: value for p in free if p.kind is p.KEYWORD_ONLY}


def test_the_lists() -> None:
    assert set(OVERRIDABLE) >= {pb, pb.nn.functional, pb.linalg, pb.Tensor}
    assert {pb.add, pb.cat, pb.equal, pb.sin_} <= set(OVERRIDABLE[pb])
    assert {pb.Tensor.add, pb.Tensor.add_, pb.Tensor.__getitem__, pb.Tensor.dim} <= set(OVERRIDABLE[pb.Tensor])
    assert pb.nn.functional.celu in OVERRIDABLE[pb.nn.functional]
    assert [pb.Tensor.shape.__get__] == OVERRIDABLE[vars(pb.Tensor)["shape"]]
    assert len(NAMES) > 800 and None not in NAMES
    ignored = overrides.get_ignored_functions()
    assert {pb.zeros, pb.tensor, pb.is_tensor, pb.manual_seed} <= ignored
    assert not ignored & set(NAMES.values())
    assert overrides.get_default_nowrap_functions() >= {pb.Tensor.grad.__get__, pb.Tensor._base.__get__}


def test_the_lists_under_the_name_of_torch() -> None:
    from pullback import as_torch

    with as_torch.install():
        import torch as theirs

        found = theirs.overrides.get_overridable_functions()
        assert theirs.add in found[theirs] and pb not in found
    assert pb in overrides.get_overridable_functions()


@pytest.mark.parametrize("name", sorted(str(n) for n in NAMES))
def test_every_one_can_be_answered(name: str) -> None:
    f = NAMES[name]
    of_tensor = overrides.is_tensor_method_or_property(f)
    assert of_tensor == name.startswith("pullback.Tensor.")
    kind: Any = Sub if of_tensor else Like
    args, kwargs = given(f, Sub([1.0]) if of_tensor else Like())
    kind.heard.clear()
    try:
        out = f(*args, **kwargs)
    except TypeError:
        # A class that answers a method of syntax with what it may not give.
        out = None
    assert f in kind.heard or reflected(name, kind.heard), kind.heard
    assert of_tensor or out is f


def reflected(name: str, heard: list[Any]) -> bool:
    """Methods of syntax are shown as the operator that they stand for."""
    return name.rpartition(".")[2].startswith("__") and len(heard) > 0


def test_no_ignored_function_asks() -> None:
    """Those that are not listed show no call; makers of the table do, for a mode, and take no tensor."""
    skipped = {pb.autograd.gradcheck, pb.autograd.gradgradcheck, pb.vmap, *pb._core.functions.values()}
    for f in overrides.get_ignored_functions() - skipped:
        if not isinstance(f, BuiltinFunctionType) or not inspect.signature(f).parameters:
            continue
        Like.heard.clear()
        try:
            f(*[Like() for p in inspect.signature(f).parameters.values() if p.default is p.empty])
        except Exception:
            pass
        finally:
            pb.set_default_dtype(pb.float32)
        assert f not in Like.heard, f


def test_signatures_of_testing_overrides() -> None:
    assert str(inspect.signature(TESTING[pb.mm])) == str(inspect.signature(pb.mm))
    assert TESTING[pb.add](1, 2) == -1 and TESTING[pb.Tensor.shape.__get__](1) == -1
    with pytest.raises(TypeError):
        TESTING[pb.add]()


def test_names() -> None:
    for name, f in NAMES.items():
        parts = str(name).removeprefix("pullback.").split(".")
        found: Any = pb
        for part in parts:
            found = vars(found)[part] if found is pb.Tensor else getattr(found, part)
        assert found == f, name
    assert overrides.resolve_name(len) is None
    assert overrides.resolve_name(pb.Tensor.add) == "pullback.Tensor.add"
    assert overrides.is_tensor_method_or_property(pb.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(pb.add)


def test_questions() -> None:
    duck, plain = Like(), pb.ones(1)
    parameter = pb.nn.Parameter(pb.ones(1))
    for no in ((plain, 1.0), (), [parameter], (None, "a")):
        assert not overrides.has_torch_function(no) and not overrides.has_torch_function_variadic(*no)
    for yes in ((duck,), [plain, duck], (Sub([1.0]), 1)):
        assert overrides.has_torch_function(yes) and overrides.has_torch_function_variadic(*yes)
    assert overrides.has_torch_function_unary(duck) and not overrides.has_torch_function_unary(plain)
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides.has_torch_function(object())
    assert overrides.is_tensor_like(duck) and overrides.is_tensor_like(plain) and overrides.is_tensor_like(parameter)
    assert not overrides.is_tensor_like(1.0)


def test_functions_of_ones_own() -> None:
    def twice(x: Any, scale: float = 2.0) -> Any:
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(twice, (x,), x, scale=scale)
        return x * scale

    @overrides.wrap_torch_function(lambda x: (x,))
    def thrice(x: Any) -> Any:
        return x * 3

    assert twice(Like()) is twice and twice(pb.ones(1)).tolist() == [2]
    assert thrice(Like()) is thrice and thrice(pb.ones(1)).tolist() == [3]
    assert thrice.__name__ == "thrice"

    class Kept(pb.Tensor):
        pass

    assert type(twice(Kept([1.0]))) is Kept

    class Refuses:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"twice.*NotImplemented.*Refuses"):
        twice(Refuses())


def test_disabled() -> None:
    class Plain(pb.Tensor):
        __torch_function__ = pb._C._disabled_torch_function_impl

    x = Plain([1.0])
    assert type(x + 1) is pb.Tensor and type(pb.sin(x)) is pb.Tensor
    assert type(x.detach()) is pb.Tensor


def test_other_names_of_an_operator_are_the_same_method() -> None:
    assert pb.Tensor.absolute is pb.Tensor.abs and pb.Tensor.absolute_ is pb.Tensor.abs_
    x = Sub([1.0])
    Sub.heard.clear()
    with pytest.raises(TypeError):
        x.absolute()
    assert Sub.heard == [pb.Tensor.absolute]


def test_parameters_are_asked_if_a_program_wants_that() -> None:
    p = pb.nn.Parameter(pb.ones(1))
    before = vars(pb.nn.Parameter)["__torch_function__"]
    assert type(p + 1) is pb.Tensor
    pb.nn.Parameter.__torch_function__ = classmethod(lambda cls, *rest: "asked")
    try:
        assert p + 1 == "asked" and pb.sin(p) == "asked"
    finally:
        pb.nn.Parameter.__torch_function__ = before
        pb._core._pass_unasked(pb.nn.Parameter)
    assert type(p + 1) is pb.Tensor
