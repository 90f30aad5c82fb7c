"""trace: the program of a function, called and transformed like the function."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, linearize, trace, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, -0.8, 1.1], dtype=pb.float64)
W = pb.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=pb.float64)


def f(x: Any) -> Any:
    return (pb.tanh(W @ x) * x.exp().sum()).sum() + x[1] ** 3


def loop_buffer(x: Any) -> Any:
    z = pb.zeros(3, dtype=pb.float64)
    z[0] = x[1] * x[2]
    z[1:] = x[:2] * 2
    z.mul_(x)
    return z.sum()


def without_gradient(x: Any) -> Any:
    with pb.no_grad():
        c = x * x
    return (x * c + x.detach() * x).sum()


FUNCTIONS = {"f": f, "loop_buffer": loop_buffer, "without_gradient": without_gradient}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": grad,
    "hessian": hessian,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "grad of grad": lambda f: grad(lambda x: grad(f)(x).sin().sum()),
    "vmap": lambda f: lambda x: vmap(f)(pb.stack([x, 2 * x, x.cos()])),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(pb.stack([x, 2 * x, x.cos()])),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x.cos(),)),
    "vjp": lambda f: lambda x: vjp(f, x)[1](pb.tensor(2.0, dtype=pb.float64)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transform_of_the_program_and_program_of_the_transform(name: str, transform: str) -> None:
    function, t = FUNCTIONS[name], TRANSFORMS[transform]
    expected = [t(function)(x) for x in (X, X.sin())]
    program = trace(function)(X)
    of_transform = trace(t(function))(X)
    for x, value in zip((X, X.sin()), expected, strict=True):
        same(t(program)(x), value)
        same(of_transform(x), value)


PAIRS = list(itertools.product(("grad", "hessian", "vmap of grad", "jvp"), repeat=2))


@pytest.mark.parametrize("pair", PAIRS, ids=" of ".join)
def test_between_two_transforms(pair: tuple[str, str]) -> None:
    """outer(trace(inner(f))) is outer(inner(f))."""
    outer, inner = (TRANSFORMS[p] for p in pair)

    def scalar(g: Any) -> Any:
        return lambda x: pb.stack([v.sum() for v in pb.utils.pytree.tree_leaves(g(x))]).sum()

    same(outer(trace(scalar(inner(f)))(X))(X), outer(scalar(inner(f)))(X))


def test_text() -> None:
    program = trace(lambda x, y: (x.sin() * y + 2).sum())(pb.ones(3), pb.tensor(2.0))
    assert program.operators == ["sin", "mul", "add", "sum"]
    assert len(program) == 4
    assert repr(program) == "<program of <lambda>: 4 operators>"
    lines = str(program).splitlines()
    assert lines[0] == "program(%0: float32[3], %1: float32[]):"
    assert lines[1].startswith("    %2: float32[3] = sin(%0) ")
    assert lines[1].endswith(f"test_trace.py:{line_of('sin() * y')}")
    assert "%4: float32[3] = add(%3, 2.0)" in lines[3]
    assert "%5: float32[] = sum(%4, dims=[0])" in lines[4]
    assert lines[5] == "    return %5"


def test_lines_become_text_when_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "model.py"
    names: dict[str, Any] = {}
    exec(compile("\n\ndef g(x):\n    return x.sin()\n", str(source), "exec"), names)
    program = trace(names.pop("g"))(pb.ones(2))
    gc.collect()
    assert str(program).splitlines()[1].endswith(f"# {source}:4")
    monkeypatch.chdir(tmp_path)
    assert str(program).splitlines()[1].endswith("# model.py:4")


def test_without_grad_mode_results_are_stopped() -> None:
    program = trace(without_gradient)(X)
    assert program.operators[:2] == ["mul", "stop_reverse"] and program.operators.count("stop_reverse") == 1
    needs = []

    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            needs.append(ctx.needs_input_grad)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise AssertionError("nothing here is differentiated")

    def f(x: Any) -> Any:
        with pb.no_grad():
            c = Square.apply(x)
        return (x * c).sum()

    program = trace(f)(X)
    for function in (f, program):
        needs.clear()
        x = X.clone().requires_grad_()
        function(x).backward()
        same(x.grad, X * X)
        same(grad(function)(X), X * X)
        assert all(n == (False,) for n in needs)
        with pb.no_grad():
            assert not function(x).requires_grad


def test_without_forward_mode_tangents_are_stopped() -> None:
    def f(x: Any) -> Any:
        with pb.autograd.forward_ad.set_fwd_grad_enabled(False):
            c = x * x
        return (x * c).sum()

    program = trace(f)(X)
    assert "stop_forward" in program.operators
    for function in (f, program):
        same(jvp(function, (X,), (pb.ones_like(X),))[1], (X * X).sum())
        same(grad(function)(X), 3 * X * X)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_simplified(name: str) -> None:
    def twice(x: Any) -> Any:
        c = (W.sum() + 1).sin() if name == "f" else X.clone()
        return FUNCTIONS[name](x) * 2 + FUNCTIONS[name](x) * 2 + (c * 0).sum()

    program = trace(twice)(X)
    simplified = program.simplified()
    assert len(simplified) < len(program)
    assert simplified(X.sin()).item() == program(X.sin()).item()
    rows = pb.stack([X, X.cos()])
    assert vmap(simplified)(rows).tolist() == vmap(program)(rows).tolist()
    for t in (grad, hessian, lambda f: lambda x: jvp(f, (x,), (x.cos(),))):
        same(t(simplified)(X), t(twice)(X))
    assert len(simplified.simplified()) == len(simplified)


def test_simplified_keeps_structures_draws_and_calls() -> None:
    program = trace(lambda d, n: {"y": d["x"] * n + pb.rand(2) - pb.rand(2), "n": n})({"x": pb.ones(2)}, 3)
    simplified = program.simplified()
    assert sum("rand" in name for name in simplified.operators) == 2
    del program
    gc.collect()
    first = simplified({"x": pb.ones(2)}, 3)
    assert first["n"] == 3
    with pytest.raises(RuntimeError, match="argument 1 is 4"):
        simplified({"x": pb.ones(2)}, 4)


def line_of(text: str) -> int:
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if text in line)


def test_structures_and_fixed_arguments() -> None:
    def g(d: Any, n: int, *, scale: Any, name: str = "y") -> Any:
        return {name: d["x"] ** n * scale, "same": d["x"], "n": n, "one": pb.ones(2)}

    x, s = pb.tensor([1.0, 2.0]), pb.tensor(3.0)
    program = trace(g)({"x": x}, 2, scale=s)
    out = program({"x": 2 * x}, 2, scale=s)
    same(out["y"], 12 * x * x)
    same(out["same"], 2 * x)
    assert out["n"] == 2 and out["one"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="argument 1 is 3, but the program was traced with 2"):
        program({"x": x}, 3, scale=s)
    with pytest.raises(RuntimeError, match="argument 2 is 3.0, but the program was traced with a tensor"):
        program({"x": x}, 2, scale=3.0)
    with pytest.raises(RuntimeError, match="structure"):
        program({"z": x}, 2, scale=s)
    with pytest.raises(RuntimeError, match=r"traced with float32\[2\] as its argument 0, got float32\[3\]"):
        program({"x": pb.ones(3)}, 2, scale=s)
    with pytest.raises(RuntimeError, match=r"got float64\[2\]"):
        program({"x": x.double()}, 2, scale=s)


def test_arguments_in_memory_of_numpy_are_read_not_written() -> None:
    x = pb.from_numpy(np.arange(3.0))
    assert trace(lambda v: v.sin())(x)(x).tolist() == np.sin(np.arange(3.0)).tolist()
    with pytest.raises(RuntimeError, match=r"writes in place to its tensor argument 0"):
        trace(lambda v: v.sin_())(x)


def test_reads_tensors_from_outside_at_each_call() -> None:
    w = pb.tensor(2.0, requires_grad=True)
    view = w.detach()
    program = trace(lambda x: (w * x + view).sum())(pb.ones(2))
    assert "reads" in str(program)
    view.mul_(5)
    same(program(pb.ones(2)), pb.tensor(40.0))
    program(pb.ones(2)).backward()
    same(w.grad, pb.tensor(2.0))
    outer = trace(lambda x: program(x) * 2)(pb.ones(2))
    view.zero_()
    assert outer(pb.ones(2)).item() == 0.0
    array = np.ones(2)
    from_numpy = pb.from_numpy(array)
    program = trace(lambda x: x * from_numpy)(pb.ones(2, dtype=pb.float64))
    array[:] = 7.0
    assert program(pb.ones(2, dtype=pb.float64)).tolist() == [7.0, 7.0]


def test_captured_values_of_outer_transforms() -> None:
    same(grad(lambda x: trace(lambda y: (y * x).sum())(x)(x))(X), 2 * X)
    rows = pb.stack([X, 2 * X])
    same(vmap(lambda x: trace(lambda y: (y * x).sum())(X)(x))(rows), (rows * rows).sum(1))
    kept = []
    grad(lambda x: (kept.append(trace(lambda y: y * x)(X)), x.sum())[1])(X)
    same(kept[0](X), X * X)
    vmap(lambda x: (kept.append(trace(lambda y: y * x)(X)), x)[1])(rows)
    with pytest.raises(RuntimeError, match="escaped"):
        kept[1](X)


def test_random_numbers_are_drawn_anew() -> None:
    program = trace(lambda x: x + pb.randn(4))(pb.zeros(4))
    pb.manual_seed(3)
    first, second = program(pb.zeros(4)), program(pb.zeros(4))
    assert first.tolist() != second.tolist()
    pb.manual_seed(3)
    same(program(pb.zeros(4)), first)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(program)(pb.zeros(2, 4))
    rows = vmap(program, randomness="different")(pb.zeros(2, 4))
    assert rows[0].tolist() != rows[1].tolist()
    rows = vmap(program, randomness="same")(pb.zeros(2, 4))
    assert rows[0].tolist() == rows[1].tolist()


class Tripled(pb.autograd.Function):
    """The derivative is not that of the forward, so that it shows which one was used."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 6 * g * x


