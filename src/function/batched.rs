//! The generated batching rule: a function whose forward, setup, backward and jvp run another function's under a batch
//! level. It is a custom function itself, so tapes and duals below the batch see one call.

use super::{Context, Function, Rule, Setup, Values};
use crate::bail;
use crate::base::Result;
use crate::core::level::Guard;
use crate::core::origin::Origin;
use crate::core::reach::Reach;
use crate::core::tensor::Payload;
use crate::core::{BatchInfo, LevelId, Mask, Outputs, Tangents, Tensor, level};
use crate::rules::basis;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};

type Dims = SmallVec<[Option<usize>; 4]>;

pub struct Batched {
    inner: Arc<dyn Function>,
    info: BatchInfo,
    in_dims: Dims,
    /// Where the batches of the outputs are; known after the forward.
    out_dims: Mutex<Option<Dims>>,
}

/// The inner context, and where the batches of its saved tensors are.
struct BatchedContext {
    inner: Context,
    dims: Dims,
}

impl Batched {
    pub fn new(inner: Arc<dyn Function>, info: BatchInfo, in_dims: &[Option<usize>]) -> Batched {
        Batched { inner, info, in_dims: in_dims.iter().copied().collect(), out_dims: Mutex::new(None) }
    }

    pub fn out_dims(&self) -> Result<Dims> {
        match &*self.out_dims.lock().unwrap_or_else(|e| e.into_inner()) {
            Some(d) => Ok(d.clone()),
            None => bail!(Internal, "{}: the forward has not run", self.inner.name()),
        }
    }

    fn open(&self) -> Guard {
        level::push_batch(self.info.size, self.info.randomness, Origin::UNKNOWN)
    }
}

fn lift(level: LevelId, values: &[Tensor], dims: &[Option<usize>]) -> Values {
    values
        .iter()
        .zip(dims)
        .map(|(v, d)| match d {
            Some(d) => Tensor::batched(level, v.clone(), *d),
            None => v.clone(),
        })
        .collect()
}

fn lower(level: LevelId, t: &Tensor) -> (Tensor, Option<usize>) {
    match t.payload_at(level) {
        Some(Payload::Batched { value, dim }) => (value.clone(), Some(*dim)),
        _ => (t.clone(), None),
    }
}

/// The value with its batch at `dim`, repeated if it has none.
fn lower_to(level: LevelId, size: usize, t: &Tensor, dim: usize) -> Result<Tensor> {
    match lower(level, t) {
        (v, Some(d)) => basis::move_dim(&v, d, dim),
        (v, None) => basis::move_dim(&basis::expand(&v, &v.shape().prepend(size))?, 0, dim),
    }
}

impl Function for Batched {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn forward(&self, args: &[Tensor]) -> Result<Outputs> {
        let guard = self.open();
        let outs = self.inner.forward(&lift(guard.id(), args, &self.in_dims))?;
        let (values, dims): (Outputs, Dims) = outs.iter().map(|o| lower(guard.id(), o)).unzip();
        *self.out_dims.lock().unwrap_or_else(|e| e.into_inner()) = Some(dims);
        Ok(values)
    }

    fn hidden(&self) -> usize {
        self.inner.hidden()
    }

    fn rerun(&self, args: &[Tensor]) -> Result<Outputs> {
        let guard = self.open();
        let outs = self.inner.rerun(&lift(guard.id(), args, &self.in_dims))?;
        let dims = self.out_dims()?;
        let back = |(o, d): (&Tensor, &Option<usize>)| match d {
            Some(d) => lower_to(guard.id(), self.info.size, o, *d),
            None => Ok(lower(guard.id(), o).0),
        };
        outs.iter().zip(&dims).map(back).collect()
    }

    fn has(&self, rule: Rule) -> bool {
        self.inner.has(rule)
    }

    fn reach(&self, reach: &mut Reach<'_>) {
        if reach.owns(&self.inner) {
            self.inner.reach(reach);
        }
    }

    fn reach_context(&self, context: &Context, reach: &mut Reach<'_>) {
        if let Some(context) = context.downcast_ref::<BatchedContext>()
            && Arc::strong_count(&context.inner) == 1
        {
            self.inner.reach_context(&context.inner, reach);
        }
    }

