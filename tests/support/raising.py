"""Objects whose methods raise, and every entrance that they can be given to."""

from __future__ import annotations

import copy
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
import pullback.nn.functional as F
from pullback import autograd, func
from pullback.autograd import Function, forward_ad
from pullback.utils import pytree
from pullback.utils.checkpoint import checkpoint

Entrance = Callable[[Any], object]


class Private(Exception):
    """An error of the program's own."""


class Deep(BaseException):
    """One that is no `Exception`."""


KINDS: tuple[type[BaseException], ...] = (Private, Deep, KeyboardInterrupt, MemoryError, RecursionError, ValueError)


class Items:
    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        if not self.values:
            raise StopIteration
        return self.values.pop(0)


def _item(self: Any, i: Any) -> Any:
    if isinstance(i, int) and i > 0:
        raise IndexError
    return 1.0


#: Methods of the program with an answer that is of some use.
METHODS: dict[str, Callable[..., Any]] = {
    "__float__": lambda self: 1.0,
    "__int__": lambda self: 1,
    "__index__": lambda self: 1,
    "__complex__": lambda self: 1j,
    "__bool__": lambda self: True,
    "__len__": lambda self: 1,
    "__length_hint__": lambda self: 1,
    "__getitem__": _item,
    "__iter__": lambda self: self if hasattr(type(self), "__next__") else Items([1.0]),
    "__next__": lambda self: next(type(self).few),
    "__contains__": lambda self, x: False,
    "__array__": lambda self, *args, **kwargs: np.array([1.0]),
    "__buffer__": lambda self, flags: memoryview(b"12345678"),
    "__dlpack__": lambda self, **kwargs: np.ones(1).__dlpack__(),
    "__dlpack_device__": lambda self: (1, 0),
    "__repr__": lambda self: "<object>",
    "__str__": lambda self: "an object",
    "__hash__": lambda self: 1,
    "__eq__": lambda self, other: False,
    "__call__": lambda self, *args: args[0] if args else None,
    "__neg__": lambda self: 1.0,
    "__add__": lambda self, other: NotImplemented,
    "__radd__": lambda self, other: NotImplemented,
    "__rmatmul__": lambda self, other: NotImplemented,
    "keys": lambda self: ["a"],
    "get": lambda self, key, default=None: default,
}
#: Attributes that are computed.
PROPERTIES: dict[str, Any] = {
    "shape": (1,),
    "ndim": 1,
    "dtype": np.dtype("float64"),
    "device": "cpu",
    "node": None,
    "output_nr": 0,
    "__name__": "name",
    "__module__": "module",
    "__array_interface__": {},
    "__array_struct__": None,
    "__array_priority__": 0,
    "__signature__": None,
    "__wrapped__": None,
    "__dataclass_fields__": {},
    "_fields": (),
    "func": None,
    "itemsize": 8,
    "kind": "f",
}
if sys.version_info < (3, 12):
    del METHODS["__buffer__"]
HOOKS = (*METHODS, *PROPERTIES, "__getattr__")


