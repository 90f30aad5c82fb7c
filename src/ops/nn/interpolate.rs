//! Images of other sizes, one dimension after the other.

use super::formats::arranged;
use super::pool::{adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d};
use crate::base::{DType, Result};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::resample::{self as kernels, Filter, Resample};
use crate::ops::arith::clamp;
use crate::ops::signature::Truth;
use crate::ops::unary::floor;
use crate::ops::value::Value;
use crate::rules::basis::{self, cast};
use crate::rules::linear::{Batching, Linear};
use crate::rules::shapes;

fields! { enum Filter { 0 => Nearest, 1 => NearestExact, 2 => Linear, 3 => Cubic, 4 => WideLinear, 5 => WideCubic } }
fields! { struct Resample { dim, input, output, filter, align, factor } }
parameters! { Resample = "resample" }

/// One dimension of another size.
static ALONG: Linear = Linear {
    name: "interpolate",
    infer: |p, a| resampled(p, a, false),
    eval: |p, a| kernels::resample(a, p.get(), false),
    transpose: |p, g, _, _| call(Prim::Static(&BACK), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&ALONG), &shifted(p), &[v])),
};

/// The transpose of [`ALONG`].
static BACK: Linear = Linear {
    name: "interpolate:back",
    infer: |p, a| resampled(p, a, true),
    eval: |p, a| kernels::resample(a, p.get(), true),
    transpose: |p, g, _, _| call(Prim::Static(&ALONG), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&BACK), &shifted(p), &[v])),
};

fn resampled(p: &Params, a: &[crate::core::Meta], back: bool) -> Result<crate::core::Inferred> {
    let a = shapes::first(a)?;
    shapes::one(a.dtype, kernels::resampled_shape(a.form(), p.get(), back)?)
}

fn shifted(p: &Params) -> Params {
    let r: &Resample = p.get();
    Params::other(Resample { dim: r.dim + 1, ..r.clone() })
}

/// Numbers for spatial dimensions, from one for all or a sequence.
fn numbers(name: &str, v: &Value, spatial: usize) -> Result<Option<Vec<f64>>> {
    let number = |v: &Value| match v {
        Value::Number(s) => Ok(s.as_f64()),
        Value::Int(i) => Ok(*i as f64),
        Value::Float(x) => Ok(*x),
        Value::Tensor(t) if t.numel() == 1 && t.dense().is_some() => Ok(t.array()?.item()?.as_f64()),
        other => refuse!(Type, "argument '{name}' must be a number or a tuple of numbers, not {}", other.type_name()),
    };
    Ok(match v {
        Value::None | Value::Missing => None,
        Value::Tuple(all) | Value::List(all) => Some(all.iter().map(number).collect::<Result<_>>()?),
        Value::Ints(all) => Some(all.iter().map(|&i| i as f64).collect()),
        one => Some(vec![number(one)?; spatial]),
    })
}

/// Sizes are ints, which factors need not be.
fn whole(size: &Value) -> Result<()> {
    match size {
        Value::Tuple(all) | Value::List(all) => all.iter().try_for_each(whole),
        Value::Float(x) | Value::Number(crate::base::Scalar::Float(x)) => {
            refuse!(Type, "argument 'size' must be int or tuple of ints, but got {x}; give a factor as scale_factor")
        }
        _ => Ok(()),
    }
}

fn listed(values: &[f64]) -> String {
    let all: Vec<String> = values.iter().map(|v| v.to_string()).collect();
    format!("[{}]", all.join(", "))
}

