"""A function that keeps an intermediate for its derivative, and whose second derivative is still right.

`forward` computes s = sigmoid(x) on its way to x * s. Saving s saves work, but s depends on x: if `backward` treated
it as a constant, the second derivative would be silently wrong. The remedy is to return s as an output. Then its own
gradient arrives in `backward`, and the dependence is complete.
"""

import pullback as pb
from pullback.func import grad, jacfwd, jvp, vmap


class Gated(pb.autograd.Function):
    """x * sigmoid(x), and sigmoid(x)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        s = 1 / (1 + pb.exp(-x))
        return x * s, s

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        _, s = output
        ctx.save_for_backward(x, s)
        ctx.save_for_forward(x, s)

    @staticmethod
    def backward(ctx, g_product, g_gate):
        x, s = ctx.saved_tensors
        slope = s * (1 - s)
        return g_product * (s + x * slope) + g_gate * slope

    @staticmethod
    def jvp(ctx, t):
        x, s = ctx.saved_tensors
        slope = s * (1 - s)
        return t * (s + x * slope), t * slope


def gated(x):
    return Gated.apply(x)[0]


def plain(x):
    return x * pb.sigmoid(x)


def main():
    same = pb.testing.assert_close
    x = pb.linspace(-3, 3, 13, dtype=pb.float64)
    same(gated(x), plain(x))
    ours, theirs = gated, plain
    for order in (1, 2, 3):
        ours, theirs = grad(ours), grad(theirs)
        same(vmap(ours)(x), vmap(theirs)(x))
        print(f"saved_intermediate: derivative {order} at 13 points agrees with the one of the plain formula")
    same(vmap(jacfwd(grad(gated)))(x), vmap(jacfwd(grad(plain)))(x))

    def slope_along(f):
        return jvp(lambda u: jvp(f, (u,), (pb.ones_like(u),))[1], (x,), (pb.ones_like(x),))[1]

    same(slope_along(gated), slope_along(plain))
    leaf = x.clone().requires_grad_()
    (first,) = pb.autograd.grad(gated(leaf).sum(), leaf, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), leaf)
    same(second, vmap(grad(grad(plain)))(x))
    print("saved_intermediate: forward mode and .backward()'s tape agree as well")


if __name__ == "__main__":
    main()
