"""Collections of the garbage collector may begin at any allocation: objects must never be seen half made."""

import gc
from collections.abc import Iterator

import pytest

import pullback as torch
from pullback.autograd import Function


@pytest.fixture
def eager_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


class Cube(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.note = "cube"

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Classic(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def sum_of_cubes(x):
    return (x**3).sum()


@pytest.mark.usefixtures("eager_collections")
@pytest.mark.parametrize("transform", ["grad", "vmap", "jacrev", "jacfwd", "hessian", "trace"])
def test_transforms_are_made_whole(transform: str) -> None:
    made = [getattr(torch.func, transform)(sum_of_cubes) for _ in range(50)]
    assert all(m.__wrapped__ is sum_of_cubes or transform == "hessian" for m in made)


@pytest.mark.usefixtures("eager_collections")
@pytest.mark.parametrize("function", [Cube, Classic])
def test_contexts_are_made_whole(function: type[Function]) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(20):
        (g,) = torch.autograd.grad(function.apply(x).sum(), x)
        assert g.tolist() == [3.0, 12.0]
        assert torch.func.grad(lambda x: function.apply(x).sum())(x.detach()).tolist() == [3.0, 12.0]


@pytest.mark.usefixtures("eager_collections")
def test_tensors_are_made_whole() -> None:
    class Named(torch.Tensor):
        pass

    for _ in range(20):
        named = Named([1.0, 2.0])
        named.label = "x"
        assert torch.func.vmap(torch.sin)(named).shape == (2,)