def test_custom_functions_keep_their_rules() -> None:
    program = trace(lambda x: Tripled.apply(x).sum())(X)
    assert program.operators == ["Tripled", "sum"]
    same(program(2 * X), (4 * X * X).sum())
    same(grad(program)(X), 6 * X)
    same(trace(grad(program))(X)(2 * X), 12 * X)


def test_what_a_program_cannot_do() -> None:
    w = pb.tensor(1.0)

    def written(x: Any) -> Any:
        return x.mul_(2)

    def outside(x: Any) -> Any:
        return w.add_(x.sum())

    def branch(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(RuntimeError, match=r"writes in place to its tensor argument 0.*clone\(\)"):
        trace(written)(X)
    with pytest.raises(RuntimeError, match=r"add_\(\) is not possible here.*made outside trace\(outside\)"):
        trace(outside)(X)
    with pytest.raises(RuntimeError, match=r"bool\(\) was called at .*:\d+ on a value of trace\(branch\).*where"):
        trace(branch)(X)
    with pytest.raises(RuntimeError, match=r"item\(\) was called"):
        trace(lambda x: x.sum().item())(X)
    same(w, pb.tensor(1.0))
    same(X, pb.tensor([0.3, -0.8, 1.1], dtype=pb.float64))
    escaped: list[Any] = []
    trace(lambda x: (escaped.append(x * 2), x)[1])(X)
    with pytest.raises(RuntimeError, match="escaped"):
        escaped[0] + 1


def test_a_tensor_from_outside_that_changes_its_shape() -> None:
    w = pb.ones(2)
    program = trace(lambda x: x * w)(pb.ones(2))
    w.data = pb.tensor([2.0, 3.0])
    assert program(pb.ones(2)).tolist() == [2.0, 3.0]
    w.data = pb.ones(3)
    with pytest.raises(RuntimeError, match=r"was float32\[2\] when it was traced and is float32\[3\] now"):
        program(pb.ones(2))


def test_looks_like_the_function() -> None:
    assert trace(f).__name__ == "f"
    assert repr(trace(vmap(f))) == "trace(vmap(f))"
