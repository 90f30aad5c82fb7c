"""What a module consists of: registration, attributes, and walks over the tree of modules."""

from __future__ import annotations

from types import CodeType

from ... import Tensor
from ..parameter import Buffer, Parameter
from ._global_hooks import GLOBAL
from ._registry import HooksAttribute, RegistryAttribute, registry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .module import Module


def typename(o: object) -> str:
    """`torch.typename`: with the module's name, unless it is a builtin."""
    if isinstance(o, Tensor):
        return str(o.type())
    kind = type(o)
    return kind.__name__ if kind.__module__ in ("builtins", "") else f"{kind.__module__}.{kind.__name__}"


def _is_taken(module: object, name: str) -> bool:
    """Whether the module has another attribute of the name. What its own `__getattr__` would give is not asked: a
    wrapper finds there what the module inside of it has."""
    try:
        object.__getattribute__(module, name)
    except AttributeError:
        return False
    return True


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


class _Fallback:
    """What `super().__getattr__` and `self.__getattr__` lead to in subclasses that define or call `__getattr__`.

    Whatever is registered is an attribute, so a module needs none; and a class without it has quicker attributes.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        for registry in ("_parameters", "_buffers", "_modules"):
            registered = self.__dict__.get(registry, ())
            if name in registered:
                return registered[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _calls_getattr(cls: type) -> bool:
    """Whether a method of the class names `__getattr__`, as in `self.__getattr__("layer1")`."""
    if cls.__module__.partition(".")[0] == "pullback":
        return False
    found: list[Any] = []
    for member in cls.__dict__.values():
        found += (member.fget, member.fset) if isinstance(member, property) else (getattr(member, "__func__", member),)
    codes = [code for f in found if isinstance(code := getattr(f, "__code__", None), CodeType)]
    for code in codes:
        codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return any("__getattr__" in code.co_names for code in codes)


class Structure:
    """Registration, attributes and walks; `Module` adds calls, hooks, state dicts and conversions."""

    training: bool
    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _modules: dict[str, Any]
    else:
        _parameters = RegistryAttribute("_parameters")
        _buffers = RegistryAttribute("_buffers")
        _modules = RegistryAttribute("_modules")
    _non_persistent_buffers_set: set[str]

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer, found as the attribute `name`. It is no parameter; if not `persistent`, state dicts leave it
        out.

        Raises:
            AttributeError: if `Module.__init__` has not run.
            KeyError: for an empty name, one with a dot, or that of another attribute.
            TypeError: if the name is no string or `tensor` neither a tensor nor None.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        buffers = self._buffers
        if name not in buffers and _is_taken(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        for hook in GLOBAL.buffer_registration.values():
            out = hook(self, name, tensor)
            tensor = tensor if out is None else out
        buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, found as the attribute `name`; None keeps the name without a parameter.

        Raises:
            AttributeError: if `Module.__init__` has not run.
            KeyError: for an empty name, one with a dot, or that of another attribute.
            TypeError: if the name is no string or `param` neither a Parameter nor None.
            ValueError: if `param` has a history.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        parameters = self._parameters
        if name not in parameters and _is_taken(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Parameters are leaves that are made "
                    "explicitly; compute what depends on other tensors in forward()"
                )
            for hook in GLOBAL.parameter_registration.values():
                out = hook(self, name, param)
                param = param if out is None else out
        parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule, found as the attribute `name`.

        Raises:
            KeyError: for an empty name, one with a dot, or that of another attribute.
            TypeError: if the name is no string or `module` neither a Module nor None.
        """
        if not isinstance(module, Structure) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        modules = self._modules
        if name not in modules and _is_taken(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        _check_name("module", name)
        modules[name] = self._registered(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module`."""
        self.add_module(name, module)

    def _registered(self, name: str, module: Any) -> Any:
        for hook in GLOBAL.module_registration.values():
            out = hook(self, name, module)
            module = module if out is None else out
        return module

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._remove(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Structure):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._remove(name, "_parameters", "_buffers")
            self._modules[name] = self._registered(name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = self._registered(name, value)
            return
        self._set_buffer_or_attribute(name, value)

    def _set_buffer_or_attribute(self, name: str, value: Any) -> None:
        buffers = self.__dict__.get("_buffers")
        if buffers is None:
            if isinstance(value, Buffer):
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            object.__setattr__(self, name, value)
            return
        known = name in buffers
        if known and value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self._register_buffer_of_subclass(name, value, getattr(value, "persistent", True))
        elif known:
            for hook in GLOBAL.buffer_registration.values():
                out = hook(self, name, value)
                value = value if out is None else out
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _register_buffer_of_subclass(self, name: str, value: Tensor, persistent: bool) -> None:
        """`register_buffer`, whose override in a subclass may know nothing of `persistent`."""
        if type(self).register_buffer is not Structure.register_buffer:
            from inspect import signature

            if "persistent" not in signature(self.register_buffer).parameters:
                if not persistent:
                    raise RuntimeError(
                        "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                        "without the persistent argument is not allowed."
                    )
                self.register_buffer(name, value)
                return
        self.register_buffer(name, value, persistent)

    def _remove(self, name: str, *registries: str) -> None:
        """Takes a name out of registries and of the attributes, unless it stays where it was."""
        own = self.__dict__
        for registry in registries:
            if name in own.get(registry, ()):
                del getattr(self, registry)[name]
                self._non_persistent_buffers_set.discard(name)
        if name in own and not any(name in own.get(r, ()) for r in ("_parameters", "_buffers", "_modules")):
            del own[name]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not issubclass(cls, _Fallback) and ("__getattr__" in cls.__dict__ or _calls_getattr(cls)):
            cls.__bases__ = (*cls.__bases__, _Fallback)

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in own.get(registry, ()):
                del getattr(self, registry)[name]
                if registry == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        if name not in own and isinstance(getattr(type(self), name, None), HooksAttribute):
            return  # there are none
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        found = {*dir(type(self)), *self.__dict__}
        return sorted(name for name in found if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for registry in ("_parameters", "_buffers", "_modules"):
            held = state.get(registry)
            if held is None:
                continue
            for name, value in held.items():
                if state.get(name) is value:
                    state.pop(name, None)
            # A plain one is no global in a pickle, of which loading only weights knows few.
            state[registry] = dict(held)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry in state:
                self.__dict__[registry] = registry_of(self, state[registry])
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    # Walks

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their dotted names, each object once unless `remove_duplicate` is
        False."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        own: Any = self
        yield prefix, own
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules of this module, not theirs, with their names."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The submodules of this module, not theirs."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, get_members_fn: Any, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this module and, with `recurse`, of those below it, with their dotted names."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each object once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers of this module and, with `recurse`, of those below it, with their dotted names."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each object once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # Representation

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the representation shows of this module beside its submodules; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extras = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if not children and len(extras) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extras + children) + "\n)"


def _addindent(text: str, count: int) -> str:
    """The text with spaces in front of all lines but the first: for `__repr__` of modules."""
    return text.replace("\n", "\n" + " " * count)
