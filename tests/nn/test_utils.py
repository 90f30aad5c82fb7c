"""Tools of `nn.utils`, and `nn.init`."""

from __future__ import annotations

import copy
import doctest
import importlib
import pkgutil
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.nn import utils
from pullback.nn.utils import parametrizations, parametrize, prune, rnn


def private_modules() -> list[str]:
    found = pkgutil.walk_packages(nn.__path__, "pullback.nn.")
    return sorted(info.name for info in found if "._" in info.name)


@pytest.mark.parametrize("name", private_modules())
def test_examples_of_private_files(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    report: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(
        importlib.import_module(name), globs={"pullback": pb}
    ):
        runner.run(example, out=report.append)
    assert not report, "".join(report)


def test_clipping() -> None:
    p = [nn.Parameter(pb.zeros(2)), nn.Parameter(pb.zeros(1)), nn.Parameter(pb.zeros(1))]
    p[0].grad, p[1].grad = pb.tensor([3.0, 0.0]), pb.tensor([4.0])
    assert utils.clip_grad_norm_(iter(p), 1.0).item() == 5
    assert abs(utils.get_total_norm([q.grad for q in p if q.grad is not None]).item() - 1) < 1e-5
    assert utils.clip_grad_norm_(p, 10.0, norm_type=float("inf")).item() == pytest.approx(0.8)
    utils.clip_grad_value_(p, 0.5)
    assert p[0].grad is not None and p[0].grad.tolist() == [0.5, 0.0]
    p[1].grad = pb.tensor([float("nan")])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


def test_vectors() -> None:
    m = nn.Linear(2, 3)
    flat = utils.parameters_to_vector(m.parameters())
    assert flat.shape == (9,)
    utils.vector_to_parameters(pb.arange(9.0), m.parameters())
    assert m.weight.shape == (3, 2) and m.bias is not None and m.bias.tolist() == [6, 7, 8]


@pytest.mark.parametrize("batch_first", [False, True])
def test_packing(batch_first: bool) -> None:
    parts = [pb.randn(n, 2) for n in (2, 4, 3)]
    padded = rnn.pad_sequence(parts, batch_first=batch_first, padding_value=7.0)
    packed = rnn.pack_padded_sequence(padded, [2, 4, 3], batch_first=batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1] and packed.sorted_indices is not None
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=batch_first, padding_value=7.0)
    assert pb.equal(back, padded) and lengths.tolist() == [2, 4, 3]
    longer, _ = rnn.pad_packed_sequence(packed, batch_first=batch_first, total_length=6)
    assert longer.shape[1 if batch_first else 0] == 6
    for got, part in zip(rnn.unpack_sequence(packed), parts, strict=True):
        assert pb.equal(got, part)
    for got, part in zip(rnn.unpad_sequence(padded, lengths, batch_first), parts, strict=True):
        assert pb.equal(got, part)
    assert packed.double().data.dtype == pb.float64
    with pytest.raises(RuntimeError, match="decreasing order"):
        rnn.pack_sequence(parts)
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(padded, [4, 3, 0], batch_first)
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(packed, total_length=2)


def test_packed_sequences_run_like_each_alone() -> None:
    m = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    parts = [pb.randn(n, 2) for n in (4, 2, 3)]
    out, (h, c) = m(rnn.pack_sequence(parts, enforce_sorted=False))
    for i, (got, part) in enumerate(zip(rnn.unpack_sequence(out), parts, strict=True)):
        alone, (h1, c1) = m(part)
        assert pb.allclose(got, alone, atol=1e-6)
        assert pb.allclose(h[:, i], h1, atol=1e-6) and pb.allclose(c[:, i], c1, atol=1e-6)


