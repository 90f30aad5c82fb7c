//! The generated batching rule: a function whose forward, setup, backward and jvp run another function's under a batch
//! level. It is a custom function itself, so tapes and duals below the batch see one call.
//!
//! NOTE shared outputs. An output that does not depend on the batch has one value. Where its derivative is asked for, each
//! member needs a cotangent of its own, because a rule may do with it what it likes: so results get a batch, repeated
//! without a copy; `core/shared.rs` knows them. Values that only the rules see keep their one value; their cotangent comes once, for all members, and
//! is pulled apart from those that each member has.

use super::{Context, Function, History, Mapped, Rule, Setup, Values, checked_gradients};
use crate::bail;
use crate::base::{Error, Result};
use crate::core::level::Guard;
use crate::core::node::{Meta, Metas};
use crate::core::origin::Origin;
use crate::core::reach::Reach;
use crate::core::tensor::Payload;
use crate::core::{BatchInfo, Forward, LevelId, Outputs, Set, Tangents, Tensor, level, method_scope};
use crate::rules::basis;
use smallvec::SmallVec;
use std::sync::Arc;

type Dims = SmallVec<[Option<usize>; 4]>;

pub struct Batched {
    inner: Arc<dyn Function>,
    info: BatchInfo,
    in_dims: Dims,
    /// Whether a derivative may be asked for.
    followed: bool,
}

/// What a run leaves for the setup.
struct Run {
    /// What that of the inner function left.
    inner: Option<Context>,
    /// Where the batches of the outputs are.
    dims: Dims,
    /// Outputs that got a batch, and are the same for all members.
    shared: Set,
}

/// What a run gave, with the batches of its outputs, and which outputs got theirs for the sake of a derivative: all
/// members of these have one value.
pub fn opened(forward: Forward) -> Result<(Mapped, Set)> {
    let Some(run) = forward.state.as_ref().and_then(|s| s.downcast_ref::<Run>()) else {
        bail!(Internal, "a batching rule: its run has no batches")
    };
    let (state, dims, shared) = (run.inner.clone(), run.dims.clone(), run.shared.clone());
    Ok((Mapped { forward: Forward { state, ..forward }, dims }, shared))
}

/// The inner context, where the batches of its saved tensors and of the outputs are, and what a member's inputs are.
struct BatchedContext {
    inner: Context,
    dims: Dims,
    out_dims: Dims,
    inputs: Metas,
}

/// How many cotangents the rule's outputs have.
#[derive(Clone, Copy, PartialEq)]
enum Given {
    /// One for each member.
    Each,
    /// One for all members together.
    Once,
}

impl Batched {
    /// Of arguments with these batches; their values are those of the levels below.
    pub fn new(inner: Arc<dyn Function>, info: BatchInfo, in_dims: &[Option<usize>], values: &[Tensor]) -> Batched {
        let followed = values.iter().any(is_followed);
        let in_dims = in_dims.iter().copied().collect();
        Batched { inner, info, in_dims, followed }
    }

    fn open(&self) -> Result<Opened> {
        level::check_room()?;
        let guard = level::push_batch(self.info.size, self.info.randomness, Origin::UNKNOWN);
        Ok(Opened { _members: method_scope::lift(self.info.level, guard.id()), guard })
    }
}

/// The level that the methods run under, in place of the one that was called.
struct Opened {
    _members: method_scope::Lifted,
    guard: Guard,
}

impl std::ops::Deref for Opened {
    type Target = Guard;
    fn deref(&self) -> &Guard {
        &self.guard
    }
}

