//! `jvp`: run a function on dual numbers.

use super::reverse::check_differentiable;
use crate::bail;
use crate::base::Result;
use crate::core::level::{self, Guard};
use crate::core::origin::Origin;
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor};
use crate::rules::basis;

/// A level of dual numbers.
pub struct Duals(Guard);

impl Duals {
    pub fn open(origin: Origin) -> Duals {
        Duals(level::push_dual(origin))
    }
    pub fn level(&self) -> LevelId {
        self.0.id()
    }
    /// A dual number.
    ///
    /// # Errors
    /// `Runtime` if dtypes or shapes differ, or the dtype is not differentiable.
    pub fn lift(&self, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
        check_differentiable("jvp", primal)?;
        if primal.shape() != tangent.shape() || primal.dtype() != tangent.dtype() {
            bail!(
                Runtime,
                "jvp(): primal and tangent must have the same shape and dtype, got {} {} and {} {}",
                primal.dtype(),
                primal.shape(),
                tangent.dtype(),
                tangent.shape()
            );
        }
        Ok(Tensor::dual(self.level(), primal.clone(), tangent.clone()))
    }
    /// Primal and tangent of an output; `None` if it does not depend on the inputs.
    pub fn lower(&self, y: &Tensor) -> (Tensor, Option<Tensor>) {
        match y.payload_at(self.level()) {
            Some(Payload::Dual { primal, tangent }) => (primal.clone(), Some(tangent.clone())),
            _ => (y.clone(), None),
        }
    }
}

/// The outputs of `f` and their directional derivatives.
///
/// ```
/// use pullback::{Tensor, jvp};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let t = Tensor::from_slice([2], &[1.0, 0.0])?;
/// let (y, dy) = jvp(|x| Ok(vec![x[0].mul(&x[0])?]), &[x], &[t])?;
/// assert_eq!(dy[0].to_vec::<f64>()?, [2.0, 0.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jvp(
    f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    primals: &[Tensor],
    tangents: &[Tensor],
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    if primals.len() != tangents.len() {
        bail!(Runtime, "jvp(): got {} primals and {} tangents", primals.len(), tangents.len());
    }
    let duals = Duals::open(Origin::UNKNOWN);
    let lifted: Vec<Tensor> = primals.iter().zip(tangents).map(|(p, t)| duals.lift(p, t)).collect::<Result<_>>()?;
    let outputs = f(&lifted)?;
    drop(lifted);
    let mut result = (Vec::new(), Vec::new());
    for y in &outputs {
        let (p, t) = duals.lower(y);
        result.1.push(t.map_or_else(|| basis::zeros_like(&p), Ok)?);
        result.0.push(p);
    }
    Ok(result)
}
