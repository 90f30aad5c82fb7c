//! How the transforms run, where a call says more than the function and its inputs.

use super::jacobian::JacobianOptions;
use crate::bail;
use crate::base::Result;
use crate::core::Tensor;
use crate::core::level::Randomness;
use crate::core::origin::Origin;
use smallvec::SmallVec;

/// The dimensions that [`vmap_with`](crate::vmap_with) maps over, and what random operators do under it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VmapOptions {
    in_dims: Option<SmallVec<[Option<i64>; 4]>>,
    out_dims: Option<SmallVec<[i64; 4]>>,
    pub(super) randomness: Randomness,
}

impl Default for VmapOptions {
    fn default() -> VmapOptions {
        VmapOptions { in_dims: None, out_dims: None, randomness: Randomness::Error }
    }
}

impl VmapOptions {
    /// The mapped dimension of each input, in order; `None`: each member gets the whole tensor. Without this, all are mapped
    /// over dimension 0.
    #[must_use]
    pub fn in_dims(mut self, dims: impl IntoIterator<Item = Option<i64>>) -> VmapOptions {
        self.in_dims = Some(dims.into_iter().collect());
        self
    }
    /// Where the members lie in each output, in order. Without this, along dimension 0.
    #[must_use]
    pub fn out_dims(mut self, dims: impl IntoIterator<Item = i64>) -> VmapOptions {
        self.out_dims = Some(dims.into_iter().collect());
        self
    }
    /// Whether random operators raise (the default), draw for each member, or draw once.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> VmapOptions {
        self.randomness = randomness;
        self
    }

    /// `in_dims` of these inputs, counted from the front.
    pub(super) fn dims_of_inputs(&self, xs: &[&Tensor]) -> Result<SmallVec<[Option<usize>; 4]>> {
        let Some(dims) = &self.in_dims else {
            return xs.iter().map(|x| dim_of("in_dim", 0, x.rank(), "an input").map(Some)).collect();
        };
        if dims.len() != xs.len() {
            bail!(Value, "vmap(): got {} inputs and {} in_dims, expected one for each input", xs.len(), dims.len());
        }
        let of =
            |(x, dim): (&&Tensor, &Option<i64>)| dim.map(|d| dim_of("in_dim", d, x.rank(), "an input")).transpose();
        xs.iter().zip(dims).map(of).collect()
    }

    /// `out_dims` of these outputs, which have no batch yet, counted from the front.
    pub(super) fn dims_of_outputs(&self, ys: &[&Tensor]) -> Result<SmallVec<[usize; 4]>> {
        let Some(dims) = &self.out_dims else { return Ok(SmallVec::from_elem(0, ys.len())) };
        if dims.len() != ys.len() {
            bail!(Value, "vmap(): got {} outputs and {} out_dims, expected one for each output", ys.len(), dims.len());
        }
        ys.iter().zip(dims).map(|(y, &d)| dim_of("out_dim", d, y.rank() + 1, "an output")).collect()
    }
}

fn dim_of(what: &str, dim: i64, rank: usize, whose: &str) -> Result<usize> {
    let n = rank as i64;
    if dim < -n || dim >= n {
        bail!(
            Value,
            "vmap(): got {what}={dim} for {whose} of {rank} dimensions, expected {what} to satisfy -{rank} <= {what} < \
             {rank}"
        );
    }
    Ok(if dim < 0 { dim + n } else { dim } as usize)
}

impl JacobianOptions {
    /// Those of a call at this line of a program in the host language.
    #[doc(hidden)]
    #[must_use]
    pub fn begun_at(origin: Origin, chunk_size: Option<usize>) -> JacobianOptions {
        JacobianOptions { origin, chunk_size, ..JacobianOptions::default() }
    }
    /// How many rows or columns are computed at a time. Without this, all of them.
    #[must_use]
    pub fn chunk_size(mut self, size: usize) -> JacobianOptions {
        self.chunk_size = Some(size);
        self
    }
    /// Whether random operators raise (the default), draw for each row, or draw once.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> JacobianOptions {
        self.randomness = randomness;
        self
    }
}
