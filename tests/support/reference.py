"""The checks that a reference case asks for, each a method `check_…` of `Case`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback import func
from support import vectors
from support.compare import Mismatch, assert_arrays, tolerance
from support.vectors import Json, leaves

BATCH = 3


class Missing(Exception):
    """The operator, or a name of it, does not exist."""


def resolve(path: str) -> Any:
    value: Any = pb
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise Missing(f"pullback has no {path}") from None
    return value


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def to_array(tensor: Any, what: str = "result") -> np.ndarray:
    if not isinstance(tensor, pb.Tensor):
        raise Mismatch(f"{what}: a {type(tensor).__name__}, expected a tensor")
    tensor = tensor.detach()
    if dtype_name(tensor) in vectors.STORED_AS:
        tensor = tensor.to(resolve(vectors.STORED_AS[dtype_name(tensor)]))
    return np.array(tensor.numpy())


def make(values: Any, dtype: str) -> Any:
    tensor = pb.from_numpy(np.asarray(values))
    return tensor.to(resolve(dtype)) if dtype in vectors.STORED_AS else tensor


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def one_or_tuple(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else tuple(items)


PROJECTIONS: dict[str, Callable[[Any], Any]] = {
    "hermitian": lambda x: (x + x.mT) * 0.5,
    "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(),
}


class Case:
    """One stored call of one operator."""

    def __init__(self, stored: Json):
        self.stored = stored
        self.op: str = stored["op"]
        self.diff: Json = stored.get("diff")
        self.process = {int(k): rule for k, rule in stored.get("process", {}).items()}
        self.projections = {int(k): PROJECTIONS[name] for k, name in stored.get("pre", {}).items()}
        arguments = [stored["args"], list(stored["kwargs"].values())]
        self.nodes = list(vectors.tensor_nodes(arguments))
        self.arrays = [vectors.array(node["$t"]) for node in self.nodes]

    def run(self, check: str, *args: str) -> None:
        getattr(self, "check_" + check)(*args)

    # ------------------------------------------------------------ inputs
    def inputs(self, dense: bool = False) -> list[Any]:
        """Fresh tensors in the stored layout; `dense` drops layouts that overlap themselves."""
        out = []
        for node, values in zip(self.nodes, self.arrays, strict=True):
            strides = node.get("strides")
            if strides and not (dense and vectors.self_overlapping(values.shape, strides)):
                values = vectors.strided(values, strides)
            else:
                values = values.copy()
            out.append(make(values, node["$t"][0]))
        return out

    def member(self, k: int) -> list[np.ndarray]:
        """The inputs of member k of a batch; member 0 is the stored call."""
        return [self.vary(values, k) for values in self.arrays]

    def vary(self, values: np.ndarray, k: int) -> np.ndarray:
        if values.dtype.kind in "fc":
            return np.asarray(values * (1 - k / 32)).astype(values.dtype)
        if values.ndim and self.stored.get("vmap_ints") != "same":
            return np.roll(values, k, axis=-1)
        return values.copy()

    def tensors(self, arrays: list[np.ndarray]) -> list[Any]:
        return [make(values, node["$t"][0]) for values, node in zip(arrays, self.nodes, strict=True)]

    # ------------------------------------------------------------ calls
    def call(self, tensors: list[Any], how: str | None = None, path: str | None = None) -> Any:
        how, path = how or self.stored["call"], path or self.op
        supply = iter(tensors)
        args = vectors.build(self.stored["args"], supply, pb)
        kwargs = {key: vectors.build(node, supply, pb) for key, node in self.stored["kwargs"].items()}
        if how == "function":
            return resolve(path)(*args, **kwargs)
        name = path.rpartition(".")[2]
        owner = args[0].clone() if how == "mutate" else args[0]
        if not hasattr(type(owner), name):
            raise Missing(f"Tensor has no {name}")
        if how == "attribute":
            return getattr(owner, name)
        result = getattr(owner, name)(*args[1:], **kwargs)
        return owner if how == "mutate" else result

    def leaf_function(self, *tensors: Any) -> Any:
        return one_or_tuple(leaves(self.call(list(tensors))))

    def smooth(self, tensors: list[Any]) -> Callable[..., Any]:
        """The differentiable outputs as a function of the differentiable inputs; the rest is closed over."""

        def f(*points: Any) -> Any:
            full = list(tensors)
            for i, x in zip(self.diff["in"], points, strict=True):
                full[i] = self.projections[i](x) if i in self.projections else x
            results = leaves(self.call(full))
            chosen = [results[j].abs() if self.process.get(j) == "abs" else results[j] for j in self.diff["out"]]
            return one_or_tuple(chosen)

        return f

    def points(self, tensors: list[Any]) -> tuple[Any, ...]:
        return tuple(tensors[i] for i in self.diff["in"])

    def stored_tensors(self, key: str) -> list[Any]:
        return [make(vectors.array(ref), ref[0]) for ref in self.diff[key]]

    def cotangent(self) -> Any:
        return one_or_tuple(self.stored_tensors("ct"))

    # ------------------------------------------------------------ comparison
    def compare(self, got: np.ndarray, want: np.ndarray, dtype: str, check: str, what: str, rule: str | None) -> None:
        if rule == "skip":
            want = got if got.shape == want.shape else want
        elif rule == "abs":
            got, want = np.abs(got), np.abs(want)
        elif rule is not None:
            raise ValueError(f"unknown rule of comparison: {rule}")
        assert_arrays(got, want, tolerance(self.stored, dtype, check), what)

    def compare_tensor(self, got: Any, reference: Json, check: str, what: str, rule: str | None = None) -> None:
        values = to_array(got, what)
        if dtype_name(got) != reference[0]:
            raise Mismatch(f"{what}: dtype {dtype_name(got)}, expected {reference[0]}")
        self.compare(values, vectors.array(reference), reference[0], check, what, rule)

    def compare_list(self, got: Any, references: list[Json], check: str, what: str) -> None:
        results = as_list(got)
        if len(results) != len(references):
            raise Mismatch(f"{what}: {len(results)} results, expected {len(references)}")
        for k, (result, reference) in enumerate(zip(results, references, strict=True)):
            self.compare_tensor(result, reference, check, f"{what}[{k}]")

    def compare_result(self, got: Any, check: str = "forward") -> None:
        compare_structure(self.stored["out"], got, "result")
        pairs = zip(vectors.encoded_leaves(self.stored["out"]), leaves(got), strict=True)
        for k, (node, leaf) in enumerate(pairs):
            what = f"result leaf {k}"
            if isinstance(node, dict) and "$t" in node:
                self.compare_tensor(leaf, node["$t"], check, what, self.process.get(k))
            else:
                compare_plain(vectors.build(node, iter(()), pb), leaf, what)

    # ------------------------------------------------------------ values
    def check_forward(self) -> None:
        self.compare_result(self.call(self.inputs()))

    def check_method(self) -> None:
        self.compare_result(self.call(self.inputs(), "method", self.stored["method"]))

    def check_alias(self, alias: str) -> None:
        how = "method" if alias.startswith("Tensor.") else "function"
        self.compare_result(self.call(self.inputs(), how, alias))

    def check_inplace(self) -> None:
        tensors = self.inputs()
        target = vectors.build(self.stored["args"], iter(tensors), pb)[0]
        self.compare_result(self.call(tensors, "method", self.stored["inplace"]))
        self.compare_result(target)

    # ------------------------------------------------------------ derivatives
    def check_vjp(self) -> None:
        tensors = self.inputs(dense=True)
        _, pull = func.vjp(self.smooth(tensors), *self.points(tensors))
        self.compare_list(pull(self.cotangent()), self.diff["vjp"], "vjp", "gradient")

    def check_jvp(self) -> None:
        tensors = self.inputs(dense=True)
        _, tangents = func.jvp(self.smooth(tensors), self.points(tensors), tuple(self.stored_tensors("tan")))
        self.compare_list(tangents, self.diff["jvp"], "jvp", "tangent")

    def gradient_at(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        tensors, cotangent = self.inputs(dense=True), self.cotangent()
        f = self.smooth(tensors)
        return lambda *points: func.vjp(f, *points)[1](cotangent), self.points(tensors)

    def check_jvp_vjp(self) -> None:
        gradient, points = self.gradient_at()
        _, product = func.jvp(gradient, points, tuple(self.stored_tensors("tan")))
        self.compare_list(product, self.diff["hvp"], "jvp_vjp", "Hessian product")

    def check_vjp_vjp(self) -> None:
        gradient, points = self.gradient_at()
        _, pull = func.vjp(gradient, *points)
        self.compare_list(pull(tuple(self.stored_tensors("tan"))), self.diff["hvp"], "vjp_vjp", "Hessian product")

    # ------------------------------------------------------------ batches
    def check_vmap(self) -> None:
        members = [self.member(k) for k in range(BATCH)]
        loop = [leaves(self.leaf_function(*self.tensors(arrays))) for arrays in members]
        stacked = self.tensors([np.stack(column) for column in zip(*members, strict=True)])
        got = func.vmap(self.leaf_function, in_dims=(0,) * len(stacked))(*stacked)
        self.compare_batch(got, loop, self.out_references(), "vmap", self.process)

    def check_vmap_mixed(self) -> None:
        rest = self.member(0)[1:]
        firsts = [self.member(k)[0] for k in range(BATCH)]
        loop = [leaves(self.leaf_function(*self.tensors([first, *rest]))) for first in firsts]
        batched = self.tensors([np.stack(firsts, axis=-1), *rest])
        in_dims = (firsts[0].ndim, *(None for _ in rest))
        got = func.vmap(self.leaf_function, in_dims=in_dims)(*batched)
        self.compare_batch(got, loop, self.out_references(), "vmap_mixed", self.process)

    def check_vmap_vjp(self) -> None:
        def gradient(*flat: Any) -> Any:
            tensors, cotangents = list(flat[: len(self.nodes)]), list(flat[len(self.nodes) :])
            _, pull = func.vjp(self.smooth(tensors), *self.points(tensors))
            return tuple(pull(one_or_tuple(cotangents)))

        self.check_batched_derivative(gradient, "ct", "vjp")

    def check_vmap_jvp(self) -> None:
        def tangent(*flat: Any) -> Any:
            tensors, tangents = list(flat[: len(self.nodes)]), flat[len(self.nodes) :]
            return func.jvp(self.smooth(tensors), self.points(tensors), tuple(tangents))[1]

        self.check_batched_derivative(tangent, "tan", "jvp")

    def check_batched_derivative(self, f: Callable[..., Any], direction: str, result: str) -> None:
        references = self.diff[direction]
        members = []
        for k in range(BATCH):
            directions = [np.asarray(vectors.array(ref) * (1 - k / 32)) for ref in references]
            members.append(self.member(k) + directions)
        dtypes = [node["$t"][0] for node in self.nodes] + [ref[0] for ref in references]
        loop = [leaves(f(*map(make, arrays, dtypes))) for arrays in members]
        stacked = [
            make(np.stack(column), dtype) for column, dtype in zip(zip(*members, strict=True), dtypes, strict=True)
        ]
        got = func.vmap(f, in_dims=(0,) * len(stacked))(*stacked)
        self.compare_batch(got, loop, self.diff[result], "vmap_" + result, {})

    def out_references(self) -> list[Json]:
        return [node["$t"] for node in vectors.encoded_leaves(self.stored["out"])]

    def compare_batch(self, got: Any, loop: list[list[Any]], stored: list[Json], check: str, rules: Any) -> None:
        results = as_list(got)
        if len(results) != len(stored):
            raise Mismatch(f"{check}: {len(results)} results, expected {len(stored)}")
        for j, (result, reference) in enumerate(zip(results, stored, strict=True)):
            what, rule, first = f"{check}[{j}]", rules.get(j), loop[0][j]
            values = to_array(result, what)
            if dtype_name(result) != dtype_name(first):
                raise Mismatch(f"{what}: dtype {dtype_name(result)}, a loop gives {dtype_name(first)}")
            if values.shape[:1] != (BATCH,):
                raise Mismatch(f"{what}: shape {values.shape}, expected ({BATCH}, …)")
            for k in range(BATCH):
                want = to_array(loop[k][j])
                self.compare(values[k], want, dtype_name(first), check, f"{what} member {k} against the loop", rule)
            want = vectors.array(reference)
            self.compare(to_array(first), want, reference[0], check, f"{what} loop against what is stored", rule)

    # ------------------------------------------------------------ errors
    def check_error(self) -> None:
        want = self.stored["error"]["type"]
        try:
            self.call(self.inputs())
        except Missing:
            raise
        except Exception as error:
            if want not in [kind.__name__ for kind in type(error).__mro__]:
                raise Mismatch(f"{type(error).__name__}, expected {want}: {error}") from error
            name = self.op.rpartition(".")[2].strip("_")
            if name not in str(error):
                raise Mismatch(f"the message does not name {name}: {str(error)!r}") from error
        else:
            raise Mismatch(f"no exception, expected {want}: {self.stored['error']['message']}")


def compare_structure(node: Json, got: Any, what: str) -> None:
    """Containers, lengths and field names of a result."""
    items = node.get("$tuple") if isinstance(node, dict) else node
    if not isinstance(items, list):
        return
    if not isinstance(got, (tuple, list)):
        raise Mismatch(f"{what}: a {type(got).__name__}, expected {len(items)} values")
    if len(got) != len(items):
        raise Mismatch(f"{what}: {len(got)} values, expected {len(items)}")
    for field in node.get("fields", []) if isinstance(node, dict) else []:
        if not hasattr(got, field):
            raise Mismatch(f"{what}: no field {field}")
    for k, (inner, value) in enumerate(zip(items, got, strict=True)):
        compare_structure(inner, value, f"{what}[{k}]")


def compare_plain(want: Any, got: Any, what: str) -> None:
    """A result leaf that is no tensor."""
    if isinstance(want, (int, float, complex)) and not isinstance(want, bool):
        same = isinstance(got, (int, float, complex)) and np.isclose(got, want, rtol=1e-6, atol=1e-9, equal_nan=True)
    else:
        same = got == want
    if not same:
        raise Mismatch(f"{what}: {got!r}, expected {want!r}")
