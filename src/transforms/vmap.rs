//! `vmap`: run a function on all members of a batch at once.

use crate::bail;
use crate::base::Result;
use crate::core::closed::strip_closed;
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
    /// A batched value; `dim` is wrapped already and has the batch's size.
    pub fn lift(&self, value: &Tensor, dim: usize) -> Tensor {
        Tensor::batched(self.level(), value.clone(), dim)
    }
    /// The stacked value of an output, its batch at `out_dim` (wrapped); constants are repeated.
    pub fn lower(&self, y: &Tensor, out_dim: usize) -> Result<Tensor> {
        let y = strip_closed(y, self.level())?;
        match y.payload_at(self.level()) {
            Some(Payload::Batched { value, dim }) => basis::move_dim(value, *dim, out_dim),
            _ => {
                let stacked = basis::expand(&y, &y.shape().prepend(self.size))?;
                basis::move_dim(&stacked, 0, out_dim)
            }
        }
    }
    /// The value of an output that is the same for all members; `None` if it differs.
    pub fn unbatched(&self, y: &Tensor) -> Result<Option<Tensor>> {
        let y = strip_closed(y, self.level())?;
        match y.payload_at(self.level()) {
            Some(Payload::Batched { value, dim }) if shared::is_shared(self.level(), &y) => {
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
            Some(_) => Ok(None),
            None => Ok(Some(y.into_owned())),
        }
    }
}

impl Drop for Batch {
    #[inline]
    fn drop(&mut self) {
        shared::close(self.level());
    }
}

/// `f` over the members along dimension 0 of `x`, the results stacked along dimension 0.
///
/// # Errors
/// `Value` if `x` is 0-d.
///
/// ```
/// use pullback::{Tensor, vmap};
/// let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = vmap(|row| row.sum_all(), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [6.0, 15.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    let mut out = vmap_many(|xs| Ok(vec![f(&xs[0])?]), std::slice::from_ref(x), &[Some(0)], Randomness::Error)?;
    Ok(out.swap_remove(0))
}

/// `f` over the members along the dimensions `in_dims` (`None`: the whole tensor for each member), the results stacked
/// along dimension 0.
///
/// # Errors
/// `Value` if nothing is mapped over, a dimension is out of range, or the sizes of the mapped dimensions differ.
///
/// ```
/// use pullback::{Randomness, Tensor, vmap_many};
/// let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let w = Tensor::from_slice([2], &[1.0, 10.0])?;
/// let y = vmap_many(|v| Ok(vec![v[0].mul(&v[1])?.sum_all()?]), &[x, w], &[Some(1), None], Randomness::Error)?;
/// assert_eq!(y[0].to_vec::<f64>()?, [41.0, 52.0, 63.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap_many(
    f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    xs: &[Tensor],
    in_dims: &[Option<usize>],
    randomness: Randomness,
) -> Result<Vec<Tensor>> {
    if xs.len() != in_dims.len() {
        bail!(Value, "vmap(): got {} inputs and {} in_dims", xs.len(), in_dims.len());
    }
    let mut sizes = Vec::new();
    for (x, dim) in xs.iter().zip(in_dims) {
        let Some(dim) = *dim else { continue };
        match x.shape().get(dim) {
            Some(&n) => sizes.push(n),
            None => bail!(
                Value,
                "vmap(): got in_dim={dim} for an input of {} dimensions, expected in_dim to satisfy in_dim < {}",
                x.rank(),
                x.rank()
            ),
        }
    }
    let batch = Batch::open(common_size(&sizes)?, randomness, Origin::UNKNOWN)?;
    let lift = |(x, dim): (&Tensor, &Option<usize>)| dim.map_or_else(|| x.clone(), |d| batch.lift(x, d));
    let lifted: Vec<Tensor> = xs.iter().zip(in_dims).map(lift).collect();
    let outputs = f(&lifted)?;
    drop(lifted);
    outputs.iter().map(|y| batch.lower(y, 0)).collect()
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
