//! Values that have a batch and are the same for all members. A result of a custom function that does not depend on the
//! batch gets one where a derivative may follow, so that each member has a cotangent of its own; what operators make of
//! such values alone is the same for all members again. Whoever wants the one value gets that of the first member.
//!
//! NOTE a level is watched from its first such value on, so that operators elsewhere pay nothing.

use super::batch;
use super::custom::{Custom, Forward};
use super::level::{self, LevelId, Randomness};
use super::method_scope;
use super::params::Params;
use super::primitive::{Outputs, Prim};
use super::tensor::{Payload, Tensor};
use crate::base::Result;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

thread_local! {
    /// By level, what is below the batches, by its address.
    static SHARED: RefCell<Vec<(LevelId, HashMap<usize, Tensor>)>> = const { RefCell::new(Vec::new()) };
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// The value below all batches on top: nests are made and taken apart, it stays.
fn base(mut t: &Tensor) -> &Tensor {
    loop {
        t = match (t.nest(), t.payload()) {
            (Some((_, base)), _) => base,
            (None, Some(Payload::Batched { value, .. })) => value,
            _ => return t,
        }
    }
}

/// Notes that all members of a value of the batch level are the same.
#[cold]
pub fn note(level: LevelId, t: &Tensor) {
    if !matches!(t.payload_at(level), Some(Payload::Batched { .. })) {
        return;
    }
    let base = base(t);
    SHARED.with_borrow_mut(|all| {
        let i = all.iter().position(|(l, _)| *l == level).unwrap_or_else(|| {
            all.push((level, HashMap::new()));
            all.len() - 1
        });
        all[i].1.insert(base.address(), base.clone());
    });
    ANY.set(true);
    method_scope::attend(level);
}

/// Whether some level has such values.
#[inline]
pub(super) fn any() -> bool {
    ANY.get()
}

/// Whether all members of a value of the batch level are the same, as far as is known.
pub fn is_shared(level: LevelId, t: &Tensor) -> bool {
    ANY.get()
        && t.level() == level
        && SHARED.with_borrow(|all| all.iter().any(|(l, known)| *l == level && known.contains_key(&base(t).address())))
}

/// Forgets the values of a batch level that closes, and of those above it.
#[inline]
pub fn close(level: LevelId) {
    if ANY.get() {
        forget(level);
    }
}

#[cold]
fn forget(level: LevelId) {
    let gone = SHARED.with_borrow_mut(|all| {
        let (gone, left) = std::mem::take(all).into_iter().partition(|(l, _)| l.depth() >= level.depth());
        *all = left;
        ANY.set(!all.is_empty());
        gone
    });
    let gone: Vec<(LevelId, HashMap<usize, Tensor>)> = gone;
    method_scope::attend_below(level);
    // Nodes that are dropped may lead to other code.
    drop(gone);
}

/// Whether an operator at the level has arguments of it, and all these are the same for all members.
fn of_shared(level: LevelId, args: &[&Tensor]) -> bool {
    let mut own = args.iter().filter(|a| a.level() == level).peekable();
    own.peek().is_some() && own.all(|a| is_shared(level, a))
}

/// `made`, which was made of these values without an operator: all its members are the same if theirs are.
pub fn alike(of: &[&Tensor], made: Tensor) -> Tensor {
    if ANY.get() && of_shared(made.level(), of) {
        note(made.level(), &made);
    }
    made
}

/// An operator with one output at a level that is watched.
#[cold]
pub(super) fn one(level: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    let shared = of_shared(level, args);
    let out = batch::one(level, prim, params, args)?;
    if shared {
        note(level, &out);
    }
    Ok(out)
}

/// The same for any number of outputs.
#[cold]
pub(super) fn many(level: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
    let shared = of_shared(level, args);
    let outs: Outputs =
        batch::interpret(level, prim, params, args)?.into_iter().map(|o| batch::rewrap(level, o)).collect();
    if shared {
        outs.iter().for_each(|o| note(level, o));
    }
    Ok(outs)
}

/// The same for a custom function, whose methods may draw for each member.
#[cold]
pub(super) fn custom(level: LevelId, custom: &dyn Custom, prim: Prim<'_>, args: &[&Tensor]) -> Result<Forward> {
    let shared = of_shared(level, args) && level::batch(level)?.randomness != Randomness::Different;
    let run = custom.batch(level, prim, args)?;
    if shared {
        run.outputs.iter().for_each(|o| note(level, o));
    }
    Ok(run)
}
