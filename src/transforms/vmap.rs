//! `vmap`: run a function on all members of a batch at once.

use crate::bail;
use crate::base::Result;
use crate::core::closed::taken_off;
use crate::core::level::{self, Guard, Randomness};
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, shared};
use crate::rules::basis;

/// A batch level.
pub struct Batch {
    guard: Guard,
    size: usize,
}

impl Batch {
    /// # Errors
    /// `Recursion` if too many levels are open.
    #[inline]
    pub fn open(size: usize, randomness: Randomness, origin: Origin) -> Result<Batch> {
        level::check_room()?;
        Ok(Batch { guard: level::push_batch(size, randomness, origin), size })
    }
    pub fn level(&self) -> LevelId {
        self.guard.id()
    }
    /// How many members there are.
    pub fn size(&self) -> usize {
        self.size
    }
    /// A batched value; `dim` is wrapped already and has the batch's size.
    pub fn lift(&self, value: &Tensor, dim: usize) -> Tensor {
        Tensor::batched(self.level(), value.clone(), dim)
    }
    /// The stacked value of an output, its batch at `out_dim` (wrapped); constants are repeated.
    pub fn lower(&self, y: &Tensor, out_dim: usize) -> Result<Tensor> {
        let repeated = |y: Tensor| basis::move_dim(&basis::expand(&y, &y.shape().prepend(self.size))?, 0, out_dim);
        let stacked = |y: &Tensor, payload: &Payload| match payload {
            Payload::Batched { value, dim } => basis::move_dim(value, *dim, out_dim),
            _ => repeated(y.clone()),
        };
        taken_off(y, self.level(), stacked, repeated)
    }
    /// The value of an output that is the same for all members; `None` if it differs.
    pub fn unbatched(&self, y: &Tensor) -> Result<Option<Tensor>> {
        let one = |y: &Tensor, payload: &Payload| match payload {
            Payload::Batched { value, dim } if shared::is_shared(self.level(), y) => {
                if self.size == 0 {
                    bail!(
                        Value,
                        "vmap(): a result is the same for all members, out_dims=None asks for the one value, and a \
                         derivative follows it, but there are no members to give it a cotangent{}; give the batch at \
                         least one member, or compute the result outside",
                        at_here()
                    );
                }
                basis::select(value, *dim, 0).map(Some)
            }
            _ => Ok(None),
        };
        taken_off(y, self.level(), one, |y| Ok(Some(y)))
    }
}

impl Drop for Batch {
    #[inline]
    fn drop(&mut self) {
        shared::close(self.level());
    }
}

/// The size of the batch, given those of all mapped dimensions.
///
/// # Errors
/// `Value` if there is none, or they differ.
pub fn common_size(sizes: &[usize]) -> Result<usize> {
    let Some(&first) = sizes.first() else {
        bail!(Value, "vmap: Expected at least one Tensor to vmap over, got none{}", at_here());
    };
    if sizes.iter().any(|&n| n != first) {
        bail!(
            Value,
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes:?}{}",
            at_here()
        );
    }
    Ok(first)
}
