"""Modules as functions of their tensors, and stacks of them."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import functorch, nn
from pullback.func import functional_call, grad, jacrev, stack_module_state, vmap


def net() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


def test_gradients_are_those_of_backward() -> None:
    m, x = net(), pb.randn(5, 2)
    params = dict(m.named_parameters())
    got = grad(lambda p: functional_call(m, p, x).sum())(params)
    m(x).sum().backward()
    for name, p in params.items():
        assert p.grad is not None and pb.allclose(got[name], p.grad)


def test_per_sample_gradients() -> None:
    m, x = net(), pb.randn(5, 2)
    params = {k: v.detach() for k, v in m.named_parameters()}
    one = grad(lambda p, row: functional_call(m, p, (row,)).sum())
    together = vmap(one, in_dims=(None, 0))(params, x)
    for i in range(5):
        for name, g in one(params, x[i]).items():
            assert pb.allclose(together[name][i], g, atol=1e-6)


def test_the_module_has_its_tensors_again() -> None:
    m = net()
    before = dict(m.named_parameters())

    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = m

        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        functional_call(Broken(), {"inner.0.weight": pb.zeros(3, 2)}, pb.ones(2))
    assert all(p is before[name] for name, p in m.named_parameters())


def test_what_does_not_fit() -> None:
    m = net()
    with pytest.raises(RuntimeError, match="0.weight has shape"):
        functional_call(m, {"0.weight": pb.zeros(2, 3)}, pb.ones(2))
    with pytest.raises(TypeError, match="not an instance"):
        functional_call(m, {"0.weight": 3}, pb.ones(2))
    with pytest.raises(AttributeError, match="no attribute `7`"):
        functional_call(m, {"7.weight": pb.zeros(1)}, pb.ones(2))
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(m, ({"0.bias": pb.zeros(3)}, {"0.bias": pb.zeros(3)}), pb.ones(2))
    with pytest.raises(ValueError, match="list/tuple of dicts"):
        functional_call(m, 3, pb.ones(2))
    with pytest.raises(TypeError):
        functional_call(lambda x: x, {}, pb.ones(2))  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="'0.wieght' .did you mean '0.weight'"):
        functional_call(m, {"0.wieght": pb.zeros(3, 2)}, pb.ones(2))
    assert not hasattr(m[0], "wieght")
    with pytest.raises(RuntimeError, match=r"Unexpected key.*'0.wieght'.*Missing key.*'0.bias'"):
        functional_call(m, {"0.weight": pb.zeros(3, 2), "0.wieght": pb.zeros(1)}, pb.ones(2), strict=True)


def test_tied_tensors() -> None:
    m = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    m[1].weight = m[0].weight
    x, w = pb.ones(2), 2 * pb.eye(2)
    assert functional_call(m, {"0.weight": w}, x).tolist() == [4, 4]
    own = m[0].weight.detach()
    assert pb.allclose(functional_call(m, {"0.weight": w}, x, tie_weights=False), 2 * own.sum(1))
    with pytest.raises(ValueError, match="are tied"):
        functional_call(m, {"0.weight": w, "1.weight": w.clone()}, x)
    functional_call(m, {"0.weight": w}, x, strict=True)


def test_what_a_forward_puts_in_place_is_given_back() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", pb.zeros(1))

        def forward(self) -> Any:
            self.count = self.count + 1
            return self.count

    m, state = Counter(), {"count": pb.tensor([5.0])}
    functional_call(m, state)
    assert state["count"].item() == 6 and m.count.item() == 0


def test_ensembles() -> None:
    models = [net() for _ in range(4)]
    params, buffers = stack_module_state(models)
    assert all(p.requires_grad and p.is_leaf for p in params.values())
    x = pb.randn(3, 2)
    out = vmap(lambda p, b: functional_call(models[0], (p, b), x))(params, buffers)
    for i, m in enumerate(models):
        assert pb.allclose(out[i], m(x), atol=1e-6)
    f, stacked, empty = functorch.combine_state_for_ensemble(models)
    assert pb.allclose(vmap(f, in_dims=(0, 0, None))(stacked, empty, x), out, atol=1e-6)
    for wrong, message in (
        ([], "at least one"),
        ([net(), net().eval()], "training/eval"),
        ([nn.Linear(1, 1), nn.Tanh()], "same class"),
        ([nn.Linear(1, 1), nn.Linear(1, 2)], "different shapes"),
        ([nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(False)], "same .requires_grad"),
    ):
        with pytest.raises(RuntimeError, match=message):
            stack_module_state(wrong)


def test_functions_of_functorch() -> None:
    m, x = net(), pb.randn(3, 2)
    f, params = functorch.make_functional(m)
    assert pb.allclose(f(params, x), m(x)) and params[0].requires_grad
    assert not functorch.make_functional(m, disable_autograd_tracking=True)[1][0].requires_grad
    norm = nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(norm)
    g, p, b = functorch.make_functional_with_buffers(norm)
    assert pb.allclose(g(p, b, x), nn.BatchNorm1d(2)(x), atol=1e-6) and b[2].item() == 1


def test_norms_in_training_under_transforms() -> None:
    models = [nn.BatchNorm1d(3) for _ in range(4)]
    params, buffers = stack_module_state(models)
    x = pb.randn(4, 5, 3)
    out = vmap(lambda p, b, row: functional_call(models[0], (p, b), row))(params, buffers, x)
    for i, m in enumerate(models):
        assert pb.allclose(out[i], m(x[i]), atol=1e-5)
        assert pb.allclose(buffers["running_mean"][i], m.running_mean)
        assert pb.allclose(buffers["running_var"][i], m.running_var)
    assert buffers["num_batches_tracked"].tolist() == [1] * 4
    with pytest.raises(RuntimeError, match="stack_module_state.*GroupNorm"):
        vmap(nn.BatchNorm1d(3))(x)
    m = nn.BatchNorm1d(3)
    jacobian = jacrev(m)(x[0])
    twin = nn.BatchNorm1d(3)
    assert jacobian.shape == (5, 3, 5, 3)
    assert pb.allclose(jacobian, pb.func.jacfwd(twin)(x[0]), atol=1e-5)
    assert pb.allclose(m.running_mean, 0.1 * x[0].mean(0)) and m.num_batches_tracked.item() == 1


def test_a_lazy_module_with_its_own_parameters_gets_shapes() -> None:
    m = nn.LazyLinear(3)
    assert functional_call(m, dict(m.named_parameters()), (pb.ones(2, 5),)).shape == (2, 3)
    assert type(m) is nn.Linear and m.weight.shape == (3, 5)
