//! How each transform runs a function, once for all callers: the level opens, the inputs are lifted, the caller runs its
//! function on them, the results are lowered, the level closes. A caller says how its function takes tensors and gives
//! them, and fails in its own way.

use super::jvp::Duals;
use super::linearize::{LinearMap, Linearizing};
use super::reverse::{Leaves, Pullback, Tape, check_differentiable, check_output, check_scalar, pull};
use super::vmap::Batch;
use crate::base::{Error, Result};
use crate::core::level::{Randomness, Undrawn};
use crate::core::node::Edge;
use crate::core::origin::Origin;
use crate::core::{LevelId, Tangents, Tensor};
use crate::ops::rewind::Rewind;
use crate::rules::basis;
use smallvec::SmallVec;
use std::borrow::Borrow;

/// The inputs of a function, or its results.
pub type Values = SmallVec<[Tensor; 2]>;

/// What a caller gives or fails with, in its own way.
pub type Outcome<T, E> = std::result::Result<T, E>;

/// A level that is open.
pub trait Open {
    fn level(&self) -> LevelId;

    /// What a value is at the levels below.
    ///
    /// # Errors
    /// `Runtime` if it belongs to a transform that has returned.
    fn below(&self, y: &Tensor) -> Result<Tensor>;
}

impl Open for Tape {
    fn level(&self) -> LevelId {
        Tape::level(self)
    }
    fn below(&self, y: &Tensor) -> Result<Tensor> {
        Ok(self.detach(y)?.0)
    }
}

impl Open for Duals {
    fn level(&self) -> LevelId {
        Duals::level(self)
    }
    fn below(&self, y: &Tensor) -> Result<Tensor> {
        Ok(self.lower(y)?.0)
    }
}

/// A scalar that hangs on a tape which has closed.
pub struct Scalar {
    pub value: Tensor,
    leaves: Leaves,
    root: Option<Edge>,
}

impl Scalar {
    /// Its gradients with respect to the inputs; `None` where it does not depend on one. Frees the graph on the way.
    pub fn gradients(self) -> Result<(Tensor, Tangents)> {
        let Scalar { value, leaves, root } = self;
        let grads = match root {
            Some(edge) => pull(&leaves, [(edge, basis::ones_like(&value)?)], false)?,
            None => Tangents::from_elem(None, leaves.len()),
        };
        Ok((value, grads))
    }
}

/// Runs a function with a scalar result on a tape that `xs` are the leaves of. What comes along is lowered by `beside`.
#[inline]
pub fn scalar<E: From<Error>, A, B>(
    op: &str,
    origin: Origin,
    xs: &[impl Borrow<Tensor>],
    f: impl FnOnce(Values) -> Outcome<(Tensor, A), E>,
    beside: impl FnOnce(A, &Tape) -> Outcome<B, E>,
) -> Outcome<(Scalar, B), E> {
    for x in xs {
        check_differentiable(op, x.borrow())?;
    }
    let mut tape = Tape::open(origin)?;
    let lifted = xs.iter().map(|x| tape.leaf(x.borrow())).collect();
    let (y, along) = f(lifted)?;
    check_scalar(op, &y)?;
    let (value, root) = tape.detach(&y)?;
    let along = beside(along, &tape)?;
    // What is left of the graph hangs on `root`, and is freed while it is swept.
    drop(y);
    Ok((Scalar { value, leaves: tape.close(), root }, along))
}

/// Runs a function on a tape that `xs` are the leaves of: the values of its results, and what pulls cotangents back.
#[inline]
pub fn reverse<E: From<Error>, A, B>(
    op: &str,
    origin: Origin,
    xs: &[impl Borrow<Tensor>],
    f: impl FnOnce(Values) -> Outcome<(Values, A), E>,
    beside: impl FnOnce(A, &Tape) -> Outcome<B, E>,
) -> Outcome<(Values, Pullback, B), E> {
    for x in xs {
        check_differentiable(op, x.borrow())?;
    }
    let mut tape = Tape::open(origin)?;
    let lifted = xs.iter().map(|x| tape.leaf(x.borrow())).collect();
    let (outputs, along) = f(lifted)?;
    for y in &outputs {
        check_output(op, y)?;
    }
    let detached = outputs.iter().map(|y| tape.detach(y)).collect::<Result<SmallVec<[_; 2]>>>()?;
    let along = beside(along, &tape)?;
    drop(outputs);
    let (values, pullback) = Pullback::new(tape.close(), detached);
    Ok((values, pullback, along))
}

