//! Kinds of dimensions.

use super::{ArgumentPlace, Declared, HERE, KindOf, kinds, refused};
use crate::base::shape::{wrap_argument, wrap_arguments, wrap_dims};
use crate::base::{Error, Result, Scalar};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::ops::value::Value;

kinds! {
    AllDimensions Dim DimOrOther Dimensions JoinDim MemberDim NamedIfEmpty NewDim Reduced ReducedAsNamed
    ReducedOrFlag SomeDimensions SplitDim
}

/// An int, as a number or as a plain tensor of no dimensions.
pub fn int_of(v: &Value) -> Option<i64> {
    match v {
        Value::Int(i) | Value::Number(Scalar::Int(i)) => Some(*i),
        Value::Tensor(t) if t.rank() == 0 => match t.dense()?.item() {
            Ok(Scalar::Int(i)) => Some(i),
            _ => None,
        },
        _ => None,
    }
}

/// An int, a sequence of ints or None.
pub fn ints_of(name: &str, v: &Value) -> Result<Option<Ints>> {
    let int = |v: &Value| match int_of(v) {
        Some(i) => Ok(i),
        None => refuse!(Type, "argument '{name}' must be int or tuple of ints, not {}", v.type_name()),
    };
    Ok(match v {
        Value::None | Value::Missing => None,
        Value::Tuple(items) | Value::List(items) => Some(items.iter().map(int).collect::<Result<_>>()?),
        Value::Ints(v) => Some(v.clone()),
        v => Some(Ints::from_elem(int(v)?, 1)),
    })
}
pub type Ints = smallvec::SmallVec<[i64; 6]>;

/// A dimension of the first tensor, which may count from the end.
pub enum Dim {}
impl Declared<i64> for Dim {
    type Checked = usize;
    #[inline]
    fn check(dim: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        wrap_argument(HERE, at.name, dim, at.rank())
    }
}

#[cold]
fn no_tensors(kind: crate::base::ErrorKind) -> Error {
    refused(kind, format_args!("expected a non-empty list of Tensors; give one at least"))
}

/// The place of a dimension that the result has and the first tensor has not.
pub enum NewDim {}
impl Declared<i64> for NewDim {
    type Checked = usize;
    #[inline]
    fn check(dim: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        let Some(first) = at.subject else { return Err(no_tensors(crate::base::ErrorKind::Runtime)) };
        wrap_argument(HERE, at.name, dim, first.rank().saturating_add(1))
    }
}

fn without_dimensions(kind: crate::base::ErrorKind, at: ArgumentPlace<'_>) -> Error {
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
    fn check(dim: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        match at.subject.map(Tensor::rank) {
            None => Err(no_tensors(crate::base::ErrorKind::Value)),
            Some(0) => Err(without_dimensions(crate::base::ErrorKind::Runtime, at)),
            Some(rank) => wrap_argument(HERE, at.name, dim, rank),
        }
    }
}

/// A dimension that tensors are joined along. Those of one dimension without elements, which join with all, have any.
pub enum JoinDim {}
impl Declared<i64> for JoinDim {
    type Checked = usize;
    fn check(dim: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        if at.subject.is_some_and(|t| t.shape()[..] == [0]) { Ok(0) } else { SplitDim::check(dim, at) }
    }
}

/// A dimension whose members are counted: one that a tensor without dimensions lacks.
pub enum MemberDim {}
impl Declared<i64> for MemberDim {
    type Checked = usize;
    fn check(dim: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        let d = wrap_argument(HERE, at.name, dim, at.rank())?;
        if at.rank() == 0 { Err(without_dimensions(crate::base::ErrorKind::Index, at)) } else { Ok(d) }
    }
}
/// Such dimensions of a tensor, which may be named twice: for what is to be checked after other arguments.
pub fn member_dims(name: &'static str, dims: &[i64], x: &Tensor) -> Result<Dims> {
    dims.iter().map(|&d| MemberDim::check(d, ArgumentPlace { name, subject: Some(x) })).collect()
}

/// All dimensions of the first tensor, each once, in some order.
pub enum AllDimensions {}
impl Declared<&[i64]> for AllDimensions {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: ArgumentPlace<'_>) -> Result<Dims> {
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
    fn check(v: &'a Value, at: ArgumentPlace<'_>) -> Result<DimOrTensor<'a>> {
        match v {
            Value::None | Value::Missing => Ok(DimOrTensor::Neither),
            Value::Tensor(other) => Ok(DimOrTensor::Other(other)),
            v => match ints_of(at.name, v)?.as_deref() {
                Some(&[dim]) => Ok(DimOrTensor::Dim(wrap_argument(HERE, at.name, dim, at.rank())?)),
                _ => refuse!(Type, "argument '{}' must be one int; amax() and amin() take several", at.name),
            },
        }
    }
}

