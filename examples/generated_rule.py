"""A derivative given by hand, batched without a rule of its own.

log(1 + exp(x)) overflows in its derivative when it is differentiated as it is written: exp(x) / (1 + exp(x)) is
inf / inf for large x. The function says what its derivative is. All its methods are made of pullback operators, so
`generate_vmap_rule` runs them on whole batches, and no `vmap` method is needed.
"""

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, vmap


class LogOnePlusExp(pb.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return pb.log(1 + pb.exp(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * slope(x)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * slope(x)


def slope(x):
    return 1 - 1 / (1 + pb.exp(x))


def written_out(x):
    return pb.log(1 + pb.exp(x))


def main():
    same = pb.testing.assert_close
    x = pb.tensor([-2.0, 0.0, 1.5, 100.0])
    assert vmap(grad(written_out))(x).isnan().any(), "the formula as written has no gradient at 100"
    same(vmap(grad(LogOnePlusExp.apply))(x), pb.sigmoid(x))
    print("generated_rule: the gradient at 100 is 1, where the formula as written gives nan")

    points = pb.linspace(-4, 4, 24, dtype=pb.float64).reshape(4, 6)

    def loss(row):
        return (LogOnePlusExp.apply(row) ** 2).sum()

    def reference(row):
        return (pb.nn.functional.softplus(row) ** 2).sum()

    same(vmap(grad(loss))(points), vmap(grad(reference))(points))
    same(vmap(hessian(loss), in_dims=1)(points), vmap(hessian(reference), in_dims=1)(points))
    same(vmap(jacrev(LogOnePlusExp.apply))(points), vmap(jacfwd(LogOnePlusExp.apply))(points))
    same(vmap(vmap(grad(lambda v: LogOnePlusExp.apply(v))))(points), pb.sigmoid(points))
    print("generated_rule: gradients, Jacobians and Hessians of batches agree with softplus")


if __name__ == "__main__":
    main()
