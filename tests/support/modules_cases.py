"""The modules that are compared with PyTorch: every class, with representative arguments."""

from __future__ import annotations

from typing import Any

from .modules import CASES as CASES
from .modules import DRAWN, case


def _plain() -> None:
    for name in [
        *("ReLU", "ReLU6", "Sigmoid", "Tanh", "SiLU", "Mish", "GELU", "ELU", "CELU", "SELU", "GLU", "Hardtanh"),
        *("Hardsigmoid", "Hardswish", "Hardshrink", "Softshrink", "Tanhshrink", "LeakyReLU", "LogSigmoid", "Softplus"),
        *("Softsign", "Identity"),
    ]:
        case(name, lambda nn, name=name: getattr(nn, name)(), lambda k: (k.x(3, 4),))
    case("GELU tanh", lambda nn: nn.GELU(approximate="tanh"), lambda k: (k.x(5),))
    case("ELU 0.5", lambda nn: nn.ELU(0.5), lambda k: (k.x(5),))
    case("CELU 2", lambda nn: nn.CELU(2.0), lambda k: (k.x(5),))
    case("GLU 0", lambda nn: nn.GLU(0), lambda k: (k.x(4, 3),))
    case("Hardtanh wide", lambda nn: nn.Hardtanh(-2.0, 0.5), lambda k: (k.x(5),))
    case("Softplus beta", lambda nn: nn.Softplus(2.0, 1.0), lambda k: (k.x(5),))
    case("Threshold", lambda nn: nn.Threshold(0.1, 20.0), lambda k: (k.x(5),))
    case("RReLU eval", lambda nn: nn.RReLU(), lambda k: (k.x(5),), False)
    case("PReLU", lambda nn: nn.PReLU(), lambda k: (k.x(5),))
    case("PReLU channels", lambda nn: nn.PReLU(3), lambda k: (k.x(2, 3, 2),))
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        case(name, lambda nn, name=name: getattr(nn, name)(dim=1), lambda k: (k.x(2, 3),))
    case("Softmax2d", lambda nn: nn.Softmax2d(), lambda k: (k.x(1, 3, 2, 2),))
    for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"):
        case(f"{name} eval", lambda nn, name=name: getattr(nn, name)(0.3), lambda k: (k.x(2, 3, 2),), False)
        size = (2, 3, 2) if name == "Dropout1d" else (2, 3, 2, 1)
        case(f"{name} 0", lambda nn, name=name: getattr(nn, name)(0.0), lambda k, size=size: (k.x(*size),))
    case("Flatten", lambda nn: nn.Flatten(), lambda k: (k.x(2, 3, 2),))
    case("Unflatten", lambda nn: nn.Unflatten(1, (2, 3)), lambda k: (k.x(2, 6),))
    case("PixelShuffle", lambda nn: nn.PixelShuffle(2), lambda k: (k.x(1, 8, 2, 3),))
    case("PixelUnshuffle", lambda nn: nn.PixelUnshuffle(2), lambda k: (k.x(1, 2, 4, 6),))
    case("ChannelShuffle", lambda nn: nn.ChannelShuffle(2), lambda k: (k.values(1, 4, 2),))
    case("Fold", lambda nn: nn.Fold((4, 5), 2), lambda k: (k.x(1, 12, 12),))
    case("Unfold", lambda nn: nn.Unfold((2, 3), padding=1), lambda k: (k.x(1, 2, 3, 4),))
    case("CosineSimilarity", lambda nn: nn.CosineSimilarity(dim=1), lambda k: (k.x(3, 4), k.x(3, 4)))
    case("PairwiseDistance", lambda nn: nn.PairwiseDistance(p=3, keepdim=True), lambda k: (k.x(3, 4), k.x(3, 4)))


def _samples(nn: Any, n: int) -> Any:
    """Where windows lie that would be drawn otherwise."""
    return nn.init.constant_(nn.Linear(n, 1).weight.detach(), 0.3).reshape(1, 1, n)