    fn once(&self) -> bool {
        self.inner.once()
    }

    fn argument(&self, i: usize) -> String {
        self.inner.argument(i)
    }

    fn setup(&self, inputs: &[Tensor], outputs: &[Tensor], needs: Mask) -> Result<Setup> {
        let guard = self.open();
        let ins = lift(guard.id(), inputs, &self.in_dims);
        let outs = lift(guard.id(), outputs, &self.out_dims()?);
        let setup = self.inner.setup(&ins, &outs, needs)?;
        // A saved input or output is the caller's own value, so that a tape finds it by identity.
        let original = |t: &Tensor| {
            let of_inputs = ins.iter().position(|x| x.same(t)).map(|i| (inputs[i].clone(), self.in_dims[i]));
            of_inputs.or_else(|| {
                let i = outs.iter().position(|x| x.same(t))?;
                Some((outputs[i].clone(), lower(guard.id(), t).1))
            })
        };
        let lowered = setup.saved.iter().map(|t| original(t).unwrap_or_else(|| lower(guard.id(), t)));
        let (saved, dims): (Values, Dims) = lowered.unzip();
        Ok(Setup { context: Arc::new(BatchedContext { inner: setup.context, dims }), saved, ..setup })
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: Mask) -> Result<Tangents> {
        let guard = self.open();
        let inner = self.inner_setup(&guard, setup)?;
        let out_dims = self.out_dims()?;
        let lifted: Tangents = cotangents
            .iter()
            .zip(&out_dims)
            .map(|(c, d)| match (c, d) {
                (Some(c), Some(d)) => Some(Tensor::batched(guard.id(), c.clone(), *d)),
                (c, _) => c.clone(),
            })
            .collect();
        let grads = self.inner.backward(&inner, &lifted, needs)?;
        let mut out = Tangents::new();
        for (i, g) in grads.iter().enumerate() {
            out.push(match (g, self.in_dims.get(i).copied().flatten()) {
                (None, _) => None,
                (Some(g), Some(d)) => Some(lower_to(guard.id(), self.info.size, g, d)?),
                // An input that all members share gets the sum of their cotangents.
                (Some(g), None) => match lower(guard.id(), g) {
                    (v, Some(d)) => Some(basis::sum(&v, &[d], false)?),
                    // Members agree on it: each contributes the same.
                    (v, None) if out_dims.iter().any(Option::is_some) => Some(basis::scale(&v, self.info.size as f64)?),
                    (v, None) => Some(v),
                },
            });
        }
        Ok(out)
    }

    fn jvp(&self, setup: &Setup, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let guard = self.open();
        let inner = self.inner_setup(&guard, setup)?;
        let lifted: Tangents = tangents
            .iter()
            .zip(&self.in_dims)
            .map(|(t, d)| match (t, d) {
                (Some(t), Some(d)) => Some(Tensor::batched(guard.id(), t.clone(), *d)),
                (t, _) => t.clone(),
            })
            .collect();
        let outs = self.inner.jvp(&inner, &lifted)?;
        outs.iter()
            .zip(self.out_dims()?)
            .map(|(t, d)| match (t, d) {
                (None, _) => Ok(None),
                (Some(t), Some(d)) => lower_to(guard.id(), self.info.size, t, d).map(Some),
                (Some(t), None) => match lower(guard.id(), t) {
                    (v, None) => Ok(Some(v)),
                    (_, Some(_)) => bail!(
                        Runtime,
                        "{}.jvp: gave a batched tangent for an output that is the same for the whole batch",
                        self.inner.name()
                    ),
                },
            })
            .collect()
    }
}

impl Batched {
    /// The inner function's setup with its saved tensors lifted to the batch level again.
    fn inner_setup(&self, guard: &Guard, setup: &Setup) -> Result<Setup> {
        let Some(context) = setup.context.downcast_ref::<BatchedContext>() else {
            bail!(Internal, "{}: context of the batching rule", self.inner.name())
        };
        Ok(Setup {
            context: context.inner.clone(),
            saved: lift(guard.id(), &setup.saved, &context.dims),
            non_differentiable: setup.non_differentiable,
            materialize: setup.materialize,
        })
    }
}
