"""Sequences of different lengths: packed one behind the other, or padded to one length."""

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise

from ... import Tensor, arange, as_tensor, cat, full, int64, stack, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NamedTuple

    class _Packed(NamedTuple):
        data: Tensor
        batch_sizes: Tensor
        sorted_indices: Tensor | None
        unsorted_indices: Tensor | None
else:
    _Packed = namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(_Packed):
    """Sequences of falling length, step by step: `data` holds the first step of all, then the second, and so on.

    `batch_sizes` says how many sequences have each step. `sorted_indices` is the order of the sequences among those
    that
    were packed, `unsorted_indices` the way back.

    >>> import pullback
    >>> from pullback.nn.utils.rnn import pack_sequence
    >>> pack_sequence([pullback.tensor([1, 2, 3]), pullback.tensor([4, 5])])
    PackedSequence(data=tensor([1, 4, 2, 5, 3]), batch_sizes=tensor([2, 2, 1]), sorted_indices=None,
    unsorted_indices=None)
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None and isinstance(data, (tuple, list)):
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)  # type: ignore[arg-type]

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data moved and cast; orders stay integers."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """`to("cpu")`."""
        return self

    def double(self) -> PackedSequence:
        """The data as float64."""
        return type(self)(self.data.double(), *self[1:])

    def float(self) -> PackedSequence:
        """The data as float32."""
        return type(self)(self.data.float(), *self[1:])

    def half(self) -> PackedSequence:
        """The data as float16."""
        return type(self)(self.data.half(), *self[1:])

    def long(self) -> PackedSequence:
        """The data as int64."""
        return type(self)(self.data.long(), *self[1:])

    def int(self) -> PackedSequence:
        """The data as int32 or what stands for it."""
        return type(self)(self.data.int(), *self[1:])

    def short(self) -> PackedSequence:
        """The data as int16."""
        return type(self)(self.data.short(), *self[1:])

    def char(self) -> PackedSequence:
        """The data as int8."""
        return type(self)(self.data.char(), *self[1:])

    def byte(self) -> PackedSequence:
        """The data as uint8."""
        return type(self)(self.data.byte(), *self[1:])

    def pin_memory(self) -> PackedSequence:
        """Accepted."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on another device: False."""
        return False

    def is_pinned(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that leads back.

    >>> import pullback
    >>> from pullback.nn.utils.rnn import invert_permutation
    >>> invert_permutation(pullback.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    n = permutation.numel()
    return arange(n).scatter(0, permutation, arange(n))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (T, B, *) sequences, or (B, T, *) with `batch_first`, of these lengths.

    Raises:
        RuntimeError: for lengths that do not fall, unless `enforce_sorted` is False, are not positive, or too many.
    """
    lengths = as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    sizes: list[int] = lengths.tolist()
    if len(sizes) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={input.size(1)})"
        )
    if not sizes or sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(sizes)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do "
            "not need ONNX exportability."
        )
    if sizes[0] > input.size(0):
        raise RuntimeError(
            f"pack_padded_sequence(): a length of {sizes[0]} is more than the {input.size(0)} steps given"
        )
    counts = [sum(size > t for size in sizes) for t in range(sizes[0])]
    data = cat([input[t, :count] for t, count in enumerate(counts)])
    return PackedSequence(data, tensor(counts, dtype=int64), order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences padded to one length, (T, B, *) or (B, T, *) with `batch_first`, and their lengths.

    Raises ValueError if `total_length` is less than the longest sequence.
    """
    counts: list[int] = sequence.batch_sizes.tolist()
    steps = len(counts)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    batch, rest = counts[0], sequence.data.shape[1:]
    rows = []
    for part in sequence.data.split(counts):
        missing = batch - part.size(0)
        rows.append(cat([part, part.new_full((missing, *rest), padding_value)]) if missing else part)
    like = sequence.data
    rows += [like.new_full((batch, *rest), padding_value)] * ((total_length or steps) - steps)

    out = stack(rows)
    lengths = tensor([sum(count > b for count in counts) for b in range(batch)], dtype=int64)
    if sequence.unsorted_indices is not None:
        out, lengths = out.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return (out.transpose(0, 1) if batch_first else out), lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L, *) of different lengths as one tensor, (T, B, *) or (B, T, *) with `batch_first`.

    >>> import pullback
    >>> from pullback.nn.utils.rnn import pad_sequence
    >>> pad_sequence([pullback.tensor([1, 2]), pullback.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])

    Raises RuntimeError for another `padding_side` than "left" and "right", or what is no list of tensors.
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    try:
        parts: Sequence[Tensor] = list(sequences)
    except TypeError:
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        ) from None
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not parts:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    steps = max(p.size(0) for p in parts)
    rows = []
    for p in parts:
        missing = steps - p.size(0)
        if missing:
            fill = full((missing, *parts[0].shape[1:]), padding_value, dtype=p.dtype)
            p = cat([p, fill] if padding_side == "right" else [fill, p])
        rows.append(p)

    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` put together, by their lengths."""
    by_batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(by_batch.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences (L, *) of falling length, or of any with `enforce_sorted=False`."""
    parts = list(sequences)
    lengths = tensor([p.size(0) for p in parts], dtype=int64)
    return pack_padded_sequence(pad_sequence(parts), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences that was packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
