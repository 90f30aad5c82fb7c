//! Operators from outside: a kernel on arrays that transforms do not look into, and what was registered for it. Tapes,
//! duals and batches treat it as any function; here is what it needs where a rule is missing.
//!
//! NOTE missing rules. Forward mode is the transpose of the rule for reverse mode. A batch without a rule is a loop over
//! its members, whose calls are calls of the operator at the level below, with all rules. Results for values without data
//! are those of the shape rule.

use super::{Context, Function, Mapped, Rule, Setup, Wording, apply_all};
use crate::bail;
use crate::base::{Error, Result};
use crate::core::node::Meta;
use crate::core::origin::at_here;
use crate::core::reach::Reach;
use crate::core::{BatchInfo, Forward, Outputs, Randomness, Set, Tangents, Tensor};
use crate::ops::rewind::Rewind;
use crate::rules::basis;
use smallvec::SmallVec;
use std::sync::Arc;

/// What was registered for an operator. Its `forward` is the kernel; behind the results come the new values of the
/// arguments that it writes to.
pub trait Operator: Function {
    /// The arguments that it writes to.
    fn written(&self) -> &[usize];
    /// Whether there is a rule that says what shapes results have.
    fn has_shapes(&self) -> bool;
    /// What that rule gives for values without data.
    fn infer(&self, args: &[Tensor]) -> Result<Forward>;
    /// Whether there is a rule for batches, which `vmap` is.
    fn has_batches(&self) -> bool;
    /// So many members of a batch are about to run one by one.
    fn loops(&self, members: usize) -> Result<()>;
    /// Whether two runs gave results of one kind.
    fn is_alike(&self, a: &Forward, b: &Forward) -> Result<bool>;
}

static WORDING: Wording = Wording {
    backward: "the backward of register_autograd()",
    instead: "use reverse mode, or make it linear",
    none: ".default but no autograd formula was registered. Please use register_autograd to add one.",
};

/// An operator as a function with all rules.
pub struct Registered<O>(Arc<O>);

impl<O: Operator> Registered<O> {
    pub fn new(operator: O) -> Registered<O> {
        Registered(Arc::new(operator))
    }

    pub fn operator(&self) -> &O {
        &self.0
    }

    /// The run says which of its outputs are new values of arguments.
    fn noted(&self, mut run: Forward) -> Forward {
        let written = self.0.written();
        let first = run.results().saturating_sub(written.len());
        run.dirty = written.iter().enumerate().map(|(j, &k)| (k, first + j)).collect();
        run
    }

