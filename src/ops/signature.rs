//! What an entry declares about its arguments: `dim: i64 as Dim` is an integer to the caller and a checked dimension to
//! the body. Each kind says what is wrong in one sentence, and the name of the operator is put before it at one place.

use super::entry::Flags;
use super::value::{Operand, Value};
use crate::base::promote::default_float;
use crate::base::shape::{wrap_argument, wrap_arguments, wrap_dims};
use crate::base::{DType, Error, Result, Scalar};
use crate::core::Tensor;
use crate::core::params::{Dims, Parameters};
use crate::dense::random::Generator;
use crate::rules::basis;
use std::sync::Arc;

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
    /// The first, empty ones of one dimension aside: these may be joined with tensors of any rank.
    fn subject(&self) -> Option<&Tensor> {
        self.iter().find(|t| t.shape()[..] != [0]).or(self.first()).copied()
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
macro_rules! no_subject {
    ($($t:ty),*) => {$(
        impl Subject for $t {
            fn subject(&self) -> Option<&Tensor> {
                None
            }
        }
    )*};
}
no_subject!(&[i64], i64, Scalar, &Value);

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

/// The name of a kind, by which the list of entries tells what a parameter is declared to be.
pub trait KindOf {
    const NAME: &'static str;
}
impl<K: KindOf> KindOf for Option<K> {
    const NAME: &'static str = K::NAME;
}
macro_rules! kinds {
    ($($kind:ident)*) => {$(
        impl KindOf for $kind {
            const NAME: &'static str = stringify!($kind);
        }
    )*};
}
kinds! {
    AllDimensions Dim DimOrOther Dimensions FilledMembers FloatDType Floats GivenGenerator IndexTensor IndexVector
    Inplace JoinDim Integers IndexOrEmpty Matrices MemberDim NewDim OrBatchMean Ordered Inexact Probability Reduced
    ReductionMode RequiresGrad SomeDimensions SplitDim Square Stacked
}
impl<const N: usize> KindOf for Ranked<N> {
    const NAME: &'static str = "Ranked";
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

#[cold]
fn no_tensors(kind: crate::base::Kind) -> Error {
    refused(kind, format_args!("expected a non-empty list of Tensors; give one at least"))
}

/// The place of a dimension that the result has and the first tensor has not.
pub enum NewDim {}
impl Declared<i64> for NewDim {
    type Checked = usize;
    #[inline]
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        let Some(first) = at.subject else { return Err(no_tensors(crate::base::Kind::Runtime)) };
        wrap_argument(HERE, at.name, dim, first.rank().saturating_add(1))
    }
}

fn without_dimensions(kind: crate::base::Kind, at: Place<'_>) -> Error {
    refused(
        kind,
        format_args!(
            "argument '{}': expects at least a 1-dimensional tensor, but it has no dimensions; give it one with \
             unsqueeze(0)",
            at.name
        ),
    )
}

/// A dimension that a tensor is cut along: one without dimensions has none.
pub enum SplitDim {}
impl Declared<i64> for SplitDim {
    type Checked = usize;
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        match at.subject.map(Tensor::rank) {
            None => Err(no_tensors(crate::base::Kind::Value)),
            Some(0) => Err(without_dimensions(crate::base::Kind::Runtime, at)),
            Some(rank) => wrap_argument(HERE, at.name, dim, rank),
        }
    }
}

/// A dimension that tensors are joined along. Those of one dimension without elements, which join with all, have any.
pub enum JoinDim {}
impl Declared<i64> for JoinDim {
    type Checked = usize;
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        if at.subject.is_some_and(|t| t.shape()[..] == [0]) { Ok(0) } else { SplitDim::check(dim, at) }
    }
}

/// A dimension whose members are counted: one that a tensor without dimensions lacks.
pub enum MemberDim {}
impl Declared<i64> for MemberDim {
    type Checked = usize;
    fn check(dim: i64, at: Place<'_>) -> Result<usize> {
        let d = wrap_argument(HERE, at.name, dim, at.rank())?;
        if at.rank() == 0 { Err(without_dimensions(crate::base::Kind::Index, at)) } else { Ok(d) }
    }
}
/// Such dimensions, which may be named twice.
impl Declared<&[i64]> for MemberDim {
    type Checked = Dims;
    fn check(dims: &[i64], at: Place<'_>) -> Result<Dims> {
        dims.iter().map(|&d| <MemberDim as Declared<i64>>::check(d, at)).collect()
    }
}

