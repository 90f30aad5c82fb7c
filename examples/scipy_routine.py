"""A SciPy routine as a differentiable function: the Sylvester equation A X + X B = C, solved for X.

Differentiating the equation gives both rules, and each of them is another Sylvester equation. So they call the
function itself, and derivatives of any order follow:

    forward:  A dX + dX B = dC - dA X - X dB
    reverse:  Aᵀ L + L Bᵀ = G,   and then the gradients are  -L Xᵀ,  -Xᵀ L,  L
"""

import numpy as np
from scipy.linalg import solve_sylvester

import pullback as pb
from pullback.func import grad, jacfwd, jacrev, jvp, vmap


class Sylvester(pb.autograd.Function):
    @staticmethod
    def forward(a, b, c):
        # SciPy solves one equation at a time; leading dimensions are a batch.
        a, b, c = (t.detach().numpy() for t in (a, b, c))
        x = np.empty_like(c)
        for i in np.ndindex(*c.shape[:-2]):
            x[i] = solve_sylvester(a[i], b[i], c[i])
        return pb.from_numpy(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b, _ = inputs
        ctx.save_for_backward(a, b, output)
        ctx.save_for_forward(a, b, output)

    @staticmethod
    def backward(ctx, g):
        a, b, x = ctx.saved_tensors
        back = Sylvester.apply(a.mT, b.mT, g)
        return -back @ x.mT, -x.mT @ back, back

    @staticmethod
    def jvp(ctx, da, db, dc):
        a, b, x = ctx.saved_tensors
        right = pb.zeros_like(x) if dc is None else dc
        if da is not None:
            right = right - da @ x
        if db is not None:
            right = right - x @ db
        return Sylvester.apply(a, b, right)

    @staticmethod
    def vmap(info, in_dims, *matrices):
        batched = []
        for m, dim in zip(matrices, in_dims, strict=True):
            batched.append(m.expand(info.batch_size, *m.shape) if dim is None else m.movedim(dim, 0))
        return Sylvester.apply(*batched), 0


def by_kronecker_product(a, b, c):
    """The same by one large linear system, in operators that pullback can differentiate itself."""
    n, m = c.shape
    left = pb.einsum("ij,kl->ikjl", a, pb.eye(m, dtype=a.dtype)).reshape(n * m, n * m)
    right = pb.einsum("ij,kl->ikjl", pb.eye(n, dtype=a.dtype), b.mT).reshape(n * m, n * m)
    return pb.linalg.solve(left + right, c.reshape(n * m)).reshape(n, m)


def main():
    pb.manual_seed(0)
    a, b, c = (pb.randn(8, n, m, dtype=pb.float64) for n, m in ((3, 3), (2, 2), (3, 2)))
    a, b = a + 4 * pb.eye(3, dtype=pb.float64), b + 4 * pb.eye(2, dtype=pb.float64)
    solve, reference, same = Sylvester.apply, by_kronecker_product, pb.testing.assert_close

    x = solve(a[0], b[0], c[0])
    same(a[0] @ x + x @ b[0], c[0])
    same(vmap(solve)(a, b, c), vmap(reference)(a, b, c))
    same(
        vmap(solve, in_dims=(0, None, 2))(a, b[0], c.permute(1, 2, 0)),
        vmap(reference, in_dims=(0, None, 0))(a, b[0], c),
    )

    def loss(f):
        return lambda *args: (f(*args) ** 2).sum()

    every = (0, 1, 2)
    same(vmap(grad(loss(solve), every))(a, b, c), vmap(grad(loss(reference), every))(a, b, c))
    same(jacfwd(solve, every)(a[0], b[0], c[0]), jacrev(reference, every)(a[0], b[0], c[0]))
    point, direction = (a[0], b[0], c[0]), (a[1], b[1], c[1])
    same(
        jvp(grad(loss(solve), every), point, direction),
        jvp(grad(loss(reference), every), point, direction),
    )
    print("scipy_routine: solutions, gradients, Jacobians and second derivatives agree with a dense solve")


if __name__ == "__main__":
    main()
