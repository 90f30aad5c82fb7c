"""Autocast on the CPU: which dtypes operators compute in, and what follows for gradients, transforms and Functions."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback import _core, nn
from pullback.func import functional_call, grad, jvp, linearize, trace, vjp, vmap
from support.samples import build, replaced, table

F = pb.nn.functional
RECORDED: dict[str, list[Any]] = json.loads((Path(__file__).parents[1] / "reference/autocast.json").read_text())
# Where results have another dtype than PyTorch's, and why.
OURS = {
    "view_as_complex": "a view of the argument, and not of a copy in float32",
    "linalg.pinv": "products of the decomposition are not lowered",
    "lstm": "the cell's state has the dtype of everything else",
}


def result_dtypes(name: str, index: int, floats: Any) -> list[str]:
    sample = build(name, 0)[index]
    narrow = {pb.float64: floats, pb.complex128: pb.complex64}
    supply = (t.to(narrow.get(t.dtype, t.dtype)) for t in sample.tensors())
    args = [replaced(a, supply) for a in sample.args]
    kwargs = {k: replaced(v, supply) for k, v in sample.kwargs.items()}
    function = getattr(pb.Tensor, name.removeprefix("Tensor."), None) if name.startswith("Tensor.") else None
    with pb.autocast("cpu", dtype=pb.bfloat16):
        out = (function or _core.functions[name])(*args, **kwargs)
    return [str(getattr(t, "dtype", "")).rpartition(".")[2] for t in (out if isinstance(out, (list, tuple)) else [out])]


@pytest.mark.parametrize("name", RECORDED)
def test_dtypes_are_those_of_pytorch(name: str) -> None:
    if name in OURS:
        pytest.skip(OURS[name])
    for index, floats, want in RECORDED[name]:
        try:
            got = result_dtypes(name, index, getattr(pb, floats))
        except (NotImplementedError, RuntimeError) as e:
            # Some kernels are not there for bfloat16 here; a mixture of dtypes is no reason.
            assert floats == "bfloat16" and "dtype" not in str(e).replace("Low precision dtypes", ""), (name, e)
            continue
        assert got == want, (name, build(name, 0)[index].describe(), floats)


def test_the_table_is_recorded() -> None:
    assert len(RECORDED) > 300 and set(RECORDED) <= set(table())


@pytest.mark.parametrize("lower", [pb.bfloat16, pb.float16])
def test_blocks(lower: Any) -> None:
    x = pb.ones(3, 3)
    assert not pb.is_autocast_enabled("cpu") and not pb.is_autocast_enabled()
    with pb.autocast("cpu", dtype=lower) as context:
        assert pb.is_autocast_enabled("cpu") and pb.get_autocast_dtype("cpu") is lower and context.fast_dtype is lower
        assert (x @ x).dtype is x.mm(x).dtype is F.linear(x, x, x[0]).dtype is lower
        assert (x + x).dtype is x.softmax(0).dtype is pb.float32 and (x.double() @ x.double()).dtype is pb.float64
        with pb.autocast("cpu", enabled=False):
            assert (x @ x).dtype is pb.float32 and not pb.is_autocast_enabled("cpu")
            with pb.amp.autocast("cpu", dtype=pb.bfloat16):
                assert (x @ x).dtype is pb.bfloat16
            with pytest.raises(RuntimeError, match="dtype"):
                x @ x.to(lower)
        with pytest.raises(KeyError), pb.autocast("cpu", enabled=False):
            raise KeyError
        assert (x @ x.double().float()).dtype is lower and F.mse_loss(x.to(lower), x.to(lower)).dtype is pb.float32
        assert pb.cat([x, x.to(lower)]).dtype is pb.float32 and pb.cat([x.to(lower)] * 2).dtype is lower
        assert pb.einsum("ij,jk->ik", x, x).dtype is lower and pb.einsum("ij->i", x).dtype is pb.float32
        assert x.inner(x).dtype is pb.tensordot(x, x, 1).dtype is lower and x[0].dot(x[0]).dtype is pb.float32
        there = pb.empty(3, 3)
        assert pb.mm(x, x, out=there) is there and pb.addmm(x, x, x).dtype is lower
        assert x.clone().addmm_(x, x).dtype is pb.float32
    assert (x @ x).dtype is pb.float32 and pb.get_autocast_dtype("cpu") is pb.bfloat16


def test_other_entrances() -> None:
    x = pb.ones(2, 2)

    @pb.autocast("cpu")
    def f(depth: int = 2) -> Any:
        return f(depth - 1) if depth else (x @ x).dtype

    assert f() is pb.bfloat16 and (x @ x).dtype is pb.float32
    with pytest.warns(FutureWarning, match="deprecated"):
        old = pb.cpu.amp.autocast(dtype=pb.float16)
    with old:
        assert (x @ x).dtype is pb.float16
    pb.set_autocast_enabled("cpu", True)
    pb.set_autocast_dtype("cpu", pb.float16)
    try:
        assert (x @ x).dtype is pb.float16 and pb.is_autocast_cpu_enabled()
    finally:
        pb.set_autocast_enabled("cpu", False)
        pb.set_autocast_dtype("cpu", pb.bfloat16)
    seen: list[Any] = []
    with pb.autocast("cpu", cache_enabled=False):
        assert not pb.is_autocast_cache_enabled()
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [pb.float32] and pb.is_autocast_cache_enabled()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        pb.autocast(pb.device("cpu"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        pb.autocast("foo")
    with pytest.raises(TypeError, match="requires a callable"):
        pb.autocast("cpu")(5)  # type: ignore[type-var]
    with pytest.warns(UserWarning, match="the target dtype is not supported"):
        assert not pb.autocast("cpu", dtype=pb.float32)._enabled
    with pytest.warns(UserWarning, match="no device 'cuda'"), pb.autocast("cuda"):
        assert (pb.ones(2, 2) @ pb.ones(2, 2)).dtype is pb.float32
    with pb.autocast("cpu"), pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
        pb.cat([pb.ones(2), pb.ones(2).half()])


def test_gradients_have_the_dtype_of_their_leaves() -> None:
    w, x = pb.randn(3, 4, requires_grad=True), pb.randn(5, 4)
    with pb.autocast("cpu"):
        y = F.linear(x, w).relu() @ w
    assert y.dtype is pb.bfloat16
    y.float().sum().backward()
    a, b = x.bfloat16(), w.detach().bfloat16().requires_grad_()
    (F.linear(a, b).relu() @ b).float().sum().backward()
    assert w.grad is not None and w.grad.dtype is pb.float32 and b.grad is not None
    assert pb.allclose(w.grad, b.grad.float(), rtol=0.02, atol=0.05)


def test_transforms() -> None:
    w, x = pb.randn(4, 4), pb.randn(6, 4)

    def f(w: Any, x: Any) -> Any:
        return F.mse_loss((x @ w).tanh(), x)

    def lowered(w: Any, x: Any) -> Any:
        with pb.autocast("cpu"):
            return f(w, x)

    with pb.autocast("cpu"):
        want = f(w, x)
        assert pb.equal(vmap(lambda row: row @ w)(x), x @ w) and vmap(lambda row: row @ w)(x).dtype is pb.bfloat16
        slope = grad(f)(w, x)
        value, tangent = jvp(lambda w: f(w, x), (w,), (w,))
        assert vmap(grad(f), (None, 0))(w, x[:, None]).dtype is pb.float32
        program = trace(f)(w, x)
        assert pb.compile(f)(w, x).dtype is pb.float32 and linearize(lambda w: w @ w, w)[0].dtype is pb.bfloat16
    assert want.dtype is value.dtype is tangent.dtype is slope.dtype is pb.float32
    assert pb.equal(value, want) and pb.allclose(tangent, (slope * w).sum(), rtol=2e-2, atol=1e-3)
    assert pb.equal(lowered(w, x), want) and pb.equal(grad(lowered)(w, x), slope) and not pb.equal(f(w, x), want)
    assert pb.equal(program(w, x), want)
    assert pb.equal(vjp(lowered, w, x)[1](pb.ones(()))[0], slope)
    assert pb.equal(pb.utils.checkpoint.checkpoint(lowered, w, x, use_reentrant=False), want)


def test_checkpoints_run_again_as_they_ran() -> None:
    w = pb.randn(4, 4, requires_grad=True)
    with pb.autocast("cpu"):
        y = pb.utils.checkpoint.checkpoint(lambda w: (w @ w).tanh() @ w, w, use_reentrant=False)
    y.float().sum().backward()
    assert w.grad is not None
    got, w.grad = w.grad, None
    with pb.autocast("cpu"):
        y = (w @ w).tanh() @ w
    y.float().sum().backward()
    assert w.grad is not None and pb.equal(got, w.grad)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.norm, self.rest = nn.LayerNorm(32), nn.TransformerEncoderLayer(32, 2, 16, dropout=0.0, batch_first=True)
        self.memory, self.head = nn.GRU(32, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        x = self.rest(self.norm(self.image(x).flatten(1))[:, None])
        return self.head(self.memory(x)[0][:, 0])


def test_models_train() -> None:
    pb.manual_seed(0)
    net, x, target = Net(), pb.randn(16, 3, 8, 8), pb.randint(0, 4, (16,))
    optimizer, losses = pb.optim.Adam(net.parameters(), 3e-3), []
    for _ in range(30):
        optimizer.zero_grad()
        with pb.autocast("cpu", dtype=pb.bfloat16):
            out = net(x)
            loss = F.cross_entropy(out, target)
        assert out.dtype is pb.bfloat16 and loss.dtype is pb.float32
        loss.backward()
        assert all(p.grad is not None and p.grad.dtype is pb.float32 for p in net.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses
    parameters = {k: v.detach() for k, v in net.eval().named_parameters()}
    with pb.autocast("cpu"):
        slopes = grad(lambda p: F.cross_entropy(functional_call(net, p, (x,)), target))(parameters)
    assert all(s.dtype is pb.float32 for s in slopes.values())


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("floats", [pb.float32, pb.bfloat16])
def test_recurrent_layers(make: Any, floats: Any) -> None:
    layer = make(4, 3)
    with pb.autocast("cpu"):
        out = layer(pb.randn(5, 2, 4).to(floats))[0]
    assert out.dtype is (pb.float32 if make is nn.GRU else pb.bfloat16)
    out.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype is pb.float32 for p in layer.parameters())


def test_custom_functions() -> None:
    seen: list[Any] = []

    def note(*tensors: Any) -> None:
        seen.append((pb.is_autocast_enabled("cpu"), *(t.dtype for t in tensors)))

    class Single(pb.autograd.Function):
        @staticmethod
        @pb.amp.custom_fwd(device_type="cpu", cast_inputs=pb.float32)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            note(a, b)
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @pb.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            note(g)
            a, b = ctx.saved_tensors
            return g @ b.T, a.T @ g

    class AsItIs(pb.autograd.Function):
        @staticmethod
        @pb.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Any) -> Any:
            note(a)
            ctx.save_for_backward(a)
            return a @ a

        @staticmethod
        @pb.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            note(g, g @ a)
            return (g @ a.T + a.T @ g).to(a.dtype)

    w = pb.randn(3, 3, requires_grad=True)
    with pb.autocast("cpu"):
        out = Single.apply(w.bfloat16(), w)
    assert out.dtype is pb.float32
    out.sum().backward()
    assert seen == [(False, pb.float32, pb.float32), (False, pb.float32)]
    seen.clear()
    with pb.autocast("cpu", dtype=pb.float16):
        out = AsItIs.apply(w)
    assert out.dtype is pb.float16
    out.float().sum().backward()
    assert seen == [(True, pb.float32), (True, pb.float16, pb.float16)]
    seen.clear()
    assert AsItIs.apply(w).dtype is Single.apply(w, w).dtype is pb.float32
    assert seen == [(False, pb.float32), (False, pb.float32, pb.float32)]
    with pytest.raises(TypeError, match="device_type"):
        pb.amp.custom_fwd(lambda ctx: None)  # type: ignore[call-arg]


def test_scaled_gradients() -> None:
    w = pb.ones(2, requires_grad=True)
    optimizer = pb.optim.SGD([w], lr=0.5)
    scaler = pb.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    with pytest.raises(AssertionError, match="scale"):
        scaler.step(optimizer)
    scaler.scale((w * w).sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [2048.0] * 2
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [2.0] * 2
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    assert w.tolist() == [0.0, 0.0] and scaler.get_scale() == 1024.0
    w.grad = pb.zeros(2)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2048.0 and scaler.state_dict()["_growth_tracker"] == 0
    w.grad = pb.tensor([1.0, float("inf")])
    assert scaler.step(optimizer) is None and w.tolist() == [0.0, 0.0]
    scaler.update()
    assert scaler.get_scale() == 1024.0
    with pytest.warns(FutureWarning, match="deprecated"):
        other = pb.cpu.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert [t.dtype for t in other.scale([pb.ones(1), pb.ones(1).half()])] == [pb.float32, pb.float16]
    for wrong in (5, None):
        with pytest.raises(ValueError, match="Tensor or an iterable"):
            other.scale(wrong)
    with pytest.raises(RuntimeError, match="Closure"):
        other.step(optimizer, closure=lambda: None)
    half = pb.ones(1, dtype=pb.float16, requires_grad=True)
    other.scale(half.sum() * 0).backward()
    with pytest.raises(ValueError, match="FP16"):
        other.step(pb.optim.SGD([half], lr=1.0))
    other.update(8.0)
    assert other.get_scale() == 8.0
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})
    with pytest.warns(UserWarning, match="no device 'cuda'"):
        assert not pb.amp.GradScaler().is_enabled()


def test_optimisers_that_scale_back_themselves() -> None:
    seen: list[Any] = []

    class Own(pb.optim.SGD):
        _step_supports_amp_scaling = True
        grad_scale: Any
        found_inf: Any

        def step(self, closure: Any = None) -> Any:
            seen.append((self.grad_scale, self.found_inf.item()))

    class Older(Own):
        def step(self, closure: Any = None, *, grad_scaler: Any = None) -> Any:  # type: ignore[override]
            seen.append(grad_scaler)

    w = pb.ones(2, requires_grad=True)
    scaler = pb.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(w.sum()).backward()
    own, older = Own([w], lr=1.0), Older([w], lr=1.0)
    scaler.step(own)
    assert seen[0][0].item() == 4.0 and seen[0][1] == 0.0 and not hasattr(own, "grad_scale")
    assert w.grad is not None and w.grad.tolist() == [4.0, 4.0], "as they are"
    with pytest.warns(FutureWarning, match="use the attributes grad_scale and found_inf"):
        scaler.step(older)
    assert seen[1] is scaler
    scaler.update()
    scaler.unscale_(own)
    w.grad[0] = float("inf")
    scaler.step(own)
    assert seen[2] == (None, 0.0)


def test_dtypes_that_are_none() -> None:
    with pytest.raises(TypeError, match=r"set_autocast_dtype\(\): argument 'dtype' must be a pullback.dtype, not str"):
        pb.set_autocast_dtype("cpu", "bfloat16")  # type: ignore[arg-type]
    assert pb.get_autocast_dtype("cpu") is pb.bfloat16
