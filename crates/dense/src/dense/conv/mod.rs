//! Convolutions of channels, as PyTorch defines them (cross-correlations), and their transposes.
//!
//! Windows are unrolled block by block into columns that stay in the cache, and multiplied. Tasks are fixed by the
//! sizes and write disjoint parts, sums run in one order, so results do not depend on the number of threads.

mod columns;
mod element;
mod params;
mod patches;
mod unrolled;

pub use params::{ConvParams, by_x};
pub use patches::{fold, fold_shape, unfold, unfold_shape};

use super::{Array, copy};
use crate::bail;
use crate::base::{DType, Error, Result, Shape, TypedShape};
use num_complex::Complex;
use unrolled::Unrolled;

/// Runs a generic body with the element type that a dtype is computed in.
macro_rules! by_dtype {
    ($op:literal, $a:expr, $b:expr, $T:ident => $body:expr) => {
        match $a.dtype() {
            DType::F32 => by_dtype!(@ f32, $T, $body),
            DType::F64 => by_dtype!(@ f64, $T, $body),
            DType::C64 => by_dtype!(@ Complex<f32>, $T, $body),
            DType::C128 => by_dtype!(@ Complex<f64>, $T, $body),
            DType::U8 => by_dtype!(@ u8, $T, $body),
            DType::I8 => by_dtype!(@ i8, $T, $body),
            DType::I16 => by_dtype!(@ i16, $T, $body),
            DType::I32 => by_dtype!(@ i32, $T, $body),
            DType::I64 => by_dtype!(@ i64, $T, $body),
            d => bail!(NotImplemented, "{}(): not implemented for {d} tensors", $op),
        }
    };
    (@ $t:ty, $T:ident, $body:expr) => {{
        type $T = $t;
        $body
    }};
}

use by_dtype;

/// Both operands, halves widened, and the dtype of the result.
fn operands(op: &str, a: &Array, b: &Array) -> Result<(Array, Array, DType)> {
    let dtype = check_dtypes(op, a.dtype(), b.dtype())?;
    let wide = if dtype.is_half() { DType::F32 } else { dtype };
    Ok((copy::cast(a, wide)?.contiguous()?, copy::cast(b, wide)?.contiguous()?, dtype))
}

/// The sizes `n, channels, out channels` if the shapes fit the parameters: x [n, c, …], w [o, c/groups, …],
/// y [n, o, …], of which two are given.
fn check(op: &str, p: &ConvParams, x: Option<&Shape>, w: Option<&Shape>, y: Option<&Shape>) -> Result<[usize; 3]> {
    p.check()?;
    let lead = |a: Option<&Shape>, i: usize| a.filter(|a| a.rank() == p.rank + 2).map(|a| a[i]);
    let n = lead(x, 0).or(lead(y, 0));
    let c = lead(x, 1).or(lead(w, 1).map(|c| c * p.groups));
    let o = lead(w, 0).or(lead(y, 1));
    let (Some(n), Some(c), Some(o)) = (n, c, o) else {
        bail!(Internal, "{op}(): operands of wrong rank for {p:?}");
    };
    let divides = p.groups > 0 && c % p.groups == 0 && o % p.groups == 0;
    let fits = |a: Option<&Shape>, shape: Shape| a.is_none_or(|a| *a == shape);
    if !divides || !fits(x, p.x_shape(n, c)) || !fits(w, p.w_shape(o, c / p.groups)) || !fits(y, p.y_shape(n, o)) {
        let shape = |a: Option<&Shape>| a.map(Shape::to_string).unwrap_or_default();
        bail!(Internal, "{op}(): shapes {} {} {} do not fit {p:?}", shape(x), shape(w), shape(y));
    }
    Ok([n, c, o])
}

/// The dtype of a result.
fn check_dtypes(op: &str, a: DType, b: DType) -> Result<DType> {
    if a != b {
        bail!(Runtime, "{op}(): expected both arguments to have the same dtype, got {a} and {b}");
    }
    if a == DType::Bool {
        return Err(of_bools(op));
    }
    Ok(a)
}

