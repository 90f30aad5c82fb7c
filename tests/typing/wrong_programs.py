"""Mistakes that types show, each on a line that names what mypy calls it."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

import pullback as pb
from pullback import Tensor, nn
from pullback.autograd.function import FunctionCtx
from pullback.func import functional_call, grad, grad_and_value, hessian, jacrev, linearize, vjp, vmap
from pullback.utils.checkpoint import checkpoint


class Net(nn.Module):
    def forward(self, x: Tensor, times: int = 1) -> Tensor:
        return x * times


def loss(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


def loss_of_dict(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return loss(p["w"], x)


def loss_with_rest(w: Tensor, x: Tensor) -> tuple[Tensor, int]:
    return loss(w, x), 3


net, x = Net(), pb.ones(2, 2)

# Results of several tensors are no tensor, and no tensor is several.
a: Tensor = pb.sort(x)  # assignment
b: Tensor = x.max(dim=0)  # assignment
c: Tensor = pb.min(x, 0)  # assignment
d: Tensor = pb.linalg.svd(x)  # assignment
e = x.max().values  # attr-defined
f: Tensor = nn.functional.max_pool1d(x, 2, return_indices=True)  # assignment
g: tuple[Tensor, Tensor] = nn.functional.max_pool1d(x, 2)  # assignment
h: Tensor = x.nonzero(as_tuple=True)  # assignment
i: Tensor = pb.where(x > 0)  # assignment
last = pb.linalg.svd(x).V  # attr-defined
x.sort(dim="rows")  # arg-type
x.max(dim="rows")  # call-overload

# Arguments.
pb.sin("x")  # arg-type
pb.add(x, "1")  # arg-type
x + "1"  # operator
x["first"]  # index
x.reshape("2")  # arg-type
x.to(3)  # call-overload
x.view([1.5])  # list-item
pb.zeros(2, dtype="float32")  # arg-type
pb.stack(x)  # arg-type
pb.cat([x, 1])  # list-item

# Results.
j: int = x.numpy()  # assignment
k: str = x.sum()  # assignment
m: npt.NDArray[Any] = x  # assignment
n: list[int] = x.size(0)  # assignment
o: str = x.dtype  # assignment
x.shape = (4,)  # assignment misc
x.sinn()  # attr-defined
pb.sinn(x)  # attr-defined

# Modules are called as their forward says.
net(3)  # arg-type
net(x, time=2)  # call-arg
p: str = net(x)  # assignment
nn.Linear(2, 3)("x")  # arg-type
nn.Linear("2", 3)  # arg-type
nn.Linear(2, 3).weight.grad.sum()  # union-attr
functional_call(net, [3], (x,))  # list-item
functional_call(loss, {}, (x,))  # arg-type
out_of_call: str = functional_call(net, {}, (x,))  # assignment

# Transforms keep signatures.
grad(loss)(x)  # call-overload
vmap(loss)(x, 3)  # arg-type
vmap(loss, in_dims=(None, 0))(x)  # call-arg
q: Tensor = grad(loss_of_dict)({"w": x}, x)  # assignment
r: Tensor = grad(loss_with_rest, has_aux=True)(x, x)  # assignment
s: Tensor = grad_and_value(loss)(x, x)  # assignment
t: str = jacrev(loss)(x, x).sum()  # assignment
u: str = hessian(loss)(x, x)  # assignment
v: Tensor = vjp(loss, x, x)  # assignment
linearize(loss, x, x)[1](x)  # call-arg
y: Tensor = pb.autograd.grad(x.sum(), x)  # assignment
pb.autograd.backward(3)  # arg-type
grad(3)  # call-overload
w: str = checkpoint(loss, x, x)  # assignment


@pb.no_grad()
def without(z: Tensor) -> Tensor:
    return z


without(3)  # arg-type
pb.compile(without)(3)  # arg-type


def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
    z: Tensor = ctx.saved_tensors  # assignment
    ctx.save_for_backward([z])  # arg-type
    return ctx.needs_input_grad  # return-value


pb.from_numpy([1, 2])  # arg-type
pb.save(x)  # call-arg
