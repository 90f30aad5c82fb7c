//! Derivatives through values of a forward that are no results: what it saved besides inputs and outputs, and outputs
//! that were declared to have no derivative. Nobody gave rules for these, so the forward runs once more, recorded.

use super::{Function, Setup, agree};
use crate::base::{Error, Result};
use crate::core::origin::{Origin, at_here};
use crate::core::{Edge, Outputs, Set, Tangents, Tensor};
use crate::ops::rewind::Rewind;
use crate::transforms::jvp::Duals;
use crate::transforms::reverse::{Tape, pull};
use smallvec::SmallVec;

#[cold]
fn intermediate(f: &dyn Function, why: &str) -> Error {
    Error::runtime(format!(
        "{}: a value that its forward computed and saved, and that is neither an input nor a differentiable output, is \
         being differentiated through, for which the forward must run once more; {why}. Compute the value in \
         setup_context() or in backward(), or return it as an output of its own{}",
        f.name(),
        at_here()
    ))
}

/// A function, and what its setup left.
type Called<'a> = (&'a dyn Function, &'a Setup);

/// Runs the forward again; also whether it drew random numbers, which are put back.
fn rerun((f, setup): Called<'_>, args: &[Tensor]) -> Result<(Outputs, bool)> {
    let draws = Rewind::open();
    let outs = f.rerun(setup, args).map_err(|e| e.quoted(|why| intermediate(f, &format!("it ended with: {why}"))));
    let drew = draws.has_drawn();
    draws.restart();
    Ok((outs?, drew))
}

/// An error if an output is not what the first run gave.
fn check(f: &dyn Function, i: usize, first: &Tensor, again: &Tensor) -> Result<()> {
    match agree(first, again)? {
        true => Ok(()),
        false => Err(intermediate(
            f,
            &format!(
                "and its output {i} then has other values than the first time, because it draws random numbers of \
                 NumPy, random or a generator, or keeps a state"
            ),
        )),
    }
}

/// Cotangents of the inputs in `needs` from those of outputs without a rule. `known` are outputs of the first run.
pub fn vjp(
    called: Called<'_>,
    args: &[Tensor],
    known: &[(usize, Tensor)],
    cotangents: &[Option<Tensor>],
    needs: &Set,
) -> Result<Tangents> {
    let mut tape = Tape::open(Origin::UNKNOWN)?;
    let mut places: SmallVec<[bool; 4]> = SmallVec::new();
    let xs: SmallVec<[Tensor; 4]> = args
        .iter()
        .enumerate()
        .map(|(i, a)| {
            let wanted = needs.has(i) && a.dtype().is_differentiable();
            places.push(wanted);
            if wanted { tape.leaf(a) } else { a.clone() }
        })
        .collect();
    let (outs, drew) = rerun(called, &xs)?;
    let mut roots: SmallVec<[(Edge, Tensor); 4]> = SmallVec::new();
    for (i, (o, c)) in outs.iter().zip(cotangents).enumerate() {
        let (value, edge) = tape.detach(o)?;
        if !drew && let Some((_, first)) = known.iter().find(|k| k.0 == i) {
            check(called.0, i, first, &value)?;
        }
        if let (Some(c), Some(edge)) = (c, edge) {
            roots.push((edge, c.clone()));
        }
    }
    if drew && !roots.is_empty() {
        return Err(intermediate(called.0, "but it draws random numbers, which would not be the same"));
    }
    drop((xs, outs));
    let leaves = tape.close();
    let mut pulled = pull(&leaves, roots, false)?.into_iter();
    Ok(places.into_iter().map(|p| if p { pulled.next().flatten() } else { None }).collect())
}

/// Tangents of the `wanted` outputs, all of which are `known`, as the operators of the forward give them.
pub fn jvp(
    called: Called<'_>,
    args: &[Tensor],
    known: &[Tensor],
    tangents: &[Option<Tensor>],
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Tangents> {
    let duals = Duals::open(Origin::UNKNOWN)?;
    let lift = |(a, t): (&Tensor, &Option<Tensor>)| match t {
        Some(t) if a.dtype().is_differentiable() => duals.lift(a, t),
        _ => Ok(a.clone()),
    };
    let xs = args.iter().zip(tangents).map(lift).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
    let (outs, drew) = rerun(called, &xs)?;
    let mut lowered = Tangents::new();
    for (i, (o, first)) in outs.iter().zip(known).enumerate() {
        let (value, tangent) = duals.lower(o)?;
        if !drew {
            check(called.0, i, first, &value)?;
        }
        lowered.push(if wanted(i) { tangent } else { None });
    }
    if drew && lowered.iter().any(Option::is_some) {
        return Err(intermediate(called.0, "but it draws random numbers, which would not be the same"));
    }
    Ok(lowered)
}
