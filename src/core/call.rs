//! The dispatcher: an operator runs at the highest level found among its arguments and is rewritten there into
//! operators of the levels below, down to dense arrays.

use super::level::{self, LevelId, LevelKind};
use super::node::{Edge, Link, Meta, Node, Residual, Saved};
use super::params::Params;
use super::primitive::{Mask, Outputs, Point, Prim, Saves};
use super::tensor::{Payload, Tensor};
use super::{batch, forward, trace, watch};
use crate::bail;
use crate::base::Result;
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::sync::Arc;

/// What a custom function does in place of the interpreters' steps for table operators. Each method gets values of
/// `level` and returns values of `level`.
pub trait Custom: Send + Sync {
    fn tape(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor], needs: Mask) -> Result<Outputs>;
    fn dual(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Outputs>;
    fn batch(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Outputs>;
    /// `None`: record an opaque call.
    fn trace(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Option<Result<Outputs>>;
    /// For each value that `node` saved, its tangent at the level of `forward_ad` of these arguments and results.
    fn saved_tangents(
        &self,
        level: LevelId,
        args: &[&Tensor],
        outs: &[Tensor],
        node: &Node,
    ) -> Result<Vec<Option<Tensor>>>;
    fn as_any(&self) -> &dyn Any;
}

#[inline]
fn top_level(args: &[&Tensor]) -> LevelId {
    args.iter().fold(level::tracing(), |top, a| top.max(a.level()))
}

/// Runs an operator with one output.
#[inline]
pub fn call(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    let top = top_level(args);
    if top == LevelId::DENSE {
        return prim.eval(params, args);
    }
    interpret_one(prim, params, args, top)
}

/// Runs an operator with any number of outputs.
#[inline]
pub fn call_many(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
    let top = top_level(args);
    if top == LevelId::DENSE {
        return prim.eval_many(params, args);
    }
    interpret_many(prim, params, args, top)
}

/// Which interpreter runs a call.
enum Interpreter {
    Tape,
    Dual { ambient: bool },
    Batch { size: usize, randomness: super::Randomness },
    Trace(Arc<trace::Recorder>),
}

/// The interpreter of `top`, or `None` if that level is dead and its values count as what they wrap.
fn interpreter(top: LevelId, prim: Prim<'_>, args: &[&Tensor]) -> Result<Option<Interpreter>> {
    if watch::forbids(top) {
        watch::check(top, prim, args)?;
    }
    if top == LevelId::AMBIENT {
        return Ok(Some(Interpreter::Tape));
    }
    let live = level::with(top, |l| match &l.kind {
        LevelKind::Tape { .. } => Interpreter::Tape,
        LevelKind::Dual { ambient, .. } => Interpreter::Dual { ambient: *ambient },
        LevelKind::Batch { size, randomness } => Interpreter::Batch { size: *size, randomness: *randomness },
        LevelKind::Trace(r) => Interpreter::Trace(r.clone()),
    });
    if live.is_some() {
        return Ok(live);
    }
    for a in args {
        match a.payload_at(top) {
            Some(Payload::Batched { .. }) => return Err(level::escaped(top, "vmap")),
            Some(Payload::Traced { .. }) => return Err(level::escaped(top, "trace")),
            Some(_) if level::is_live_anywhere(top) => return Err(level::escaped(top, "grad or jvp")),
            _ => {}
        }
    }
    Ok(None)
}

/// Arguments with the wrappers of `level` taken off.
fn stripped<'a>(level: LevelId, args: &[&'a Tensor]) -> SmallVec<[&'a Tensor; 4]> {
    args.iter()
        .map(|&a| match (a.level() == level, a.below()) {
            (true, Some(below)) => below,
            _ => a,
        })
        .collect()
}

#[inline(never)]
fn interpret_one(prim: Prim<'_>, params: &Params, args: &[&Tensor], top: LevelId) -> Result<Tensor> {
    let Some(interpreter) = interpreter(top, prim, args)? else {
        return call(prim, params, &stripped(top, args));
    };
    if prim.custom().is_some() {
        return only(prim, interpret_many(prim, params, args, top)?);
    }
    match interpreter {
        Interpreter::Tape => tape_one(top, prim, params, args),
        Interpreter::Dual { ambient } => dual_one(top, ambient, prim, params, args),
        Interpreter::Batch { size, randomness } => {
            if prim.is_elementwise()
                && let Some(out) = batch::elementwise(top, prim, params, args)
            {
                return out;
            }
            let mut outs = batch::interpret(top, size, randomness, prim, params, args)?;
            match outs.pop() {
                Some(out) if outs.is_empty() => Ok(batch::rewrap(top, out)),
                _ => bail!(Internal, "{}(): its batching rule must give one output", prim.name()),
            }
        }
        Interpreter::Trace(recorder) => only(prim, trace::interpret(&recorder, top, prim, params, args)?),
    }
}

