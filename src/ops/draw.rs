//! Draws of random numbers as one primitive.
//!
//! NOTE levels. Every draw is offered to each visible level from the top down, whatever its arguments: `vmap` raises,
//! draws one array with a batch in front ("different"), or lets the draw pass ("same"); a trace records it.

use super::rewind;
use crate::bail;
use crate::base::{DType, Error, Result, Shape};
use crate::core::level::{self, Below, LevelKind, Randomness};
use crate::core::params::{Dims, Parameters, fields, parameters};
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call,
};
use crate::dense::random::{self as kernels, Generator};
use crate::dense::{Array, index, order};
use smallvec::smallvec;
use std::sync::Arc;

/// The generator of a draw; `None` for the default one.
pub(super) type Source<'a> = Option<&'a Arc<dyn Parameters>>;

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub(super) enum Law {
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        std: f64,
    },
    Integers {
        low: i64,
        high: i64,
    },
    Exponential {
        rate: f64,
    },
    Cauchy {
        median: f64,
        scale: f64,
    },
    LogNormal {
        mean: f64,
        std: f64,
    },
    Geometric {
        p: f64,
    },
    Bernoulli {
        p: f64,
    },
    /// Integers from 0 on, all that the dtype has.
    Anything,
    /// Normal numbers that are not drawn by blocks.
    NormalOneByOne {
        mean: f64,
        std: f64,
    },
    /// A permutation along the last dimension.
    Permutation,
}

impl Law {
    /// The same for elements that are not filled in row-major order.
    pub(super) fn one_by_one(self) -> Law {
        match self {
            Law::Normal { mean, std } => Law::NormalOneByOne { mean, std },
            other => other,
        }
    }
}

fields! { enum Law {
    0 => Uniform { low, high }, 1 => Normal { mean, std }, 2 => Integers { low, high }, 3 => Exponential { rate },
    4 => Cauchy { median, scale }, 5 => LogNormal { mean, std }, 6 => Geometric { p }, 7 => Bernoulli { p },
    8 => Permutation, 9 => Anything, 10 => NormalOneByOne { mean, std },
} }

#[derive(Clone)]
pub(super) struct Draw {
    law: Law,
    dtype: DType,
    shape: Shape,
    generator: Option<Arc<dyn Parameters>>,
    /// The dimensions in the order of memory, with those of batches in front; none for row-major order.
    order: Dims,
}

fields! { struct Draw { law, dtype, shape, generator, order } }
parameters! { Draw = "draw" }

pub(super) fn generator(g: &Option<Arc<dyn Parameters>>) -> Result<&Generator> {
    match g {
        None => Ok(kernels::default_generator()),
        Some(g) => match (**g).as_any().downcast_ref::<Generator>() {
            Some(g) => Ok(g),
            None => bail!(Type, "argument 'generator' must be a Generator"),
        },
    }
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meta = Meta { dtype: self.dtype, shape: self.shape.clone() };
        write!(f, "{:?}, {meta}{}", self.law, if self.generator.is_some() { ", own generator" } else { "" })
    }
}

impl Draw {
    fn run(&self) -> Result<Array> {
        let rng = generator(&self.generator)?;
        rewind::note(rng, &self.generator);
        // A level that draws the same for all members has put no dimension in front.
        if self.order.is_empty() || self.order.len() != self.shape.rank() {
            return self.run_with(rng);
        }
        let mut back: Dims = (0..self.order.len()).collect();
        back.sort_by_key(|&d| self.order[d]);
        if back.iter().enumerate().any(|(d, &i)| self.order[i] != d) {
            bail!(Internal, "the dimensions {:?} are no order", self.order);
        }
        let shape = self.order.iter().map(|&d| self.shape[d]).collect();
        Draw { law: self.law.one_by_one(), shape, ..self.clone() }.run_with(rng)?.permute(&back)
    }

    /// An error if there are no such numbers, found by drawing none of them.
    fn check(&self) -> Result<()> {
        Draw { shape: [0].into(), ..self.clone() }.run_with(&Generator::new(0)).map(drop)
    }

    fn run_with(&self, rng: &Generator) -> Result<Array> {
        let (dtype, shape) = (self.dtype, &self.shape);
        match self.law {
            Law::Uniform { low, high } => kernels::uniform(rng, dtype, shape, low, high),
            Law::Normal { mean, std } => kernels::normal(rng, dtype, shape, mean, std),
            Law::Integers { low, high } => kernels::randint(rng, dtype, shape, low, high),
            Law::Exponential { rate } => kernels::exponential(rng, dtype, shape, rate),
            Law::Cauchy { median, scale } => kernels::cauchy(rng, dtype, shape, median, scale),
            Law::LogNormal { mean, std } => kernels::log_normal(rng, dtype, shape, mean, std),
            Law::Geometric { p } => kernels::geometric(rng, dtype, shape, p),
            Law::Bernoulli { p } => kernels::bernoulli_with(rng, dtype, shape, p),
            Law::Permutation => self.permutations(rng),
            Law::NormalOneByOne { mean, std } => kernels::normal_one_by_one(rng, dtype, shape, mean, std),
            Law::Anything => kernels::anything(rng, dtype, shape),
        }
    }