/// Runs a function on dual numbers of the primals that have a tangent: the values of its results, and their tangents,
/// which `missing` makes where a result does not depend on the inputs.
#[inline]
pub fn forward<E: From<Error>, A, B>(
    origin: Origin,
    primals: &[impl Borrow<Tensor>],
    tangents: impl IntoIterator<Item = Option<impl Borrow<Tensor>>>,
    f: impl FnOnce(Values) -> Outcome<(Values, A), E>,
    missing: impl Fn(&Tensor) -> Outcome<Tensor, E>,
    beside: impl FnOnce(A, &Duals) -> Outcome<B, E>,
) -> Outcome<(Values, Values, B), E> {
    let duals = Duals::open(origin)?;
    let mut lifted = Values::new();
    for (primal, tangent) in primals.iter().zip(tangents) {
        lifted.push(match tangent {
            Some(t) => duals.lift(primal.borrow(), t.borrow())?,
            None => primal.borrow().clone(),
        });
    }
    let (outputs, along) = f(lifted)?;
    let (mut values, mut slopes) = (Values::new(), Values::new());
    for y in &outputs {
        let (value, slope) = duals.lower(y)?;
        slopes.push(slope.map_or_else(|| missing(&value), Ok)?);
        values.push(value);
    }
    Ok((values, slopes, beside(along, &duals)?))
}

/// How a function runs on the members of a batch.
#[derive(Clone, Copy)]
pub struct Members {
    pub size: usize,
    /// How many at a time.
    pub chunk: Option<usize>,
    pub randomness: Randomness,
    pub origin: Origin,
}

/// Runs a function under a level of `vmap`, by which it lifts and lowers itself.
#[inline]
pub fn batch<E: From<Error>, R>(
    size: usize,
    randomness: Randomness,
    origin: Origin,
    f: impl FnOnce(&Batch) -> Outcome<R, E>,
) -> Outcome<R, E> {
    f(&Batch::open(size, randomness, origin)?)
}

/// As [`batch`]: on all members, or on those from a number on, as many as the level has.
#[inline]
pub fn batched<E: From<Error>, R>(
    members: Members,
    mut f: impl FnMut(&Batch, Option<usize>) -> Outcome<R, E>,
    join: impl FnOnce(Vec<R>) -> Outcome<R, E>,
) -> Outcome<R, E> {
    let Members { size, chunk, randomness, origin } = members;
    let Some(chunk) = chunk.filter(|&c| c < size) else {
        return batch(size, randomness, origin, |level| f(level, None));
    };
    let same = (randomness == Randomness::Same).then(Rewind::open);
    let mut parts = Vec::with_capacity(size.div_ceil(chunk));
    for from in (0..size).step_by(chunk) {
        if let Some(draws) = &same {
            draws.restart();
        }
        parts.push(batch(chunk.min(size - from), randomness, origin, |level| f(level, Some(from)))?);
    }
    join(parts)
}

/// Runs a function once and records its derivative.
#[inline]
pub fn linearized<E: From<Error>, A>(
    origin: Origin,
    primals: &[Tensor],
    f: impl FnOnce(Values) -> Outcome<(Values, A), E>,
) -> Outcome<(Vec<Tensor>, LinearMap, A), E> {
    let (run, lifted) = Linearizing::open(primals, origin)?;
    let (outputs, along) = f(lifted)?;
    let (values, map) = run.close(&outputs)?;
    Ok((values, map, along))
}

/// Runs a function on values that have no data: random operators draw nothing.
#[inline]
pub fn without_data<R, E>(f: impl FnOnce() -> Outcome<R, E>) -> Outcome<R, E> {
    let _undrawn = Undrawn::enter();
    f()
}
