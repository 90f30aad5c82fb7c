"""Signatures for `_stubs` of what Rust holds besides operators, by path: `class.method`, or `module.function`.

Several signatures of one function are a tuple.
"""

from __future__ import annotations

_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_BINARY = [prefix + name for name in _OPERATORS for prefix in ("", "r", "i")]
_UNARY = "neg pos abs invert".split()
_COMPARE = "lt le eq ne gt ge".split()
_BOOL, _INT, _STR = "builtins.bool", "builtins.int", "builtins.str"

_SELF = "(self) -> Self"
_IS = f"(self) -> {_BOOL}"
# One tensor or edge of the graph, or several.
_SOME = "Tensor | Iterable[Any]"
_GRADS = "Tensor | Sequence[Tensor | None] | None"
_MEMORY_FORMAT = "memory_format: _memory_format | None = None"

# Special methods of all classes, by name.
SPECIAL = {
    "__repr__": f"(self) -> {_STR}",
    "__str__": f"(self) -> {_STR}",
    "__format__": f"(self, spec: {_STR}, /) -> {_STR}",
    "__len__": f"(self) -> {_INT}",
    "__hash__": f"(self) -> {_INT}",
    "__copy__": _SELF,
    "__deepcopy__": "(self, memo: Any, /) -> Self",
    "__enter__": "(self) -> Any",
    "__exit__": "(self, *args: Any) -> None",
}