/// Different dimensions of the first tensor, or None, from a value of any kind.
pub enum SomeDimensions {}
impl Declared<&Value> for SomeDimensions {
    type Checked = Option<Dims>;
    fn check(v: &Value, at: ArgumentPlace<'_>) -> Result<Option<Dims>> {
        ints_of(at.name, v)?.map(|d| wrap_arguments(HERE, at.name, &d, at.rank())).transpose()
    }
}

/// Different dimensions of the first tensor.
pub enum Dimensions {}
impl Declared<&[i64]> for Dimensions {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: ArgumentPlace<'_>) -> Result<Dims> {
        wrap_arguments(HERE, at.name, dims, at.rank())
    }
}

/// The dimensions that a reduction runs over: all of the first tensor if none are named.
pub enum Reduced {}
impl Declared<&[i64]> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dims: &[i64], at: ArgumentPlace<'_>) -> Result<Dims> {
        reduced(Some(dims), at.rank())
    }
}
impl Declared<Option<&[i64]>> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dims: Option<&[i64]>, at: ArgumentPlace<'_>) -> Result<Dims> {
        reduced(dims, at.rank())
    }
}
impl Declared<Option<i64>> for Reduced {
    type Checked = Dims;
    #[inline]
    fn check(dim: Option<i64>, at: ArgumentPlace<'_>) -> Result<Dims> {
        reduced(dim.as_ref().map(std::slice::from_ref), at.rank())
    }
}

impl Declared<&Value> for Reduced {
    type Checked = Dims;
    fn check(v: &Value, at: ArgumentPlace<'_>) -> Result<Dims> {
        reduced(ints_of(at.name, v)?.as_deref(), at.rank())
    }
}

/// The same where an empty list names none.
pub enum ReducedAsNamed {}
impl Declared<Option<&[i64]>> for ReducedAsNamed {
    type Checked = Dims;
    #[inline]
    fn check(dims: Option<&[i64]>, at: ArgumentPlace<'_>) -> Result<Dims> {
        if dims.is_some_and(<[i64]>::is_empty) { Ok(Dims::new()) } else { reduced(dims, at.rank()) }
    }
}

/// The same for extremes, which do not exist of nothing.
pub enum NamedIfEmpty {}
impl Declared<Option<&[i64]>> for NamedIfEmpty {
    type Checked = Dims;
    #[inline]
    fn check(dims: Option<&[i64]>, at: ArgumentPlace<'_>) -> Result<Dims> {
        if dims.is_none_or(<[i64]>::is_empty) {
            at.subject.map(|x| named_if_empty(crate::base::ErrorKind::Runtime, at.name, x)).transpose()?;
        }
        reduced(dims, at.rank())
    }
}
impl Declared<Option<i64>> for NamedIfEmpty {
    type Checked = Option<usize>;
    #[inline]
    fn check(dim: Option<i64>, at: ArgumentPlace<'_>) -> Result<Option<usize>> {
        match dim {
            Some(d) => Dim::check(d, at).map(Some),
            None => {
                at.subject.map(|x| named_if_empty(crate::base::ErrorKind::Index, at.name, x)).transpose()?;
                Ok(None)
            }
        }
    }
}
/// An error if the tensor has no elements, of PyTorch's kind for the operator.
#[inline]
pub fn named_if_empty(kind: crate::base::ErrorKind, name: &str, x: &Tensor) -> Result<()> {
    if x.numel() > 0 {
        return Ok(());
    }
    Err(refused(
        kind,
        format_args!(
            "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the '{name}' \
             argument."
        ),
    ))
}

/// The dimensions that a variance runs over, or the flag that may stand in their place.
pub enum ReducedOrFlag {}
impl Declared<&Value> for ReducedOrFlag {
    type Checked = (Dims, Option<bool>);
    fn check(v: &Value, at: ArgumentPlace<'_>) -> Result<Self::Checked> {
        match v {
            Value::Bool(flag) | Value::Number(Scalar::Bool(flag)) => Ok((reduced(None, at.rank())?, Some(*flag))),
            v => Ok((Reduced::check(v, at)?, None)),
        }
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
