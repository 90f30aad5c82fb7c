//! Convolutions and pools: what moves a window over the last dimensions.

use super::{ConvOptions, Window};
use crate::base::{Error, Result};
use crate::core::Tensor;
use crate::ops::nn::{conv, patches, pool, unpool};
use crate::ops::value::Value;

/// The cross-correlation of [N, C, L] with windows `weight`; N may be missing.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv1d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv1d(x, weight, bias, &o.stride, &ints(&o.padding), &o.dilation, o.groups)
}

/// The cross-correlation of [N, C, H, W] with windows `weight`; N may be missing.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv2d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv2d(x, weight, bias, &o.stride, &ints(&o.padding), &o.dilation, o.groups)
}

/// The cross-correlation of [N, C, D, H, W] with windows `weight`; N may be missing.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv3d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv3d(x, weight, bias, &o.stride, &ints(&o.padding), &o.dilation, o.groups)
}

/// The transpose of [`conv1d`] by its input.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv_transpose1d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv_transpose1d(x, weight, bias, &o.stride, &o.padding, &o.output_padding, o.groups, &o.dilation)
}

/// The transpose of [`conv2d`] by its input.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv_transpose2d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv_transpose2d(x, weight, bias, &o.stride, &o.padding, &o.output_padding, o.groups, &o.dilation)
}

/// The transpose of [`conv3d`] by its input.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn conv_transpose3d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let o = options;
    conv::conv_transpose3d(x, weight, bias, &o.stride, &o.padding, &o.output_padding, o.groups, &o.dilation)
}

/// The largest element of each window of the last dimension.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool1d(x: &Tensor, window: &Window) -> Result<Tensor> {
    max_pool1d_with_indices(x, window).map(|(values, _)| values)
}

/// The largest element of each window of the last two dimensions.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool2d(x: &Tensor, window: &Window) -> Result<Tensor> {
    max_pool2d_with_indices(x, window).map(|(values, _)| values)
}

/// The largest element of each window of the last three dimensions.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool3d(x: &Tensor, window: &Window) -> Result<Tensor> {
    max_pool3d_with_indices(x, window).map(|(values, _)| values)
}

/// As [`max_pool1d`], with the positions of the elements in the last dimension, counted in row-major order.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool1d_with_indices(x: &Tensor, window: &Window) -> Result<(Tensor, Tensor)> {
    let w = window;
    pair(pool::max_pool1d(x, &w.size, w.stride.as_deref(), &w.padding, &w.dilation, w.ceil_mode, true)?)
}

/// As [`max_pool2d`], with the positions of the elements in the last two dimensions, counted in row-major order.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool2d_with_indices(x: &Tensor, window: &Window) -> Result<(Tensor, Tensor)> {
    let w = window;
    pair(pool::max_pool2d(x, &w.size, w.stride.as_deref(), &w.padding, &w.dilation, w.ceil_mode, true)?)
}

/// As [`max_pool3d`], with the positions of the elements in the last three dimensions, counted in row-major order.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn max_pool3d_with_indices(x: &Tensor, window: &Window) -> Result<(Tensor, Tensor)> {
    let w = window;
    pair(pool::max_pool3d(x, &w.size, w.stride.as_deref(), &w.padding, &w.dilation, w.ceil_mode, true)?)
}

/// Zeros, and the elements of `x` at the positions that [`max_pool1d_with_indices`] gave; of `sizes`, which by default follow
/// from the window.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn max_unpool1d(x: &Tensor, indices: &Tensor, window: &Window, sizes: Option<&[i64]>) -> Result<Tensor> {
    let w = window;
    unpool::max_unpool1d(x, indices, &w.size, w.stride.as_deref(), &w.padding, sizes)
}

/// Zeros, and the elements of `x` at the positions that [`max_pool2d_with_indices`] gave; of `sizes`, which by default follow
/// from the window.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn max_unpool2d(x: &Tensor, indices: &Tensor, window: &Window, sizes: Option<&[i64]>) -> Result<Tensor> {
    let w = window;
    unpool::max_unpool2d(x, indices, &w.size, w.stride.as_deref(), &w.padding, sizes)
}

