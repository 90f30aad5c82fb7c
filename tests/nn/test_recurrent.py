"""Recurrent layers against their equations, written step by step in small operators, under every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap

KINDS = ("RNN_TANH", "RNN_RELU", "GRU", "LSTM")


def step(kind: str, x: Any, state: tuple[Any, ...], w: dict[str, Any], suffix: str) -> tuple[Any, ...]:
    gates = x @ w[f"weight_ih{suffix}"].mT + w[f"bias_ih{suffix}"]
    of_state = state[0] @ w[f"weight_hh{suffix}"].mT + w[f"bias_hh{suffix}"]
    if kind == "GRU":
        (xr, xz, xn), (hr, hz, hn) = gates.chunk(3, -1), of_state.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        n = (xn + r * hn).tanh()
        return ((1 - z) * n + z * state[0],)
    if kind == "LSTM":
        i, f, g, o = (gates + of_state).chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    return ((gates + of_state).tanh() if kind == "RNN_TANH" else (gates + of_state).relu(),)


def by_steps(kind: str, w: dict[str, Any], x: Any, states: tuple[Any, ...], layers: int, both: bool) -> Any:
    """Output and last states of layers over (T, N, features)."""
    ends: list[tuple[Any, ...]] = []
    for layer in range(layers):
        outs = []
        for d in range(2 if both else 1):
            state = tuple(s[len(ends)] for s in states)
            steps, own = list(x), []
            for row in reversed(steps) if d else steps:
                state = step(kind, row, state, w, f"_l{layer}{'_reverse' if d else ''}")
                own.append(state[0])
            outs.append(pb.stack(own[::-1] if d else own))
            ends.append(state)
        x = pb.cat(outs, -1)
    return x, tuple(pb.stack([e[i] for e in ends]) for i in range(len(states)))


def layer_of(kind: str, layers: int = 1, both: bool = False, units: int = 3) -> Any:
    pb.manual_seed(1)
    options: dict[str, Any] = {"num_layers": layers, "bidirectional": both, "dtype": pb.float64}
    if kind.startswith("RNN"):
        return nn.RNN(2, units, nonlinearity=kind[4:].lower(), **options)
    return getattr(nn, kind)(2, units, **options)


def inputs(m: Any, kind: str, steps: int = 4, batch: int = 2) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    pb.manual_seed(2)
    rows = m.num_layers * (2 if m.bidirectional else 1)
    states = tuple(pb.randn(rows, batch, 3, dtype=pb.float64) for _ in range(2 if kind == "LSTM" else 1))
    return pb.randn(steps, batch, 2, dtype=pb.float64), states, {k: p.detach() for k, p in m.named_parameters()}


def programs(kind: str, m: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The module's loss and that of the equations, of weights, input and states; all outputs matter."""

    def loss(out: Any, ends: Any) -> Any:
        return (out.sin() * pb.arange(1.0, out.numel() + 1, dtype=pb.float64).reshape(out.shape)).sum() + sum(
            (i + 2) * (e * e).sum() for i, e in enumerate(ends)
        )

    def ours(w: Any, x: Any, states: Any) -> Any:
        out, ends = functional_call(m, w, (x, states if kind == "LSTM" else states[0]))
        return loss(out, ends if kind == "LSTM" else (ends,))

    def plain(w: Any, x: Any, states: Any) -> Any:
        return loss(*by_steps(kind, w, x, states, m.num_layers, m.bidirectional))

    return ours, plain


def close(a: Any, b: Any) -> None:
    left, right = pb.utils.pytree.tree_flatten(a)[0], pb.utils.pytree.tree_flatten(b)[0]
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        assert x.shape == y.shape and pb.allclose(x, y, rtol=1e-8, atol=1e-9), (x - y).abs().max()


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients(kind: str, both: bool) -> None:
    m = layer_of(kind, 2, both)
    x, states, w = inputs(m, kind)
    ours, plain = programs(kind, m)
    close(ours(w, x, states), plain(w, x, states))
    close(grad(ours, (0, 1, 2))(w, x, states), grad(plain, (0, 1, 2))(w, x, states))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_and_second_derivatives(kind: str, both: bool) -> None:
    m = layer_of(kind, 1, both)
    x, states, w = inputs(m, kind, 3)
    ours, plain = programs(kind, m)
    point, along = (w, x, states), ({k: p.cos() for k, p in w.items()}, x.cos(), tuple(s.cos() for s in states))
    close(jvp(ours, point, along), jvp(plain, point, along))
    gradients = [grad(f, (0, 1, 2)) for f in (ours, plain)]
    close(jvp(gradients[0], point, along)[1], jvp(gradients[1], point, along)[1])

    def total(g: Any) -> Any:
        return lambda *a: sum(t.sin().sum() for t in pb.utils.pytree.tree_flatten(g(*a))[0])

    twice = [grad(total(g), (0, 1, 2)) for g in gradients]
    close(twice[0](*point), twice[1](*point))
    for program in (lambda f: hessian(f, 1), lambda f: jacfwd(jacfwd(f, 1), 1), lambda f: jacrev(jacrev(f, 1), 0)):
        close(program(ours)(*point), program(plain)(*point))


