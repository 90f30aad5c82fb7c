//! Jacobians and Hessians: a batch of basis vectors pushed or pulled through the derivative.

use super::backward::Options;
use super::jvp::Duals;
use super::reverse::{Pullback, Tape, check_differentiable};
use super::vmap::Batch;
use crate::base::{Result, Shape};
use crate::core::Tensor;
use crate::core::level::Randomness;
use crate::core::origin::Origin;
use crate::dense::Array;
use crate::rules::basis;
use smallvec::SmallVec;

/// A function of several tensors.
pub type Function<'a> = &'a dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>;

/// How Jacobians run.
#[derive(Debug, Clone, Copy)]
pub struct JacobianOptions {
    /// Rows or columns at a time; all of them if `None`.
    pub chunk_size: Option<usize>,
    pub randomness: Randomness,
    pub origin: Origin,
}

impl Default for JacobianOptions {
    fn default() -> Self {
        JacobianOptions { chunk_size: None, randomness: Randomness::Error, origin: Origin::UNKNOWN }
    }
}

/// Rows `start .. start + len` of the identity over all elements of `metas`, split by tensor.
fn basis_rows(like: &[(Shape, crate::base::DType)], start: usize, len: usize) -> Result<Vec<Option<Tensor>>> {
    let mut offset = 0;
    let mut out = Vec::with_capacity(like.len());
    for (shape, dtype) in like {
        let n = shape.numel();
        let (from, to) = (start.max(offset), (start + len).min(offset + n));
        out.push(if from < to || like.len() == 1 {
            let rows = Array::unit_rows(
                *dtype,
                len,
                n,
                from as isize - start as isize,
                from - offset,
                to.saturating_sub(from),
            )?;
            Some(Tensor::from(rows.reshape(&shape.prepend(len))?))
        } else {
            None
        });
        offset += n;
    }
    Ok(out)
}

fn chunks(total: usize, size: Option<usize>) -> impl Iterator<Item = (usize, usize)> {
    let size = size.unwrap_or(total).max(1);
    (0..total.max(1)).step_by(size).map(move |s| (s, size.min(total - s.min(total))))
}

/// Reverse-mode Jacobians: for each output a list with one Jacobian per input, of shape `output.shape + input.shape`.
/// Also returns the outputs.
pub fn jacrev_many(
    f: Function<'_>,
    xs: &[Tensor],
    options: JacobianOptions,
) -> Result<(Vec<Tensor>, Vec<Vec<Tensor>>)> {
    let mut tape = Tape::open(options.origin);
    for x in xs {
        check_differentiable("jacrev", x)?;
    }
    let leaves: Vec<Tensor> = xs.iter().map(|x| tape.leaf(x)).collect();
    let outputs = f(&leaves)?;
    drop(leaves);
    let detached = outputs.iter().map(|y| tape.detach(y)).collect();
    drop(outputs);
    let (values, pullback) = Pullback::new(tape.close(), detached);
    let jacobians = rows_of(&pullback, &values, xs, options)?;
    Ok((values, jacobians))
}

fn rows_of(
    pullback: &Pullback,
    values: &[Tensor],
    xs: &[Tensor],
    options: JacobianOptions,
) -> Result<Vec<Vec<Tensor>>> {
    let sweep = Options { retain: true, create_graph: true };
    values
        .iter()
        .enumerate()
        .map(|(k, y)| {
            let n = y.numel();
            let mut parts: Vec<SmallVec<[Tensor; 1]>> = vec![SmallVec::new(); xs.len()];
            for (start, len) in chunks(n, options.chunk_size) {
                let row = basis_rows(&[(y.shape().clone(), y.dtype())], start, len)?;
                let batch = Batch::open(len, options.randomness, options.origin);
                let mut cotangents: Vec<Tensor> = values.iter().map(basis::zeros_like).collect::<Result<_>>()?;
                if let Some(Some(r)) = row.first() {
                    cotangents[k] = batch.lift(r, 0);
                }
                let grads = pullback.call(&cotangents, sweep)?;
                for (part, g) in parts.iter_mut().zip(grads) {
                    part.push(batch.lower(&g, 0)?);
                }
            }
            let join = |(part, x): (SmallVec<[Tensor; 1]>, &Tensor)| {
                let shape: Shape = y.shape().iter().chain(x.shape().iter()).copied().collect();
                basis::reshape(&concatenate(part)?, &shape)
            };
            parts.into_iter().zip(xs).map(join).collect()
        })
        .collect()
}