_Signature = str | tuple[str, ...]
SIGNATURES: dict[str, _Signature] = {
    **{f"Tensor.__{name}__": "(self, other: _Operand | _Array, /) -> Tensor" for name in _BINARY},
    **{f"Tensor.__i{name}__": "(self, other: _Operand | _Array, /) -> Self" for name in _OPERATORS},
    **{f"Tensor.__{name}__": "(self) -> Tensor" for name in _UNARY},
    **{f"Tensor.__{name}__": "(self, other: Any, /) -> Tensor" for name in _COMPARE},
    "Tensor.__pow__": "(self, other: _Operand, mod: None = None, /) -> Tensor",
    "Tensor.__ipow__": "(self, other: _Operand, mod: None = None, /) -> Self",
    "Tensor.__rpow__": "(self, other: _Operand, mod: None = None, /) -> Tensor",
    "Tensor.__new__": "(cls, *args: Any, **kwargs: Any) -> Self",
    "Tensor.__array__": "(self, dtype: Any = None, copy: builtins.bool | None = None) -> _Array",
    "Tensor.__getitem__": "(self, index: _Index, /) -> Tensor",
    "Tensor.__setitem__": "(self, index: _Index, value: Any, /) -> None",
    "Tensor.__delitem__": "(self, key: Any, /) -> None",
    "Tensor.__bool__": _IS,
    "Tensor.__int__": f"(self) -> {_INT}",
    "Tensor.__index__": f"(self) -> {_INT}",
    "Tensor.__float__": "(self) -> builtins.float",
    "Tensor.__complex__": "(self) -> builtins.complex",
    "Tensor.__iter__": "(self) -> Iterator[Tensor]",
    "Tensor.__reversed__": "(self) -> Tensor",
    "Tensor.__contains__": f"(self, item: Any, /) -> {_BOOL}",
    "Tensor.__dlpack_device__": f"(self) -> builtins.tuple[{_INT}, {_INT}]",
    "Tensor._is_view": _IS,
    "Tensor._repr_html_": f"(self) -> {_STR} | None",
    "Tensor.allclose": (
        "(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, "
        "equal_nan: builtins.bool = False) -> builtins.bool"
    ),
    "Tensor.as_strided": "(self, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Tensor",
    "Tensor.as_strided_": "(self, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Self",
    "Tensor.as_subclass": "(self, cls: builtins.type[_S]) -> _S",
    "Tensor.backward": (
        "(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, "
        "create_graph: builtins.bool = False, inputs: Tensor | Sequence[Tensor] | None = None) -> None"
    ),
    "Tensor.contiguous": f"(self, {_MEMORY_FORMAT}) -> Tensor",
    "Tensor.copy_": f"(self, src: _Operand, non_blocking: {_BOOL} = False) -> Self",
    "Tensor.cpu": f"(self, *, {_MEMORY_FORMAT}) -> Tensor",
    "Tensor.cuda": "(self, *args: Any, **kwargs: Any) -> NoReturn",
    "Tensor.data_ptr": f"(self) -> {_INT}",
    "Tensor.detach_": _SELF,
    "Tensor.dim": f"(self) -> {_INT}",
    "Tensor.element_size": f"(self) -> {_INT}",
    "Tensor.equal": f"(self, other: Tensor) -> {_BOOL}",
    "Tensor.fill_": "(self, value: _Operand) -> Self",
    "Tensor.fill_diagonal_": f"(self, fill_value: _Number, wrap: {_BOOL} = False) -> Self",
    "Tensor.get_device": f"(self) -> {_INT}",
    "Tensor.is_contiguous": f"(self, {_MEMORY_FORMAT}) -> {_BOOL}",
    "Tensor.is_same_size": f"(self, other: Tensor) -> {_BOOL}",
    "Tensor.is_set_to": f"(self, tensor: Tensor) -> {_BOOL}",
    "Tensor.item": f"(self) -> {_BOOL} | {_INT} | builtins.float",
    "Tensor.ndimension": f"(self) -> {_INT}",
    "Tensor.nelement": f"(self) -> {_INT}",
    "Tensor.new": "(self, *args: Any, device: _Device = None) -> Tensor",
    "Tensor.new_tensor": (
        "(self, data: Any, *, dtype: _dtype | None = None, device: _Device = None, "
        f"requires_grad: {_BOOL} = False, layout: _layout | None = None, pin_memory: {_BOOL} = False) -> Tensor"
    ),
    "Tensor.numel": f"(self) -> {_INT}",
    "Tensor.numpy": "(self, *, force: builtins.bool = False) -> _Array",
    "Tensor.pin_memory": "(self, device: _Device = None) -> Tensor",
    "Tensor.register_hook": "(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle",
    "Tensor.register_post_accumulate_grad_hook": "(self, hook: Callable[[Tensor], None]) -> RemovableHandle",
    "Tensor.requires_grad_": "(self, requires_grad: builtins.bool = True) -> Self",
    "Tensor.resize_": f"(self, *size: _Ints, {_MEMORY_FORMAT}) -> Self",
    "Tensor.resize_as_": f"(self, the_template: Tensor, *, {_MEMORY_FORMAT}) -> Self",
    "Tensor.resolve_conj": "(self) -> Tensor",
    "Tensor.resolve_neg": "(self) -> Tensor",
    "Tensor.retain_grad": "(self) -> None",
    "Tensor.set_": (
        "(self, source: Tensor | UntypedStorage | None = None, storage_offset: builtins.int | None = None, "
        "size: _Ints | None = None, stride: _Ints | None = None) -> Self"
    ),
    "Tensor.share_memory_": "(self) -> Self",
    "Tensor.size": ("(self, dim: None = None) -> Size", f"(self, dim: {_INT}) -> {_INT}"),
    "Tensor.storage_offset": f"(self) -> {_INT}",
    "Tensor.stride": (f"(self, dim: None = None) -> builtins.tuple[{_INT}, ...]", f"(self, dim: {_INT}) -> {_INT}"),
    "Tensor.to": tuple(
        f"(self, {first}, non_blocking: {_BOOL} = False, copy: {_BOOL} = False, *, {_MEMORY_FORMAT}) -> Tensor"
        for first in ("device: _Device = None, dtype: _dtype | None = None", "dtype: _dtype", "other: Tensor")
    ),
    "Tensor.to_dense": "(self, dtype: _dtype | None = None) -> Tensor",
    "Tensor.tolist": "(self) -> Any",
    "Tensor.type": (
        f"(self, dtype: None = None, *, non_blocking: {_BOOL} = False) -> {_STR}",
        f"(self, dtype: _dtype | {_STR} | builtins.type[Any], *, non_blocking: {_BOOL} = False) -> Tensor",
    ),
    "Tensor.untyped_storage": "(self) -> UntypedStorage",
    "Tensor.view": ("(self, *shape: _Ints) -> Tensor", "(self, dtype: _dtype) -> Tensor"),
    "Tensor.zero_": _SELF,
    **{f"UntypedStorage.{name}": f"(self) -> {_INT}" for name in ("data_ptr", "element_size", "nbytes", "size")},
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
    "as_strided": ("(input: Tensor, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Tensor"),
    "from_numpy": "(ndarray: _Array, /) -> Tensor",
    "frombuffer": (
        "(buffer: Any, *, dtype: _dtype, count: builtins.int = -1, offset: builtins.int = 0, "
        "requires_grad: builtins.bool = False) -> Tensor"
    ),
    "allclose": (
        "(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, "
        "equal_nan: builtins.bool = False) -> builtins.bool"
    ),
    "equal": "(input: Tensor, other: Tensor) -> builtins.bool",
    "is_nonzero": "(input: Tensor) -> builtins.bool",
    "from_dlpack": "(ext_tensor: Any, *, device: _Device = None, copy: builtins.bool | None = None) -> Tensor",
    "is_tensor": "(obj: Any) -> TypeIs[Tensor]",
    "is_storage": f"(obj: Any) -> {_BOOL}",
    "is_floating_point": f"(input: Tensor) -> {_BOOL}",
    "is_complex": f"(input: Tensor) -> {_BOOL}",
    "is_inference": f"(input: Tensor) -> {_BOOL}",
    **{f"is_{name}": f"() -> {_BOOL}" for name in ("grad_enabled", "inference_mode_enabled", "anomaly_enabled")},
    "is_anomaly_check_nan_enabled": f"() -> {_BOOL}",
    "empty_cache": "() -> None",
    "get_num_threads": f"() -> {_INT}",
    "set_num_threads": "(num_threads: builtins.int) -> None",
    "manual_seed": "(seed: builtins.int) -> Generator",
    "seed": f"() -> {_INT}",
    "initial_seed": f"() -> {_INT}",
    "get_rng_state": "() -> Tensor",
    "set_rng_state": "(new_state: Tensor) -> None",
    "get_printoptions": "() -> builtins.dict[builtins.str, Any]",
    "set_printoptions": (
        "(precision: builtins.int | None = None, threshold: builtins.float | None = None, "
        "edgeitems: builtins.int | None = None, linewidth: builtins.int | None = None, "
        "profile: builtins.str | None = None, sci_mode: builtins.bool | None = None) -> None"
    ),
    "Generator.manual_seed": "(self, seed: builtins.int) -> Generator",
    "Generator.seed": f"(self) -> {_INT}",
    "Generator.initial_seed": f"(self) -> {_INT}",
    "Generator.get_state": "(self) -> Tensor",
    "Generator.set_state": "(self, state: Tensor) -> Generator",
    "Generator.clone_state": "(self) -> Generator",
    "FunctionCtx.__getattr__": "(self, name: builtins.str) -> Any",
    "FunctionCtx.__setattr__": "(self, name: builtins.str, value: Any) -> None",
    "FunctionCtx._forget": f"(self, name: {_STR}) -> {_BOOL}",
    "FunctionCtx.mark_dirty": "(self, *args: Tensor) -> None",
    "FunctionCtx.mark_non_differentiable": "(self, *args: Tensor) -> None",
    "FunctionCtx.save_for_backward": "(self, *tensors: Tensor | None) -> None",
    "FunctionCtx.save_for_forward": "(self, *tensors: Tensor | None) -> None",
    "FunctionCtx.set_materialize_grads": f"(self, value: {_BOOL}) -> None",
    "autograd.backward": (
        f"(tensors: {_SOME}, grad_tensors: {_GRADS} = None, retain_graph: {_BOOL} | None = None, "
        f"create_graph: {_BOOL} = False, grad_variables: {_GRADS} = None, inputs: {_SOME} | None = None) -> None"
    ),
    "autograd.grad": (
        f"(outputs: {_SOME}, inputs: {_SOME}, grad_outputs: {_GRADS} = None, retain_graph: {_BOOL} | None = None, "
        f"create_graph: {_BOOL} = False, only_inputs: {_BOOL} = True, allow_unused: {_BOOL} | None = None, "
        f"is_grads_batched: {_BOOL} = False, "
        f"materialize_grads: {_BOOL} = False) -> builtins.tuple[Tensor, ...]"
    ),
    "autograd.graph.Node.name": f"(self) -> {_STR}",
    "autograd.graph.Node.register_hook": "(self, fn: Callable[..., Any]) -> RemovableHandle",
    "autograd.graph.Node.register_prehook": "(self, fn: Callable[..., Any]) -> RemovableHandle",
    "utils.hooks.RemovableHandle.remove": "(self) -> None",
    "utils.hooks.RemovableHandle.__enter__": _SELF,
}

