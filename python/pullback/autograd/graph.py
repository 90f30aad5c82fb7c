"""The recorded program: its nodes and edges, what it saves, and hooks on several gradients at once."""

from __future__ import annotations

from .. import _core
from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NamedTuple

    from .. import Tensor
    from .._core_autograd_graph import *  # noqa: F403
    from .._core_autograd_graph import Node
    from ..utils.hooks import RemovableHandle

    class GradientEdge(NamedTuple):
        """A place in the graph: output `output_nr` of `node`. `autograd.grad` and `backward` take it as a tensor."""

        node: Node
        output_nr: int
        ownership_token: Any = None
else:
    from collections import namedtuple

    GradientEdge = namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))
    GradientEdge.__doc__ = (
        "A place in the graph: output `output_nr` of `node`. `autograd.grad` and `backward` take it as a tensor."
    )

globals().update(members("autograd.graph"))
_graph = _core.autograd_graph
__all__ = [
    *sorted(members("autograd.graph")),
    "GradientEdge",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where `tensor` hangs in the graph. The edge keeps the graph alive, and not the tensor.

    Raises RuntimeError for a tensor that does not require gradients.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> edge = pullback.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    >>> pullback.autograd.grad(y.sum(), edge)
    (tensor([1., 1.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "get_gradient_edge(): It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients."
        )
    return GradientEdge(_graph._node_of(tensor), tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write to `tensor` (or to each of several) that this library has not seen.

    >>> import pullback
    >>> x = pullback.zeros(2)
    >>> pullback.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    import pullback

    for t in (tensor,) if isinstance(tensor, pullback.Tensor) else tensor:
        _graph._increment_version(t)


class saved_tensors_hooks:
    """Hooks for the tensors that operators save for their derivatives, as a context manager.

    What is saved inside is given to `pack_hook(tensor)`, whose result is kept instead, be it what it may. When the
    derivative needs the tensor, `unpack_hook(result)` must give a tensor of the same shape. Of nested pairs the
    innermost is used. Under `grad` and the other transforms the hooks get values of the levels below.

    Raises RuntimeError on entering where `disable_saved_tensors_hooks` forbids hooks.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> with pullback.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), pullback.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _graph._push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        _graph._pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in main memory, where on the CPU they are anyway: nothing changes.

    >>> import pullback
    >>> x = pullback.tensor([3.0], requires_grad=True)
    >>> with pullback.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)


class _Switch:
    """A context manager that also decorates functions, from a generator function without arguments."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make = make
        self._running: list[Iterator[Any]] = []

    def __enter__(self) -> Any:
        running = self._make()
        value = next(running)
        self._running.append(running)
        return value

    def __exit__(self, *args: object) -> None:
        next(self._running.pop(), None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from .grad_mode import decorate

        made: Callable[..., Any] = decorate(lambda: _Switch(self._make), function)
        return made


def disable_saved_tensors_hooks(error_message: str) -> _Switch:
    """Forbids `saved_tensors_hooks` inside: using them raises RuntimeError with this message.

    >>> import pullback
    >>> with pullback.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with pullback.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: not here
    """

    def block() -> Iterator[None]:
        before = _graph._forbid_hooks(error_message)
        yield
        _graph._forbid_hooks(before)

    return _Switch(block)


class SavedTensor:
    """A tensor that a node has saved. Only nodes make them."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden: operators save tensors, and "
            "saved_tensors_hooks says how they are kept"
        )


class _Mutations:
    """What `allow_mutation_on_saved_tensors` gives: it holds nothing, for saved tensors never change here."""

    def __init__(self) -> None:
        #: Copies that were made of saved tensors: none.
        self.cloned: dict[Any, Any] = {}

    def clear(self) -> None:
        """Nothing to forget."""


_mutable = False


def allow_mutation_on_saved_tensors() -> _Switch:
    """Inside, tensors that were saved may be written to. Here they always may: what is saved never changes.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> with pullback.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 1
    ...     z = (y * y).sum()
    ...     y = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def block() -> Iterator[_Mutations]:
        global _mutable
        if _mutable:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        _mutable = True
        yield _Mutations()
        _mutable = False

    return _Switch(block)


class _Gradients:
    """Gradients of several tensors in one sweep, until all that will come are there."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Sequence[Tensor | None]], None]) -> None:
        import threading

        self.nodes = [_graph._node_of(t) for t in tensors]
        self.fn = fn
        self.lock = threading.Lock()
        self.sweeps: dict[int, tuple[list[Tensor | None], int]] = {}

    def hook(self, i: int) -> Callable[[Tensor], None]:
        def arrived(gradient: Tensor) -> None:
            sweep = _graph._current_sweep()
            with self.lock:
                if sweep not in self.sweeps:
                    coming = sum(bool(_graph._goes_to(node)) for node in self.nodes)
                    self.sweeps[sweep] = ([None] * len(self.nodes), coming)
                    _graph._at_end(lambda: self.call(sweep))
                gradients, coming = self.sweeps[sweep]
                gradients[i] = gradient
                self.sweeps[sweep] = (gradients, coming - 1)
            if coming == 1:
                self.call(sweep)

        return arrived

    def call(self, sweep: int) -> None:
        """Once a sweep: when the last gradient has come, or at the end, if one was zero and never came."""
        with self.lock:
            found = self.sweeps.pop(sweep, None)
            if found is not None:
                self.sweeps = {s: v for s, v in self.sweeps.items() if s > sweep}
        if found is not None:
            self.fn(found[0])


class _MultiHandle:
    """The handle of a hook on several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Takes the hook away from all tensors."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *args: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> _MultiHandle:
    """Calls `fn` once a backward for several tensors.

    With `mode="all"`, when the gradients of all of them are known that this backward computes: `fn` gets a list, None
    where a tensor has none. With `mode="any"`, when the first is known: `fn` gets that gradient.

    >>> import pullback
    >>> a, b, c = (pullback.ones(2, requires_grad=True) for _ in range(3))
    >>> handle = pullback.autograd.graph.register_multi_grad_hook([a, b, c], lambda g: print(g))
    >>> (a * 2 + b).sum().backward()
    [tensor([2., 2.]), tensor([1., 1.]), None]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook(): Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if mode == "all":
        waiting = _Gradients(tensors, fn)
        return _MultiHandle([t.register_hook(waiting.hook(i)) for i, t in enumerate(tensors)])
    import threading

    lock = threading.Lock()
    last: list[int | None] = [None]

    def first(gradient: Tensor) -> None:
        sweep = _graph._current_sweep()
        with lock:
            if last[0] == sweep:
                return
            last[0] = sweep
        fn(gradient)

    return _MultiHandle([t.register_hook(first) for t in tensors])
