"""What PyTorch warns of is warned of here, by its category, and once in a process where PyTorch warns once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
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
