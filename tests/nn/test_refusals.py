"""What layers' functions say of arguments that do not fit: PyTorch's classes of errors, and its phrases."""

from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F


def classes(*shape: int) -> Any:
    return pb.zeros(shape, dtype=pb.int64)


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
@pytest.mark.parametrize(
    ("sizes", "target", "kind", "text"),
    [
        ((10, 3), (10, 2), RuntimeError, "0D or 1D target tensor expected, multi-target not supported"),
        ((10, 3), (9,), ValueError, r"Expected input batch_size \(10\) to match target batch_size \(9\)"),
        ((3,), (2,), ValueError, "For 1D input, 1D target must have size 1, but got target size: 2"),
        ((2, 3, 4, 4), (2, 4), RuntimeError, "only batches of spatial targets supported .* dimension: 2"),
        ((2, 3, 4, 4), (2, 4, 5), RuntimeError, r"size mismatch \(got input: \[2, 3, 4, 4\] , target: \[2, 4, 5\]"),
        ((2, 3, 4, 4), (3, 4, 4), ValueError, "to match target batch_size"),
        ((2, 3, 4), (2, 5), RuntimeError, r"Expected target size \[2, 4\], got \[2, 5\]"),
        ((2, 3), (), ValueError, "to match target batch_size"),
    ],
)
def test_targets_of_losses(loss: Any, sizes: Any, target: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        loss(pb.rand(sizes), classes(*target))


def test_one_class_without_a_batch_may_have_a_dimension() -> None:
    x = pb.tensor([0.1, 0.2, 0.7])
    assert F.nll_loss(x, classes(1)).item() == F.nll_loss(x, classes()).item() == pytest.approx(-0.1)


@pytest.mark.parametrize("smoothing", [-0.1, 1.2])
def test_label_smoothing_is_a_probability(smoothing: float) -> None:
    with pytest.raises(RuntimeError, match=r"label_smoothing must be between 0\.0"):
        F.cross_entropy(pb.rand(2, 3), classes(2), label_smoothing=smoothing)


def test_padding_is_smaller_than_what_is_padded() -> None:
    for x, amounts in ((pb.rand(1, 1, 2, 3), (1, 1, 3, 0)), (pb.rand(1, 1, 2), (2, 1))):
        with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
            F.pad(x, amounts, mode="reflect")
    with pytest.raises(RuntimeError, match="Padding value causes wrapping around more than once"):
        F.pad(pb.rand(1, 1, 4), (5, 4), mode="circular")


def test_the_nearest_pixel_has_a_zero_derivative() -> None:
    grid = pb.rand(1, 2, 2, 2, requires_grad=True)
    F.grid_sample(pb.rand(1, 1, 3, 3), grid, mode="nearest", align_corners=False).sum().backward()
    assert grid.grad is not None and not grid.grad.any()


@pytest.mark.parametrize("dtype", [pb.bfloat16, pb.float16])
@pytest.mark.parametrize("f", [F.silu, F.mish, F.logsigmoid, F.softplus, F.gelu, F.elu, F.hardswish])
def test_slopes_in_half_precision_are_rounded_once(f: Any, dtype: Any) -> None:
    pb.manual_seed(3)
    x, g = pb.randn(400).to(dtype).requires_grad_(), pb.randn(400).to(dtype)
    wide = x.detach().float().requires_grad_()
    f(x).backward(g)
    f(wide).backward(g.float())
    assert x.grad is not None and wide.grad is not None
    assert pb.equal(x.grad, wide.grad.to(dtype))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["ReflectionPad", "ReplicationPad", "MaxPool", "AvgPool"])
def test_windows_over_nothing(kind: str, dims: int) -> None:
    layer = getattr(pb.nn, f"{kind}{dims}d")(2 if "Pool" in kind else 1)
    tail = (4,) * dims
    assert layer(pb.ones(0, 3, *tail)).numel() == 0 and layer(pb.ones(2, 3, *tail)).numel() > 0
    assert pb.func.vmap(layer)(pb.ones(2, 0, 3, *tail)).shape[:3] == (2, 0, 3)
    for sizes in ((2, 0, *tail), (0, *tail)):
        with pytest.raises(RuntimeError, match=rf"Expected {dims + 1}D or {dims + 2}D \(batch mode\)"):
            layer(pb.ones(sizes))


