"""The order of elements in memory that is asked for stays, as far as PyTorch keeps it."""

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb

LAST = pb.channels_last


def image(*shape: int) -> Any:
    return pb.rand(*(shape or (2, 4, 3, 5)), dtype=pb.float64).contiguous(memory_format=LAST)


def is_last(x: Any) -> bool:
    return bool(x.is_contiguous(memory_format=LAST))


OPERATORS: list[Callable[[Any], Any]] = [
    lambda x: x * 2,
    lambda x: 2 - x,
    lambda x: x + x,
    lambda x: x + pb.ones(x.shape[1], 1, 1, dtype=pb.float64),
    lambda x: x + pb.ones(1, dtype=pb.float64),
    lambda x: x * x.contiguous(),
    lambda x: x.exp(),
    lambda x: x.relu(),
    lambda x: x > 0.5,
    lambda x: pb.where(x > 0.5, x, 0.0),
    lambda x: x.to(pb.float32),
    lambda x: x.half(),
    lambda x: x.bool(),
    lambda x: x.clone(),
    lambda x: x.clone(memory_format=pb.preserve_format),
    lambda x: pb.zeros_like(x),
    lambda x: pb.empty_like(x),
    lambda x: x.detach(),
    lambda x: x.clamp(0.2, 0.8),
    lambda x: pb.addcmul(x, x, x) if hasattr(pb, "addcmul") else x * x,
]


@pytest.mark.parametrize("shape", [(2, 4, 3, 5), (1, 4, 2, 2), (40, 3, 17, 19)])
@pytest.mark.parametrize("which", range(len(OPERATORS)))
def test_elementwise_operators_keep_it(which: int, shape: tuple[int, ...]) -> None:
    x = image(*shape)
    out = OPERATORS[which](x)
    assert is_last(out) and out.shape == x.shape
    if which not in (16,):
        assert pb.equal(out, OPERATORS[which](x.contiguous()))


def test_row_major_stays_row_major() -> None:
    x, y = image().contiguous(), image()
    assert (x + y).is_contiguous() and not is_last(x + y)
    assert is_last(y + x)
    assert y.clone(memory_format=pb.contiguous_format).is_contiguous()
    assert pb.zeros_like(y, memory_format=pb.contiguous_format).is_contiguous()
    assert (y.sum(0, keepdim=True) + x).is_contiguous()


def test_small_tensors_can_have_it() -> None:
    x = pb.arange(16.0).reshape(1, 4, 2, 2)
    y = x.contiguous(memory_format=LAST)
    assert y.stride() == (16, 1, 8, 4) and pb.equal(x, y)
    assert x.to(memory_format=LAST).stride() == (16, 1, 8, 4)
    volume = pb.rand(1, 2, 1, 2, 2).contiguous(memory_format=pb.channels_last_3d)
    assert (volume * 2).is_contiguous(memory_format=pb.channels_last_3d)


def test_handles_share_memory() -> None:
    x = image()
    d = x.detach()
    assert d.data_ptr() == x.data_ptr() and d.stride() == x.stride()
    d.add_(1)
    assert pb.equal(d, x) and is_last(d) and is_last(x)
    part = x[:, :2]
    part.zero_()
    assert d[:, :2].abs().sum() == 0 and is_last(x) and is_last(d)


def test_writes_keep_it() -> None:
    x = image()
    x.mul_(2).copy_(pb.ones(2, 4, 3, 5, dtype=pb.float64))
    assert is_last(x) and x.sum() == x.numel()
    x[0] = 3
    assert is_last(x) and x[0].mean() == 3


def test_derivatives_and_transforms() -> None:
    x = image().requires_grad_()
    y = (x.sin() * 2).sum()
    y.backward()
    assert x.grad is not None and pb.allclose(x.grad, 2 * x.detach().cos())
    batch = pb.stack([image(), image()])
    assert pb.allclose(pb.func.vmap(lambda t: t.exp() + 1)(batch), batch.exp() + 1)


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: x.relu(), lambda x: x.float(), lambda x: x + x])
def test_strides_of_single_images_stay(f: Callable[[Any], Any]) -> None:
    """The stride of a batch of one says whether channels lie behind, to whoever reads that off the strides."""
    x = image(1, 3, 40, 40)[0][None]
    assert is_last(x) and x.stride() == (3, 1, 120, 3)
    assert is_last(f(x)) and f(x).stride()[0] in (3, 4800)
    assert is_last(pb.nn.functional.interpolate(image(1, 3, 40, 40).float(), size=(20, 20), mode="bilinear"))
