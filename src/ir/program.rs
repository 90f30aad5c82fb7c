//! A program and its execution.

use super::passes::{self, Body, Unread};
use crate::bail;
use crate::base::Result;
use crate::core::node::Meta;
use crate::core::trace::{Atom, Instruction, Recording, Source};
use crate::core::{Outputs, Tensor, call_into};
use crate::dense::pointwise;
use smallvec::SmallVec;
use std::sync::Arc;

/// What a program returns in one place.
#[derive(Clone)]
pub enum Output {
    Var(u32),
    /// A value that does not depend on the inputs.
    Const(Tensor),
}

pub(super) struct Step {
    pub instruction: Instruction,
    /// Variables that no later step and no output reads.
    last: SmallVec<[u32; 2]>,
    /// The argument that the step may write over: a large value of the program that ends here.
    pub over: Option<(usize, u32)>,
}

/// The argument of a pointwise step that ends there and is large enough for its result to take its place.
fn written_over(i: &Instruction, last: &[u32], vars: &[Meta]) -> Option<(usize, u32)> {
    let [out] = i.outs[..] else { return None };
    let out = &vars[out as usize];
    let bytes = out.shape.checked_bytes(out.dtype.size())?;
    if bytes < pointwise::LARGE || !i.prim.as_prim().is_elementwise() {
        return None;
    }
    let fits = |v: u32| vars[v as usize].shape == out.shape && vars[v as usize].dtype.size() == out.dtype.size();
    let times = |v: u32| i.args.iter().filter(|a| matches!(a, Atom::Var(w) if *w == v)).count();
    i.args.iter().enumerate().find_map(|(at, arg)| match *arg {
        Atom::Var(v) if last.contains(&v) && fits(v) && times(v) == 1 => Some((at, v)),
        _ => None,
    })
}

/// A straight-line program over tensors of fixed shapes and dtypes.
pub struct Program {
    pub(super) inputs: usize,
    pub(super) captures: Vec<(Arc<dyn Source>, u32)>,
    pub(super) steps: Vec<Step>,
    pub(super) vars: Vec<Meta>,
    pub(super) outputs: Vec<Output>,
}

impl Program {
    /// The program of a recording whose first `inputs` variables are its arguments. With `pruned`, steps that no output
    /// needs are left out.
    #[doc(hidden)]
    pub fn new(recording: Recording, inputs: usize, outputs: Vec<Output>, pruned: bool) -> Program {
        let Recording { instructions, vars, captures, .. } = recording;
        let mut body = Body { inputs, captures, instructions, vars, outputs };
        if pruned {
            passes::remove(&mut body, Unread::Remove);
        }
        Program::of(body)
    }

    pub(super) fn of(body: Body) -> Program {
        let Body { inputs, captures, instructions, vars, outputs } = body;
        let mut wanted = vec![false; vars.len()];
        for out in &outputs {
            if let Output::Var(v) = out {
                wanted[*v as usize] = true;
            }
        }
        let mut steps = Vec::with_capacity(instructions.len());
        for instruction in instructions.into_iter().rev() {
            let mut last: SmallVec<[u32; 2]> =
                instruction.outs.iter().copied().filter(|&v| !wanted[v as usize]).collect();
            for arg in &instruction.args {
                if let Atom::Var(v) = *arg
                    && !std::mem::replace(&mut wanted[v as usize], true)
                {
                    last.push(v);
                }
            }
            let over = written_over(&instruction, &last, &vars);
            steps.push(Step { instruction, last, over });
        }
        steps.reverse();
        Program { inputs, captures, steps, vars, outputs }
    }

    pub(super) fn body(&self) -> Body {
        Body {
            inputs: self.inputs,
            captures: self.captures.clone(),
            instructions: self.steps.iter().map(|s| s.instruction.clone()).collect(),
            vars: self.vars.clone(),
            outputs: self.outputs.clone(),
        }
    }

