//! Determinants.

use super::adjugate::adjugate;
use super::decompositions::inverse;
use crate::base::{Element, Error, ErrorKind, Result, Shape};
use crate::core::origin::at_here;
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Primitive, Tensor, call_many};
use crate::dense::linalg as kernels;
use crate::dense::{Array, copy};
use crate::rules::basis::{self, add, cast, conj, mul, number, scale, sub, swap_last, where_};
use crate::rules::{Matrix, shapes};
use num_complex::Complex;
use smallvec::smallvec;

/// One number for each matrix.
fn each(a: &[Meta]) -> Result<Meta> {
    let a = shapes::first(a)?;
    Ok(Meta { dtype: a.dtype, shape: kernels::shapes::of_square("linalg.lu_factor", a.form())? })
}

/// Sign and logarithm of the absolute value of the determinant.
pub(super) static SLOGDET: Matrix = Matrix {
    name: "linalg.slogdet",
    infer: |_, a| {
        let sign = each(a)?;
        Ok(smallvec![sign.clone(), Meta { dtype: sign.dtype.real(), shape: sign.shape }])
    },
    eval: |_, a| {
        let (sign, log, _) = factors(a[0].array()?)?;
        Ok(smallvec![sign.into(), log.into()])
    },
    reads: Saves { inputs: 1, outputs: 1 },
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let change = trace_of_product(&inverse(point.input(0)?)?, da)?;
        if !change.dtype().is_complex() {
            return Ok(smallvec![None, Some(change)]);
        }
        let turn = scale(&sub(&change, &conj(&change)?)?, 0.5)?;
        Ok(smallvec![Some(mul(&turn, point.output(0)?)?), Some(cast(&change, change.dtype().real())?)])
    },
    fault: |e| match e.kind() {
        ErrorKind::LinAlg => Error::linalg(format!(
            "linalg.slogdet: 'logabsdet' has no derivative for a singular matrix, where it is -inf{}; regularise the \
             matrix, or differentiate linalg.det",
            at_here()
        )),
        _ => e,
    },
};

/// The determinant: `d det(A) = tr(adj(A) dA)`.
pub(super) static DET: Matrix = Matrix {
    name: "linalg.det",
    infer: |_, a| Ok(smallvec![each(a)?]),
    eval: |_, a| Ok(smallvec![factors(a[0].array()?)?.2.into()]),
    reads: Saves { inputs: 1, outputs: 0 },
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(trace_of_product(&adjugate(point.input(0)?)?, da)?)])
    },
    fault: |e| e,
};

/// `tr(A B)`
fn trace_of_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    basis::sum(&mul(&swap_last(a)?, b)?, &[a.rank() - 2, a.rank() - 1], false)
}

/// A number on the diagonal of a triangular factor.
trait Pivot: Element {
    const ONE: Self;
    fn size(self) -> f64;
    fn times(self, other: Self) -> Self;
    fn over(self, size: f64) -> Self;
    /// Without the sign of a zero.
    fn unsigned(self) -> Self;
}

impl Pivot for f64 {
    const ONE: f64 = 1.0;
    fn size(self) -> f64 {
        self.abs()
    }
    fn times(self, other: f64) -> f64 {
        self * other
    }
    fn over(self, size: f64) -> f64 {
        self / size
    }
    fn unsigned(self) -> f64 {
        self + 0.0
    }
}

impl Pivot for Complex<f64> {
    const ONE: Complex<f64> = Complex { re: 1.0, im: 0.0 };
    fn size(self) -> f64 {
        self.norm()
    }
    fn times(self, other: Complex<f64>) -> Complex<f64> {
        self * other
    }
    fn over(self, size: f64) -> Complex<f64> {
        self / size
    }
    fn unsigned(self) -> Complex<f64> {
        self + Complex::new(0.0, 0.0)
    }
}

/// Sign, logarithm of the absolute value, and value of the determinants.
fn factors(a: &Array) -> Result<(Array, Array, Array)> {
    let (packed, pivots, _) = kernels::lu(a)?;
    factors_of(&packed, &pivots)
}

/// The same from a triangular decomposition.
pub(super) fn factors_of(packed: &Array, pivots: &Array) -> Result<(Array, Array, Array)> {
    if packed.dtype().is_complex() { products::<Complex<f64>>(packed, pivots) } else { products::<f64>(packed, pivots) }
}

fn products<T: Pivot>(packed: &Array, pivots: &Array) -> Result<(Array, Array, Array)> {
    let n = packed.shape()[packed.rank() - 1];
    let lead = Shape::new(&packed.shape()[..packed.rank() - 2]);
    let (lu, pivots): (Vec<T>, Vec<i32>) = (copy::cast(packed, <T as Element>::DTYPE)?.to_vec()?, pivots.to_vec()?);
    let (mut signs, mut logs, mut dets) = (Vec::new(), Vec::new(), Vec::new());
    for b in 0..lead.numel() {
        let (mut sign, mut log, mut det) = (T::ONE, 0.0, T::ONE);
        let swapped = T::ONE.over(-1.0).unsigned();
        for i in 0..n {
            let d = lu[b * n * n + i * n + i];
            let d = if pivots[b * n + i] as usize != i + 1 { d.times(swapped) } else { d };
            let size = d.size();
            sign = sign.times(if size == 0.0 { d } else { d.over(size) });
            log += size.ln();
            det = det.times(d);
        }
        // The product may leave the range on its way although the result is in it.
        let lost = !det.size().is_normal() && sign.size() != 0.0;
        dets.push(if lost { sign.over((-log).exp()) } else { det.unsigned() });
        signs.push(sign);
        logs.push(log);
    }
    let make = |v: &[T]| copy::cast(&Array::from_slice(lead.clone(), v)?, packed.dtype());
    let logs = copy::cast(&Array::from_slice(lead.clone(), &logs)?, packed.dtype().real())?;
    Ok((make(&signs)?, logs, make(&dets)?))
}

/// The logarithm of the determinant; NaN where that is negative.
pub(super) fn logarithm(a: &Tensor) -> Result<Tensor> {
    let outs = call_many(Prim::Static(&SLOGDET), &Params::None, &[a])?;
    let (sign, log) = (&outs[0], &outs[1]);
    if sign.dtype().is_complex() {
        return add(&super::unary::log(sign)?, &cast(log, sign.dtype())?);
    }
    where_(&super::compare::eq(sign, -1.0)?, &number(log, f64::NAN), log)
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&SLOGDET, &DET];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
