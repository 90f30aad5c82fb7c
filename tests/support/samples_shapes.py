"""Samples of views, joins and other moves of elements."""

from __future__ import annotations

from collections.abc import Iterator

from support.samples import Maker, S, Sample, of


@of("detach", "ravel", "flatten", "squeeze")
def any_shape(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3), (2, 1, 3)]:
        yield S(m(*shape))
    yield from (S(x) for x in m.layouts(2, 3))


@of("flatten")
def flatten(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2), 1)
    yield S(m(2, 3, 2), 0, -2)


SHAPES = [((), (1,)), ((1,), ()), ((0, 3), (3, 0)), ((2, 3), (3, -1)), ((2, 3), (-1,))]


@of("reshape")
def reshape(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*old), new) for old, new in SHAPES)
    yield S(m(3, 2).t(), (3, 2))


@of("Tensor.view")
def view(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*old), new).but(strict=True) for old, new in SHAPES)


@of("Tensor.reshape_as")
def reshape_as(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3, 2))
    yield S(m(), m(1, 1))


@of("Tensor.view_as")
def view_as(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3, 2)).but(strict=True)
    yield S(m(), m(1, 1)).but(strict=True)


@of("Tensor.expand", "broadcast_to")
def expand(m: Maker) -> Iterator[Sample]:
    yield S(m(), (2,))
    yield S(m(1), (0,))
    yield S(m(3), (2, 3))
    yield S(m(2, 1), (2, 3))


@of("Tensor.expand")
def expand_some(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1), (-1, 3))


@of("Tensor.expand_as")
def expand_as(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1), m(2, 3))
    yield S(m(), m(2))


@of("broadcast_tensors")
def broadcast_tensors(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1), m(3))
    yield S(m(), m(0))
    yield S(m(3))


@of("permute")
def permute(m: Maker) -> Iterator[Sample]:
    yield S(m(), ())
    yield S(m(2, 0, 3), (2, 0, 1))
    yield S(m(2, 3), (-1, 0))
    yield S(m(2, 1, 3), (0, 2, 1))


@of("transpose")
def transpose(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, -1)
    yield S(m(2, 3), 0, 1)
    yield S(m(2, 0, 3), -1, 0)


@of("t")
def t(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (3,), (2, 3), (0, 2)])


@of("Tensor.T", "Tensor.mT", "Tensor.mH")
def transposed(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(0, 2))


@of("Tensor.mT", "Tensor.mH")
def transposed_batches(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1, 3))


@of("movedim")
def movedim(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 0, 1)
    yield S(m(2, 3, 1), (0, 1), (-1, 0))
    yield S(m(2, 0, 3), 2, 0)


@of("squeeze")
def squeeze(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1, 3), 1)
    yield S(m(2, 1, 3), 0)
    yield S(m(1, 2, 1), (0, -1))


@of("unsqueeze")
def unsqueeze(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0)
    yield S(m(0, 2), 1)
    yield S(m(2, 3), -1)


@of("narrow")
def narrow(m: Maker) -> Iterator[Sample]:
    yield S(m(4), 0, 1, 2)
    yield S(m(2, 3), -1, 1, 2)
    yield S(m(2, 3), 0, 0, 0)


@of("select")
def select(m: Maker) -> Iterator[Sample]:
    yield S(m(3), 0, 1)
    yield S(m(2, 3), -1, -1)
    yield S(m(2, 0), 0, 1)


@of("split")
def split(m: Maker) -> Iterator[Sample]:
    yield S(m(5), 2)
    yield S(m(2, 3), [1, 2], -1)
    yield S(m(0, 2), 1)


@of("split_with_sizes")
def split_with_sizes(m: Maker) -> Iterator[Sample]:
    yield S(m(5), [2, 0, 3])
    yield S(m(2, 3), [1, 2], -1)


@of("chunk")
def chunk(m: Maker) -> Iterator[Sample]:
    yield S(m(5), 2)
    yield S(m(2, 3), 3, -1)
    yield S(m(0, 2), 2)


@of("unbind")
def unbind(m: Maker) -> Iterator[Sample]:
    yield S(m(3))
    yield S(m(2, 3), -1)
    yield S(m(2, 0))


@of("cat")
def cat(m: Maker) -> Iterator[Sample]:
    yield S([m(2), m(0), m(3)])
    yield S([m(2, 1), m(2, 3)], -1)
    yield S([m(1, 2)], dim=0)


@of("stack")
def stack(m: Maker) -> Iterator[Sample]:
    yield S([m(), m()])
    yield S([m(2, 3), m(2, 3)], -1)
    yield S([m(0, 2), m(0, 2)], 1)


@of("Tensor.repeat")
def repeat(m: Maker) -> Iterator[Sample]:
    yield S(m(), (2,))
    yield S(m(2, 3), (2, 1))
    yield S(m(3), (2, 0))
    yield S(m(2), (2, 1, 2))


@of("flip")
def flip(m: Maker) -> Iterator[Sample]:
    yield S(m(0), (0,))
    yield S(m(2, 3), (0, -1))
    yield S(m(2, 3), (1,))


@of("roll")
def roll(m: Maker) -> Iterator[Sample]:
    yield S(m(), 1)
    yield S(m(0), 1, 0)
    yield S(m(2, 3), 1)
    yield S(m(2, 3), (1, -2), (0, 1))


@of("diagonal")
def diagonal(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(3, 2), 1)
    yield S(m(2, 3, 2), -1, 0, -1)
    yield S(m(0, 2))


@of("linalg.diagonal")
def linalg_diagonal(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(2, 3, 2), offset=-1)


@of("diag")
def diag(m: Maker) -> Iterator[Sample]:
    yield S(m(3))
    yield S(m(2), -1)
    yield S(m(2, 3), 1)
    yield S(m(0))


@of("diag_embed")
def diag_embed(m: Maker) -> Iterator[Sample]:
    yield S(m(3))
    yield S(m(2, 3), 1, 0, -1)
    yield S(m(0))


@of("trace")
def trace(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(1, 1))
    yield S(m(0, 2))


@of("tril", "triu")
def triangles(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3))
    yield S(m(2, 2, 3), 1)
    yield S(m(3, 2), -1)
    yield S(m(0, 2))


@of("nn.functional.pad")
def pad(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (1, 2))
    yield S(m(2, 3), (1, -1, 0, 2), value=0.5)
    yield S(m(0, 3), (1, 1))
    for mode in ("reflect", "replicate", "circular"):
        yield S(m(1, 2, 4), (1, 2), mode=mode)
        yield S(m(1, 1, 3, 3), (1, 0, 2, 1), mode=mode)


@of("constant_pad_nd")
def constant_pad_nd(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (1, 2), 0.5)
    yield S(m(3), (-1, 1))


@of("nn.functional.unfold")
def unfold(m: Maker) -> Iterator[Sample]:
    yield S(m(1, 2, 3, 3), 2)
    yield S(m(1, 3, 4), (2, 1), padding=1, stride=2)
    yield S(m(1, 1, 4, 4), 2, 2)


@of("nn.functional.fold")
def fold(m: Maker) -> Iterator[Sample]:
    yield S(m(1, 4, 4), (3, 3), 2)
    yield S(m(2, 4), (4, 2), (2, 1), stride=(2, 1))
