"""Some of the eigenpairs of large symmetric matrices, by products with them alone."""

from __future__ import annotations

from math import prod

from . import Tensor, autograd, cat, diagonal, eye, finfo, get_default_dtype, no_grad, rand, where, zeros
from . import linalg as la
from .nn._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["lobpcg"]

_METHODS = ("basic", "ortho")


class Search:
    """The search for the eigenpairs of one matrix: what a `tracker` is called with.

    NOTE. A. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned conjugate
    gradient method" (2001). The basis of approximations, residuals and directions is made orthonormal by its Gram
    matrix, and what is nearly dependent is left out.

    Attributes: `A`, `B`, `iK`, as they were given; `E` and `X`, the eigenpairs found so far; `R`, their residuals; and
    the dicts `ivars` (`m`, `n`, `k`, `istep`, `iterations_left`, `converged_count`), `fvars` (`tol`), `bvars`
    (`largest`) and `tvars` (`rerr`, the relative residuals).
    """

    def __init__(self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, options: dict[str, Any]) -> None:
        self.A, self.B, self.iK, self.X = A, B, iK, X
        self.ivars = {"m": A.shape[-1], "n": X.shape[-1], "k": options["k"], "istep": 0, "converged_count": 0}
        self.ivars["iterations_left"] = options["niter"]
        self.fvars, self.bvars = {"tol": options["tol"]}, {"largest": options["largest"]}
        self.tvars: dict[str, Tensor] = {}
        self.tracker: Callable[[Search], None] | None = options["tracker"]
        self.E, self.R = zeros(0), X

    def _metric(self, x: Tensor) -> Tensor:
        return x if self.B is None else self.B @ x

    def _orthonormal(self, x: Tensor) -> Tensor:
        """The same span with `xᴴ B x = 1`, twice, since the first time rounds much."""
        for _ in range(2):
            x = x / x.norm(dim=0).clamp_min(finfo(x.dtype).tiny)
            values, vectors = la.eigh(x.mH @ self._metric(x))
            kept = values > values.max() * (10 * x.shape[-1] * finfo(x.dtype).eps)
            x = x @ (vectors[:, kept] / values[kept].sqrt())
        return x

    def _ritz(self, basis: Tensor) -> Tensor:
        """The coefficients of the best approximations in an orthonormal basis; their values are `E`."""
        values, vectors = la.eigh(basis.mH @ (self.A @ basis))
        n = min(self.ivars["n"], values.shape[0])
        order = values.argsort(descending=self.bvars["largest"])[:n]
        self.E = values[order]
        return vectors[:, order]

    def _look(self) -> bool:
        """Residuals of the approximations, and whether those that are wanted are found."""
        product, metric = self.A @ self.X, self._metric(self.X)
        self.R = product - metric * self.E
        sizes = product.norm(dim=0) + metric.norm(dim=0) * self.E.abs()
        errors = self.R.norm(dim=0) / sizes.clamp_min(finfo(self.X.dtype).tiny)
        self.tvars["rerr"] = errors
        found = (errors[: self.ivars["k"]] < self.fvars["tol"]).tolist()
        # The first ones in a row, so that none is passed over.
        self.ivars["converged_count"] = (*found, False).index(False)
        if self.tracker is not None:
            self.tracker(self)
        return all(found)

    def run(self) -> None:
        """Improves the approximations until they are good enough, or the steps are used up."""
        self.X = self._orthonormal(self.X)
        self.X = self.X @ self._ritz(self.X)
        before = None
        while not self._look() and self.ivars["iterations_left"] != 0:
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] -= 1
            new = self.R if self.iK is None else self.iK @ self.R
            new = new if before is None else cat([new, before], -1)
            # What is new, without what there is.
            for _ in range(2):
                new = new - self.X @ (self._metric(self.X).mH @ new)
            new = self._orthonormal(new)
            basis = self._orthonormal(cat([self.X, new], -1)) if new.shape[-1] else self.X
            best = basis @ self._ritz(basis)
            before = best - self.X @ (self._metric(self.X).mH @ best)
            self.X = self._orthonormal(best)
            self.X = self.X @ self._ritz(self.X)


def _hermitian(x: Tensor) -> Tensor:
    return (x + x.mH) / 2


