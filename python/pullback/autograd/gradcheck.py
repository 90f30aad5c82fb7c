"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pullback as pb

from ._jacobians import (
    Function,
    GradcheckError,
    Matrix,
    Problem,
    Tolerance,
    as_tuple,
    differentiable,
    direction,
    gradients,
    size,
    varied_places,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the derivatives of `func` with central differences.

    Args:
        func: takes the inputs, returns a tensor or a sequence of tensors. It must not be random.
        inputs: a tensor or a sequence of arguments; the tensors that require gradients are varied. They should be
            float64 or complex128, or the differences drown in rounding.
        eps: step of the differences.
        atol, rtol: what may be off: ``atol + rtol * |numerical|``.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: also differentiate each output alone, while the others have no cotangent.
        check_grad_dtypes: require gradients of the dtypes of their inputs.
        check_batched_grad: also compute rows of the Jacobian with `vmap` over cotangents, and compare.
        check_batched_forward_grad: the same with columns and `vmap` over tangents; needs `check_forward_ad`.
        check_forward_ad: compare `jvp`.
        check_backward_ad: compare `backward`.
        fast_mode: compare one random projection ``v.T @ J @ u`` instead of all entries.

    Returns:
        True; or False if something is wrong and `raise_exception` is False.

    Raises:
        GradcheckError: if something is wrong; the message holds both matrices.
        ValueError: if no input requires gradients, or nothing is to be checked.
    """
    if not (check_forward_ad or check_backward_ad):
        raise ValueError("gradcheck(): one of 'check_forward_ad' and 'check_backward_ad' must be True")
    if check_batched_grad and not check_backward_ad:
        raise ValueError("gradcheck(): 'check_batched_grad' needs 'check_backward_ad'")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("gradcheck(): 'check_batched_forward_grad' needs 'check_forward_ad'")
    if masked:
        raise ValueError("gradcheck(): 'masked' is about sparse tensors, of which there are none")
    problem = Problem(func, inputs, Tolerance(eps, atol, rtol, nondet_tol))
    try:
        compare = _compare_projections if fast_mode else _compare_matrices
        if check_backward_ad:
            compare(problem, problem.by_backward, "backward")
            problem.check_repeatable()
            if check_undefined_grad:
                problem.check_lone_outputs()
            if check_grad_dtypes:
                problem.check_dtypes()
        if check_forward_ad:
            compare(problem, problem.by_forward, "forward")
        if check_batched_grad:
            _same(problem, problem.by_batched_backward(), problem.by_backward(), "vmap over backward")
        if check_batched_forward_grad:
            _same(problem, problem.by_batched_forward(), problem.by_forward(), "vmap over jvp")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares second derivatives: `gradcheck` of the gradients of `func`, as functions of inputs and cotangents.

    Args:
        grad_outputs: the cotangents; random ones by default.
        gen_non_contig_grad_outputs: let the random cotangents lie apart in memory.
        check_fwd_over_rev, check_rev_over_rev: by `jvp` of the gradient, and by its `backward`.

    The others are those of `gradcheck`, which also tells what is raised.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise ValueError("gradgradcheck(): one of 'check_fwd_over_rev' and 'check_rev_over_rev' must be True")
    arguments = as_tuple(inputs)
    varied = varied_places(arguments, "gradgradcheck")
    outputs = differentiable(func(*arguments))
    if grad_outputs is None:
        cotangents = tuple(
            pb.testing.make_tensor(
                y.shape, dtype=y.dtype, low=-1, high=1, requires_grad=True, noncontiguous=gen_non_contig_grad_outputs
            )
            for y in outputs
        )
    else:
        cotangents = tuple(v if v.requires_grad else v.detach().requires_grad_() for v in as_tuple(grad_outputs))

    def recorded(*values: Any) -> tuple[Any, ...]:
        args, vs = list(values[: len(arguments)]), values[len(arguments) :]
        for i in varied:
            args[i] = args[i] * 1  # a value of the graph, whatever the caller passed
        grads = gradients(differentiable(func(*args)), [args[i] for i in varied], vs, create_graph=True)
        return tuple(g for g in grads if g is not None)

    def functional(*values: Any) -> tuple[Any, ...]:
        args, vs = list(values[: len(arguments)]), values[len(arguments) :]

        def of_varied(*xs: Any) -> tuple[Any, ...]:
            for i, x in zip(varied, xs, strict=True):
                args[i] = x
            return differentiable(func(*args), everything=True)

        _, pull = pb.func.vjp(of_varied, *[args[i] for i in varied])
        return tuple(pull(tuple(vs)))

    def check(gradient: Function, **modes: bool) -> bool:
        return gradcheck(
            gradient,
            arguments + cotangents,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            nondet_tol=nondet_tol,
            fast_mode=fast_mode,
            masked=masked,
            **modes,
        )

    reverse = not check_rev_over_rev or check(
        recorded,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
    )
    return reverse and (not check_fwd_over_rev or check(functional, check_forward_ad=True, check_backward_ad=False))


def _compare_matrices(problem: Problem, analytical: Callable[[], Matrix], mode: str) -> None:
    _same(problem, analytical(), problem.by_differences(), mode)


def _same(problem: Problem, analytical: Matrix, numerical: Matrix, mode: str) -> None:
    atol, rtol = problem.tolerance.atol, problem.tolerance.rtol
    for i, (got, expected) in enumerate(zip(analytical, numerical, strict=True)):
        for j, (a, n) in enumerate(zip(got, expected, strict=True)):
            if not abs(a - n) <= atol + rtol * abs(n):  # also for NaN
                raise GradcheckError(
                    f"gradcheck(): the Jacobian by {mode} does not match at output coordinate {i}, input coordinate "
                    f"{j}: got {a:.9g}, expected {n:.9g}\nexpected:\n{_text(numerical)}\ngot:\n{_text(analytical)}"
                )


def _text(matrix: Matrix) -> str:
    rows = ["  " + " ".join(f"{x:12.6g}" for x in row[:10]) + (" ..." if len(row) > 10 else "") for row in matrix[:10]]
    return "\n".join(rows + ["  ..."] * (len(matrix) > 10))


def _compare_projections(problem: Problem, _: Callable[[], Matrix], mode: str) -> None:
    """One random direction on either side: ``v.T @ J @ u``."""
    sizes = [size(x) for x in problem.inputs]
    u = [direction(n) for n in sizes]
    along = problem.difference(u)
    v = direction(len(along))[::-1]
    expected = sum(a * b for a, b in zip(along, v, strict=True))
    if mode == "forward":
        got = sum(a * b for a, b in zip(problem.push(u), v, strict=True))
    else:
        got = problem.pull(u, v)
    # Entries of size atol add up over the projection.
    allowed = problem.tolerance.atol * max(1, sum(sizes)) + problem.tolerance.rtol * abs(expected)
    if not abs(got - expected) <= allowed:
        raise GradcheckError(
            f"gradcheck(): a random projection of the Jacobian by {mode} does not match: got {got:.9g}, expected "
            f"{expected:.9g}; without fast_mode both matrices are shown"
        )
