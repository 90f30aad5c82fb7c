//! Relations between arguments that several operators ask for, each with one sentence.

use super::refused;
use crate::base::{DType, Error, ErrorKind, Result, Shape};
use crate::core::Tensor;

/// Two lists that name the same things have one length.
pub fn aligned((a, m): (&str, usize), (b, n): (&str, usize)) -> Result<()> {
    if m != n {
        refuse!(
            Runtime,
            "arguments '{a}' and '{b}' must have the same length, but they have {m} and {n}; give one \
            entry of '{b}' for each of '{a}'"
        );
    }
    Ok(())
}

/// Two dimensions of a tensor are different ones.
pub fn different((a, i): (&str, usize), (b, j): (&str, usize)) -> Result<()> {
    if i == j {
        refuse!(
            Runtime,
            "arguments '{a}' and '{b}' must not be identical dimensions, but both name dimension {i}; name \
            another one"
        );
    }
    Ok(())
}

/// A tensor of the dtype of another.
#[inline]
pub fn of_dtype<'a>(name: &str, t: &'a Tensor, want: DType) -> Result<&'a Tensor> {
    if t.dtype() == want { Ok(t) } else { Err(other_dtype(name, t.dtype(), want)) }
}
#[cold]
pub(super) fn other_dtype(name: &str, got: DType, want: DType) -> Error {
    refused(
        ErrorKind::Runtime,
        format_args!("expected dtype {want} for argument '{name}', but got {got}; convert it with {name}.to({want})"),
    )
}

/// A tensor of this shape; the error is PyTorch's for the operator.
#[inline]
pub fn of_shape<'a>(kind: ErrorKind, name: &str, t: &'a Tensor, want: &Shape) -> Result<&'a Tensor> {
    if t.shape() == want { Ok(t) } else { Err(other_shape(kind, name, t.shape(), want)) }
}
#[cold]
pub fn other_shape(kind: ErrorKind, name: &str, got: &Shape, want: &Shape) -> Error {
    let how = if got.checked_numel() == want.checked_numel() { "reshape()" } else { "expand() or index" };
    refused(kind, format_args!("argument '{name}' must have the shape {want}, but it has {got}; {how} it first"))
}

/// A number for each channel.
pub fn of_channels<'a>(name: &str, t: &'a Tensor, channels: usize) -> Result<&'a Tensor> {
    if t.shape()[..] != [channels] {
        refuse!(
            Runtime,
            "argument '{name}' should contain {channels} elements in one dimension, one for each channel, but it has \
             the shape {}",
            t.shape()
        );
    }
    Ok(t)
}
