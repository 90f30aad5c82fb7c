"""Trading time for memory: parts of a program whose intermediate values are computed again for the derivative."""

from __future__ import annotations

from contextlib import nullcontext

from .. import _core
from .._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from .. import Tensor

    _T = TypeVar("_T")

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_early_stop"]

_own: Any = _core
_graph = _core.autograd_graph
_early_stop = True


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple without their history, each with its `requires_grad`; what is no tensor stays.

    >>> import pullback
    >>> from pullback.utils.checkpoint import detach_variable
    >>> x, n = detach_variable((pullback.ones(1, requires_grad=True) * 2, 3))
    >>> x, n
    (tensor([2.], requires_grad=True), 3)

    Raises RuntimeError for anything but a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}; write (x,)"
        )
    tensor = _core.Tensor
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns if no tensor among these requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, _core.Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Devices other than the CPU that the arguments lie on, of which there are none, and their generators' states."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Sets the states of generators that `get_device_states` gave.

    Raises RuntimeError for a device other than the CPU, since there is none.
    """
    for device in devices:
        raise RuntimeError(f"set_device_states(): there is no device {device}; tensors are on the CPU")


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


class _Enough(BaseException):
    """Everything that was saved is found: the rest of the function is of no use."""


class _Place:
    """Which of the tensors that a checkpointed function saved."""

    __slots__ = ("frame", "index", "level")

    def __init__(self, frame: _Frame, level: int, index: int) -> None:
        self.frame, self.level, self.index = frame, level, index


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Contexts around the first run and around the later ones that do nothing.

    >>> import pullback.utils.checkpoint
    >>> first, later = pullback.utils.checkpoint.noop_context_fn()
    """
    return nullcontext(), nullcontext()


class set_checkpoint_early_stop:
    """Whether a function that runs again stops when all that was saved is found (the default), as a context manager.

    It counts for the checkpoints whose first run is inside.

    >>> import pullback
    >>> from pullback.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = pullback.ones(1, requires_grad=True)
    >>> def f(x):
    ...     y = x.exp()
    ...     print("end")
    ...     return y
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(f, x, use_reentrant=False)
    end
    >>> y.backward()
    end
    """

    def __init__(self, enable: bool) -> None:
        self._enable = enable

    def __enter__(self) -> None:
        global _early_stop
        self._before, _early_stop = _early_stop, self._enable

    def __exit__(self, *args: object) -> None:
        global _early_stop
        _early_stop = self._before


def _where() -> str:
    import traceback

    lines = traceback.extract_stack()
    user = [f for f in lines if "pullback" not in f.filename.replace("\\", "/").split("/")[-3:-1]]
    return "".join(traceback.format_list(user[-3:]))


