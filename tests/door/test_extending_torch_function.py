"""Types of one's own in the functions of the library: what the chapter on `__torch_function__` promises."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import _core, overrides

F = pb.nn.functional


# ---------------------------------------------------------------- a type that only looks like a tensor
class Constant:
    """A matrix whose elements are all the same: a type with nothing of Tensor's."""

    handled: dict[Any, Callable[..., Any]] = {}
    calls: list[tuple[Any, Any, Any, Any]] = []

    def __init__(self, rows: int, columns: int, value: float) -> None:
        self.rows, self.columns, self.value = rows, columns, value

    def dense(self) -> Any:
        return pb.full((self.rows, self.columns), float(self.value))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, args, kwargs))
        if func not in cls.handled or not all(issubclass(t, (pb.Tensor, Constant)) for t in types):
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))


class Unheard:
    """The same without the protocol."""


def answers(func: Any) -> Callable[[Any], Any]:
    def decorator(answer: Any) -> Any:
        Constant.handled[func] = answer
        return answer

    return decorator


def dense(x: Any) -> Any:
    return x.dense() if isinstance(x, Constant) else pb.as_tensor(x)


@answers(pb.mean)
def mean_of(x: Any) -> float:
    return float(x.value)


@answers(pb.add)
def add_of(a: Any, b: Any) -> Any:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(a.rows, a.columns, a.value + b.value)
    return pb.add(dense(a), dense(b))


@answers(pb.cat)
def cat_of(tensors: Any, dim: int = 0) -> Any:
    return pb.cat([dense(t) for t in tensors], dim)


@answers(F.relu)
def relu_of(x: Any, inplace: bool = False) -> Any:
    return Constant(x.rows, x.columns, max(x.value, 0.0))


@pytest.fixture
def calls() -> list[Any]:
    Constant.calls.clear()
    return Constant.calls


def test_without_the_protocol_it_is_refused() -> None:
    with pytest.raises(TypeError, match=r"mean\(\).*argument 'input' \(position 1\) must be Tensor, not Unheard"):
        pb.mean(Unheard())
    with pytest.raises(TypeError, match=r"add\(\).*'other' \(position 2\) must be Tensor.*not Unheard"):
        pb.add(pb.ones(2), Unheard())


def test_an_answer_may_be_anything() -> None:
    answer = pb.mean(Constant(5, 4, 0.4))
    assert answer == 0.4 and type(answer) is float


def test_what_an_answer_is_given(calls: list[Any]) -> None:
    c, t = Constant(2, 2, 3.0), pb.ones(2, 2)
    pb.add(c, t)
    func, types, args, kwargs = calls[0]
    assert func is pb.add and set(types) == {Constant}
    assert len(args) == 2 and args[0] is c and args[1] is t and not kwargs
    pb.cat([t, c], dim=1)
    func, types, args, kwargs = calls[1]
    assert func is pb.cat and set(types) == {Constant} and args[0][1] is c and kwargs == {"dim": 1}


def test_either_operand_may_be_of_the_type() -> None:
    c, t = Constant(2, 3, 3.0), pb.arange(6.0).reshape(2, 3)
    both = pb.add(c, c)
    assert type(both) is Constant and both.value == 6.0
    for out in (pb.add(c, t), pb.add(t, c)):
        assert type(out) is pb.Tensor and out.tolist() == (t + 3).tolist()
    for parts in ([c, t], (t, c), [c, c]):
        assert pb.cat(parts).tolist() == pb.cat([dense(p) for p in parts]).tolist()
    assert F.relu(Constant(1, 1, -2.0)).value == 0.0