    /// Dtypes and shapes of the arguments.
    pub fn inputs(&self) -> &[Meta] {
        &self.vars[..self.inputs]
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Number of operators that a call runs.
    pub fn len(&self) -> usize {
        self.steps.len()
    }
    /// Whether a call runs no operator.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Names of the operators in the order in which they run.
    pub fn operators(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|s| s.instruction.prim.name())
    }

    /// The outputs for these arguments, which may be values of any level.
    ///
    /// # Errors
    /// `Runtime` unless there is an argument of the right shape and dtype for each input.
    pub fn call(&self, args: &[Tensor]) -> Result<Vec<Tensor>> {
        self.check(args)?;
        self.run(args)
    }

    /// The outputs for arguments that fit.
    #[doc(hidden)]
    pub fn run(&self, args: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut values: Vec<Option<Tensor>> = args.iter().cloned().map(Some).collect();
        values.resize(self.vars.len(), None);
        for (source, var) in &self.captures {
            values[*var as usize] = Some(self.captured(source, *var)?);
        }
        for Step { instruction, last, over } in &self.steps {
            match over {
                Some((at, var)) => {
                    let own = values[*var as usize].take();
                    let value = step_over(instruction, &values, *at, own)?;
                    values[instruction.outs[0] as usize] = Some(value);
                }
                None => {
                    for (&var, value) in instruction.outs.iter().zip(step(instruction, &values)?) {
                        values[var as usize] = Some(value);
                    }
                }
            }
            last.iter().for_each(|&v| values[v as usize] = None);
        }
        let read = |out: &Output| match out {
            Output::Var(v) => value(&values, *v).cloned(),
            Output::Const(t) => Ok(t.clone()),
        };
        self.outputs.iter().map(read).collect()
    }

    fn captured(&self, source: &Arc<dyn Source>, var: u32) -> Result<Tensor> {
        let (now, then) = (source.clone().current()?, &self.vars[var as usize]);
        if Meta::of(&now) != *then {
            bail!(
                Runtime,
                "the program reads a tensor from outside that was {then} when it was traced and is {} now{}; trace the \
                 function again",
                Meta::of(&now),
                crate::core::origin::at_here()
            );
        }
        Ok(now)
    }

    fn check(&self, args: &[Tensor]) -> Result<()> {
        let line = crate::core::origin::at_here;
        if args.len() != self.inputs {
            bail!(Runtime, "the program takes {} tensors, got {}{}", self.inputs, args.len(), line());
        }
        for (i, (a, m)) in args.iter().zip(self.inputs()).enumerate() {
            if Meta::of(a) != *m {
                bail!(
                    Runtime,
                    "the program was traced with {m} as its argument {i}, got {}{}; trace the function again for this \
                     shape and dtype",
                    Meta::of(a),
                    line()
                );
            }
        }
        Ok(())
    }
}

fn value(values: &[Option<Tensor>], var: u32) -> Result<&Tensor> {
    match values.get(var as usize).and_then(Option::as_ref) {
        Some(v) => Ok(v),
        None => bail!(Internal, "the program reads variable {var} before it is computed"),
    }
}

/// A step whose argument `at` ends there.
fn step_over(instruction: &Instruction, values: &[Option<Tensor>], at: usize, own: Option<Tensor>) -> Result<Tensor> {
    let Some(own) = own else { bail!(Internal, "the program reads a variable before it is computed") };
    let mut others: SmallVec<[&Tensor; 4]> = SmallVec::new();
    for (_, arg) in instruction.args.iter().enumerate().filter(|(i, _)| *i != at) {
        others.push(match arg {
            Atom::Var(v) => value(values, *v)?,
            Atom::Const(t) => t,
        });
    }
    call_into(instruction.prim.as_prim(), &instruction.params, own, at, &others)
}

fn step(instruction: &Instruction, values: &[Option<Tensor>]) -> Result<Outputs> {
    let mut args: SmallVec<[&Tensor; 4]> = SmallVec::new();
    for arg in &instruction.args {
        args.push(match arg {
            Atom::Var(v) => value(values, *v)?,
            Atom::Const(t) => t,
        });
    }
    let prim = instruction.prim.as_prim();
    prim.replay(prim, &instruction.params, &args)
}
