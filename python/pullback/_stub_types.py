"""Types for `_stubs`: of the kinds of the operator table, and of what Rust holds besides operators."""

from __future__ import annotations

# At the top of `_core.pyi`. Names of dtypes and of methods hide the builtins, hence the prefixes and underscores.
ALIASES = """
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex
_Operand: TypeAlias = Tensor | _Number
_Ints: TypeAlias = builtins.int | Sequence[builtins.int]
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
    "Tensor.__hash__": "Callable[[Tensor], builtins.int]",
}

_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_BINARY = [prefix + name for name in _OPERATORS for prefix in ("", "r", "i")]
_UNARY = "neg pos abs invert".split()
_COMPARE = "lt le eq ne gt ge".split()
_BOOL, _INT, _STR = "builtins.bool", "builtins.int", "builtins.str"

# Signatures by path: `class.method`, or `module.function`.
SIGNATURES = {
    **{f"Tensor.__{name}__": "(self, other: _Operand, /) -> Tensor" for name in _BINARY},
    **{f"Tensor.__{name}__": "(self) -> Tensor" for name in _UNARY},
    **{f"Tensor.__{name}__": "(self, other: Any, /) -> Tensor" for name in _COMPARE},
    "Tensor.__pow__": "(self, other: _Operand, mod: None = None, /) -> Tensor",
    "Tensor.__ipow__": "(self, other: _Operand, mod: None = None, /) -> Tensor",
    "Tensor.__rpow__": "(self, other: _Operand, mod: None = None, /) -> Tensor",
    "Tensor.__getitem__": "(self, index: Any, /) -> Tensor",
    "Tensor.__setitem__": "(self, index: Any, value: Any, /) -> None",
    "Tensor.__len__": f"(self) -> {_INT}",
    "Tensor.__bool__": f"(self) -> {_BOOL}",
    "Tensor.__int__": f"(self) -> {_INT}",
    "Tensor.__index__": f"(self) -> {_INT}",
    "Tensor.__float__": "(self) -> builtins.float",
    "Tensor.__complex__": "(self) -> builtins.complex",
    "Tensor.__hash__": f"(self) -> {_INT}",
    "Tensor.__iter__": "(self) -> Iterator[Tensor]",
    "Tensor.__contains__": f"(self, item: Any, /) -> {_BOOL}",
    "Tensor.__repr__": f"(self) -> {_STR}",
    "Tensor.__str__": f"(self) -> {_STR}",
    "Tensor.item": "(self) -> Any",
    "Tensor.tolist": "(self) -> Any",
    "Tensor.numpy": "(self, *, force: builtins.bool = False) -> Any",
    "Tensor.dim": f"(self) -> {_INT}",
    "Tensor.numel": f"(self) -> {_INT}",
    "Tensor.nelement": f"(self) -> {_INT}",
    "Tensor.element_size": f"(self) -> {_INT}",
    "Tensor.size": "(self, dim: builtins.int | None = None) -> Any",
    "Tensor.stride": "(self, dim: builtins.int | None = None) -> Any",
    "Tensor.is_contiguous": f"(self, memory_format: _memory_format | None = None) -> {_BOOL}",
    "Tensor.is_floating_point": f"(self) -> {_BOOL}",
    "Tensor.is_complex": f"(self) -> {_BOOL}",
    "Tensor.is_signed": f"(self) -> {_BOOL}",
    "Tensor.requires_grad_": "(self, requires_grad: builtins.bool = True) -> Tensor",
    "Tensor.detach_": "(self) -> Tensor",
    "Tensor.backward": (
        "(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, "
        "create_graph: builtins.bool = False, inputs: Tensor | Sequence[Tensor] | None = None) -> None"
    ),
    "Tensor.data_ptr": f"(self) -> {_INT}",
    "Tensor.storage_offset": f"(self) -> {_INT}",
    # ------------------------------------------------------------ the package
    "get_default_dtype": "() -> dtype",
    "set_default_dtype": "(d: dtype, /) -> None",
    "promote_types": "(type1: dtype, type2: dtype) -> dtype",
    "can_cast": f"(from_: dtype, to: dtype) -> {_BOOL}",
    "tensor": (
        "(data: Any, *, dtype: _dtype | None = None, device: _Device = None, requires_grad: builtins.bool = False, "
        "pin_memory: builtins.bool = False) -> Tensor"
    ),
    "as_tensor": "(data: Any, dtype: _dtype | None = None, device: _Device = None) -> Tensor",
    "asarray": (
        "(obj: Any, *, dtype: _dtype | None = None, device: _Device = None, copy: builtins.bool | None = None, "
        "requires_grad: builtins.bool = False) -> Tensor"
    ),
    "from_numpy": "(ndarray: Any) -> Tensor",
    "allclose": (
        "(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, "
        "equal_nan: builtins.bool = False) -> builtins.bool"
    ),
    "equal": "(input: Tensor, other: Tensor) -> builtins.bool",
    "from_dlpack": "(ext_tensor: Any) -> Tensor",
    "is_tensor": f"(obj: Any) -> {_BOOL}",
    "is_grad_enabled": f"() -> {_BOOL}",
    "get_num_threads": f"() -> {_INT}",
    "set_num_threads": "(num_threads: builtins.int) -> None",
    "manual_seed": "(seed: builtins.int) -> Generator",
    "seed": f"() -> {_INT}",
    "initial_seed": f"() -> {_INT}",
    "get_rng_state": "() -> Tensor",
    "set_rng_state": "(new_state: Tensor) -> None",
    "Generator.manual_seed": "(self, seed: builtins.int) -> Generator",
    "Generator.seed": f"(self) -> {_INT}",
    "Generator.initial_seed": f"(self) -> {_INT}",
}

_FUNC = "func: Callable[..., Any]"
_TRANSFORMS = {
    "grad": f"({_FUNC}, argnums: _Argnums = 0, has_aux: {_BOOL} = False) -> Callable[..., Any]",
    "grad_and_value": f"({_FUNC}, argnums: _Argnums = 0, has_aux: {_BOOL} = False) -> Callable[..., Any]",
    "vjp": f"({_FUNC}, *primals: Any, has_aux: {_BOOL} = False) -> builtins.tuple[Any, ...]",
    "jvp": (
        f"({_FUNC}, primals: builtins.tuple[Any, ...], tangents: builtins.tuple[Any, ...], *, strict: {_BOOL} = False, "
        f"has_aux: {_BOOL} = False) -> builtins.tuple[Any, ...]"
    ),
    "vmap": (
        f"({_FUNC}, in_dims: Any = 0, out_dims: Any = 0, randomness: {_STR} = 'error', *, "
        "chunk_size: builtins.int | None = None) -> Callable[..., Any]"
    ),
    "jacrev": (
        f"({_FUNC}, argnums: _Argnums = 0, *, has_aux: {_BOOL} = False, chunk_size: builtins.int | None = None) "
        "-> Callable[..., Any]"
    ),
    "jacfwd": (
        f"({_FUNC}, argnums: _Argnums = 0, has_aux: {_BOOL} = False, *, chunk_size: builtins.int | None = None, "
        f"randomness: {_STR} = 'error') -> Callable[..., Any]"
    ),
    "hessian": f"({_FUNC}, argnums: _Argnums = 0) -> Callable[..., Any]",
    "linearize": f"({_FUNC}, *primals: Any) -> builtins.tuple[Any, Callable[..., Any]]",
    "Program.from_bytes": "(data: builtins.bytes) -> Program",
    "Program.to_bytes": "(self) -> builtins.bytes",
    "trace": f"({_FUNC}) -> Callable[..., Program]",
}
SIGNATURES.update({f"func.{name}": signature for name, signature in _TRANSFORMS.items()})
SIGNATURES["vmap"] = _TRANSFORMS["vmap"]
_LEVEL = "level: builtins.int | None = None"
SIGNATURES.update(
    {
        f"autograd.forward_ad.{name}": signature
        for name, signature in {
            "enter_dual_level": f"() -> {_INT}",
            "exit_dual_level": f"(*, {_LEVEL}) -> None",
            "dual_levels": f"() -> {_INT}",
            "make_dual": f"(tensor: Tensor, tangent: Tensor, *, {_LEVEL}) -> Tensor",
            "unpack": f"(tensor: Tensor, *, {_LEVEL}) -> builtins.tuple[Tensor, Tensor | None]",
            "is_fwd_grad_enabled": f"() -> {_BOOL}",
            "switch_fwd_grad": f"(mode: {_BOOL}) -> {_BOOL}",
        }.items()
    }
)

_TREE = "tree: Any, is_leaf: _Leaf = None"
SIGNATURES.update(
    {
        f"utils.pytree.{name}": signature
        for name, signature in {
            "tree_flatten": f"({_TREE}) -> builtins.tuple[builtins.list[Any], TreeSpec]",
            "tree_unflatten": "(leaves: Iterable[Any], treespec: TreeSpec) -> Any",
            "tree_leaves": f"({_TREE}) -> builtins.list[Any]",
            "tree_iter": f"({_TREE}) -> Iterator[Any]",
            "tree_structure": f"({_TREE}) -> TreeSpec",
            "tree_is_leaf": f"({_TREE}) -> {_BOOL}",
            "tree_map": f"({_FUNC}, tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any",
            "tree_map_": f"({_FUNC}, tree: _T, *rests: Any, is_leaf: _Leaf = None) -> _T",
            "tree_map_only": f"(type_or_types_or_pred: Any, /, {_FUNC}, {_TREE}) -> Any",
            "tree_map_only_": f"(type_or_types_or_pred: Any, /, {_FUNC}, tree: _T, is_leaf: _Leaf = None) -> _T",
            "tree_all": f"(pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_any": f"(pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_all_only": f"(type_or_types: Any, /, pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_any_only": f"(type_or_types: Any, /, pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_flatten_with_path": (
                f"({_TREE}) -> builtins.tuple[builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]], TreeSpec]"
            ),
            "tree_leaves_with_path": f"({_TREE}) -> builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]]",
            "tree_map_with_path": f"({_FUNC}, tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any",
            "broadcast_to_and_flatten": "(tree: Any, treespec: TreeSpec) -> builtins.list[Any] | None",
            "keystr": f"(kp: Iterable[Any]) -> {_STR}",
            "key_get": "(obj: Any, kp: Iterable[Any]) -> Any",
            "treespec_leaf": "() -> TreeSpec",
            "treespec_tuple": "(iterable: Iterable[TreeSpec] | None = None, /) -> TreeSpec",
            "treespec_dict": "(mapping: Mapping[Any, TreeSpec] | None = None, /, **kwargs: TreeSpec) -> TreeSpec",
            "register_pytree_node": (
                "(cls: builtins.type[Any], flatten_fn: Callable[[Any], builtins.tuple[Iterable[Any], Any]], "
                "unflatten_fn: Callable[[builtins.list[Any], Any], Any], *, "
                "serialized_type_name: builtins.str | None = None, "
                "to_dumpable_context: Callable[[Any], Any] | None = None, "
                "from_dumpable_context: Callable[[Any], Any] | None = None, "
                "flatten_with_keys_fn: Callable[[Any], builtins.tuple[Iterable[Any], Any]] | None = None) -> None"
            ),
        }.items()
    }
)

# Whole classes.
CLASSES = {
    "dtype": '''dtype:
    """The type of a tensor's elements, such as `pullback.float32`."""
    @builtins.property
    def is_floating_point(self) -> builtins.bool: ...
    @builtins.property
    def is_complex(self) -> builtins.bool: ...
    @builtins.property
    def is_signed(self) -> builtins.bool: ...
    @builtins.property
    def itemsize(self) -> builtins.int: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...
