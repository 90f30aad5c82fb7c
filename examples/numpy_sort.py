"""A sort that runs in NumPy, forward and backward, and still works under every transform.

NumPy sees no derivative and no batch, so the example says both: `backward` and `jvp` move values along the order that
the sort found, and `vmap` shifts the dimension by one for the batch. Moving values is a function of its own, because
its NumPy code must be differentiated and batched as well when derivatives are nested.
"""

import numpy as np

import pullback as pb
from pullback.func import grad, hessian, jvp, vmap


class Rearrange(pb.autograd.Function):
    """Takes the elements along `dim` in the given order, or, with `back`, puts them back where they came from."""

    @staticmethod
    def forward(x, order, dim, back):
        values, places = x.detach().numpy(), order.numpy()
        if not back:
            return pb.from_numpy(np.take_along_axis(values, places, axis=dim))
        out = np.empty_like(values)
        np.put_along_axis(out, places, values, axis=dim)
        return pb.from_numpy(out)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, order, ctx.dim, ctx.back = inputs
        ctx.save_for_backward(order)
        ctx.save_for_forward(order)

    @staticmethod
    def backward(ctx, g):
        (order,) = ctx.saved_tensors
        return Rearrange.apply(g, order, ctx.dim, not ctx.back), None, None, None

    @staticmethod
    def jvp(ctx, t, *_):
        (order,) = ctx.saved_tensors
        return Rearrange.apply(t, order, ctx.dim, ctx.back)

    @staticmethod
    def vmap(info, in_dims, x, order, dim, back):
        x, order = (batch_first(t, d, info.batch_size) for t, d in zip((x, order), in_dims[:2], strict=True))
        return Rearrange.apply(x, order, beside_batch(dim), back), 0


class Sort(pb.autograd.Function):
    """The sorted values along `dim`, and the order that sorts them."""

    @staticmethod
    def forward(x, dim):
        values = x.detach().numpy()
        order = np.argsort(values, axis=dim, kind="stable")
        return pb.from_numpy(np.take_along_axis(values, order, axis=dim)), pb.from_numpy(order)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.dim = inputs
        _, order = output
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(order)
        ctx.save_for_forward(order)

    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return Rearrange.apply(g, order, ctx.dim, True), None

    @staticmethod
    def jvp(ctx, t, _):
        (order,) = ctx.saved_tensors
        return Rearrange.apply(t, order, ctx.dim, False), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        return Sort.apply(batch_first(x, in_dims[0], info.batch_size), beside_batch(dim)), (0, 0)


def batch_first(tensor, dim, size):
    """The tensor with its batch in front; one without a batch is repeated as a view."""
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def beside_batch(dim):
    """The same dimension of a member, counted with the batch in front."""
    return dim if dim < 0 else dim + 1


def sort(x, dim=-1):
    return Sort.apply(x, dim)[0]


def main():
    pb.manual_seed(0)
    x = pb.randn(5, 7, dtype=pb.float64)
    weights = pb.randn(7, dtype=pb.float64)

    def ours(row):
        return (sort(row) ** 3 * weights).sum()

    def built_in(row):
        return (row.sort().values ** 3 * weights).sum()

    same = pb.testing.assert_close
    same(sort(x), x.sort(dim=-1).values)
    same(sort(x, 0), x.sort(dim=0).values)
    same(grad(ours)(x[0]), grad(built_in)(x[0]))
    same(vmap(grad(ours))(x), vmap(grad(built_in))(x))
    same(vmap(grad(ours), in_dims=1)(x.T), vmap(grad(built_in), in_dims=1)(x.T))
    same(vmap(hessian(ours))(x), vmap(hessian(built_in))(x))
    same(jvp(ours, (x[0],), (x[1],)), jvp(built_in, (x[0],), (x[1],)))
    leaf = x.clone().requires_grad_()
    sort(leaf, 0)[0].sum().backward()
    same(leaf.grad, (x == x.amin(0)).to(pb.float64))
    print("numpy_sort: values, gradients, batches and second derivatives agree with the built-in sort")


if __name__ == "__main__":
    main()
