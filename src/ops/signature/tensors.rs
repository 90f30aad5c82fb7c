//! Kinds of tensors and dtypes.

use super::{ArgumentPlace, Declared, KindOf, kinds, of_dtype, refused};
use crate::base::promote::default_float;
use crate::base::{DType, Error, Result};
use crate::core::Tensor;
use crate::ops::value::Operand;
use crate::rules::basis;

kinds! {
    ComplexNumbers FilledMembers FloatDType Floats FullFloats IndexOrEmpty IndexTensor IndexVector Inexact InexactDType Integers Mask Matrices
    NoBools NormDType Ordered OrderedNumbers SameDType Single Square
}
impl<const LEAST: usize, const MOST: usize> KindOf for Ranks<LEAST, MOST> {
    const NAME: &'static str = "Ranks";
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
    fn check(x: &'a Tensor, _: ArgumentPlace<'_>) -> Result<&'a Tensor> {
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
    fn check(x: &'a Tensor, _: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        let d = x.dtype();
        if d.is_differentiable() { Ok(x) } else { Err(unsupported(d, to_floats(d))) }
    }
}

/// A tensor of complex numbers.
pub enum ComplexNumbers {}
impl<'a> Declared<&'a Tensor> for ComplexNumbers {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if x.dtype().is_complex() { Ok(x) } else { Err(not_complex(x.dtype())) }
    }
}
#[cold]
fn not_complex(d: DType) -> Error {
    refused(
        crate::base::ErrorKind::Runtime,
        format_args!("only supports complex tensors, but got {d}; convert it with .cfloat() or .cdouble()"),
    )
}

/// A tensor of floats that complex numbers have as parts: float32 or float64.
pub enum FullFloats {}
impl<'a> Declared<&'a Tensor> for FullFloats {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if !matches!(x.dtype(), DType::F32 | DType::F64) {
            refuse!(
                Runtime,
                "expected dtype float32 or float64 for argument '{}', but got {}; convert it with .float() or .double()",
                at.name,
                x.dtype()
            );
        }
        Ok(x)
    }
}

/// A number, or a tensor of one without dimensions.
pub enum Single {}
impl<'a> Declared<Operand<'a>> for Single {
    type Checked = Operand<'a>;
    #[inline]
    fn check(x: Operand<'a>, at: ArgumentPlace<'_>) -> Result<Operand<'a>> {
        match x {
            Operand::Tensor(t) if t.rank() > 0 => refuse!(
                Runtime,
                "argument '{}' must be a number or a 0-dimensional tensor, but it has {} dimension(s); give one element",
                at.name,
                t.rank()
            ),
            x => Ok(x),
        }
    }
}

/// The tensor, if it is one of real floats.
#[inline]
pub fn real_values(x: &Tensor) -> Result<&Tensor> {
    if x.dtype().is_float() { Ok(x) } else { Err(not_real(x.dtype(), "convert it with .float() or .double()")) }
}
/// The dtype to compute a norm in, as asked for or as the first tensor has it: floats, or complex numbers of complex ones.
pub enum NormDType {}
impl Declared<Option<DType>> for NormDType {
    type Checked = DType;
    #[inline]
    fn check(dtype: Option<DType>, at: ArgumentPlace<'_>) -> Result<DType> {
        let d = natural(dtype, at);
        if !d.is_differentiable() {
            return Err(not_real(d, "give dtype, such as dtype=float32"));
        }
        let complex = at.subject.is_some_and(|x| x.dtype().is_complex());
        if d.is_complex() != complex {
            let kind = if complex { "complex" } else { "real" };
            refuse!(
                Runtime,
                "dtype should be {kind} for {kind} inputs, but got {d}; give such a dtype, or convert the input"
            );
        }
        Ok(d)
    }
}
#[cold]
fn not_real(d: DType, hint: &str) -> Error {
    if d.is_complex() {
        return unsupported(d, to_floats(d));
    }
    refused(crate::base::ErrorKind::Runtime, format_args!("only supports floating point tensors, but got {d}; {hint}"))
}

/// The dtype that was asked for, or that of the tensor that the operator is about.
fn natural(dtype: Option<DType>, at: ArgumentPlace<'_>) -> DType {
    dtype.or(at.subject.map(Tensor::dtype)).unwrap_or_else(default_float)
}