/// Whether some level differentiates, or may be differentiated later.
fn is_followed(value: &Tensor) -> bool {
    let mut t = Some(value);
    while let Some(x) = t {
        let id = x.level();
        match x.payload() {
            Some(Payload::Taped { .. }) if level::is_live(id) && level::records(id) => return true,
            Some(Payload::Dual { .. }) if level::is_live(id) && level::propagates(id) => return true,
            Some(Payload::Traced { .. }) => return true,
            _ => t = x.below(),
        }
    }
    false
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

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        let guard = self.open()?;
        let run = self.inner.forward(&lift(guard.id(), args, &self.in_dims))?;
        let outs = &run.outputs;
        let unseen = if self.followed { run.hidden + run.unseen } else { outs.len() };
        let shown = outs.len().saturating_sub(unseen);
        let (mut values, mut dims, mut shared) = (Outputs::new(), Dims::new(), Set::NONE);
        for (i, o) in outs.iter().enumerate() {
            let (v, d) = match lower(guard.id(), o) {
                (v, None) if i < shown && v.dtype().is_differentiable() => {
                    shared.add(i);
                    (basis::expand(&v, &v.shape().prepend(self.info.size))?, Some(0))
                }
                own => own,
            };
            values.push(v);
            dims.push(d);
        }
        let state: Context = Arc::new(Run { inner: run.state.clone(), dims, shared });
        Ok(Forward { outputs: values, state: Some(state), ..run })
    }

    fn rerun(&self, setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        let guard = self.open()?;
        let (inner, context) = self.inner_setup(&guard, setup)?;
        let outs = self.inner.rerun(&inner, &lift(guard.id(), args, &self.in_dims))?;
        let back = |(o, d): (&Tensor, &Option<usize>)| match d {
            Some(d) => lower_to(guard.id(), self.info.size, o, *d),
            None => Ok(lower(guard.id(), o).0),
        };
        outs.iter().zip(&context.out_dims).map(back).collect()
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

    fn signature(&self) -> Option<String> {
        let own = self.inner.signature()?;
        Some(format!("{own} over {:?} {}", self.in_dims, self.info.size))
    }

    fn argument(&self, i: usize) -> String {
        self.inner.argument(i)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        let Some(own) = run.state.as_ref().and_then(|s| s.downcast_ref::<Run>()) else {
            bail!(Internal, "{}: the forward has not run", self.inner.name())
        };
        let guard = self.open()?;
        let (ins, outs) = (lift(guard.id(), inputs, &self.in_dims), lift(guard.id(), &run.outputs, &own.dims));
        let out_dims = own.dims.clone();
        let (outputs, state) = (outs.iter().cloned().collect(), own.inner.clone());
        let (dirty, constant) = (std::mem::take(&mut run.dirty), std::mem::take(&mut run.constant));
        let mut member = Forward { outputs, state, dirty, constant, hidden: run.hidden, unseen: run.unseen };
        let setup = self.inner.setup(&ins, &mut member, needs)?;
        (run.dirty, run.constant) = (member.dirty, member.constant);
        let outputs = &run.outputs;
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
        let inputs = ins.iter().map(Meta::of).collect();
        Ok(Setup { context: Arc::new(BatchedContext { inner: setup.context, dims, out_dims, inputs }), saved, ..setup })
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        let out_dims = &self.context(setup)?.out_dims;
        let kind = |j: usize| match (&cotangents[j], out_dims[j]) {
            _ if setup.non_differentiable.has(j) => None,
            (None, _) => None,
            (Some(_), Some(_)) => Some(Given::Each),
            (Some(_), None) => Some(Given::Once),
        };
        let any = |given: Given| (0..cotangents.len()).any(|j| kind(j) == Some(given));
        match (any(Given::Each), any(Given::Once)) {
            (_, false) => self.pull(setup, cotangents, needs, Given::Each),
            (false, true) => self.pull(setup, cotangents, needs, Given::Once),
            (true, true) => {
                let only = |given: Given| {
                    let keep = |(j, c): (usize, &Option<Tensor>)| match (c, kind(j)) {
                        (Some(c), Some(k)) if k != given && setup.materialize => basis::zeros_like(c).map(Some),
                        (_, Some(k)) if k != given => Ok(None),
                        _ => Ok(c.clone()),
                    };
                    cotangents.iter().enumerate().map(keep).collect::<Result<Tangents>>()
                };
                let each = self.pull(setup, &only(Given::Each)?, needs, Given::Each)?;
                let once = self.pull(setup, &only(Given::Once)?, needs, Given::Once)?;
                let both = |(a, b): (Option<Tensor>, Option<Tensor>)| match (a, b) {
                    (Some(a), Some(b)) => basis::add(&a, &b).map(Some),
                    (a, b) => Ok(a.or(b)),
                };
                each.into_iter().zip(once).map(both).collect()
            }
        }
    }

    fn jvp(&self, setup: &Setup, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let guard = self.open()?;
        let (inner, context) = self.inner_setup(&guard, setup)?;
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
            .zip(context.out_dims.iter().copied())
            .enumerate()
            .map(|(i, (t, d))| match (t, d) {
                (None, _) => Ok(None),
                (Some(t), Some(d)) => lower_to(guard.id(), self.info.size, t, d).map(Some),
                (Some(_), None) if setup.non_differentiable.has(i) => Ok(None),
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
    /// Cotangents of the inputs in `needs` from those of the outputs, all of which are `given` so.
    fn pull(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set, given: Given) -> Result<Tangents> {
        let guard = self.open()?;
        let (inner, context) = self.inner_setup(&guard, setup)?;
        let lifted: Tangents = cotangents
            .iter()
            .zip(context.out_dims.iter().copied())
            .map(|(c, d)| match (c, d) {
                (Some(c), Some(d)) => Some(Tensor::batched(guard.id(), c.clone(), d)),
                (c, _) => c.clone(),
            })
            .collect();
        let grads = checked_gradients(&*self.inner, self.inner.backward(&inner, &lifted, needs)?, &context.inputs)?;
        let size = self.info.size;
        let lowered = |(i, g): (usize, &Option<Tensor>)| {
            let Some(g) = g else { return Ok(None) };
            if let Some(d) = self.in_dims.get(i).copied().flatten() {
                return lower_to(guard.id(), size, g, d).map(Some);
            }
            // All members share the input.
            Ok(Some(match (given, lower(guard.id(), g)) {
                (Given::Once, (v, None)) => v,
                (Given::Once, (v, Some(d))) if size > 0 => basis::select(&v, d, 0)?,
                (_, (v, Some(d))) => basis::sum(&v, &[d], false)?,
                (Given::Each, (v, None)) => basis::sum(&basis::expand(&v, &v.shape().prepend(size))?, &[0], false)?,
            }))
        };
        grads.iter().enumerate().map(lowered).collect()
    }

    fn context<'a>(&self, setup: &'a Setup) -> Result<&'a BatchedContext> {
        let context = setup.context.downcast_ref::<BatchedContext>();
        context.ok_or_else(|| Error::internal(format!("{}: context of the batching rule", self.inner.name())))
    }

    /// The inner function's setup with its saved tensors lifted to the batch level again, and its context.
    fn inner_setup<'a>(&self, guard: &Guard, setup: &'a Setup) -> Result<(Setup, &'a BatchedContext)> {
        let context = self.context(setup)?;
        let inner = Setup {
            context: context.inner.clone(),
            saved: lift(guard.id(), &setup.saved, &context.dims),
            non_differentiable: setup.non_differentiable.clone(),
            materialize: setup.materialize,
            history: setup.history.as_ref().map(History::in_batch),
        };
        Ok((inner, context))
    }
}