@pytest.mark.parametrize("transpose", [False, True])
def test_fusion(transpose: bool) -> None:
    conv: Any = nn.ConvTranspose2d(2, 3, 2) if transpose else nn.Conv2d(2, 3, 2, bias=False)
    bn = nn.BatchNorm2d(3)
    x = pb.randn(2, 2, 4, 4)
    bn(conv(x))
    conv.eval(), bn.eval()
    assert pb.allclose(utils.fuse_conv_bn_eval(conv, bn, transpose)(x), bn(conv(x)), atol=1e-5)
    lin, norm = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
    rows = pb.randn(4, 2)
    assert pb.allclose(utils.fuse_linear_bn_eval(lin, norm)(rows), norm(lin(rows)), atol=1e-5)
    with pytest.raises(AssertionError, match="eval"):
        utils.fuse_conv_bn_eval(conv.train(), bn)


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2

    def right_inverse(self, x: Any) -> Any:
        return x / 2


def test_parametrizations_of_ones_own() -> None:
    m = nn.Linear(2, 2)
    before = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Doubled())
    assert parametrize.is_parametrized(m, "weight") and not parametrize.is_parametrized(m, "bias")
    assert type(m) is not nn.Linear and parametrize.type_before_parametrizations(m) is nn.Linear
    assert pb.allclose(m.weight, before)
    m.weight = pb.eye(2)
    assert pb.equal(m.parametrizations.weight.original.detach(), pb.eye(2) / 2)
    m(pb.ones(1, 2)).sum().backward()
    assert m.parametrizations.weight.original.grad is not None
    twin = copy.deepcopy(m)
    assert (
        pb.equal(twin.weight, m.weight)
        and twin.parametrizations.weight.original is not m.parametrizations.weight.original
    )
    with pytest.raises(RuntimeError, match="state_dict"):
        m.__getstate__()
    parametrize.register_parametrization(m, "weight", Doubled())
    assert len(m.parametrizations.weight) == 2
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and isinstance(m.weight, nn.Parameter) and "weight" in m._parameters
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(m, "nothing", Doubled())

    class Smaller(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Smaller())


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("based", [True, False])
def test_orthogonal(shape: tuple[int, int], kind: str, based: bool) -> None:
    m = nn.Linear(*shape).double()
    parametrizations.orthogonal(m, orthogonal_map=kind, use_trivialization=based)

    def check() -> None:
        w = m.weight if m.weight.shape[0] >= m.weight.shape[1] else m.weight.mT
        assert pb.allclose(w.mT @ w, pb.eye(w.shape[1], dtype=pb.float64), atol=1e-10)

    check()
    m(pb.ones(1, shape[0], dtype=pb.float64)).sum().backward()
    original = m.parametrizations.weight.original
    original.data = original - 0.1 * original.grad
    if kind != "householder":
        check()
    target = nn.init.orthogonal_(pb.empty(shape[1], shape[0], dtype=pb.float64))
    if based or kind == "householder":
        m.weight = target
        assert pb.allclose(m.weight, target, atol=1e-9)
    else:
        with pytest.raises(NotImplementedError):
            m.weight = target


def test_norms_of_weights() -> None:
    old, new = nn.utils.weight_norm(nn.Linear(3, 2)), parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    x = pb.randn(4, 3)
    assert pb.allclose(old(x), new(x))
    y = old(x)
    utils.remove_weight_norm(old)
    assert pb.allclose(old(x), y) and isinstance(old.weight, nn.Parameter)
    for made in (utils.spectral_norm(nn.Linear(3, 2)), parametrizations.spectral_norm(nn.Linear(3, 2))):
        for _ in range(100):
            made(x)
        assert pb.linalg.svdvals(made.weight.detach()).max().item() == pytest.approx(1, abs=1e-3)
        made.eval()
        assert pb.equal(made(x), made(x))
    with pytest.raises(ValueError, match="not found"):
        utils.remove_spectral_norm(nn.Linear(1, 1))


