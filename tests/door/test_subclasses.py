"""Subclasses of `Tensor` without a handler of their own: results keep the class."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import pullback as pb
from pullback import func


class Sub(pb.Tensor):
    pass


class SubSub(Sub):
    pass


class Other(pb.Tensor):
    pass


class Counted(pb.Tensor):
    """Makes no object without arguments: the library never calls `__new__` or `__init__`."""

    made = 0

    def __new__(cls, data: Any, extra: str) -> Any:
        out: Any = pb.Tensor._make_subclass(cls, pb.as_tensor(data))
        out.extra = extra
        return out

    def __init__(self, data: Any, extra: str) -> None:
        type(self).made += 1


def sub(*values: float) -> Any:
    return Sub(list(values))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x + pb.ones(2),
        lambda x: pb.ones(2) + x,
        lambda x: 2 - x,
        lambda x: x**2,
        lambda x: 2**x,
        lambda x: -x,
        lambda x: abs(x),
        lambda x: x < 1,
        lambda x: x == x,
        lambda x: x[0],
        lambda x: x[None, ..., :1],
        lambda x: x[x > 0],
        lambda x: x.view(1, 2),
        lambda x: x.T,
        lambda x: x.mT if x.dim() > 1 else x.reshape(2, 1).mT,
        lambda x: x.real,
        lambda x: x.data,
        lambda x: x.detach(),
        lambda x: x.clone(),
        lambda x: x.to(pb.float64),
        lambda x: x.double().half(),
        lambda x: x.sum(),
        lambda x: pb.sin(x),
        lambda x: pb.cat([x, pb.ones(1)]),
        lambda x: pb.stack((pb.ones(2), x)),
        lambda x: pb.add(pb.ones(2), other=x),
        lambda x: pb.where(pb.tensor([True, False]), x, 0.0),
        lambda x: pb.einsum("i,i->", x, pb.ones(2)),
        lambda x: pb.nn.functional.relu(x),
        lambda x: pb.nn.functional.linear(x, pb.ones(3, 2)),
        lambda x: pb.nn.functional.normalize(x, dim=0),
        lambda x: pb.ones_like(x),
        lambda x: x.new_ones(3),
        lambda x: x.new_tensor([1.0]),
        lambda x: x.add_(1),
        lambda x: x.mul_(pb.ones(2)),
        lambda x: x.requires_grad_(),
        lambda x: next(iter(x)),
        lambda x: list(x)[1],
        lambda x: x.sort().values,
        lambda x: pb.max(x, dim=0)[0],
        lambda x: x.unbind()[1],
        lambda x: pb.split(x, 1)[0],
        lambda x: pb.linalg.vector_norm(x),
        lambda x: copy.copy(x),
        lambda x: copy.deepcopy(x),
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: pickle.loads(pickle.dumps(x, protocol=5)),
    ],
)
def test_results_keep_the_class(f: Any) -> None:
    out, plain = f(sub(1.0, 2.0)), f(pb.tensor([1.0, 2.0]))
    assert type(out) is Sub
    same = out.as_subclass(pb.Tensor)
    assert pb.equal(same, plain.as_subclass(pb.Tensor)) and same.dtype == plain.dtype


def test_what_is_no_tensor_stays() -> None:
    x = sub(1.0, 2.0)
    assert x.shape == (2,) and type(x.shape) is pb.Size
    assert x.tolist() == [1, 2] and len(x) == 2 and x.numel() == 2 and x[0].item() == 1.0
    assert float(x[1]) == 2.0 and bool(x[0]) and x.dtype is pb.float32
    assert type(x.sort()).__name__ == "sort" and type(x.numpy()).__name__ == "ndarray"


def test_inplace_operators_keep_the_object() -> None:
    x = y = sub(1.0, 2.0)
    x += 1
    x *= pb.ones(2)
    x[0] = 7
    assert x is y and type(x) is Sub and x.tolist() == [7, 3]
    t = u = pb.zeros(2)
    t += sub(1.0, 2.0)
    assert u.tolist() == [1, 2]


def test_views_alias() -> None:
    x = sub(1.0, 2.0)
    v = x[0]
    v += 5
    assert x.tolist() == [6.0, 2.0]
    w = x.view(2, 1)
    w[1, 0] = 0
    assert x.tolist() == [6.0, 0.0] and type(w._base) is Sub


def test_gradients() -> None:
    x = sub(1.0, 2.0).requires_grad_()
    y = (x * x).sum()
    assert type(y) is Sub and y.requires_grad
    y.backward()
    assert x.grad.tolist() == [2, 4] and type(x.grad) is pb.Tensor
    (g,) = pb.autograd.grad((x * 3).sum(), x)
    assert g.tolist() == [3, 3]


@pytest.mark.parametrize("first", [0, 1])
def test_the_lowest_class_wins(first: int) -> None:
    pair = [sub(1.0), SubSub([2.0])]
    a, b = pair[first], pair[1 - first]
    for out in (a + b, pb.add(a, b), pb.cat([a, pb.ones(1), b])):
        assert type(out) is SubSub
    with pytest.raises(TypeError, match="unsupported operand"):
        sub(1.0) + Other([1.0])
    with pytest.raises(TypeError, match=r"'pullback\.add'.*Sub.*Other"):
        pb.add(sub(1.0), Other([1.0]))


def test_other_operands_may_answer() -> None:
    class Right:
        def __radd__(self, left: Any) -> str:
            return f"radd {type(left).__name__}"

        def __eq__(self, left: object) -> bool:
            return True

    assert sub(1.0) + Right() == "radd Sub"
    assert (sub(1.0) == Right()) is True
    with pytest.raises(TypeError):
        sub(1.0) + "text"


def test_no_method_of_the_class_is_called() -> None:
    x: Any = Counted([1.0, 2.0], "kept")
    assert Counted.made == 1 and x.extra == "kept"
    y = x + 1
    z = x.as_subclass(Sub)
    assert type(y) is Counted and not hasattr(y, "extra") and type(z) is Sub
    assert copy.deepcopy(x).extra == "kept" and pickle.loads(pickle.dumps(x)).extra == "kept"
    assert Counted.made == 1


def test_a_tensor_of_a_tensor_is_a_view_of_it() -> None:
    a = pb.ones(1)
    c = Sub(a)
    assert type(c) is Sub and c._is_view() and c._base is a
    c += 1
    assert a.tolist() == [2.0]
    p = pb.ones(2, requires_grad=True)
    Sub(p).sum().backward()
    assert p.grad.tolist() == [1, 1]
    assert Sub(pb.arange(3)).dtype is pb.int64


def test_make_subclass() -> None:
    data = pb.ones(2)
    x: Any = pb.Tensor._make_subclass(Sub, data, True)
    assert type(x) is Sub and x.requires_grad and x.is_leaf
    with pb.no_grad():
        x.add_(1)
    assert data.tolist() == [2, 2]
    with pytest.raises(TypeError, match="must be a subclass of Tensor"):
        pb.Tensor._make_subclass(int, data)


def test_make_wrapper_subclass() -> None:
    class Wrapper(pb.Tensor):
        inner: Any

        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            out = pb.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=False)
            out.inner = inner
            return out

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            bare = [a.inner if isinstance(a, Wrapper) else a for a in args]
            out = func(*bare, **(kwargs or {}))
            return Wrapper(out) if isinstance(out, pb.Tensor) else out

        def __init__(self, inner: Any) -> None:
            """All is done when the object is made."""

    x = Wrapper(pb.tensor([1.0, 2.0]))
    y = (x + 1).sum()
    assert type(y) is Wrapper and y.inner.tolist() == 5.0 and x.shape == (2,)
    strided: Any = pb.Tensor._make_wrapper_subclass(Wrapper, (2, 3), strides=(1, 2))
    with pb._C.DisableTorchFunctionSubclass():
        assert type(strided) is Wrapper and strided.shape == (2, 3) and strided.stride() == (1, 2) and strided.is_meta
    with pytest.raises(TypeError, match="must define __torch_function__"):
        pb.Tensor._make_wrapper_subclass(Sub, (2,))


class Logged(pb.Tensor):
    names: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def f(x: Any) -> Any:
    assert type(x) in (Sub, Logged)
    return (x * x).sum()


TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "grad": (lambda x: func.grad(f)(x), [2.0, 4.0]),
    "grad_and_value": (lambda x: func.grad_and_value(f)(x)[0], [2.0, 4.0]),
    "vmap": (lambda x: func.vmap(f)(x[None]), [5.0]),
    "vmap of vmap": (lambda x: func.vmap(func.vmap(f))(x[None, None]), [[5.0]]),
    "vmap in chunks": (lambda x: func.vmap(f, chunk_size=1)(x[None]), [5.0]),
    "jvp": (lambda x: func.jvp(f, (x,), (pb.ones(2),))[0], 5.0),
    "vjp": (lambda x: func.vjp(f, x)[0], 5.0),
    "pullback": (lambda x: func.vjp(f, x)[1](pb.tensor(1.0))[0], [2.0, 4.0]),
    "jacrev": (lambda x: func.jacrev(f)(x), [2.0, 4.0]),
    "jacfwd": (lambda x: func.jacfwd(f)(x), [2.0, 4.0]),
    "hessian": (lambda x: func.hessian(f)(x), [[2.0, 0.0], [0.0, 2.0]]),
    "a dict": (lambda x: func.grad(lambda d: f(d["x"]))({"x": x})["x"], [2.0, 4.0]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("cls", [Sub, Logged])
def test_transforms_keep_the_class(name: str, cls: Any) -> None:
    call, expected = TRANSFORMS[name]
    Logged.names.clear()
    out = call(cls([1.0, 2.0]))
    assert out.as_subclass(pb.Tensor).tolist() == expected
    assert name in ("jacfwd", "hessian") or type(out) is cls
    if cls is Logged:
        assert "mul" in Logged.names and "sum" in Logged.names


def test_tensors_from_outside_of_a_transform() -> None:
    w = sub(3.0, 4.0)
    out = func.grad(lambda x: (x * w).sum())(pb.ones(2))
    assert out.tolist() == [3, 4]
    assert func.vmap(lambda x: x * w)(pb.ones(5, 2)).shape == (5, 2)
    assert type(func.vmap(lambda x: x * w)(pb.ones(5, 2))) is Sub


class Square(pb.autograd.Function):
    seen: list[Any] = []

    @staticmethod
    def forward(x: Any) -> Any:
        Square.seen.append(type(x))
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


def test_custom_functions() -> None:
    Square.seen.clear()
    x = sub(1.0, 2.0)
    assert type(Square.apply(x)) is Sub
    out = func.grad(lambda v: Square.apply(v).sum())(x)
    assert out.tolist() == [2, 4] and type(out) is Sub
    assert set(Square.seen) == {Sub}


class Kept(pb.Tensor):
    """A subclass without a handler of its own."""


def test_results_of_a_function_have_the_class_that_its_forward_gave() -> None:
    seen: list[Any] = []

    class Classic(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x, (x.detach() + 1).as_subclass(pb.Tensor)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return 2 * g

    class Separate(pb.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return (x * 2).as_subclass(Kept)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append(type(output))
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = pb.tensor([1.0, 2.0])
    for leaf in (x.as_subclass(Kept).requires_grad_(), x.as_subclass(Kept)):
        square, plain = Classic.apply(leaf)
        assert type(square) is Kept and type(plain) is pb.Tensor and square.tolist() == [1, 4]
    leaf = x.clone().requires_grad_()
    out = Separate.apply(leaf)
    assert type(out) is Kept and out.requires_grad and seen == [Kept]
    out.sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2, 2]
    assert type(Separate.apply(x)) is Kept
    assert pb.func.grad(lambda v: Separate.apply(v).sum())(x).tolist() == [2, 2]