class Raised:
    """What the hooks of one object have raised."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind
        self.errors: list[BaseException] = []

    def raise_(self, *_args: Any, **_kwargs: Any) -> Any:
        self.errors.append(self.kind("of the program"))
        raise self.errors[-1]


def made(hook: str, kind: type[BaseException], others: tuple[str, ...] = ()) -> tuple[Any, Raised]:
    """An object one of whose hooks raises, and what it raised; `others` answer."""
    raised = Raised(kind)
    body: dict[str, Any] = {"few": iter([1.0, 1.0])}
    for name in others:
        if name in METHODS:
            body[name] = METHODS[name]
        elif name in PROPERTIES:
            body[name] = property(lambda self, name=name: PROPERTIES[name])
    fails = raised.raise_
    body[hook] = property(fails) if hook in PROPERTIES else lambda self, *args, **kwargs: fails()
    if hook == "__next__":
        body["__iter__"] = lambda self: self
    if hook == "__length_hint__":
        body["__iter__"] = lambda self: self
        body["__next__"] = METHODS["__next__"]
    return type("Raising", (), body)(), raised


class Scale(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, *rest: Any) -> Any:
        ctx.n = len(rest)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g * 2, *[None] * ctx.n)


class Outer(Function):
    """One whose backward calls another, which is tried for linearity."""

    @staticmethod
    def forward(ctx: Any, x: Any, o: Any) -> Any:
        ctx.o = o
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        inner = _function(forward=lambda _, x: x * float(ctx.o), backward=lambda _, g: g)
        return inner.apply(g), None


def _function(**methods: Callable[..., Any]) -> Any:
    body: dict[str, Any] = {"forward": lambda ctx, x: x * 2, "backward": lambda ctx, g: g * 2}
    body.update(methods)
    return type("Made", (Function,), {k: staticmethod(m) for k, m in body.items() if m is not None})


def _leaf() -> Any:
    return pb.ones(3, requires_grad=True)


def _hooked(o: Any, register: str) -> None:
    x = _leaf()
    y = x * 2
    getattr(y if register == "register_hook" else y.grad_fn, register)(lambda *args: o)
    y.sum().backward()


def _dual(o: Any) -> None:
    with forward_ad.dual_level():
        forward_ad.make_dual(pb.ones(3), o)


def _saved(o: Any, place: int) -> None:
    hooks = [lambda x: x, lambda x: x]
    hooks[place] = lambda x: o
    with autograd.graph.saved_tensors_hooks(*hooks):
        x = _leaf()
        y = (x * x).sum()
    y.backward()


def _inplace(o: Any) -> None:
    x = pb.ones(3)
    x += o


def _custom(o: Any, place: str) -> None:
    f = func.custom_vjp(lambda x: x * 2)
    f.defvjp(
        lambda x: o if place == "fwd" else (x * 2, o if place == "residual" else None),
        lambda saved, g: o if place == "bwd" else (o,) if place == "gradient" else (g * 2,),
    )
    func.grad(lambda x: f(x).sum())(pb.ones(3))


def _member(name: str, *rest: Any, **kwargs: Any) -> Entrance:
    return lambda o: getattr(pb.arange(6.0).reshape(2, 3), name)(o, *rest, **kwargs)


_grid = pb.arange(6.0).reshape(2, 3)
_square = lambda x: (x * x).sum()

ENTRANCES: dict[str, Entrance] = {
    "tensor": pb.tensor,
    "tensor of a list": lambda o: pb.tensor([o]),
    "tensor of a later item": lambda o: pb.tensor([[1.0], [o]]),
    "tensor of a tuple with tensors": lambda o: pb.tensor((pb.ones(()), o)),
    "tensor under vmap": lambda o: func.vmap(lambda x: pb.tensor([x, o]))(pb.ones(2)),
    "tensor dtype": lambda o: pb.tensor([1.0], dtype=o),
    "tensor device": lambda o: pb.tensor([1.0], device=o),
    "tensor requires_grad": lambda o: pb.tensor([1.0], requires_grad=o),
    "as_tensor": pb.as_tensor,
    "asarray": pb.asarray,
    "asarray copy": lambda o: pb.asarray(o, copy=True),
    "from_numpy": pb.from_numpy,
    "frombuffer": lambda o: pb.frombuffer(o, dtype=pb.uint8),
    "frombuffer count": lambda o: pb.frombuffer(bytearray(8), dtype=pb.uint8, count=o),
    "from_dlpack": pb.from_dlpack,
    "Tensor": lambda o: pb.Tensor(o),
    "Tensor of sizes": lambda o: pb.Tensor(2, o),
    "Tensor of a list": lambda o: pb.Tensor([o]),
    "Size": lambda o: pb.Size([o]),
    "Size of": lambda o: pb.Size(o),
    "new_tensor": _member("new_tensor"),
    "new_full": lambda o: _grid.new_full((2,), o),
    "new_zeros": _member("new_zeros"),
    "full": lambda o: pb.full((2,), o),
    "full size": lambda o: pb.full(o, 1.0),
    "full sizes": lambda o: pb.full((2, o), 1.0),
    "zeros": lambda o: pb.zeros(o),
    "zeros sizes": lambda o: pb.zeros(2, o),
    "zeros dtype": lambda o: pb.zeros(2, dtype=o),
    "zeros device": lambda o: pb.zeros(2, device=o),
    "zeros out": lambda o: pb.zeros(2, out=o),
    "zeros layout": lambda o: pb.zeros(2, layout=o),
    "arange": lambda o: pb.arange(o),
    "linspace": lambda o: pb.linspace(0.0, 1.0, o),
    "eye": lambda o: pb.eye(o),
    "randint": lambda o: pb.randint(o, (2,)),
    "randn": lambda o: pb.randn(2, generator=o),
    "manual_seed": lambda o: pb.manual_seed(o),
    "device": lambda o: pb.device(o),
    "finfo": lambda o: pb.finfo(o),
    "index": lambda o: _grid[o],
    "index list": lambda o: _grid[[o]],
    "index tuple": lambda o: _grid[o, 0],
    "index slice": lambda o: _grid[o:],
    "index step": lambda o: _grid[:, ::o],
    "assign at": lambda o: _grid.clone().__setitem__(o, 1.0),
    "assign": lambda o: _grid.clone().__setitem__(0, o),
    "assign slice": lambda o: _grid.clone().__setitem__(slice(None), o),
    "assign list": lambda o: _grid.clone().__setitem__(0, [o, o, o]),
    "assign masked": lambda o: _grid.clone().__setitem__(_grid > 2, o),
    "add": lambda o: _grid + o,
    "radd": lambda o: o + _grid,
    "eq": lambda o: _grid == o,
    "lt": lambda o: _grid < o,
    "matmul": lambda o: _grid @ o,
    "power": lambda o: _grid**o,
    "rpower": lambda o: o**_grid,
    "in-place": _inplace,
    "in": lambda o: o in _grid,
    "pb.add": lambda o: pb.add(_grid, o),
    "pb.add alpha": lambda o: pb.add(_grid, 1.0, alpha=o),
    "pb.add out": lambda o: pb.add(_grid, 1.0, out=o),
    "keyword": lambda o: pb.add(_grid, other=o),
    "ufunc": lambda o: np.add(_grid, o),
    "array": lambda o: _grid.__array__(o),
    "sum": _member("sum"),
    "sum dims": lambda o: _grid.sum((0, o)),
    "sum keepdim": lambda o: _grid.sum(0, keepdim=o),
    "sum dtype": lambda o: _grid.sum(dtype=o),
    "norm": lambda o: pb.norm(_grid, p=o),
    "norm dim": lambda o: pb.norm(_grid, dim=o),
    "view": _member("view"),
    "reshape": lambda o: _grid.reshape((2, o)),
    "permute": _member("permute"),
    "expand": _member("expand"),
    "split": _member("split"),
    "split list": lambda o: _grid.split([o]),
    "clamp": _member("clamp"),
    "fill_": lambda o: _grid.clone().fill_(o),
    "masked_fill": lambda o: _grid.masked_fill(_grid > 2, o),
    "where": lambda o: pb.where(_grid > 2, _grid, o),
    "gather": lambda o: _grid.gather(o, pb.zeros(2, 3, dtype=pb.int64)),
    "to": _member("to"),
    "to dtype": lambda o: _grid.to(dtype=o),
    "to copy": lambda o: _grid.to(copy=o),
    "type": _member("type"),
    "contiguous": lambda o: _grid.contiguous(memory_format=o),
    "stride": _member("stride"),
    "size": _member("size"),
    "item index": lambda o: _grid.storage_offset() if o is None else pb.ones(3).untyped_storage()[o],
    "set_": lambda o: pb.ones(3).set_(pb.ones(3), 0, o),
    "set_ offset": lambda o: pb.ones(3).set_(pb.ones(3), o, (1,)),
    "set_ source": lambda o: pb.ones(3).set_(o),
    "as_strided": lambda o: pb.ones(3).as_strided(o, (1,)),
    "as_strided offset": lambda o: pb.ones(3).as_strided((1,), (1,), o),
    "resize_": lambda o: pb.ones(3).resize_(o),
    "copy_": lambda o: pb.ones(3).copy_(o),
    "allclose": lambda o: pb.allclose(_grid, _grid, rtol=o),
    "allclose other": lambda o: _grid.allclose(o),
    "allclose nan": lambda o: _grid.allclose(_grid, equal_nan=o),
    "equal": lambda o: pb.equal(_grid, o),
    "is_tensor": lambda o: pb.is_tensor(o),
    "format": lambda o: format(_grid[0, 0], o),
    "cat": lambda o: pb.cat(o),
    "cat list": lambda o: pb.cat([_grid, o]),
    "stack dim": lambda o: pb.stack([_grid], dim=o),
    "einsum": lambda o: pb.einsum(o, _grid),
    "einsum operand": lambda o: pb.einsum("ij->i", o),
    "tensordot": lambda o: pb.tensordot(_grid, _grid, dims=o),
    "pad": lambda o: F.pad(_grid, o),
    "max_pool2d": lambda o: F.max_pool2d(pb.ones(1, 1, 4, 4), o),
    "dropout": lambda o: F.dropout(_grid, o),
    "softmax": lambda o: F.softmax(_grid, dim=o),
    "set_printoptions": lambda o: pb.set_printoptions(precision=o),
    "set_default_dtype": lambda o: pb.set_default_dtype(o),
    "no_grad": lambda o: pb.set_grad_enabled(o).__exit__(),
    "requires_grad": lambda o: setattr(pb.ones(3), "requires_grad", o),
    "requires_grad_": lambda o: pb.ones(3).requires_grad_(o),
    "grad attribute": lambda o: setattr(_leaf(), "grad", o),
    "data attribute": lambda o: setattr(_leaf(), "data", o),
    "backward": lambda o: (_leaf() * 2).backward(o),
    "backward inputs": lambda o: (_leaf() * 2).sum().backward(inputs=o),
    "backward input list": lambda o: (_leaf() * 2).sum().backward(inputs=[o]),
    "backward retain": lambda o: (_leaf() * 2).sum().backward(retain_graph=o),
    "autograd.backward": lambda o: autograd.backward(o),
    "autograd.grad": lambda o: autograd.grad(o, _leaf()),
    "autograd.grad inputs": lambda o: autograd.grad((_leaf() * 2).sum(), o),
    "autograd.grad outputs": lambda o: autograd.grad(_leaf() * 2, _leaf(), o),
    "autograd.grad list": lambda o: autograd.grad(_leaf() * 2, _leaf(), [o]),
    "register_hook": lambda o: (_leaf() * 2).register_hook(o),
    "hook": lambda o: _hooked(o, "register_hook"),
    "prehook": lambda o: _hooked(o, "register_prehook"),
    "node hook": lambda o: _hooked(o, "register_hook"),
    "pack": lambda o: _saved(o, 0),
    "unpack": lambda o: _saved(o, 1),
    "make_dual": _dual,
    "apply": lambda o: Scale.apply(_leaf(), o),
    "apply tree": lambda o: Scale.apply(_leaf(), [o, {"a": o}]),
    "apply first": lambda o: Scale.apply(o),
    "apply backward": lambda o: Scale.apply(_leaf(), o).sum().backward(),
    "apply under vmap": lambda o: func.vmap(lambda x: Scale.apply(x, o))(_leaf()),
    "apply under jvp": lambda o: func.jvp(lambda x: Scale.apply(x, o), (pb.ones(3),), (pb.ones(3),)),
    "forward result": lambda o: _function(forward=lambda ctx, x: (x * 2, o)).apply(_leaf()),
    "forward only result": lambda o: _function(forward=lambda ctx, x: o).apply(_leaf()),
    "backward result": lambda o: _function(backward=lambda ctx, g: o).apply(_leaf()).sum().backward(),
    "backward tuple": lambda o: _function(backward=lambda ctx, g: (g, o)).apply(_leaf()).sum().backward(),
    "jvp result": lambda o: func.jvp(_function(jvp=lambda ctx, t: o).apply, (pb.ones(3),), (pb.ones(3),)),
    "vmap result": lambda o: func.vmap(_function(vmap=lambda info, dims, x: o).apply)(pb.ones(3)),
    "vmap dims": lambda o: func.vmap(_function(vmap=lambda info, dims, x: (x * 2, o)).apply)(pb.ones(3)),
    "vmap dims list": lambda o: func.vmap(_function(vmap=lambda info, dims, x: (x * 2, [o])).apply)(pb.ones(3)),
    "save_for_backward": lambda o: _function(forward=lambda ctx, x: ctx.save_for_backward(o) or x * 2).apply(_leaf()),
    "mark_dirty": lambda o: _function(forward=lambda ctx, x: ctx.mark_dirty(o) or x * 2).apply(_leaf()),
    "mark_non_differentiable": lambda o: _function(
        forward=lambda ctx, x: ctx.mark_non_differentiable(o) or x * 2
    ).apply(_leaf()),
    "custom_vjp fwd": lambda o: _custom(o, "fwd"),
    "custom_vjp residual": lambda o: _custom(o, "residual"),
    "custom_vjp bwd": lambda o: _custom(o, "bwd"),
    "custom_vjp gradient": lambda o: _custom(o, "gradient"),
    "grad": lambda o: func.grad(o)(pb.ones(())),
    "grad argument": lambda o: func.grad(_square)(o),
    "grad argument tree": lambda o: func.grad(lambda t: (t[0] * t[0]).sum())([pb.ones(3), o]),
    "grad other argument": lambda o: func.grad(lambda x, y: (x * x).sum())(pb.ones(3), o),
    "grad argnums": lambda o: func.grad(_square, argnums=o)(pb.ones(3)),
    "grad argnums tuple": lambda o: func.grad(_square, argnums=(o,))(pb.ones(3)),
    "grad result": lambda o: func.grad(lambda x: o)(pb.ones(3)),
    "grad has_aux": lambda o: func.grad(lambda x: (x.sum(), o), has_aux=True)(pb.ones(3)),
    "repr of a transform": lambda o: repr(func.vmap(o)),
    "name of a transform": lambda o: func.vmap(o).__name__,
    "signature of a transform": lambda o: func.vmap(o).__signature__,
    "attribute of a transform": lambda o: getattr(func.vmap(o), "other", None),
    "vmap": lambda o: func.vmap(o)(pb.ones(3)),
    "vmap argument": lambda o: func.vmap(_square)(o),
    "vmap in_dims": lambda o: func.vmap(_square, in_dims=o)(pb.ones(3)),
    "vmap in_dims tuple": lambda o: func.vmap(_square, in_dims=(o,))(pb.ones(3)),
    "vmap in_dims short": lambda o: func.vmap(_square, in_dims=(0, o))(pb.ones(3)),
    "vmap out_dims": lambda o: func.vmap(_square, out_dims=o)(pb.ones(3)),
    "vmap out_dims tuple": lambda o: func.vmap(_square, out_dims=(o, o))(pb.ones(3)),
    "vmap result of a function": lambda o: func.vmap(lambda x: (x, o))(pb.ones(3)),
    "vmap chunk_size": lambda o: func.vmap(_square, chunk_size=o)(pb.ones(3)),
    "jvp primal": lambda o: func.jvp(_square, (o,), (pb.ones(3),)),
    "jvp tangent": lambda o: func.jvp(_square, (pb.ones(3),), (o,)),
    "jvp primals": lambda o: func.jvp(_square, o, (pb.ones(3),)),
    "vjp": lambda o: func.vjp(_square, o),
    "vjp cotangent": lambda o: func.vjp(_square, pb.ones(3))[1](o),
    "vjp keyword": lambda o: func.vjp(_square, pb.ones(3))[1](cotangents=o),
    "jacrev": lambda o: func.jacrev(_square)(o),
    "jacfwd": lambda o: func.jacfwd(lambda x: (x * x, o))(pb.ones(3)),
    "hessian": lambda o: func.hessian(_square)(o),
    "linearize": lambda o: func.linearize(_square, o),
    "linearize tangent": lambda o: func.linearize(_square, pb.ones(3))[1](o),
    "trace": lambda o: func.trace(lambda x, y: x * 2)(pb.ones(3), o),
    "program": lambda o: func.trace(lambda x, y: x * 2)(pb.ones(3), 1)(pb.ones(3), o),
    "checkpoint": lambda o: checkpoint(lambda x, y: x * 2, _leaf(), o, use_reentrant=False).sum().backward(),
    "gradcheck": lambda o: autograd.gradcheck(lambda x: x * 2, o),
    "jacobian": lambda o: autograd.functional.jacobian(_square, o),
    "tree_leaves": pytree.tree_leaves,
    "tree_map": lambda o: pytree.tree_map(lambda x: x, [1, o]),
    "tree_map function": lambda o: pytree.tree_map(o, [1]),
    "tree_map is_leaf": lambda o: pytree.tree_map(lambda x: x, [1], is_leaf=lambda x: o),
    "tree_map others": lambda o: pytree.tree_map(lambda x, y: x, [[1], 2], [o, o]),
    "tree_map_only": lambda o: pytree.tree_map_only(o, lambda x: x, [1]),
    "tree_flatten_with_path": lambda o: pytree.tree_flatten_with_path({"a": o}),
    "tree_unflatten": lambda o: pytree.tree_unflatten(o, pytree.tree_structure([1])),
    "tree of a dict": lambda o: pytree.tree_map(lambda x, y: x, {"a": 1}, o),
    "keys of a dict": lambda o: pytree.tree_map(lambda x, y: x, {"a": 1}, {o: 1}),
    "keystr": lambda o: pytree.keystr(o),
    "keystr part": lambda o: pytree.keystr((o,)),
    "structure": lambda o: repr(pytree.tree_structure({"a": [o]})),
    "deepcopy": lambda o: copy.deepcopy([pb.ones(3), o]),
    "deepcopy memo": lambda o: pb.ones(3).__deepcopy__(o),
    "dlpack": lambda o: pb.ones(3).__dlpack__(stream=o),
    "custom_vjp argument": lambda o: func.custom_vjp(lambda x, y: x)(pb.ones(3), o),
    "derived jvp": lambda o: func.jvp(
        _function(backward=lambda ctx, g: g * float(o)).apply, (pb.ones(3),), (pb.ones(3),)
    ),
    "derived backward": lambda o: func.grad(
        lambda x: _function(backward=None, jvp=lambda ctx, t: t * float(o)).apply(x).sum()
    )(pb.ones(3)),
    "trial": lambda o: func.jvp(lambda x: Outer.apply(x, o), (pb.ones(3),), (pb.ones(3),)),
    "custom function": lambda o: func.custom_vjp(o),
}

#: Here Python itself or NumPy takes any exception for an answer, or the rest of the call gives another error later.
NOT_OURS = {("ufunc", "__len__"), ("signature of a transform", "__repr__")}


class Unraisable:
    """What was reported as ignored meanwhile."""

    def __enter__(self) -> list[str]:
        self.found: list[str] = []
        self.before = sys.unraisablehook
        sys.unraisablehook = lambda u: self.found.append(f"ignored {u.exc_value!r} in {u.object!r}")
        return self.found

    def __exit__(self, *_error: object) -> None:
        sys.unraisablehook = self.before


def fault(entrance: str, hook: str, kind: type[BaseException], others: tuple[str, ...] = ()) -> str | None:
    """What is wrong with a call, if anything: an exception of a hook must be the one that the call raises."""
    o, raised = made(hook, kind, others)
    surfaced: BaseException | None = None
    with warnings.catch_warnings(), Unraisable() as ignored:
        warnings.simplefilter("ignore")
        try:
            ENTRANCES[entrance](o)
        except BaseException as e:
            surfaced = e
    pb.set_default_dtype(pb.float32)
    pb.set_printoptions(profile="default")
    if not raised.errors and not ignored:
        return None
    if surfaced is not None and any(surfaced is e for e in raised.errors) and not ignored:
        return None
    got = "nothing" if surfaced is None else f"{type(surfaced).__name__}: {str(surfaced)[:200]}"
    return f"{entrance}: {hook} raised {kind.__name__} ({' '.join(others)}), and the call {got} {ignored or ''}"


def every() -> Iterator[tuple[str, str]]:
    return ((e, h) for e in ENTRANCES for h in HOOKS if (e, h) not in NOT_OURS)


def drawn(r: random.Random) -> tuple[str, str, type[BaseException], tuple[str, ...]]:
    """A random call: other hooks of the object answer, so that it gets further in."""
    while True:
        entrance, hook = r.choice(list(ENTRANCES)), r.choice(HOOKS)
        if (entrance, hook) not in NOT_OURS:
            break
    others = tuple(h for h in HOOKS[:-1] if h != hook and r.random() < r.choice((0.05, 0.15, 0.4)))
    # Where a rule is derived, an ordinary error is the reason why it cannot be; `inspect` says by one that there is no
    # signature.
    answer = entrance.startswith(("derived", "trial", "signature", "custom function"))
    return entrance, hook, r.choice(KINDS[:-1] if answer else KINDS), others
