"""Modules in files: those that PyTorch wrote (`tests/data/modules.pt`), and the names under which ours are written."""

from __future__ import annotations

import copy
import io
import warnings
from importlib import import_module
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.testing import assert_close
from support import saved

# Where PyTorch has its classes.
HOMES = {
    "modules.pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d "
        "LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"
    ),
    "modules.adaptive": "AdaptiveLogSoftmaxWithLoss",
    "modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "modules.loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
        "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss "
        "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss "
        "SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
    ),
    "modules.batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm"
    ),
    "modules.linear": "Bilinear Identity LazyLinear Linear",
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "modules.activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
        "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus "
        "Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "modules.channelshuffle": "ChannelShuffle",
    "modules.padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
        "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d "
        "ZeroPad2d ZeroPad3d"
    ),
    "modules.conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d "
        "LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "modules.distance": "CosineSimilarity PairwiseDistance",
    "modules.normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "parallel.data_parallel": "DataParallel",
    "modules.sparse": "Embedding EmbeddingBag",
    "modules.flatten": "Flatten Unflatten",
    "modules.fold": "Fold Unfold",
    "modules.rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "modules.instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
    ),
    "modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "modules.module": "Module",
    "modules.container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "modules.transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
    "modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}


@pytest.fixture(scope="module")
def theirs() -> Any:
    return pb.load(saved.FOLDER / "modules.pt", weights_only=False)


@pytest.mark.parametrize("name", ["pool", "encoder", "spectral", "lengths", "pruned", "recurrent"])
def test_modules_of_pytorch_compute_what_they_did(theirs: Any, name: str) -> None:
    module, shape, want = theirs[name]
    out = module(saved.numbers(pb, *shape))
    assert_close(out[0] if isinstance(out, tuple) else out, want, atol=1e-6, rtol=1e-5)
    module.load_state_dict(module.state_dict())
    assert type(module).__module__.startswith("pullback.nn")


def test_functions_of_pytorch_are_found(theirs: Any) -> None:
    x = pb.tensor([-0.5, 2.0])
    for got, ours in zip(theirs["functions"], saved.functions(pb), strict=True):
        assert_close(got(x), ours(x))


def test_options_of_a_loss(theirs: Any) -> None:
    assert repr(theirs["loss"]) == repr(nn.LinearCrossEntropyLoss(2, 3))
    assert theirs["loss"](pb.ones(4, 2), pb.tensor([0, 1, 2, 0])).shape == ()


@pytest.mark.parametrize("home", list(HOMES))
def test_classes_are_written_where_pytorch_has_them(home: str) -> None:
    module = import_module(f"pullback.nn.{home}")
    for name in HOMES[home].split():
        kind = getattr(module, name)
        assert kind is getattr(nn, name)
        file = io.BytesIO()
        pb.save(kind, file)
        assert f"torch.nn.{home}\n{name}\n".encode() in file.getvalue(), name


def test_state_of_recurrent_modules_is_whole() -> None:
    """PyTorch calls a loaded module with the list of its weights."""
    net = nn.GRU(2, 3)
    assert [w is p for w, p in zip(net.__getstate__()["_flat_weights"], net.parameters(), strict=True)] == [True] * 4
    file = io.BytesIO()
    pb.save(net, file)
    assert b"_flat_weights" in file.getvalue()
    file.seek(0)
    x = pb.randn(4, 1, 2)
    assert pb.load(file, weights_only=False)(x)[0].equal(net(x)[0])


def test_first_version_of_spectral_norms() -> None:
    """It saved the computed weight instead of the second vector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = nn.utils.spectral_norm(nn.Linear(3, 4).double())
        other = nn.utils.spectral_norm(nn.Linear(3, 4).double())
    net(pb.ones(1, 3, dtype=pb.float64))
    # The vectors of the first version belonged to each other exactly.
    state = dict(net.state_dict())
    state["weight"] = net.weight.detach()
    v = state.pop("weight_v")
    other.load_state_dict(state)
    assert_close(other.eval().weight_orig, net.weight_orig)
    sigma = (state["weight_u"] * (state["weight_orig"] @ other.weight_v)).sum()
    assert_close(sigma, (state["weight_orig"] / state["weight"]).mean())
    assert other.weight_v.shape == v.shape


class Own(nn.Linear):
    """Gives all its attributes as its state, as old programs do."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__


@pytest.mark.parametrize("kind", [nn.Linear, nn.GRU, nn.MultiheadAttention, Own])
def test_modules_load_with_weights_only_where_their_classes_are_named(kind: Any) -> None:
    """What a module keeps its parameters in is no class of which `load` has to be told."""
    net = nn.Sequential(kind(4, 2), nn.ModuleDict({"a": nn.BatchNorm1d(2)}))
    file = io.BytesIO()
    pb.save(net, file)
    file.seek(0)
    named = {type(m) for m in net.modules()}
    with pb.serialization.safe_globals(list(named)):
        loaded = pb.load(file)
    assert {type(m) for m in loaded.modules()} == named
    theirs, ours = loaded.state_dict(), net.state_dict()
    assert list(theirs) == list(ours) and all(pb.equal(theirs[k], ours[k]) for k in ours)
    loaded[0].register_parameter("more", nn.Parameter(pb.ones(1)))
    assert loaded[0].more is dict(loaded[0].named_parameters())["more"] and not hasattr(net[0], "more")


def test_copies_of_what_a_module_registers_are_plain() -> None:
    net = nn.Linear(2, 3)
    for copied in (copy.copy(net._parameters), copy.deepcopy(net._parameters), net._parameters.copy()):
        assert type(copied) is dict and list(copied) == ["weight", "bias"]
    assert (
        copy.deepcopy(net._parameters)["weight"] is not net.weight
        and copy.copy(net._parameters)["weight"] is net.weight
    )