def test_older_ways_to_call() -> None:
    with pytest.warns(FutureWarning, match="`m.._value` is deprecated and renamed to `m.._val`"):
        layer = pb.nn.Hardtanh(min_value=-2, max_value=0.5)
    assert layer(pb.tensor([-3.0, 1.0])).tolist() == [-2.0, 0.5] and repr(layer) == "Hardtanh(min_val=-2, max_val=0.5)"
    weight, indices = pb.eye(3), pb.tensor([0, 1])
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        got = F.embedding_bag(weight, indices, pb.tensor([0]))
    assert got.equal(F.embedding_bag(indices, weight, pb.tensor([0])))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_circular_padding_of_other_dimensions(dims: int) -> None:
    layer = getattr(pb.nn, f"CircularPad{dims}d")(1)
    assert layer(pb.ones(2, *(4,) * dims)).shape == (2, *(6,) * dims)
    for rank in (dims, dims + 3):
        with pytest.raises(ValueError, match=rf"expected {dims + 1}D or {dims + 2}D input \(got {rank}D input\)"):
            layer(pb.ones((4,) * rank))


@pytest.mark.filterwarnings("ignore:dropout2d")
def test_dropout_of_channels_that_are_not_there() -> None:
    for function in (F.dropout2d, F.feature_alpha_dropout, pb.feature_dropout):
        for x in (pb.ones(3), pb.tensor(1.0)):
            assert function(x, 0.0, True).equal(x) and function(x, 0.5, False).equal(x)
            with pytest.raises(RuntimeError, match="Feature dropout requires at least 2 dimensions in the input"):
                function(x, 0.5, True)


def test_margins_of_one_class_and_of_no_rows() -> None:
    one, none = pb.tensor(0.5, requires_grad=True), pb.ones(0, 3)
    for loss, y, rows in (
        (F.multi_margin_loss, classes(), classes(0)),
        (F.multilabel_margin_loss, classes(), classes(0, 3)),
    ):
        for reduction in ("mean", "sum", "none"):
            assert loss(one, y, reduction=reduction).equal(pb.tensor(0.0))
        assert loss(none, rows).item() == loss(none, rows, reduction="sum").item() == 0
        assert loss(none, rows, reduction="none").shape == (0,)
        with pytest.raises(RuntimeError, match="Expected non-empty vector or matrix"):
            loss(pb.ones(2, 0), rows)


def test_variances_of_one_element_and_without_eps() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        F.group_norm(pb.ones(1, 4), 4)
    assert F.group_norm(pb.ones(2, 4), 4).equal(pb.zeros(2, 4)), "two rows, one group each"
    x, ones = pb.rand(3, 2), pb.ones(2)
    for eps, training in ((-1.0, True), (-1.0, False)):
        with pytest.raises(ValueError, match="batch_norm eps must be non-negative"):
            F.batch_norm(x, ones, ones, training=training, eps=eps)
        with pytest.raises(ValueError, match="batch_norm eps must be non-negative"):
            pb.nn.BatchNorm1d(2, eps=eps).train(training)(x)
    assert F.batch_norm(x, pb.zeros(2), ones, eps=0.0).equal(x)
    rows = pb.tensor([[[1.0, 3.0], [5.0, 9.0]]])
    assert F.instance_norm(rows, eps=0.0).equal(pb.tensor([[[-1.0, 1.0], [-1.0, 1.0]]]))


def test_probabilities_have_no_index_to_ignore() -> None:
    x, w = pb.ones(2, 3), pb.ones(4, 3)
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified when target contains probabilities"):
        F.linear_cross_entropy(x, w, pb.ones(2, 4) / 4, ignore_index=1)
    F.linear_cross_entropy(x, w, pb.ones(2, 4) / 4)


def test_softshrink_is_for_fractions() -> None:
    for dtype in (pb.int64, pb.uint8, pb.bool):
        with pytest.raises(NotImplementedError, match=r"softshrink\(\): not implemented for .*; convert"):
            F.softshrink(pb.ones(2, dtype=dtype))


def test_bags_begin_with_the_first_index() -> None:
    table = pb.arange(6.0).reshape(3, 2)
    for offsets, text in (
        ([1], r"offsets\[0\] has to be 0, .* However, got 1"),
        ([0, 9], r"offsets\[-1\] can not be greater"),
    ):
        with pytest.raises(RuntimeError, match=r"embedding_bag\(\): " + text):
            F.embedding_bag(pb.tensor([1, 2]), table, pb.tensor(offsets))
    assert F.embedding_bag(pb.tensor([1, 2]), table, pb.tensor([0, 2]), mode="sum").tolist() == [[6.0, 8.0], [0.0, 0.0]]
    batch = pb.func.vmap(lambda o: F.embedding_bag(pb.tensor([1, 2]), table, o, mode="sum"))(
        pb.tensor([[0, 1], [0, 2]])
    )
    assert batch.tolist() == [[[2, 3], [4, 5]], [[6, 8], [0, 0]]]
