//! Kinds of tensors and dtypes.

use super::{Declared, KindOf, Place, kinds, refused};
use crate::base::promote::default_float;
use crate::base::{DType, Error, Result};
use crate::core::Tensor;
use crate::rules::basis;

kinds! {
    FilledMembers FloatDType Floats IndexOrEmpty IndexTensor IndexVector Inexact Integers Matrices Ordered Square Stacked
}
impl<const N: usize> KindOf for Ranked<N> {
    const NAME: &'static str = "Ranked";
}

#[cold]
fn unsupported(dtype: DType, hint: &str) -> Error {
    refused(crate::base::ErrorKind::NotImplemented, format_args!("not implemented for {dtype} tensors{hint}"))
}
fn to_floats(dtype: DType) -> &'static str {
    if dtype.is_complex() { "; take its real and imaginary part" } else { "; convert it with .float() or .double()" }
}

/// A tensor of real floats.
pub enum Floats {}
impl<'a> Declared<&'a Tensor> for Floats {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: Place<'_>) -> Result<&'a Tensor> {
        floats(x)
    }
}
/// The tensor, if it is one of real floats.
#[inline]
pub fn floats(x: &Tensor) -> Result<&Tensor> {
    if x.dtype().is_float() { Ok(x) } else { Err(unsupported(x.dtype(), to_floats(x.dtype()))) }
}

/// A tensor of floats or complex numbers.
pub enum Inexact {}
impl<'a> Declared<&'a Tensor> for Inexact {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: Place<'_>) -> Result<&'a Tensor> {
        let d = x.dtype();
        if d.is_differentiable() { Ok(x) } else { Err(unsupported(d, to_floats(d))) }
    }
}

/// The tensor in the dtype that was asked for; either is one of real floats.
pub fn in_floats(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let d = dtype.unwrap_or(x.dtype());
    if !d.is_float() {
        let hint = if d.is_complex() { to_floats(d) } else { "; give dtype, such as dtype=float32" };
        return Err(unsupported(d, hint));
    }
    basis::cast(x, d)
}

/// The same where complex numbers are as good, and where PyTorch speaks of a wrong argument.
pub fn in_inexact(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let d = dtype.unwrap_or(x.dtype());
    if !d.is_differentiable() {
        refuse!(
            Runtime,
            "could not infer output dtype. Input dtype must be either a floating point or complex dtype, got {d}; give \
             dtype, such as dtype=float32"
        );
    }
    basis::cast(x, d)
}

/// A tensor whose elements have an order: any but complex ones.
pub enum Ordered {}
impl<'a> Declared<&'a Tensor> for Ordered {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: Place<'_>) -> Result<&'a Tensor> {
        if x.dtype().is_complex() { Err(unsupported(x.dtype(), ": they have no order")) } else { Ok(x) }
    }
}

/// The dtype of numbers that are drawn: a float, the default one if none is given.
pub enum FloatDType {}
impl Declared<Option<DType>> for FloatDType {
    type Checked = DType;
    #[inline]
    fn check(dtype: Option<DType>, _: Place<'_>) -> Result<DType> {
        float_dtype(dtype)
    }
}
/// The dtype of numbers that are drawn.
#[inline]
pub fn float_dtype(dtype: Option<DType>) -> Result<DType> {
    let d = dtype.unwrap_or_else(default_float);
    if d.is_differentiable() { Ok(d) } else { Err(unsupported(d, "")) }
}

/// Matrices of floats or complex numbers that linear algebra decomposes, in the last two dimensions.
pub enum Matrices {}
impl<'a> Declared<&'a Tensor> for Matrices {
    type Checked = &'a Tensor;
    fn check(a: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        let name = at.name;
        if a.rank() < 2 {
            refuse!(Runtime, "The input tensor {name} must have at least 2 dimensions, but has shape {}.", a.shape());
        }
        let d = a.dtype();
        if d.is_half() {
            refuse!(
                Runtime,
                "Low precision dtypes not supported. Got {d} as argument '{name}'; convert it with {name}.float()"
            );
        }
        if !d.is_differentiable() {
            refuse!(
                Runtime,
                "Expected a floating point tensor as argument '{name}'. Got {d}; convert it with {name}.float() or \
                 {name}.double()"
            );
        }
        Ok(a)
    }
}