/// The dtype to compute in, as asked for or as the first tensor has it: floats or complex numbers.
pub enum InexactDType {}
impl Declared<Option<DType>> for InexactDType {
    type Checked = DType;
    #[inline]
    fn check(dtype: Option<DType>, at: ArgumentPlace<'_>) -> Result<DType> {
        let d = natural(dtype, at);
        if !d.is_differentiable() {
            refuse!(
                Runtime,
                "could not infer output dtype. Input dtype must be either a floating point or complex dtype, got {d}; \
                 give dtype, such as dtype=float32"
            );
        }
        Ok(d)
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

/// A tensor whose elements have an order: any but complex ones.
pub enum Ordered {}
impl<'a> Declared<&'a Tensor> for Ordered {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if x.dtype().is_complex() {
            Err(unsupported(x.dtype(), ": they have no order; order their abs(), .real or .imag"))
        } else {
            Ok(x)
        }
    }
}

/// The same, and no bools.
pub enum OrderedNumbers {}
impl<'a> Declared<&'a Tensor> for OrderedNumbers {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        no_bools(crate::base::ErrorKind::NotImplemented, x.dtype())?;
        Ordered::check(x, at)
    }
}

/// A tensor of any dtype but bool.
pub enum NoBools {}
impl<'a> Declared<&'a Tensor> for NoBools {
    type Checked = &'a Tensor;
    #[inline]
    fn check(x: &'a Tensor, _: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        no_bools(crate::base::ErrorKind::Runtime, x.dtype()).map(|()| x)
    }
}
/// An error for bools, of PyTorch's kind for the operator.
#[inline]
pub fn no_bools(kind: crate::base::ErrorKind, dtype: DType) -> Result<()> {
    if dtype != DType::Bool {
        return Ok(());
    }
    Err(refused(kind, format_args!("not implemented for bool tensors; convert them with .int() or .float()")))
}

/// A tensor of bools.
pub enum Mask {}
impl<'a> Declared<&'a Tensor> for Mask {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if t.dtype() == DType::Bool { Ok(t) } else { Err(no_mask(at.name, t.dtype())) }
    }
}
/// The error for a mask of another dtype.
#[cold]
pub fn no_mask(name: &str, d: DType) -> Error {
    refused(
        crate::base::ErrorKind::Runtime,
        format_args!(
            "only supports boolean masks, expected BoolTensor for {name}: argument '{name}' must be a tensor of bools, but \
             got {d}; convert it with {name}.bool()"
        ),
    )
}

/// A tensor, or a number, of the dtype of the tensor that the operator is about.
pub enum SameDType {}
impl<'a> Declared<&'a Tensor> for SameDType {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        of_dtype(at.name, t, at.subject.map_or(t.dtype(), Tensor::dtype))
    }
}
impl<'a> Declared<Operand<'a>> for SameDType {
    type Checked = Operand<'a>;
    #[inline]
    fn check(x: Operand<'a>, at: ArgumentPlace<'_>) -> Result<Operand<'a>> {
        match x {
            Operand::Tensor(t) => SameDType::check(t, at).map(Operand::Tensor),
            number => Ok(number),
        }
    }
}

/// The dtype of numbers that are drawn: a float, the default one if none is given.
pub enum FloatDType {}
impl Declared<Option<DType>> for FloatDType {
    type Checked = DType;
    #[inline]
    fn check(dtype: Option<DType>, _: ArgumentPlace<'_>) -> Result<DType> {
        float_dtype(dtype)
    }
}
/// The dtype of numbers that are drawn.
#[inline]
pub fn float_dtype(dtype: Option<DType>) -> Result<DType> {
    let d = dtype.unwrap_or_else(default_float);
    if d.is_differentiable() { Ok(d) } else { Err(unsupported(d, "; draw floats and convert them with .to()")) }
}