class _Frame:
    """One call of a checkpointed function."""

    def __init__(self, function: Callable[..., Any], args: Any, later: Any, rng: bool, check: Any, debug: bool) -> None:
        self.function, self.args, self.later, self.check, self.debug = function, args, later, check, debug
        self.levels = _graph._Levels()
        self.tapes = frozenset(self.levels.tapes())
        self.rng = _own._rng_bytes() if rng else None
        self.early_stop = _early_stop
        self.completed = False
        # What is alive all the same is compared as it is, everything else by a number made of its elements.
        self.marks: Any = None
        # What was saved, by tape: shape, dtype, in debug mode where, and its mark.
        self.saved: dict[int, list[tuple[Any, Any, str, int | None]]] = {}
        self.sweep: tuple[int | None, int] | None = None
        self.found: dict[int, tuple[Tensor, str]] = {}

    def describe(self, tensor: Tensor) -> tuple[Any, Any, str]:
        return tensor.shape, tensor.dtype, _where() if self.debug else ""

    def mark(self, tensor: Tensor) -> int | None:
        if self.check is None:
            return None
        if self.marks is None:
            self.marks = _graph._Marks(_alive(self.function, self.args))
        number: int | None = self.marks.of(tensor)
        return number

    def pack(self, tensor: Tensor) -> Any:
        """In the first run: nothing is kept but the place. What transforms inside of the function save stays."""
        level: int = _graph._saving_level()
        if level not in self.tapes:
            return tensor
        saved = self.saved.setdefault(level, [])
        saved.append((*self.describe(tensor), self.mark(tensor)))
        return _Place(self, level, len(saved) - 1)

    def value(self, level: int, index: int) -> Tensor:
        sweep: int | None = _graph._current_sweep()
        if sweep is None or self.sweep != (sweep, level) or index not in self.found:
            self.found = self.run_again(level)
            self.sweep = (sweep, level)
            if sweep is not None:
                _graph._at_end(self.forget)
        tensor, where = self.found.pop(index)
        self.compare_values(index, self.saved[level][index], tensor, where)
        return tensor

    def forget(self) -> None:
        self.sweep, self.found = None, {}

    def run_again(self, level: int) -> dict[int, tuple[Tensor, str]]:
        """What the function saved for this tape. It runs under the transforms and modes of the first run."""
        from ..autograd.graph import saved_tensors_hooks

        found: dict[int, tuple[Tensor, str]] = {}
        wanted = self.saved[level]
        # A derivative that the function itself takes asks before all is saved.
        early_stop = self.early_stop or not self.completed
        count = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal count
            if _graph._saving_level() == level:
                if count < len(wanted):
                    now = self.describe(tensor)
                    self.compare(count, wanted[count], now)
                    found[count] = tensor, now[2]
                count += 1
                if early_stop and count == len(wanted):
                    raise _Enough
            return tensor

        def run() -> None:
            args, kwargs = _frozen(self.args)
            with self.later, saved_tensors_hooks(pack, lambda tensor: tensor):
                self.function(*args, **kwargs)

        before = None if self.rng is None else _own._rng_bytes()
        try:
            if self.rng is not None:
                _core.set_rng_state(self.rng)
            self.levels.run(run)
        except _Enough:
            pass
        finally:
            if before is not None:
                _core.set_rng_state(before)
        if count != len(wanted):
            raise CheckpointError(
                "checkpoint(): A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(wanted)}\n"
                f"Number of tensors saved during recomputation: {count}\n"
                "The function must do the same each time: it must not depend on what changes in between."
            )
        return found

    def compare(self, index: int, before: tuple[Any, Any, str, int | None], now: tuple[Any, Any, str]) -> None:
        if self.check is not None and before[:2] != now[:2]:
            text = (
                "checkpoint(): Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\ntensor at position {index}:\n"
                f"saved metadata: shape {tuple(before[0])}, dtype {before[1]}\n"
                f"recomputed metadata: shape {tuple(now[0])}, dtype {now[1]}"
            )
            if self.debug:
                text += f"\nsaved at:\n{before[2]}recomputed at:\n{now[2]}"
            raise CheckpointError(text)

    def compare_values(self, index: int, before: tuple[Any, Any, str, int | None], tensor: Tensor, where: str) -> None:
        """What the derivative reads must be what it was: what no derivative reads may differ."""
        if before[3] is None or self.marks.is_same(before[3], tensor):
            return
        kept = "" if self.rng is not None else ", or of this library, for which preserve_rng_state=True is needed"
        text = (
            "checkpoint(): Recomputed values for the following tensors have different values than during the forward "
            f"pass, so that the gradient would be wrong.\ntensor at position {index}: shape {tuple(before[0])}, dtype "
            f"{before[1]}\nThe function draws random numbers that are not the same again (of NumPy, of random, of a "
            f"Generator of its own{kept}), it keeps a state, or it reads what was written to in between: draw and read "
            "before the call, and pass the numbers as arguments. determinism_check='none' leaves this unchecked."
        )
        if self.debug:
            text += f"\nsaved at:\n{before[2]}recomputed at:\n{where}"
        raise CheckpointError(text)


def _unpack(place: Any) -> Tensor:
    found: Tensor = place.frame.value(place.level, place.index) if isinstance(place, _Place) else place
    return found


def _frozen(tree: Any) -> Any:
    """The same arguments, with tensors of their own that nobody else writes to."""
    from .pytree import tree_map

    return tree_map(lambda x: _graph._same_value(x) if type(x) is _core.Tensor else x, tree)