/// The sizes of the result, and the factors that were given, if they say where elements lie.
fn sizes(input: &Tensor, size: &Value, factor: &Value, recompute: bool) -> Result<(Vec<usize>, Vec<Option<f64>>)> {
    let spatial = &input.shape()[2..];
    whole(size)?;
    let (size, factor) = (numbers("size", size, spatial.len())?, numbers("scale_factor", factor, spatial.len())?);
    let (given, by_size) = match (size, factor) {
        (Some(_), Some(_)) => refuse!(Value, "only one of size or scale_factor should be defined; leave one out"),
        (None, None) => refuse!(Value, "either size or scale_factor should be defined; give one"),
        (Some(s), None) => (s, true),
        (None, Some(f)) => (f, false),
    };
    if given.len() != spatial.len() {
        let (what, name, letter) =
            if by_size { ("output", "output size", "o") } else { ("scale_factor", "scale_factor", "s") };
        refuse!(
            Value,
            "Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of \
             {spatial:?} and {name} of {}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {name} in \
             ({letter}1, {letter}2, ...,{letter}K) format.",
            listed(&given)
        );
    }
    if by_size && recompute {
        refuse!(Value, "recompute_scale_factor is not meaningful with an explicit size; leave it out");
    }
    let out: Vec<f64> =
        given.iter().zip(spatial).map(|(&v, &n)| if by_size { v.trunc() } else { (n as f64 * v).floor() }).collect();
    // Not `<= 0`: NaN is no size either.
    if spatial.contains(&0) || out.iter().any(|&n| !(n >= 1.0 && n < (1u64 << 48) as f64)) {
        refuse!(
            Runtime,
            "Input and output sizes should be greater than 0, but got input (spatial: {spatial:?}) and output {}; give it \
             elements, or a larger size",
            listed(&out)
        );
    }
    let factors = given.iter().map(|&f| if by_size || recompute { None } else { Some(f) }).collect();
    Ok((out.into_iter().map(|n| n as usize).collect(), factors))
}

/// The filter of a mode, and how many spatial dimensions it is for, if not for any. `None` stands for averages.
fn filter(mode: &str, wide: bool) -> Option<(Option<Filter>, Option<usize>)> {
    Some(match mode {
        "nearest" => (Some(Filter::Nearest), None),
        "nearest-exact" => (Some(Filter::NearestExact), None),
        "area" => (None, None),
        "linear" => (Some(Filter::Linear), Some(1)),
        "bilinear" => (Some(if wide { Filter::WideLinear } else { Filter::Linear }), Some(2)),
        "bicubic" => (Some(if wide { Filter::WideCubic } else { Filter::Cubic }), Some(2)),
        "trilinear" => (Some(Filter::Linear), Some(3)),
        _ => return None,
    })
}

/// The filter of a call, which has the mode for the input.
fn checked(input: &Tensor, mode: &str, align: Option<bool>, antialias: bool) -> Result<Option<Filter>> {
    let rank = input.rank();
    let (filter, spatial) = match filter(mode, antialias) {
        Some(found) if (3..=5).contains(&rank) => found,
        _ => refuse!(
            NotImplemented,
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: nearest | linear | \
             bilinear | bicubic | trilinear | area | nearest-exact (got {mode}); give (N, C, *) and one of these"
        ),
    };
    if spatial.is_none() && align.is_some() {
        refuse!(
            Value,
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear; \
             leave it out"
        );
    }
    if antialias && !matches!((mode, rank), ("bilinear" | "bicubic", 4)) {
        refuse!(
            Value,
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input; leave it out"
        );
    }
    if let Some(n) = spatial.filter(|n| n + 2 != rank) {
        refuse!(NotImplemented, "Got {rank}D input, but {mode} mode needs {}D input; use another mode", n + 2);
    }
    Ok(filter)
}

/// Dimensions that shrink first, then those that grow, from the last, whose elements cost more than rows.
fn order(input: &Tensor, sizes: &[usize]) -> Vec<usize> {
    let grows = |d: usize| sizes[d] >= input.shape()[d + 2];
    (0..sizes.len()).filter(|&d| !grows(d)).chain((0..sizes.len()).rev().filter(|&d| grows(d))).collect()
}

