//! Jacobians and Hessians: a batch of basis vectors pushed or pulled through the derivative.

use super::jvp::{Duals, check_dual};
use super::reverse::{Pullback, Tape};
use super::run::{self, Open, Outcome, Values};
use super::vmap::Batch;
use crate::bail;
use crate::base::{DType, Error, Result, Shape};
use crate::core::level::Randomness;
use crate::core::origin::{Origin, at_here};
use crate::core::{LevelId, Tensor};
use crate::ops::rewind::Rewind;
use crate::rules::{basis, constant};
use smallvec::SmallVec;

/// For each output of a function a list with one Jacobian per input, of shape `output.shape + input.shape`.
pub type Blocks = Vec<Vec<Tensor>>;

/// How [`jacrev_with`](crate::jacrev_with) and [`jacfwd_with`](crate::jacfwd_with) run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct JacobianOptions {
    /// Rows or columns at a time; all of them if `None`.
    #[doc(hidden)]
    pub chunk_size: Option<usize>,
    #[doc(hidden)]
    pub randomness: Randomness,
    #[doc(hidden)]
    pub origin: Origin,
}

impl Default for JacobianOptions {
    fn default() -> Self {
        JacobianOptions { chunk_size: None, randomness: Randomness::Error, origin: Origin::UNKNOWN }
    }
}

/// Rows `start .. start + len` of the identity over all elements of the tensors of these shapes, split by tensor. `None`
/// where a tensor has only zeros in them.
fn basis_rows(like: &[(Shape, DType)], start: usize, len: usize) -> Result<Vec<Option<Tensor>>> {
    let mut offset = 0;
    let mut out = Vec::with_capacity(like.len());
    for (shape, dtype) in like {
        let n = shape.numel();
        let (from, to) = (start.max(offset), (start + len).min(offset + n));
        out.push(if from < to || like.len() == 1 {
            let rows = constant::eye(*dtype, len, n, start as isize - offset as isize)?;
            Some(basis::reshape(&rows, &shape.prepend(len))?)
        } else {
            None
        });
        offset += n;
    }
    Ok(out)
}

/// (start, length) of the pieces of `total` basis vectors that are handled at a time; one empty piece if there are none.
fn chunks(total: usize, size: Option<usize>) -> impl Iterator<Item = (usize, usize)> {
    let size = size.unwrap_or(total).max(1);
    (0..total.max(1)).step_by(size).map(move |s| (s, size.min(total - s)))
}

/// An error if a tensor is complex: the two derivatives of a complex function do not fit in one Jacobian.
pub fn check_real(op: &str, tensors: &[Tensor], what: &str) -> Result<()> {
    match tensors.iter().position(|t| t.dtype().is_complex()) {
        Some(i) => bail!(
            Runtime,
            "{op}: Expected all {what} to be real but received a complex tensor at flattened index {i}{}",
            at_here()
        ),
        None => Ok(()),
    }
}

/// The shape of a Jacobian.
fn block_shape(y: &Tensor, x: &Tensor) -> Shape {
    y.shape().iter().chain(x.shape().iter()).copied().collect()
}

/// Reverse-mode Jacobians. What comes along is lowered by `beside`.
///
/// # Errors
/// `Runtime` if an input or an output is complex, or has no dtype of floats.
pub fn jacrev_many<E: From<Error>, A, B>(
    xs: &[Tensor],
    options: JacobianOptions,
    f: impl FnOnce(Values) -> Outcome<(Values, A), E>,
    beside: impl FnOnce(A, &Tape) -> Outcome<B, E>,
) -> Outcome<(Blocks, B), E> {
    check_real("jacrev", xs, "inputs")?;
    let real = |lifted: Values| {
        let (outputs, along) = f(lifted)?;
        check_real("jacrev", &outputs, "outputs")?;
        Ok((outputs, along))
    };
    let (values, pullback, along) = run::reverse("jacrev", options.origin, xs, real, beside)?;
    let block_row = |k| rows_of(&pullback, &values, k, xs, options);
    Ok(((0..values.len()).map(block_row).collect::<Result<_>>()?, along))
}

/// The Jacobians of output `k`.
fn rows_of(
    pullback: &Pullback,
    values: &[Tensor],
    k: usize,
    xs: &[Tensor],
    options: JacobianOptions,
) -> Result<Vec<Tensor>> {
    let y = &values[k];
    let mut parts: Vec<SmallVec<[Tensor; 1]>> = vec![SmallVec::new(); xs.len()];
    let mut cotangents: Vec<Option<Tensor>> = vec![None; values.len()];
    for (start, len) in chunks(y.numel(), options.chunk_size) {
        let rows = basis_rows(&[(y.shape().clone(), y.dtype())], start, len)?;
        // A single row needs no batch: then rules may draw random numbers and read data.
        let batch = (options.chunk_size != Some(1))
            .then(|| Batch::open(len, options.randomness, options.origin))
            .transpose()?;
        let seed = |r: &Tensor| match &batch {
            Some(batch) => Ok(batch.lift(r, 0)),
            None => basis::reshape(r, y.shape()),
        };
        cotangents[k] = rows[0].as_ref().map(seed).transpose()?;
        for (part, g) in parts.iter_mut().zip(pullback.pull(&cotangents, true)?) {
            match (g, &batch) {
                (Some(g), Some(batch)) => part.push(batch.lower(&g, 0)?),
                (Some(g), None) => part.push(basis::reshape(&g, &g.shape().prepend(1))?),
                (None, _) => {}
            }
        }
    }
    let join = |(part, x): (SmallVec<[Tensor; 1]>, &Tensor)| match part.is_empty() {
        true => basis::full(&block_shape(y, x), x.dtype(), 0.0),
        false => basis::reshape(&concatenate(part)?, &block_shape(y, x)),
    };
    parts.into_iter().zip(xs).map(join).collect()
}