@pytest.mark.parametrize("kind", KINDS)
def test_third_derivatives(kind: str) -> None:
    m = layer_of(kind)
    x, states, w = inputs(m, kind, 2, 1)
    ours, plain = programs(kind, m)

    def third(f: Any) -> Any:
        def along(a: Any) -> Any:
            return f(w, x * (1 + a), states)

        return grad(lambda a: jvp(grad(along), (a,), (pb.ones_like(a),))[1])(pb.tensor(0.3, dtype=pb.float64))

    close(third(ours), third(plain))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_inputs_states_and_weights(kind: str) -> None:
    m = layer_of(kind, 1, True)
    x, states, w = inputs(m, kind)
    ours, plain = programs(kind, m)
    many = (
        {k: pb.stack([p, 2 * p, p.sin()]) for k, p in w.items()},
        pb.stack([x, x.cos(), -x]),
        tuple(pb.stack([s, -s, s.sin()]) for s in states),
    )
    for which in ((None, 0, 0), (0, None, None), (0, 0, None), (None, None, 0), (None, 0, None), (0, 0, 0)):
        args = [many[i] if d == 0 else (w, x, states)[i] for i, d in enumerate(which)]
        for program in (
            lambda f: f,
            lambda f: grad(f, (0, 1, 2)),
            lambda f: lambda *a: jvp(lambda x: f(a[0], x, a[2]), (a[1],), (a[1],)),
        ):
            close(vmap(program(ours), which)(*args), vmap(program(plain), which)(*args))
    # Batches in batches, and a gradient around them.
    twice = [vmap(vmap(f, (None, 0, None)), (0, None, None)) for f in (ours, plain)]
    close(*(f(many[0], many[1], states) for f in twice))
    outer = [grad(lambda w, f=f: f(w, many[1], states).sum()) for f in twice]
    close(*(g(many[0]) for g in outer))
    inner = [grad(lambda w, f=f: vmap(f, (None, 0, None))(w, many[1], states).sum()) for f in (ours, plain)]
    close(*(g(w) for g in inner))


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_are_their_sequences(kind: str) -> None:
    from pullback.nn.utils.rnn import pack_sequence, pad_packed_sequence

    m = layer_of(kind, 2, True)
    x, states, w = inputs(m, kind, 5, 4)
    lengths = (3, 5, 1, 3)

    def packed(w: Any, x: Any, states: Any) -> Any:
        pack = pack_sequence([x[:n, i] for i, n in enumerate(lengths)], enforce_sorted=False)
        out, ends = functional_call(m, w, (pack, states if kind == "LSTM" else states[0]))
        return pad_packed_sequence(out)[0], ends if kind == "LSTM" else (ends,)

    def alone(w: Any, x: Any, states: Any) -> Any:
        all_ = [by_steps(kind, w, x[:n, i : i + 1], tuple(s[:, i : i + 1] for s in states), 2, True)
                for i, n in enumerate(lengths)]  # fmt: skip
        out = pb.cat([nn.functional.pad(o, (0, 0, 0, 0, 0, 5 - len(o))) for o, _ in all_], 1)
        return out, tuple(pb.cat([e[i] for _, e in all_], 1) for i in range(len(states)))

    def loss(f: Any) -> Any:
        return lambda *a: sum((i + 1) * t.sin().sum() for i, t in enumerate(pb.utils.pytree.tree_flatten(f(*a))[0]))

    close(packed(w, x, states), alone(w, x, states))
    gradients = [grad(loss(f), (0, 1, 2)) for f in (packed, alone)]
    close(*(g(w, x, states) for g in gradients))
    along = ({k: p.cos() for k, p in w.items()}, x.cos(), tuple(s.cos() for s in states))
    close(*(jvp(g, (w, x, states), along)[1] for g in gradients))