def test_signatures_are_the_answer_s_own_affair() -> None:
    """The arguments are passed on as they were given, and nobody compares signatures."""
    c = Constant(2, 2, 1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        pb.add(c, c, alpha=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'"):
        pb.mean(c, dim=0)


def test_functions_without_an_answer() -> None:
    c = Constant(2, 2, 1.0)
    for call in (lambda: pb.mul(c, 3), lambda: pb.mul(pb.ones(2, 2), c), lambda: pb.stack([c, c]), lambda: F.gelu(c)):
        with pytest.raises(TypeError, match=r"(?s)'[a-z._]*(mul|stack|gelu)'.*NotImplemented.*Constant"):
            call()


def test_a_type_that_falls_back_to_tensors() -> None:
    class Permissive(Constant):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in cls.handled:
                return cls.handled[func](*args, **(kwargs or {}))
            return func(*[dense(a) if isinstance(a, Constant) else a for a in args], **(kwargs or {}))

    c = Permissive(2, 2, 5.0)
    out = pb.mul(c, c)
    assert type(out) is pb.Tensor and out.tolist() == [[25.0, 25.0], [25.0, 25.0]]
    assert pb.mean(c) == 5.0
    assert F.softmax(c, dim=1).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert pb.linalg.norm(c).item() == pytest.approx(10.0)


def test_answers_inside_of_a_transform() -> None:
    """A call with a value of a transform reaches the type as any other does, and derivatives follow what it gives."""
    c = Constant(2, 2, 3.0)
    x = pb.ones(2, 2)
    assert pb.func.grad(lambda x: (pb.add(c, x) ** 2).sum())(x).tolist() == [[8.0, 8.0], [8.0, 8.0]]
    rows = pb.func.vmap(lambda x: pb.add(x, c))(pb.stack([x, 2 * x]))
    assert rows[1].tolist() == [[5.0, 5.0], [5.0, 5.0]]


# ---------------------------------------------------------------- subclasses of Tensor
class Sub(pb.Tensor):
    pass


class Below(Sub):
    pass


class Beside(pb.Tensor):
    pass


def of(kind: Any, *values: float) -> Any:
    return pb.tensor(list(values)).as_subclass(kind)


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "function": lambda a, b: pb.add(a, b),
    "operator": lambda a, b: a + b,
    "method": lambda a, b: a.add(b),
    "reflected": lambda a, b: 1 + a * b,
    "indexing": lambda a, b: (a + b)[0],
    "list": lambda a, b: pb.cat([a, b]),
    "several": lambda a, b: pb.sort(pb.cat([a, b]))[0],
    "functional": lambda a, b: F.relu(a + b),
    "in place": lambda a, b: a.mul_(2),
    "property": lambda a, b: a.reshape(1, -1).T,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kinds", [(Sub, Sub), (Sub, pb.Tensor), (Sub, Below), (Below, pb.Tensor)])
def test_results_are_of_the_lowest_class(form: str, kinds: tuple[Any, Any]) -> None:
    a, b = of(kinds[0], 1.0, 2.0), of(kinds[1], 3.0, 4.0)
    if form in ("in place", "property"):
        assert type(FORMS[form](a, b)) is kinds[0]
        return
    lowest = kinds[1] if issubclass(kinds[1], kinds[0]) else kinds[0]
    assert type(FORMS[form](a, b)) is lowest
    assert type(FORMS[form](b, a)) is lowest


def test_classes_of_which_none_is_below_the_other() -> None:
    a, b = of(Sub, 1.0), of(Beside, 1.0)
    for call in (lambda: pb.add(a, b), lambda: pb.add(b, a), lambda: pb.cat([a, b]), lambda: a.mul(b)):
        with pytest.raises(TypeError, match=r"(?s)NotImplemented.*Sub"):
            call()
    with pytest.raises(TypeError):
        a + b


def test_all_calls_in_one_place() -> None:
    names: list[str] = []

    class Logged(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = of(Logged, 1.0, 2.0)
    names.clear()
    out = (pb.exp(x) + x.sin()).sum()
    assert type(out) is Logged
    assert names == ["exp", "sin", "add", "sum"]


def test_the_three_forms_of_one_operator_are_three_functions() -> None:
    """A function, a method and a slot are to be covered each, though they compute the same."""
    seen: list[Any] = []

    class Seen(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = of(Seen, 1.0)
    seen.clear()
    pb.add(x, x)
    x.add(x)
    assert seen == [pb.add, pb.Tensor.add]
    seen.clear()
    x + x
    assert seen[0] in (pb.Tensor.add, pb.Tensor.__add__)


def test_a_method_of_the_subclass_wins() -> None:
    class Odd(pb.Tensor):
        def add(self, other: Any) -> str:  # type: ignore[override]
            return "mine"

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is pb.exp:
                return "answered"
            return super().__torch_function__(func, types, args, kwargs or {})

    x = of(Odd, 1.0)
    assert x.add(1) == "mine" and pb.exp(x) == "answered"
    assert type(pb.add(x, 1)) is Odd and type(x.exp()) is Odd


# ---------------------------------------------------------------- a type around a tensor
class Labelled:
    """A tensor and a note, which goes with everything that is computed from it."""

    def __init__(self, data: Any, note: str | None = None) -> None:
        self.inner, self.note = pb.as_tensor(data), note

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        notes = [a.note for a in args if isinstance(a, Labelled)]
        out = func(*[a.inner if isinstance(a, Labelled) else a for a in args], **(kwargs or {}))
        return Labelled(out, notes[0] if notes else None)


def test_a_wrapper_carries_its_note() -> None:
    a, b = Labelled([[1.0, 2.0], [3.0, 4.0]], "a"), Labelled([[5.0, 6.0], [7.0, 8.0]], "b")
    for out, want in (
        (pb.add(a, b), [[6.0, 8.0], [10.0, 12.0]]),
        (pb.mul(a, 2), [[2.0, 4.0], [6.0, 8.0]]),
        (pb.sum(pb.exp(pb.mul(a, 0)), dim=0), [2.0, 2.0]),
        (F.linear(a, b), [[17.0, 23.0], [39.0, 53.0]]),
        (pb.Tensor.add(pb.ones(2, 2), a), [[2.0, 3.0], [4.0, 5.0]]),
    ):
        assert type(out) is Labelled and out.note == "a" and out.inner.tolist() == want


# ---------------------------------------------------------------- several types in one call
def classes(log: list[str], base: Any = object, **answer: Any) -> list[Any]:
    """First, Second and Child of First; each logs its name and gives what `answer` says for it."""

    def make(name: str, bases: tuple[Any, ...]) -> Any:
        def heard(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(cls.__name__)
            return answer.get(cls.__name__, NotImplemented)

        return type(name, bases, {"__torch_function__": classmethod(heard)})

    first, second = make("First", (base,)), make("Second", (base,))
    return [first(), second(), make("Child", (first,))()]


def test_left_to_right_and_subclasses_first() -> None:
    log: list[str] = []
    first, second, child = classes(log)
    orders = [
        ([first, second], ["First", "Second"]),
        ([second, first], ["Second", "First"]),
        ([first, child], ["Child", "First"]),
        ([first, second, child], ["Child", "First", "Second"]),
        ([second, first, child], ["Second", "Child", "First"]),
        ([first, first, second], ["First", "Second"]),
    ]
    for given, order in orders:
        log.clear()
        with pytest.raises(TypeError, match="NotImplemented"):
            pb.cat(given)
        assert log == order, given


def test_the_first_answer_counts() -> None:
    log: list[str] = []
    first, second, child = classes(log, Second="second", First=None)
    log.clear()
    assert pb.add(second, first) == "second" and log == ["Second"]
    log.clear()
    assert pb.add(first, second) is None and log == ["First"], "None is an answer"
    log.clear()
    assert pb.cat([child, second]) == "second" and log == ["Child", "Second"]


def test_tensors_beside_other_types() -> None:
    log: list[str] = []
    first, *_ = classes(log, First="first")
    assert pb.add(pb.ones(2), first) == "first" and pb.where(pb.ones(2) > 0, first, 1.0) == "first"
    assert pb.add(of(Sub, 1.0), first) == "first", "a subclass without a say leaves it to others"


# ---------------------------------------------------------------- tools for testing coverage
def test_a_list_of_all_that_can_be_overridden() -> None:
    lists = overrides.get_overridable_functions()
    assert {pb, F, pb.Tensor, pb.linalg, pb.special} <= set(lists)
    assert pb.add in lists[pb] and F.relu in lists[F] and pb.Tensor.add in lists[pb.Tensor]
    assert pb.linalg.norm in lists[pb.linalg]
    assert all(callable(f) for functions in lists.values() for f in functions)
    assert len(lists[F]) > 80 and len(lists[pb]) > 200


def test_functions_that_cannot_be_overridden() -> None:
    ignored = overrides.get_ignored_functions()
    assert pb.is_tensor in ignored and pb.from_numpy in ignored
    listed = [f for functions in overrides.get_overridable_functions().values() for f in functions]
    assert not {id(f) for f in listed} & {id(f) for f in ignored}


def test_dummies_with_the_same_signature() -> None:
    dummies = overrides.get_testing_overrides()
    assert dummies[pb.add](1, 2) == -1
    names = list(inspect.signature(dummies[pb.add]).parameters)
    assert names[:2] == ["input", "other"] and dummies[pb.add](1, other=2, alpha=3) == -1
    assert list(inspect.signature(dummies[F.linear]).parameters)[:3] == ["input", "weight", "bias"]
    with pytest.raises(TypeError):
        dummies[pb.add]()


@functools.cache
def first_names() -> dict[str, str]:
    """The name of an operator by each of its others, in place too."""
    return {a + end: e["name"] + end for e in _core.operator_table() for a in e["aliases"] for end in ("", "_")}


def minimal(dummy: Any, given: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that are needed: the object for each of them."""
    args, kwargs = [], {}
    for p in inspect.signature(dummy).parameters.values():
        if p.default is not inspect.Parameter.empty:
            continue
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            args.append(given)
        elif p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = given
    return args or [given], kwargs


def test_every_overridable_function_is_overridden() -> None:
    """The tools of the chapter in one loop: each function of the lists hears of an object that answers everything."""

    class Everything:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    dummies, x, failed, seen = overrides.get_testing_overrides(), Everything(), [], 0
    for place, functions in overrides.get_overridable_functions().items():
        if not inspect.ismodule(place):
            continue  # methods and attributes need an object that has them
        for f in functions:
            if inspect.isclass(f):
                continue
            args, kwargs = minimal(dummies.get(f, lambda input: -1), x)
            try:
                heard = f(*args, **kwargs)
            except TypeError:
                heard = f([x], *args[1:], **kwargs)  # a list of tensors comes first
            seen += 1
            if heard is not f and heard.__name__ != first_names().get(f.__name__):
                failed.append(overrides.resolve_name(f) or f)
    assert not failed and seen > 300
