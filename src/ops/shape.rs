//! Views: the same elements under another shape. Writes to them reach the tensor that they were made from.

use crate::base::shape::broadcast_all;
use crate::base::{Error, Result, Shape, size};
use crate::core::params::Dims;
use crate::core::{Params, Prim, Tensor, call};
use crate::ops::signature::{AllDimensions, AtMost, Dim, Dimensions, HERE, NewDim, of_rank};
use crate::rules::basis;
use crate::rules::{Opaque, OpaqueBatch, shapes};
use smallvec::{SmallVec, smallvec};

pub(crate) static DETACH: Opaque = Opaque {
    name: "detach",
    infer: shapes::same,
    eval: |_, args| Ok(smallvec![args[0].clone()]),
    batching: OpaqueBatch::Shift,
};

/// A shape given by the user; one size may be -1 and is inferred from `numel`.
pub fn resolve_shape(sizes: &[i64], numel: usize) -> Result<Shape> {
    let mut shape = Shape::scalar();
    let mut inferred = None;
    for (i, &s) in sizes.iter().enumerate() {
        match s {
            -1 if inferred.is_none() => inferred = Some(i),
            -1 => refuse!(
                Runtime,
                "only one dimension can be inferred; -1 stands twice in shape {sizes:?}; give the \
                other size"
            ),
            s if s < -1 => refuse!(Runtime, "invalid shape dimension {s}; give a size, or -1 to infer it"),
            _ => {}
        }
        shape.push(if s < 0 { 1 } else { s as usize });
    }
    let Some(known) = shape.checked_numel() else {
        refuse!(Runtime, "shape {sizes:?} has more elements than memory can address; give smaller sizes")
    };
    if let Some(i) = inferred {
        if known == 0 {
            refuse!(
                Runtime,
                "cannot reshape tensor of 0 elements into shape {sizes:?} because the unspecified dimension size -1 can be \
                any value and is ambiguous; give the size"
            );
        }
        shape[i] = numel / known;
    }
    if shape.checked_numel() != Some(numel) {
        let why = match inferred {
            Some(_) => format!("{known} does not divide {numel}"),
            None => format!("the shape has {known} elements"),
        };
        refuse!(
            Runtime,
            "shape '{sizes:?}' is invalid for input of size {numel}: {why}; give sizes whose product is {numel}"
        );
    }
    Ok(shape)
}

/// Sizes given by the user for a new tensor; negative ones are an error.
pub fn sizes(op: &str, sizes: &[i64]) -> Result<Shape> {
    Shape::of_sizes(op, sizes)
}

/// Target of an expansion: -1 keeps a size.
fn expansion(input: &Tensor, size: &[i64]) -> Result<Shape> {
    if size.len() < input.rank() {
        refuse!(
            Runtime,
            "the number of sizes provided ({}) must be greater or equal to the number of dimensions in the \
             tensor ({}); give -1 for those that stay",
            size.len(),
            input.rank()
        );
    }
    let lead = size.len() - input.rank();
    let mut shape = Shape::scalar();
    for (i, &s) in size.iter().enumerate() {
        let own = if i < lead { None } else { Some(input.shape()[i - lead]) };
        shape.push(match (s, own) {
            (-1, Some(d)) => d,
            (s, _) if s < 0 => {
                refuse!(Runtime, "the size {s} at dimension {i} is not allowed for a new dimension; give its size")
            }
            (s, Some(d)) if d != 1 && d != s as usize => refuse!(
                Runtime,
                "the expanded size of the tensor ({s}) must match the existing size ({d}) at non-singleton \
                 dimension {i}. Target sizes: {size:?}. Tensor sizes: {}; only \
                 dimensions of size 1 expand, so repeat() others",
                input.shape()
            ),
            (s, _) => s as usize,
        });
    }
    shape.checked(HERE)
}

/// All tensors expanded to their common shape.
pub fn broadcast(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let shape = broadcast_all(HERE, tensors.iter().map(|t| t.shape()))?;
    tensors.iter().map(|t| basis::expand(t, &shape)).collect()
}

fn as_i64(shape: &Shape) -> SmallVec<[i64; 6]> {
    shape.iter().map(|&d| d as i64).collect()
}

