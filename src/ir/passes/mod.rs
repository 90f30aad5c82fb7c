//! Passes over programs, a file each. Each leaves what a program computes as it was, bit for bit, and the errors that it
//! raises on purpose; of what they leave out nothing is seen, not even an error that its data would have raised.
//!
//! NOTE. The cotangents of a merged value are added before its rule runs, not behind it: derivatives of a simplified
//! program may differ by rounding from those of the program.

mod common;
mod constants;
mod dead;
#[cfg(test)]
mod tests;

pub use common::merge;
pub use constants::fold;
pub use dead::{Unread, remove};

use super::{Output, Program};
use crate::core::node::Meta;
use crate::core::trace::{Atom, Instruction, Source};
use std::sync::Arc;

/// A program in the hands of the passes.
pub struct Body {
    pub inputs: usize,
    pub captures: Vec<(Arc<dyn Source>, u32)>,
    pub instructions: Vec<Instruction>,
    pub vars: Vec<Meta>,
    pub outputs: Vec<Output>,
}

impl Body {
    /// What stands for each variable from now on, in what is read.
    fn replace(&mut self, by: &[Option<Atom>]) {
        for arg in self.instructions.iter_mut().flat_map(|i| &mut i.args) {
            replace_atom(arg, by);
        }
        for out in &mut self.outputs {
            if let Output::Var(v) = out
                && let Some(new) = &by[*v as usize]
            {
                *out = match new {
                    Atom::Var(v) => Output::Var(*v),
                    Atom::Const(t) => Output::Const(t.clone()),
                };
            }
        }
    }

    /// Numbers the variables that are left anew, in the order in which they are computed.
    fn renumber(&mut self) {
        let kept = (0..self.inputs as u32).chain(self.captures.iter().map(|c| c.1));
        let order: Vec<u32> = kept.chain(self.instructions.iter().flat_map(|i| i.outs.iter().copied())).collect();
        let mut new = vec![u32::MAX; self.vars.len()];
        order.iter().enumerate().for_each(|(to, &from)| new[from as usize] = to as u32);
        self.vars = order.iter().map(|&v| self.vars[v as usize].clone()).collect();
        let number = |v: &mut u32| *v = new[*v as usize];
        self.captures.iter_mut().for_each(|c| number(&mut c.1));
        for i in &mut self.instructions {
            i.outs.iter_mut().for_each(number);
            for arg in &mut i.args {
                if let Atom::Var(v) = arg {
                    number(v);
                }
            }
        }
        for out in &mut self.outputs {
            if let Output::Var(v) = out {
                number(v);
            }
        }
    }
}

fn replace_atom(atom: &mut Atom, by: &[Option<Atom>]) {
    if let Atom::Var(v) = atom
        && let Some(new) = &by[*v as usize]
    {
        *atom = new.clone();
    }
}

impl Program {
    /// The program without steps that compute constants, that repeat others, or that nothing needs. Random draws and
    /// calls of custom functions stay, each in its place.
    ///
    /// ```
    /// use pullback::{Tensor, trace};
    /// let x = Tensor::from_slice([2], &[1.0, 3.0])?;
    /// let program = trace(|x| x.sin()?.mul(&x.sin()?), &x)?;
    /// let simplified = program.simplified();
    /// assert_eq!((program.len(), simplified.len()), (3, 2));
    /// assert_eq!(simplified.call(&x)?.to_vec::<f64>()?, program.call(&x)?.to_vec::<f64>()?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    pub fn simplified(&self) -> Program {
        let mut body = self.body();
        fold(&mut body);
        merge(&mut body);
        remove(&mut body, Unread::KeepEffects);
        body.renumber();
        Program::of(body)
    }
}
