//! `linearize`: the derivative at a point as a program that is run for each tangent.
//!
//! A partial trace level lies below a level of dual numbers, and the tangents are its variables. Primal values do not
//! depend on the tangents, so that they are computed once, below, and stand in the program as constants. What is
//! recorded is linear in the tangents.

use super::jvp::{Duals, check_dual};
use super::run::Values;
use crate::bail;
use crate::base::{Result, Scalar};
use crate::core::closed::taken_off;
use crate::core::level;
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::trace::{Atoms, Recorder, Recording};
use crate::core::{Params, Prim, Tensor};
use crate::ir::{Output, Program};
use crate::rules::{basis, constant};
use std::sync::Arc;

/// A linear map between lists of tensors, recorded once.
pub struct LinearMap {
    inputs: Vec<Meta>,
    program: Program,
}

impl LinearMap {
    /// Of the tangents that the map takes.
    pub fn inputs(&self) -> &[Meta] {
        &self.inputs
    }

    /// Number of operators that a call runs.
    pub fn len(&self) -> usize {
        self.program.len()
    }
    pub fn is_empty(&self) -> bool {
        self.program.is_empty()
    }

    /// The outputs' tangents for these tangents of the inputs.
    ///
    /// # Errors
    /// `Runtime` unless there is a tangent of the right shape and dtype for each input.
    pub fn call(&self, tangents: &[Tensor]) -> Result<Vec<Tensor>> {
        self.check(tangents)?;
        self.program.run(tangents)
    }

    fn check(&self, tangents: &[Tensor]) -> Result<()> {
        if tangents.len() != self.inputs.len() {
            bail!(
                Runtime,
                "linearize(): expected {} tangents, one for each primal, got {}{}",
                self.inputs.len(),
                tangents.len(),
                at_here()
            );
        }
        for (i, (t, m)) in tangents.iter().zip(&self.inputs).enumerate() {
            let (what, got, expected) = if t.shape() != &m.shape {
                ("shape", t.shape().to_string(), m.shape.to_string())
            } else if t.dtype() != m.dtype {
                ("dtype", t.dtype().to_string(), m.dtype.to_string())
            } else {
                continue;
            };
            bail!(
                Runtime,
                "linearize(): tangent {i} with {what} {got} doesn't match the {what} {expected} of its primal{}",
                at_here()
            );
        }
        Ok(())
    }
}

/// A function that is being linearized: the two levels, and the inputs to run it on.
pub struct Linearizing {
    duals: Duals,
    trace: level::Guard,
    recorder: Arc<Recorder>,
    inputs: Vec<Meta>,
}

impl Linearizing {
    /// Opens the levels; also returns the inputs to call the function with.
    ///
    /// # Errors
    /// `Value` if a primal is not of a floating point or complex dtype.
    pub fn open(primals: &[Tensor], origin: Origin) -> Result<(Linearizing, Values)> {
        primals.iter().try_for_each(|p| check_dual("primal", p))?;
        level::check_room()?;
        let recorder = Arc::new(Recorder::partial());
        let trace = level::push_trace(recorder.clone(), origin);
        let duals = Duals::open(origin)?;
        let mut lifted = Values::new();
        for p in primals {
            // The value stands for the tangent while the program is recorded; no result depends on it.
            let tangent = Tensor::traced(trace.id(), basis::zeros_like(p)?, recorder.new_var(Meta::of(p)));
            lifted.push(Tensor::dual(duals.level(), p.clone(), tangent));
        }
        let inputs = primals.iter().map(Meta::of).collect();
        Ok((Linearizing { duals, trace, recorder, inputs }, lifted))
    }

    /// The value of an output that is not differentiated.
    pub fn detach(&self, y: &Tensor) -> Result<Tensor> {
        Ok(self.duals.lower(y)?.0)
    }

    /// Closes the levels. Gives the outputs' values and the map between tangents.
    pub fn close(self, outputs: &[Tensor]) -> Result<(Vec<Tensor>, LinearMap)> {
        let mut values = Vec::with_capacity(outputs.len());
        let mut outs = Vec::with_capacity(outputs.len());
        let mut recording = self.recorder.take();
        for y in outputs {
            let (primal, tangent) = self.duals.lower(y)?;
            let (trace, meta) = (self.trace.id(), Meta::of(&primal));
            let var = |_: &Tensor, payload: &Payload| match payload {
                Payload::Traced { var, .. } => Ok(Some(*var)),
                _ => Ok(None),
            };
            let var = tangent.map_or(Ok(None), |t| taken_off(&t, trace, var, |_| Ok(None)))?;
            outs.push(Output::Var(var.unwrap_or_else(|| zeros(&mut recording, meta))));
            values.push(primal);
        }
        let program = Program::new(recording, self.inputs.len(), outs, true);
        Ok((values, LinearMap { inputs: self.inputs, program }))
    }
}

/// A variable of zeros.
fn zeros(recording: &mut Recording, meta: Meta) -> u32 {
    let fill = Params::Fill { value: Scalar::Float(0.0), dtype: meta.dtype, shape: meta.shape.clone() };
    recording.push(Prim::Static(&constant::FILL), &fill, Atoms::new(), std::iter::once(meta), None)[0]
}
