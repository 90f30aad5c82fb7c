//! Steps that repeat others.

use super::{Body, replace_atom};
use crate::base::{DType, Shape};
use crate::core::primitive::{Prim, PrimBuf};
use crate::core::trace::{Atom, Vars};
use crate::core::{Params, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

/// Elements up to which constants are told apart by their values. Larger ones are, if they are, the same tensor.
const SMALL: usize = 16;

#[derive(PartialEq, Eq, Hash)]
enum ArgKey {
    Var(u32),
    /// A tensor, by its address: the program keeps it alive.
    Tensor(usize),
    Small(DType, Shape, SmallVec<[u8; 16]>),
}

impl ArgKey {
    fn of(atom: &Atom) -> ArgKey {
        match atom {
            Atom::Var(v) => ArgKey::Var(*v),
            Atom::Const(t) => small(t).unwrap_or_else(|| ArgKey::Tensor(t.address())),
        }
    }
}

fn small(t: &Tensor) -> Option<ArgKey> {
    // A larger one may be symbolic, which asking for its elements would put into memory.
    let array = (t.numel() <= SMALL).then(|| t.dense()).flatten()?.contiguous().ok()?;
    Some(ArgKey::Small(t.dtype(), t.shape().clone(), SmallVec::from_slice(array.bytes().ok()?)))
}

/// What a step computes.
#[derive(PartialEq, Eq, Hash)]
struct StepKey {
    /// The primitive, by its address; primitives without fields may share it, so that the name counts, too.
    prim: (usize, &'static str),
    params: Params,
    args: SmallVec<[ArgKey; 3]>,
}

/// Leaves out steps that compute what one before them has computed: the same primitive with the same parameters and
/// arguments.
pub fn merge(body: &mut Body) {
    let mut known: FxHashMap<StepKey, Vars> = FxHashMap::default();
    let mut by: Vec<Option<Atom>> = vec![None; body.vars.len()];
    body.instructions.retain_mut(|i| {
        i.args.iter_mut().for_each(|a| replace_atom(a, &by));
        let PrimBuf::Static(p) = i.prim else { return true };
        if Prim::Static(p).has_effect() {
            return true;
        }
        let prim = (std::ptr::from_ref(p).cast::<()>().addr(), p.name());
        let args = i.args.iter().map(ArgKey::of).collect();
        match known.entry(StepKey { prim, params: i.params.clone(), args }) {
            Entry::Vacant(place) => {
                place.insert(i.outs.clone());
                true
            }
            Entry::Occupied(first) => {
                for (&v, &same) in i.outs.iter().zip(first.get()) {
                    by[v as usize] = Some(Atom::Var(same));
                }
                false
            }
        }
    });
    body.replace(&by);
}