def test_pruning() -> None:
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", amount=2)
    smallest = m.weight_orig.detach().abs().reshape(-1).sort().values[1]
    assert pb.equal(m.weight == 0, m.weight_orig.abs() <= smallest)
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    assert (m.weight_mask.sum(1) == 0).sum() == 1 and prune.is_pruned(m)
    m(pb.ones(1, 4)).sum().backward()
    assert pb.equal(m.weight_orig.grad == 0, m.weight_mask == 0)
    prune.remove(m, "weight")
    assert isinstance(m.weight, nn.Parameter) and not prune.is_pruned(m)
    pair = [nn.Linear(4, 3), nn.Linear(3, 2)]
    prune.global_unstructured([(q, "weight") for q in pair], prune.L1Unstructured, amount=9)
    assert sum(int((q.weight == 0).sum()) for q in pair) == 9
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(m, "weight")
    with pytest.raises(ValueError, match="amount"):
        prune.random_unstructured(m, "weight", amount=1.5)


def test_initial_values() -> None:
    pb.manual_seed(0)
    w = pb.empty(200, 100)
    assert nn.init.trunc_normal_(w, std=2.0, a=-1.0, b=3.0).min() >= -1 and w.max() <= 3
    nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")
    assert w.std().item() == pytest.approx((2 / 200) ** 0.5, rel=0.05)
    nn.init.orthogonal_(w, gain=2.0)
    assert pb.allclose(w.mT @ w, 4 * pb.eye(100), atol=1e-4)
    nn.init.sparse_(w, 0.25)
    assert ((w == 0).sum(0) == 50).all()
    nn.init.dirac_(k := pb.empty(4, 2, 3), groups=2)
    assert k.sum() == 4 and k[2, 0, 1] == 1
    assert pb.equal(nn.init.eye_(pb.empty(2, 3)), pb.eye(2, 3))
    p = nn.Parameter(pb.zeros(2, 2))
    assert nn.init.ones_(p) is p and p.requires_grad and p.is_leaf
    for call in (
        lambda: nn.init.xavier_normal_(pb.empty(3)),
        lambda: nn.init.eye_(pb.empty(3)),
        lambda: nn.init.dirac_(pb.empty(3, 3)),
        lambda: nn.init.kaiming_uniform_(pb.empty(3, 3), mode="none"),
        lambda: nn.init.calculate_gain("none"),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.warns(FutureWarning, match="uniform_"):
        nn.init.uniform(pb.empty(2))


def test_the_older_weight_norm_tells_of_the_newer() -> None:
    with pytest.warns(FutureWarning, match=r"in favor of `nn\.utils\.parametrizations\.weight_norm`"):
        nn.utils.weight_norm(nn.Linear(3, 2))


def test_the_norm_of_mixed_dtypes_is_the_widest() -> None:
    parts = [pb.zeros(2), pb.full((4,), 1 / 7, dtype=pb.float64)]
    assert nn.utils.get_total_norm(parts).item() == pytest.approx(2 / 7, rel=1e-14)


def test_only_generators_warn_of_nothing_to_clip() -> None:
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
    with pytest.warns(UserWarning, match="empty generator"):
        nn.utils.clip_grad_norm_((p for p in ()), 1.0)


def test_what_cannot_be_pruned_stays_as_it_was() -> None:
    m = nn.Linear(2, 2, bias=False)
    m.weight_orig = 3
    with pytest.raises(KeyError, match="weight_orig"):
        prune.l1_unstructured(m, "weight", 0.5)
    assert [name for name, _ in m.named_parameters()] == ["weight"]
    with pytest.raises(TypeError, match="expected a Parameter, got NoneType"):
        prune.l1_unstructured(m, "bias", 1)
    with pytest.raises(TypeError, match="expected a Parameter"):
        prune.l1_unstructured(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), "weight", 1)


def test_pruned_elements_count_as_zero_for_the_next_method() -> None:
    m = nn.Linear(3, 2)
    with pb.no_grad():
        m.weight.copy_(pb.tensor([[9.0, 1.0, 2.0], [9.0, 2.0, 3.0]]))
    prune.custom_from_mask(m, "weight", pb.tensor([[0, 1, 1], [0, 1, 1]]))
    prune.ln_structured(m, "weight", 1, n=1, dim=0)
    assert m.weight_mask.tolist() == [[0, 0, 0], [0, 1, 1]]
