"""Types for `_stubs`: of the kinds of the operator table, and of what Rust holds besides operators."""

from __future__ import annotations

# At the top of `_core.pyi`. Names of dtypes and of methods hide the builtins, hence the prefixes and underscores.
ALIASES = """
_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_T = TypeVar("_T")
_A = TypeVar("_A")
_F = TypeVar("_F", bound=Callable[..., Any])
_S = TypeVar("_S", bound=Tensor)
_Ts = TypeVarTuple("_Ts")
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex
_Operand: TypeAlias = Tensor | _Number
_Ints: TypeAlias = builtins.int | Sequence[builtins.int]
_Array: TypeAlias = numpy.ndarray[Any, Any]
_Slice: TypeAlias = builtins.slice[Any, Any, Any]
_Item: TypeAlias = SupportsIndex | _Slice | EllipsisType | Tensor | _Array | builtins.list[Any] | builtins.range | None
_Index: TypeAlias = _Item | builtins.tuple[Any, ...]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
_Device: TypeAlias = device | builtins.str | None
_Argnums: TypeAlias = builtins.int | builtins.tuple[builtins.int, ...]
_Leaf: TypeAlias = Callable[[Any], builtins.bool] | None
"""

# Kinds of parameters.
KINDS = {
    "Tensor": "Tensor",
    "TensorOrNumber": "_Operand",
    "Number": "_Number",
    "int": "builtins.int",
    "float": "builtins.float",
    "bool": "builtins.bool",
    "str": "builtins.str",
    "ints": "_Ints",
    "dims": "_Ints",
    "shape": "_Ints",
    "dtype": "_dtype",
    "Tensors": "Sequence[Tensor]",
    "TensorsOrNumbers": "Sequence[_Operand]",
    "index": "Any",
    "Generator": "Generator",
    "any": "Any",
}

# Kinds of a last parameter that takes all further arguments.
SPREAD = {
    "Tensors": "Tensor | Sequence[Tensor]",
    "TensorsOrNumbers": "_Operand | Sequence[_Operand]",
}

# Kinds of results.
RETURNS = {
    "Tensor": "Tensor",
    "bool": "builtins.bool",
    "tuple of Tensors": "builtins.tuple[Tensor, ...]",
    "2 Tensors": "builtins.tuple[Tensor, Tensor]",
    "3 Tensors": "builtins.tuple[Tensor, Tensor, Tensor]",
    "dtype": "_dtype",
    "any": "Any",
}

# Where results go that the caller has, by the kind of the result.
OUT = {"Tensor": "Tensor | None"}
SEVERAL_OUT = "Sequence[Tensor] | None"

# Parameters whose kind says nothing, by name.
PARAMETERS = {
    "device": "_Device",
    "dtype": "_dtype | None",
    "memory_format": "_memory_format | None",
    "layout": "_layout | None",
    "driver": "builtins.str | None",
    "requires_grad": "builtins.bool",
    "keepdim": "builtins.bool",
    "generator": "Generator | None",
    "out": "Tensor | None",
    "is_leaf": "_Leaf",
    "pin_memory": "builtins.bool",
    "indices_or_sections": "_Ints | Tensor",
    "split_size_or_sections": "_Ints",
    "padding": "_Ints | builtins.str",
    "output_size": "builtins.int | Sequence[builtins.int | None]",
    "ord": "builtins.int | builtins.float | builtins.str | None",
    "p": "builtins.int | builtins.float | builtins.str | None",
    "indices": "Sequence[Tensor | None]",
}
# The same, by what a parameter is declared to be.
DECLARED = {
    "SomeDimensions": "_Ints | None",
    "Reduced": "_Ints | None",
    "ReducedAsNamed": "_Ints | None",
    "ReducedOrFlag": "_Ints | builtins.bool | None",
}

# Attributes; `.setter` gives the type that may be assigned.
VALUES = {
    "Tensor.shape": "Size",
    "Tensor.dtype": "_dtype",
    "Tensor.device": "_device",
    "Tensor.layout": "_layout",
    "Tensor.ndim": "builtins.int",
    "Tensor.itemsize": "builtins.int",
    "Tensor.nbytes": "builtins.int",
    "Tensor.requires_grad": "builtins.bool",
    "Tensor.requires_grad.setter": "builtins.bool",
    "Tensor.is_leaf": "builtins.bool",
    "Tensor.grad": "Tensor | None",
    "Tensor.grad.setter": "Tensor | None",
    "Tensor.data": "Tensor",
    "Tensor.data.setter": "Tensor",
    "Tensor.real": "Tensor",
    "Tensor.imag": "Tensor",
    "Tensor._version": "builtins.int",
    "Tensor._base": "Tensor | None",
    "Tensor._grad": "Tensor | None",
    "Tensor.grad_fn": "Node | None",
    "Tensor._grad_fn": "Node | None",
    "Tensor.name": "builtins.str | None",
    "Tensor.output_nr": "builtins.int",
    "Tensor.retains_grad": "builtins.bool",
    "FunctionCtx.saved_tensors": "builtins.tuple[Tensor, ...]",
    "FunctionCtx.needs_input_grad": "builtins.tuple[builtins.bool, ...]",
    "VmapInfo.batch_size": "builtins.int",
    "VmapInfo.randomness": "builtins.str",
    "autograd.graph.Node._sequence_nr": "builtins.int",
    "autograd.graph.Node.metadata": "builtins.dict[Any, Any]",
    "autograd.graph.Node.next_functions": "builtins.tuple[builtins.tuple[Node | None, builtins.int], ...]",
    "utils.hooks.RemovableHandle.id": "builtins.int",
    "func.Program.operators": "builtins.list[builtins.str]",
}
