//! Recording of a straight-line program while it runs.

use super::level::{Below, LevelId};
use super::modes::GradModes;
use super::node::Meta;
use super::origin::{self, Line};
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

pub type Atoms = SmallVec<[Atom; 3]>;
pub type Vars = SmallVec<[u32; 1]>;

/// One operator of a program.
#[derive(Clone)]
pub struct Instruction {
    pub prim: PrimBuf,
    pub params: Params,
    pub args: Atoms,
    pub outs: Vars,
    /// The user's line, where it is known.
    pub line: Option<Line>,
}

/// A mutable place outside a program, such as a tensor that it captures: read each time that the program is called.
pub trait Source: Send + Sync {
    fn current(self: Arc<Self>) -> Result<Tensor>;
}

#[derive(Default)]
pub struct Recording {
    pub instructions: Vec<Instruction>,
    /// Of a noting recorder: which instructions the tape above it did not record, by their places.
    pub unrecorded: Vec<usize>,
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
    /// The instructions so far.
    pub fn instructions(&self) -> Vec<Instruction> {
        self.state().instructions.clone()
    }
    /// Dtype and shape of a variable.
    pub fn meta(&self, var: u32) -> Meta {
        self.state().vars[var as usize].clone()
    }
    /// Everything recorded so far.
    pub fn take(&self) -> Recording {
        std::mem::take(&mut *self.state())
    }

    /// Writes down a call; returns the variables of its outputs.
    fn push(&self, prim: Prim<'_>, params: &Params, mut args: Atoms, outs: &[Tensor], modes: GradModes) -> Vars {
        let line = match self.noted {
            None if self.partial => None,
            Some(noted) if modes == GradModes::ON && !noted(prim, params, &args, outs) => None,
            _ => origin::here(),
        };
        let mut s = self.state();
        let place = s.instructions.len();
        if self.noted.is_some() && modes != GradModes::ON {
            s.unrecorded.push(place);
        }
        if self.partial || modes == GradModes::ON || prim.is_constant() {
            return s.push(prim, params, args, outs.iter().map(Meta::of), line);
        }
        // A custom function does not learn that it is differentiated where it is not.
        if prim.custom().is_some() {
            args = args.into_iter().map(|a| s.stop(a, modes, &line)).collect();
        }
        let mut vars = s.push(prim, params, args, outs.iter().map(Meta::of), line.clone());
        for var in &mut vars {
            if let Atom::Var(stopped) = s.stop(Atom::Var(*var), modes, &line) {
                *var = stopped;
            }
        }
        vars
    }
}

impl Recording {
    /// Writes down a call; returns the variables of its outputs.
    pub fn push(
        &mut self,
        prim: Prim<'_>,
        params: &Params,
        args: Atoms,
        outs: impl Iterator<Item = Meta>,
        line: Option<Line>,
    ) -> Vars {
        let first = self.vars.len() as u32;
        self.vars.extend(outs);
        let outs: Vars = (first..self.vars.len() as u32).collect();
        self.instructions.push(Instruction {
            prim: prim.to_owned(),
            params: params.clone(),
            args,
            outs: outs.clone(),
            line,
        });
        outs
    }

    /// The value without the derivatives that these modes cut.
    fn stop(&mut self, mut atom: Atom, modes: GradModes, line: &Option<Line>) -> Atom {
        let meta = match &atom {
            Atom::Var(v) => self.vars[*v as usize].clone(),
            Atom::Const(t) => Meta::of(t),
        };
        if meta.dtype.is_differentiable() {
            for stop in modes.stops() {
                let args = Atoms::from_iter([atom]);
                let outs =
                    self.push(Prim::Static(stop), &Params::None, args, std::iter::once(meta.clone()), line.clone());
                atom = Atom::Var(outs[0]);
            }
        }
        atom
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
    let mut atoms = Atoms::new();
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
    let above = recorder.is_noting().then(|| GradModes::recording(super::level::records_above(level)));
    let (outs, modes) = {
        let _below = Below::enter(level);
        (run(&values)?, GradModes::now())
    };
    let vars = recorder.push(prim, params, atoms, &outs, above.unwrap_or(modes));
    Ok(outs.into_iter().zip(vars).map(|(v, var)| Tensor::traced(level, v, var)).collect())
}