/// All dimensions of the first tensor, each once, in some order.
pub enum AllDimensions {}
impl Declared<&[i64]> for AllDimensions {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: Place<'_>) -> Result<Dims> {
        if dims.len() != at.rank() {
            refuse!(
                Runtime,
                "argument '{}': number of dimensions in the tensor input does not match the length of the desired \
                 ordering of dimensions: input.dim() = {} is not equal to len({}) = {}; name each dimension once",
                at.name,
                at.rank(),
                at.name,
                dims.len()
            );
        }
        wrap_arguments(HERE, at.name, dims, at.rank())
    }
}

/// One dimension of the first tensor, another tensor, or neither: what `max` and `min` take.
pub enum DimOrOther {}
pub enum DimOrTensor<'a> {
    Neither,
    Dim(usize),
    Other(&'a Tensor),
}
impl<'a> Declared<&'a Value> for DimOrOther {
    type Checked = DimOrTensor<'a>;
    fn check(v: &'a Value, at: Place<'_>) -> Result<DimOrTensor<'a>> {
        match v {
            Value::None | Value::Missing => Ok(DimOrTensor::Neither),
            Value::Tensor(other) => Ok(DimOrTensor::Other(other)),
            v => match super::reduce::dims_of(v)?.as_deref() {
                Some(&[dim]) => Ok(DimOrTensor::Dim(wrap_argument(HERE, at.name, dim, at.rank())?)),
                _ => refuse!(Type, "argument '{}' must be one int", at.name),
            },
        }
    }
}

/// Different dimensions of the first tensor, or None, from a value of any kind.
pub enum SomeDimensions {}
impl Declared<&Value> for SomeDimensions {
    type Checked = Option<Dims>;
    fn check(v: &Value, at: Place<'_>) -> Result<Option<Dims>> {
        super::reduce::dims_of(v)?.map(|d| wrap_arguments(HERE, at.name, &d, at.rank())).transpose()
    }
}

/// What the host language does with the result: makes it a leaf that requires grad, or writes it into the first argument.
pub enum RequiresGrad {}
pub enum Inplace {}
impl Declared<bool> for RequiresGrad {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: Place<'_>) -> Result<bool> {
        Ok(asked)
    }
}
impl Declared<bool> for Inplace {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: Place<'_>) -> Result<bool> {
        Ok(asked)
    }
}

/// The generator of a draw; the default one if none is given.
pub enum GivenGenerator {}
impl<'a> Declared<Option<&'a Arc<dyn Parameters>>> for GivenGenerator {
    type Checked = Option<&'a Arc<dyn Parameters>>;
    #[inline]
    fn check(given: Option<&'a Arc<dyn Parameters>>, at: Place<'_>) -> Result<Self::Checked> {
        if given.is_some_and(|g| !g.as_any().is::<Generator>()) {
            refuse!(Type, "argument '{}' must be a Generator; make one with pullback.Generator()", at.name);
        }
        Ok(given)
    }
}

/// Different dimensions of the first tensor.
pub enum Dimensions {}
impl Declared<&[i64]> for Dimensions {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: Place<'_>) -> Result<Dims> {
        wrap_arguments(HERE, at.name, dims, at.rank())
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

impl Declared<&Value> for Reduced {
    type Checked = Dims;
    fn check(v: &Value, at: Place<'_>) -> Result<Dims> {
        reduced(super::reduce::dims_of(v)?.as_deref(), at.rank())
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
fn no_indices(kind: crate::base::Kind, want: &str, t: &Tensor, name: &str) -> Error {
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
    if t.dtype() == DType::I64 { Ok(t) } else { Err(no_indices(crate::base::Kind::Runtime, "int64", t, name)) }
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
        if is_index(t) { Ok(t) } else { Err(no_indices(crate::base::Kind::Runtime, "int32 or int64", t, at.name)) }
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
            return Err(no_indices(crate::base::Kind::Index, "int32 or int64", t, at.name));
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
