//! What an entry declares about its arguments: `dim: i64 as Dim` is an integer to the caller and a checked dimension to
//! the body. Each kind says what is wrong in one sentence, and the name of the operator is put before it at one place.

use super::entry::Flags;
use super::value::{Operand, Value};
use crate::base::promote::default_float;
use crate::base::shape::{wrap_argument, wrap_dims};
use crate::base::{DType, Error, Result, Scalar};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::rules::basis;

/// Stands for the name of the operator in the text of an error, until the operator's own function puts it there.
pub const HERE: &str = "<operator>";

/// Runs the body of an operator; errors that do not know where they were made get its name.
#[inline(always)]
pub fn named<T>(path: &'static str, flags: Flags, body: impl FnOnce() -> Result<T>) -> Result<T> {
    match body() {
        Ok(out) => Ok(out),
        Err(e) => Err(name_error(path, flags, e)),
    }
}

#[cold]
#[inline(never)]
fn name_error(path: &str, flags: Flags, e: Error) -> Error {
    if path.starts_with("linalg.") {
        return e.replacing(&format!("{HERE}()"), path).replacing(HERE, path);
    }
    let short = path.rsplit_once('.').map_or(path, |(_, last)| last);
    if flags.has(Flags::INPLACE.or(Flags::NOT_FUNCTION)) && !flags.has(Flags::METHOD) {
        return e.replacing(HERE, &format!("{short}_"));
    }
    e.replacing(HERE, short)
}

/// An error of the operator whose body runs.
#[cold]
pub fn refused(kind: crate::base::Kind, text: std::fmt::Arguments<'_>) -> Error {
    Error::new(kind, format!("{HERE}(): {text}"))
}

/// The error of a part of the operator whose body runs.
#[cold]
pub fn inside(e: Error) -> Error {
    e.context(&format!("{HERE}()"))
}

/// Where an argument stands: its name, and the tensor that the operator is about.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub name: &'static str,
    pub subject: Option<&'a Tensor>,
}

impl Place<'_> {
    fn rank(self) -> usize {
        self.subject.map_or(0, Tensor::rank)
    }
}

/// A first argument, which may be the tensor that others are about.
pub trait Subject {
    fn subject(&self) -> Option<&Tensor>;
}
impl Subject for &Tensor {
    fn subject(&self) -> Option<&Tensor> {
        Some(self)
    }
}
impl Subject for Vec<&Tensor> {
    fn subject(&self) -> Option<&Tensor> {
        self.first().copied()
    }
}
impl Subject for Operand<'_> {
    fn subject(&self) -> Option<&Tensor> {
        match self {
            Operand::Tensor(t) => Some(t),
            Operand::Number(_) => None,
        }
    }
}
impl Subject for &[i64] {
    fn subject(&self) -> Option<&Tensor> {
        None
    }
}

/// A kind of argument: what a caller gives, and what the body gets.
pub trait Declared<Given> {
    type Checked;
    fn check(given: Given, at: Place<'_>) -> Result<Self::Checked>;
}

impl<G, K: Declared<G>> Declared<Option<G>> for Option<K> {
    type Checked = Option<K::Checked>;
    #[inline]
    fn check(given: Option<G>, at: Place<'_>) -> Result<Self::Checked> {
        given.map(|g| K::check(g, at)).transpose()
    }
}

/// What a method takes for a parameter of an entry: the value itself, or what stands for it without doubt.
///
/// ```
/// # use pullback::Tensor;
/// let x = Tensor::from_slice([2, 2], &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(x.sum(&[0], false)?.to_vec::<f64>()?, [4.0, 6.0]);
/// assert_eq!(x.sum(None, false)?.to_vec::<f64>()?, [10.0]);
/// assert_eq!(x.add(1)?.prod(1, false)?.to_vec::<f64>()?, [6.0, 20.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Given<'a, P: Parameter> {
    fn given(self) -> P::Of<'a>;
}

/// The type of a parameter without its lifetime: `fn(&Tensor)` stands for references to tensors of any.
pub trait Parameter {
    type Of<'a>;
}