/// The error of all kernels here for bools.
#[cold]
pub fn of_bools(op: &str) -> Error {
    Error::not_implemented(format!("{op}(): not implemented for {} tensors", DType::Bool))
}

/// Dtype and shape of [`forward`].
///
/// # Errors
/// Those of [`forward`]; so for the next two.
pub fn forward_form(x: TypedShape<'_>, w: TypedShape<'_>, p: &ConvParams) -> Result<(DType, Shape)> {
    let [n, _, o] = check("conv", p, Some(x.1), Some(w.1), None)?;
    Ok((check_dtypes("conv", x.0, w.0)?, p.y_shape(n, o).checked("conv")?))
}

/// Dtype and shape of [`input_grad`].
pub fn input_grad_form(dy: TypedShape<'_>, w: TypedShape<'_>, p: &ConvParams) -> Result<(DType, Shape)> {
    let [n, c, _] = check("conv_transpose", p, None, Some(w.1), Some(dy.1))?;
    Ok((check_dtypes("conv_transpose", dy.0, w.0)?, p.x_shape(n, c).checked("conv_transpose")?))
}

/// Dtype and shape of [`weight_grad`].
pub fn weight_grad_form(x: TypedShape<'_>, dy: TypedShape<'_>, p: &ConvParams) -> Result<(DType, Shape)> {
    let [_, c, o] = check("conv_weight_grad", p, Some(x.1), None, Some(dy.1))?;
    Ok((check_dtypes("conv_weight_grad", x.0, dy.0)?, p.w_shape(o, c / p.groups).checked("conv_weight_grad")?))
}

/// The convolution of x [N, C, *input] with w [O, C/groups, *kernel]: [N, O, *output]. Here and below the result has its
/// channels behind if one of the operands has.
///
/// # Errors
/// `NotImplemented` for bool; `Internal` if shapes do not fit the parameters.
pub fn forward(x: &Array, w: &Array, p: &ConvParams) -> Result<Array> {
    let [n, c, o] = check("conv", p, Some(x.shape()), Some(w.shape()), None)?;
    let like = [x, w];
    let (x, w, dtype) = operands("conv", x, w)?;
    let out = by_dtype!("conv", x, w, T => Unrolled::<T>::new(p, n, c, o).forward(&x, &w))?;
    copy::cast(&out, dtype)?.arranged_as(&like)
}

/// The transpose of [`forward`] in x: from dy [N, O, *output] and w to [N, C, *input].
///
/// # Errors
/// As [`forward`].
pub fn input_grad(dy: &Array, w: &Array, p: &ConvParams) -> Result<Array> {
    let [n, c, o] = check("conv_transpose", p, None, Some(w.shape()), Some(dy.shape()))?;
    let like = [dy, w];
    let (dy, w, dtype) = operands("conv_transpose", dy, w)?;
    let out = by_dtype!("conv_transpose", dy, w, T => Unrolled::<T>::new(p, n, c, o).input_grad(&dy, &w))?;
    copy::cast(&out, dtype)?.arranged_as(&like)
}

/// The transpose of [`forward`] in w: from x [N, C, *input] and dy [N, O, *output] to [O, C/groups, *kernel].
///
/// # Errors
/// As [`forward`].
pub fn weight_grad(x: &Array, dy: &Array, p: &ConvParams) -> Result<Array> {
    let [n, c, o] = check("conv_weight_grad", p, Some(x.shape()), None, Some(dy.shape()))?;
    let like = [x, dy];
    let (x, dy, dtype) = operands("conv_weight_grad", x, dy)?;
    let out = by_dtype!("conv_weight_grad", x, dy, T => Unrolled::<T>::new(p, n, c, o).weight_grad(&x, &dy))?;
    copy::cast(&out, dtype)?.arranged_as(&like)
}

#[cfg(test)]
mod tests;