class _Eigenpairs(autograd.Function):
    """The pairs as a function of A and B, with derivatives by what defines them."""

    @staticmethod
    def forward(A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, options: dict[str, Any]) -> Any:
        lead, k = A.shape[:-2], options["k"]
        flat = [None if t is None else t.expand(*lead, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (A, B, X, iK)]
        values, vectors = [], []
        for i in range(prod(lead)):
            a, b, x, k_inverse = (None if t is None else t[i] for t in flat)
            assert a is not None and x is not None
            search = Search(a, b, x, k_inverse, options)
            search.run()
            values.append(search.E[:k])
            vectors.append(search.X[:, :k])
        if not values:
            return A.real.new_empty(*lead, k), A.new_empty(*lead, A.shape[-1], k)
        return (cat(values).reshape(*lead, k), cat([v[None] for v in vectors]).reshape(*lead, A.shape[-1], k))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        A, B, *_ = inputs
        ctx.has_metric = B is not None
        saved = (A, *output) if B is None else (A, *output, B)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        front = []
        for x, d in zip(args, in_dims, strict=True):
            batched = x if d is None or not isinstance(x, Tensor) else x.movedim(d, 0)
            front.append(batched)
        rank = max(x.dim() - (d is not None) for x, d in zip(args[:3], in_dims[:3], strict=True) if x is not None)
        for i, (x, d) in enumerate(zip(front[:4], in_dims[:4], strict=True)):
            if x is None:
                continue
            x = x if d is not None else x[None]
            front[i] = x.reshape(x.shape[0], *(1,) * (rank + 1 - x.dim()), *x.shape[1:])
        A = front[0]
        front[0] = A.expand(info.batch_size, *A.shape[1:])
        return _Eigenpairs.apply(*front), (0, 0)

    @staticmethod
    def jvp(ctx: Any, dA: Any, dB: Any, *_: Any) -> Any:
        A, E, X, *rest = ctx.saved_tensors
        B = rest[0] if ctx.has_metric else None
        m, k = X.shape[-2:]
        metric = X if B is None else B @ X
        # What the equation A x = λ B x lacks when A and B have moved.
        lack = zeros(m, k, dtype=X.dtype)
        size = zeros(k, k, dtype=X.dtype)
        if dA is not None:
            lack = lack + _hermitian(dA) @ X
        if dB is not None:
            moved = _hermitian(dB) @ X
            lack = lack - moved * E[..., None, :]
            size = X.mH @ moved
        inner = X.mH @ lack
        own = eye(k).bool()
        gaps = E[..., None, :] - E[..., :, None]
        turn = where(own, -size / 2, inner / where(own, gaps.new_ones(()), gaps))
        # The rest lies beside the pairs, where A - λ B can be inverted.
        column = E[..., :, None, None]
        shifted = A[..., None, :, :] - column * (eye(m, dtype=A.dtype) if B is None else B[..., None, :, :])
        beside = metric[..., None, :, :].expand(*shifted.shape[:-1], k)
        none = zeros(k, k, dtype=A.dtype).expand(*shifted.shape[:-2], k, k)
        system = cat([cat([shifted, beside], -1), cat([beside.mH, none], -1)], -2)
        side = (metric @ inner - lack).mT[..., None]
        side = cat([side, side.new_zeros(*side.shape[:-2], k, 1)], -2)
        rest_of = la.solve(system, side)[..., :m, 0].mT
        values = diagonal(inner, dim1=-2, dim2=-1)
        return values.real if values.is_complex() else values, X @ turn + rest_of


def _checked(A: Tensor, B: Tensor | None, X: Tensor | None, k: int | None, n: int | None) -> tuple[int, int]:
    """How many pairs are wanted, and how many are approximated."""
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"lobpcg(): A must be square matrices, got the shape {list(A.shape)}")
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"lobpcg(): A must be of floats, got {A.dtype}; convert it with A.double()")
    if B is not None and B.shape[-2:] != A.shape[-2:]:
        raise ValueError(
            f"lobpcg(): A and B must have the same sizes, got the shapes {list(A.shape)} and {list(B.shape)}"
        )
    if X is not None and (X.dim() < 2 or X.shape[-2] != A.shape[-1]):
        raise ValueError(f"lobpcg(): X must have {A.shape[-1]} rows, as A has, got the shape {list(X.shape)}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    m = A.shape[-1]
    if not 1 <= k <= n or (X is not None and X.shape[-1] < n):
        raise ValueError(f"lobpcg(): k={k} pairs of {n} approximations; give 1 <= k <= n, and X as many columns")
    if m < 3 * n:
        raise ValueError(
            f"lobpcg(): LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the "
            f"number of requested eigenpairs (={n}); linalg.eigh gives them all"
        )
    return k, n


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Search], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues and their vectors, `A x = λ B x`, of symmetric or Hermitian matrices.

    A is used in products alone. Derivatives with respect to A and B, of any order, are those of exact pairs, by a
    solution of a system of `m + k` equations for each; the eigenvalues wanted must differ from all others.

    Args:
        A: matrices of m rows; leading dimensions are batches.
        k: how many pairs; by default as many as X has columns, or 1.
        B: positive definite matrices; by default the identity.
        X: first approximations as columns; by default random ones.
        n: how many approximations; by default k. At least 3 n rows are needed.
        iK: an approximate inverse of A, by which residuals are multiplied.
        niter: steps at most; by default 1000, and -1 for no bound.
        tol: the relative residual that is small enough; by default the root of the rounding error.
        largest: whether the largest ones are wanted, which is the default.
        method: 'ortho' or 'basic': both are the same here.
        tracker: a function that is called with the `Search` before each step.
        ortho_iparams, ortho_fparams, ortho_bparams: not needed; the basis is made orthonormal without parameters.

    >>> import pullback
    >>> values, vectors = pullback.lobpcg(pullback.diag(pullback.arange(1.0, 13.0)), k=2)
    >>> values.round()
    tensor([12., 11.])
    """
    k, n = _checked(A, B, X, k, n)
    if method is not None and method not in _METHODS:
        raise ValueError(f"lobpcg(): method must be 'ortho' or 'basic', got {method!r}")
    dtype = A.dtype if A.dtype.itemsize >= get_default_dtype().itemsize or A.is_complex() else get_default_dtype()
    matrix = A.to(dtype)
    if X is None:
        with no_grad():
            X = rand(A.shape[-1], n, dtype=dtype) - 0.5
    options = {
        "k": k,
        "niter": 1000 if niter is None else niter,
        "tol": finfo(dtype).eps ** 0.5 if tol is None else tol,
        "largest": True if largest is None else largest,
        "tracker": tracker,
    }
    start = X[..., :n].detach().to(dtype)
    values, vectors = _Eigenpairs.apply(matrix, None if B is None else B.to(dtype), start, iK, options)
    return values.to(A.real.dtype), vectors.to(A.dtype)


lobpcg = shown(lobpcg)