# Gradient modes, as context managers and as decorators with and without parentheses.
for _mode in ("no_grad", "enable_grad"):
    SIGNATURES[f"{_mode}.__new__"] = ("(cls, orig_func: _F) -> _F", f"(cls, orig_func: None = None) -> {_mode}")
SIGNATURES["set_grad_enabled.__new__"] = f"(cls, mode: {_BOOL}) -> set_grad_enabled"
SIGNATURES["inference_mode.__new__"] = (
    "(cls, mode: _F) -> _F",
    f"(cls, mode: {_BOOL} | None = None) -> inference_mode",
)
for _mode in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
    SIGNATURES[f"{_mode}.__call__"] = "(self, orig_func: _F, /) -> _F"
    SIGNATURES[f"{_mode}.__enter__"] = "(self) -> None"
    SIGNATURES[f"{_mode}.clone"] = _SELF

_AUX = "has_aux: Literal[False] = False"
_CHUNK = "chunk_size: builtins.int | None = None"
_RANDOM = f"randomness: {_STR} = 'error'"
_FUNC = "func: Callable[_P, Any]"


def _derivatives(kind: str, rest: str = "") -> tuple[str, ...]:
    """Signatures of a transform whose result has the structure of the argument that `argnums` names."""
    star = "" if kind == "jacfwd" or kind == "grad" else "*, "
    rest = f", {rest}" if rest else ""
    plain = f"{star}has_aux: Literal[False] = False{'' if star or not rest else ', *'}{rest}"
    aux = f"*, has_aux: Literal[True]{rest}"
    one = f"{_INT} | None" if kind == "jacfwd" else _INT
    return (
        f"(func: Callable[_P, Tensor], argnums: Literal[0] = 0, {plain}) -> _LikeFirst[_P]",
        f"(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, {aux}) -> _LikeFirstAnd[_P, _T]",
        f"(func: Callable[_P, builtins.tuple[Any, _T]], argnums: _Argnums, {aux}) "
        "-> Callable[_P, builtins.tuple[Any, _T]]",
        f"(func: Callable[_P, Any], argnums: builtins.tuple[{_INT}, ...], {plain}) "
        "-> Callable[_P, builtins.tuple[Any, ...]]",
        f"({_FUNC}, argnums: {one} = 0, {plain}) -> Callable[_P, Any]",
    )


