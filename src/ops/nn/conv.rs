//! Convolutions over one, two and three dimensions.

#![deny(clippy::arithmetic_side_effects)]

use super::convolution::{CONV, CONV_INPUT_GRAD};
use super::pad::pad;
use super::sizes::unbatched;
use crate::base::size::Whole;
use crate::base::{Result, Scalar, Shape};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::conv::{ConvParams, by_x};
use crate::ops::Value;
use crate::ops::promote::single;
use crate::ops::signature::{
    ArgumentPlace, Chosen, Declared, Positive, Spatial, Words, inside, of_channels, of_dtype, of_rank, spatial,
};
use crate::rules::basis;

/// Integer arguments of a convolution of `rank` dimensions.
struct Sizes {
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    groups: usize,
}

impl Sizes {
    /// Of numbers that are declared to be 0 or larger.
    fn new(stride: Vec<i64>, padding: Vec<i64>, dilation: Vec<i64>, groups: usize) -> Sizes {
        let plain = |v: Vec<i64>| v.into_iter().map(|x| x as usize).collect();
        Sizes { stride: plain(stride), padding: plain(padding), dilation: plain(dilation), groups }
    }

    fn params(&self, input: &[usize], kernel: &[usize]) -> Result<ConvParams> {
        ConvParams::new(input, kernel, &self.stride, &self.padding, &self.dilation, self.groups)
    }
}

/// What both kinds of convolution ask of their tensors.
fn check(rank: usize, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    let full = rank.saturating_add(2);
    of_rank("weight", weight, full, full)?;
    for (name, t) in [("weight", Some(weight)), ("bias", bias)] {
        t.map(|t| of_dtype(name, t, input.dtype())).transpose()?;
    }
    if weight.shape()[2..].contains(&0) {
        refuse!(
            Runtime,
            "kernel size should be greater than zero, but got weight of size {}; give a weight with elements",
            weight.shape()
        );
    }
    Ok(())
}

/// `y` plus a value for each channel, without the batch dimension that was added.
/// The convolution and the bias, which is added before half precision is rounded.
fn biased(prim: Prim<'_>, p: &Params, [x, w]: [&Tensor; 2], bias: Option<&Tensor>, batched: bool) -> Result<Tensor> {
    let dtype = x.dtype();
    match bias {
        Some(b) if dtype.is_half() && w.dtype() == dtype && b.dtype() == dtype => {
            let out = call(prim, p, &[&single(x)?, &single(w)?])?;
            basis::cast(&finish(out, Some(&single(b)?), batched)?, dtype)
        }
        _ => finish(call(prim, p, &[x, w])?, bias, batched),
    }
}

fn finish(y: Tensor, bias: Option<&Tensor>, batched: bool) -> Result<Tensor> {
    let mut y = y;
    if let Some(b) = bias {
        let mut shape = b.shape().clone();
        (2..y.rank()).for_each(|_| shape.push(1));
        y = basis::add(&y, &basis::reshape(b, &shape)?)?;
    }
    if batched { Ok(y) } else { basis::reshape(&y, &y.shape().without(0)) }
}

/// Padding that depends on the kernel.
#[derive(Clone, Copy)]
enum Edge {
    Valid,
    Same,
}
impl Words for Edge {
    const WORDS: &'static [(&'static str, Self)] = &[("valid", Edge::Valid), ("same", Edge::Same)];
}