@pytest.mark.parametrize("dtype", [pb.float32, pb.bfloat16, pb.float16])
@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_other_dtypes(kind: str, dtype: pb.dtype) -> None:
    m = layer_of(kind, 1, True)
    x, states, w = inputs(m, kind)
    want = by_steps(kind, w, x, states, 1, True)[0]
    weights = [w[n].to(dtype) for n in m._flat_weights_names]
    function = pb.lstm if kind == "LSTM" else pb.gru
    hx = [s.to(dtype) for s in states]
    out = function(x.to(dtype), hx if kind == "LSTM" else hx[0], weights, True, 1, 0.0, False, True)[0]
    assert out.dtype == dtype
    near = 1e-5 if dtype == pb.float32 else 3e-2
    assert pb.allclose(out.double(), want, atol=near, rtol=near)


@pytest.mark.parametrize("kind", KINDS)
def test_programs_keep_layers_as_one_step(kind: str) -> None:
    m = layer_of(kind)
    x, states, w = inputs(m, kind)
    ours, _ = programs(kind, m)
    layers = {"RNN_TANH": pb.rnn_tanh, "RNN_RELU": pb.rnn_relu, "GRU": pb.gru, "LSTM": pb.lstm}

    def layer(x: Any, states: Any, weights: Any) -> Any:
        hx = list(states) if kind == "LSTM" else states[0]
        return layers[kind](x, hx, weights, True, 1, 0.0, False, False)

    weights = [w[name] for name in m._flat_weights_names]
    program = pb.func.trace(layer)(x, states, weights)
    assert str(program).count(" = recurrent(") == 1
    for run in (program, pb.func.Program.from_bytes(program.to_bytes())):
        close(run(x.cos(), states, weights)[0], layer(x.cos(), states, weights)[0])
    assert tuple(pb.func.eval_shape(lambda x: ours(w, x, states))(x).shape) == ()


def test_layers_that_do_not_fit_are_refused() -> None:
    x, h, w = pb.ones(3, 2, 4), pb.zeros(1, 2, 5), [pb.ones(20, 4), pb.ones(20, 5)]
    with pytest.raises(RuntimeError, match="two hidden states"):
        pb.lstm(x, [h], w, False, 1, 0.0, False, False)
    with pytest.raises(RuntimeError, match="params for each of 2 layers"):
        pb.lstm(x, [h, h], w, False, 2, 0.0, False, False)
    with pytest.raises(RuntimeError, match="w_hh"):
        pb.lstm(x, [h, h], [w[0], pb.ones(20, 6)], False, 1, 0.0, False, False)
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        pb.lstm(x[:0], [h, h], w, False, 1, 0.0, False, False)
    with pytest.raises(RuntimeError, match="batch_sizes must be positive"):
        pb.lstm(pb.ones(3, 4), [h, h], w, False, 1, 0.0, False, False, batch_sizes=[1, 2])
    with pytest.raises(RuntimeError, match="same dtype"):
        pb.lstm(x.double(), [h, h], w, False, 1, 0.0, False, False)
    with pytest.raises(RuntimeError, match="'b_ih' and 'b_hh'"):
        pb.gru_cell(pb.ones(2, 4), pb.ones(2, 5), pb.ones(15, 4), pb.ones(15, 5), pb.ones(15))


def test_an_input_that_does_not_fit_says_what_would() -> None:
    text = r"GRU: input.size\(-1\) must be equal to input_size. Expected 3, got 5; make the module with input_size=5"
    with pytest.raises(RuntimeError, match=text):
        nn.GRU(3, 4)(pb.ones(2, 5))
    with pytest.raises(RuntimeError, match=r"LSTM: input must have 3 dimensions, got 2; reshape\(\) it"):
        nn.LSTM(3, 4).check_input(pb.ones(2, 3), None)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_flags_and_sizes_of_layers(kind: Any) -> None:
    for options in ({"bias": 0.5}, {"bias": 1}, {"batch_first": "False"}):
        name, value = next(iter(options.items()))
        got = f"{type(value).__name__} {value!r}"
        text = rf"{kind.__name__}\(\): {name} should be of type bool, got: {got}; give True or False"
        with pytest.raises(TypeError, match=text):
            kind(3, 5, **options)
    with pytest.raises(TypeError, match="input_size should be of type int, got: str"):
        kind("3", 5)
    with pytest.raises(ValueError, match="input_size must be greater than zero, got 0"):
        kind(0, 5)
    text = r"RNN input dtype .* does not match weight .*\. Convert input: input\.to\(.*\), or convert model: model\.to"
    with pytest.raises(ValueError, match=text):
        kind(3, 5)(pb.ones(2, 3, dtype=pb.float64))
