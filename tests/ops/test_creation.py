"""Makers of tensors, against PyTorch's answers."""

import pytest

import pullback as pb

# From PyTorch 2.13: elements just below a whole number, which one rounding keeps there and two do not.
LINSPACE = [
    (38, -31, 19, "int32", [38, 34, 30, 26, 22, 18, 15, 11, 7, 3, 0, -4, -7, -11, -15, -19, -23, -27, -31]),
    (30, -28, 21, "int16", [30, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0, -1, -4, -7, -10, -13, -16, -19, -22, -25, -28]),
    (28, -44, 15, "int64", [28, 22, 17, 12, 7, 2, -2, -7, -13, -18, -23, -28, -33, -38, -44]),
    (-18.88, 14.54, 7, "int16", [-18, -12, -7, -1, 3, 8, 14]),
    (0, 10, 4, "int64", [0, 3, 6, 10]),
    (-1, 1, 5, "int64", [-1, 0, 0, 0, 1]),
    (0.9, 5.9, 6, "int64", [0, 1, 2, 3, 4, 5]),
    (4232432621679676909, 1280890246036747343, 1, "int64", [4232432621679676909]),
    (
        *(-3527794928236292947, -1188520545223761350, 8, "int64"),
        [
            *(-3527794928236293120, -3193612873520217088, -2859430818804141056, -2525248764088065024),
            *(-2191066709371989248, -1856884654655913472, -1522702599939837440, -1188520545223761408),
        ],
    ),
]


@pytest.mark.parametrize(("start", "end", "steps", "dtype", "expected"), LINSPACE)
def test_linspace_of_integers_rounds_once(start, end, steps, dtype, expected):
    assert pb.linspace(start, end, steps, dtype=getattr(pb, dtype)).tolist() == expected


def test_sizes_may_be_integer_tensors() -> None:
    n = pb.tensor([3, 2]).sum()
    assert pb.randint(1, 15, (n,)).shape == (5,) and pb.randint(n, size=(2, n)).shape == (2, 5)
    assert [len(part) for part in pb.ones(10).split(n)] == [5, 5]
    for wrong in (pb.tensor(2.0), pb.tensor([2])):
        with pytest.raises(TypeError, match="argument 'size' must be int or tuple of ints, not Tensor"):
            pb.randint(1, 15, (wrong,))
