//! Recording of a function as a program.

use super::{Output, Program};
use crate::base::Result;
use crate::core::Tensor;
use crate::core::closed::taken_off;
use crate::core::level;
use crate::core::modes::Modes;
use crate::core::node::Meta;
use crate::core::origin::Origin;
use crate::core::tensor::Payload;
use crate::core::trace::{Instruction, Recorder};
use std::sync::Arc;

/// A function that is being recorded: its level, and what it was called with.
pub struct Tracing {
    trace: level::Guard,
    recorder: Arc<Recorder>,
    inputs: usize,
    /// What the function does to the modes belongs to the program, what its caller did does not.
    _modes: Modes,
}

impl Tracing {
    /// Opens the level; also returns the inputs to call the function with.
    ///
    /// # Errors
    /// `Recursion` if too many levels are open.
    pub fn open(args: &[Tensor], origin: Origin) -> Result<(Tracing, Vec<Tensor>)> {
        level::check_room()?;
        let recorder = Arc::new(Recorder::default());
        let trace = level::push_trace(recorder.clone(), origin);
        let lift = |a: &Tensor| Tensor::traced(trace.id(), a.clone(), recorder.new_var(Meta::of(a)));
        let lifted = args.iter().map(lift).collect();
        Ok((Tracing { trace, recorder, inputs: args.len(), _modes: Modes::all_on() }, lifted))
    }

    /// What was recorded so far.
    pub fn instructions(&self) -> Vec<Instruction> {
        self.recorder.instructions()
    }

    /// The variable that a value of this level is.
    pub fn variable(&self, t: &Tensor) -> Option<u32> {
        match t.payload_at(self.trace.id()) {
            Some(Payload::Traced { var, .. }) => Some(*var),
            _ => None,
        }
    }

    /// A variable as a value of this level, without data.
    pub fn value(&self, var: u32) -> Tensor {
        Tensor::traced(self.trace.id(), Tensor::without_data(self.recorder.meta(var)), var)
    }

    /// Closes the level: the program that computes `outputs`.
    ///
    /// # Errors
    /// `Runtime` if an output belongs to a transform that has returned.
    pub fn close(self, outputs: &[Tensor]) -> Result<Program> {
        let inputs = self.inputs;
        self.close_with(inputs, outputs, false)
    }

    /// As [`close`](Tracing::close), where the outputs need the first `inputs` arguments only. With `pruned`, steps that
    /// no output needs are left out.
    ///
    /// # Errors
    /// `Runtime` if an output belongs to a transform that has returned.
    pub fn close_with(self, inputs: usize, outputs: &[Tensor], pruned: bool) -> Result<Program> {
        let id = self.trace.id();
        let mut outs = Vec::with_capacity(outputs.len());
        for y in outputs {
            let recorded = |y: &Tensor, payload: &Payload| match payload {
                Payload::Traced { var, .. } => Ok(Output::Var(*var)),
                _ => Ok(Output::Const(y.clone())),
            };
            outs.push(taken_off(y, id, recorded, |y| Ok(Output::Const(y)))?);
        }
        Ok(Program::new(self.recorder.take(), inputs, outs, pruned))
    }
}
