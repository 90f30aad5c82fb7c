"""How a module is called: at once where it has no hooks, and with all of them where it has some."""

from __future__ import annotations

from ... import Tensor, _core
from ..._warnings import warn
from ...utils.hooks import RemovableHandle
from ._global_hooks import GLOBAL
from ._registry import HooksAttribute
from ._structure import Structure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, Protocol, TypeVar

    _P = ParamSpec("_P")
    _R = TypeVar("_R", covariant=True)

    class _Forward(Protocol[_P, _R]):
        """What has a `forward`: a call takes its arguments and gives its results."""

        @property
        def forward(self) -> Callable[_P, _R]: ...


class Called(Structure):
    """The call of a module, and the hooks around it."""

    # Whether a call has to look for hooks: of this module, or of all.
    _hooked = False
    _is_full_backward_hook: bool | None = None
    _backward_pre_hooks: Any = HooksAttribute("_backward_pre_hooks", matters=True)
    _backward_hooks: Any = HooksAttribute("_backward_hooks", matters=True)
    _forward_pre_hooks: Any = HooksAttribute("_forward_pre_hooks", matters=True)
    _forward_pre_hooks_with_kwargs: Any = HooksAttribute("_forward_pre_hooks_with_kwargs")
    _forward_hooks: Any = HooksAttribute("_forward_hooks", matters=True)
    _forward_hooks_with_kwargs: Any = HooksAttribute("_forward_hooks_with_kwargs")
    _forward_hooks_always_called: Any = HooksAttribute("_forward_hooks_always_called")

    if TYPE_CHECKING:
        # Any signature may override it.
        forward: Callable[..., Any]

        def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    else:

        def forward(self, *input: Any) -> Any:
            """What a call of the module computes; subclasses define it.

            Raises NotImplementedError where the class does not.
            """
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

        # Calls `_call_hooked` or `forward`: in Rust, so that the arguments are not taken apart on their way.
        __call__ = _core._call_of_module

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return (self._call_hooked if self._hooked else self.forward)(*args, **kwargs)

    _wrapped_call_impl = _call_impl

    def _call_hooked(self, *args: Any, **kwargs: Any) -> Any:
        # Arguments and result as hooks have left them so far: those that always run get what there is.
        call: list[Any] = [args, kwargs, None]
        done: set[int] = set()
        try:
            return self._call_with_hooks(call, done)
        except Exception:
            self._run_always(call, done)
            raise

    def _call_with_hooks(self, call: list[Any], done: set[int]) -> Any:
        own = self.__dict__
        full: list[Any] = []
        old: list[Any] = []
        if own.get("_backward_hooks") or GLOBAL.backward:
            full, old = self._get_backward_hooks()
        pre = self._get_backward_pre_hooks() if own.get("_backward_pre_hooks") or GLOBAL.backward_pre else []
        if own.get("_forward_pre_hooks") or GLOBAL.forward_pre:
            self._before(call)
        around: Any = None
        if full or pre:
            from ._backward_hooks import BackwardHook

            around = BackwardHook(self, full, pre)
            call[0] = around.setup_input_hook(call[0])
        call[2] = self.forward(*call[0], **call[1])
        # Asked here: the forward and the hooks before it may have registered some.
        if own.get("_forward_hooks") or GLOBAL.forward:
            self._after(call, done)
        result = call[2]
        if around is not None:
            if not isinstance(result, (Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(result)}"
                )
            result = around.setup_output_hook(result)
        if old:
            from ._backward_hooks import register_on_result

            register_on_result(self, old, call[0], result)
        return result

    def _before(self, call: list[Any]) -> None:
        own = self.__dict__
        named = own.get("_forward_pre_hooks_with_kwargs", ())
        hooks = (*GLOBAL.forward_pre.items(), *own.get("_forward_pre_hooks", {}).items())
        # One that an earlier one takes away still runs, with what it was registered for.
        for hook, with_kwargs in [(hook, number in named) for number, hook in hooks]:
            if with_kwargs:
                out = hook(self, call[0], call[1])
                if out is None:
                    continue
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {out}."
                    )
                call[0], call[1] = out
            else:
                out = hook(self, call[0])
                if out is not None:
                    call[0] = out if isinstance(out, tuple) else (out,)

    def _after(self, call: list[Any], done: set[int]) -> None:
        own = self.__dict__
        named = own.get("_forward_hooks_with_kwargs", ())
        hooks = (*GLOBAL.forward.items(), *own.get("_forward_hooks", {}).items())
        of_all = GLOBAL.forward_with_kwargs
        for number, hook, with_kwargs in [(n, hook, n in named or n in of_all) for n, hook in hooks]:
            done.add(number)
            out = hook(self, call[0], call[1], call[2]) if with_kwargs else hook(self, call[0], call[2])
            if out is not None:
                call[2] = out

    def _run_always(self, call: list[Any], done: set[int]) -> None:
        """Hooks that are to run although the call has failed."""
        own = self.__dict__
        always = own.get("_forward_hooks_always_called", ())
        named = own.get("_forward_hooks_with_kwargs", ())
        of_all = [(n, h) for n, h in GLOBAL.forward.items() if n in GLOBAL.forward_always]
        of_one = [(n, h) for n, h in own.get("_forward_hooks", {}).items() if n in always]
        for number, hook in (*of_all, *of_one):
            if number in done:
                continue
            try:
                with_kwargs = number in named or number in GLOBAL.forward_with_kwargs
                out = hook(self, call[0], call[1], call[2]) if with_kwargs else hook(self, call[0], call[2])
                call[2] = call[2] if out is None else out
            except Exception as error:
                kind = "module" if number in always else "global module"
                warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}"
                )

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The full hooks, and those of the old kind."""
        full: list[Any] = list(GLOBAL.backward.values()) if GLOBAL.is_full_backward is True else []
        old: list[Any] = list(GLOBAL.backward.values()) if GLOBAL.is_full_backward is False else []
        own = list(self._backward_hooks.values())
        if self._is_full_backward_hook is True:
            full += own
        elif self._is_full_backward_hook is False:
            old += own
        return full, old

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*GLOBAL.backward_pre.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
        from ._backward_hooks import warn_of_old_kind

        warn_of_old_kind(inputs, result, grad_fn)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        own = self.__dict__
        for name in ("_backward_pre_hooks", "_backward_hooks", "_forward_pre_hooks", "_forward_hooks"):
            if own.get(name):
                own["_hooked"] = True

    # Registration

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before each forward; what it returns, if anything, replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which returns None or both. `prepend` puts it before
        the other
        hooks of this module.
        """
        hooks = self._forward_pre_hooks
        named = self._forward_pre_hooks_with_kwargs
        handle = RemovableHandle(hooks, extra_dict=named)
        hooks[handle.id] = hook
        if with_kwargs:
            named[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after each forward; what it returns, if anything, replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`. With `always_call` it also runs if the call
        raises.

        >>> import pullback
        >>> m = pullback.nn.Identity()
        >>> handle = m.register_forward_hook(lambda module, args, output: output + 1)
        >>> m(pullback.zeros(2))
        tensor([1., 1.])
        >>> handle.remove()
        """
        hooks, named, always = (
            self._forward_hooks,
            self._forward_hooks_with_kwargs,
            self._forward_hooks_always_called,
        )
        handle = RemovableHandle(hooks, extra_dict=[named, always])
        hooks[handle.id] = hook
        if with_kwargs:
            named[handle.id] = True
        if always_call:
            always[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[[Any, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, grad_output)` before the module's backward; a tuple that it returns replaces
        `grad_output`."""
        return self._register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[[Any, Any, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are known.

        A tuple that it returns replaces `grad_input`. Arguments given by name are not among the inputs.

        Raises RuntimeError if the module has hooks of the old kind.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of "
                "them."
            )
        self._is_full_backward_hook = True
        return self._register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, grad_inputs, grad_outputs)` with the gradients of the node that made the result.

        These are other gradients than those of the module's inputs where the module runs several operators;
        `register_full_backward_hook` has those.

        Raises RuntimeError if the module has full hooks.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of "
                "them."
            )
        self._is_full_backward_hook = False
        return self._register(self._backward_hooks, hook, False)

    def _register(self, hooks: Any, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle


class _GlobalHandle(RemovableHandle):
    """The handle of a hook of all modules; calls stop looking for hooks when the last one goes."""

    def remove(self) -> None:
        super().remove()
        Called._hooked = bool(GLOBAL.forward_pre or GLOBAL.forward or GLOBAL.backward_pre or GLOBAL.backward)


def _register_global(hooks: Any, hook: Any, *others: Any) -> RemovableHandle:
    handle = _GlobalHandle(hooks, extra_dict=others)
    hooks[handle.id] = hook
    Called._hooked = True
    return handle


def _register_registration(hooks: Any, hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` whenever a module gets a buffer; what it returns, if anything, takes its
    place."""
    return _register_registration(GLOBAL.buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, submodule)` whenever a module gets a submodule; what it returns takes its place."""
    return _register_registration(GLOBAL.module_registration, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, param)` whenever a module gets a parameter; what it returns, if anything, takes its
    place."""
    return _register_registration(GLOBAL.parameter_registration, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, args)` before the forward of every module; what it returns, if anything, replaces the
    arguments."""
    return _register_global(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the forward of every module, before the module's own hooks."""
    handle = _register_global(GLOBAL.forward, hook, GLOBAL.forward_with_kwargs, GLOBAL.forward_always)
    if with_kwargs:
        GLOBAL.forward_with_kwargs[handle.id] = True
    if always_call:
        GLOBAL.forward_always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_output)` before the backward of every module."""
    return _register_global(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` in the backward of every module.

    Raises RuntimeError if all modules have hooks of the old kind.
    """
    return _register_global_backward(hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_inputs, grad_outputs)` with the gradients of the node of every module's result.

    Raises RuntimeError if all modules have full hooks.
    """
    return _register_global_backward(hook, False)


def _register_global_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    if GLOBAL.backward and GLOBAL.is_full_backward is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one "
            "of them."
        )
    GLOBAL.is_full_backward = full
    return _register_global(GLOBAL.backward, hook)
