//! Steps whose results nothing reads.

use super::Body;
use crate::core::trace::Atom;
use crate::ir::Output;

/// What happens to steps with unread results that do more than compute them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    KeepEffects,
    Remove,
}

/// Leaves out steps that no output needs, and reads of places outside that no step needs.
pub fn remove(body: &mut Body, unread: Unread) {
    let mut wanted = vec![false; body.vars.len()];
    for out in &body.outputs {
        if let Output::Var(v) = out {
            wanted[*v as usize] = true;
        }
    }
    let mut needed: Vec<bool> = Vec::with_capacity(body.instructions.len());
    for i in body.instructions.iter().rev() {
        let has_effect = unread == Unread::KeepEffects && i.prim.as_prim().has_effect();
        let keep = has_effect || i.outs.iter().any(|&v| wanted[v as usize]);
        needed.push(keep);
        if keep {
            for arg in &i.args {
                if let Atom::Var(v) = *arg {
                    wanted[v as usize] = true;
                }
            }
        }
    }
    body.instructions.retain(|_| needed.pop() == Some(true));
    body.captures.retain(|(_, v)| wanted[*v as usize]);
}
