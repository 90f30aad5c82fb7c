//! Rules that a function does not give, derived from those that it gives. Both rules are linear, so each is the
//! transpose of the other: it is taped at any point and swept.

use super::{Function, Rule, Setup, Values, fitted};
use crate::base::{Error, Result, Scalar};
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::{Edge, Node, Set, Tangents, Tensor};
use crate::rules::basis;
use crate::transforms::reverse::{Tape, pull};
use smallvec::SmallVec;
use std::sync::Arc;

/// The error for a rule that is neither given nor can be derived.
#[cold]
fn underivable(f: &dyn Function, rule: Rule, why: &str) -> Error {
    let name = f.name();
    let (rule, from, signature) = match rule {
        Rule::Jvp => ("jvp", "backward", "jvp(ctx, *grad_inputs)"),
        Rule::Backward => ("backward", "jvp", "backward(ctx, *grad_outputs)"),
    };
    Error::not_implemented(format!(
        "{name}: has no {rule} staticmethod, and it cannot be derived from {from}: {why}. Write\n    @staticmethod\n    \
         def {signature}: ...{}",
        at_here()
    ))
}

/// The error for a rule that nobody gives.
#[cold]
fn missing(f: &dyn Function, rule: Rule) -> Error {
    let (name, here) = (f.name(), at_here());
    Error::not_implemented(match rule {
        Rule::Backward => format!(
            "{name}: has no backward staticmethod. You must implement either the backward or vjp method to use it with \
             reverse mode; write\n    @staticmethod\n    def backward(ctx, *grad_outputs): ...{here}"
        ),
        Rule::Jvp => format!(
            "{name}: has no jvp staticmethod. You must implement the jvp function to use it with forward mode AD; \
             write\n    @staticmethod\n    def jvp(ctx, *grad_inputs): ...{here}"
        ),
    })
}

/// A taped linear map: leaves, and where its results hang.
struct Map {
    tape: Tape,
    leaves: SmallVec<[Option<Tensor>; 4]>,
}

impl Map {
    /// Leaves of these shapes where `wanted`. Their values are ones, at which a result that was cut off shows.
    fn open(metas: impl Iterator<Item = (Meta, bool)>) -> Result<Map> {
        let mut tape = Tape::open(Origin::UNKNOWN);
        let mut leaves = SmallVec::new();
        for (m, wanted) in metas {
            leaves.push(match wanted {
                true => Some(tape.leaf(&basis::full(&m.shape, m.dtype, 1.0)?)),
                false => None,
            });
        }
        Ok(Map { tape, leaves })
    }

    /// Pulls `along` back from the map's results, one for each leaf.
    fn transpose(self, f: &dyn Function, rule: Rule, results: Tangents, along: &[Option<Tensor>]) -> Result<Tangents> {
        let mut roots: SmallVec<[(Edge, Tensor); 4]> = SmallVec::new();
        for (r, a) in results.iter().zip(along) {
            let (Some(r), Some(a)) = (r, a) else { continue };
            match self.tape.detach(r)? {
                (r, Some(edge)) => {
                    roots.push((edge, if a.dtype() == r.dtype() { a.clone() } else { basis::cast(a, r.dtype())? }))
                }
                (r, None) if is_zero(&r) => {}
                _ => return Err(underivable(f, rule, "its result does not depend on its arguments by operators")),
            }
        }
        let places: SmallVec<[bool; 4]> = self.leaves.iter().map(Option::is_some).collect();
        drop((self.leaves, results));
        let nodes: SmallVec<[Arc<Node>; 2]> = self.tape.close();
        let mut pulled = pull(&nodes, roots, false)?.into_iter();
        Ok(places.into_iter().map(|p| if p { pulled.next().flatten() } else { None }).collect())
    }
}

fn is_zero(t: &Tensor) -> bool {
    let Some(a) = t.innermost() else { return false };
    let all = || -> Result<bool> {
        let flat = a.contiguous()?.reshape(&crate::base::Shape::new(&[a.numel()]))?;
        for i in 0..a.numel() {
            if !matches!(flat.get(&[i])?, Scalar::Float(x) if x == 0.0) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    all().unwrap_or(false)
}

/// Those that are there.
pub fn present(tangents: &[Option<Tensor>]) -> Set {
    tangents.iter().enumerate().filter(|(_, t)| t.is_some()).map(|(i, _)| i).collect()
}

/// The tangents of the outputs from the function's backward.
pub fn jvp(f: &dyn Function, setup: &Setup, outs: &[Tensor], tangents: &[Option<Tensor>]) -> Result<Tangents> {
    if !f.has(Rule::Backward) || f.once() {
        return Err(missing(f, Rule::Jvp));
    }
    let needs = present(tangents);
    let wanted = |i: usize, o: &Tensor| o.dtype().is_differentiable() && !setup.non_differentiable.has(i);
    let map = Map::open(outs.iter().enumerate().map(|(i, o)| (Meta::of(o), wanted(i, o))))?;
    let mut cotangents: SmallVec<[Option<Tensor>; 4]> = map.leaves.clone();
    for (c, o) in cotangents.iter_mut().zip(outs) {
        if c.is_none() && setup.materialize && o.dtype().is_differentiable() {
            *c = Some(basis::zeros_like(o)?);
        }
    }
    let mut grads = f.backward(setup, &cotangents, &needs).map_err(|e| underivable(f, Rule::Jvp, e.message()))?;
    drop(cotangents);
    for (i, (g, t)) in grads.iter_mut().zip(tangents).enumerate() {
        if let (Some(given), Some(t)) = (&*g, t)
            && let Some(fitted) = fitted(f, i, given, &Meta::of(t))?
        {
            *g = Some(fitted);
        }
    }
    let mut out = map.transpose(f, Rule::Jvp, grads, tangents)?;
    for (t, o) in out.iter_mut().zip(outs) {
        if t.is_none() && o.dtype().is_differentiable() && setup.materialize {
            *t = Some(basis::zeros_like(o)?);
        }
    }
    Ok(out)
}

/// The cotangents of the inputs in `needs` from the function's jvp.
pub fn backward(
    f: &dyn Function,
    setup: &Setup,
    inputs: &[Meta],
    cotangents: &[Option<Tensor>],
    needs: &Set,
) -> Result<Tangents> {
    if !f.has(Rule::Jvp) {
        return Err(missing(f, Rule::Backward));
    }
    let map = Map::open(inputs.iter().enumerate().map(|(i, m)| (m.clone(), needs.has(i))))?;
    let mut tangents: Values = Values::new();
    let mut given: SmallVec<[Option<Tensor>; 4]> = map.leaves.clone();
    for (t, m) in given.iter_mut().zip(inputs) {
        if t.is_none() && setup.materialize && m.dtype.is_differentiable() {
            let zeros = basis::full(&m.shape, m.dtype, 0.0)?;
            tangents.push(zeros.clone());
            *t = Some(zeros);
        }
    }
    let results = f.jvp(setup, &given).map_err(|e| underivable(f, Rule::Backward, e.message()))?;
    drop((given, tangents));
    map.transpose(f, Rule::Backward, results, cotangents)
}
