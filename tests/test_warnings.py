"""What PyTorch warns of is warned of here, by its category, and once in a process where PyTorch warns once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback import nn

X, SQUARE = pb.ones(2, 3), pb.eye(2)
ONCE: dict[str, tuple[Callable[[], Any], str]] = {
    "T of many dimensions": (lambda: pb.ones(2, 3, 4).T, r"x\.T is deprecated for 3 dimensions: .*use x\.mT"),
    "T of none": (lambda: pb.ones(()).T, r"x\.T is deprecated for 0 dimensions"),
    "meshgrid": (lambda: pb.meshgrid(pb.ones(2), pb.ones(3)), r"meshgrid\(\): .*'indexing'; give indexing='ij'"),
    "cholesky": (lambda: pb.cholesky(SQUARE), r"cholesky\(\): deprecated in favor of linalg\.cholesky"),
    "qr": (lambda: SQUARE.qr(), r"qr\(\): deprecated in favor of linalg\.qr"),
    "lu": (lambda: pb.lu(SQUARE), r"lu\(\): deprecated in favor of linalg\.lu_factor"),
    "lu_solve": (
        lambda: pb.lu_solve(SQUARE, *pb.linalg.lu_factor(SQUARE)),
        r"lu_solve\(\): deprecated in favor of linalg\.lu_solve",
    ),
    "triangular_solve": (
        lambda: pb.triangular_solve(SQUARE, SQUARE),
        r"deprecated in favor of linalg\.solve_triangular",
    ),
    "chain_matmul": (lambda: pb.chain_matmul(SQUARE, SQUARE), r"deprecated in favor of linalg\.multi_dot"),
    "cross": (lambda: pb.cross(X, X), r"cross\(\): the dimension is not named.*give dim"),
    "complex to float": (lambda: pb.ones(2, dtype=pb.complex64).float(), "discards the imaginary part; take .real"),
    "complex to dtype": (lambda: pb.ones(2, dtype=pb.complex64).to(pb.int32), "discards the imaginary part"),
    "complex copied": (lambda: pb.ones(2).copy_(pb.ones(2, dtype=pb.complex64)), "discards the imaginary part"),
    "create_graph": (
        lambda: pb.ones(2, requires_grad=True).sum().backward(create_graph=True),
        r"backward\(\) with create_graph=True .*autograd\.grad",
    ),
}
FREEDOM = r"degrees of freedom is <= 0: there are \d+ elements, and the correction is \d.*correction=0"
ALWAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "tensor of a tensor": (
        lambda: pb.tensor(X),
        r"tensor\(\): To copy construct .*sourceTensor\.detach\(\)\.clone\(\)",
    ),
    "new_tensor of a tensor": (lambda: X.new_tensor(X), r"new_tensor\(\): To copy construct from a tensor"),
    "size_average": (lambda: F.l1_loss(X, X, size_average=False), r"please use reduction='sum' instead"),
    "reduce": (lambda: F.mse_loss(X, X, reduce=False), r"please use reduction='none' instead"),
    "reduce in Python": (lambda: F.smooth_l1_loss(X, X, reduce=False), r"please use reduction='none' instead"),
    "grid_sample": (
        lambda: F.grid_sample(pb.ones(1, 1, 2, 2), pb.zeros(1, 2, 2, 2)),
        "behavior is align_corners=False",
    ),
    "affine_grid": (lambda: F.affine_grid(pb.ones(1, 2, 3), (1, 1, 2, 2)), "behavior is align_corners=False"),
    "range": (lambda: pb.range(0, 3), r"range\(\): deprecated: it includes the end.*arange"),
    "var": (lambda: pb.ones(1).var(), rf"var\(\): {FREEDOM}"),
    "std along": (lambda: pb.std(pb.ones(3, 1), 1), rf"std\(\): {FREEDOM}"),
    "var_mean": (lambda: pb.var_mean(pb.ones(2), correction=2), FREEDOM),
    "std of complex": (lambda: pb.ones(1, dtype=pb.complex64).std(), FREEDOM),
    "cov": (lambda: pb.cov(pb.ones(1)), rf"cov\(\): {FREEDOM}"),
    "softmax": (lambda: F.softmax(X), "Implicit dimension choice"),
    "losses of other sizes": (lambda: F.mse_loss(pb.ones(2, 1), pb.ones(2)), "Using a target size"),
    "grad of no leaf": (lambda: pb.ones(2, requires_grad=True).mul(2).grad, "not a leaf Tensor is being accessed"),
}
FUTURE: dict[str, tuple[Callable[[], Any], str]] = {
    "weight_norm": (lambda: nn.utils.weight_norm(nn.Linear(2, 2)), r"parametrizations\.weight_norm"),
}


@pytest.fixture
def each_time() -> Iterator[None]:
    pb.set_warn_always(True)
    yield
    pb.set_warn_always(False)


def said(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


@pytest.mark.parametrize("name", ONCE)
def test_once(name: str, each_time: None) -> None:
    call, text = ONCE[name]
    for _ in range(2):
        with pytest.warns(UserWarning, match=text):
            call()
    pb.set_warn_always(False)
    assert not said(call)


@pytest.mark.parametrize("name", ALWAYS)
def test_each_time(name: str) -> None:
    call, text = ALWAYS[name]
    for _ in range(2):
        with pytest.warns(UserWarning, match=text):
            call()


@pytest.mark.parametrize("name", FUTURE)
def test_names_that_will_go(name: str) -> None:
    call, text = FUTURE[name]
    with pytest.warns(FutureWarning, match=text):
        call()


def test_what_is_meant_is_silent() -> None:
    complex_numbers = pb.ones(2, dtype=pb.complex64)
    calls: list[Callable[[], Any]] = [
        lambda: (X.T, X.mT, pb.meshgrid(pb.ones(2), indexing="xy"), pb.linalg.cross(X, X), pb.cross(X, X, dim=1)),
        lambda: (complex_numbers.real, complex_numbers.bool(), complex_numbers.to(pb.complex128)),
        lambda: (pb.ones(1).var(correction=0), pb.ones(2).std(), pb.cov(pb.ones(2)), pb.as_tensor(X)),
        lambda: (
            F.l1_loss(X, X, reduction="sum"),
            F.grid_sample(X[None, None], pb.zeros(1, 1, 1, 2), align_corners=True),
        ),
    ]
    for call in calls:
        assert not said(call)


def test_a_warning_that_is_an_error_stops_the_call(each_time: None) -> None:
    x = pb.ones(2)
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="imaginary part"):
        warnings.simplefilter("error")
        x.copy_(pb.zeros(2, dtype=pb.complex64))
    assert x.tolist() == [1.0, 1.0]


SAID_IN_PYTHON: dict[str, Callable[[], Any]] = {
    "softmax module": lambda: nn.Softmax()(X),
    "log_softmax": lambda: F.log_softmax(X),
    "softmin": lambda: F.softmin(X),
    "smooth_l1 of other sizes": lambda: F.smooth_l1_loss(pb.ones(2, 1), pb.ones(2)),
    "smooth_l1 module": lambda: nn.SmoothL1Loss(reduce=False)(X, X),
    "affine_grid of one element": lambda: F.affine_grid(pb.ones(1, 2, 3), (1, 1, 1, 1), align_corners=True),
    "upsample": lambda: F.upsample(pb.ones(1, 1, 2, 2), scale_factor=2),
    "upsample_nearest": lambda: F.upsample_nearest(pb.ones(1, 1, 2, 2), scale_factor=2),
    "upsample_bilinear": lambda: F.upsample_bilinear(pb.ones(1, 1, 2, 2), scale_factor=2),
    "dropout2d": lambda: F.dropout2d(X),
    "dropout module": lambda: nn.Dropout2d()(X),
    "embedding_bag": lambda: F.embedding_bag(pb.ones(3, 2), pb.tensor([0, 1]), pb.tensor([0])),
    "instance norm": lambda: nn.InstanceNorm1d(2)(pb.ones(3, 4)),
    "LSTM": lambda: nn.LSTM(2, 2, dropout=0.5),
    "init without underscore": lambda: nn.init.uniform(pb.ones(2)),
    "kaiming of nothing": lambda: nn.init.kaiming_uniform_(pb.ones(0, 2)),
    "clip_grad_norm": lambda: nn.utils.clip_grad_norm(nn.Parameter(pb.ones(1)), 1.0),
    "clip_grad_norm of nothing": lambda: nn.utils.clip_grad_norm_((p for p in ()), 1.0),
    "stateless": lambda: nn.utils.stateless.functional_call(nn.Identity(), {}, X),
    "unknown name": lambda: pb.func.functional_call(nn.Identity(), {"a": X}, X),
    "duplicate parameters": lambda: pb.optim.SGD([nn.Parameter(X)] * 2, lr=0.1),
    "last_epoch": lambda: pb.optim.lr_scheduler.StepLR(pb.optim.SGD([nn.Parameter(X)]), 1).step(3),
    "anomaly mode": lambda: pb.autograd.detect_anomaly(),
    "Variable": lambda: pb.autograd.Variable(X, volatile=True),
    "autocast": lambda: pb.autocast("cuda"),
    "GradScaler": lambda: pb.amp.GradScaler("cuda"),
    "checkpoint": lambda: pb.utils.checkpoint.checkpoint(pb.sin, X, use_reentrant=True),
    "gradcheck": lambda: pb.autograd.gradcheck(pb.sin, pb.ones(1, requires_grad=True), raise_exception=False),
    "state dict": lambda: nn.Linear(1, 1).state_dict(None, "", False),
}


@pytest.mark.parametrize("name", [*ONCE, *ALWAYS, *FUTURE, *SAID_IN_PYTHON])
def test_the_line_is_the_programs(name: str, each_time: None) -> None:
    call = SAID_IN_PYTHON.get(name) or {**ONCE, **ALWAYS, **FUTURE}[name][0]
    caught = said(call)
    assert caught
    assert {w.filename for w in caught} == {__file__}
    assert {w.lineno for w in caught} & set(range(call.__code__.co_firstlineno, call.__code__.co_firstlineno + 4))


def test_there_is_one_way_to_warn() -> None:
    root = Path(pb.__file__).parent
    ways = {"warnings.warn(": {"_warnings.py"}, "warn_explicit": set()}
    for way, homes in ways.items():
        found = {f.name for f in root.rglob("*.py") if way in f.read_text(encoding="utf-8")}
        assert found == homes, way
    source = Path(__file__).parents[1] / "crates" / "python" / "src"
    assert {f.name for f in source.rglob("*.rs") if "PyErr::warn(" in f.read_text(encoding="utf-8")} == {"errors.rs"}