''',
    "device": '''device:
    """Where a tensor lives. Only `cpu` exists."""
    def __new__(cls, type: builtins.str | device, index: builtins.int | None = None) -> device: ...
    @builtins.property
    def type(self) -> builtins.str: ...
    @builtins.property
    def index(self) -> builtins.int | None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *args: Any) -> builtins.bool: ...
''',
    "layout": '''layout:
    """How elements are stored."""
''',
    "memory_format": '''memory_format:
    """An order of the dimensions in memory."""
''',
    "Size": '''Size(builtins.tuple[builtins.int, ...]):
    """The dimensions of a tensor."""
    def __new__(cls, dims: Iterable[SupportsIndex] = ()) -> Size: ...
    def numel(self) -> builtins.int: ...
''',
    "finfo": '''finfo:
    """Limits of a float dtype; of a complex one, those of its parts."""
    def __new__(cls, type: _dtype | None = None) -> finfo: ...
    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    resolution: builtins.float
    smallest_normal: builtins.float
    tiny: builtins.float
    dtype: builtins.str
''',
    "iinfo": '''iinfo:
    """Limits of an integer dtype."""
    def __new__(cls, type: _dtype) -> iinfo: ...
    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: builtins.str
''',
    "InternalError": '''InternalError(builtins.RuntimeError):
    """A bug in pullback itself."""
''',
    "linalg.LinAlgError": '''LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
''',
    "utils.pytree.TreeSpec": '''TreeSpec:
    """The structure of a pytree: what remains when its leaves are taken out."""
    def __new__(cls, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> TreeSpec: ...
    @builtins.property
    def type(self) -> Any: ...
    @builtins.property
    def context(self) -> Any: ...
    @builtins.property
    def num_leaves(self) -> builtins.int: ...
    @builtins.property
    def num_nodes(self) -> builtins.int: ...
    @builtins.property
    def num_children(self) -> builtins.int: ...
    @builtins.property
    def children_specs(self) -> builtins.list[TreeSpec]: ...
    def children(self) -> builtins.list[TreeSpec]: ...
    def child(self, index: builtins.int) -> TreeSpec: ...
    def is_leaf(self) -> builtins.bool: ...
    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def flatten_up_to(self, tree: Any) -> builtins.list[Any]: ...
''',
}
