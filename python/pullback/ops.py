"""Operators made by `library.custom_op` under their namespaces, and those of the table as `ops.aten`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: "list[str]" = ["load_library"]


class _Namespace:
    """The operators of a namespace."""

    def __init__(self, name: "str") -> None:
        self._name = name

    def __getattr__(self, name: "str") -> "Any":
        from .library.custom_ops import OPERATORS

        found = OPERATORS.get(f"{self._name}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> "list[str]":
        from .library.custom_ops import OPERATORS

        prefix = f"{self._name}::"
        return [name.removeprefix(prefix) for name in OPERATORS if name.startswith(prefix)]

    def __repr__(self) -> str:
        return f"<module 'pullback.ops.{self._name}'>"


# What PyTorch calls the forms of an operator that differ in their arguments; here one function takes all of them.
_FORMS = frozenset(
    "default Tensor Scalar int float dim dim_IntList Tensor_Scalar Scalar_Tensor Tensor_Tensor Tensor_Scalar_out "
    "ScalarSelf ScalarOther self other using_ints correction names out Tensor_mode Scalar_mode start start_step "
    "Tensor_out Scalar_out vec sizes values indices dimname bool complex".split()
)

# Functions of `nn.functional` whose arguments are those of the inner operator; losses, say, have other ones.
_FUNCTIONAL = frozenset(
    "gelu glu hardsigmoid hardswish linear mish relu6 scaled_dot_product_attention silu softplus".split()
)


class _Inner:
    """An operator of the table, or one of its forms, which are attributes."""

    def __init__(self, name: "str", call: "Any", packet: "Any" = None) -> None:
        self.__name__, self._call, self.overloadpacket = name, call, packet
        self._qualified_op_name = f"aten::{name}"

    def __call__(self, *args: "Any", **kwargs: "Any") -> "Any":
        return self._call(*args, **kwargs)

    def __getattr__(self, form: "str") -> "Any":
        if self.overloadpacket is not None or form not in _FORMS:
            raise AttributeError(f"'{self}' has no overload name '{form}'")
        made = self.__dict__[form] = _Inner(f"{self.__name__}.{form}", self._call, self)
        return made

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


class _Aten(_Namespace):
    """The operators of the table as PyTorch calls them inside."""

    def __getattr__(self, name: "str") -> "Any":
        if name.startswith("__"):
            raise AttributeError(f"module '{self!r}' has no attribute {name!r}")
        call = _of_table(name)
        if call is None:
            return super().__getattr__(name)
        made = self.__dict__[name] = _Inner(name, call)
        return made


def _convolution(
    input: "Any", weight: "Any", bias: "Any", stride: "Any", padding: "Any", dilation: "Any", transposed: "bool",
    output_padding: "Any", groups: "int",
) -> "Any":  # fmt: skip
    """A convolution by as many dimensions as there are strides."""
    from .nn import functional as F

    kind = len(stride)
    if transposed:
        run = getattr(F, f"conv_transpose{kind}d")
        return run(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{kind}d")(input, weight, bias, stride, padding, dilation, groups)


# Inner operators whose names or arguments are not those of a function or method.
_INNER: "dict[str, Any]" = {
    "convolution": _convolution,
    "_unsafe_view": lambda self, size: self.reshape(size),
    "_to_copy": lambda self, *, dtype=None, **options: self.to(dtype or self.dtype, copy=True),
}


def _of_table(name: "str") -> "Any":
    """The function or method that takes an inner operator's arguments in their order, or None."""
    import pullback

    from . import _core

    if name in _INNER:
        return _INNER[name]
    part, _, rest = name.partition("_")
    if part in ("linalg", "special", "fft") and rest:
        return _core.functions.get(f"{part}.{rest}")
    found = _core.functions.get(name)
    if found is None and name in _FUNCTIONAL:
        found = getattr(pullback.nn.functional, name)
    if found is None:
        found = getattr(pullback, name, None)
        if not callable(found) or isinstance(found, type):
            found = getattr(_core.Tensor, name, None)
    return found


def load_library(path: "Any") -> None:
    """Raises OSError, as for a file that is not there: operators in C++ are out of scope.

    >>> import pullback
    >>> pullback.ops.load_library("libmine.so")
    Traceback (most recent call last):
    OSError: load_library(): libmine.so has operators in C++, which are out of scope; library.custom_op makes one here
    """
    raise OSError(
        f"load_library(): {path} has operators in C++, which are out of scope; library.custom_op makes one here"
    )


def __getattr__(name: "str") -> "Any":
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "aten":
        made = globals()[name] = _Aten(name)
        return made
    return _Namespace(name)
