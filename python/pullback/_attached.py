"""Methods and attributes of tensors that are written in Python: what they do is loaded when they are called."""

from ._absent import attributes
from ._core import Generator, Size, Tensor, UntypedStorage, dtype, overrides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_asked: "Any" = overrides.has_torch_function_variadic
_answer: "Any" = overrides.handle_torch_function


def _attach(function: "Any") -> "Any":
    """Makes a function a method of tensors."""
    function.__qualname__ = f"Tensor.{function.__name__}"
    setattr(Tensor, function.__name__, function)
    return function


def _attach_asking(function: "Any") -> "Any":
    """Makes a function a method of tensors that modes and classes answer."""

    def method(self: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        if _asked(self, *args):
            return _answer(method, (self, *args), self, *args, **kwargs)
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    method.__wrapped__, method._asks_classes = function, True  # type: ignore[attr-defined]
    return _attach(method)


_reduce_ex = Tensor.__reduce_ex__


@_attach
def __reduce_ex__(self: Tensor, protocol: "Any") -> "Any":
    """Pickles the tensor; from protocol 5 on, its memory is a buffer that may be sent apart from the pickle."""
    from ._pickling import reduced

    return reduced(self, protocol, _reduce_ex)


def _generator_reduce(self: Generator) -> "Any":
    """Pickles and copies a generator with its state."""
    from ._pickling import generator

    return generator, (self.get_state(),)


_generator: "Any" = Generator
_generator.__reduce__ = _generator_reduce


@_attach
def __array_function__(self: Tensor, func: "Any", types: "Any", args: "Any", kwargs: "Any") -> "Any":
    """Functions of NumPy with tensors: `numpy.sum` and others give tensors, and derivatives go through them."""
    from ._numpy_functions import call

    return call(func, types, args, kwargs)


@_attach
def _repr_html_(self: Tensor) -> "str | None":
    """A table of the numbers for notebooks, if there are few."""
    from ._notebooks import table

    found: str | None = table(self)
    return found


@_attach_asking
def new(self: Tensor, *args: "Any", size: "Any" = None, device: "Any" = None) -> Tensor:
    """A tensor of the same dtype: of values, or zeros of sizes. `new_tensor` and `new_zeros` say which.

    >>> import pullback
    >>> pullback.ones(1).new(2, 3).shape, pullback.ones(1).new([1, 2])
    (pullback.Size([2, 3]), tensor([1., 2.]))
    """
    from ._tensor_types import made

    if size is not None:
        args = (Size(size), *args)
    return made(self.dtype, *args, device=device)


@_attach_asking
def storage(self: Tensor) -> "Any":
    """The memory that this tensor and all its views lie in, as elements of its dtype; see `pullback.storage`."""
    from .storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


@_attach_asking
def resize(self: Tensor, *sizes: "Any") -> Tensor:
    """The elements in another shape of as many, with a warning: it is the old name of `reshape`.

    >>> import pullback
    >>> pullback.arange(4).resize(2, 2).shape  # doctest: +SKIP
    pullback.Size([2, 2])
    """
    return _resized(self, "resize", sizes[0] if len(sizes) == 1 and not hasattr(sizes[0], "__index__") else sizes)


@_attach_asking
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`resize` to the shape of another tensor."""
    return _resized(self, "resize_as", tensor.shape)


def _resized(self: Tensor, name: "str", sizes: "Any") -> Tensor:
    from math import prod

    from ._warnings import warn

    warn(f"non-inplace {name} is deprecated")
    if prod(sizes) != self.numel():
        raise RuntimeError(
            f"requested {name} to {tuple(sizes)} ({prod(sizes)} elements in total), but the given tensor has a size of "
            f"{tuple(self.shape)} ({self.numel()} elements); {name}_ changes their number"
        )
    return self.reshape(sizes)


def _of_storage(self: UntypedStorage, name: "str") -> "Any":
    """Attributes of storages that are written in Python, which come when the first of them is looked for."""
    if name[:2] != "__" and not hasattr(UntypedStorage, "clone"):
        from . import storage as storage

        return getattr(self, name)
    raise AttributeError(f"'UntypedStorage' object has no attribute {name!r}")


def _new_storage(cls: "Any", *args: "Any", device: "Any" = None) -> UntypedStorage:
    """Memory of a number of bytes, which are zero, or with the bytes of a sequence."""
    from ._core import functions, tensor, uint8

    if len(args) > 1:
        raise TypeError(f"UntypedStorage(): a size or a sequence of bytes is expected, got {len(args)} arguments")
    given = args[0] if args else 0
    made: Any = functions["zeros"] if hasattr(given, "__index__") else tensor
    return made(given, dtype=uint8, device=device).untyped_storage()  # type: ignore[no-any-return]


_storages: "Any" = UntypedStorage
_storages.__getattr__ = _of_storage
_storages.__new__ = _new_storage


@_attach_asking
def apply_(self: Tensor, callable: "Any") -> Tensor:
    """Each element replaced by what a function of Python gives for it: slow, and without a derivative.

    >>> import pullback
    >>> pullback.tensor([1.0, 2.0]).apply_(lambda x: x + 1)
    tensor([2., 3.])
    """
    return _each_replaced("apply_", self, callable)


@_attach_asking
def map_(self: Tensor, tensor: Tensor, callable: "Any") -> Tensor:
    """Each element replaced by what a function of Python gives for it and that of another tensor.

    >>> import pullback
    >>> pullback.tensor([1.0, 2.0]).map_(pullback.tensor([3.0, 4.0]), lambda x, y: x * y)
    tensor([3., 8.])
    """
    return _each_replaced("map_", self, callable, tensor)


def _each_replaced(name: "str", x: Tensor, function: "Any", *others: Tensor) -> Tensor:
    if x.requires_grad or any(t.requires_grad for t in others):
        raise RuntimeError(f"Can't call {name}() on a tensor that requires grad. Use x.detach().{name}() instead.")
    for t in others:
        if t.dtype is not x.dtype:
            raise TypeError(f"{name}(): expected a tensor of {x.dtype}, got one of {t.dtype}; convert it with .to()")
    columns = [x.flatten().tolist(), *(t.expand(x.shape).flatten().tolist() for t in others)]
    values = [function(*elements) for elements in zip(*columns, strict=True)]
    if wrong := [v for v in values if isinstance(v, str)]:
        raise TypeError(f"{name}(): the function must give a real number, not str ({wrong[0]!r})")
    return x.copy_(x.new_tensor(values).reshape(x.shape))


@_attach_asking
def dim_order(self: Tensor, ambiguity_check: "Any" = False) -> "tuple[int, ...]":
    """The dimensions in the order of their steps in memory, the largest first.

    >>> import pullback
    >>> pullback.ones(2, 3).T.dim_order()
    (1, 0)
    """
    strides, sizes = self.stride(), self.shape
    order = sorted(range(self.dim()), key=lambda d: -strides[d])
    if ambiguity_check is True and any(
        strides[a] == strides[b] or 1 in (sizes[a], sizes[b])
        for a, b in zip(order, order[1:])  # noqa: B905,RUF007
    ):
        raise RuntimeError(
            f"dim_order(): the order of dimensions of size 1 or of equal strides {strides} is ambiguous; leave "
            "ambiguity_check out"
        )
    return tuple(order)


@_attach_asking
def cuda(self: Tensor, *args: "Any", **kwargs: "Any") -> "Any":
    """Raises RuntimeError: there is no CUDA device."""
    raise RuntimeError(
        "cuda(): there is no CUDA device: tensors are on the CPU. Ask cuda.is_available() first, or leave it out"
    )


@_attach_asking
def pin_memory(self: Tensor, device: "Any" = None) -> Tensor:
    """The tensor itself: there is no device that memory would be pinned for."""
    return self


@_attach_asking
def is_shared(self: Tensor) -> "bool":
    """Whether other processes see the memory, after `share_memory_()`."""
    from ._sharing import is_shared

    return is_shared(self)


@_attach_asking
def share_memory_(self: Tensor) -> Tensor:
    """Moves the elements into memory that processes started later see too, and that is sent to them without a copy.

    Raises RuntimeError for views: the tensor that they are views of is shared.
    """
    from ._sharing import share

    return share(self)


@_attach_asking
def to_dense(self: Tensor, dtype: "Any" = None) -> Tensor:
    """The tensor itself: all tensors are dense."""
    return self if dtype is None else self.to(dtype)


@_attach
def sparse_dim(self: Tensor) -> "int":
    """The number of sparse dimensions: 0."""
    return 0


@_attach
def dense_dim(self: Tensor) -> "int":
    """The number of dense dimensions: all."""
    return self.dim()


@_attach
def dequantize(self: Tensor) -> Tensor:
    """The tensor in float32, which it would be without the codes of a quantized dtype."""
    from ._core import float32

    return self.to(float32)


@_attach
def storage_type(self: Tensor) -> "Any":
    """The class of `storage()`."""
    from .storage import TypedStorage

    return TypedStorage


def _piece(name: "str") -> "Any":
    def method(self: Tensor, *args: "Any", **kwargs: "Any") -> "Any":
        from . import _pieces as pieces

        return getattr(pieces, name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"`pullback.{name}` of this tensor."
    return method


for _name in ("as_strided_scatter", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"):
    _attach(_piece(_name))


def _removed(name: "str") -> "Any":
    def method(self: Tensor, *args: "Any", **kwargs: "Any") -> "Any":
        from . import _removed as removed

        return getattr(removed, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"Raises RuntimeError: `linalg` has `{'eigh' if name == 'symeig' else name}`."
    return method


for _name in ("eig", "lstsq", "solve", "symeig"):
    _attach(_removed(_name))
_ABSENT = attributes()
for _name, _absent in _ABSENT.items():
    setattr(Tensor, _name, _absent)


@_attach
def __dir__(self: Tensor) -> "list[str]":
    return [name for name in object.__dir__(self) if name not in _ABSENT or name in vars(self)]


def _numpy_dtype(self: "Any") -> "Any":
    """The dtype of NumPy with the same numbers, which `numpy.dtype(x.dtype)` gives; bfloat16 has none."""
    import numpy

    name = str(self).rpartition(".")[2]
    if name == "bfloat16":
        raise TypeError("NumPy has no dtype bfloat16: convert with .float() first")
    return numpy.dtype(name)


dtype.__numpy_dtype__ = property(_numpy_dtype)  # type: ignore[attr-defined]