_TRANSFORMS: dict[str, _Signature] = {
    "grad": _derivatives("grad"),
    "grad_and_value": (
        f"(func: Callable[_P, Tensor], argnums: Literal[0] = 0, {_AUX}) -> _LikeFirstAnd[_P, Tensor]",
        "(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: Literal[0] = 0, *, has_aux: Literal[True]) "
        "-> _LikeFirstAnd[_P, builtins.tuple[Tensor, _T]]",
        "(func: Callable[_P, builtins.tuple[Tensor, _T]], argnums: _Argnums, *, has_aux: Literal[True]) "
        "-> Callable[_P, builtins.tuple[Any, builtins.tuple[Tensor, _T]]]",
        f"(func: Callable[_P, Tensor], argnums: _Argnums, {_AUX}) -> Callable[_P, builtins.tuple[Any, Tensor]]",
    ),
    "vjp": (
        "(func: Callable[[Unpack[_Ts]], _T], *primals: Unpack[_Ts], has_aux: Literal[False] = False) "
        "-> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]]]",
        "(func: Callable[..., _T], *primals: Unpack[_Ts], has_aux: Literal[False] = False) "
        "-> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]]]",
        "(func: Callable[..., builtins.tuple[_T, _A]], *primals: Unpack[_Ts], has_aux: Literal[True]) "
        "-> builtins.tuple[_T, Callable[..., builtins.tuple[Unpack[_Ts]]], _A]",
    ),
    "jvp": (
        "(func: Callable[[Unpack[_Ts]], _T], primals: builtins.tuple[Unpack[_Ts]], "
        f"tangents: builtins.tuple[Any, ...], *, strict: {_BOOL} = False, {_AUX}) -> builtins.tuple[_T, _T]",
        "(func: Callable[..., _T], primals: builtins.tuple[Any, ...], tangents: builtins.tuple[Any, ...], *, "
        f"strict: {_BOOL} = False, {_AUX}) -> builtins.tuple[_T, _T]",
        "(func: Callable[..., builtins.tuple[_T, _A]], primals: builtins.tuple[Any, ...], "
        f"tangents: builtins.tuple[Any, ...], *, strict: {_BOOL} = False, has_aux: Literal[True]) "
        "-> builtins.tuple[_T, _T, _A]",
    ),
    "vmap": (
        f"(func: Callable[_P, _T], in_dims: Any = 0, out_dims: Any = 0, {_RANDOM}, *, {_CHUNK}) -> Callable[_P, _T]"
    ),
    "jacrev": _derivatives("jacrev", _CHUNK),
    "jacfwd": _derivatives("jacfwd", f"{_CHUNK}, {_RANDOM}"),
    "hessian": (
        "(func: Callable[_P, Tensor], argnums: Literal[0] = 0) -> _Hessian[_P]",
        f"({_FUNC}, argnums: _Argnums = 0) -> Callable[_P, Any]",
    ),
    "linearize": (
        "(func: Callable[[Unpack[_Ts]], _T], *primals: Unpack[_Ts]) -> builtins.tuple[_T, Callable[[Unpack[_Ts]], _T]]",
        "(func: Callable[..., _T], *primals: Unpack[_Ts]) -> builtins.tuple[_T, Callable[[Unpack[_Ts]], _T]]",
    ),
    "eval_shape": "(func: Callable[_P, _T]) -> Callable[_P, _T]",
    "Program.__call__": "(self, /, *args: Any, **kwargs: Any) -> Any",
    "Program.from_bytes": "(data: builtins.bytes) -> Program",
    "Program.to_bytes": "(self) -> builtins.bytes",
    "Program.simplified": "(self) -> Program",
    "trace": "(func: Callable[_P, Any]) -> Callable[_P, Program]",
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
            "tree_map": "(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any",
            "tree_map_": "(func: Callable[..., Any], tree: _T, *rests: Any, is_leaf: _Leaf = None) -> _T",
            "tree_map_only": f"(type_or_types_or_pred: Any, /, func: Callable[..., Any], {_TREE}) -> Any",
            "tree_map_only_": (
                "(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: _T, is_leaf: _Leaf = None) -> _T"
            ),
            "tree_all": f"(pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_any": f"(pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_all_only": f"(type_or_types: Any, /, pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_any_only": f"(type_or_types: Any, /, pred: Callable[[Any], Any], {_TREE}) -> {_BOOL}",
            "tree_flatten_with_path": (
                f"({_TREE}) -> builtins.tuple[builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]], TreeSpec]"
            ),
            "tree_leaves_with_path": f"({_TREE}) -> builtins.list[builtins.tuple[builtins.tuple[Any, ...], Any]]",
            "tree_map_with_path": "(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _Leaf = None) -> Any",
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
