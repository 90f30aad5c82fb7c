//! Operators as methods of [`Tensor`] and as `std::ops`.

use crate::base::{Element, Result};
use crate::core::Tensor;
use crate::ops;
use crate::rules::basis;

impl Tensor {
    /// The elements in row-major order, converted to `T`. Dense tensors only: values of a live transform have none.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.array()?.to_vec()
    }
    /// The sum of all elements, 0-d.
    pub fn sum_all(&self) -> Result<Tensor> {
        basis::sum_all(self)
    }
    pub fn sin(&self) -> Result<Tensor> {
        ops::unary::sin(self)
    }
    /// `self * other`, broadcasting.
    pub fn mul(&self, other: &Tensor) -> Result<Tensor> {
        ops::arith::mul(other.into(), self.into())
    }
}
