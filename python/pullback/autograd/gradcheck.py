"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pullback as pb

from ._backward_checks import check_backward, check_missing_tangents
from ._jacobians import (
    Function,
    GradcheckError,
    Jacobian,
    Matrix,
    Problem,
    Tolerance,
    as_tuple,
    differentiable,
    directions,
    dot,
    gradients,
    unit,
    varied_places,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_MODES = {"backward": "Jacobian", "forward": "Jacobian computed with forward mode"}
_BATCHED = {
    "backward": "failed while testing batched gradient computation: vmap over backward is not as backward alone",
    "forward": "failed while testing batched forward gradient: vmap over jvp is not as jvp alone",
}


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
        raise_exception: raise if something is wrong; otherwise return False.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: also differentiate each output alone, while the others have no cotangent, and in forward
            mode let each input have no tangent.
        check_grad_dtypes: require gradients of the dtypes of their inputs.
        check_batched_grad: also compute rows of the Jacobian with `vmap` over cotangents, and compare.
        check_batched_forward_grad: the same with random directions and `vmap` over tangents; needs
            `check_forward_ad`.
        check_forward_ad: compare `jvp`.
        check_backward_ad: compare `backward`.
        fast_mode: compare one random projection ``v.T @ J @ u`` of each block instead of all entries.
        masked: accepted and without effect: it is about sparse tensors, of which there are none.

    Returns:
        True; or False if something is wrong and `raise_exception` is False.

    Raises:
        GradcheckError: if something is wrong; the message tells the output and the input, and holds both matrices.
        ValueError: if no input requires gradients, or the function returns something else than tensors.
        AssertionError: if nothing is to be checked, or a batched check lacks the check that it extends.

    >>> import pullback
    >>> x = pullback.tensor([0.5, 1.5], dtype=pullback.float64, requires_grad=True)
    >>> pullback.autograd.gradcheck(lambda x: x.sin() * x, x, check_forward_ad=True)
    True
    >>> pullback.autograd.gradcheck(lambda x: x.detach() * x, x, raise_exception=False)
    False
    """
    del masked
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck(): Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck(): Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "gradcheck(): Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    problem = Problem(func, inputs, Tolerance(eps, atol, rtol, nondet_tol))
    try:
        compare = _compare_projections if fast_mode else _compare_matrices
        if not problem.followed:
            _check_constant(problem, fast_mode)
        else:
            if check_forward_ad:
                compare(problem, "forward")
                if check_undefined_grad:
                    check_missing_tangents(problem)
            if check_backward_ad:
                compare(problem, "backward")
                check_backward(problem, check_undefined_grad, check_grad_dtypes, fast_mode)
            if check_batched_forward_grad:
                _compare_batched(problem, problem.by_batched_forward, problem.by_some_directions, "forward")
            if check_batched_grad:
                _compare_batched(problem, problem.by_batched_backward, problem.by_backward, "backward")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _recorded(func: Function, varied: list[int], n: int) -> Function:
    """The gradients of `func` by `n` inputs and cotangents behind them, through the graph."""

    def recorded(*values: Any) -> tuple[Any, ...]:
        args, vs = values[:n], values[n:]
        grads = gradients(differentiable(func(*args)), [args[i] for i in varied], vs, create_graph=True)
        return tuple(g for g in grads if g is not None)

    return recorded


def _functional(func: Function, varied: list[int], n: int) -> Function:
    """The same through `vjp`."""

    def functional(*values: Any) -> tuple[Any, ...]:
        args, vs = list(values[:n]), values[n:]

        def of_varied(*xs: Any) -> tuple[Any, ...]:
            for i, x in zip(varied, xs, strict=True):
                args[i] = x
            return tuple(y for y in differentiable(func(*args), everything=True) if y.requires_grad)

        _, pull = pb.func.vjp(of_varied, *[args[i] for i in varied])
        return tuple(pull(tuple(vs)))

    return functional


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

    >>> import pullback
    >>> x = pullback.tensor([0.5, 1.5], dtype=pullback.float64, requires_grad=True)
    >>> pullback.autograd.gradgradcheck(lambda x: x.sin() * x, x, check_fwd_over_rev=True)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "gradgradcheck(): Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("gradgradcheck(): Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = as_tuple(inputs)
    varied = varied_places(arguments, "gradgradcheck")
    outputs = differentiable(func(*arguments))
    cotangents = _cotangents(outputs, grad_outputs, gen_non_contig_grad_outputs)
    n = len(arguments)

    recorded, functional = _recorded(func, varied, n), _functional(func, varied, n)

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


def _cotangents(outputs: tuple[Any, ...], given: Any, noncontiguous: bool) -> tuple[Any, ...]:
    if given is not None:
        return tuple(v if v.requires_grad else v.detach().requires_grad_() for v in as_tuple(given))
    return tuple(
        pb.testing.make_tensor(y.shape, dtype=y.dtype, low=-1, high=1, requires_grad=True, noncontiguous=noncontiguous)
        for y in outputs
    )


# ---------------------------------------------------------------- comparisons
def _check_constant(problem: Problem, fast: bool) -> None:
    """No output requires gradients: then none may vary."""
    for j, (place, u) in enumerate(zip(problem.places, directions(problem.inputs), strict=True)):
        for direction in [u] if fast else (unit(len(u), c) for c in range(len(u))):
            for i, along in zip(problem.rows, problem.difference(j, direction), strict=True):
                if any(not abs(x) <= problem.tolerance.atol for x in along):
                    raise GradcheckError(
                        f"gradcheck(): Numerical gradient for function expected to be zero, because output {i} does "
                        f"not require gradients, but it varies with input {place}:\n{_text([along])}"
                    )


def _worst(got: Matrix, expected: Matrix, problem: Problem) -> tuple[int, int] | None:
    """The place of the entry that is furthest off, if one is not close."""
    atol, rtol = problem.tolerance.atol, problem.tolerance.rtol
    worst, place = 0.0, None
    for r, (row, wanted) in enumerate(zip(got, expected, strict=True)):
        for c, (a, n) in enumerate(zip(row, wanted, strict=True)):
            off = abs(a - n)
            if not off <= atol + rtol * abs(n) and (place is None or not off <= worst):  # also for NaN
                worst, place = off, (r, c)
    return place


def _compare_matrices(problem: Problem, mode: str) -> None:
    analytical = problem.by_backward() if mode == "backward" else problem.by_forward()
    numerical = problem.by_differences()
    for i, j in problem.blocks():
        if place := _worst(analytical[i, j], numerical[i, j], problem):
            complex_part = _complex_part(problem, mode, i, j, analytical[i, j], numerical[i, j])
            raise GradcheckError(complex_part + _mismatch(mode, i, j, numerical[i, j], analytical[i, j], place))


def _complex_part(problem: Problem, mode: str, i: int, j: int, got: Matrix, expected: Matrix) -> str:
    """Which part of complex outputs, or in forward mode inputs, is off: the imaginary one, if both are."""
    varied = problem.outputs[problem.rows.index(i)] if mode == "backward" else problem.arguments[j]
    if not varied.dtype.is_complex:
        return ""

    def is_off(part: int) -> bool:
        if mode == "backward":
            return _worst(got[part::2], expected[part::2], problem) is not None
        parts = [[row[part::2] for row in matrix] for matrix in (got, expected)]
        return _worst(parts[0], parts[1], problem) is not None

    part = "imaginary" if is_off(1) else "real"
    return f"While considering the {part} part of complex {'outputs' if mode == 'backward' else 'inputs'} only, "


def _mismatch(mode: str, i: int, j: int, numerical: Matrix, analytical: Matrix, place: tuple[int, int]) -> str:
    r, c = place
    return (
        f"gradcheck(): {_MODES[mode]} mismatch for output {i} with respect to input {j}, most at element {r} of the "
        f"output and {c} of the input: numerical {numerical[r][c]:.9g}, analytical {analytical[r][c]:.9g}\n"
        f"numerical:\n{_text(numerical)}\nanalytical:\n{_text(analytical)}"
    )


def _text(matrix: Matrix) -> str:
    rows = ["  " + " ".join(f"{x:12.6g}" for x in row[:10]) + (" ..." if len(row) > 10 else "") for row in matrix[:10]]
    return "\n".join(rows + ["  ..."] * (len(matrix) > 10))


def _compare_batched(
    problem: Problem, batched: Callable[[], Jacobian], plain: Callable[[], Jacobian], mode: str
) -> None:
    expected = plain()
    try:
        found = batched()
    except Exception as e:
        why = f"it raised {type(e).__name__}: {e}"
        if "randomness error mode" in str(e):
            why = f"vmap: We do not yet support calling random operations inside of vmap in gradcheck; {why}"
        raise GradcheckError(f"gradcheck() {_BATCHED[mode]}; {why}") from e
    for i, j in problem.blocks():
        if _worst(found[i, j], expected[i, j], problem):
            raise GradcheckError(
                f"gradcheck() {_BATCHED[mode]}, for output {i} and input {j}\n"
                f"expected:\n{_text(expected[i, j])}\ngot:\n{_text(found[i, j])}"
            )


def _compare_projections(problem: Problem, mode: str) -> None:
    """One random direction on either side of each block: ``v.T @ J @ u``."""
    us, vs = directions(problem.inputs), directions(problem.outputs[::-1])[::-1]
    numerical, analytical = {}, {}
    for u, (j, place) in zip(us, enumerate(problem.places), strict=True):
        along = problem.difference(j, u)
        pushed = problem.push(j, u) if mode == "forward" else along
        for k, (i, v) in enumerate(zip(problem.rows, vs, strict=True)):
            numerical[i, place] = dot(v, along[k])
            analytical[i, place] = dot(v, pushed[k])
    if mode == "backward":
        found = dict(problem.tracked())
        for k, (i, v) in enumerate(zip(problem.rows, vs, strict=True)):
            for place, u, g in zip(problem.places, us, problem.pull(found.get(k), v), strict=True):
                analytical[i, place] = dot(g, u)
    for i, v in zip(problem.rows, vs, strict=True):
        for place, u in zip(problem.places, us, strict=True):
            a, n = analytical[i, place], numerical[i, place]
            # Entries that are off by atol add up over the projection.
            allowed = problem.tolerance.atol * sum(map(abs, u)) * sum(map(abs, v)) + problem.tolerance.rtol * abs(n)
            if not abs(a - n) <= allowed:
                raise GradcheckError(_projection_mismatch(problem, mode, i, place, n, a))


def _projection_mismatch(problem: Problem, mode: str, i: int, j: int, n: float, a: float) -> str:
    text = (
        f"gradcheck(): {_MODES[mode]} mismatch for output {i} with respect to input {j}, numerical {n:.9g}, analytical "
        f"{a:.9g}: these are projections by random vectors, computed in fast mode. In slow mode:\n"
    )
    numerical = problem.by_differences()[i, j]
    analytical = (problem.by_backward() if mode == "backward" else problem.by_forward())[i, j]
    place = _worst(analytical, numerical, problem)
    if place is None:
        return f"{text}each element is within its tolerance; the check might pass without fast_mode"
    part = _complex_part(problem, mode, i, j, analytical, numerical)
    return text + part + _mismatch(mode, i, j, numerical, analytical, place)
