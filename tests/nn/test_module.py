"""The contract of `nn.Module`: registration, attributes, walks, conversions, copies."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from collections import OrderedDict
from typing import Any

import pytest

import pullback as pb
from pullback import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(pb.ones(3))
        self.register_buffer("steps", pb.zeros(1))
        self.register_buffer("scratch", pb.zeros(2), persistent=False)
        self.again = self.first

    def forward(self, x: Any) -> Any:
        return self.first(x) * self.scale


def test_what_is_registered_is_found() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias"]
    everywhere = [n for n, _ in net.named_parameters(remove_duplicate=False)]
    assert everywhere == ["scale", "first.weight", "first.bias", "again.weight", "again.bias"]
    assert [n for n, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first"]
    assert [n for n, _ in net.named_children()] == ["first"]
    assert list(net.state_dict()) == ["scale", "steps", "first.weight", "first.bias", "again.weight", "again.bias"]
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("steps") is net.steps
    assert net.get_submodule("first") is net.first and net.get_submodule("") is net
    assert {"scale", "steps", "first", "forward"} <= set(dir(net))
    for call in (net.get_parameter, net.get_buffer, net.get_submodule):
        with pytest.raises(AttributeError):
            call("first.nothing")


def test_attributes_and_registries_are_one() -> None:
    """Whoever writes to one of them finds it in the other."""
    net = Net()
    weight = nn.Parameter(pb.zeros(3, 2))
    net.first._parameters["weight"] = weight
    assert net.first.weight is weight
    del net.first._parameters["weight"]
    assert not hasattr(net.first, "weight")
    net.first.weight = weight
    assert net.first._parameters["weight"] is weight
    other = nn.Linear(2, 3)
    net._modules["first"] = other
    assert net.first is other
    net._buffers.update(steps=pb.ones(1))
    assert net.steps.item() == 1
    assert net._buffers.pop("steps").item() == 1 and not hasattr(net, "steps")
    net.register_buffer("steps", pb.ones(1))
    net._modules = OrderedDict(only=other)
    assert net.only is other and not hasattr(net, "first")
    net.__dict__["_modules"] = {"late": other}  # as an old `__setstate__` does
    assert net._modules["late"] is other and net.late is other
    net._parameters.setdefault("more", nn.Parameter(pb.ones(1)))
    net._parameters |= {"most": None}
    assert net.more.item() == 1 and net.most is None
    net._parameters.clear()
    assert not hasattr(net, "more") and not hasattr(net, "scale")


def test_kinds_of_attributes_change() -> None:
    m: Any = nn.Module()
    m.x = 5
    m.x = nn.Parameter(pb.ones(1))
    assert [n for n, _ in m.named_parameters()] == ["x"]
    with pytest.raises(TypeError, match="cannot assign 'int' as parameter 'x'"):
        m.x = 5
    m.x = None
    assert m.x is None and list(m.named_parameters()) == []
    del m.x
    m.x = nn.Linear(1, 1)
    assert "x" in m._modules
    m.x = nn.Parameter(pb.ones(1))
    assert "x" not in m._modules and "x" in m._parameters
    del m.x
    m.x = nn.Buffer(pb.ones(1), persistent=False)
    assert m._non_persistent_buffers_set == {"x"} and not m.state_dict()
    m.x = pb.zeros(2)
    assert m._buffers["x"].shape == (2,)
    with pytest.raises(TypeError, match="as buffer 'x'"):
        m.x = "text"
    del m.x
    assert m._non_persistent_buffers_set == set()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.register_parameter("a.b", None), KeyError),
        (lambda m: m.register_parameter("", None), KeyError),
        (lambda m: m.register_parameter(3, None), TypeError),
        (lambda m: m.register_parameter("forward", None), KeyError),
        (lambda m: m.register_parameter("w", pb.ones(1)), TypeError),
        (lambda m: m.register_parameter("w", nn.Parameter(pb.ones(1)) * 1), TypeError),
        (lambda m: m.register_buffer("b", 3), TypeError),
        (lambda m: m.add_module("m", 3), TypeError),
        (lambda m: m.add_module("training", nn.Identity()), KeyError),
        (lambda m: m.train("yes"), ValueError),
        (lambda m: m.to(pb.int64), TypeError),
        (lambda m: m.cuda(), RuntimeError),
        (lambda m: m(1), NotImplementedError),
        (lambda m: nn.Module(1), TypeError),
        (lambda m: nn.Module(a=1), TypeError),
    ],
)
def test_bad_input_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(nn.Module())


@pytest.mark.parametrize("value", [nn.Parameter(pb.ones(1)), nn.Identity(), nn.Buffer(pb.ones(1))])
def test_init_comes_first(value: Any) -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            self.x = value

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Late()


def test_conversions_keep_parameters() -> None:
    net = Net()
    weight = net.first.weight
    weight.grad = pb.ones(3, 2)
    assert net.double() is net
    assert net.first.weight is weight and weight.dtype == pb.float64 and weight.grad.dtype == pb.float64
    assert net.steps.dtype == pb.float64
    net.to(pb.float32).half().float().bfloat16()
    assert weight.dtype == pb.bfloat16
    net.to("meta")
    assert net.first.weight.is_meta and net.first.weight is not weight
    assert not net.to_empty(device="cpu").first.weight.is_meta


def test_modes_and_gradients() -> None:
    net = Net()
    assert net.eval() is net and not net.first.training
    assert net.train().first.training
    net(pb.ones(4, 2)).sum().backward()
    assert net.scale.grad is not None
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is not None and net.scale.grad.abs().sum() == 0
    net.zero_grad()
    assert net.scale.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), copy.copy])
def test_copies(duplicate: Any) -> None:
    net = Net()
    other = duplicate(net)
    assert other.first is other.again and other.first.weight is other.first._parameters["weight"]
    assert (other.first.weight is net.first.weight) == (duplicate is copy.copy)
    x = pb.ones(2, 2)
    assert pb.equal(net(x), other(x))
    other.extra = nn.Parameter(pb.ones(1))
    assert not hasattr(net, "extra")


def test_a_module_goes_with_its_last_reference() -> None:
    gc.disable()
    try:
        seen = weakref.ref(net := Net())
        tensor = weakref.ref(net.scale)
        del net
        assert seen() is None and tensor() is None
    finally:
        gc.enable()


def test_fallback_attributes_of_subclasses() -> None:
    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Net()

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    class Other(Wrapper, nn.Identity):
        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name)

    w = Other()
    assert w.scale is w.inner.scale
    w = Wrapper()
    assert w.scale is w.inner.scale
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        _ = w.nothing


def test_calls_find_what_was_put_in_the_place_of_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = nn.Identity()
    assert nn.Module.__call__(m, 3) == 3
    m.forward = lambda x: x + 1
    assert m(3) == 4
    monkeypatch.setattr(nn.Identity, "forward", lambda self, x: x + 2)
    assert nn.Identity()(3) == 5

    class Louder(nn.Identity):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * 10

    assert Louder()(3) == 50


def test_representation() -> None:
    assert repr(nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=1, out_features=2, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_set_submodule() -> None:
    net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    net.set_submodule("1.0", nn.Tanh())
    assert isinstance(net[1][0], nn.Tanh)
    with pytest.raises(ValueError, match="target name"):
        net.set_submodule("", nn.Tanh())
    with pytest.raises(AttributeError):
        net.set_submodule("1.7", nn.Tanh(), strict=True)


def test_parameters() -> None:
    p = nn.Parameter(pb.ones(2))
    assert p.is_leaf and p.requires_grad and isinstance(p, pb.Tensor)
    assert type(p + 1) is type(p.detach()) is type(p.data) is pb.Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    twin = copy.deepcopy(p)
    assert type(twin) is nn.Parameter and twin.data_ptr() != p.data_ptr()
    p.note = "kept"  # type: ignore[attr-defined]
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is nn.Parameter and back.requires_grad and back.note == "kept"
    base = pb.zeros(2)
    assert nn.Parameter(base, requires_grad=False).data_ptr() == base.data_ptr()

    class Marked(pb.Tensor): ...

    marked = nn.Parameter(pb.ones(2).as_subclass(Marked))
    assert type(marked) is Marked and isinstance(marked, nn.Parameter) and not isinstance(base, nn.Parameter)
    with pytest.raises(TypeError):
        nn.Parameter([1.0])

    class Own(nn.Parameter):
        def __new__(cls, data: Any, label: str) -> Any:
            made = super().__new__(cls, data)
            made.label = label
            return made

        def __init__(self, data: Any, label: str) -> None: ...

    assert Own(pb.ones(1), "a").label == "a"  # type: ignore[attr-defined]


def test_importing_the_package_does_not_load_modules() -> None:
    code = (
        "import sys, pullback; print('pullback.nn' in sys.modules); pullback.nn;"
        "print('pullback.nn.modules' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


def test_containers_of_parameters_show_as_in_pytorch() -> None:
    values = nn.ParameterList([pb.ones(2), 3])
    assert repr(values) == (
        "ParameterList(\n    (0): Parameter containing: [pullback.float32 of size 2]\n    (1): Object of type: int\n)"
    )
    named = nn.ParameterDict({"a": pb.ones(2, 3)})
    assert repr(named) == "ParameterDict(  (a): Parameter containing: [pullback.FloatTensor of size 2x3])"


def test_gradients_of_convolutions() -> None:
    from pullback.nn import grad

    sizes = {1: (2, 4, 7), 2: (2, 4, 6, 5), 3: (1, 4, 4, 5, 4)}
    for d, shape in sizes.items():
        x, w = pb.randn(shape).double().requires_grad_(), pb.randn(6, 2, *[2] * d).double().requires_grad_()
        options = {"stride": 2, "padding": 1, "groups": 2}
        out = getattr(pb.nn.functional, f"conv{d}d")(x, w, **options)
        ct = pb.randn(out.shape).double()
        by_x, by_w = pb.autograd.grad(out, [x, w], ct)
        assert pb.allclose(getattr(grad, f"conv{d}d_input")(shape, w, ct, **options), by_x)
        assert pb.allclose(getattr(grad, f"conv{d}d_weight")(x, w.shape, ct, **options), by_w)


def test_attention_takes_the_names_of_kernels() -> None:
    from pullback.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert pb.nn.functional.scaled_dot_product_attention(*[pb.ones(1, 1, 2)] * 3).tolist() == [[[1.0, 1.0]]]
    with pytest.raises(TypeError, match="SDPBackend"), sdpa_kernel("math"):  # type: ignore[arg-type]
        pass


def test_instance_norm_says_what_vmap_needs() -> None:
    m = nn.InstanceNorm1d(3, track_running_stats=True)
    with pytest.raises(RuntimeError, match="stack_module_state"):
        pb.func.vmap(m)(pb.randn(5, 4, 3, 6))
    members = [nn.InstanceNorm1d(3, track_running_stats=True) for _ in range(5)]
    params, buffers = pb.func.stack_module_state(members)
    at = pb.randn(5, 4, 3, 6)
    out = pb.func.vmap(lambda p, b, x: pb.func.functional_call(m, (p, b), (x,)))(params, buffers, at)
    for i, member in enumerate(members):
        assert pb.allclose(out[i], member(at[i]), atol=1e-6)
        assert pb.allclose(buffers["running_mean"][i], member.running_mean, atol=1e-6)


def test_a_wrapper_may_have_the_names_of_what_it_wraps() -> None:
    """What a program's `__getattr__` finds in another module is no attribute of this one."""

    class Wrapper(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner
            self.register_buffer("scale", pb.zeros(1))
            self.register_parameter("weight", nn.Parameter(pb.zeros(1)))
            self.add_module("part", nn.Identity())

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return object.__getattribute__(self.inner, name)

    wrapped = Wrapper(Wrapper(nn.Linear(1, 1)))
    assert list(wrapped._buffers) == ["scale"] and list(wrapped._parameters) == ["weight"]
    with pytest.raises(KeyError, match="already exists"):
        wrapped.register_buffer("weight", None)

    class Late(nn.Module):
        @property
        def k(self) -> Any:
            return self._parameters["k"] if "k" in self._parameters else self.missing

    late = Late()
    late.register_parameter("k", nn.Parameter(pb.ones(1)))
    assert late.k is late._parameters["k"]
    with pytest.raises(KeyError, match="already exists"):
        wrapped.register_buffer("training", None)


def test_explicit_getattr() -> None:
    """Programs call `__getattr__` for the layer of a name, in methods, lambdas and properties."""

    class Numbered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer0 = nn.Linear(2, 2)
            self.register_buffer("scale", pb.ones(2))

        def forward(self, x: pb.Tensor) -> pb.Tensor:
            layer: Any = self.__getattr__("layer" + "0")
            return layer(x)

    class Derived(Numbered):
        @property
        def first(self) -> Any:
            return (lambda name: self.__getattr__(name))("layer0")

    model = Derived()
    x = pb.ones(1, 2)
    assert (model(x) == model.layer0(x)).all()
    assert model.first is model.layer0
    assert model.__getattr__("scale") is model.scale
    assert nn.Module.__getattribute__(model, "layer0") is model.layer0
    with pytest.raises(AttributeError, match="'Derived' object has no attribute 'layer1'"):
        model.__getattr__("layer1")
    with pytest.raises(AttributeError, match="'Derived' object has no attribute 'layer1'"):
        _ = model.layer1


def test_explicit_super_getattr_of_registered() -> None:
    """`super().__getattr__` finds what is registered, also when a method calls it for a name that exists."""

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(pb.ones(2))

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return "missing"

    wrapper = Wrapper()
    assert wrapper.__getattr__("weight") is wrapper.weight
    assert wrapper.other == "missing"


def test_gradients_stay_objects_where_a_module_is_cast() -> None:
    m = nn.Linear(2, 2)
    m(pb.ones(1, 2)).sum().backward()
    grads = [p.grad for p in m.parameters()]
    assert all(
        p.grad is g and p.grad.dtype == p.dtype == pb.float64
        for p, g in zip(m.double().parameters(), grads, strict=True)
    )


def test_what_the_class_has_is_found_before_a_submodule_of_that_name() -> None:
    class Named(nn.Module):
        scale = 3

        def __init__(self) -> None:
            super().__init__()
            self.parameters = nn.ParameterList([nn.Parameter(pb.ones(2))])
            self.scale = nn.Linear(2, 1)

    module = Named()
    for made in (module, copy.deepcopy(module)):
        assert [name for name, _ in made.named_parameters()] == ["parameters.0", "scale.weight", "scale.bias"]
        assert len(list(made.parameters())) == 3 and made.scale == 3
        assert list(made._modules) == ["parameters", "scale"] and "scale" not in made.__dict__


def test_a_module_has_other_tensors_for_a_while() -> None:
    layer, other = nn.Linear(2, 1), pb.ones(1, 2, requires_grad=True)
    own = layer.weight
    with pytest.raises(ZeroDivisionError), nn.utils.stateless._reparametrize_module(layer, {"weight": other}):
        layer(pb.ones(2)).sum().backward()
        raise ZeroDivisionError
    assert layer.weight is own and own.grad is None and other.grad.tolist() == [[1.0, 1.0]]