/// The error for a shape that needs a copy.
pub fn not_viewable(op: &str) -> Error {
    Error::runtime(format!(
        "{op}(): view size is not compatible with input tensor's size and stride (at least one dimension spans across \
         two contiguous subspaces). Use .reshape(...) instead."
    ))
}

/// The adjoint of trailing matrices, or of a number.
pub(super) fn adjoint_of(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 {
        crate::warn_once!("{op} is deprecated for 0-d tensors; use x.conj()")?;
        return basis::conj(x);
    }
    basis::adjoint(of_rank("input", x, 2, usize::MAX)?)
}

ops! { TABLE:
    /// The same values without a derivative: a constant for every transform.
    ///
    /// >>> import pullback
    /// >>> pullback.detach(pullback.tensor([1.0]))
    /// tensor([1.])
    fn detach = "detach" (input: &Tensor) -> Tensor [METHOD, VIEW, HISTORYLESS] of DETACH {
        call(Prim::Static(&DETACH), &Params::None, &[input])
    }

    /// The same elements in another shape; one size may be -1. Shares the elements if the layout allows it.
    ///
    /// >>> import pullback
    /// >>> pullback.reshape(pullback.arange(4), (2, 2))
    /// tensor([[0, 1],
    ///         [2, 3]])
    fn reshape = "reshape" (input: &Tensor, shape: &[i64] | size) -> Tensor [METHOD, VIEW, VARIADIC, OR_COPY] node "ViewBackward0" of basis::RESHAPE {
        basis::reshape(input, &resolve_shape(shape, input.numel())?)
    }

    /// The same elements in another shape (one size may be -1), or the same shape in another dtype of equal width.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(4).view(2, 2)
    /// tensor([[0, 1],
    ///         [2, 3]])
    fn view = "Tensor.view" (input: &Tensor, shape: &[i64] | size | dtype) -> Tensor [METHOD, NOT_FUNCTION, VIEW, VARIADIC, OR_ERROR, TAKES_DTYPE] node "ViewBackward0" {
        let target = resolve_shape(shape, input.numel())?;
        if input.dense().is_some_and(|a| a.layout().reshape(&target).is_none()) {
            return Err(not_viewable(HERE));
        }
        basis::reshape(input, &target)
    }

    /// The same elements in the shape of another tensor.
    fn view_as = "Tensor.view_as" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, NOT_FUNCTION, VIEW, OR_ERROR] node "ViewBackward0" {
        let target = resolve_shape(&as_i64(other.shape()), input.numel())?;
        if input.dense().is_some_and(|a| a.layout().reshape(&target).is_none()) {
            return Err(not_viewable(HERE));
        }
        basis::reshape(input, &target)
    }

    /// The same elements in the shape of another tensor.
    fn reshape_as = "Tensor.reshape_as" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, NOT_FUNCTION, VIEW, OR_COPY] node "ViewBackward0" {
        basis::reshape(input, &resolve_shape(&as_i64(other.shape()), input.numel())?)
    }

    /// All dimensions from `start_dim` to `end_dim` as one.
    ///
    /// >>> import pullback
    /// >>> pullback.flatten(pullback.ones(2, 3)).shape
    /// pullback.Size([6])
    fn flatten = "flatten" (input: &Tensor, start_dim: i64 as Dim = 0, end_dim: i64 as Dim = -1) -> Tensor
        [METHOD, VIEW, OR_COPY, SAME_OBJECT] node "ViewBackward0" {
        let from = start_dim;
        let to = end_dim;
        if from > to {
            refuse!(Runtime, "start_dim cannot come after end_dim, but got {start_dim} and {end_dim}; swap them");
        }
        if input.rank() == 0 {
            return basis::reshape(input, &[1].into());
        }
        let mut shape = Shape::new(&input.shape()[..from]);
        shape.push(input.shape()[from..=to].iter().product());
        input.shape()[to + 1..].iter().for_each(|&d| shape.push(d));
        basis::reshape(input, &shape)
    }

    /// The same elements in one dimension: a view of what is contiguous, and a copy of anything else.
    fn ravel = "ravel" (input: &Tensor) -> Tensor [METHOD, VIEW, OR_COPY, ROW_MAJOR] node "ViewBackward0" {
        basis::reshape(input, &[input.numel()].into())
    }

    /// Broadcast to a larger shape without copying; -1 keeps a size.
    ///
    /// >>> import pullback
    /// >>> pullback.tensor([[1], [2]]).expand(2, 3)
    /// tensor([[1, 1, 1],
    ///         [2, 2, 2]])
    fn expand = "Tensor.expand" (input: &Tensor, size: &[i64]; implicit: bool = false)
        -> Tensor [METHOD, NOT_FUNCTION, VIEW, VARIADIC] node "ExpandBackward0" of basis::EXPAND {
        let _ = implicit;
        basis::expand(input, &expansion(input, size)?)
    }

    /// Broadcast to the shape of another tensor.
    fn expand_as = "Tensor.expand_as" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, NOT_FUNCTION, VIEW] node "ExpandBackward0" {
        let size: SmallVec<[i64; 6]> = other.shape().iter().map(|&d| d as i64).collect();
        basis::expand(input, &expansion(input, &size)?)
    }

    /// Broadcast to a larger shape without copying.
    ///
    /// >>> import pullback
    /// >>> pullback.broadcast_to(pullback.tensor([1, 2]), (2, 2))
    /// tensor([[1, 2],
    ///         [1, 2]])
    fn broadcast_to = "broadcast_to" (input: &Tensor, size: &[i64]) -> Tensor [METHOD, VIEW, VARIADIC] node "ExpandBackward0" {
        basis::expand(input, &expansion(input, size)?)
    }

    /// All tensors broadcast to their common shape.
    fn broadcast_tensors = "broadcast_tensors" (tensors: Vec<&Tensor>) -> Vec<Tensor> [VARIADIC, VIEW, SAME_OBJECT] node "ExpandBackward0" {
        broadcast(&tensors)
    }

    /// What `broadcast_tensors` makes of the tensor at a place, as a view of it.
    fn broadcast_member = "broadcast_tensors:member" (input: &Tensor, at: i64, size: &[i64]) -> Tensor [INTERNAL, VIEW] {
        let _ = at;
        basis::expand(input, &size.iter().map(|&n| n as usize).collect())
    }

    /// Dimensions in another order.
    ///
    /// >>> import pullback
    /// >>> pullback.permute(pullback.ones(2, 3), (1, 0)).shape
    /// pullback.Size([3, 2])
    fn permute = "permute" (input: &Tensor, dims: &[i64] as AllDimensions) -> Tensor [METHOD, VIEW, VARIADIC] of basis::PERMUTE {
        basis::permute(input, &dims)
    }

    /// Two dimensions swapped.
    ///
    /// >>> import pullback
    /// >>> pullback.transpose(pullback.ones(2, 3), 0, 1).shape
    /// pullback.Size([3, 2])
    fn transpose = "transpose" | "swapaxes" | "swapdims" (input: &Tensor, dim0: i64 as Dim | axis0, dim1: i64 as Dim | axis1)
        -> Tensor [METHOD, INPLACE, VIEW] {
        let (i, j) = (dim0, dim1);
        if input.rank() == 0 { Ok(input.clone()) } else { basis::swap_dims(input, i, j) }
    }

    /// A matrix transposed; 0-d and 1-d tensors stay as they are.
    fn t = "t" (input: &Tensor as AtMost<2>) -> Tensor [METHOD, INPLACE, VIEW] {
        if input.rank() < 2 { Ok(input.clone()) } else { basis::swap_last(input) }
    }

    /// All dimensions in reverse order.
    fn big_t = "Tensor.T" (input: &Tensor) -> Tensor [PROPERTY, VIEW] node "PermuteBackward0" {
        if input.rank() != 2 {
            crate::warn_once!("x.T is deprecated for {} dimensions: it reverses all of them; use x.mT for matrices, or \
                x.permute()", input.rank())?;
        }
        let order: Dims = (0..input.rank()).rev().collect();
        basis::permute(input, &order)
    }

    /// The trailing matrices transposed; a 0-d tensor stays as it is, with a warning.
    fn mt = "Tensor.mT" (input: &Tensor) -> Tensor [PROPERTY, VIEW] node "TransposeBackward0" {
        if input.rank() == 0 {
            crate::warn_once!("x.mT is deprecated for 0-d tensors, which stay as they are; leave it out")?;
            return Ok(input.clone());
        }
        basis::swap_last(of_rank("input", input, 2, usize::MAX)?)
    }

    /// The trailing matrices transposed and conjugated; a 0-d tensor is conjugated, with a warning.
    fn mh = "Tensor.mH" (input: &Tensor) -> Tensor [PROPERTY, VIEW, ADJOINTS] node "TransposeBackward0" {
        adjoint_of("x.mH", input)
    }

    /// Dimensions `source` moved to the places `destination`, the others keeping their order.
    ///
    /// >>> import pullback
    /// >>> pullback.movedim(pullback.ones(2, 3, 4), 0, -1).shape
    /// pullback.Size([3, 4, 2])
    fn movedim = "movedim" | "moveaxis" (input: &Tensor, source: &[i64] as Dimensions, destination: &[i64] as Dimensions) -> Tensor [METHOD, VIEW] node "PermuteBackward0" {
        if source.len() != destination.len() {
            refuse!(
                Runtime,
                "Invalid source or destination dims: arguments 'source' and 'destination' must have the same length, but they \
                 have {} and {}; give one entry of 'destination' for each of 'source'",
                source.len(),
                destination.len()
            );
        }
        let from = source;
        let to = destination;
        if input.rank() == 0 {
            return Ok(input.clone());
        }
        let mut order: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, input.rank());
        to.iter().zip(&from).for_each(|(&t, &f)| order[t] = Some(f));
        let mut rest = (0..input.rank()).filter(|d| !from.contains(d));
        let order: Dims = order.into_iter().map(|o| o.or_else(|| rest.next()).unwrap_or(0)).collect();
        basis::permute(input, &order)
    }

    /// Without the dimensions of size 1 (all, or those named).
    ///
    /// >>> import pullback
    /// >>> pullback.squeeze(pullback.ones(1, 2, 1)).shape
    /// pullback.Size([2])
    fn squeeze = "squeeze" (input: &Tensor, dim: Option<&[i64]> as Option<Dimensions> = None) -> Tensor [METHOD, INPLACE, VIEW] node "SqueezeBackward0" / dim "SqueezeBackward1" {
        let named: Dims = dim.unwrap_or_else(|| (0..input.rank()).collect());
        let keep = |d: &usize| input.shape()[*d] != 1 || !named.contains(d);
        let shape = (0..input.rank()).filter(keep).map(|d| input.shape()[d]).collect();
        basis::reshape(input, &shape)
    }

    /// With a dimension of size 1 at `dim`.
    ///
    /// >>> import pullback
    /// >>> pullback.unsqueeze(pullback.ones(2), 1).shape
    /// pullback.Size([2, 1])
    fn unsqueeze = "unsqueeze" (input: &Tensor, dim: i64 as NewDim) -> Tensor [METHOD, INPLACE, VIEW] {
        basis::unsqueeze(input, dim)
    }

    /// Elements `start .. start + length` of a dimension.
    fn narrow = "narrow" (input: &Tensor, dim: i64 as Dim, start: i64, length: i64) -> Tensor [METHOD, VIEW] node "SliceBackward0" {
        if input.rank() == 0 {
            refuse!(Runtime, "cannot be applied to a 0-dim tensor; give it a dimension with unsqueeze(0)");
        }
        let n = input.shape()[dim];
        // The end is no element, but a place where a part of no elements may begin.
        let Some(s) = (if start == n as i64 { Some(n) } else { size::index(start, n) }) else {
            refuse!(Index, "start out of range (expected to be in range of [-{n}, {n}], but got {start}); name a place in it");
        };
        if length < 0 {
            refuse!(Runtime, "length must be non-negative, but got length={length}; give the number of elements");
        }
        if length.unsigned_abs() > (n - s) as u64 {
            refuse!(Runtime, "start ({s}) + length ({length}) exceeds dimension size ({n}); take fewer elements");
        }
        basis::slice(input, dim, s, length as usize, 1)
    }

    /// Element `index` of a dimension, without that dimension.
    fn select = "select" (input: &Tensor, dim: i64 as Dim, index: i64) -> Tensor [METHOD, VIEW] {
        if input.rank() == 0 {
            refuse!(Index, "cannot be applied to a 0-dim tensor; give it a dimension with unsqueeze(0)");
        }
        let Some(at) = size::index(index, input.shape()[dim]) else {
            refuse!(Index, "index {index} out of range for tensor of size {} at dimension {dim}; name one of its \
                members", input.shape());
        };
        basis::select(input, dim, at)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&DETACH]], ..crate::ops::Family::EMPTY };
