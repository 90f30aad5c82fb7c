//! What can be said of a value without its data.

use super::params::Params;
use super::primitive::{Outputs, Prim};
use super::tensor::Tensor;
use crate::base::{DType, Error, Result, Shape, TypedShape};
use smallvec::SmallVec;

/// Dtype and shape of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the dimensions.
    pub shape: Shape,
}

impl Meta {
    /// Those of a tensor.
    pub fn of(t: &Tensor) -> Meta {
        Meta { dtype: t.dtype(), shape: t.shape().clone() }
    }
    /// Of this dtype and shape.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Meta {
        Meta { dtype, shape: shape.into() }
    }
    /// As kernels ask for it.
    #[doc(hidden)]
    pub fn form(&self) -> TypedShape<'_> {
        (self.dtype, &self.shape)
    }
}

impl std::fmt::Display for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.dtype, self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// Dtypes and shapes of the outputs of an operator.
pub type Inferred = SmallVec<[Meta; 2]>;

/// The error for an operator whose results have shapes that only data can tell.
#[cold]
pub fn depends_on_data(op: &str, fix: &str) -> Error {
    Error::not_implemented(format!(
        "{op}(): the shape of the result depends on the data, and a tensor of device 'meta' (or under eval_shape) has \
         none{}; {fix}",
        super::origin::at_here()
    ))
}

fn metas(args: &[&Tensor]) -> SmallVec<[Meta; 4]> {
    args.iter().map(|a| Meta::of(a)).collect()
}

/// The interpreter of values without data; some of the arguments may have it.
#[cold]
pub(super) fn one(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    match prim.infer(params, &metas(args))?.into_iter().next() {
        Some(meta) => Ok(Tensor::without_data(meta)),
        None => Err(Error::internal(format!("{}(): infers no output", prim.name()))),
    }
}

/// As [`one`], for any number of outputs.
#[cold]
pub(super) fn many(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
    Ok(prim.infer(params, &metas(args))?.into_iter().map(Tensor::without_data).collect())
}

/// The error for whoever asks for the data of a value that has none.
#[cold]
pub fn no_data() -> Error {
    let (rule, line) = (super::method_scope::without_data(), super::origin::at_here());
    Error::not_implemented(format!("Cannot copy out of meta tensor; no data!{rule}{line}"))
}