fn only(prim: Prim<'_>, mut outs: Outputs) -> Result<Tensor> {
    match outs.pop() {
        Some(out) if outs.is_empty() => Ok(out),
        _ => bail!(Internal, "{}(): expected one output", prim.name()),
    }
}

#[inline(never)]
fn interpret_many(prim: Prim<'_>, params: &Params, args: &[&Tensor], top: LevelId) -> Result<Outputs> {
    let Some(interpreter) = interpreter(top, prim, args)? else {
        return call_many(prim, params, &stripped(top, args));
    };
    if let Some(custom) = prim.custom() {
        return interpret_custom(custom, interpreter, prim, params, args, top);
    }
    match interpreter {
        Interpreter::Tape => tape_many(top, prim, params, args),
        Interpreter::Dual { ambient } => dual_many(top, ambient, prim, params, args),
        Interpreter::Batch { size, randomness } => {
            let outs = batch::interpret(top, size, randomness, prim, params, args)?;
            Ok(outs.into_iter().map(|o| batch::rewrap(top, o)).collect())
        }
        Interpreter::Trace(recorder) => trace::interpret(&recorder, top, prim, params, args),
    }
}

fn interpret_custom(
    custom: &dyn Custom,
    interpreter: Interpreter,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
    top: LevelId,
) -> Result<Outputs> {
    match interpreter {
        Interpreter::Tape => {
            if !level::records(top) {
                return call_many(prim, params, &stripped(top, args));
            }
            let needs = args.iter().enumerate().fold(0, |m, (i, a)| {
                if a.level() == top && a.dtype().is_differentiable() { m | 1 << i.min(63) } else { m }
            });
            custom.tape(top, prim, args, needs)
        }
        Interpreter::Dual { .. } if !level::propagates(top) => call_many(prim, params, &stripped(top, args)),
        Interpreter::Dual { ambient } => {
            let outs = custom.dual(top, prim, args)?;
            if ambient {
                let tangents: SmallVec<[Option<&Tensor>; 2]> = outs.iter().map(|o| tangent_at(top, o)).collect();
                let primals: SmallVec<[&Tensor; 2]> =
                    outs.iter().map(|o| if o.level() == top { o.below().unwrap_or(o) } else { o }).collect();
                let others = match forward::saved_elsewhere(&primals) {
                    Some(node) => custom.saved_tangents(top, args, &outs, &node)?,
                    None => Vec::new(),
                };
                forward::attach(top, &unwrap_dual(top, args).1, &primals, &tangents, &others);
            }
            Ok(outs)
        }
        Interpreter::Batch { .. } => custom.batch(top, prim, args),
        Interpreter::Trace(recorder) => match custom.trace(top, prim, args) {
            Some(outs) => outs,
            None => trace::interpret(&recorder, top, prim, params, args),
        },
    }
}

/// Arguments of a recorded call: values below, edges, and which are differentiated.
struct Unwrapped<'a> {
    values: SmallVec<[&'a Tensor; 4]>,
    edges: SmallVec<[Option<Edge>; 2]>,
    needs: Mask,
}

fn unwrap_taped<'a>(level: LevelId, args: &[&'a Tensor]) -> Unwrapped<'a> {
    let mut u = Unwrapped { values: SmallVec::new(), edges: SmallVec::new(), needs: 0 };
    for (i, a) in args.iter().enumerate() {
        match a.payload_at(level) {
            Some(Payload::Taped { value, node, slot }) => {
                u.values.push(value);
                u.edges.push(Some(Edge { node: node.clone(), slot: *slot }));
                u.needs |= 1 << i.min(63);
            }
            _ => {
                u.values.push(a);
                u.edges.push(None);
            }
        }
    }
    u
}

fn save(level: LevelId, saves: Saves, values: &[&Tensor], outs: &[Tensor]) -> Result<Saved> {
    let mut saved = Saved::default();
    for (i, v) in values.iter().enumerate() {
        if saves.inputs >> i.min(63) & 1 == 1 {
            saved.residuals.push(Residual::save(level, (*v).clone(), Link::Input(i as u32))?);
        }
    }
    for (i, v) in outs.iter().enumerate() {
        if saves.outputs >> i.min(63) & 1 == 1 {
            saved.residuals.push(Residual::save(level, v.clone(), Link::Output(i as u32))?);
        }
    }
    Ok(saved)
}

