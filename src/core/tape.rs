//! The tape interpreter: runs an operator below its level, and records it.

use super::call::{call, call_many, stripped};
use super::level::{LevelFlags, LevelId};
use super::node::{Edge, Edges, Link, Meta, Metas, Node, Residual, Residuals};
use super::params::Params;
use super::primitive::{Mask, Outputs, Prim, Saves};
use super::tensor::{Payload, Tensor};
use crate::base::Result;
use smallvec::SmallVec;

/// An argument's value below the level, and where it hangs on the tape.
#[inline(always)]
fn unwrap(level: LevelId, a: &Tensor) -> (&Tensor, Option<Edge>) {
    match a.payload_at(level) {
        Some(Payload::Taped { value, node, slot }) => (value, Some(Edge { node: node.clone(), slot: *slot })),
        _ => (a, None),
    }
}

#[inline(always)]
fn bit(i: usize) -> Mask {
    1 << i.min(63)
}

fn save(level: LevelId, saves: Saves, values: &[&Tensor], outs: &[Tensor]) -> Result<Residuals> {
    let inputs = values.iter().enumerate().filter(|(i, _)| saves.inputs & bit(*i) != 0);
    let outputs = outs.iter().enumerate().filter(|(i, _)| saves.outputs & bit(*i) != 0);
    let inputs = inputs.map(|(i, v)| Residual::save(level, (*v).clone(), Link::Input(i as u32)));
    inputs.chain(outputs.map(|(i, v)| Residual::save(level, v.clone(), Link::Output(i as u32)))).collect()
}

/// The commonest cases of [`save`] without loops: the parts of a node then go into it from registers. What is written to
/// memory and copied on at once makes the processor wait.
#[inline(always)]
fn save_one_or_two(
    level: LevelId,
    flags: LevelFlags,
    saves: Saves,
    values: &[&Tensor],
    out: &Tensor,
) -> Result<Residuals> {
    let input = |i: usize| Residual::own(values[i].clone(), Link::Input(i as u32));
    Ok(match (values, saves.inputs, saves.outputs) {
        _ if flags.packing => save(level, saves, values, std::slice::from_ref(out))?,
        (_, 0, 0) => Residuals::None,
        (_, 0, 1) => Residuals::One([Residual::own(out.clone(), Link::Output(0))]),
        (_, 1, 0) => Residuals::One([input(0)]),
        ([_, _, ..], 2, 0) => Residuals::One([input(1)]),
        ([_, _, ..], 3, 0) => Residuals::Two([input(0), input(1)]),
        _ => save(level, saves, values, std::slice::from_ref(out))?,
    })
}

#[inline]
pub(super) fn one(
    level: LevelId,
    flags: LevelFlags,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
) -> Result<Tensor> {
    if !flags.records || prim.is_constant_in_reverse() {
        return call(prim, params, &stripped(level, args));
    }
    let call = Recorded { level, flags, prim, params };
    match args {
        [a] => {
            let (a, edge) = unwrap(level, a);
            call.one(&[a], 1, Edges::One([edge]))
        }
        [a, b] => {
            let ((a, left), (b, right)) = (unwrap(level, a), unwrap(level, b));
            let needs = Mask::from(left.is_some()) | Mask::from(right.is_some()) << 1;
            call.one(&[a, b], needs, Edges::Two([left, right]))
        }
        [a, b, c] => {
            let [(a, x), (b, y), (c, z)] = [a, b, c].map(|a| unwrap(level, a));
            let needs = Mask::from(x.is_some()) | Mask::from(y.is_some()) << 1 | Mask::from(z.is_some()) << 2;
            call.one(&[a, b, c], needs, Edges::three([x, y, z]))
        }
        _ => {
            let (values, needs, edges) = unwrap_all(level, args);
            call.one(&values, needs, edges)
        }
    }
}

type Unwrapped<'a> = (SmallVec<[&'a Tensor; 4]>, Mask, Edges);

/// Values below, which of them are differentiated, and their edges.
fn unwrap_all<'a>(level: LevelId, args: &[&'a Tensor]) -> Unwrapped<'a> {
    let (mut values, mut needs) = (SmallVec::new(), 0);
    let edges = args.iter().enumerate().map(|(i, a)| {
        let (value, edge) = unwrap(level, a);
        values.push(value);
        needs |= if edge.is_some() { bit(i) } else { 0 };
        edge
    });
    let edges = edges.collect();
    (values, needs, edges)
}

/// A call that goes onto a tape.
struct Recorded<'a> {
    level: LevelId,
    flags: LevelFlags,
    prim: Prim<'a>,
    params: &'a Params,
}

impl Recorded<'_> {
    #[inline(always)]
    fn one(self, values: &[&Tensor], needs: Mask, edges: Edges) -> Result<Tensor> {
        let Recorded { level, flags, prim, params } = self;
        let out = call(prim, params, values)?;
        if !out.dtype().is_differentiable() {
            return Ok(out);
        }
        let residuals = save_one_or_two(level, flags, prim.saves(params, needs), values, &out)?;
        let node = Node::op(level, prim, params, Metas::One([Meta::of(&out)]), edges, residuals);
        Ok(Tensor::taped(level, out, node, 0))
    }
}

pub(super) fn many(
    level: LevelId,
    flags: LevelFlags,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
) -> Result<Outputs> {
    if !flags.records || prim.is_constant_in_reverse() {
        return call_many(prim, params, &stripped(level, args));
    }
    let (values, needs, edges) = unwrap_all(level, args);
    let outs = call_many(prim, params, &values)?;
    if !outs.iter().any(|o| o.dtype().is_differentiable()) {
        return Ok(outs);
    }
    let residuals = save(level, prim.saves(params, needs), &values, &outs)?;
    let node = Node::op(level, prim, params, outs.iter().map(Meta::of).collect(), edges, residuals);
    let wrap = |(i, v): (usize, Tensor)| {
        if v.dtype().is_differentiable() { Tensor::taped(level, v, node.clone(), i as u32) } else { v }
    };
    Ok(outs.into_iter().enumerate().map(wrap).collect())
}