/// Chunks along dimension 0 as one tensor.
fn concatenate(mut parts: SmallVec<[Tensor; 1]>) -> Result<Tensor> {
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let refs: Vec<&Tensor> = parts.iter().collect();
    basis::cat(&refs, 0)
}

/// Forward-mode Jacobians, as [`jacrev_many`].
pub fn jacfwd_many(
    f: Function<'_>,
    xs: &[Tensor],
    options: JacobianOptions,
) -> Result<(Vec<Tensor>, Vec<Vec<Tensor>>)> {
    for x in xs {
        check_differentiable("jacfwd", x)?;
    }
    let metas: Vec<_> = xs.iter().map(|x| (x.shape().clone(), x.dtype())).collect();
    let total: usize = xs.iter().map(Tensor::numel).sum();
    let mut values = Vec::new();
    let mut parts: Vec<SmallVec<[Tensor; 1]>> = Vec::new();
    for (start, len) in chunks(total, options.chunk_size) {
        let batch = Batch::open(len, options.randomness, options.origin);
        let duals = Duals::open(options.origin);
        let seeds = basis_rows(&metas, start, len)?;
        let lifted = xs.iter().zip(seeds).map(|(x, seed)| match seed {
            Some(s) => duals.lift(x, &batch.lift(&s, 0)),
            None => Ok(x.clone()),
        });
        let lifted: Vec<Tensor> = lifted.collect::<Result<_>>()?;
        let outputs = f(&lifted)?;
        parts.resize(outputs.len(), SmallVec::new());
        values.clear();
        for (part, y) in parts.iter_mut().zip(&outputs) {
            let (primal, tangent) = duals.lower(y);
            let tangent = tangent.map_or_else(|| basis::zeros_like(&primal), Ok)?;
            part.push(batch.lower(&tangent, 0)?);
            values.push(unbatched(&batch, primal)?);
        }
    }
    let jacobians =
        values.iter().zip(parts).map(|(y, part)| columns(y, concatenate(part)?, xs)).collect::<Result<_>>()?;
    Ok((values, jacobians))
}

/// An output without its batch: it depends on the batch only through random numbers, where the first member stands.
fn unbatched(batch: &Batch, y: Tensor) -> Result<Tensor> {
    if !batch.is_batched(&y) {
        return Ok(y);
    }
    basis::select(&batch.lower(&y, 0)?, 0, 0)
}

/// Splits tangents for all basis vectors (in front) by input and moves them behind the output's dimensions.
fn columns(y: &Tensor, tangents: Tensor, xs: &[Tensor]) -> Result<Vec<Tensor>> {
    let back = basis::move_dim(&tangents, 0, y.rank())?;
    let mut offset = 0;
    let mut out = Vec::with_capacity(xs.len());
    for x in xs {
        let part = if xs.len() == 1 { back.clone() } else { basis::slice(&back, y.rank(), offset, x.numel(), 1)? };
        offset += x.numel();
        let shape: Shape = y.shape().iter().chain(x.shape().iter()).copied().collect();
        out.push(basis::reshape(&part, &shape)?);
    }
    Ok(out)
}

type One<'a> = &'a dyn Fn(&Tensor) -> Result<Tensor>;

fn single(f: One<'_>) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + '_ {
    move |xs| Ok(vec![f(&xs[0])?])
}

fn first(mut jacobians: Vec<Vec<Tensor>>) -> Tensor {
    jacobians.swap_remove(0).swap_remove(0)
}

/// The Jacobian of `f` at `x` by reverse mode, of shape `f(x).shape + x.shape`. One row per output element.
pub fn jacrev(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    Ok(first(jacrev_many(&single(&f), std::slice::from_ref(x), JacobianOptions::default())?.1))
}

/// The Jacobian of `f` at `x` by forward mode, of shape `f(x).shape + x.shape`. One column per input element.
pub fn jacfwd(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    Ok(first(jacfwd_many(&single(&f), std::slice::from_ref(x), JacobianOptions::default())?.1))
}

/// The Hessian of a scalar function, forward over reverse, of shape `x.shape + x.shape`.
///
/// ```
/// use pullback::{Tensor, hessian};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let h = hessian(|x| x.mul(x)?.mul(x)?.sum_all(), &x)?;
/// assert_eq!(h.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn hessian(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    jacfwd(|x| jacrev(&f, x), x)
}
