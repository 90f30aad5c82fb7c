//! Steps that compute constants.

use super::{Body, replace_atom};
use crate::core::primitive::PrimBuf;
use crate::core::trace::{Atom, Instruction};
use crate::core::{LevelId, Outputs, Tensor};
use smallvec::SmallVec;

/// Bytes up to which a result is kept whatever it is made of.
const SMALL: usize = 1 << 16;

/// Computes steps whose arguments are all constants, and puts the results in their place. A result that takes more memory
/// than its arguments is not kept, and what raises stays where it is.
pub fn fold(body: &mut Body) {
    let mut by: Vec<Option<Atom>> = vec![None; body.vars.len()];
    body.instructions.retain_mut(|i| {
        i.args.iter_mut().for_each(|a| replace_atom(a, &by));
        let Some(outs) = computed(i) else { return true };
        for (&v, out) in i.outs.iter().zip(outs) {
            by[v as usize] = Some(Atom::Const(out));
        }
        false
    });
    body.replace(&by);
}

fn bytes(t: &Tensor) -> usize {
    t.numel().saturating_mul(t.dtype().size())
}

fn computed(i: &Instruction) -> Option<Outputs> {
    let PrimBuf::Static(prim) = i.prim else { return None };
    if prim.has_effect() {
        return None;
    }
    let constant = |a: &'_ Atom| match a {
        // A symbolic constant takes no memory yet, however large it is.
        Atom::Const(t) if t.symbolic().is_some() && bytes(t) > SMALL => None,
        Atom::Const(t) if t.level() == LevelId::DENSE => Some(t.clone()),
        _ => None,
    };
    let args: SmallVec<[Tensor; 3]> = i.args.iter().map(constant).collect::<Option<_>>()?;
    let refs: SmallVec<[&Tensor; 3]> = args.iter().collect();
    let outs = prim.eval_many(&i.params, &refs).ok()?;
    let room = args.iter().map(bytes).fold(SMALL, usize::max);
    let taken = outs.iter().map(bytes).fold(0, usize::saturating_add);
    (taken <= room).then_some(outs)
}