def _layers() -> None:
    case("Linear", lambda nn: nn.Linear(3, 4), lambda k: (k.x(2, 3),))
    case("Linear no bias", lambda nn: nn.Linear(3, 4, bias=False), lambda k: (k.x(3),))
    case("LazyLinear", lambda nn: _called(nn.LazyLinear(4), 2, 3), lambda k: (k.x(2, 3),))
    case("Bilinear", lambda nn: nn.Bilinear(3, 4, 2), lambda k: (k.x(5, 3), k.x(5, 4)))
    sizes: dict[int, Any] = {1: (2, 4, 9), 2: (2, 4, 6, 5), 3: (1, 4, 4, 5, 3)}
    for d, size in sizes.items():
        case(f"Conv{d}d", lambda nn, d=d: getattr(nn, f"Conv{d}d")(4, 6, 3, padding=1, stride=2),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        case(f"Conv{d}d groups", lambda nn, d=d: getattr(nn, f"Conv{d}d")(4, 6, 2, groups=2, dilation=2, bias=False),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        case(f"Conv{d}d same", lambda nn, d=d: getattr(nn, f"Conv{d}d")(4, 2, 3, padding="same"),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        case(f"ConvTranspose{d}d",
             lambda nn, d=d: getattr(nn, f"ConvTranspose{d}d")(4, 2, 3, stride=2, padding=1, output_padding=1),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        case(f"LazyConv{d}d", lambda nn, d=d, size=size: _called(getattr(nn, f"LazyConv{d}d")(3, 2), *size),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        case(f"LazyConvTranspose{d}d",
             lambda nn, d=d, size=size: _called(getattr(nn, f"LazyConvTranspose{d}d")(2, 2), *size),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        for name in ("BatchNorm", "InstanceNorm"):
            case(f"{name}{d}d", lambda nn, n=name, d=d: getattr(nn, f"{n}{d}d")(4, affine=True),
                 lambda k, size=size: (k.x(*size),))  # fmt: skip
            case(f"{name}{d}d eval",
                 lambda nn, n=name, d=d: getattr(nn, f"{n}{d}d")(4, track_running_stats=True, momentum=0.3),
                 lambda k, size=size: (k.x(*size),), False)  # fmt: skip
            case(f"Lazy{name}{d}d",
                 lambda nn, n=name, d=d, size=size: _called(getattr(nn, f"Lazy{n}{d}d")(), *size),
                 lambda k, size=size: (k.x(*size),))  # fmt: skip
        for name, args in (("Reflection", (1,)), ("Replication", (1,)), ("Circular", (1,)), ("Constant", (2, 3.5)),
                           ("Zero", (1,))):  # fmt: skip
            case(f"{name}Pad{d}d", lambda nn, n=name, d=d, a=args: getattr(nn, f"{n}Pad{d}d")(*a),
                 lambda k, size=size: (k.x(*size[1:]),))  # fmt: skip
    for mode in ("reflect", "replicate", "circular"):
        case(f"Conv2d {mode}", lambda nn, mode=mode: nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode=mode),
             lambda k: (k.x(1, 4, 4, 5),))  # fmt: skip
    case("BatchNorm1d mean", lambda nn: nn.BatchNorm1d(3, momentum=None), lambda k: (k.x(4, 3),))
    case("BatchNorm1d untracked", lambda nn: nn.BatchNorm1d(3, track_running_stats=False), lambda k: (k.x(4, 3),))
    case("InstanceNorm1d tracked", lambda nn: nn.InstanceNorm1d(3, track_running_stats=True), lambda k: (k.x(2, 3, 4),))
    case("LayerNorm", lambda nn: nn.LayerNorm((3, 4)), lambda k: (k.x(2, 3, 4),))
    case("LayerNorm no bias", lambda nn: nn.LayerNorm(4, bias=False), lambda k: (k.x(2, 4),))
    case("RMSNorm", lambda nn: nn.RMSNorm(4), lambda k: (k.x(2, 4),))
    case("GroupNorm", lambda nn: nn.GroupNorm(2, 4), lambda k: (k.x(2, 4, 3),))
    case("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(3), lambda k: (k.x(2, 5, 3),))
    case("Embedding", lambda nn: nn.Embedding(5, 3, padding_idx=1), lambda k: (k.ints(5, 2, 3),))
    for mode in ("sum", "mean", "max"):
        case(f"EmbeddingBag {mode}", lambda nn, mode=mode: nn.EmbeddingBag(7, 3, mode=mode),
             lambda k: (k.ints(7, 6), k.m.tensor([0, 2, 2])))  # fmt: skip
    case("EmbeddingBag rows", lambda nn: nn.EmbeddingBag(7, 3, padding_idx=2), lambda k: (k.ints(7, 3, 4),))


def _called(module: Any, *shape: int) -> Any:
    """A lazy module that has its sizes."""
    package = __import__(type(module).__module__.split(".")[0])
    module.eval()(package.zeros(*shape))
    return module.train()


def _pools() -> None:
    sizes: dict[int, Any] = {1: (2, 3, 8), 2: (1, 2, 6, 7), 3: (1, 2, 4, 5, 6)}
    for d, size in sizes.items():
        for name, args in (("MaxPool", (2,)), ("AvgPool", (3, 2, 1)), ("LPPool", (2, 2)), ("AdaptiveAvgPool", (3,)),
                           ("AdaptiveMaxPool", (2,))):  # fmt: skip
            case(f"{name}{d}d", lambda nn, n=name, d=d, a=args: getattr(nn, f"{n}{d}d")(*a),
                 lambda k, size=size: (k.positive(*size),))  # fmt: skip
        case(f"MaxPool{d}d indices",
             lambda nn, d=d: getattr(nn, f"MaxPool{d}d")(3, 2, 1, return_indices=True, ceil_mode=True),
             lambda k, size=size: (k.x(*size),))  # fmt: skip
        if d > 1:
            case(f"FractionalMaxPool{d}d",
                 lambda nn, d=d: getattr(nn, f"FractionalMaxPool{d}d")(2, None, 0.6, _random_samples=_samples(nn, d)),
                 lambda k, d=d: (k.x(1, 1, *(7, 8, 6)[:d]),))  # fmt: skip
        case(f"MaxUnpool{d}d", lambda nn, d=d: getattr(nn, f"MaxUnpool{d}d")(2),
             lambda k, d=d: (k.x(1, 1, *(1,) * (d - 1), 3), k.m.tensor([0, 3, 5]).reshape(1, 1, *(1,) * (d - 1), 3))
             )  # fmt: skip


def _resizing() -> None:
    sizes: dict[int, Any] = {1: (2, 2, 5), 2: (1, 2, 5, 4), 3: (1, 2, 3, 4, 5)}
    modes = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}
    for d, size in sizes.items():
        for how, o in {"larger": {"scale_factor": 1.7}, "smaller": {"size": 3}, "same": {"size": size[2:]}}.items():
            x: Any = lambda k, size=size: (k.x(*size),)
            for mode in ("nearest", "nearest-exact", "area", *modes[d]):
                case(f"Upsample {mode} {d} {how}", lambda nn, o=o, mode=mode: nn.Upsample(mode=mode, **o), x)
            for mode in modes[d]:
                case(f"Upsample {mode} {d} {how} corners",
                     lambda nn, o=o, mode=mode: nn.Upsample(mode=mode, align_corners=True, **o), x)  # fmt: skip
                case(f"Upsample {mode} {d} {how} again", lambda nn, o=o, mode=mode: nn.Upsample(
                    mode=mode, recompute_scale_factor="scale_factor" in o or None, **o), x)  # fmt: skip
    case("UpsamplingNearest2d", lambda nn: nn.UpsamplingNearest2d(scale_factor=2), lambda k: (k.x(1, 1, 2, 3),))
    case("UpsamplingBilinear2d", lambda nn: nn.UpsamplingBilinear2d(scale_factor=2), lambda k: (k.x(1, 1, 2, 3),))


def _losses() -> None:
    for reduction in ("mean", "sum", "none"):
        r: dict[str, Any] = {"reduction": reduction}
        for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss"):
            case(f"{name} {reduction}", lambda nn, n=name, r=r: getattr(nn, n)(**r), lambda k: (k.x(3, 2), k.x(3, 2)))
        case(f"NLLLoss {reduction}", lambda nn, r=r: nn.NLLLoss(**r), lambda k: (k.x(4, 3), k.ints(3, 4)))
        case(f"CrossEntropyLoss {reduction}", lambda nn, r=r: nn.CrossEntropyLoss(label_smoothing=0.1, **r),
             lambda k: (k.x(4, 3), k.ints(3, 4)))  # fmt: skip
        case(f"LinearCrossEntropyLoss {reduction}",
             lambda nn, r=r: nn.LinearCrossEntropyLoss(5, 3, out_features=(2,), bias=True, label_smoothing=0.1, **r),
             lambda k: (k.x(4, 5), k.ints(3, 4, 2)))  # fmt: skip
        case(f"BCELoss {reduction}", lambda nn, r=r: nn.BCELoss(**r), lambda k: (k.between(4), k.between(4)))
        case(f"BCEWithLogitsLoss {reduction}", lambda nn, r=r: nn.BCEWithLogitsLoss(**r),
             lambda k: (k.x(4), k.between(4)))  # fmt: skip
        case(f"KLDivLoss {reduction}", lambda nn, r=r: nn.KLDivLoss(**r), lambda k: (k.x(4, 2), k.between(4, 2)))
        case(f"SoftMarginLoss {reduction}", lambda nn, r=r: nn.SoftMarginLoss(**r), lambda k: (k.x(4), k.signs(4)))
        case(f"HingeEmbeddingLoss {reduction}", lambda nn, r=r: nn.HingeEmbeddingLoss(0.7, **r),
             lambda k: (k.x(4), k.signs(4)))  # fmt: skip
        case(f"MarginRankingLoss {reduction}", lambda nn, r=r: nn.MarginRankingLoss(0.3, **r),
             lambda k: (k.x(4), k.x(4), k.signs(4)))  # fmt: skip
        case(f"CosineEmbeddingLoss {reduction}", lambda nn, r=r: nn.CosineEmbeddingLoss(0.1, **r),
             lambda k: (k.x(4, 3), k.x(4, 3), k.signs(4)))  # fmt: skip
        case(f"PoissonNLLLoss {reduction}", lambda nn, r=r: nn.PoissonNLLLoss(full=True, **r),
             lambda k: (k.x(4), k.ints(5, 4).to(k.m.float64)))  # fmt: skip
        case(f"GaussianNLLLoss {reduction}", lambda nn, r=r: nn.GaussianNLLLoss(full=True, **r),
             lambda k: (k.x(4, 2), k.x(4, 2), k.positive(4, 1)))  # fmt: skip
        case(f"MultiMarginLoss {reduction}", lambda nn, r=r: nn.MultiMarginLoss(p=2, **r),
             lambda k: (k.x(4, 3), k.ints(3, 4)))  # fmt: skip
        case(f"MultiLabelMarginLoss {reduction}", lambda nn, r=r: nn.MultiLabelMarginLoss(**r),
             lambda k: (k.x(2, 4), k.m.tensor([[3, 0, -1, 1], [1, -1, 2, 0]])))  # fmt: skip
        case(f"MultiLabelSoftMarginLoss {reduction}", lambda nn, r=r: nn.MultiLabelSoftMarginLoss(**r),
             lambda k: (k.x(3, 4), k.ints(2, 3, 4).to(k.m.float64)))  # fmt: skip
        case(f"TripletMarginLoss {reduction}", lambda nn, r=r: nn.TripletMarginLoss(swap=True, **r),
             lambda k: (k.x(4, 3), k.x(4, 3), k.x(4, 3)))  # fmt: skip
        case(f"TripletMarginWithDistanceLoss {reduction}", lambda nn, r=r: nn.TripletMarginWithDistanceLoss(**r),
             lambda k: (k.x(4, 3), k.x(4, 3), k.x(4, 3)))  # fmt: skip
        case(f"CTCLoss {reduction}", lambda nn, r=r: nn.CTCLoss(**r),
             lambda k: (k.x(6, 2, 4).log_softmax(-1), k.ints(3, 2, 3) + 1, (6, 5), (3, 2)))  # fmt: skip
    case("AdaptiveLogSoftmaxWithLoss", lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, True),
         lambda k: (k.x(6, 8), k.ints(20, 6)))  # fmt: skip
    case("KLDivLoss batchmean", lambda nn: nn.KLDivLoss(reduction="batchmean", log_target=True),
         lambda k: (k.x(4, 2), k.x(4, 2)))  # fmt: skip
    case("PoissonNLLLoss plain", lambda nn: nn.PoissonNLLLoss(log_input=False), lambda k: (k.positive(4), k.between(4)))
    case("NLLLoss2d", lambda nn: nn.NLLLoss2d(), lambda k: (k.x(2, 3, 2, 2), k.ints(3, 2, 2, 2)))


def _attention() -> None:
    same: Any = lambda k: ((x := k.x(3, 2, 4)), x, x)
    other: Any = lambda k: (k.x(3, 2, 4), (m := k.x(5, 2, 4)), m)
    case("MultiheadAttention self", lambda nn: nn.MultiheadAttention(4, 2), same)
    case("MultiheadAttention cross", lambda nn: nn.MultiheadAttention(4, 2, batch_first=True),
         lambda k: (k.x(2, 3, 4), (m := k.x(2, 5, 4)), m))  # fmt: skip
    case("MultiheadAttention sizes", lambda nn: nn.MultiheadAttention(4, 2, kdim=3, vdim=5),
         lambda k: (k.x(3, 2, 4), k.x(5, 2, 3), k.x(5, 2, 5)))  # fmt: skip
    case(
        "MultiheadAttention extras", lambda nn: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True), other
    )
    case("MultiheadAttention no bias", lambda nn: nn.MultiheadAttention(4, 2, bias=False), other)
    case("MultiheadAttention unbatched", lambda nn: nn.MultiheadAttention(4, 2),
         lambda k: (k.x(3, 4), k.x(5, 4), k.x(5, 4)))  # fmt: skip
    case("MultiheadAttention masks", lambda nn: nn.MultiheadAttention(4, 2),
         lambda k: (k.x(3, 2, 4), (m := k.x(5, 2, 4)), m, k.mask(2, 5), True, k.mask(3, 5), False))  # fmt: skip
    case("MultiheadAttention fused", lambda nn: nn.MultiheadAttention(4, 2),
         lambda k: (k.x(3, 2, 4), (m := k.x(5, 2, 4)), m, k.values(2, 5), False, k.values(3, 5)))  # fmt: skip
    for first in (False, True):
        for act in ("relu", "gelu"):
            o: dict[str, Any] = {"norm_first": first, "activation": act, "dropout": 0.0, "batch_first": first}
            case(f"TransformerEncoderLayer {first} {act}", lambda nn, o=o: nn.TransformerEncoderLayer(4, 2, 6, **o),
                 lambda k: (k.x(3, 2, 4),))  # fmt: skip
            case(f"TransformerDecoderLayer {first} {act}", lambda nn, o=o: nn.TransformerDecoderLayer(4, 2, 6, **o),
                 lambda k: (k.x(3, 2, 4), k.x(3, 2, 4)))  # fmt: skip
    case("TransformerEncoderLayer no bias", lambda nn: nn.TransformerEncoderLayer(4, 2, 6, 0.0, bias=False),
         lambda k: (k.x(3, 2, 4),))  # fmt: skip
    case("TransformerEncoder",
         lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2, nn.LayerNorm(4)),
         lambda k: (k.x(3, 2, 4), k.m.nn.Transformer.generate_square_subsequent_mask(3).to(k.m.float64)))  # fmt: skip
    case("TransformerDecoder", lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2),
         lambda k: (k.x(3, 2, 4), k.x(5, 2, 4)))  # fmt: skip
    case("Transformer", lambda nn: nn.Transformer(4, 2, 1, 1, 6, 0.0), lambda k: (k.x(3, 2, 4), k.x(5, 2, 4)))


def _recurrent() -> None:
    for name in ("RNN", "LSTM", "GRU"):
        make: Any = lambda nn, name=name, **o: getattr(nn, name)(3, 4, **o)
        case(name, lambda nn, f=make: f(nn), lambda k: (k.x(5, 2, 3),))
        case(f"{name} deep", lambda nn, f=make: f(nn, num_layers=2, bidirectional=True, batch_first=True),
             lambda k: (k.x(2, 5, 3),))  # fmt: skip
        case(f"{name} unbatched", lambda nn, f=make: f(nn, bias=False), lambda k: (k.x(5, 3),))
        case(f"{name} packed", lambda nn, f=make: f(nn, bidirectional=True),
             lambda k: (k.m.nn.utils.rnn.pack_padded_sequence(
                 k.x(5, 3, 3), k.m.tensor([2, 5, 3]), enforce_sorted=False),))  # fmt: skip
        state: Any = (lambda k: (k.x(1, 2, 4), k.x(1, 2, 4))) if name == "LSTM" else (lambda k: k.x(1, 2, 4))
        case(f"{name} state", lambda nn, f=make: f(nn), lambda k, s=state: (k.x(5, 2, 3), s(k)))
        cell: Any = (lambda k: (k.x(2, 4), k.x(2, 4))) if name == "LSTM" else (lambda k: k.x(2, 4))
        case(f"{name}Cell", lambda nn, name=name: getattr(nn, f"{name}Cell")(3, 4),
             lambda k, s=cell: (k.x(2, 3), s(k)))  # fmt: skip
    case("RNN relu", lambda nn: nn.RNN(3, 4, nonlinearity="relu"), lambda k: (k.x(5, 2, 3),))
    case("LSTM projected", lambda nn: nn.LSTM(3, 4, num_layers=2, proj_size=2), lambda k: (k.x(5, 2, 3),))
    case("RNNCell unbatched", lambda nn: nn.RNNCell(3, 4, nonlinearity="relu"), lambda k: (k.x(3),))


def _containers() -> None:
    case("Sequential", lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), lambda k: (k.x(2, 3),))
    case("weight_norm", lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), lambda k: (k.x(2, 3),))
    case("weight_norm old", lambda nn: nn.utils.weight_norm(nn.Linear(3, 4)), lambda k: (k.x(2, 3),))


