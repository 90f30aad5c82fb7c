//! Convolutions over one, two and three dimensions.

#![deny(clippy::arithmetic_side_effects)]

use super::convolution::{CONV, CONV_INPUT_GRAD};
use super::pad::pad;
use super::sizes::{by_dim, unbatched};
use crate::base::size::Whole;
use crate::base::{Result, Scalar, Shape};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::conv::{ConvParams, by_x};
use crate::ops::Value;
use crate::ops::signature::inside;
use crate::rules::basis;

/// Integer arguments of a convolution of `rank` dimensions.
struct Sizes {
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    groups: usize,
}

impl Sizes {
    fn new(rank: usize, stride: &[i64], padding: &[i64], dilation: &[i64], groups: i64) -> Result<Sizes> {
        let (stride, padding) = (by_dim("stride", stride, rank)?, by_dim("padding", padding, rank)?);
        let dilation = by_dim("dilation", dilation, rank)?;
        if stride.iter().any(|&s| s <= 0) {
            refuse!(Runtime, "non-positive stride is not supported, got {stride:?}");
        }
        if padding.iter().any(|&p| p < 0) {
            refuse!(Runtime, "negative padding is not supported, got {padding:?}");
        }
        if dilation.iter().any(|&d| d <= 0) {
            refuse!(Runtime, "dilation should be greater than zero, got {dilation:?}");
        }
        if groups <= 0 {
            refuse!(Runtime, "non-positive groups is not supported, got {groups}");
        }
        let plain = |v: Vec<i64>| v.into_iter().map(|x| x as usize).collect();
        Ok(Sizes { stride: plain(stride), padding: plain(padding), dilation: plain(dilation), groups: groups as usize })
    }

    fn params(&self, input: &[usize], kernel: &[usize]) -> Result<ConvParams> {
        ConvParams::new(input, kernel, &self.stride, &self.padding, &self.dilation, self.groups)
    }
}

/// What both kinds of convolution ask of their tensors. Dimension `out` of the weight counts a group's output channels
/// if `transposed`, all of them otherwise.
fn check(rank: usize, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    let expected = rank.saturating_add(2);
    if weight.rank() != expected {
        refuse!(Runtime, "expected a {expected}-dimensional weight, but got one of size {}", weight.shape());
    }
    for (name, t) in [("weight", Some(weight)), ("bias", bias)] {
        if let Some(t) = t
            && t.dtype() != input.dtype()
        {
            refuse!(Runtime, "Input type ({}) and {name} type ({}) should be the same", input.dtype(), t.dtype());
        }
    }
    if weight.shape()[2..].contains(&0) {
        refuse!(Runtime, "kernel size should be greater than zero, but got weight of size {}", weight.shape());
    }
    Ok(())
}

fn check_bias(weight: &Tensor, bias: Option<&Tensor>, channels: usize) -> Result<()> {
    match bias {
        Some(b) if b.shape()[..] != [channels] => refuse!(
            Runtime,
            "given weight of size {}, expected bias to be 1-dimensional with {channels} elements, but got bias of \
             size {} instead",
            weight.shape(),
            b.shape()
        ),
        _ => Ok(()),
    }
}

/// `y` plus a value for each channel, without the batch dimension that was added.
fn finish(y: Tensor, bias: Option<&Tensor>, batched: bool) -> Result<Tensor> {
    let mut y = y;
    if let Some(b) = bias {
        let mut shape = b.shape().clone();
        (2..y.rank()).for_each(|_| shape.push(1));
        y = basis::add(&y, &basis::reshape(b, &shape)?)?;
    }
    if batched { Ok(y) } else { basis::reshape(&y, &y.shape().without(0)) }
}

/// Padding as numbers, and the input with what cannot be said so: 'same' may need one more pixel at the end.
fn resolve_padding(
    rank: usize,
    input: &Tensor,
    kernel: &[usize],
    (stride, padding, dilation): (&[i64], &Value, &[i64]),
) -> Result<(Tensor, Vec<i64>)> {
    let mode = match padding {
        Value::Str(s) => s.as_str(),
        v => return Ok((input.clone(), numbers(v)?)),
    };
    match mode {
        "valid" => Ok((input.clone(), vec![0; rank])),
        "same" => {
            if stride.iter().any(|&s| s != 1) {
                refuse!(Runtime, "padding='same' is not supported for strided convolutions");
            }
            let dilation = by_dim("dilation", dilation, rank)?;
            let total: Vec<i64> = kernel
                .iter()
                .zip(&dilation)
                .map(|(&k, d)| (k as i64).saturating_sub(1).saturating_mul(*d).max(0))
                .collect();
            let more: Vec<i64> = total.iter().rev().flat_map(|t| [0, t % 2]).collect();
            let x = if more.iter().any(|&m| m > 0) { pad(input, &more, "constant", None)? } else { input.clone() };
            Ok((x, total.iter().map(|t| t / 2).collect()))
        }
        other => refuse!(Runtime, "Invalid padding string: '{other}'; use 'valid' or 'same'"),
    }
}