fn tape_one(level: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    if !level::records(level) || prim.is_constant() {
        return call(prim, params, &stripped(level, args));
    }
    let u = unwrap_taped(level, args);
    let out = call(prim, params, &u.values)?;
    if !out.dtype().is_differentiable() {
        return Ok(out);
    }
    let saved = save(level, prim.saves(params, u.needs), &u.values, std::slice::from_ref(&out))?;
    let metas = smallvec![Meta::of(&out)];
    let node = Node::op(level, prim.to_owned(), params.clone(), metas, u.edges, saved);
    Ok(Tensor::taped(level, out, node, 0))
}

fn tape_many(level: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
    if !level::records(level) || prim.is_constant() {
        return call_many(prim, params, &stripped(level, args));
    }
    let u = unwrap_taped(level, args);
    let outs = call_many(prim, params, &u.values)?;
    if !outs.iter().any(|o| o.dtype().is_differentiable()) {
        return Ok(outs);
    }
    let saved = save(level, prim.saves(params, u.needs), &u.values, &outs)?;
    let metas = outs.iter().map(Meta::of).collect();
    let node = Node::op(level, prim.to_owned(), params.clone(), metas, u.edges, saved);
    let wrap = |(i, v): (usize, Tensor)| {
        if v.dtype().is_differentiable() { Tensor::taped(level, v, node.clone(), i as u32) } else { v }
    };
    Ok(outs.into_iter().enumerate().map(wrap).collect())
}

fn tangent_at(level: LevelId, t: &Tensor) -> Option<&Tensor> {
    match t.payload_at(level) {
        Some(Payload::Dual { tangent, .. }) => Some(tangent),
        _ => None,
    }
}

type Duals<'a> = (SmallVec<[&'a Tensor; 4]>, SmallVec<[Option<&'a Tensor>; 4]>);

fn unwrap_dual<'a>(level: LevelId, args: &[&'a Tensor]) -> Duals<'a> {
    let mut d: Duals<'a> = (SmallVec::new(), SmallVec::new());
    for &a in args {
        match a.payload_at(level) {
            Some(Payload::Dual { primal, tangent }) => {
                d.0.push(primal);
                d.1.push(Some(tangent));
            }
            _ => {
                d.0.push(a);
                d.1.push(None);
            }
        }
    }
    d
}

fn dual_one(level: LevelId, ambient: bool, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    let (primals, tangents) = unwrap_dual(level, args);
    let out = call(prim, params, &primals)?;
    if prim.is_constant() || !out.dtype().is_differentiable() || !level::propagates(level) {
        return Ok(out);
    }
    let point = Point {
        inputs: primals.iter().map(|p| Some(*p)).collect(),
        outputs: smallvec![Some(&out)],
        node: None,
        residuals: &[],
        recording: false,
    };
    let tangent = prim.jvp(prim, params, &point, &tangents)?.into_iter().next().flatten();
    drop(point);
    if ambient {
        forward::attach(level, &tangents, &[&out], &[tangent.as_ref()], &[]);
    }
    Ok(match tangent {
        Some(t) => Tensor::dual(level, out, t),
        None => out,
    })
}

fn dual_many(level: LevelId, ambient: bool, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
    let (primals, tangents) = unwrap_dual(level, args);
    let outs = call_many(prim, params, &primals)?;
    if prim.is_constant() || !outs.iter().any(|o| o.dtype().is_differentiable()) || !level::propagates(level) {
        return Ok(outs);
    }
    let point = Point {
        inputs: primals.iter().map(|p| Some(*p)).collect(),
        outputs: outs.iter().map(Some).collect(),
        node: None,
        residuals: &[],
        recording: false,
    };
    let results = prim.jvp(prim, params, &point, &tangents)?;
    drop(point);
    if ambient {
        let primals: SmallVec<[&Tensor; 2]> = outs.iter().collect();
        let results: SmallVec<[Option<&Tensor>; 2]> = results.iter().map(Option::as_ref).collect();
        forward::attach(level, &tangents, &primals, &results, &[]);
    }
    let mut tangents = results.into_iter();
    Ok(outs
        .into_iter()
        .map(|o| match tangents.next().flatten() {
            Some(t) if o.dtype().is_differentiable() => Tensor::dual(level, o, t),
            _ => o,
        })
        .collect())
}