/// Padding as numbers, and the input with what cannot be said so: 'same' may need one more pixel at the end.
fn resolve_padding(
    rank: usize,
    input: &Tensor,
    kernel: &[usize],
    (stride, padding, dilation): (&[i64], &Value, &[i64]),
) -> Result<(Tensor, Vec<i64>)> {
    let edge = match padding {
        Value::Str(s) => Chosen::<Edge>::check(s, ArgumentPlace { name: "padding", subject: None })?,
        v => return Ok((input.clone(), spatial("padding", &numbers(v)?, rank, 0)?)),
    };
    match edge {
        Edge::Valid => Ok((input.clone(), vec![0; rank])),
        Edge::Same => {
            if stride.iter().any(|&s| s != 1) {
                refuse!(Runtime, "padding='same' is not supported for strided convolutions; give numbers");
            }
            let total: Vec<i64> = kernel
                .iter()
                .zip(dilation)
                .map(|(&k, d)| (k as i64).saturating_sub(1).saturating_mul(*d).max(0))
                .collect();
            let more: Vec<i64> = total.iter().rev().flat_map(|t| [0, t % 2]).collect();
            let x = if more.iter().any(|&m| m > 0) { pad(input, &more, "constant", None)? } else { input.clone() };
            Ok((x, total.iter().map(|t| t / 2).collect()))
        }
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
type Options<'a> = (Vec<i64>, &'a Value, Vec<i64>, usize);

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
    let (x, padding) = resolve_padding(rank, &x, kernel, (&stride, padding, &dilation))?;
    let sizes = Sizes::new(stride, padding, dilation, groups);
    let (out, per_group) = (weight.shape()[0], weight.shape()[1]);
    if out < sizes.groups || !out.is_multiple_of(sizes.groups) {
        refuse!(
            Runtime,
            "given groups={groups}, expected weight to be divisible by {groups} at dimension 0 and at least \
             {groups}, but got weight of size {} instead; change groups or the weight",
            weight.shape()
        );
    }
    let channels = per_group.saturating_mul(sizes.groups);
    if x.shape()[1] != channels {
        refuse!(
            Runtime,
            "given groups={groups}, weight of size {}, expected input{} to have {channels} channels, but got {} \
             channels instead; change groups or the weight",
            weight.shape(),
            input.shape(),
            x.shape()[1]
        );
    }
    bias.map(|b| of_channels("bias", b, out)).transpose()?;
    let p = sizes.params(&x.shape()[2..], kernel).map_err(inside)?;
    biased(Prim::Static(&CONV), &Params::other(p), [&x, weight], bias, batched)
}

/// Size of a transposed convolution's output.
fn transposed_size(s: &Sizes, input: &[usize], kernel: &[usize], more: &[i64]) -> Result<Shape> {
    let mut out = Shape::scalar();
    for d in 0..input.len() {
        if more[d] < 0 || more[d] >= s.stride[d].max(s.dilation[d]) as i64 {
            refuse!(
                Runtime,
                "output padding must be smaller than either stride or dilation, but got output_padding {more:?}, \
                 stride {:?}, dilation {:?}; give smaller numbers, from 0",
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
                "given input size per channel: ({}), the calculated output size {n} at dimension {d} is too small; \
                 give a larger input, or less padding",
                by_x(input.iter().copied())
            ),
        }
    }
    Ok(out)
}

/// Arguments of a transposed convolution besides its tensors: stride, padding, output padding, groups, dilation.
type TransposedOptions = (Vec<i64>, Vec<i64>, Vec<i64>, usize, Vec<i64>);

fn conv_transpose(
    rank: usize,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    (stride, padding, more, groups, dilation): TransposedOptions,
) -> Result<Tensor> {
    check(rank, input, weight, bias)?;
    let (y, batched) = unbatched(input, rank)?;
    let sizes = Sizes::new(stride, padding, dilation, groups);
    let (channels, kernel) = (weight.shape()[0], &weight.shape()[2..]);
    if channels < sizes.groups || !channels.is_multiple_of(sizes.groups) || y.shape()[1] != channels {
        refuse!(
            Runtime,
            "given transposed=1, groups={groups} and weight of size {}, expected input{} to have {channels} \
             channels, divisible by {groups}, but got {} channels instead; change groups or the weight",
            weight.shape(),
            input.shape(),
            y.shape()[1]
        );
    }
    let out = weight.shape()[1].saturating_mul(sizes.groups);
    bias.map(|b| of_channels("bias", b, out)).transpose()?;
    let out = transposed_size(&sizes, &y.shape()[2..], kernel, &more)?;
    let p = sizes.params(&out, kernel).map_err(inside)?.with_output(&y.shape()[2..]);
    biased(Prim::Static(&CONV_INPUT_GRAD), &Params::other(p), [&y, weight], bias, batched)
}