fn numbers(v: &Value) -> Result<Vec<i64>> {
    let int = |v: &Value| match v {
        Value::Int(i) | Value::Number(Scalar::Int(i)) => Some(*i),
        _ => None,
    };
    let found = match v {
        Value::Ints(v) => Some(v.to_vec()),
        Value::Tuple(items) | Value::List(items) => items.iter().map(int).collect(),
        v => int(v).map(|i| vec![i]),
    };
    match found {
        Some(found) => Ok(found),
        None => refuse!(Type, "argument 'padding' must be int, tuple of ints or str, not {}", v.type_name()),
    }
}

/// Arguments of a convolution besides its tensors.
type Options<'a> = (&'a [i64], &'a Value, &'a [i64], i64);

fn conv(
    rank: usize,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    (stride, padding, dilation, groups): Options<'_>,
) -> Result<Tensor> {
    check(rank, input, weight, bias)?;
    let (x, batched) = unbatched(input, rank)?;
    let kernel = &weight.shape()[2..];
    let (x, padding) = resolve_padding(rank, &x, kernel, (stride, padding, dilation))?;
    let sizes = Sizes::new(rank, stride, &padding, dilation, groups)?;
    let (out, per_group) = (weight.shape()[0], weight.shape()[1]);
    if out < sizes.groups || !out.is_multiple_of(sizes.groups) {
        refuse!(
            Runtime,
            "given groups={groups}, expected weight to be divisible by {groups} at dimension 0 and at least \
             {groups}, but got weight of size {} instead",
            weight.shape()
        );
    }
    let channels = per_group.saturating_mul(sizes.groups);
    if x.shape()[1] != channels {
        refuse!(
            Runtime,
            "given groups={groups}, weight of size {}, expected input{} to have {channels} channels, but got {} \
             channels instead",
            weight.shape(),
            input.shape(),
            x.shape()[1]
        );
    }
    check_bias(weight, bias, out)?;
    let p = sizes.params(&x.shape()[2..], kernel).map_err(inside)?;
    finish(call(Prim::Static(&CONV), &Params::other(p), &[&x, weight])?, bias, batched)
}

/// Size of a transposed convolution's output.
fn transposed_size(s: &Sizes, input: &[usize], kernel: &[usize], more: &[i64]) -> Result<Shape> {
    let mut out = Shape::scalar();
    for d in 0..input.len() {
        if more[d] < 0 || more[d] >= s.stride[d].max(s.dilation[d]) as i64 {
            refuse!(
                Runtime,
                "output padding must be smaller than either stride or dilation, but got output_padding {more:?}, \
                 stride {:?}, dilation {:?}",
                s.stride,
                s.dilation
            );
        }
        let reach = Whole::from(kernel[d]).minus(1i64).times(s.dilation[d]);
        let last = Whole::from(input[d]).minus(1i64).times(s.stride[d]);
        let n = last.minus(s.padding[d]).minus(s.padding[d]).plus(reach).plus(more[d]).plus(1i64);
        match n.size() {
            Some(n) if n > 0 && input[d] > 0 => out.push(n),
            _ => refuse!(
                Runtime,
                "given input size per channel: ({}), the calculated output size {n} at dimension {d} is too small",
                by_x(input.iter().copied())
            ),
        }
    }
    Ok(out)
}

/// Arguments of a transposed convolution besides its tensors: stride, padding, output padding, groups, dilation.
type TransposedOptions<'a> = (&'a [i64], &'a [i64], &'a [i64], i64, &'a [i64]);