/// What stands for a parameter type: itself, and each listed type by an expression.
macro_rules! given {
    ($($t:ty as $of:ty $(, $from:ty: $x:ident $([$n:ident])? => $out:expr)*;)*) => {$(
        impl Parameter for fn($t) {
            type Of<'a> = $of;
        }
        impl<'a> Given<'a, fn($t)> for $of {
            #[inline]
            fn given(self) -> $of {
                self
            }
        }
        $(impl<'a $(, const $n: usize)?> Given<'a, fn($t)> for $from {
            #[inline]
            fn given(self) -> $of {
                let $x = self;
                $out
            }
        })*
    )*};
}
given! {
    bool as bool;
    i64 as i64;
    f64 as f64;
    DType as DType;
    &str as &'a str;
    &Tensor as &'a Tensor;
    &Value as &'a Value;
    &[i64] as &'a [i64], &'a [i64; N]: x [N] => x;
    Scalar as Scalar, f64: x => x.into(), f32: x => x.into(), i64: x => x.into(), i32: x => x.into(), bool: x => x.into();
    Operand<'_> as Operand<'a>, &'a Tensor: x => x.into(), Scalar: x => x.into(), f64: x => x.into(), f32: x => x.into(),
        i64: x => x.into(), i32: x => x.into(), bool: x => x.into();
    Option<bool> as Option<bool>, bool: x => Some(x);
    Option<i64> as Option<i64>, i64: x => Some(x);
    Option<f64> as Option<f64>, f64: x => Some(x);
    Option<DType> as Option<DType>, DType: x => Some(x);
    Option<&str> as Option<&'a str>, &'a str: x => Some(x);
    Option<&Tensor> as Option<&'a Tensor>, &'a Tensor: x => Some(x);
    Option<&[i64]> as Option<&'a [i64]>, &'a [i64]: x => Some(x), &'a [i64; N]: x [N] => Some(x);
    Option<Operand<'_>> as Option<Operand<'a>>, &'a Tensor: x => Some(x.into()), f64: x => Some(x.into()),
        i64: x => Some(x.into()), Operand<'a>: x => Some(x);
}

/// A dimension of the first tensor, which may count from the end.
pub enum Dim {}
impl Declared<i64> for Dim {
    type Checked = usize;
    #[inline]
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        wrap_argument(HERE, at.name, dim, at.rank())
    }
}

/// The place of a dimension that the result has and the first tensor has not.
pub enum NewDim {}
impl Declared<i64> for NewDim {
    type Checked = usize;
    #[inline]
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        wrap_argument(HERE, at.name, dim, at.rank().saturating_add(1))
    }
}

/// Different dimensions of the first tensor.
pub enum Dimensions {}
impl Declared<&[i64]> for Dimensions {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: Place<'_>) -> Result<Dims> {
        wrap_dims(HERE, dims, at.rank())
    }
}

/// The dimensions that a reduction runs over: all of the first tensor if none are named.
pub enum Reduced {}
impl Declared<&[i64]> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: Place<'_>) -> Result<Dims> {
        reduced(Some(dims), at.rank())
    }
}
impl Declared<Option<&[i64]>> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dims: Option<&[i64]>, at: Place<'_>) -> Result<Dims> {
        reduced(dims, at.rank())
    }
}
impl Declared<Option<i64>> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dim: Option<i64>, at: Place<'_>) -> Result<Dims> {
        reduced(dim.as_ref().map(std::slice::from_ref), at.rank())
    }
}

/// Dimensions to reduce over: all of them if none are named. A tensor without dimensions may be asked for its first.
pub fn reduced(dims: Option<&[i64]>, rank: usize) -> Result<Dims> {
    match dims {
        None | Some([]) => Ok((0..rank).collect()),
        Some(dims) => {
            let dims = wrap_dims(HERE, dims, rank)?;
            Ok(if rank == 0 { Dims::new() } else { dims })
        }
    }
}

