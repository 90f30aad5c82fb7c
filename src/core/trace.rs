//! Recording of a straight-line program while it runs.

use super::level::{Below, LevelId};
use super::modes::Setting;
use super::node::Meta;
use super::params::Params;
use super::primitive::{Outputs, Prim, PrimBuf};
use super::tensor::{Payload, Tensor};
use crate::base::Result;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};

/// An argument of an instruction.
#[derive(Clone, Debug)]
pub enum Atom {
    Var(u32),
    /// A value that does not depend on the program's inputs.
    Const(Tensor),
}

/// One operator of a program.
#[derive(Clone)]
pub struct Instruction {
    pub prim: PrimBuf,
    pub params: Params,
    pub args: SmallVec<[Atom; 3]>,
    pub outs: SmallVec<[u32; 1]>,
    /// The user's line, where it is known.
    pub line: Option<String>,
    /// The modes that the levels below saw.
    pub modes: Setting,
}

/// A mutable place outside a program, such as a tensor that it captures: read each time that the program is called.
pub trait Source: Send + Sync {
    fn current(self: Arc<Self>) -> Result<Tensor>;
}

#[derive(Default)]
pub struct Recording {
    pub instructions: Vec<Instruction>,
    /// Variables, inputs first.
    pub vars: Vec<Meta>,
    /// Places that the program reads, and the variables that stand for their values.
    pub captures: Vec<(Arc<dyn Source>, u32)>,
}

/// Collects the instructions of one trace level.
#[derive(Default)]
pub struct Recorder {
    state: Mutex<Recording>,
    partial: bool,
    /// Which instructions of a partial trace need their line.
    noted: Option<Noted>,
}

/// Whether an instruction with these outputs needs its line.
pub type Noted = fn(Prim<'_>, &Params, &[Atom], &[Tensor]) -> bool;

impl Recorder {
    /// Records only operators that have one of its variables among their arguments; all others run as if there were no
    /// trace.
    pub fn partial() -> Recorder {
        Recorder { partial: true, ..Recorder::default() }
    }
    /// A partial one right below a tape. It notes which instructions that tape did not record, and the lines of those, and
    /// of others.
    pub fn noting(noted: Noted) -> Recorder {
        Recorder { partial: true, noted: Some(noted), ..Recorder::default() }
    }
    pub fn is_noting(&self) -> bool {
        self.noted.is_some()
    }
    pub fn is_partial(&self) -> bool {
        self.partial
    }
    fn state(&self) -> std::sync::MutexGuard<'_, Recording> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
    /// A new input variable.
    pub fn new_var(&self, meta: Meta) -> u32 {
        let mut s = self.state();
        s.vars.push(meta);
        s.vars.len() as u32 - 1
    }
    /// The variable that stands for the value of a place outside; the same one each time.
    pub fn capture(&self, level: LevelId, source: Arc<dyn Source>, value: Tensor) -> Tensor {
        let mut s = self.state();
        let known = s.captures.iter().find(|(c, _)| std::ptr::addr_eq(Arc::as_ptr(c), Arc::as_ptr(&source)));
        let var = match known {
            Some((_, var)) => *var,
            None => {
                s.vars.push(Meta::of(&value));
                let var = s.vars.len() as u32 - 1;
                s.captures.push((source, var));
                var
            }
        };
        Tensor::traced(level, value, var)
    }
    /// Everything recorded so far.
    pub fn take(&self) -> Recording {
        std::mem::take(&mut *self.state())
    }

    /// Writes down a call; returns the variable of its first output.
    fn push(&self, prim: Prim<'_>, params: &Params, args: SmallVec<[Atom; 3]>, outs: &[Tensor], modes: Setting) -> u32 {
        let (line, modes) = match self.noted {
            None if self.partial => (None, Setting::ON),
            Some(noted) if modes == Setting::ON && !noted(prim, params, &args, outs) => (None, modes),
            _ => (super::origin::here(), modes),
        };
        let mut s = self.state();
        let first = s.vars.len() as u32;
        s.vars.extend(outs.iter().map(Meta::of));
        let outs = (first..s.vars.len() as u32).collect();
        s.instructions.push(Instruction { prim: prim.to_owned(), params: params.clone(), args, outs, line, modes });
        first
    }
}

/// The trace interpreter: runs the operator below and writes it down, whatever its arguments.
pub(super) fn interpret(
    recorder: &Recorder,
    level: LevelId,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
) -> Result<Outputs> {
    record(recorder, level, prim, params, args, |values| super::call::call_many(prim, params, values))
}

/// The same where `run` runs it.
pub(super) fn record(
    recorder: &Recorder,
    level: LevelId,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
    run: impl FnOnce(&[&Tensor]) -> Result<Outputs>,
) -> Result<Outputs> {
    let mut values: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut atoms: SmallVec<[Atom; 3]> = SmallVec::new();
    for a in args {
        match a.payload_at(level) {
            Some(Payload::Traced { value, var }) => {
                values.push(value);
                atoms.push(Atom::Var(*var));
            }
            _ => {
                values.push(a);
                atoms.push(Atom::Const((*a).clone()));
            }
        }
    }
    let above = recorder.is_noting().then(|| Setting::recording(super::level::records_above(level)));
    let (outs, modes) = {
        let _below = Below::enter(level);
        (run(&values)?, Setting::now())
    };
    let first = recorder.push(prim, params, atoms, &outs, above.unwrap_or(modes));
    Ok(outs.into_iter().enumerate().map(|(i, v)| Tensor::traced(level, v, first + i as u32)).collect())
}