ops! { TABLE:
    /// Convolution of an input [N, C, W] (or [C, W]) with a weight [O, C/groups, K]. `padding` may be 'valid' or 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv1d(pullback.ones(1, 1, 4), pullback.ones(1, 1, 2))
    /// tensor([[[2., 2., 2.]]])
    fn conv1d = "nn.functional.conv1d" | "conv1d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] as Spatial<1, 1> = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] as Spatial<1, 1> = &[1], groups: i64 as Positive = 1) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv(1, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// Convolution of an input [N, C, H, W] (or [C, H, W]) with a weight [O, C/groups, K, L]. `padding` may be 'valid' or
    /// 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv2d(pullback.ones(1, 2, 3, 3), pullback.ones(1, 2, 2, 2), padding='same').shape
    /// pullback.Size([1, 1, 3, 3])
    fn conv2d = "nn.functional.conv2d" | "conv2d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] as Spatial<2, 1> = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] as Spatial<2, 1> = &[1], groups: i64 as Positive = 1) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv(2, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// Convolution of an input [N, C, D, H, W] (or [C, D, H, W]) with a weight [O, C/groups, J, K, L]. `padding` may be
    /// 'valid' or 'same'.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv3d(pullback.ones(1, 1, 3, 3, 3), pullback.ones(2, 1, 2, 2, 2)).shape
    /// pullback.Size([1, 2, 2, 2, 2])
    fn conv3d = "nn.functional.conv3d" | "conv3d" (input: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None,
        stride: &[i64] as Spatial<3, 1> = &[1], padding: &Value = &Value::Int(0), dilation: &[i64] as Spatial<3, 1> = &[1], groups: i64 as Positive = 1) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv(3, input, weight, bias, (stride, padding, dilation, groups))
    }

    /// The transpose of [`conv1d`]: an input [N, C, W] and a weight [C, O/groups, K] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose1d(pullback.ones(1, 1, 2), pullback.ones(1, 1, 2), stride=2)
    /// tensor([[[1., 1., 1., 1.]]])
    fn conv_transpose1d = "nn.functional.conv_transpose1d" | "conv_transpose1d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] as Spatial<1, 1> = &[1], padding: &[i64] as Spatial<1, 0> = &[0], output_padding: &[i64] as Spatial<1, 0> = &[0],
        groups: i64 as Positive = 1, dilation: &[i64] as Spatial<1, 1> = &[1]) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv_transpose(1, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }

    /// The transpose of [`conv2d`]: an input [N, C, H, W] and a weight [C, O/groups, K, L] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose2d(pullback.ones(1, 1, 2, 2), pullback.ones(1, 3, 2, 2)).shape
    /// pullback.Size([1, 3, 3, 3])
    fn conv_transpose2d = "nn.functional.conv_transpose2d" | "conv_transpose2d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] as Spatial<2, 1> = &[1], padding: &[i64] as Spatial<2, 0> = &[0], output_padding: &[i64] as Spatial<2, 0> = &[0],
        groups: i64 as Positive = 1, dilation: &[i64] as Spatial<2, 1> = &[1]) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv_transpose(2, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }

    /// The transpose of [`conv3d`]: an input [N, C, D, H, W] and a weight [C, O/groups, J, K, L] give [N, O, …].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.conv_transpose3d(pullback.ones(1, 1, 2, 2, 2), pullback.ones(1, 1, 2, 2, 2)).shape
    /// pullback.Size([1, 1, 3, 3, 3])
    fn conv_transpose3d = "nn.functional.conv_transpose3d" | "conv_transpose3d" (input: &Tensor, weight: &Tensor,
        bias: Option<&Tensor> = None, stride: &[i64] as Spatial<3, 1> = &[1], padding: &[i64] as Spatial<3, 0> = &[0], output_padding: &[i64] as Spatial<3, 0> = &[0],
        groups: i64 as Positive = 1, dilation: &[i64] as Spatial<3, 1> = &[1]) -> Tensor [CONVOLUTION, NO_OUT, LOWERS] node "ConvolutionBackward0" {
        conv_transpose(3, input, weight, bias, (stride, padding, output_padding, groups, dilation))
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
