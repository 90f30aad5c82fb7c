"""A transformed function looks like the function: name, signature, binding, pickling, attributes, weak references."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import threading
import weakref
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, -0.8, 1.1], dtype=pb.float64)
MAKERS = (grad, grad_and_value, vmap, jacrev, jacfwd, hessian)


def energy(x: Any, scale: float = 1.0) -> Any:
    """Half of the squared norm."""
    return (x * x).sum() * (0.5 * scale)


energy.tag = "kept"  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", MAKERS)
def test_looks_like_the_function(make: Any) -> None:
    f = make(energy)
    assert f.__name__ == f.__qualname__ == "energy" and f.__module__ == energy.__module__
    assert f.__doc__ == energy.__doc__
    assert inspect.unwrap(f) is energy
    assert inspect.signature(f) == inspect.signature(energy) == f.__signature__
    assert callable(f) and f.tag == "kept"
    assert "energy" in repr(f)
    with pytest.raises(AttributeError):
        f.missing  # noqa: B018


def test_wrapped_is_the_function_itself() -> None:
    f = grad(energy)
    assert f.__wrapped__ is energy
    assert vmap(f).__wrapped__ is f
    assert repr(vmap(f)) == "vmap(grad(energy))"


def test_attributes_can_be_set() -> None:
    f = grad(energy)
    f.note = 3
    f.__name__ = "slope"
    assert (f.note, f.__name__, f.__dict__) == (3, "slope", {"note": 3, "__name__": "slope"})
    assert functools.wraps(f)(lambda x: x).__name__ == "slope"


def test_functions_without_a_name() -> None:
    f = vmap(functools.partial(energy, scale=2.0))
    assert f.__name__ == "vmap" and "energy" in repr(f)
    same(grad(functools.partial(energy, scale=2.0))(X), 2 * X)

    class Square:
        def __call__(self, x: Any) -> Any:
            return (x * x).sum()

    same(grad(Square())(X), 2 * X)
    assert "Square" in repr(grad(Square()))
    same(vmap(pb.sin)(X), X.sin())


class Model:
    weight = 2.0

    def loss(self, x: Any) -> Any:
        return (x * x).sum() * self.weight

    slope = grad(loss, argnums=1)
    rows = vmap(grad(loss, argnums=1), in_dims=(None, 0))
    static = staticmethod(grad(energy))


def test_binds_in_a_class_body() -> None:
    m = Model()
    same(m.slope(X), 4 * X)
    same(m.rows(pb.stack([X, X])), pb.stack([4 * X, 4 * X]))
    same(m.static(X), X)
    same(Model.slope(m, X), 4 * X)
    bound = m.slope
    assert bound.__self__ is m and bound.__func__ is Model.slope
    same(bound(X), 4 * X)


@pytest.mark.parametrize(
    "f",
    [
        grad(energy),
        grad(energy, argnums=(0,)),
        grad_and_value(energy),
        vmap(grad(energy), in_dims=(0,), out_dims=1, randomness="same", chunk_size=2),
        jacrev(grad(energy), chunk_size=2),
        jacfwd(energy, randomness="different"),
        hessian(energy),
    ],
    ids=repr,
)
def test_pickles_if_the_function_does(f: Any) -> None:
    x = pb.stack([X, 2 * X, 3 * X]) if "vmap" in repr(f) else X
    for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
        assert repr(again) == repr(f)
        same(again(x), f(x))


def test_lambdas_do_not_pickle() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(grad(lambda x: x.sum()))
    assert pickle.loads(pickle.dumps(grad)) is grad


def test_is_collected() -> None:
    def make() -> Any:
        def f(x: Any) -> Any:
            return f.transformed, x  # type: ignore[attr-defined]

        f.transformed = vmap(grad(f), in_dims=(0,))  # type: ignore[attr-defined]
        return weakref.ref(f.transformed)  # type: ignore[attr-defined]

    made = make()
    gc.collect()
    assert made() is None


def test_keyword_arguments_pass_through() -> None:
    for f in (grad(energy), jacrev(energy), jacfwd(energy)):
        same(f(X, scale=3.0), 3 * X)
        same(f(X, 3.0), 3 * X)
        with pytest.raises(TypeError, match="unexpected keyword"):
            f(X, wrong=1)


def test_vmap_gives_keyword_arguments_to_each_member() -> None:
    """As PyTorch documents and does."""
    rows = pb.stack([X, 2 * X])
    got = vmap(lambda x, *, scale: x * scale)(rows, scale=rows)
    same(got, rows.unsqueeze(1) * rows)
    same(vmap(lambda x, scale=1.0: x * scale)(rows, scale=pb.tensor(2.0, dtype=pb.float64)), 2 * rows)


def test_calls_with_unpacked_arguments() -> None:
    same(grad(energy)(*(X,), **{"scale": 2.0}), 2 * X)
    same(functools.partial(grad(energy), scale=2.0)(X), 2 * X)
    same(list(map(grad(energy), [X, 2 * X]))[1], 2 * X)


def test_exceptions_pass_unchanged() -> None:
    error = KeyError("stop")

    def f(x: Any) -> Any:
        raise error

    rows = pb.stack([X, X])
    calls = [lambda m=m: m(f)(rows) for m in MAKERS]
    calls += [
        lambda: jvp(f, (X,), (X,)),
        lambda: vjp(f, X),
        lambda: linearize(f, X),
        lambda: vmap(grad(jacfwd(f)))(rows),
    ]
    for call in calls:
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value is error
        same(grad(energy)(X), X)


def test_exception_in_the_middle_of_levels() -> None:
    def inner(x: Any) -> Any:
        try:
            vmap(lambda v: v.missing)(x)
        except AttributeError:
            pass
        return (x * x * x).sum()

    same(grad(lambda x: grad(inner)(x).sum())(X), 6 * X)


def test_threads_have_their_own_levels() -> None:
    results: list[Any] = [None] * 8

    def work(i: int) -> None:
        x = pb.full((4, 3), float(i + 1), dtype=pb.float64)
        f = vmap(grad(lambda v: grad(lambda u: (u**3).sum())(v).sum()))
        results[i] = [f(x) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, got in enumerate(results):
        for g in got:
            same(g, pb.full((4, 3), 6.0 * (i + 1), dtype=pb.float64))


def test_recursion_and_reentrance() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    def nth_derivative(n: int) -> Any:
        return (lambda x: power(x, 6)) if n == 0 else grad(nth_derivative(n - 1))

    x = pb.tensor(1.5, dtype=pb.float64)
    same(nth_derivative(6)(x), pb.tensor(720.0, dtype=pb.float64))


def test_aux_may_hold_anything() -> None:
    def f(x: Any) -> Any:
        return (x * x).sum(), {"x": x, "n": 3, "text": "t", "list": [x * 2, None]}

    g, aux = grad(f, has_aux=True)(X)
    same(g, 2 * X)
    assert (aux["n"], aux["text"], aux["list"][1]) == (3, "t", None)
    same((aux["x"], aux["list"][0]), (X, 2 * X))
    for call in (lambda: vjp(f, X, has_aux=True)[2], lambda: jvp(f, (X,), (X,), has_aux=True)[2]):
        same(call()["list"][0], 2 * X)
    same(jacfwd(f, has_aux=True, chunk_size=2)(X)[1]["list"][0], 2 * X)
    same(jacrev(f, has_aux=True)(X)[1]["x"], X)


def test_aux_keeps_the_levels_outside() -> None:
    def f(x: Any) -> Any:
        _, aux = grad(lambda u: ((u * u).sum(), u * u), has_aux=True)(x)
        return aux.sum()

    same(grad(f)(X), 2 * X)
    same(vmap(f)(pb.stack([X, X])), pb.stack([(X * X).sum()] * 2))
