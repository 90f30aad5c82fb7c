# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
from ._core_autograd_graph import Node
from ._core_utils_hooks import RemovableHandle

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "JvpFunction",
    "Program",
    "ShapeFunction",
    "Transform",
    "VjpFunction",
    "eval_shape",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "trace",
    "vjp",
    "vmap",
]

class _LikeFirst(Generic[_P]):
    """A function with the arguments of another, which gives what has the structure of its first argument."""
    @overload
    def __call__(self: _LikeFirst[Concatenate[_A, _Q]], first: _A, /, *args: _Q.args, **kwargs: _Q.kwargs) -> _A: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

class _LikeFirstAnd(Generic[_P, _T]):
    """The same, and something besides."""
    @overload
    def __call__(
        self: _LikeFirstAnd[Concatenate[_A, _Q], _T], first: _A, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> builtins.tuple[_A, _T]: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> builtins.tuple[Any, _T]: ...

class _Hessian(Generic[_P]):
    """A function with the arguments of another, which gives the Hessian by the first: a tensor for a tensor."""
    @overload
    def __call__(
        self: _Hessian[Concatenate[Tensor, _Q]], first: Tensor, /, *args: _Q.args, **kwargs: _Q.kwargs
    ) -> Tensor: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

class Transform:
    """A function made by `grad`, `vmap`, `jacrev`, `jacfwd` or `trace`. It takes the arguments of the function that it was made
    of, and shows that function's name, documentation and signature."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __getattribute__(self, name: Any, /) -> Any: ...
    def __repr__(self) -> builtins.str: ...
    @builtins.property
    def __wrapped__(self) -> Any:
        """The function that was transformed."""

class VjpFunction:
    """The pullback of a function at a point: takes cotangents of the outputs to cotangents of the inputs."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __repr__(self) -> builtins.str: ...

class JvpFunction:
    """The derivative of a function at a point: takes tangents of the inputs to tangents of the outputs."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __repr__(self) -> builtins.str: ...

class Program:
    """A straight-line program of operators, made by `trace`."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __len__(self) -> builtins.int: ...
    def __repr__(self) -> builtins.str: ...
    def __str__(self) -> builtins.str: ...
    @builtins.staticmethod
    def from_bytes(data: builtins.bytes) -> Program:
        """The program that `to_bytes` wrote.

        Raises ValueError for any other bytes. Nothing in them is executed before the program is called.
        """
    @builtins.property
    def operators(self) -> builtins.list[builtins.str]:
        """Names of the operators, in the order in which they run."""
    def simplified(self) -> Program:
        """The same program without operators that compute constants, repeat others, or that no output needs.

        Values are the same bit for bit; derivatives may differ by rounding. Random draws and calls of custom functions
        stay.
        """
    def to_bytes(self) -> builtins.bytes:
        """The program as bytes, from which `Program.from_bytes` makes it again, also in another process.

        Constants are part of it. Raises RuntimeError for what lives in this process alone: custom functions, tensors from
        outside that are read when the program is called, generators. Raises TypeError for arguments and results that are
        not made of tuples, lists, dicts, tensors, strings, numbers, bools and None.
        """

class ShapeFunction:
    """A function that gives shapes and dtypes in place of values."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __repr__(self) -> builtins.str: ...

@overload
def grad(func: Callable[_P, Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False) -> _LikeFirst[_P]:
    """Returns a function that computes the gradient of `func`, which returns a 0-d tensor.

    Args:
        func: function of one or more arguments that returns a 0-d tensor, or `(tensor, aux)` with `has_aux`.
        argnums: position of the argument to differentiate, or a tuple of positions. An argument may be any pytree of
            tensors of a floating point or complex dtype; the gradient has its structure.
        has_aux: whether `func` returns a pair, of which only the first is differentiated.

    The returned function gives the gradient (a tuple of them if `argnums` is a tuple), or `(gradient, aux)`.
    `no_grad` inside of `func` is respected; around the call it only concerns transforms further out.
    """
@overload
def grad(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, *, has_aux: Literal[True]) -> _LikeFirstAnd[_P, _T]: ...
@overload
def grad(func: Callable[_P, builtins.tuple[Any, _T]], argnums: _Argnums, *, has_aux: Literal[True]) -> Callable[_P, builtins.tuple[Any, _T]]: ...
@overload
def grad(func: Callable[_P, Any], argnums: builtins.tuple[builtins.int, ...], has_aux: Literal[False] = False) -> Callable[_P, builtins.tuple[Any, ...]]: ...
@overload
def grad(func: Callable[_P, Any], argnums: builtins.int = 0, has_aux: Literal[False] = False) -> Callable[_P, Any]: ...

@overload
def grad_and_value(func: Callable[_P, Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False) -> _LikeFirstAnd[_P, Tensor]:
    """Returns a function that computes the gradient of `func` and its value, in this order.

    The arguments are those of `grad`. The returned function gives `(gradient, value)`, or
    `(gradient, (value, aux))` with `has_aux`.
    """
@overload
def grad_and_value(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, *, has_aux: Literal[True]) -> _LikeFirstAnd[_P, builtins.tuple[Tensor, _T]]: ...
@overload
def grad_and_value(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: _Argnums, *, has_aux: Literal[True]) -> Callable[_P, builtins.tuple[Any, builtins.tuple[Tensor, _T]]]: ...
@overload
def grad_and_value(func: Callable[_P, Tensor], argnums: _Argnums, has_aux: Literal[False] = False) -> Callable[_P, builtins.tuple[Any, Tensor]]: ...

@overload
def vjp(func: Callable[[Unpack[_Ts]], _T], *primals: Unpack[_Ts], has_aux: Literal[False] = False) -> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]]]:
    """Returns the value of `func` at `primals` and a function that pulls cotangents of it back to the primals.

    Args:
        func: function of the primals that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
        primals: arguments, each a pytree of tensors of a floating point or complex dtype.
        has_aux: whether `func` returns a pair, of which only the first is differentiated.

    Gives `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn` takes cotangents in the structure of the output (also
    one argument for each output of a tuple) and returns a tuple with one cotangent for each primal. It can be called any
    number of times, also under `vmap` and inside of other transforms.
    """
@overload
def vjp(func: Callable[..., _T], *primals: Unpack[_Ts], has_aux: Literal[False] = False) -> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]]]: ...
@overload
def vjp(func: Callable[..., builtins.tuple[_T, _A]], *primals: Unpack[_Ts], has_aux: Literal[True]) -> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]], _A]: ...

@overload
def jvp(func: Callable[[Unpack[_Ts]], _T], primals: builtins.tuple[Unpack[_Ts]], tangents: builtins.tuple[Any, ...], *, strict: builtins.bool = False, has_aux: Literal[False] = False) -> builtins.tuple[_T, _T]:
    """Returns the value of `func` at `primals` and its derivative along `tangents`, computed together in one run.

    Args:
        func: function of the primals that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
        primals: tuple of arguments, each a pytree of tensors of a floating point or complex dtype.
        tangents: directions, of the same structure and shapes as the primals.
        strict: whether an output that does not depend on the primals is an error; otherwise its tangent is zero.
        has_aux: whether `func` returns a pair, of which only the first is differentiated.

    Gives `(output, output_tangent)`, or `(output, output_tangent, aux)`.
    """
@overload
def jvp(func: Callable[..., _T], primals: builtins.tuple[Any, ...], tangents: builtins.tuple[Any, ...], *, strict: builtins.bool = False, has_aux: Literal[False] = False) -> builtins.tuple[_T, _T]: ...
@overload
def jvp(func: Callable[..., builtins.tuple[_T, _A]], primals: builtins.tuple[Any, ...], tangents: builtins.tuple[Any, ...], *, strict: builtins.bool = False, has_aux: Literal[True]) -> builtins.tuple[_T, _T, _A]: ...

def vmap(func: Callable[_P, _T], in_dims: Any = 0, out_dims: Any = 0, randomness: builtins.str = 'error', *, chunk_size: builtins.int | None = None) -> Callable[_P, _T]:
    """Returns a function that runs `func` on all members of a batch at once, without a loop.

    Args:
        func: function of one or more arguments that returns a pytree of tensors.
        in_dims: which dimension of the arguments counts the members: an int for all, or a tuple with an int, None or a
            tree of them for each argument. None gives the whole argument to each member. Negative dimensions count
            from the end.
        out_dims: where the batch goes in the results, as an int, None (for what is equal for all members, or no tensor)
            or a tree of them that fits the result.
        randomness: what random operators do: raise ('error'), draw numbers for each member ('different'), or the same
            numbers for all ('same').
        chunk_size: how many members to run at a time; all at once by default.

    Keyword arguments are given to each member as they are, whole, as PyTorch does. Inside, a member looks like a tensor
    without the batch. The result of a function that does not depend on its argument is repeated.
    """

@overload
def jacrev(func: Callable[_P, Tensor], argnums: Literal[0] = 0, *, has_aux: Literal[False] = False, chunk_size: builtins.int | None = None) -> _LikeFirst[_P]:
    """Returns a function that computes the Jacobian of `func` by reverse mode: one row for each element of the output.

    Args:
        func: function that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
        argnums: position of the argument to differentiate, or a tuple of positions. Arguments may be pytrees.
        has_aux: whether `func` returns a pair, of which only the first is differentiated.
        chunk_size: how many rows to compute at a time; all at once by default.

    The Jacobian is a tree of the output's structure with trees of the argument's structure in its leaves. A block has
    the shape `output.shape + argument.shape`.
    """
@overload
def jacrev(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, *, has_aux: Literal[True], chunk_size: builtins.int | None = None) -> _LikeFirstAnd[_P, _T]: ...
@overload
def jacrev(func: Callable[_P, builtins.tuple[Any, _T]], argnums: _Argnums, *, has_aux: Literal[True], chunk_size: builtins.int | None = None) -> Callable[_P, builtins.tuple[Any, _T]]: ...
@overload
def jacrev(func: Callable[_P, Any], argnums: builtins.tuple[builtins.int, ...], *, has_aux: Literal[False] = False, chunk_size: builtins.int | None = None) -> Callable[_P, builtins.tuple[Any, ...]]: ...
@overload
def jacrev(func: Callable[_P, Any], argnums: builtins.int = 0, *, has_aux: Literal[False] = False, chunk_size: builtins.int | None = None) -> Callable[_P, Any]: ...

@overload
def jacfwd(func: Callable[_P, Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False, *, chunk_size: builtins.int | None = None, randomness: builtins.str = 'error') -> _LikeFirst[_P]:
    """Returns a function that computes the Jacobian of `func` by forward mode: one column for each element of the argument.

    Args:
        func: function that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
        argnums: position of the argument to differentiate, a tuple of positions, or None for all of them.
        has_aux: whether `func` returns a pair, of which only the first is differentiated.
        chunk_size: how many columns to compute at a time; all at once by default.
        randomness: as in `vmap`; the columns are computed under one.

    The Jacobian is a tree of the output's structure with trees of the argument's structure in its leaves. A block has
    the shape `output.shape + argument.shape`.
    """
@overload
def jacfwd(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, *, has_aux: Literal[True], chunk_size: builtins.int | None = None, randomness: builtins.str = 'error') -> _LikeFirstAnd[_P, _T]: ...
@overload
def jacfwd(func: Callable[_P, builtins.tuple[Any, _T]], argnums: _Argnums, *, has_aux: Literal[True], chunk_size: builtins.int | None = None, randomness: builtins.str = 'error') -> Callable[_P, builtins.tuple[Any, _T]]: ...
@overload
def jacfwd(func: Callable[_P, Any], argnums: builtins.tuple[builtins.int, ...], has_aux: Literal[False] = False, *, chunk_size: builtins.int | None = None, randomness: builtins.str = 'error') -> Callable[_P, builtins.tuple[Any, ...]]: ...
@overload
def jacfwd(func: Callable[_P, Any], argnums: builtins.int | None = 0, has_aux: Literal[False] = False, *, chunk_size: builtins.int | None = None, randomness: builtins.str = 'error') -> Callable[_P, Any]: ...

@overload
def hessian(func: Callable[_P, Tensor], argnums: Literal[0] = 0) -> _Hessian[_P]:
    """Returns a function that computes the Hessian of `func`, forward over reverse: `jacfwd(jacrev(func))`.

    `argnums` is the position of the argument to differentiate twice, or a tuple of positions, which gives a tuple of
    tuples.
    """
@overload
def hessian(func: Callable[_P, Any], argnums: _Argnums = 0) -> Callable[_P, Any]: ...

@overload
def linearize(func: Callable[[Unpack[_Ts]], _T], *primals: Unpack[_Ts]) -> builtins.tuple[_T, Callable[[Unpack[_Ts]], _T]]:
    """Returns the value of `func` at `primals` and its derivative there, a linear function of tangents.

    Args:
        func: function of the primals that returns a pytree of tensors.
        primals: arguments, each a pytree of tensors of a floating point or complex dtype.

    Gives `(output, jvp_fn)`. `func` runs once, here; `jvp_fn` takes one tangent for each primal, of its structure, shape
    and dtype, and runs only what depends on the tangents. It saves what `func` computed, so that `jvp` is better for a
    single tangent.
    """
@overload
def linearize(func: Callable[..., _T], *primals: Unpack[_Ts]) -> builtins.tuple[_T, Callable[[Unpack[_Ts]], _T]]: ...

def trace(func: Callable[_P, Any]) -> Callable[_P, Program]:
    """Returns a function that runs `func` once and gives what it did as a straight-line `Program`.

    Args:
        func: function of tensors, or of pytrees of them, that returns a pytree. Tensors in keyword arguments are inputs
            as well; everything else among the arguments is fixed.

    `trace(func)(*args, **kwargs)` returns the program. It is called with arguments of the same structure, shapes and
    dtypes, also inside of `vmap`, `grad` and all other transforms, and `func` itself may be a transformed function.
    `print(program)` shows the operators with shapes, dtypes and lines, `len(program)` is their number, and
    `program.simplified()` has fewer of them, with the same results. What ran under `no_grad` is followed by
    `stop_reverse`. Tensors from outside of `func` are read when the program is called; random operators draw anew each
    time; a custom function is one operator, which keeps its rules.

    Raises RuntimeError where `func` reads data (`.item()`, `if x > 0`), or writes in place to its arguments or to a
    tensor from outside.
    """

def eval_shape(func: Callable[_P, _T]) -> Callable[_P, _T]:
    """Returns a function that gives the shapes and dtypes of the results of `func`, as tensors of device `meta`, without
    computing them.

    Args:
        func: function of any arguments that returns a pytree of tensors.

    The tensors among the arguments, at any depth of pytrees, may be of device `meta` themselves; objects with a `shape` and
    a `dtype` of this library stand for tensors, too. `func` runs once on tensors without data, so that it costs no
    arithmetic and no memory; random operators draw nothing. What reads data raises, as do operators such as `nonzero` whose
    results have shapes that depend on data. A custom function that leaves the library needs a shape rule: see
    `pullback.library.register_fake`.
    """
