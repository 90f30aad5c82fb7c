"""Dtypes, devices, sizes and number limits as Python objects."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import pullback as pb

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
DTYPES = [getattr(pb, name) for name in NAMES]
# Category of each dtype, in the order of promotion.
RANK = dict(zip(DTYPES, [0] + [1] * 5 + [2] * 4 + [3] * 2, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_dtype_is_one_object(name: str) -> None:
    dtype = getattr(pb, name)
    assert repr(dtype) == f"pullback.{name}"
    assert str(dtype).split(".")[-1] == name
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy([dtype])[0] is dtype
    assert {dtype: 1}[dtype] == 1
    assert isinstance(dtype, pb.dtype)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        ("short", "int16"),
        ("int", "int32"),
        ("long", "int64"),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert getattr(pb, alias) is getattr(pb, name)


def test_attributes() -> None:
    assert [d.itemsize for d in DTYPES] == [1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16]
    assert [d for d in DTYPES if d.is_floating_point] == DTYPES[6:10]
    assert [d for d in DTYPES if d.is_complex] == DTYPES[10:]
    assert [d for d in DTYPES if not d.is_signed] == DTYPES[:2]
    assert pb.complex128.to_real() is pb.float64 and pb.float32.to_real() is pb.float32
    assert pb.float64.to_complex() is pb.complex128 and pb.bfloat16.to_complex() is pb.complex64
    with pytest.raises(RuntimeError, match="int64"):
        pb.int64.to_complex()
    with pytest.raises(TypeError):
        pb.dtype()


def test_promotion_table() -> None:
    for a in DTYPES:
        for b in DTYPES:
            c = pb.promote_types(a, b)
            assert c is pb.promote_types(b, a)
            assert RANK[c] == max(RANK[a], RANK[b])
            assert pb.can_cast(a, b) == (RANK[a] <= RANK[b])
    assert pb.promote_types(pb.uint8, pb.int8) is pb.int16
    assert pb.promote_types(pb.float16, pb.bfloat16) is pb.float32
    assert pb.promote_types(pb.float64, pb.complex64) is pb.complex128
    with pytest.raises(TypeError, match=r"promote_types.*'type2'.*int"):
        pb.promote_types(pb.int8, 3)


def test_default_dtype() -> None:
    try:
        pb.set_default_dtype(pb.float64)
        assert pb.get_default_dtype() is pb.float64
        assert pb.finfo().dtype == "float64"
    finally:
        pb.set_default_dtype(pb.float32)
    with pytest.raises(TypeError, match="floating-point"):
        pb.set_default_dtype(pb.int32)
    with pytest.raises(TypeError):
        pb.set_default_dtype("float32")


def test_finfo() -> None:
    f = pb.finfo(pb.float32)
    assert (f.bits, f.eps, f.tiny, f.smallest_normal, f.resolution) == (32, 2.0**-23, 2.0**-126, 2.0**-126, 1e-6)
    assert f.max == -f.min == (2 - 2.0**-23) * 2.0**127
    assert repr(f) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )
    assert pb.finfo(pb.complex64) == f and pb.finfo(type=pb.float32) == f and pb.finfo(pb.float64) != f
    assert (pb.finfo(pb.float16).max, pb.finfo(pb.bfloat16).eps) == (65504.0, 2.0**-7)
    with pytest.raises(TypeError, match="iinfo"):
        pb.finfo(pb.int32)


def test_iinfo() -> None:
    assert [(pb.iinfo(d).min, pb.iinfo(d).max, pb.iinfo(d).bits) for d in (pb.uint8, pb.int64)] == [
        (0, 255, 8),
        (-(2**63), 2**63 - 1, 64),
    ]
    assert repr(pb.iinfo(pb.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    for wrong in (pb.bool, pb.float32, "int8"):
        with pytest.raises(TypeError):
            pb.iinfo(wrong)


def test_device() -> None:
    cpu = pb.device("cpu")
    assert (cpu.type, cpu.index, str(cpu), repr(cpu)) == ("cpu", None, "cpu", "device(type='cpu')")
    assert str(pb.device("cpu", 0)) == "cpu:0" and pb.device("cpu:0").index == 0
    assert pb.device(cpu) == cpu != pb.device("cpu:0")
    assert {cpu: 1}[pb.device(type="cpu")] == 1
    for d in (cpu, pb.device("cpu:0")):
        assert pickle.loads(pickle.dumps(d)) == d
    with cpu as inside:
        assert inside is cpu
    for wrong in ("gpu", "cuda:01", "cpu:-1", "cpu:x", "", -1):
        with pytest.raises(RuntimeError, match="cpu"):
            pb.device(wrong)
    with pytest.raises(TypeError, match="float"):
        pb.device(2.5)


@pytest.mark.parametrize(
    "name", ["strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
)
def test_layouts_and_formats(name: str) -> None:
    value = getattr(pb, name)
    assert repr(value) == f"pullback.{name}"
    assert pickle.loads(pickle.dumps(value)) == value and hash(value) == hash(copy.copy(value))


def test_size_is_a_tuple() -> None:
    size = pb.Size([2, 3, 4])
    assert isinstance(size, tuple) and size == (2, 3, 4) and hash(size) == hash((2, 3, 4))
    assert (len(size), size[0], size[-1], 3 in size, size.index(4)) == (3, 2, 4, True, 2)
    assert repr(size) == "pullback.Size([2, 3, 4])" and repr(pb.Size()) == "pullback.Size([])"
    assert (size.numel(), pb.Size([]).numel(), pb.Size([0, 5]).numel()) == (24, 1, 0)
    for copied in (pickle.loads(pickle.dumps(size)), copy.deepcopy(size)):
        assert copied == size and type(copied) is pb.Size


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda s: s[1:], (3,)),
        (lambda s: s[::-1], (3, 2)),
        (lambda s: s[:0], ()),
        (lambda s: s + (1,), (2, 3, 1)),  # noqa: RUF005
        (lambda s: (1,) + s, (1, 2, 3)),  # noqa: RUF005
        (lambda s: s + s, (2, 3, 2, 3)),
        (lambda s: s * 2, (2, 3, 2, 3)),
        (lambda s: 2 * s, (2, 3, 2, 3)),
        (lambda s: s * -1, ()),
    ],
)
def test_size_stays_a_size(made: Any, expected: tuple[int, ...]) -> None:
    result = made(pb.Size((2, 3)))
    assert result == expected and type(result) is pb.Size


def test_size_holds_ints() -> None:
    class Index:
        def __index__(self) -> int:
            return 7

    assert pb.Size([True, Index()]) == (1, 7)
    for wrong in (["a"], [2.0], [None]):
        with pytest.raises(TypeError, match="item 0"):
            pb.Size(wrong)
    with pytest.raises(TypeError):
        pb.Size(3)
    with pytest.raises(TypeError):
        pb.Size([2]) + [1]  # noqa: RUF005
    with pytest.raises(TypeError, match="item 1"):
        pb.Size([2]) + ("a",)  # noqa: RUF005
