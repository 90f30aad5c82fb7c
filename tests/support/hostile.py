"""Structures that no program should hand in, at every entrance for structures: `python hostile.py FIRST LAST SEED`.

Each call's number is printed before it runs, so that a caller sees which one ended the process.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import faulthandler
import pickle
import random
import sys
from typing import Any

import numpy as np

import pullback as pb
from pullback import autograd, func
from pullback.utils import pytree

SECONDS = 30
DEPTHS = (1, 2, 3, 16, 17, 127, 128, 129, 1000, 5000)
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Record:
    a: Any
    b: Any = None


class Sub(list): ...


class Iterates:
    """Gives what it was made with, for ever if asked."""

    def __init__(self, item: Any, length: int) -> None:
        self.item, self.length = item, length

    def __iter__(self) -> Any:
        return iter([self.item] * self.length)


class Lies(Iterates):
    """Has another length than it gives items."""

    def __len__(self) -> int:
        return random.choice([0, 1, self.length + 7, 2**62])

    def __getitem__(self, i: Any) -> Any:
        if not isinstance(i, int) or i >= self.length:
            raise IndexError(i)
        return self.item


class Shrinks(list):
    """Loses its items while it is read."""

    def __iter__(self) -> Any:
        for _ in range(3):
            self.clear()
            yield 1.0

    def __len__(self) -> int:
        self.clear()
        return 2


class Returns:
    """Whose special methods come back to the library with the object itself."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        return pb.tensor([self]).numpy()

    def __index__(self) -> int:
        return int(pb.zeros(3)[self])

    def __float__(self) -> float:
        return float(pb.tensor(self))

    def __len__(self) -> int:
        return len(pb.tensor(self))

    def __getitem__(self, i: Any) -> Any:
        return pb.tensor([self])[i]


class Raises:
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Any:
        raise ZeroDivisionError


def leaf(r: random.Random) -> Any:
    makers = (
        lambda: 1.0,
        lambda: 1,
        lambda: True,
        lambda: None,
        lambda: "ab",
        lambda: 10**400,
        lambda: pb.ones(2),
        lambda: pb.tensor(1),
        lambda: np.ones(2),
        lambda: np.float32(1),
        lambda: slice(0, 1),
        lambda: ...,
        lambda: Raises(),
        lambda: Returns(),
        lambda: {1, 2},
        lambda: b"ab",
        lambda: Shrinks([1.0, 2.0]),
        lambda: np.array([[1], None], dtype=object),
    )
    return r.choice(makers)()


def node(r: random.Random, item: Any, *, double: bool = True) -> Any:
    makers = (
        lambda: [item],
        lambda: [item, item] if double else [item],
        lambda: (item,),
        lambda: {"a": item},
        lambda: Sub([item]),
        lambda: Pair(item, 1.0),
        lambda: Record(item),
        lambda: Iterates(item, 2),
        lambda: Lies(item, 2),
        lambda: collections.deque([item]),
        lambda: collections.OrderedDict(a=item),
        lambda: iter([item]),
        lambda: [1.0, item],
    )
    return r.choice(makers)()


def structure(r: random.Random) -> Any:
    kind = r.randrange(3)
    if kind == 0:  # contains itself
        core: list[Any] = []
        x: Any = core
        for _ in range(r.randrange(4)):
            x = node(r, x)
        core.extend([x] * r.choice([1, 2]))
        return r.choice([x, core])
    x = leaf(r)
    if kind == 1:  # deep, of one kind
        seed = r.getrandbits(32)
        for _ in range(r.choice(DEPTHS)):
            x = node(random.Random(seed), x, double=False)
        return x
    for _ in range(r.randrange(8)):
        x = node(r, x)
    return x


X = pb.arange(6.0).reshape(2, 3)


def leaf_tensor() -> Any:
    return X.clone().requires_grad_()


def setitem(i: Any, v: Any) -> None:
    X.clone()[i] = v


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value


class Takes(autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, d: Any) -> Any:
        return a.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Gives(autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, box: Any) -> Any:
        return box.value

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Back(autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, box: Any) -> Any:
        ctx.box = box
        return a.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.box.value, ctx.box.value


def hooked(d: Any) -> None:
    t = leaf_tensor()
    t.register_hook(lambda _: d)
    t.sum().backward()


def packed(d: Any) -> None:
    t = leaf_tensor()
    with autograd.graph.saved_tensors_hooks(lambda _: d, lambda p: p):
        y = (t * t).sum()
    y.backward()


def with_rules(d: Any) -> Any:
    f = func.custom_vjp(lambda a: a * 1)
    f.defvjp(lambda a: (a * 1, d), lambda saved, g: d)
    return func.grad(lambda a: f(a).sum())(X)