def _alive(function: Callable[..., Any], args: Any) -> list[Tensor]:
    """Tensors that the frame or the function keeps from being freed: those that are easily found."""
    from .pytree import tree_leaves

    found = tree_leaves(args)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held = cell.cell_contents
        except ValueError:  # a variable without a value yet
            continue
        found += held if type(held) in (list, tuple) else held.values() if type(held) is dict else (held,)
    return [x for x in found if isinstance(x, _core.Tensor)]


_CHECKS = ("default", "none")


def checkpoint(
    function: Callable[..., _T],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> _T:
    """`function(*args, **kwargs)`, whose intermediate values are not kept: the derivative runs it again.

    It works under `backward`, `grad` and the other transforms, also of higher order, and for tensors that the
    function takes from outside. The function must do the same each time. Random numbers are the same again unless
    `preserve_rng_state=False`. `context_fn` gives two context managers, one around the first run and one around the
    later ones. Of what is saved, shapes and dtypes are compared, and the elements of what the derivative reads, unless
    `determinism_check="none"`; with `debug` an error shows where. `use_reentrant=True` takes fewer arguments, as in
    PyTorch, and changes nothing else.

    Raises CheckpointError (in the derivative) if the function saves something else when it runs again: numbers that it
    draws elsewhere, such as NumPy's, are to be passed as arguments.

    >>> import pullback
    >>> from pullback.utils.checkpoint import checkpoint
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x * 0.5).square(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([1., 8.])
    """
    from ..autograd.graph import saved_tensors_hooks

    if use_reentrant is None:
        warn(
            "checkpoint(): the use_reentrant parameter should be passed explicitly, for programs that also run "
            "elsewhere; here both values mean the same"
        )
    if use_reentrant:
        _check_reentrant(args, kwargs, context_fn is not noop_context_fn or debug)
    if determinism_check not in _CHECKS:
        raise ValueError(f"checkpoint(): determinism_check should be one of {_CHECKS}, but got {determinism_check}")
    first, later = context_fn()
    check = determinism_check if determinism_check != "none" else None
    frame = _Frame(function, _frozen((args, kwargs)), later, preserve_rng_state, check, debug)
    with saved_tensors_hooks(frame.pack, _unpack), first:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def _check_reentrant(args: Any, kwargs: dict[str, Any], beside: bool) -> None:
    """What PyTorch's older implementation takes: programs written for it hear of the same mistakes."""
    if kwargs:
        names = ", ".join(kwargs)
        raise ValueError(
            f"checkpoint(): Unexpected keyword arguments: {names}; give them to the function by a lambda, or "
            "use_reentrant=False"
        )
    if beside:
        raise ValueError("checkpoint(): Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if not any(getattr(a, "requires_grad", False) for a in args):
        warn(
            "checkpoint(): None of the inputs have requires_grad=True. Gradients will be None for them; those of "
            "tensors that the function takes from outside are computed"
        )


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """`functions` one after the other on `input`, in `segments` checkpoints; the last segment is kept as it is.

    Keyword arguments are those of `checkpoint`. Raises ValueError for a number of segments that is not between 1 and
    the number of functions.

    >>> import pullback
    >>> from pullback.utils.checkpoint import checkpoint_sequential
    >>> x = pullback.tensor([3.0], requires_grad=True)
    >>> checkpoint_sequential([pullback.square, pullback.neg, pullback.abs, pullback.square], 2, x).backward()
    >>> x.grad
    tensor([108.])
    """
    unknown = set(kwargs) - {"preserve_rng_state", "context_fn", "determinism_check", "debug"}
    if unknown:
        raise ValueError("checkpoint_sequential(): Unexpected keyword arguments: " + ",".join(sorted(unknown)))
    children = getattr(functions, "children", None)
    steps = list(children()) if callable(children) else list(functions)
    if not 1 <= segments <= len(steps):
        raise ValueError(
            "checkpoint_sequential(): argument 'segments' must be between 1 and the number of functions, "
            f"{len(steps)}, got {segments}"
        )

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(start, start + size), input, use_reentrant=bool(use_reentrant), **kwargs)
    return part(size * (segments - 1), len(steps))(input)