def _drawn() -> None:
    DRAWN.update(
        {
            "Linear": lambda nn: nn.Linear(300, 400),
            "Bilinear": lambda nn: nn.Bilinear(40, 50, 60),
            "Conv1d": lambda nn: nn.Conv1d(60, 80, 5, groups=2),
            "Conv2d": lambda nn: nn.Conv2d(40, 500, 3),
            "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(40, 500, 3),
            "Embedding": lambda nn: nn.Embedding(400, 50),
            "EmbeddingBag": lambda nn: nn.EmbeddingBag(400, 50),
            "LSTM": lambda nn: nn.LSTM(100, 200),
            "GRU": lambda nn: nn.GRU(100, 200),
            "RNNCell": lambda nn: nn.RNNCell(100, 200),
            "MultiheadAttention": lambda nn: nn.MultiheadAttention(120, 4, add_bias_kv=True),
            "MultiheadAttention sizes": lambda nn: nn.MultiheadAttention(120, 4, kdim=80, vdim=100),
            "Transformer": lambda nn: nn.Transformer(64, 4, 1, 1, 100),
            "BatchNorm1d": lambda nn: nn.BatchNorm1d(10),
            "PReLU": lambda nn: nn.PReLU(10),
        }
    )


for register in (_plain, _layers, _pools, _resizing, _losses, _attention, _recurrent, _containers, _drawn):
    register()