/// Chunks along dimension 0 as one tensor.
fn concatenate(mut parts: SmallVec<[Tensor; 1]>) -> Result<Tensor> {
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let refs: Vec<&Tensor> = parts.iter().collect();
    basis::cat(&refs, 0)
}

/// A level of dual numbers above one of their tangents' batch.
pub struct Columns<'a> {
    batch: &'a Batch,
    duals: &'a Duals,
}

impl Open for Columns<'_> {
    fn level(&self) -> LevelId {
        self.batch.level()
    }
    fn below(&self, y: &Tensor) -> Result<Tensor> {
        first_member(self.batch, &self.duals.lower(y)?.0)
    }
}

/// Forward-mode Jacobians. What comes along is lowered by `beside`.
///
/// # Errors
/// `Value` if an input has no dtype of floats; `Runtime` if an input or an output is complex.
pub fn jacfwd_many<E: From<Error>, A, B>(
    xs: &[Tensor],
    options: JacobianOptions,
    mut f: impl FnMut(Values) -> Outcome<(Values, A), E>,
    mut beside: impl FnMut(A, &Columns<'_>) -> Outcome<B, E>,
) -> Outcome<(Blocks, B), E> {
    check_real("jacfwd", xs, "inputs")?;
    xs.iter().try_for_each(|x| check_dual("primal", x))?;
    let metas: Vec<_> = xs.iter().map(|x| (x.shape().clone(), x.dtype())).collect();
    let total: usize = xs.iter().map(Tensor::numel).sum();
    let mut real = |lifted: Values| {
        let (outputs, along) = f(lifted)?;
        check_real("jacfwd", &outputs, "outputs")?;
        Ok((outputs, along))
    };
    // Tangents by output, then by chunk.
    let (mut parts, mut last): (Vec<SmallVec<[Tensor; 1]>>, _) = (Vec::new(), None);
    let same = (options.randomness == Randomness::Same).then(Rewind::open);
    for (start, len) in chunks(total, options.chunk_size) {
        if let Some(draws) = &same {
            draws.restart();
        }
        let seeds = basis_rows(&metas, start, len)?;
        let (values, tangents, along) = columns_at(xs, seeds, len, options, &mut real, &mut beside)?;
        parts.resize(tangents.len(), SmallVec::new());
        parts.iter_mut().zip(tangents).for_each(|(part, t)| part.push(t));
        last = Some((values, along));
    }
    let Some((values, along)) = last else { return Err(Error::internal("jacfwd: no columns").into()) };
    let block_row = |(y, part): (&Tensor, _)| columns(y, concatenate(part)?, xs);
    Ok((values.iter().zip(parts).map(block_row).collect::<Result<_>>()?, along))
}

/// Runs `f` on `len` tangents at once. The primals have no batch, and are computed once.
fn columns_at<E: From<Error>, A, B>(
    xs: &[Tensor],
    seeds: Vec<Option<Tensor>>,
    len: usize,
    options: JacobianOptions,
    f: &mut impl FnMut(Values) -> Outcome<(Values, A), E>,
    beside: &mut impl FnMut(A, &Columns<'_>) -> Outcome<B, E>,
) -> Outcome<(Values, Values, B), E> {
    let JacobianOptions { randomness, origin, .. } = options;
    run::batch(len, randomness, origin, |batch| {
        let tangents = seeds.iter().map(|seed| seed.as_ref().map(|s| batch.lift(s, 0)));
        let missing = |primal: &Tensor| Ok(basis::zeros_like(primal)?);
        let along = |a, duals: &Duals| beside(a, &Columns { batch, duals });
        let (values, slopes, along) = run::forward(origin, xs, tangents, &mut *f, missing, along)?;
        let values = values.iter().map(|y| first_member(batch, y)).collect::<Result<Values>>()?;
        let slopes = slopes.iter().map(|t| batch.lower(t, 0)).collect::<Result<Values>>()?;
        Ok((values, slopes, along))
    })
}

/// A primal without its batch: it depends on the batch only through random numbers, where the first member stands.
fn first_member(batch: &Batch, y: &Tensor) -> Result<Tensor> {
    match batch.unbatched(y)? {
        Some(y) => Ok(y),
        None => basis::select(&batch.lower(y, 0)?, 0, 0),
    }
}

/// Splits tangents for all basis vectors (in front) by input and moves them behind the output's dimensions.
fn columns(y: &Tensor, tangents: Tensor, xs: &[Tensor]) -> Result<Vec<Tensor>> {
    let back = basis::move_dim(&tangents, 0, y.rank())?;
    let mut offset = 0;
    let mut out = Vec::with_capacity(xs.len());
    for x in xs {
        let part = if xs.len() == 1 { back.clone() } else { basis::slice(&back, y.rank(), offset, x.numel(), 1)? };
        offset += x.numel();
        out.push(basis::reshape(&part, &block_shape(y, x))?);
    }
    Ok(out)
}