    /// Runs the members one by one.
    fn loop_over(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Mapped> {
        let name = self.0.name();
        self.0.loops(info.size)?;
        if self.0.written().iter().any(|&k| in_dims[k].is_none()) {
            bail!(
                Runtime,
                "vmap: {name} writes to an argument that has no batch, but others have one; expand it first{}",
                at_here()
            );
        }
        if info.size == 0 {
            return self.of_no_member(in_dims, args);
        }
        let function: Arc<dyn Function> = Arc::new(Registered(self.0.clone()));
        let draws = Rewind::open();
        let mut runs: Vec<Forward> = Vec::with_capacity(info.size);
        for i in 0..info.size {
            if info.randomness == Randomness::Same {
                draws.restart();
            }
            let member = |(x, d): (&Tensor, &Option<usize>)| match d {
                Some(d) => basis::select(x, *d, i),
                None => Ok(x.clone()),
            };
            let member = args.iter().zip(in_dims).map(member).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
            runs.push(apply_all(&function, &member)?);
        }
        if info.randomness == Randomness::Error && draws.has_drawn() {
            bail!(
                Runtime,
                "vmap: called random operation while in randomness error mode: {name}(); pass randomness='different' or \
                 randomness='same' to vmap{}",
                at_here()
            );
        }
        self.stacked(runs)
    }

    /// The runs of the members as one, its batch in front.
    fn stacked(&self, mut runs: Vec<Forward>) -> Result<Mapped> {
        let name = self.0.name();
        let first = &runs[0];
        for run in &runs[1..] {
            if run.outputs.len() != first.outputs.len() || !self.0.is_alike(first, run)? {
                bail!(Runtime, "vmap: {name} gives members of the batch results of different kinds{}", at_here());
            }
        }
        let mut outputs = Outputs::new();
        for j in 0..first.outputs.len() {
            let mut shapes: Vec<String> = runs.iter().map(|r| r.outputs[j].shape().to_string()).collect();
            shapes.sort();
            shapes.dedup();
            if shapes.len() > 1 {
                let shapes = shapes.join(", ");
                bail!(Runtime, "vmap: {name} gives members of the batch different shapes: {shapes}{}", at_here());
            }
            let rows = runs.iter().map(|r| basis::unsqueeze_dims(&r.outputs[j], &[0])).collect::<Result<Vec<_>>>()?;
            outputs.push(basis::cat(&rows.iter().collect::<Vec<_>>(), 0)?);
        }
        let dims = outputs.iter().map(|_| Some(0)).collect();
        Ok(Mapped { forward: runs.swap_remove(0).with(outputs), dims })
    }

    /// The results over a batch without members.
    fn of_no_member(&self, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Mapped> {
        if !self.0.has_shapes() {
            bail!(
                Runtime,
                "vmap: the batch is empty, and {} has no rule that says what shapes its results have; write one with \
                 register_fake or register_vmap{}",
                self.0.name(),
                at_here()
            );
        }
        let member = |(x, d): (&Tensor, &Option<usize>)| {
            let shape = d.map_or_else(|| x.shape().clone(), |d| x.shape().without(d));
            Tensor::without_data(Meta { dtype: x.dtype(), shape })
        };
        let members: Vec<Tensor> = args.iter().zip(in_dims).map(member).collect();
        let run = self.noted(self.0.infer(&members)?);
        let (mut outputs, mut dims) = (Outputs::new(), SmallVec::new());
        for (j, y) in run.outputs.iter().enumerate() {
            let (value, dim) = match run.dirty.iter().find(|(_, output)| *output == j) {
                Some(&(k, _)) => (args[k].clone(), in_dims[k]),
                None => (basis::full(&y.shape().prepend(0), y.dtype(), 0.0)?, Some(0)),
            };
            outputs.push(value);
            dims.push(dim);
        }
        Ok(Mapped { forward: run.with(outputs), dims })
    }
}

impl<O: Operator> Function for Registered<O> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        if !args.iter().any(Tensor::is_abstract) {
            return Ok(self.noted(self.0.forward(args)?));
        }
        if !self.0.has_shapes() {
            return Err(Error::not_implemented(format!(
                "{}: has no rule that says what shapes its results have, and runs on tensors without data (of device \
                 'meta', or under eval_shape); write one with register_fake{}",
                self.0.name(),
                at_here()
            )));
        }
        Ok(self.noted(self.0.infer(args)?))
    }

    fn rerun(&self, setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        self.0.rerun(setup, args)
    }

    fn has(&self, rule: Rule) -> bool {
        rule == Rule::Backward && self.0.has(rule)
    }

    fn once(&self) -> bool {
        self.0.once()
    }

    fn signature(&self) -> Option<String> {
        self.0.signature()
    }

    fn argument(&self, i: usize) -> String {
        self.0.argument(i)
    }

    fn wording(&self) -> Option<&'static Wording> {
        Some(&WORDING)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        self.0.setup(inputs, run, needs)
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        self.0.backward(setup, cotangents, needs)
    }

    fn vmap(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
        if !self.0.has_batches() {
            return self.loop_over(info, in_dims, args).map(Some);
        }
        let mapped = self.0.vmap(info, in_dims, args)?;
        Ok(mapped.map(|m| Mapped { forward: self.noted(m.forward), ..m }))
    }

    fn reach(&self, reach: &mut Reach<'_>) {
        if reach.owns(&self.0) {
            self.0.reach(reach);
        }
    }

    fn reach_context(&self, context: &Context, reach: &mut Reach<'_>) {
        self.0.reach_context(context, reach);
    }
}