/// How a dimension gets its size; `None` if it stays as it is.
fn resample(
    input: &Tensor,
    d: usize,
    output: usize,
    factor: Option<f64>,
    (filter, align): (Filter, bool),
) -> Option<Resample> {
    let before = input.shape()[d + 2];
    // Planes are not moved by factors that leave their sizes, or double them; lines and volumes of repeated elements are.
    let plain = input.rank() == 4 && filter == Filter::Nearest;
    let stays = plain || matches!(filter, Filter::Linear | Filter::WideLinear | Filter::WideCubic);
    if before == output && (stays || factor.is_none_or(|f| f == 1.0)) {
        return None;
    }
    let factor = factor.filter(|_| !(plain && output == 2 * before));
    Some(Resample { dim: d + 2, input: before, output, filter, align, factor })
}

ops! { TABLE:
    /// (N, C, *) with other sizes, given as such or by a factor.
    ///
    /// `mode` is 'nearest', 'nearest-exact' or 'area', or with one dimension 'linear', with two 'bilinear' or 'bicubic', with
    /// three 'trilinear'. With `align_corners` the first and last elements keep their values. `antialias` weighs all elements
    /// that a smaller image covers. With `recompute_scale_factor` the ratio of the sizes counts instead of the factor.
    ///
    /// >>> import pullback
    /// >>> x = pullback.tensor([[[0.0, 2.0]]])
    /// >>> pullback.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True)
    /// tensor([[[0., 1., 2.]]])
    fn interpolate = "nn.functional.interpolate" (input: &Tensor, size: &Value = &Value::None, scale_factor: &Value = &Value::None,
        mode: &str = "nearest", align_corners: Option<bool> = None, recompute_scale_factor: Option<bool> as Truth = None,
        antialias: bool as Truth = false) -> Tensor [SCATTERED, NO_OUT] of ALONG {
        let filter = checked(input, mode, align_corners, antialias)?;
        let (sizes, factors) = sizes(input, size, scale_factor, recompute_scale_factor == Some(true))?;
        let Some(filter) = filter else {
            let sizes = Value::Ints(sizes.iter().map(|&n| n as i64).collect());
            let out = match input.rank() {
                3 => adaptive_avg_pool1d(input, &sizes),
                4 => adaptive_avg_pool2d(input, &sizes),
                _ => adaptive_avg_pool3d(input, &sizes),
            };
            return arranged(out?, input);
        };
        let (dtype, nearest) = (input.dtype(), matches!(filter, Filter::Nearest | Filter::NearestExact));
        if !nearest && !dtype.is_float() && dtype != DType::U8 {
            refuse!(Runtime, "mode '{mode}' is not implemented for {dtype}; convert the input to floating point");
        }
        let weighed = dtype.is_float() || !nearest;
        let is_image = dtype == DType::U8 && weighed && input.rank() == 4;
        let mut out = match dtype {
            DType::F32 | DType::F64 => input.clone(),
            _ if weighed && !is_image => cast(input, DType::F32)?,
            _ => input.clone(),
        };
        let how = (filter, align_corners == Some(true));
        // As PyTorch has it: images of bytes from columns to rows, few channels only where the size changes.
        let few = is_image && input.shape()[1] <= 4;
        for d in if is_image { vec![1, 0] } else { order(input, &sizes) } {
            if few && sizes[d] == input.shape()[d + 2] {
                continue;
            }
            if let Some(r) = resample(input, d, sizes[d], factors[d], how) {
                out = call(Prim::Static(&ALONG), &Params::other(r), &[&out])?;
            }
        }
        if dtype == DType::U8 && weighed && !is_image {
            // Halves go up.
            out = clamp(&floor(&basis::add(&out, &basis::number(&out, 0.5))?)?, Some(0.into()), Some(255.into()))?;
        }
        arranged(if out.same(input) { basis::copy(input)? } else { cast(&out, dtype)? }, input)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&ALONG, &BACK]],
    parameters: &[crate::core::params::Type::of::<Resample>()],
};
