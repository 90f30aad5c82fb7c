"""Custom operators: under every transform, with all kinds of arguments, and the errors of their rules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest

import pullback as pb
from pullback import Tensor
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from pullback.library import custom_op, opcheck
from support.operators import X, Y, looped, mixed, numpy, numpy_sin

same = pb.testing.assert_close


def total(f: Any) -> Any:
    return lambda *args: f(*args).sum()


TRANSFORMS: dict[str, Any] = {
    "value": lambda f: f,
    "grad": lambda f: grad(total(f)),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "hessian": lambda f: hessian(total(f)),
    "rev rev rev": lambda f: grad(total(grad(total(grad(total(f)))))),
    "fwd fwd": lambda f: jacfwd(jacfwd(f)),
    "vmap": vmap,
    "vmap vmap": lambda f: lambda x: vmap(vmap(f, 1, 1))(x.expand(2, 2, 3)),
    "vmap grad": lambda f: vmap(grad(f)),
    "grad vmap": lambda f: grad(lambda x: vmap(f)(x).sum()),
    "jvp vmap grad": lambda f: lambda x: jvp(vmap(grad(f)), (x,), (x,)),
}


@pytest.mark.parametrize("op", [numpy_sin, looped])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_composes(name: str, op: Any) -> None:
    same(TRANSFORMS[name](op)(X), TRANSFORMS[name](pb.sin)(X))


@pytest.mark.parametrize("op", [numpy_sin, looped])
def test_under_the_tape(op: Any) -> None:
    x = X.clone().requires_grad_()
    op(x).sum().backward()
    same(x.grad, X.cos())
    assert pb.autograd.gradcheck(op, x, check_forward_ad=True, check_batched_grad=True)
    assert pb.autograd.gradgradcheck(op, x, check_fwd_over_rev=True)
    assert not op(X).requires_grad
    assert "tests::numpy_sin" in numpy_sin(x).grad_fn.name()


def test_names() -> None:
    assert pb.ops.tests.numpy_sin is numpy_sin and pb.ops.tests.numpy_sin.default is numpy_sin
    assert "numpy_sin" in dir(pb.ops.tests)
    assert repr(numpy_sin) == "<CustomOpDef(tests::numpy_sin)>" and numpy_sin.__name__ == "numpy_sin"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pb.ops.tests.nothing
    for name in ("plain", "a::b::c", "::b", "a::"):
        with pytest.raises(ValueError, match="Expected there to be a namespace"):
            custom_op(name, mutates_args=())(numpy_sin._fallback)


def test_loop_is_counted_and_warns_once() -> None:
    @custom_op("tests::half", mutates_args=())
    def half(x: Tensor, by: float = 2.0) -> Tensor:
        return pb.from_numpy(numpy(x) / by)

    with pytest.warns(UserWarning, match="tests::half has no batching rule.*register_vmap") as caught:
        same(vmap(half, in_dims=1, out_dims=1)(pb.ones(3, 4)), pb.full((3, 4), 0.5))
    assert len(caught) == 1 and caught[0].filename == __file__
    assert half.loops == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(vmap(lambda x: half(x, by=4.0))(pb.ones(3)), pb.full((3,), 0.25))
    assert half.loops == 7
    half(X)
    assert half.loops == 7


def test_shapes_of_an_empty_batch() -> None:
    same(vmap(looped)(pb.zeros(0, 3)), pb.zeros(0, 3))
    bare = custom_op("tests::bare", mutates_args=())(numpy_sin._fallback)
    bare._warned = True
    with pytest.raises(RuntimeError, match="batch is empty.*tests::bare.*register_fake"):
        vmap(bare)(pb.zeros(0, 3))


def test_randomness_of_the_loop() -> None:
    @custom_op("tests::noise", mutates_args=())
    def noise(x: Tensor) -> Tensor:
        return x + pb.rand(x.shape)

    noise._warned = True
    x = pb.zeros(4, 2)
    with pytest.raises(RuntimeError, match="random operation.*tests::noise.*randomness='different'"):
        vmap(noise)(x)
    equal = vmap(noise, randomness="same")(x)
    same(equal, equal[:1].expand(4, 2))
    different = vmap(noise, randomness="different")(x)
    assert len({tuple(row) for row in different.tolist()}) == 4


def mixed_plain(xs: Any, n: int, w: Any = None, scale: float = 2.0, bias: Any = None) -> Any:
    out = sum(xs) * n * scale
    return out if w is None else out * w, xs[0] * 3 + (0 if bias is None else bias)


@pytest.mark.parametrize("with_w", [True, False])
def test_lists_and_arguments_by_name(with_w: bool) -> None:
    def of(f: Any) -> Any:
        return lambda x, y, w: sum((o**2).sum() for o in f([x, y], 3, w if with_w else None, scale=0.5, bias=Y))

    args = (X, Y, X + 1)
    for transform in (lambda f: f, lambda f: grad(f, (0, 1)), lambda f: hessian(f, (0, 1))):
        same(transform(of(mixed))(*args), transform(of(mixed_plain))(*args))
    same(
        vmap(grad(of(mixed)), (0, None, 0))(pb.stack([X, Y]), Y, pb.stack([X, Y])),
        vmap(grad(of(mixed_plain)), (0, None, 0))(pb.stack([X, Y]), Y, pb.stack([X, Y])),
    )
    x = X.clone().requires_grad_()
    assert pb.autograd.gradcheck(lambda a: mixed([a, Y], 2), x, check_forward_ad=True)


def test_list_of_results() -> None:
    @custom_op("tests::parts", mutates_args=())
    def parts(x: Tensor, n: int) -> list[Tensor]:
        return [pb.from_numpy(numpy(x) * (i + 1)) for i in range(n)]

    seen: list[Any] = []

    def backward(ctx: Any, gs: Any) -> Any:
        seen.append(type(gs))
        return sum(g * (i + 1) for i, g in enumerate(gs)), None

    parts.register_autograd(backward)
    parts._warned = True
    out, pull = vjp(lambda x: parts(x, 3), X)
    assert isinstance(out, list) and len(out) == 3
    same(pull([X, X, X])[0], 6 * X)
    assert seen == [list]
    same(vmap(lambda x: parts(x, 2)[1])(X), 2 * X)


def test_other_results() -> None:
    @custom_op("tests::count", mutates_args=())
    def count(x: Tensor) -> tuple[Tensor, int]:
        return pb.from_numpy(numpy(x) * 2), x.numel()

    count.register_autograd(lambda ctx, g, n: g * 2)
    assert count(X)[1] == 3
    same(grad(lambda x: count(x)[0].sum() * count(x)[1])(X), pb.full_like(X, 6))


def test_writes() -> None:
    @custom_op("tests::fill", mutates_args={"out"})
    def fill(x: Tensor, out: Tensor) -> None:
        numpy(out)[...] = numpy(x) * 2

    fill._warned = True
    assert str(fill._schema) == "tests::fill(Tensor x, Tensor(a1!) out) -> ()"
    out = pb.zeros(3, dtype=pb.float64)
    version = out._version
    assert fill(X, out) is None
    same(out, 2 * X)
    assert out._version > version
    rows = pb.zeros(2, 3, dtype=pb.float64)
    vmap(lambda x, o: fill(x, o), out_dims=None)(pb.stack([X, Y]), rows)
    same(rows, pb.stack([2 * X, 2 * Y]))
    with pytest.raises(RuntimeError, match="writes to an argument that has no batch"):
        vmap(lambda x: fill(x, out))(pb.stack([X, Y]))
    leaf = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        fill(X, leaf)
    middle = leaf * 1
    fill(X, middle)
    with pytest.raises(RuntimeError, match="Trying to backward through tests::fill.* register_autograd"):
        middle.sum().backward()
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator tests::fill"):
        fill.register_autograd(lambda ctx: None)
    assert opcheck(fill, (X, out.clone()), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_without_a_formula() -> None:
    bare = custom_op("tests::bare", mutates_args=())(numpy_sin._fallback)
    out = bare(X.clone().requires_grad_())
    with pytest.raises(
        RuntimeError, match="Trying to backward through tests::bare.default .* Please use register_auto"
    ):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="forward mode through tests::bare.default .* register_autograd"):
        jvp(bare, (X,), (X,))


def test_kernels() -> None:
    calls: list[str] = []

    @custom_op("tests::where", mutates_args=(), device_types="cuda")
    def where(x: Tensor) -> Tensor:
        calls.append("cuda")
        return x + 1

    with pytest.raises(NotImplementedError, match=r"Could not run 'tests::where' .*'CPU' backend.*register_kernel"):
        where(X)

    @where.register_kernel("cpu")
    def _(x: Tensor) -> Tensor:
        calls.append("cpu")
        return x + 2

    same(where(X), X + 2)
    with where.set_kernel_enabled("cpu", False):
        same(where(X), X + 1)
        with where.set_kernel_enabled("cpu"):
            same(where(X), X + 2)
    same(where(X), X + 2)
    assert calls == ["cpu", "cuda", "cpu", "cpu"]
    pb.library.register_kernel("tests::where", None, lambda x: x + 3)
    same(where(X), X + 2)


def test_functions_of_the_module() -> None:
    made = custom_op("tests::by_name", mutates_args=())(numpy_sin._fallback)
    pb.library.register_autograd("tests::by_name", lambda ctx, g: g * 7)
    pb.library.register_vmap("tests::by_name", lambda info, in_dims, x: (made(x), in_dims[0]))
    pb.library.register_fake(made)(lambda x: pb.empty_like(x))
    same(vmap(grad(made))(X), pb.full_like(X, 7))
    with pytest.raises(RuntimeError, match="there is no operator tests::nothing"):
        pb.library.register_fake("tests::nothing", len)
    with pytest.raises(ValueError, match="unexpected type for op"):
        pb.library.register_vmap(3, len)


def test_aliases_are_refused() -> None:
    for name, body in {"same": lambda x: x, "view": lambda x: x.view(-1), "twice": None}.items():

        def run(x: Tensor, body: Any = body) -> Any:
            y = x * 2
            return (y, y) if body is None else body(x)

        schema = "(Tensor x) -> (Tensor, Tensor)" if body is None else "(Tensor x) -> Tensor"
        op = custom_op(f"tests::alias_{name}", run, mutates_args=(), schema=schema)
        for x in (X, X.clone().requires_grad_()):
            with pytest.raises(RuntimeError, match=f"tests::alias_{name}: The output .* may not alias any inputs"):
                op(x)


def with_backward(result: Any) -> Any:
    op = custom_op("tests::wrong", mutates_args=(), schema="(Tensor x, int n) -> Tensor")(lambda x, n: x * n)
    op.register_autograd(lambda ctx, g: result(g))
    return lambda: grad(lambda x: op(x, 2).sum())(X)


def with_vmap(result: Any) -> Any:
    op = custom_op("tests::wrong", mutates_args=(), schema="(Tensor x) -> Tensor")(lambda x: x * 2)
    op.register_vmap(lambda info, in_dims, x: result(x))
    return lambda: vmap(op)(X)


def with_kernel(result: Any) -> Any:
    op = custom_op("tests::wrong", mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")(lambda x: result)
    return lambda: op(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (with_backward(lambda g: g), "tests::wrong: backward returned 1 gradients for 2 positional arguments"),
        (with_backward(lambda g: (g, g)), "backward returned a gradient for 'n', which is no tensor"),
        (with_backward(lambda g: (g[:2], None)), "tests::wrong.*shape"),
        (with_vmap(lambda x: x), r"register_vmap\(\) must return \(output, out_dims\).*got Tensor"),
        (with_vmap(lambda x: (x, (0, 0))), "returned 2 out_dims for 1 results"),
        (with_vmap(lambda x: (x[:2] * 1, 0)), "tests::wrong.*batch of size 3"),
        (with_kernel(X), r"the kernel returned Tensor, which does not fit the schema tests::wrong\(Tensor x\)"),
        (with_kernel((X * 2, 3)), "the kernel returned tuple of Tensor, int"),
    ],
)
def test_errors_of_rules(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_members_of_different_kinds() -> None:
    @custom_op("tests::perhaps", mutates_args=(), schema="(Tensor x) -> (Tensor, int)")
    def perhaps(x: Tensor) -> Any:
        return x * 2, int(x.sum() > 0)

    perhaps._warned = True
    assert vmap(perhaps, out_dims=(0, None))(pb.stack([X, X]).abs())[1] == 1
    with pytest.raises(RuntimeError, match="tests::perhaps gives members of the batch results of different kinds"):
        vmap(perhaps, out_dims=(0, None))(pb.stack([X.abs(), -X.abs()]))


def test_a_call_in_a_program_and_again() -> None:
    """A program keeps the call: its runs do not meet, whatever kinds of results they give."""
    program = pb.func.trace(lambda x: mixed([x, x], 3)[0])(X)
    same(program(Y), mixed([Y, Y], 3)[0])
    same(vmap(program)(pb.stack([X, Y])), pb.stack([mixed([X, X], 3)[0], mixed([Y, Y], 3)[0]]))
    same(grad(lambda x: program(x).sum())(Y), grad(lambda x: mixed([x, x], 3)[0].sum())(Y))


def test_a_backward_that_is_not_linear_has_no_transpose() -> None:
    @custom_op("tests::bent", mutates_args=())
    def bent(x: Tensor) -> Tensor:
        return x * 2

    bent.register_autograd(lambda ctx, g: g.abs())
    message = r"tests::bent: the backward of register_autograd\(\) is not linear in the gradients.*use reverse mode"
    with pytest.raises(RuntimeError, match=message):
        jvp(bent, (X,), (X,))


def test_a_backward_that_differentiates_what_it_saved() -> None:
    """Forward mode and second derivatives are those of what backward computes by autograd.grad."""

    @custom_op("tests::inner", mutates_args=())
    def inner(x: Tensor) -> Tensor:
        return pb.from_numpy(numpy(x) ** 3)

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        with pb.enable_grad():
            y = x**3
        return pb.autograd.grad(y, x, g, create_graph=True)[0]

    inner.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    inner.register_vmap(lambda info, in_dims, x: (inner(x), in_dims[0]))
    same(grad(total(inner))(X), 3 * X**2)
    same(jvp(inner, (X,), (X,))[1], 3 * X**3)
    same(hessian(total(inner))(X), pb.diag(6 * X))


def test_members_of_different_shapes() -> None:
    @custom_op("tests::positive", mutates_args=())
    def positive(x: Tensor) -> Tensor:
        return pb.from_numpy(numpy(x)[numpy(x) > 0])

    positive._warned = True
    with pytest.raises(
        RuntimeError, match=r"tests::positive gives members of the batch different shapes: \[1\], \[2\]"
    ):
        vmap(positive)(pb.stack([X, -X]))


def test_a_region_of_a_picture() -> None:
    """Lists of numbers, attributes of ctx, and a backward that fills a buffer."""

    @custom_op("tests::region", mutates_args=())
    def region(picture: Tensor, box: Sequence[int]) -> Tensor:
        top, left, bottom, right = box
        return pb.from_numpy(numpy(picture)[:, top:bottom, left:right].copy())

    @region.register_fake
    def _(picture: Any, box: Any) -> Any:
        return picture.new_empty(picture.shape[0], box[2] - box[0], box[3] - box[1])

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        picture, ctx.box = inputs
        ctx.shape = picture.shape

    def backward(ctx: Any, g: Any) -> Any:
        top, left, bottom, right = ctx.box
        out = g.new_zeros(ctx.shape)
        out[:, top:bottom, left:right] = g
        return out, None

    region.register_autograd(backward, setup_context=setup)
    region._warned = True
    picture = pb.testing.make_tensor(2, 5, 4, dtype=pb.float64, requires_grad=True)
    for box in ([0, 1, 3, 4], [2, 2, 2, 3]):
        assert set(opcheck(region, (picture, box)).values()) == {"SUCCESS"}
        of: Any = lambda p, box=box: region(p, box)
        plain: Any = lambda p, box=box: p[:, box[0] : box[2], box[1] : box[3]]
        for jacobian in (jacrev, jacfwd):
            same(jacobian(of)(picture.detach()), jacobian(plain)(picture.detach()))


def test_two_results_with_one_rule_for_batches() -> None:
    @custom_op("tests::cube", mutates_args=())
    def cube(x: Tensor) -> tuple[Tensor, Tensor]:
        return pb.from_numpy(numpy(x) ** 3), pb.from_numpy(3 * numpy(x) ** 2)

    cube.register_vmap(lambda info, in_dims, x: (cube(x), (in_dims[0], in_dims[0])))
    rows = pb.stack([X, Y])
    same(vmap(cube, in_dims=1)(rows), (rows.t() ** 3, 3 * rows.t() ** 2))


def test_without_tensors() -> None:
    @custom_op("tests::ramp", mutates_args=())
    def ramp(n: int, dtype: pb.dtype = pb.float32) -> Tensor:
        return pb.arange(n).to(dtype)

    same(ramp(3), pb.tensor([0.0, 1.0, 2.0]))
    same(vmap(lambda x: x * ramp(3, dtype=pb.float64))(pb.stack([X, Y])), pb.stack([X, Y]) * ramp(3).double())


def test_keywords_of_registrations() -> None:
    @custom_op("tests::keywords", mutates_args=())
    def keywords(x: Tensor) -> Tensor:
        return pb.from_numpy(numpy(x) * 2)

    pb.library.register_fake(keywords, lambda x: pb.empty_like(x), lib=None, allow_override=False)
    pb.library.register_fake("tests::keywords", lambda x: pb.empty_like(x))
    with pytest.raises(RuntimeError, match="has a fake already; allow_override=True"):
        pb.library.register_fake("tests::keywords", lambda x: x, allow_override=False)
    pb.library.register_autograd(keywords, lambda ctx, g: g * 2, lib=None)
    pb.library.register_vmap(keywords, lambda info, in_dims, x: (keywords(x), in_dims[0]), lib=None)
    same(vmap(pb.func.grad(lambda x: keywords(x).sum()))(pb.stack([X, Y])), pb.full_like(pb.stack([X, Y]), 2.0))
    for register in (pb.library.register_fake, pb.library.register_autograd, pb.library.register_vmap):
        with pytest.raises(TypeError, match=rf"{register.__name__}\(\): argument 'lib' must be a Library or None"):
            register(keywords, lambda *args: None, lib=object())
