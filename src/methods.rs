//! Methods of [`Tensor`] besides operators, which are methods by their entries: each takes what its function takes by
//! position.
//!
//! ```
//! use pullback::Tensor;
//! let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let centred = x.sub(&x.mean(&[1], true)?)?;
//! assert_eq!(centred.square()?.sum(&[1], false)?.to_vec::<f64>()?, [2.0, 2.0]);
//! assert_eq!(x.add(0.5)?.amax(&[], false)?.to_scalar()?.as_f64(), 6.5);
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::base::{DType, Element, Result, Scalar};
use crate::core::{Meta, Tensor};
use crate::ops;
use crate::ops::value::Operand;
use crate::rules::basis;
use crate::skin::print;

impl Tensor {
    /// The sum of all elements, 0-d.
    pub fn sum_all(&self) -> Result<Tensor> {
        self.sum(None, false)
    }
    /// The mean of all elements, 0-d.
    pub fn mean_all(&self) -> Result<Tensor> {
        self.mean(None, false)
    }
    /// `-self`
    #[inline]
    pub fn neg(&self) -> Result<Tensor> {
        self.negative()
    }
    /// The elements converted to another dtype.
    #[inline]
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        basis::cast(self, dtype)
    }
    /// `a` where this tensor of bools is true, `b` elsewhere; all broadcast.
    pub fn where_<'a>(&'a self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
        let (a, b) = (a.into(), b.into());
        match ops::arith::where_else(self, Some(a), Some(b))? {
            ops::Value::Tensor(t) => Ok(t),
            other => Err(crate::Error::internal(format!("where(): gave {}", other.type_name()))),
        }
    }
    /// The elements in row-major order, converted to `T`. Dense tensors only: values of a live transform have none.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.array()?.to_vec()
    }
    /// The only element, converted to `T`.
    ///
    /// # Errors
    /// `Runtime` if there is more than one, or the tensor is a value of a live transform.
    pub fn item<T: Element>(&self) -> Result<T> {
        let array = self.array()?;
        array.item()?;
        array.to_vec::<T>()?.pop().ok_or_else(|| crate::Error::internal("item(): no element"))
    }
    /// The only element, as a number of its own type.
    ///
    /// # Errors
    /// `Runtime` if there is more than one, or the tensor is a value of a live transform.
    pub fn to_scalar(&self) -> Result<Scalar> {
        self.array()?.item()
    }

    /// Zeros of this tensor's shape and dtype.
    pub fn zeros_like(&self) -> Result<Tensor> {
        basis::zeros_like(self)
    }
    /// Ones of this tensor's shape and dtype.
    pub fn ones_like(&self) -> Result<Tensor> {
        basis::ones_like(self)
    }
    /// Tensors of equal rank joined along `dim`.
    pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        ops::join::cat(tensors.to_vec(), dim)
    }
    /// Tensors of equal shape along a new dimension `dim`.
    pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        ops::join::stack(tensors.to_vec(), dim)
    }
    /// Sums of products by an equation such as `"ij,jk->ik"`.
    pub fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
        ops::einsum::einsum(equation, operands.to_vec())
    }
}

impl std::fmt::Display for Tensor {
    /// The elements as PyTorch prints them; of a value of a live transform its dtype and shape.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.dense().map(|a| print::describe(a, "tensor", &[], "")) {
            Some(Ok(text)) => f.write_str(&text),
            _ => write!(f, "tensor of {}", Meta::of(self)),
        }
    }
}
