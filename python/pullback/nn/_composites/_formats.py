"""Where elements lie in memory: results have their channels where the arguments have them."""

from __future__ import annotations

from ... import Tensor, channels_last, channels_last_3d

_FORMATS = {4: channels_last, 5: channels_last_3d}


def arranged(out: Tensor, input: Tensor) -> Tensor:
    """The result in one piece, with its channels last in memory if `input` has them there, its batch before all."""
    last = _FORMATS.get(input.dim())
    if last is None or out.dim() != input.dim() or input.is_contiguous() or not _has_channels_last(input):
        return out.contiguous()
    return out.contiguous(memory_format=last)


def _has_channels_last(input: Tensor) -> bool:
    """Whether the strides grow from the channels over the last dimension to the batch, as those of a part do too."""
    sizes, strides = input.shape, input.stride()
    least, innermost = 0, strides[1]
    for d in (1, *range(input.dim() - 1, 1, -1)):
        if sizes[d] == 0 or strides[d] < least:
            return False
        least = strides[d] * sizes[d]
    return bool(innermost and sizes[0] and strides[0] >= least > innermost)
