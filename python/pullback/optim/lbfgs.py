"""L-BFGS, with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import Tensor, cat, enable_grad, is_complex, no_grad, view_as_real, zeros, zeros_like
from . import _rules
from .optimizer import Closure, Group, Optimizer, ParamsT

__all__ = ["LBFGS"]

#: What a step keeps for the next one, in the order of PyTorch's state.
_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")

#: A trial of the line search: step, value, gradient, slope along the direction.
#: Steps and slopes may be tensors: what is computed of a slope is rounded to its dtype, as in PyTorch, which decides
#: near the minimum.
Trial = tuple[Any, float, Tensor, Any]


def _cubic(a: Trial, b: Trial, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two trials, within the bounds (Nocedal and Wright, equation 3.59)."""
    (x1, f1, _, g1), (x2, f2, _, g2) = a, b
    low, high = bounds or ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - _divided(3 * (f1 - f2), x1 - x2)
    square = d1**2 - g1 * g2
    # Also false for NaN.
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt() if isinstance(square, Tensor) else math.sqrt(square)
    if x1 <= x2:
        best = x2 - (x2 - x1) * _divided(g2 + d2 - d1, g2 - g1 + 2 * d2)
    else:
        best = x1 - (x1 - x2) * _divided(g1 + d2 - d1, g1 - g2 + 2 * d2)
    return min(max(best, low), high)


