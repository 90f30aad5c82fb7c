"""Grad modes, inference mode, and anomaly mode."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close
autograd = pb.autograd


def leaf(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("decorator", "inside"),
    [
        (pb.no_grad, False),
        (pb.no_grad(), False),
        (pb.enable_grad, True),
        (pb.enable_grad(), True),
        (pb.inference_mode, False),
        (pb.inference_mode(), False),
        (pb.inference_mode(False), True),
    ],
)
@pytest.mark.parametrize("outside", [True, False])
def test_modes_as_decorators(decorator: Any, inside: bool, outside: bool) -> None:
    @decorator
    def f(a: int, *, b: int = 2) -> tuple[bool, int]:
        """Doc."""
        return pb.is_grad_enabled(), a + b

    expected = outside if getattr(decorator, "__class__", None) is pb.inference_mode and inside else inside
    with pb.set_grad_enabled(outside):
        assert f(1, b=3) == (expected, 4)
        assert pb.is_grad_enabled() is outside
    assert f.__name__ == "f" and f.__doc__ == "Doc."


def test_decorated_generators_run_their_steps_in_the_mode() -> None:
    @pb.no_grad()
    def f() -> Generator[bool, str, str]:
        got = yield pb.is_grad_enabled()
        try:
            yield pb.is_grad_enabled()
        except KeyError:
            yield pb.is_grad_enabled()
        return got

    g = f()
    assert next(g) is False and pb.is_grad_enabled()
    assert g.send("x") is False and pb.is_grad_enabled()
    assert g.throw(KeyError) is False and pb.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "x"


def test_set_grad_enabled() -> None:
    pb.set_grad_enabled(False)
    assert not pb.is_grad_enabled()
    pb.set_grad_enabled(True)
    with pb.set_grad_enabled(False):
        assert not (leaf(1.0) * 2).requires_grad

    @pb.set_grad_enabled(False)
    def f() -> bool:
        return pb.is_grad_enabled()

    assert pb.is_grad_enabled() and not f() and pb.is_grad_enabled()
    with pytest.raises(KeyError), pb.no_grad():
        raise KeyError
    assert pb.is_grad_enabled()


def test_inference_mode() -> None:
    x = leaf(1.0, 2.0)
    with pb.inference_mode():
        assert pb.is_inference_mode_enabled() and not pb.is_grad_enabled()
        y = x * 2
        assert y.is_inference() and pb.is_inference(y) and not y.requires_grad
        assert y[0].is_inference() and not x[0].is_inference() and not x.detach().is_inference()
        with pb.enable_grad():
            assert not (x * 2).requires_grad
        with pb.inference_mode(False):
            assert not pb.is_inference_mode_enabled()
            z = x * 3
            assert z.requires_grad and not z.is_inference()
    assert not pb.is_inference_mode_enabled() and not x.is_inference()
    assert y.is_inference() and not y.clone().is_inference() and not (y + 1).is_inference()
    (x * y).sum().backward()
    same(x.grad, y.clone())


def test_anomaly_mode_shows_the_forward_call() -> None:
    class Broken(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise RuntimeError("some error in backward")

    x = leaf(1.0)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), autograd.detect_anomaly():
        assert pb.is_anomaly_enabled() and pb.is_anomaly_check_nan_enabled()
        y = Broken.apply(x)  # the line to find
    assert not pb.is_anomaly_enabled()
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match=r"(?s)Error detected in BrokenBackward.*Traceback.*the line to find"),
        pytest.raises(RuntimeError, match="some error in backward"),
    ):
        y.sum().backward()
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information"),
    ):
        with autograd.set_detect_anomaly(False):
            z = Broken.apply(x)
        with pytest.raises(RuntimeError, match="some error"):
            z.sum().backward()


def test_nan_in_a_gradient() -> None:
    x = leaf(0.0)
    with autograd.set_detect_anomaly(True):
        y = (x.sqrt() * 0).sum()
        with (
            pytest.warns(UserWarning, match="SqrtBackward0"),
            pytest.raises(
                RuntimeError, match=r"'SqrtBackward0' returned nan values in its 0th output.*test_modes\.py:"
            ),
        ):
            y.backward()
    with autograd.set_detect_anomaly(True, check_nan=False):
        assert pb.is_anomaly_enabled() and not pb.is_anomaly_check_nan_enabled()
        (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


def test_anomaly_mode_of_the_second_derivative_shows_both_calls() -> None:
    x = leaf(0.0)
    with autograd.set_detect_anomaly(True):
        (g,) = autograd.grad((x**1.5).sum(), x, create_graph=True)
        with (
            pytest.warns(UserWarning, match="(?s)Error detected.*Previous calculation was induced by PowBackward0"),
            pytest.raises(RuntimeError, match="nan"),
        ):
            autograd.grad((g * 0).sum(), x)


def test_anomaly_mode_under_transforms() -> None:
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="SqrtBackward0"),
        pytest.raises(RuntimeError, match="nan"),
    ):
        pb.func.vmap(pb.func.grad(lambda x: x.sqrt() * 0))(pb.zeros(3))


def test_set_detect_anomaly_as_a_function() -> None:
    autograd.set_detect_anomaly(True)
    assert pb.is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    assert not pb.is_anomaly_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (leaf(1.0) * 2).sum().backward()
