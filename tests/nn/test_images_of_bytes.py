"""Images of bytes get other sizes as in PyTorch: weights of 16 bits, and bytes between the two dimensions."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

interpolate: Any = pb.nn.functional.interpolate
IMAGE = (pb.arange(60).view(1, 2, 5, 6) * 37 % 256).to(pb.uint8)

# The second channel, recorded from PyTorch.
RECORDED: list[tuple[dict[str, Any], list[list[int]]]] = [
    (
        {"size": (3, 8), "mode": "bilinear"},
        [
            [75, 98, 126, 154, 181, 209, 173, 89],
            [18, 41, 69, 97, 124, 152, 180, 203],
            [217, 187, 119, 40, 67, 95, 123, 146],
        ],
    ),
    (
        {"size": (7, 4), "mode": "bicubic"},
        [
            *([96, 152, 220, 53], [77, 133, 196, 165], [39, 104, 162, 240], [25, 81, 140, 196]),
            *([141, 44, 117, 173], [220, 47, 88, 144], [225, 74, 69, 125]),
        ],
    ),
    (
        {"size": (3, 4), "mode": "bicubic", "antialias": True},
        [[80, 137, 202, 150], [60, 75, 140, 198], [204, 71, 78, 136]],
    ),
    (
        {"size": (4, 9), "mode": "bilinear", "antialias": True, "align_corners": True},
        [
            [76, 92, 115, 138, 162, 185, 208, 197, 108],
            [35, 51, 74, 97, 121, 144, 167, 190, 213],
            [176, 121, 51, 59, 76, 99, 122, 145, 168],
            [210, 212, 203, 86, 40, 63, 86, 109, 132],
        ],
    ),
    (
        {"scale_factor": (1.1, 1.5), "mode": "bicubic"},
        [
            [83, 101, 131, 152, 179, 209, 248, 128, 0],
            [49, 67, 97, 118, 145, 171, 192, 222, 240],
            [15, 33, 63, 84, 111, 137, 158, 188, 206],
            [255, 127, 7, 46, 77, 103, 124, 154, 172],
            [203, 245, 214, 53, 19, 69, 90, 120, 138],
        ],
    ),
]


@pytest.mark.parametrize(("options", "want"), RECORDED)
def test_recorded(options: dict[str, Any], want: list[list[int]]) -> None:
    out = interpolate(IMAGE, **options)
    assert out.dtype is pb.uint8 and out[0, 1].tolist() == want
    last = interpolate(IMAGE.to(memory_format=pb.channels_last), **options)
    assert pb.equal(last, out) and last.is_contiguous(memory_format=pb.channels_last)
    images = pb.cat([IMAGE, IMAGE.flip(3)])
    assert pb.equal(pb.vmap(lambda x: interpolate(x[None], **options)[0])(images), interpolate(images, **options))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(3, 11), (40, 2), (1, 1), (17, 17)])
def test_close_to_floats(mode: str, antialias: bool, size: tuple[int, int]) -> None:
    x = (pb.rand(2, 3, 13, 17) * 64 + 96).to(pb.uint8)
    out = interpolate(x, size=size, mode=mode, antialias=antialias)
    wide = interpolate(x.double(), size=size, mode=mode, antialias=antialias)
    assert (out - wide).abs().max() < 1.7
    flat = pb.full((1, 1, 13, 17), 255, dtype=pb.uint8)
    assert (interpolate(flat, size=size, mode=mode, antialias=antialias) == 255).all()
