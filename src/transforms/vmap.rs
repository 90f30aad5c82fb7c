//! `vmap`: run a function on all members of a batch at once.

use crate::bail;
use crate::base::Result;
use crate::core::level::{self, Guard, Randomness};
use crate::core::origin::Origin;
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor};
use crate::rules::basis;

/// A batch level.
pub struct Batch {
    guard: Guard,
    size: usize,
}

impl Batch {
    pub fn open(size: usize, randomness: Randomness, origin: Origin) -> Batch {
        Batch { guard: level::push_batch(size, randomness, origin), size }
    }
    pub fn level(&self) -> LevelId {
        self.guard.id()
    }
    /// A batched value; `dim` is wrapped already and has the batch's size.
    pub fn lift(&self, value: &Tensor, dim: usize) -> Tensor {
        Tensor::batched(self.level(), value.clone(), dim)
    }
    /// The stacked value of an output, its batch at `out_dim` (wrapped); constants are repeated.
    pub fn lower(&self, y: &Tensor, out_dim: usize) -> Result<Tensor> {
        match y.payload_at(self.level()) {
            Some(Payload::Batched { value, dim }) => basis::move_dim(value, *dim, out_dim),
            _ => {
                let stacked = basis::expand(y, &y.shape().prepend(self.size))?;
                basis::move_dim(&stacked, 0, out_dim)
            }
        }
    }
    /// Whether an output differs between members.
    pub fn is_batched(&self, y: &Tensor) -> bool {
        y.level() == self.level()
    }
}

/// `f` over the members along dimension 0 of `x`, the results stacked along dimension 0.
///
/// ```
/// use pullback::{Tensor, vmap};
/// let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = vmap(|row| row.sum_all(), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [6.0, 15.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 {
        bail!(Value, "vmap(): got a 0-d tensor, which has no dimension to map over");
    }
    let batch = Batch::open(x.shape()[0], Randomness::Error, Origin::UNKNOWN);
    let y = f(&batch.lift(x, 0))?;
    batch.lower(&y, 0)
}
