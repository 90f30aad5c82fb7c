"""Tensors that modules keep: parameters, buffers, and those whose shape is not known yet."""

from __future__ import annotations

from .. import Tensor, _core, empty, empty_strided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


_door: Any = _core


class _MarkedType(type(Tensor)):  # type: ignore[misc]
    """The class of a class whose instances are also tensors of other classes that carry a mark."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("_mark")
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False) is True

    def __setattr__(cls, name: str, value: Any) -> None:
        if name == "__torch_function__" and cls is Parameter:
            # From now on they are asked, as other subclasses are.
            _door._pass_unasked(None)
        super().__setattr__(name, value)


def _copy(data: Tensor) -> Tensor:
    """The same elements in memory of their own, in the order in which they fill theirs."""
    if data.is_contiguous():
        return data.clone()
    steps = 1
    for stride, size in sorted(zip(data.stride(), data.shape, strict=True)):
        if size != 1 and stride != steps:
            return data.clone()
        steps *= size
    return empty_strided(data.shape, data.stride(), dtype=data.dtype, device=data.device).copy_(data)


class Parameter(Tensor, metaclass=_MarkedType):
    """A tensor that a module lists among its parameters once it is set as one of its attributes.

    It shares the memory of `data`, is a leaf, and requires a gradient unless `requires_grad` is False. Operators give
    plain tensors. A tensor of a subclass keeps its class and counts as a Parameter all the same.

    >>> import pullback
    >>> w = pullback.nn.Parameter(pullback.ones(2))
    >>> w
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> type(w * 2) is pullback.Tensor
    True

    Raises:
        TypeError: if `data` is no tensor.
        RuntimeError: if the dtype of `data` has no gradients and `requires_grad` is True.
    """

    # Operators on parameters are those on tensors.
    __torch_function__: Any = _core.overrides._disabled_torch_function_impl
    _mark = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): argument 'data' must be Tensor, got {type(data).__name__}")
        kind = type(data)
        if kind is Tensor or kind is Parameter or issubclass(kind, cls):
            made: Parameter = Tensor._make_subclass(cls, data, requires_grad)
            return made
        marked: Any = Tensor._make_subclass(kind, data, requires_grad)
        marked._is_param = True
        kept: Parameter = marked
        return kept

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is done when the object is made; a subclass may take more arguments in its `__new__`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            known: Parameter = memo[id(self)]
            return known
        out: Parameter = type(self)(_copy(self.data), self.requires_grad)
        memo[id(self)] = out
        return out

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        if type(self) is Parameter:
            text = Tensor.__repr__(Tensor._make_subclass(Tensor, self, self.requires_grad))
        else:
            text = f"Parameter({Tensor.__repr__(self)})"
        return f"Parameter containing:\n{text}"

    def __reduce_ex__(self, proto: Any) -> Any:
        return _rebuild_parameter, (type(self), self.data, self.requires_grad, dict(self.__dict__))


# They have no say, so that they pass as plain tensors do.
_door._pass_unasked(Parameter)


def _rebuild_parameter(
    cls: type[Parameter], data: Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Parameter:
    out = cls(data, requires_grad)
    out.__dict__.update(attributes)
    return out


class Buffer(Tensor, metaclass=_MarkedType):
    """A tensor that a module lists among its buffers once it is set as one of its attributes.

    Gives a plain tensor, or one of the class of `data`, that carries the mark of a buffer and shares memory with
    `data`.
    With `persistent=False` the module leaves it out of its state dict.

    >>> import pullback
    >>> m = pullback.nn.Module()
    >>> m.steps = pullback.nn.Buffer(pullback.zeros(1))
    >>> [name for name, _ in m.named_buffers()]
    ['steps']
    """

    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        out: Any = data.detach().requires_grad_(data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


class UninitializedTensorMixin:
    """What parameters and buffers without a shape have in common: they can be moved, cast and materialized, nothing
    else."""

    # Gets a class when the shape is known.
    cls_to_become: Any = None
    _allowed = {
        "__hash__",
        *(
            "is_complex",
            "is_floating_point",
            "half",
            "float",
            "double",
            "char",
            "short",
            "int",
            "long",
            "bfloat16",
            "bool",
        ),
        *("cpu", "to", "detach", "requires_grad_", "as_subclass", "__reduce_ex__", "__deepcopy__", "clone"),
    }
    _attributes = {"data", "requires_grad", "grad", "dtype", "device", "is_leaf", "is_meta", "layout", "grad_fn"}

    def materialize(self: Any, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor memory of this shape, uninitialised, and makes it an ordinary parameter or buffer."""
        data = self.data
        device = data.device if device is None else device
        dtype = data.dtype if dtype is None else dtype
        self.data = empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> NoReturn:
        """Raises RuntimeError: there is none before `materialize`."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer: it gets one in the first forward, "
            "or by materialize(shape). This error often follows from loading a state dict of an initialized module "
            "into a lazy one, or from a lazy module that is used before its first forward"
        )

    def share_memory_(self) -> NoReturn:
        """Raises RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer: call the module's forward first, "
            "which initializes it"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, proto: Any) -> Any:
        return _rebuild_uninitialized, (type(self), self.data.dtype, self.requires_grad)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_uninitialized(type(self), self.data.dtype, self.requires_grad)
        return memo[id(self)]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        owner = getattr(getattr(func, "__self__", None), "__name__", None)
        if name in cls._allowed or (name in ("__get__", "__set__", "__delete__") and owner in cls._attributes):
            # That of Tensor, since Parameter has none.
            default = Tensor.__dict__["__torch_function__"].__get__(None, cls)
            return default(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. Modules with such parameters are lazy: their "
            "first "
            "forward initializes them. Call forward with a dummy batch before you use the parameters"
        )


def is_lazy(param: object) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter without a shape, as lazy modules have before their first forward.

    >>> import pullback
    >>> p = pullback.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', pullback.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        data = empty(0, device=device, dtype=dtype)
        made: UninitializedParameter = Tensor._make_subclass(cls, data, requires_grad)
        return made

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """All is done when the object is made."""


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape, as lazy modules have before their first forward.

    >>> import pullback
    >>> b = pullback.nn.UninitializedBuffer()
    >>> b.materialize((4,))
    >>> b.shape
    pullback.Size([4])
    """

    cls_to_become = Tensor
    _is_buffer = True

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        made: Any = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        out: UninitializedBuffer = made
        return out

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        """All is done when the object is made."""


def _rebuild_uninitialized(cls: Any, dtype: Any, requires_grad: bool) -> Any:
    return cls(requires_grad, dtype=dtype)
