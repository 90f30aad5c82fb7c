"""`func.eval_shape` and tensors of device `meta`: every operator tells shapes and dtypes without data."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import eval_shape, grad, hessian, jacfwd, jacrev, jvp, linearize, trace, vjp, vmap
from pullback.library import custom_op
from support import properties, samples

NAMES = sorted(samples.table())
# The shape of the result depends on the data of an argument.
DYNAMIC = {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount", "Tensor.nonzero"}
# They say so for some of their calls only.
SOMETIMES = {"where", "nn.functional.one_hot", "repeat_interleave", "tensor_split"}
# The answer is data.
READING = {"allclose", "equal", "is_nonzero", "Tensor.item"}
# A tensor with data, from outside of the functions.
HELD = pb.ones(3)
DTYPES = [pb.float32, pb.float16, pb.bfloat16, pb.int64, pb.int32, pb.uint8, pb.bool, pb.complex64]


def meta(tensors: Any) -> list[Any]:
    return [t.detach().to("meta") for t in tensors]


def forms(outs: Any) -> list[tuple[Any, ...]]:
    return [(tuple(y.shape), y.dtype) for y in outs]


def check(f: Any, tensors: list[Any], what: str) -> None:
    """The same shapes and dtypes, or an error where the call gives one that is no matter of data."""
    try:
        want = forms(f(*tensors))
    except NotImplementedError:
        with pytest.raises(RuntimeError):
            f(*meta(tensors))
        return
    except (RuntimeError, ValueError, IndexError, TypeError):
        return
    got = f(*meta(tensors))
    assert forms(got) == want, what


def is_dynamic(name: str) -> bool:
    return name in DYNAMIC | SOMETIMES | READING


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_dtypes_are_those_of_the_call(name: str) -> None:
    for call in properties.calls(name):
        what = call.sample.describe()
        want = forms(call.leaves(*call.tensors))
        try:
            got = eval_shape(lambda *xs, call=call: call.leaves(*xs))(*call.tensors)
        except RuntimeError as e:
            assert is_dynamic(name), f"{what}: {e}"
            assert "data" in str(e), f"{what}: {e}"
            continue
        assert forms(got) == want, what
        assert all(y.is_meta for y in got)


@pytest.mark.parametrize("name", [n for n in NAMES if not is_dynamic(n)])
def test_dtypes(name: str) -> None:
    for call in properties.calls(name):
        for dtype in DTYPES:
            tensors = [t.to(dtype) if t.dtype == pb.float64 else t for t in call.tensors]
            check(call.leaves, tensors, f"{call.sample.describe()} of {dtype}")


@pytest.mark.parametrize("name", [n for n in NAMES if not is_dynamic(n)])
def test_under_vmap(name: str) -> None:
    for group in properties.members(name):
        call = group[0]
        batch = [pb.stack([c.tensors[i] for c in group]) for i in range(len(call.tensors))]
        f = vmap(call.leaves, randomness="different")
        try:
            want = forms(f(*batch))
        except RuntimeError:
            continue
        assert forms(eval_shape(f)(*batch)) == want, call.sample.describe()


@pytest.mark.parametrize("name", [n for n in NAMES if not is_dynamic(n)])
def test_of_derivatives(name: str) -> None:
    for call in properties.differentiable(name):
        f, points = call.smooth(call.tensors), call.points(call.tensors)
        full = list(call.tensors)

        def pulled(*xs: Any, f: Any = f) -> Any:
            y, pull = vjp(f, *xs)
            return pull(tuple(pb.ones_like(v) for v in y))

        def pushed(*xs: Any, f: Any = f) -> Any:
            y, t = jvp(f, xs, tuple(pb.ones_like(x) for x in xs))
            return (*y, *t)

        for transformed in (pulled, pushed):
            want = forms(transformed(*points))
            assert forms(eval_shape(transformed)(*points)) == want, call.sample.describe()
        assert full


def test_nothing_is_computed_and_nothing_is_drawn() -> None:
    x = pb.empty(10**6, 10**5, device="meta")
    out = eval_shape(lambda x: (x @ x.T).sin().sum(0))(x)
    assert repr(out) == "tensor(..., device='meta', size=(1000000,))"
    pb.manual_seed(3)
    want = pb.rand(2)
    pb.manual_seed(3)
    shapes = eval_shape(lambda: (pb.rand(3, 4), pb.nn.functional.dropout(pb.ones(5)), pb.randperm(6)))()
    assert forms(shapes) == [((3, 4), pb.float32), ((5,), pb.float32), ((6,), pb.int64)]
    assert pb.equal(pb.rand(2), want)


def test_trees_and_what_stands_for_tensors() -> None:
    class Spec:
        shape, dtype = (2, 3), pb.float64

    def f(tree: Any, n: int, *, w: Any) -> Any:
        return {"a": tree["x"] @ w, "b": [tree["x"].sum(), n]}

    out = eval_shape(f)({"x": Spec()}, 2, w=pb.ones(3, 4, dtype=pb.float64))
    assert forms([out["a"], out["b"][0]]) == [((2, 4), pb.float64), ((), pb.float64)]
    assert out["b"][1] == 2 and out["a"].is_meta
    with pytest.raises(TypeError, match="eval_shape"):
        eval_shape(3)
    assert forms([pickle.loads(pickle.dumps(eval_shape(pb.sum)))(pb.ones(3))]) == [((), pb.float32)]


def test_transforms_of_transforms() -> None:
    x = pb.empty(3, dtype=pb.float64, device="meta")
    f = lambda x: (x.sin() * x).sum()
    assert hessian(f)(x).shape == (3, 3)
    assert jacfwd(grad(f))(x).shape == (3, 3) and jacrev(pb.sin)(x).shape == (3, 3)
    assert vmap(grad(f))(pb.empty(5, 3, device="meta")).shape == (5, 3)
    assert grad(f)(x).is_meta
    y, push = linearize(f, x)
    assert y.shape == () and push(x).shape == ()
    program = trace(grad(f))(x)
    real = pb.tensor([0.1, 0.2, 0.3], dtype=pb.float64)
    assert pb.allclose(program(real), grad(f)(real))


def test_errors_are_those_of_the_call() -> None:
    a, b = pb.empty(2, 3, device="meta"), pb.empty(2, 3, device="meta")
    for f in (lambda: a @ b, lambda: pb.cat([a, b[0]]), lambda: a + b.T, lambda: a.reshape(5), lambda: a.sum(7)):
        with pytest.raises((RuntimeError, IndexError)):
            f()
    with pytest.raises(RuntimeError, match="square"):
        pb.linalg.inv(a)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda x: x.sum().item(), RuntimeError),
        (lambda x: bool(x.sum() > 0), RuntimeError),
        (lambda x: float(x[0]), RuntimeError),
        (lambda x: x.tolist(), NotImplementedError),
        (lambda x: x.numpy(), TypeError),
        (lambda x: np.asarray(x), (TypeError, NotImplementedError)),
        (lambda x: x.cpu(), NotImplementedError),
        (lambda x: x.to("cpu"), NotImplementedError),
        (lambda x: x[x > 0], NotImplementedError),
        (lambda x: pb.nonzero(x), NotImplementedError),
        (lambda x: HELD.copy_(x), NotImplementedError),
    ],
)
def test_who_asks_for_data(ask: Any, error: Any) -> None:
    with pytest.raises(error, match="data|meta"):
        ask(pb.empty(3, device="meta"))
    with pytest.raises(Exception, match="data|meta"):
        eval_shape(lambda x: ask(x) and x)(pb.ones(3))


def test_what_is_made_inside_takes_no_memory() -> None:
    n = 1 << 40
    makers = [
        pb.zeros,
        pb.ones,
        pb.arange,
        lambda n: pb.full((n,), 2.0),
        lambda n: pb.linspace(0, 1, n),
        pb.empty,
        pb.rand,
    ]
    for make in makers:
        out = eval_shape(lambda x, make=make: make(n).mul(x).sum() + make(n).add_(1)[0])(pb.ones(()))
        assert out.is_meta and out.shape == ()
        assert not make(3).is_meta
    assert eval_shape(lambda x: pb.eye(1 << 20) @ x)(pb.ones(1 << 20)).shape == (1 << 20,)
    assert eval_shape(lambda x: pb.zeros(3).copy_(x))(pb.ones(3)).is_meta
    # Numbers stay what they are: they decide sizes.
    assert eval_shape(lambda x: x.expand(int(pb.tensor(4)), 3))(pb.ones(3)).shape == (4, 3)


def test_tensors_of_device_meta() -> None:
    x = pb.empty(2, 3, device="meta")
    assert x.is_meta and str(x.device) == "meta" and x.device == pb.device("meta") and not x.is_cpu
    assert not pb.ones(2).is_meta and pb.ones(2).is_cpu
    assert repr(pb.device("meta")) == "device(type='meta')" and pickle.loads(pickle.dumps(x.device)) == x.device
    assert x.stride() == (3, 1) and x.numel() == 6 and x.is_contiguous() and x.nbytes == 24
    for y in (pb.zeros_like(x), pb.rand_like(x), x.new_ones(2), x.clone(), x.double(), x[0], x.view(6), x.detach()):
        assert y.is_meta
    for device in ("meta", pb.device("meta")):
        for make, *args in (
            (pb.ones, 2),
            (pb.arange, 5),
            (pb.eye, 2),
            (pb.rand, 2),
            (pb.full, (2,), 3),
            (pb.linspace, 0, 1, 3),
            (pb.randint, 3, (2,)),
            (pb.tensor, [1.0]),
            (pb.as_tensor, np.ones(2)),
            (pb.ones(2).to,),
        ):
            assert make(*args, device=device).is_meta, make
    assert not pb.zeros_like(x, device="cpu").is_meta
    assert x.to("meta") is x
    assert (x + pb.ones(())).is_meta and (pb.ones(2, 3) + x).is_meta
    with pb.device("meta"):
        assert pb.ones(2).is_meta and pb.tensor([1.0]).is_meta and pb.rand(2).is_meta
        with pb.device("cpu"):
            assert not pb.ones(2).is_meta
    assert not pb.ones(2).is_meta


def test_representation() -> None:
    for dtype in (pb.float64, pb.int64, pb.bool):
        shown = repr(pb.empty(2, 3, dtype=dtype, device="meta"))
        assert shown == f"tensor(..., device='meta', size=(2, 3), dtype={dtype})"
    assert repr(pb.empty((), device="meta")) == "tensor(..., device='meta', size=())"
    leaf = pb.empty(2, device="meta", requires_grad=True)
    assert repr(leaf) == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert repr(leaf * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"


def test_gradients_of_the_ambient_tape() -> None:
    w = pb.empty(3, 2, device="meta", requires_grad=True)
    (pb.ones(4, 3) @ w).relu().sum().backward()
    assert w.grad is not None and w.grad.is_meta and w.grad.shape == (3, 2)


def test_writes() -> None:
    x = pb.empty(2, 3, device="meta")
    x[0] = 1.0
    x[:, 1] = pb.ones(2)
    x.add_(pb.ones(3)).mul_(2)
    x.view(6)[2:4].zero_()
    x.copy_(pb.ones(2, 3))
    assert x.is_meta and x.shape == (2, 3)


def to_gradient(w: Any, x: Any) -> None:
    (w.requires_grad_() * x).sum().backward()


def batch_statistics(w: Any, x: Any) -> None:
    pb.nn.functional.batch_norm(x.expand(2, 3), w, pb.ones(3), training=True)


AT = pb.tensor([2, 0, 1])
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "copy_": lambda w, x: w.copy_(x),
    "+=": operator.iadd,
    "in a view": lambda w, x: operator.iadd(w[1:], x[1:]),
    "in a transposed view": lambda w, x: w.view(1, 3).T.copy_(x.view(3, 1)),
    "of a member": lambda w, x: operator.setitem(w, 0, x[0]),
    "of a slice": lambda w, x: operator.setitem(w, slice(1, None), x[1:]),
    "by positions": lambda w, x: operator.setitem(w, AT, x),
    "by bools": lambda w, x: operator.setitem(w, w == 0, x.sum()),
    "by bools without data": lambda w, x: operator.setitem(w, x > 0, 1.0),
    "by positions without data": lambda w, x: operator.setitem(w, x.long(), 1.0),
    "a number without data": lambda w, x: w.fill_(x.sum()),
    "masked_fill_": lambda w, x: w.masked_fill_(x > 0, 1.0),
    "index_add_": lambda w, x: w.index_add_(0, AT, x),
    "scatter_": lambda w, x: w.scatter_(0, AT, x),
    "index_put_": lambda w, x: w.index_put_((AT,), x),
    "random": lambda w, x: w.uniform_(),
    "out=": lambda w, x: pb.add(x, 1, out=w),
    "out= of a view": lambda w, x: pb.sin(x[:2], out=w[:2]),
    ".data.add_": lambda w, x: w.data.add_(x),
    ".data": lambda w, x: setattr(w, "data", x),
    "detached": lambda w, x: w.detach().mul_(x),
    "set_": lambda w, x: w.set_(x),
    ".real": lambda w, x: setattr(w, "real", x),
    ".grad": lambda w, x: setattr(w, "grad", x),
    "backward": to_gradient,
    "running statistics": batch_statistics,
}


@pytest.mark.parametrize("way", WRITES)
def test_nothing_without_data_is_written_outside(way: str) -> None:
    w = pb.zeros(3)

    def f(x: Any) -> Any:
        WRITES[way](w, x)
        return x

    with pytest.raises(NotImplementedError, match=r"no data!.*at .*test_eval_shape.py:\d+.*inside of the function"):
        eval_shape(f)(pb.ones(3))
    assert not w.is_meta and w.tolist() == [0.0, 0.0, 0.0] and w.grad is None
    inside = eval_shape(lambda x: (WRITES[way](own := pb.zeros(3), x), own)[1])(pb.ones(3))
    assert inside.is_meta and inside.shape == (3,)


def test_an_empty_tensor_outside_takes_no_result() -> None:
    w = pb.empty(0)
    with pytest.raises(NotImplementedError, match=r"add\(\): .*no data!.*at .*inside of the function"):
        eval_shape(lambda x: pb.add(x, 1, out=w))(pb.ones(3))
    assert not w.is_meta and w.shape == (0,)


class Cube(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2


class Opaque(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return pb.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_functions_made_of_operators_run_without_data() -> None:
    x = pb.ones(2, 3)
    assert forms([eval_shape(Cube.apply)(x)]) == [((2, 3), pb.float32)]
    assert forms([eval_shape(grad(lambda x: Cube.apply(x).sum()))(x)]) == [((2, 3), pb.float32)]


def test_functions_that_leave_the_library_ask_for_a_shape_rule() -> None:
    with pytest.raises(TypeError, match=r"Opaque.forward.*register_fake"):
        eval_shape(Opaque.apply)(pb.ones(3))


def test_custom_operators_use_their_shape_rule() -> None:
    @custom_op("tests::rows_of", mutates_args=())
    def rows_of(x: pb.Tensor, n: int) -> pb.Tensor:
        return pb.from_numpy(np.repeat(x.detach().numpy()[None], n, 0))

    with pytest.raises(NotImplementedError, match="register_fake"):
        eval_shape(rows_of)(pb.ones(3), 4)
    rows_of.register_fake(lambda x, n: x.new_empty((n, *x.shape)))
    rows_of.register_autograd(lambda ctx, g: (g.sum(0), None))
    assert forms([eval_shape(rows_of)(pb.ones(3), 4)]) == [((4, 3), pb.float32)]
    assert rows_of(pb.empty(3, device="meta"), 2).is_meta
    assert forms([eval_shape(grad(lambda x: rows_of(x, 2).sum()))(pb.ones(3))]) == [((3,), pb.float32)]