/// Zeros, and the elements of `x` at the positions that [`max_pool3d_with_indices`] gave; of `sizes`, which by default follow
/// from the window.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn max_unpool3d(x: &Tensor, indices: &Tensor, window: &Window, sizes: Option<&[i64]>) -> Result<Tensor> {
    let w = window;
    unpool::max_unpool3d(x, indices, &w.size, w.stride.as_deref(), &w.padding, sizes)
}

/// The mean of each window of the last dimension.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn avg_pool1d(x: &Tensor, window: &Window) -> Result<Tensor> {
    let w = window;
    pool::avg_pool1d(x, &w.size, w.stride.as_deref(), &w.padding, w.ceil_mode, w.count_include_pad)
}

/// The mean of each window of the last two dimensions.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn avg_pool2d(x: &Tensor, window: &Window) -> Result<Tensor> {
    let w = window;
    pool::avg_pool2d(x, &w.size, w.stride.as_deref(), &w.padding, w.ceil_mode, w.count_include_pad, None)
}

/// The mean of each window of the last three dimensions.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn avg_pool3d(x: &Tensor, window: &Window) -> Result<Tensor> {
    let w = window;
    pool::avg_pool3d(x, &w.size, w.stride.as_deref(), &w.padding, w.ceil_mode, w.count_include_pad, None)
}

/// The means of as many windows of the last dimension as `sizes` says.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_avg_pool1d(x: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    pool::adaptive_avg_pool1d(x, &ints(sizes))
}

/// The means of as many windows of the last two dimensions as `sizes` says.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_avg_pool2d(x: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    pool::adaptive_avg_pool2d(x, &ints(sizes))
}

/// The means of as many windows of the last three dimensions as `sizes` says.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_avg_pool3d(x: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    pool::adaptive_avg_pool3d(x, &ints(sizes))
}

/// The largest elements of as many windows of the last dimension as `sizes` says, and their positions.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_max_pool1d(x: &Tensor, sizes: &[i64]) -> Result<(Tensor, Tensor)> {
    pair(pool::adaptive_max_pool1d(x, &ints(sizes), true)?)
}

/// The largest elements of as many windows of the last two dimensions as `sizes` says, and their positions.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_max_pool2d(x: &Tensor, sizes: &[i64]) -> Result<(Tensor, Tensor)> {
    pair(pool::adaptive_max_pool2d(x, &ints(sizes), true)?)
}

/// The largest elements of as many windows of the last three dimensions as `sizes` says, and their positions.
///
/// # Errors
/// `Runtime` if there are other sizes than dimensions.
pub fn adaptive_max_pool3d(x: &Tensor, sizes: &[i64]) -> Result<(Tensor, Tensor)> {
    pair(pool::adaptive_max_pool3d(x, &ints(sizes), true)?)
}

/// The windows of [N, C, H, W] as columns, [N, C · window, windows]; N may be missing.
///
/// # Errors
/// `Runtime` if no window fits.
pub fn unfold(x: &Tensor, window: &Window) -> Result<Tensor> {
    let w = window;
    patches::unfold(x, &w.size, &w.dilation, &w.padding, w.stride.as_deref().unwrap_or(&[1]))
}

/// The transpose of [`unfold`]: windows are added up in images of these sizes.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn fold(x: &Tensor, sizes: &[i64], window: &Window) -> Result<Tensor> {
    let w = window;
    patches::fold(x, sizes, &w.size, &w.dilation, &w.padding, w.stride.as_deref().unwrap_or(&[1]))
}

fn ints(values: &[i64]) -> Value {
    Value::Ints(values.iter().copied().collect())
}

/// The two tensors of a result.
fn pair(value: Value) -> Result<(Tensor, Tensor)> {
    let items = match value {
        Value::Tuple(items) | Value::List(items) => items,
        Value::Named(named) => named.items,
        other => vec![other],
    };
    match <[Value; 2]>::try_from(items) {
        Ok([Value::Tensor(a), Value::Tensor(b)]) => Ok((a, b)),
        _ => Err(Error::internal("expected two tensors")),
    }
}
