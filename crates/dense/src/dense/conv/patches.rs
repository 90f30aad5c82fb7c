//! Windows of planes as columns, kept: unfold, and its transpose fold.

use super::columns::{add_row, gather_row};
use super::element::Product;
use super::params::ConvParams;
use super::{by_dtype, copy};
use crate::base::{DType, Element, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::parallel::{self, Shared};
use crate::{bail, match_dtype};
use num_complex::Complex;

/// The leading dimensions, if the last ones are these.
fn lead(op: &str, shape: &Shape, last: &[usize]) -> Result<Shape> {
    match shape.rank().checked_sub(last.len()) {
        Some(l) if shape[l..] == *last => Ok(Shape::new(&shape[..l])),
        _ => bail!(Internal, "{op}(): a tensor of shape {shape} where the last dimensions should be {last:?}"),
    }
}

/// The shape of [`unfold`].
pub fn unfold_shape(x: &Shape, p: &ConvParams) -> Result<Shape> {
    Ok(lead("unfold", x, &p.input[3 - p.rank..])?.append(p.taps()).append(p.out_pixels()))
}

/// The shape of [`fold`].
pub fn fold_shape(g: &Shape, p: &ConvParams) -> Result<Shape> {
    let lead = lead("fold", g, &[p.taps(), p.out_pixels()])?;
    Ok(lead.iter().chain(&p.input[3 - p.rank..]).copied().collect())
}

/// From planes [..., *input] the elements that each output pixel reads: [..., kernel positions, output pixels].
pub fn unfold(x: &Array, p: &ConvParams) -> Result<Array> {
    p.check()?;
    let shape = unfold_shape(x.shape(), p)?;
    let (taps, inner, outer) = (p.taps(), p.in_pixels(), p.out_pixels());
    let planes = shape[..shape.rank() - 2].iter().product();
    let x = x.contiguous()?;
    match_dtype!(x.dtype(), T => {
        let x: &[T] = x.as_slice().unwrap_or(&[]);
        Array::build_typed::<T>(shape, |out, _| {
            let out = Shared(out);
            parallel::ranges(planes, taps * outer, &|lo, hi| {
                for plane in lo..hi {
                    let source = x[plane * inner..][..inner].as_ptr();
                    for t in 0..taps {
                        let row = out.at((plane * taps + t) * outer);
                        // SAFETY: each row of the result belongs to one task, and the source is a plane.
                        unsafe { gather_row(p, p.tap(t), source, <T as Element>::zero(), 0, outer, row) }
                    }
                }
            });
            // SAFETY: the tasks write each row.
            unsafe { Written::all() }
        })
    })
}

/// The transpose of [`unfold`]: sums of the elements at each place.
///
/// # Errors
/// `NotImplemented` for bool.
pub fn fold(g: &Array, p: &ConvParams) -> Result<Array> {
    p.check()?;
    let shape = fold_shape(g.shape(), p)?;
    let planes = g.shape()[..g.rank() - 2].iter().product();
    let dtype = g.dtype();
    let g = copy::cast(g, if dtype.is_half() { DType::F32 } else { dtype })?.contiguous()?;
    let out = by_dtype!("fold", g, g, T => sums::<T>(&g, p, planes, shape))?;
    copy::cast(&out, dtype)
}

fn sums<T: Product>(g: &Array, p: &ConvParams, planes: usize, shape: Shape) -> Result<Array> {
    let (taps, inner, outer) = (p.taps(), p.in_pixels(), p.out_pixels());
    let g: &[T] = g.as_slice().unwrap_or(&[]);
    Array::build_typed::<T>(shape, |out, _| {
        let out = Shared(out);
        parallel::ranges(planes, taps * outer + inner, &|lo, hi| {
            for plane in lo..hi {
                // SAFETY: each plane of the result belongs to one task, and the rows are those of the columns.
                unsafe {
                    std::slice::from_raw_parts_mut(out.at(plane * inner), inner).fill(T::zero());
                    for t in 0..taps {
                        let row = g[(plane * taps + t) * outer..][..outer].as_ptr();
                        add_row(p, p.tap(t), row, 0, outer, out.at(plane * inner), T::plus);
                    }
                }
            }
        });
        // SAFETY: the tasks fill each plane with zeros before they add to it.
        unsafe { Written::all() }
    })
}