def _divided(a: Any, b: Any) -> Any:
    """As floating point arithmetic has it: nothing raises."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor) and b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
    return a / b


class _Search:
    """The line search of Nocedal and Wright (algorithms 3.5 and 3.6) along one direction."""

    C1, C2 = 1e-4, 0.9

    def __init__(self, evaluate: Callable[[Any], tuple[float, Tensor]], direction: Tensor, start: Trial) -> None:
        self.evaluate, self.direction, self.start = evaluate, direction, start
        self.calls = 0

    def trial(self, t: Any) -> Trial:
        value, gradient = self.evaluate(t)
        self.calls += 1
        return t, value, gradient, gradient.dot(self.direction)

    def is_too_high(self, x: Trial) -> bool:
        _, value, _, slope = self.start
        return bool(x[1] > value + self.C1 * x[0] * slope)

    def is_flat(self, x: Trial) -> bool:
        return bool(abs(x[3]) <= -self.C2 * self.start[3])

    def run(self, t: Any, smallest: float, limit: int) -> Trial:
        bracket, done, left = self._bracket(t, limit)
        return bracket[0] if done else self._zoom(bracket, smallest, left)

    def _bracket(self, t: Any, limit: int) -> tuple[list[Trial], bool, int]:
        """Two trials with a good step between them, or a good one; and how many more there may be."""
        before, now = self.start, self.trial(t)
        for i in range(limit):
            if self.is_too_high(now) or (i > 1 and now[1] >= before[1]):
                return [before, now], False, limit - i
            if self.is_flat(now):
                return [now], True, limit - i
            if now[3] >= 0:
                return [before, now], False, limit - i
            bounds = (now[0] + 0.01 * (now[0] - before[0]), now[0] * 10)
            t = _cubic(before, now, bounds)
            before, now = now, self.trial(t)
        return [self.start, now], False, 0

    def _zoom(self, bracket: list[Trial], smallest: float, left: int) -> Trial:
        """A good step between two trials."""
        size = self.direction.abs().max()
        low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        stuck = False
        for _ in range(left):
            if abs(bracket[1][0] - bracket[0][0]) * size < smallest:
                break
            t, stuck = self._between(bracket, stuck)
            now = self.trial(t)
            if self.is_too_high(now) or now[1] >= bracket[low][1]:
                bracket[high] = now
                low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
                continue
            if self.is_flat(now):
                bracket[low] = now
                break
            if now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
        return bracket[low]

    @staticmethod
    def _between(bracket: list[Trial], stuck: bool) -> tuple[Any, bool]:
        """The next step to try: away from the ends if the last one was at one too."""
        t = _cubic(bracket[0], bracket[1])
        first, last = min(bracket[0][0], bracket[1][0]), max(bracket[0][0], bracket[1][0])
        margin = 0.1 * (last - first)
        if min(last - t, t - first) >= margin:
            return t, False
        if not (stuck or t >= last or t <= first):
            return t, True
        return (last - margin if abs(t - last) < abs(t - first) else first + margin), False


def _cubic_interpolate(
    x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, float] | None = None
) -> float:
    """The minimum of a cubic by two values and slopes: a name that line searches of other packages use."""
    return float(_cubic((x1, f1, zeros(0), g1), (x2, f2, zeros(0), g2), bounds))


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Tensor], tuple[Any, Tensor]],
    x: Any,
    t: Any,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """The line search for the objective of another package: value, gradient, step and number of evaluations."""

    def evaluate(step: Any) -> tuple[float, Tensor]:
        value, gradient = obj_func(x, step, d)
        return float(value), gradient.clone()

    search = _Search(evaluate, d, (0, float(f), g, gtd))
    search.C1, search.C2 = c1, c2
    step, value, gradient, _ = search.run(t, tolerance_change, max_ls)
    return value, gradient, step, search.calls


class LBFGS(Optimizer):
    r"""L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.4): steps along an approximation of the inverse
    Hessian times the gradient, from the last `history_size` steps. All parameters are one group.

    Each `step(closure)` makes up to `max_iter` iterations, with up to `max_eval` calls of the closure, and ends when no
    element of the gradient is above `tolerance_grad`, or what changes is below `tolerance_change`. Steps have length
    `lr`; `line_search_fn="strong_wolfe"` searches for one.

    >>> import pullback
    >>> w = pullback.tensor([-1.5, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=50)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> first = optimizer.step(closure)
    >>> bool(closure() < 1e-6)
    True

    Raises:
        ValueError: if `lr` is negative or there is more than one group.
        RuntimeError: from `step`, for another line search.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        options: Group = {
            **{"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval},
            **{"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change},
            **{"history_size": history_size, "line_search_fn": line_search_fn},
        }
        _rules.check_lr(options)
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # ------------------------------------------------------------ all parameters as one vector
    def _gather_flat_grad(self) -> Tensor:
        parts = []
        for p in self._params:
            g = zeros_like(p) if p.grad is None else p.grad.detach()
            parts.append((view_as_real(g) if is_complex(g) else g).reshape(-1))
        return cat(parts, 0)

    def _add_grad(self, step_size: Any, update: Tensor) -> None:
        at, step_size = 0, float(step_size)
        for p in self._params:
            real = view_as_real(p) if is_complex(p) else p
            n = real.numel()
            real.add_(update[at : at + n].reshape(real.shape), alpha=step_size)
            at += n

    def _evaluated_at(self, closure: Closure, start: list[Tensor], t: Any, d: Tensor) -> tuple[float, Tensor]:
        self._add_grad(t, d)
        value = float(closure())
        gradient = self._gather_flat_grad()
        for p, before in zip(self._params, start, strict=True):
            p.copy_(before)
        return value, gradient

    # ------------------------------------------------------------ the step
    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """Iterates; `closure` computes the loss and its gradients again. Returns the loss at the beginning.

        Raises:
            TypeError: without a closure.
        AssertionError: if a group was added.
        """
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients again")
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        evaluate = enable_grad()(closure)
        group = self.param_groups[0]
        limit, flat, least = group["max_iter"], group["tolerance_grad"], group["tolerance_change"]
        # It belongs to the first parameter, so that it is saved with its dtype.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluate()
        loss, calls = float(first), 1
        state["func_evals"] += 1
        g = self._gather_flat_grad()
        if float(g.abs().max()) <= flat:
            return first
        # Saved at the end: what a closure raises leaves the state of the last step.
        run = {name: state.get(name) for name in _KEPT}
        for i in range(1, limit + 1):
            state["n_iter"] += 1
            self._turn(state, run, g, group["history_size"])
            before, run["prev_loss"] = loss, loss
            d = run["d"]
            run["t"] = group["lr"].item() if isinstance(group["lr"], Tensor) else group["lr"]
            if state["n_iter"] == 1:
                run["t"] *= min(1.0, 1.0 / g.abs().sum())
            slope = g.dot(d)
            if slope > -least:
                break
            last = i == limit
            t, loss, g, made = self._move(evaluate, (run["t"], loss, g, slope), d, group["max_eval"] - calls, last)
            run["t"] = t
            calls += made
            state["func_evals"] += made
            if last or calls >= group["max_eval"] or float(g.abs().max()) <= flat:
                break
            if float((d * t).abs().max()) <= least or abs(loss - before) < least:
                break
        state.update(run)
        return first

    def _turn(self, state: dict[str, Any], run: dict[str, Any], g: Tensor, history_size: int) -> None:
        """The next direction, in `run["d"]`."""
        if state["n_iter"] == 1:
            run.update(d=-g, old_dirs=[], old_stps=[], ro=[], H_diag=1, prev_flat_grad=g.clone())
            return
        ys, steps, ro = run["old_dirs"], run["old_stps"], run["ro"]
        y, s = g - run["prev_flat_grad"], run["d"] * run["t"]
        product = y.dot(s)
        if product > 1e-10:
            if len(ys) == history_size:
                for kept in (ys, steps, ro):
                    kept.pop(0)
            ys.append(y)
            steps.append(s)
            ro.append(1.0 / product)
            run["H_diag"] = product / y.dot(y)
        al = state.setdefault("al", [None] * history_size)
        q = -g
        for i in reversed(range(len(ys))):
            al[i] = steps[i].dot(q) * ro[i]
            q = q - ys[i] * al[i]
        d = q * run["H_diag"]
        for i in range(len(ys)):
            d = d + steps[i] * (al[i] - ys[i].dot(d) * ro[i])
        run["d"] = d
        run["prev_flat_grad"] = g.clone()

    def _move(self, closure: Closure, at: Trial, d: Tensor, room: int, last: bool) -> tuple[Any, float, Tensor, int]:
        """Changes the parameters. Step size, loss and gradient there, and how often the closure was called."""
        t, loss, g, slope = at
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._add_grad(t, d)
            if last:
                return t, loss, g, 0
            return t, float(closure()), self._gather_flat_grad(), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported as line_search_fn")
        start = [p.clone() for p in self._params]
        search = _Search(lambda t: self._evaluated_at(closure, start, t, d), d, (0, loss, g, slope))
        t, loss, g, _ = search.run(t, group["tolerance_change"], room)
        self._add_grad(t, d)
        return t, loss, g, search.calls
