"""Modules of one's own around functions of one's own: what the chapter on extending `nn` promises.

The layer of these tests gives the squared distances of rows to centres, each centre with a width that may be left out.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.autograd import Function, gradcheck, gradgradcheck
from pullback.func import functional_call, grad, stack_module_state, vmap

same = pb.testing.assert_close


class SquaredDistances(Function):
    """(x - c)² summed over features, times the widths if there are any."""

    asked: list[tuple[bool, ...]] = []

    @staticmethod
    def forward(ctx: Any, x: Any, centers: Any, widths: Any = None, root: bool = False) -> Any:
        ctx.save_for_backward(x, centers, widths)
        ctx.root = root
        d = ((x.unsqueeze(1) - centers) ** 2).sum(-1)
        d = d if widths is None else d * widths
        return d.sqrt() if root else d

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, centers, widths = ctx.saved_tensors
        SquaredDistances.asked.append(ctx.needs_input_grad)
        apart = x.unsqueeze(1) - centers
        d = (apart**2).sum(-1)
        if ctx.root:
            g = g / (2 * (d if widths is None else d * widths).sqrt())
        pull = 2 * (g if widths is None else g * widths).unsqueeze(-1) * apart
        gx = pull.sum(1) if ctx.needs_input_grad[0] else None
        gc = -pull.sum(0) if ctx.needs_input_grad[1] else None
        gw = (g * d).sum(0) if widths is not None and ctx.needs_input_grad[2] else None
        # One more None than there were arguments: `root` is not a tensor, and what follows stands for nothing.
        return gx, gc, gw, None, None


squared_distances = SquaredDistances.apply


class Distances(nn.Module):
    """Squared distances of rows to centres that are learnt."""

    def __init__(self, features: int, centers: int, widths: bool = True, root: bool = False) -> None:
        super().__init__()
        self.features, self.root = features, root
        self.centers = nn.Parameter(pb.empty(centers, features))
        if widths:
            self.widths = nn.Parameter(pb.empty(centers))
        else:
            self.register_parameter("widths", None)
        self.register_buffer("count", pb.zeros(centers))
        self.note = pb.zeros(3)
        nn.init.uniform_(self.centers, -0.5, 0.5)
        if self.widths is not None:
            nn.init.uniform_(self.widths, 1.0, 2.0)

    def forward(self, x: Any) -> Any:
        return squared_distances(x, self.centers, self.widths, self.root)

    def extra_repr(self) -> str:
        return f"features={self.features}, widths={self.widths is not None}"


def reference(x: Any, module: Any) -> Any:
    """The same in operators."""
    d = ((x.unsqueeze(1) - module.centers) ** 2).sum(-1)
    d = d if module.widths is None else d * module.widths
    return d.sqrt() if module.root else d


CASES = [(widths, root) for widths in (True, False) for root in (True, False)]


# ---------------------------------------------------------------- the function
@pytest.mark.parametrize(("widths", "root"), CASES)
def test_the_function_has_the_derivatives_of_its_operators(widths: bool, root: bool) -> None:
    module = Distances(4, 3, widths, root).double()
    x = pb.randn(5, 4, dtype=pb.float64, requires_grad=True)
    arguments = [x, *module.parameters()]
    names = dict(module.named_parameters())

    def by_position(x: Any, centers: Any, widths: Any = None) -> Any:
        return squared_distances(x, centers, widths, root)

    assert gradcheck(by_position, arguments, eps=1e-6, atol=1e-6)
    assert gradgradcheck(by_position, arguments)
    ours = pb.autograd.grad(module(x).sin().sum(), arguments)
    same(ours, pb.autograd.grad(reference(x, module).sin().sum(), arguments))
    assert set(names) == ({"centers", "widths"} if widths else {"centers"})


def test_an_optional_argument_may_be_left_out() -> None:
    x, c = pb.randn(2, 3), pb.randn(4, 3, requires_grad=True)
    for arguments in ((x, c), (x, c, None), (x, c, None, False)):
        c.grad = None
        squared_distances(*arguments).sum().backward()
        same(c.grad, -2 * (x.unsqueeze(1) - c.detach()).sum(0))


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_needs_input_grad_says_what_is_asked_for(which: tuple[int, ...]) -> None:
    tensors = [pb.randn(2, 3), pb.randn(4, 3), pb.rand(4) + 1]
    for k in which:
        tensors[k].requires_grad_()
    SquaredDistances.asked.clear()
    squared_distances(*tensors).sum().backward()
    assert SquaredDistances.asked == [tuple(k in which for k in range(3))]
    assert [t.grad is not None for t in tensors] == [k in which for k in range(3)]


def test_no_gradients_where_none_arrive() -> None:
    """With `set_materialize_grads(False)` the cotangent of an output that is not used is None."""
    arrived = []

    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float, materialize: bool) -> Any:
            ctx.set_materialize_grads(materialize)
            ctx.factor = factor
            return x * factor, x + factor

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            arrived.append((g, h))
            return g * ctx.factor if h is None else g * ctx.factor + h, None, None

    x = pb.ones(2, requires_grad=True)
    for materialize in (False, True):
        x.grad = None
        Both.apply(x, 3.0, materialize)[0].sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    assert arrived[0][1] is None
    assert arrived[1][1].tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- the module
def test_parameters_and_buffers_are_registered() -> None:
    module = Distances(4, 3)
    assert [name for name, _ in module.named_parameters()] == ["centers", "widths"]
    assert all(p.requires_grad and p.is_leaf for p in module.parameters())
    assert [name for name, _ in module.named_buffers()] == ["count"]
    assert list(module.state_dict()) == ["centers", "widths", "count"]
    assert not any(t is module.note for t in (*module.parameters(), *module.buffers()))


def test_a_parameter_that_is_left_out() -> None:
    module = Distances(4, 3, widths=False)
    assert module.widths is None and "widths" in module._parameters
    assert [name for name, _ in module.named_parameters()] == ["centers"]
    assert "widths" not in module.state_dict()
    module.load_state_dict(Distances(4, 3, widths=False).state_dict())
    module.widths = nn.Parameter(pb.ones(3))
    assert [name for name, _ in module.named_parameters()] == ["centers", "widths"]
    with pytest.raises(TypeError, match="cannot assign"):
        module.widths = pb.ones(3)


def test_what_is_registered_is_converted() -> None:
    module = Distances(4, 3)
    module.double()
    assert {t.dtype for t in module.state_dict().values()} == {pb.float64}
    assert module.note.dtype == pb.float32, "a tensor that is not registered stays"
    assert module(pb.randn(2, 4, dtype=pb.float64)).dtype == pb.float64
    assert {t.device.type for t in copy.deepcopy(module).to("meta").state_dict().values()} == {"meta"}


def test_init_writes_in_place() -> None:
    module = Distances(200, 50)
    centers, widths = module.centers, module.widths
    assert -0.5 <= centers.min() < -0.45 and 0.45 < centers.max() <= 0.5
    assert widths.min() >= 1 and widths.max() <= 2
    before = centers._version
    assert nn.init.uniform_(centers, -0.1, 0.1) is centers and centers.requires_grad and centers.is_leaf
    assert centers._version > before and centers.abs().max() <= 0.1


def test_it_shows_itself() -> None:
    assert repr(Distances(4, 3)) == "Distances(features=4, widths=True)"
    text = repr(nn.Sequential(Distances(4, 3, widths=False), nn.ReLU()))
    assert text == "Sequential(\n  (0): Distances(features=4, widths=False)\n  (1): ReLU()\n)"


def by_pickle(module: Any) -> Any:
    return pickle.loads(pickle.dumps(module))


def by_file(module: Any) -> Any:
    file = io.BytesIO()
    pb.save(module.state_dict(), file)
    file.seek(0)
    other = Distances(module.features, len(module.centers), module.widths is not None, module.root)
    other.load_state_dict(pb.load(file))
    return other


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle, by_file])
def test_it_is_copied_and_saved(duplicate: Callable[[Any], Any]) -> None:
    module, x = Distances(4, 3), pb.randn(2, 4)
    other = duplicate(module)
    same(other(x), module(x))
    with pb.no_grad():
        other.centers += 1
    assert (other(x) != module(x)).all()


@pytest.mark.parametrize("root", [False, True])
def test_it_learns_as_a_part_of_others(root: bool) -> None:
    pb.manual_seed(0)
    x = pb.cat([pb.randn(40, 2) + 3, pb.randn(40, 2) - 3])
    y = pb.arange(80) // 40
    model = nn.Sequential(Distances(2, 4, root=root), nn.Linear(4, 2))
    optimizer = pb.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    assert (model(x).argmax(1) == y).float().mean() > 0.97


def test_hooks_see_it() -> None:
    module, x = Distances(4, 3), pb.randn(2, 4, requires_grad=True)
    seen: list[Any] = []
    module.register_forward_pre_hook(lambda m, args: seen.append(("before", args[0] is x)))
    module.register_forward_hook(lambda m, args, out: seen.append(("after", tuple(out.shape))))
    module.register_full_backward_hook(lambda m, gi, go: seen.append(("back", gi[0].shape == x.shape)))
    module(x).sum().backward()
    assert seen == [("before", True), ("after", (2, 3)), ("back", True)]


# ---------------------------------------------------------------- under transforms
class Apart(Distances):
    """The same, by a Function whose `setup_context` is apart, as transforms ask for."""

    def forward(self, x: Any) -> Any:
        return ApartFunction.apply(x, self.centers, self.widths)


class ApartFunction(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, centers: Any, widths: Any) -> Any:
        d = ((x.unsqueeze(1) - centers) ** 2).sum(-1)
        return d if widths is None else d * widths

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.root = False

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return SquaredDistances.backward(ctx, g)[:3]


@pytest.mark.parametrize("kind", [Distances, Apart])
@pytest.mark.parametrize("widths", [True, False])
def test_it_is_a_function_of_its_parameters(kind: Any, widths: bool) -> None:
    module, x = kind(4, 3, widths), pb.randn(5, 4)
    params = {name: p.detach() for name, p in module.named_parameters()}

    def loss(params: Any, row: Any) -> Any:
        return functional_call(module, params, (row.unsqueeze(0),)).sin().sum()

    each = vmap(grad(loss), in_dims=(None, 0))(params, x)
    for k, row in enumerate(x):
        leaves = list(module.parameters())
        want = pb.autograd.grad(reference(row.unsqueeze(0), module).sin().sum(), leaves)
        same({name: g[k] for name, g in each.items()}, dict(zip(params, want, strict=True)))


@pytest.mark.parametrize("kind", [Distances, Apart])
def test_an_ensemble_of_it(kind: Any) -> None:
    modules, x = [kind(4, 3) for _ in range(3)], pb.randn(5, 4)
    params, buffers = stack_module_state(modules)
    together = vmap(lambda p, b: functional_call(modules[0], (p, b), (x,)))(params, buffers)
    same(together, pb.stack([m(x) for m in modules]))


def test_output_padding_has_pytorchs_arguments() -> None:
    """Libraries ask the class for the padding that makes a result of a size."""
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    found = type(layer)._output_padding(layer, pb.ones(1, 1, 4, 4), [10, 9], [2, 2], [0, 0], [3, 3], 2, [1, 1])
    assert found == (1, 0)
    assert layer(pb.ones(1, 1, 4, 4), output_size=[10, 9]).shape[2:] == (10, 9)
