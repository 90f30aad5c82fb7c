//! `jvp`: run a function on dual numbers.

use crate::bail;
use crate::base::Result;
use crate::core::closed::taken_off;
use crate::core::level::{self, Guard};
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor};
use crate::rules::basis;
use std::borrow::Cow;

/// A level of dual numbers.
pub struct Duals(Guard);

impl Duals {
    /// # Errors
    /// `Recursion` if too many levels are open.
    #[inline]
    pub fn open(origin: Origin) -> Result<Duals> {
        level::check_room()?;
        Ok(Duals(level::push_dual(origin)))
    }
    pub fn level(&self) -> LevelId {
        self.0.id()
    }
    /// A dual number. A tangent of another floating point dtype is converted.
    ///
    /// # Errors
    /// `Value` if a dtype is not differentiable; `Runtime` if the shapes differ or the tangent of a real primal is
    /// complex.
    pub fn lift(&self, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
        let tangent = matching_tangent(primal, tangent)?;
        Ok(Tensor::dual(self.level(), primal.clone(), tangent.into_owned()))
    }
    /// Primal and tangent of an output; `None` if it does not depend on the inputs.
    pub fn lower(&self, y: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let dual = |y: &Tensor, payload: &Payload| match payload {
            Payload::Dual { primal, tangent } => Ok((primal.clone(), Some(tangent.clone()))),
            _ => Ok((y.clone(), None)),
        };
        taken_off(y, self.level(), dual, |y| Ok((y, None)))
    }
}

fn matching_tangent<'a>(primal: &Tensor, tangent: &'a Tensor) -> Result<Cow<'a, Tensor>> {
    check_dual("primal", primal)?;
    if primal.shape() != tangent.shape() {
        bail!(
            Runtime,
            "jvp(): the tangent has a different size than its primal: the primal has shape {} and the tangent has \
             shape {}{}",
            primal.shape(),
            tangent.shape(),
            at_here()
        );
    }
    if primal.dtype() == tangent.dtype() {
        return Ok(Cow::Borrowed(tangent));
    }
    check_dual("tangent", tangent)?;
    if tangent.dtype().is_complex() && !primal.dtype().is_complex() {
        bail!(
            Runtime,
            "jvp(): the tangent of a primal of dtype {} cannot have dtype {}{}",
            primal.dtype(),
            tangent.dtype(),
            at_here()
        );
    }
    Ok(Cow::Owned(basis::cast(tangent, primal.dtype())?))
}

/// An error unless the dtype can be that of a dual number's part.
pub fn check_dual(part: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_differentiable() {
        bail!(
            Value,
            "jvp(): Expected {part} to be floating point or complex, got {}{}; give a float, as in 3.0, or convert the \
             tensor with .float() or .double()",
            x.dtype(),
            at_here()
        );
    }
    Ok(())
}