#[cold]
fn unsupported(dtype: DType, hint: &str) -> Error {
    refused(crate::base::Kind::NotImplemented, format_args!("not implemented for {dtype} tensors{hint}"))
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
    if x.dtype().is_float() { Ok(x) } else { Err(unsupported(x.dtype(), "")) }
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
                "{} must be batches of square matrices, but they are {m} by {n} matrices (shape {})",
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

/// Indices of elements: int64.
pub enum IndexTensor {}
impl<'a> Declared<&'a Tensor> for IndexTensor {
    type Checked = &'a Tensor;
    #[inline]
    fn check(t: &'a Tensor, at: Place<'_>) -> Result<&'a Tensor> {
        if t.dtype() != DType::I64 {
            refuse!(Runtime, "expected dtype int64 for argument '{}', but got {}", at.name, t.dtype());
        }
        Ok(t)
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
        if !matches!(t.dtype(), DType::I64 | DType::I32) {
            refuse!(Runtime, "expected dtype int32 or int64 for argument '{}', but got {}", at.name, t.dtype());
        }
        let indices = basis::reshape(&basis::cast(t, DType::I64)?, &[t.numel()].into())?;
        one_index_if_0d(at.rank(), &indices)?;
        Ok(indices)
    }
}
/// An error unless a tensor without dimensions, which has one element, is asked for one.
pub fn one_index_if_0d(rank: usize, indices: &Tensor) -> Result<()> {
    if rank == 0 && indices.numel() != 1 {
        refuse!(Runtime, "Index to scalar can have only 1 value, got {} value(s)", indices.numel());
    }
    Ok(())
}

/// What becomes of the losses of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReductionMode {
    None,
    Mean,
    Sum,
    /// The sum by the size of a batch, which `kl_div` alone knows.
    BatchMean,
}
impl ReductionMode {
    /// With PyTorch's old pair of flags, which win.
    pub fn or_flags(self, size_average: Option<bool>, reduce: Option<bool>) -> ReductionMode {
        match (size_average, reduce) {
            (None, None) => self,
            (_, Some(false)) => ReductionMode::None,
            (Some(false), _) => ReductionMode::Sum,
            _ => ReductionMode::Mean,
        }
    }
}
impl Declared<&str> for ReductionMode {
    type Checked = ReductionMode;
    fn check(mode: &str, _: Place<'_>) -> Result<ReductionMode> {
        Ok(match mode {
            "none" => ReductionMode::None,
            "mean" => ReductionMode::Mean,
            "sum" => ReductionMode::Sum,
            r => refuse!(Value, "'{r}' is not a valid value for reduction; use 'none', 'mean' or 'sum'"),
        })
    }
}

/// A [`ReductionMode`], or the mean over the members of a batch.
pub enum OrBatchMean {}
impl Declared<&str> for OrBatchMean {
    type Checked = ReductionMode;
    fn check(mode: &str, at: Place<'_>) -> Result<ReductionMode> {
        if mode == "batchmean" { Ok(ReductionMode::BatchMean) } else { ReductionMode::check(mode, at) }
    }
}

/// A chance: between 0 and 1.
pub enum Probability {}
impl Declared<f64> for Probability {
    type Checked = f64;
    #[inline]
    fn check(p: f64, at: Place<'_>) -> Result<f64> {
        probability(at.name, p)
    }
}
/// The number, if it is a chance.
pub fn probability(name: &str, p: f64) -> Result<f64> {
    if !(0.0..=1.0).contains(&p) {
        refuse!(Runtime, "expects {name} to be in [0, 1], but got {name}={p}");
    }
    Ok(p)
}

#[cfg(test)]
mod tests {
    use crate::base::DType;
    use crate::core::Tensor;
    use crate::ops;

    #[test]
    fn errors_carry_the_name_of_the_operator_once() {
        let x = Tensor::zeros([2, 3], DType::F64).unwrap();
        let e = ops::softmax::softmax(&x, 2, None).unwrap_err();
        assert!(e.message().starts_with("softmax(): argument 'dim': Dimension out of range"), "{e}");
        let e = ops::linalg::inv(&x).unwrap_err();
        assert!(e.message().starts_with("linalg.inv: A must be batches of square matrices"), "{e}");
        let e = ops::nn::activation::glu(&Tensor::scalar(DType::I64, 1), -1).unwrap_err();
        assert!(!e.message().contains(super::HERE), "{e}");
    }

    #[test]
    fn inner_operators_keep_their_own_name() {
        let (a, b) = (Tensor::zeros([2, 3], DType::F64).unwrap(), Tensor::zeros([4, 2], DType::F64).unwrap());
        let e = ops::matmul::addmm(&a, &a, &b, 1.into(), 1.into()).unwrap_err();
        assert!(e.message().starts_with("addmm(): "), "{e}");
        let e = ops::matmul::mm(&a, &b).unwrap_err();
        assert!(e.message().starts_with("mm(): mat1 and mat2 shapes"), "{e}");
    }
}