fn conv_transpose(
    rank: usize,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    (stride, padding, output_padding, groups, dilation): TransposedOptions<'_>,
) -> Result<Tensor> {
    check(rank, input, weight, bias)?;
    let (y, batched) = unbatched(input, rank)?;
    let sizes = Sizes::new(rank, stride, padding, dilation, groups)?;
    let more = by_dim("output_padding", output_padding, rank)?;
    let (channels, kernel) = (weight.shape()[0], &weight.shape()[2..]);
    if channels < sizes.groups || !channels.is_multiple_of(sizes.groups) || y.shape()[1] != channels {
        refuse!(
            Runtime,
            "given transposed=1, groups={groups} and weight of size {}, expected input{} to have {channels} \
             channels, divisible by {groups}, but got {} channels instead",
            weight.shape(),
            input.shape(),
            y.shape()[1]
        );
    }
    check_bias(weight, bias, weight.shape()[1].saturating_mul(sizes.groups))?;
    let out = transposed_size(&sizes, &y.shape()[2..], kernel, &more)?;
    let p = sizes.params(&out, kernel).map_err(inside)?.with_output(&y.shape()[2..]);
    finish(call(Prim::Static(&CONV_INPUT_GRAD), &Params::other(p), &[&y, weight])?, bias, batched)
}

ops! { TABLE:
    /// Convolution of an input [N, C, W] (or [C, W]) with a weight [O, C/groups, K]. `padding` may be 'valid' or 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv1d(pullback.ones(1, 1, 4), pullback.ones(1, 1, 2))
    /// tensor([[[2., 2., 2.]]])
    fn conv1d = "nn.functional.conv1d" | "conv1d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] = &[1], groups: i64 = 1) -> Tensor [CONVOLUTION, NO_OUT] {
        conv(1, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// Convolution of an input [N, C, H, W] (or [C, H, W]) with a weight [O, C/groups, K, L]. `padding` may be 'valid' or
    /// 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv2d(pullback.ones(1, 2, 3, 3), pullback.ones(1, 2, 2, 2), padding='same').shape
    /// pullback.Size([1, 1, 3, 3])
    fn conv2d = "nn.functional.conv2d" | "conv2d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] = &[1], groups: i64 = 1) -> Tensor [CONVOLUTION, NO_OUT] {
        conv(2, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// Convolution of an input [N, C, D, H, W] (or [C, D, H, W]) with a weight [O, C/groups, J, K, L]. `padding` may be
    /// 'valid' or 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv3d(pullback.ones(1, 1, 3, 3, 3), pullback.ones(2, 1, 2, 2, 2)).shape
    /// pullback.Size([1, 2, 2, 2, 2])
    fn conv3d = "nn.functional.conv3d" | "conv3d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] = &[1], groups: i64 = 1) -> Tensor [CONVOLUTION, NO_OUT] {
        conv(3, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// The transpose of [`conv1d`]: an input [N, C, W] and a weight [C, O/groups, K] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose1d(pullback.ones(1, 1, 2), pullback.ones(1, 1, 2), stride=2)
    /// tensor([[[1., 1., 1., 1.]]])
    fn conv_transpose1d = "nn.functional.conv_transpose1d" | "conv_transpose1d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] = &[1], padding: &[i64] = &[0], output_padding: &[i64] = &[0],
        groups: i64 = 1, dilation: &[i64] = &[1]) -> Tensor [CONVOLUTION, NO_OUT] {
        conv_transpose(1, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }

    /// The transpose of [`conv2d`]: an input [N, C, H, W] and a weight [C, O/groups, K, L] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose2d(pullback.ones(1, 1, 2, 2), pullback.ones(1, 3, 2, 2)).shape
    /// pullback.Size([1, 3, 3, 3])
    fn conv_transpose2d = "nn.functional.conv_transpose2d" | "conv_transpose2d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] = &[1], padding: &[i64] = &[0], output_padding: &[i64] = &[0],
        groups: i64 = 1, dilation: &[i64] = &[1]) -> Tensor [CONVOLUTION, NO_OUT] {
        conv_transpose(2, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }

    /// The transpose of [`conv3d`]: an input [N, C, D, H, W] and a weight [C, O/groups, J, K, L] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose3d(pullback.ones(1, 1, 2, 2, 2), pullback.ones(1, 1, 2, 2, 2)).shape
    /// pullback.Size([1, 1, 3, 3, 3])
    fn conv_transpose3d = "nn.functional.conv_transpose3d" | "conv_transpose3d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] = &[1], padding: &[i64] = &[0], output_padding: &[i64] = &[0],
        groups: i64 = 1, dilation: &[i64] = &[1]) -> Tensor [CONVOLUTION, NO_OUT] {
        conv_transpose(3, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