    fn permutations(&self, rng: &Generator) -> Result<Array> {
        let n = self.shape[self.shape.rank() - 1];
        let rows: usize = self.shape[..self.shape.rank() - 1].iter().product();
        let parts: Vec<Array> =
            (0..rows).map(|_| kernels::randperm(rng, n as i64, self.dtype)).collect::<Result<_>>()?;
        if parts.is_empty() {
            return Array::zeros(self.dtype, self.shape.clone());
        }
        index::cat(&parts, 0)?.reshape(&self.shape)
    }
}

/// A draw without regard to levels, which [`draw`] has asked before.
pub(crate) struct Random;
pub(crate) static RANDOM: Random = Random;

impl Primitive for Random {
    fn name(&self) -> &str {
        "random"
    }
    fn eval(&self, params: &Params, _: &[&Tensor]) -> Result<Tensor> {
        params.get::<Draw>().run().map(Tensor::from)
    }
    fn infer(&self, params: &Params, _: &[Meta]) -> Result<Inferred> {
        let d = params.get::<Draw>();
        d.check()?;
        Ok(smallvec![Meta { dtype: d.dtype, shape: d.shape.clone() }])
    }
    fn is_constant(&self) -> bool {
        true
    }
    fn has_effect(&self) -> bool {
        true
    }
    fn replay(&self, _: Prim<'_>, params: &Params, _: &[&Tensor]) -> Result<Outputs> {
        draw("random", params.get::<Draw>().clone()).map(|t| smallvec![t])
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(smallvec![None])
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(Tangents::new())
    }
    fn batch(&self, me: Prim<'_>, params: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Ok(smallvec![(call(me, params, &[])?, None)])
    }
}

#[cold]
pub(super) fn forbidden(op: &str, l: &level::Level) -> Error {
    let origin = l.origin.describe().unwrap_or_default();
    let fix = if origin.starts_with("jacrev") {
        format!(
            "{origin} runs reverse rules for all rows at once: draw in the forward and save the numbers, or pass \
             chunk_size=1 to jacrev, which goes row by row"
        )
    } else if origin.starts_with("jacfwd") || origin.starts_with("hessian") {
        format!("pass randomness='different' or randomness='same' to jacfwd for {origin}, or draw before it")
    } else {
        "pass randomness='different' or randomness='same' to vmap, or draw before it".to_string()
    };
    Error::runtime(format!(
        "vmap: called random operation while in randomness error mode: {op}(){}; {fix}",
        crate::core::origin::at_here()
    ))
}

fn draw(op: &str, d: Draw) -> Result<Tensor> {
    crate::core::method_scope::check_random(op)?;
    for l in level::visible() {
        let LevelKind::Batch { size, randomness } = l.kind else { continue };
        match if rewind::passes(&l) { Randomness::Same } else { randomness } {
            Randomness::Error => return Err(forbidden(op, &l)),
            Randomness::Same => {
                let _below = Below::enter(l.id);
                return draw(op, d);
            }
            Randomness::Different => {
                let below = Below::enter(l.id);
                let all = draw(op, Draw { shape: d.shape.prepend(size), ..d })?;
                drop(below);
                return Ok(Tensor::batched(l.id, all, 0));
            }
        }
    }
    let _undrawn = level::is_undrawn().then(level::WithoutData::enter);
    call(Prim::Static(&RANDOM), &Params::other(d), &[])
}

/// Numbers of this law, as an operator.
pub(super) fn law(op: &str, law: Law, dtype: DType, shape: Shape, g: Source<'_>) -> Result<Tensor> {
    draw(op, Draw { law, dtype, shape, generator: g.cloned(), order: Dims::new() })
}

/// The same for each element of a tensor, in the order of its memory.
pub(super) fn law_like(op: &str, law: Law, dtype: DType, x: &Tensor, g: Source<'_>) -> Result<Tensor> {
    draw(op, Draw { law, dtype, shape: x.shape().clone(), generator: g.cloned(), order: memory_order(x) })
}

/// The dimensions in the order of memory, with those of batches in front; none for row-major order.
fn memory_order(x: &Tensor) -> Dims {
    let dims = dims_in_memory(x);
    let Some(a) = x.innermost().filter(|a| a.rank() == dims.len()) else { return Dims::new() };
    if dims.len() == x.rank() && a.is_contiguous() {
        return Dims::new();
    }
    let (sizes, strides) = (dims.iter().map(|&d| a.shape()[d]).collect(), a.strides());
    let strides = dims.iter().map(|&d| strides[d]).collect();
    order::of_strides(&sizes, &[strides]).map_or_else(Dims::new, |order| order.into_iter().collect())
}

/// Which dimensions of the array below a tensor are those of the batches, from the lowest level on, and its own.
fn dims_in_memory(x: &Tensor) -> Dims {
    match (x.payload(), x.below()) {
        (Some(Payload::Batched { value, dim }), _) => {
            let mut dims = dims_in_memory(value);
            let front = dims.len() - value.rank();
            let batch = dims.remove(front + dim);
            dims.insert(front, batch);
            dims
        }
        (_, Some(below)) => dims_in_memory(below),
        (_, None) => (0..x.rank()).collect(),
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    primitives: &[&[&RANDOM]],
    parameters: &[crate::core::params::Type::of::<Draw>()],
    ..crate::ops::Family::EMPTY
};