ENTRANCES = {
    "tensor": lambda d: pb.tensor(d),
    "tensor_dtype": lambda d: pb.tensor(d, dtype=pb.float32),
    "as_tensor": lambda d: pb.as_tensor(d),
    "asarray": lambda d: pb.asarray(d),
    "new_tensor": lambda d: X.new_tensor(d),
    "Tensor": lambda d: pb.Tensor(d),
    "getitem": lambda d: X[d],
    "getitem_pair": lambda d: X[d, 0],
    "getitem_list": lambda d: X[[d]],
    "setitem_index": lambda d: setitem(d, 1.0),
    "setitem_value": lambda d: setitem(0, d),
    "setitem_mask": lambda d: setitem(X > 1, d),
    "zeros": lambda d: pb.zeros(d),
    "reshape": lambda d: X.reshape(d),
    "permute": lambda d: X.permute(d),
    "sum": lambda d: X.sum(d),
    "norm": lambda d: pb.norm(X, dim=d),
    "split": lambda d: X.split(d),
    "tensordot": lambda d: pb.tensordot(X, X, dims=d),
    "device": lambda d: pb.zeros(2, device=d),
    "add": lambda d: pb.add(X, d),
    "operator": lambda d: X + (d if not isinstance(d, np.ndarray) else 1),
    "where": lambda d: pb.where(X > 0, X, d),
    "stack": lambda d: pb.stack(d),
    "einsum": lambda d: pb.einsum("ij->i", d),
    "index_put": lambda d: X.clone().index_put_(d, pb.ones(())),
    "fill": lambda d: X.clone().fill_(d),
    "size": lambda d: pb.Size(d),
    "out": lambda d: pb.add(X, X, out=d),
    "flatten": lambda d: pytree.tree_flatten(d),
    "tree_map": lambda d: pytree.tree_map(lambda v: v, d),
    "tree_map_two": lambda d: pytree.tree_map(lambda a, b: a, d, d),
    "tree_paths": lambda d: pytree.tree_flatten_with_path(d),
    "is_leaf": lambda d: pytree.tree_map(lambda v: v, d, is_leaf=lambda _: False),
    "spec": lambda d: pickle.dumps(pytree.tree_structure(d)),
    "unflatten": lambda d: pytree.tree_unflatten(d, pytree.tree_structure([1, [2]])),
    "grad_argument": lambda d: func.grad(lambda a, b: (a * a).sum())(X, d),
    "grad_output": lambda d: func.grad(lambda a: d)(X),
    "grad_aux": lambda d: func.grad(lambda a: (a.sum(), d), has_aux=True)(X),
    "argnums": lambda d: func.grad(lambda a: a.sum(), argnums=d)(X),
    "vmap_argument": lambda d: func.vmap(lambda a: X)(d),
    "vmap_in_dims": lambda d: func.vmap(lambda a: a, in_dims=d)(X),
    "vmap_out_dims": lambda d: func.vmap(lambda a: a, out_dims=d)(X),
    "vmap_output": lambda d: func.vmap(lambda a: d)(X),
    "jvp": lambda d: func.jvp(lambda a: X, d, d),
    "jvp_output": lambda d: func.jvp(lambda a: d, (X,), (X,)),
    "vjp": lambda d: func.vjp(lambda a: a, X)[1](d),
    "vjp_output": lambda d: func.vjp(lambda a: d, X),
    "jacrev": lambda d: func.jacrev(lambda a: d)(X),
    "jacfwd": lambda d: func.jacfwd(lambda a: X)(d),
    "linearize": lambda d: func.linearize(lambda a: X, d),
    "trace": lambda d: func.trace(lambda a: d)(X),
    "autograd_grad": lambda d: autograd.grad(d, d),
    "autograd_backward": lambda d: autograd.backward(d),
    "backward_inputs": lambda d: leaf_tensor().sum().backward(inputs=d),
    "function": lambda d: Takes.apply(leaf_tensor(), d),
    "function_output": lambda d: Gives.apply(leaf_tensor(), Box(d)),
    "function_gradient": lambda d: Back.apply(leaf_tensor(), Box(d)).sum().backward(),
    "hook": hooked,
    "saved_hooks": packed,
    "custom_vjp": with_rules,
    "deepcopy": lambda d: copy.deepcopy(d),
    "assert_close": lambda d: pb.testing.assert_close(X, d),
    "set_grad": lambda d: setattr(leaf_tensor(), "grad", d),
    "gradcheck": lambda d: autograd.gradcheck(lambda a: a, d),
}
#: What a program may expect and handle.
EXPECTED = (
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    AssertionError,
)


def case(seed: int, number: int) -> tuple[str, Any]:
    r = random.Random(f"{seed} {number}")
    return r.choice(sorted(ENTRANCES)), structure(r)


def call(seed: int, number: int) -> str:
    """What came of a call: nothing, or a fault."""
    name, data = case(seed, number)
    random.seed(number)
    try:
        ENTRANCES[name](data)
    except EXPECTED as e:
        text = str(e)
        if isinstance(e, pb.InternalError) or "internal error" in text:
            return f"{name}: {type(e).__name__}: {text[:300]}"
        return "" if len(text) < 20_000 else f"{name}: a message of {len(text)} characters"
    except BaseException as e:
        return f"{name}: unexpected {type(e).__name__}: {str(e)[:300]}"
    return ""


def main() -> None:
    first, last, seed = map(int, sys.argv[1:4])
    for number in range(first, last):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(number, flush=True)
        fault = call(seed, number)
        if fault:
            print("fault", number, fault, flush=True)
    faulthandler.cancel_dump_traceback_later()
    print("end", flush=True)


if __name__ == "__main__":
    main()