/// Matrices of floats or complex numbers that linear algebra decomposes, in the last two dimensions.
pub enum Matrices {}
impl<'a> Declared<&'a Tensor> for Matrices {
    type Checked = &'a Tensor;
    fn check(a: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        let name = at.name;
        if a.rank() < 2 {
            refuse!(
                Runtime,
                "The input tensor {name} must have at least 2 dimensions, but has shape {}; give matrices in the last two",
                a.shape()
            );
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
    fn check(a: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
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

/// A tensor with so many dimensions.
pub enum Ranks<const LEAST: usize, const MOST: usize> {}
pub type Ranked<const N: usize> = Ranks<N, N>;
pub type AtLeast<const N: usize> = Ranks<N, { usize::MAX }>;
pub type AtMost<const N: usize> = Ranks<0, N>;
impl<'a, const LEAST: usize, const MOST: usize> Declared<&'a Tensor> for Ranks<LEAST, MOST> {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if (LEAST..=MOST).contains(&t.rank()) { Ok(t) } else { Err(other_rank(at.name, t, LEAST, MOST)) }
    }
}
/// A tensor with so many dimensions, where the operator knows how many.
#[inline]
pub fn of_rank<'a>(name: &str, t: &'a Tensor, least: usize, most: usize) -> Result<&'a Tensor> {
    if (least..=most).contains(&t.rank()) { Ok(t) } else { Err(other_rank(name, t, least, most)) }
}
#[cold]
fn other_rank(name: &str, t: &Tensor, least: usize, most: usize) -> Error {
    let want = match (least, most) {
        (least, usize::MAX) => format!("have at least {least} dimension{}", if least == 1 { "" } else { "s" }),
        (0, most) => format!("have at most {most} dimensions"),
        (least, most) if least == most => format!("be a {least}D tensor"),
        (least, most) if most == least.saturating_add(1) => format!("be a {least}D or {most}D tensor"),
        (least, most) => format!("be a {least}D to {most}D tensor"),
    };
    let how = match t.rank() < least {
        true => "add dimensions with unsqueeze()",
        false => "take dimensions away with squeeze(), flatten() or indices",
    };
    let (rank, shape) = (t.rank(), t.shape());
    let short = match (name, most) {
        ("input", usize::MAX) => format!("Input must be >= {least}-d: "),
        _ => String::new(),
    };
    refused(
        crate::base::ErrorKind::Runtime,
        format_args!("{short}argument '{name}' must {want}, but it is {rank}D, of shape {shape}; {how}"),
    )
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
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
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
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if is_index(t) { Ok(t) } else { Err(no_indices(crate::base::ErrorKind::Runtime, "int32 or int64", t, at.name)) }
    }
}

/// The same; an empty one, which names nothing, may have any dtype.
pub enum IndexOrEmpty {}
impl<'a> Declared<&'a Tensor> for IndexOrEmpty {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: ArgumentPlace<'_>) -> Result<&'a Tensor> {
        if t.numel() == 0 { Ok(t) } else { Integers::check(t, at) }
    }
}

/// Indices along a dimension: integers, at most 1-D, as a vector of int64. A tensor without dimensions has one element,
/// so one index.
pub enum IndexVector {}
impl Declared<&Tensor> for IndexVector {
    type Checked = Tensor;
    fn check(t: &Tensor, at: ArgumentPlace<'_>) -> Result<Tensor> {
        if t.rank() > 1 {
            refuse!(Index, "{} is supposed to be a vector, but it has {} dimensions; flatten() it", at.name, t.rank());
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
    fn check(t: &Tensor, at: ArgumentPlace<'_>) -> Result<Tensor> {
        if !is_index(t) {
            return Err(no_indices(crate::base::ErrorKind::Index, "int32 or int64", t, at.name));
        }
        if t.rank() > 1 {
            refuse!(Runtime, "{} has to be a vector/scalar, but it has {} dimensions; flatten() it", at.name, t.rank());
        }
        basis::reshape(t, &[t.numel()].into())
    }
}
/// An error unless a tensor without dimensions, which has one element, is asked for one.
pub fn one_index_if_0d(rank: usize, indices: &Tensor) -> Result<()> {
    if rank == 0 && indices.numel() != 1 {
        refuse!(
            Runtime,
            "Index to scalar can have only 1 value, got {} value(s); give the index 0 alone, or input.reshape(1)",
            indices.numel()
        );
    }
    Ok(())
}