/// Square matrices of floats or complex numbers, in the last two dimensions.
pub enum Square {}
impl<'a> Declared<&'a Tensor> for Square {
    type Checked = &'a Tensor;
    fn check(a: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        Matrices::check(a, at)?;
        let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
        if m != n {
            refuse!(
                Runtime,
                "{} must be batches of square matrices, but they are {m} by {n} matrices (shape {}); give as many rows \
                 as columns in the last two dimensions",
                at.name,
                a.shape()
            );
        }
        Ok(a)
    }
}

/// A matrix, or a stack of them, of any dtype.
pub enum Stacked {}
impl<'a> Declared<&'a Tensor> for Stacked {
    type Checked = &'a Tensor;
    fn check(x: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        if x.rank() < 2 {
            refuse!(Runtime, "{} tensor must have at least 2 dimensions, but it has {}", at.name, x.rank());
        }
        Ok(x)
    }
}

/// A tensor of exactly this rank.
pub enum Ranked<const N: usize> {}
impl<'a, const N: usize> Declared<&'a Tensor> for Ranked<N> {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        if t.rank() != N {
            refuse!(Runtime, "argument '{}' must be a {N}D tensor, but it is {}D", at.name, t.rank());
        }
        Ok(t)
    }
}

#[cold]
fn no_indices(kind: crate::base::ErrorKind, want: &str, t: &Tensor, name: &str) -> Error {
    let got = t.dtype();
    refused(
        kind,
        format_args!("expected dtype {want} for argument '{name}', but got {got}; convert it with {name}.long()"),
    )
}

/// Indices of elements: int64.
pub enum IndexTensor {}
impl<'a> Declared<&'a Tensor> for IndexTensor {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        index_tensor(at.name, t)
    }
}
/// The tensor, if it is one of indices.
pub fn index_tensor<'a>(name: &str, t: &'a Tensor) -> Result<&'a Tensor> {
    if t.dtype() == DType::I64 { Ok(t) } else { Err(no_indices(crate::base::ErrorKind::Runtime, "int64", t, name)) }
}
fn is_index(t: &Tensor) -> bool {
    matches!(t.dtype(), DType::I64 | DType::I32)
}

/// Indices of elements: int32 or int64.
pub enum Integers {}
impl<'a> Declared<&'a Tensor> for Integers {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        if is_index(t) { Ok(t) } else { Err(no_indices(crate::base::ErrorKind::Runtime, "int32 or int64", t, at.name)) }
    }
}

/// The same; an empty one, which names nothing, may have any dtype.
pub enum IndexOrEmpty {}
impl<'a> Declared<&'a Tensor> for IndexOrEmpty {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        if t.numel() == 0 { Ok(t) } else { Integers::check(t, at) }
    }
}

/// Indices along a dimension: integers, at most 1-D, as a vector of int64. A tensor without dimensions has one element,
/// so one index.
pub enum IndexVector {}
impl Declared<&Tensor> for IndexVector {
    type Checked = Tensor;
    fn check(t: &Tensor, at: Place<'_>) -> Result<Tensor> {
        if t.rank() > 1 {
            refuse!(Index, "{} is supposed to be a vector, but it has {} dimensions", at.name, t.rank());
        }
        Integers::check(t, at)?;
        let indices = basis::reshape(&basis::cast(t, DType::I64)?, &[t.numel()].into())?;
        one_index_if_0d(at.rank(), &indices)?;
        Ok(indices)
    }
}
/// The same for members that are filled, where PyTorch's error is another.
pub enum FilledMembers {}
impl Declared<&Tensor> for FilledMembers {
    type Checked = Tensor;
    fn check(t: &Tensor, at: Place<'_>) -> Result<Tensor> {
        if !is_index(t) {
            return Err(no_indices(crate::base::ErrorKind::Index, "int32 or int64", t, at.name));
        }
        if t.rank() > 1 {
            refuse!(Runtime, "{} has to be a vector/scalar, but it has {} dimensions", at.name, t.rank());
        }
        basis::reshape(t, &[t.numel()].into())
    }
}
/// An error unless a tensor without dimensions, which has one element, is asked for one.
pub fn one_index_if_0d(rank: usize, indices: &Tensor) -> Result<()> {
    if rank == 0 && indices.numel() != 1 {
        refuse!(Runtime, "Index to scalar can have only 1 value, got {} value(s)", indices.numel());
    }
    Ok(())
}
