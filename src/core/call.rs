//! The dispatcher: an operator runs at the highest level found among its arguments and is rewritten there into
//! operators of the levels below, down to dense arrays.

use super::level::{self, LevelFlags, LevelId, LevelTag};
use super::params::Params;
use super::primitive::{Outputs, Point, Prim, only};
use super::tensor::{Payload, Tensor};
use super::{batch, custom, forward, host, meta, method_scope, shared, spoilt, tape, trace};
use crate::base::Result;
use smallvec::SmallVec;

#[inline]
pub(super) fn top_level(args: &[&Tensor]) -> LevelId {
    args.iter().fold(level::tracing(), |top, a| top.max(a.level()))
}

/// Levels from which on a single operator may take long.
const DEEP: usize = 12;

/// Runs an operator with one output.
#[inline]
pub fn call(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    let top = top_level(args);
    if top == LevelId::DENSE {
        return prim.eval(params, args);
    }
    interpret_one(prim, params, args, top)
}

/// As [`call`], where the caller gives up `own`, argument number `at` among the `others`. Nobody reads it any more: where
/// no level follows it and nobody else holds its memory, the result may take that.
pub fn call_into(prim: Prim<'_>, params: &Params, own: Tensor, at: usize, others: &[&Tensor]) -> Result<Tensor> {
    if own.level() == LevelId::DENSE && top_level(others) == LevelId::DENSE {
        return prim.eval_into(params, own, at, others);
    }
    let mut args: SmallVec<[&Tensor; 4]> = SmallVec::from_slice(others);
    args.insert(at, &own);
    call(prim, params, &args)
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

/// The arguments to use instead, where those of a live level have reached a method of a custom function behind its own.
#[inline(always)]
pub(super) fn instead(
    top: LevelId,
    flags: LevelFlags,
    prim: Prim<'_>,
    args: &[&Tensor],
) -> Result<Option<method_scope::Instead>> {
    match flags {
        LevelFlags { forbidden: false, kind: Some(_), .. } => Ok(None),
        LevelFlags { forbidden: true, kind: Some(_), .. } => method_scope::check(prim, args),
        _ => dead(top, prim, args).map(Some),
    }
}

/// Values of a level that is not live here count as what they wrap; an error if they mean nothing without it.
#[cold]
fn dead(top: LevelId, prim: Prim<'_>, args: &[&Tensor]) -> Result<method_scope::Instead> {
    if top == LevelId::SPOILT && !prim.is_constant() {
        spoilt::check(args)?;
    }
    if let Some(instead) = method_scope::revived(top, args) {
        return Ok(instead);
    }
    for a in args {
        match a.payload_at(top) {
            Some(Payload::Batched { .. }) => return Err(level::escaped(top, "vmap")),
            Some(Payload::Traced { .. }) => return Err(level::escaped(top, "trace")),
            Some(_) if level::is_live_anywhere(top) => return Err(level::escaped(top, "grad or jvp")),
            _ => {}
        }
    }
    Ok(stripped(top, args).into_iter().cloned().collect())
}

/// Arguments with the wrappers of `level` taken off.
pub(super) fn stripped<'a>(level: LevelId, args: &[&'a Tensor]) -> SmallVec<[&'a Tensor; 4]> {
    args.iter()
        .map(|&a| match (a.level() == level, a.below()) {
            (true, Some(below)) => below,
            _ => a,
        })
        .collect()
}

#[inline(never)]
fn interpret_one(prim: Prim<'_>, params: &Params, args: &[&Tensor], top: LevelId) -> Result<Tensor> {
    if top.depth() >= DEEP {
        // Each level of dual numbers may double what there is to do.
        host::poll()?;
    }
    let flags = LevelFlags::at(top);
    if flags.forbidden && top == LevelId::AMBIENT && method_scope::are_known(args) {
        return call(prim, params, &stripped(top, args));
    }
    if let Some(args) = instead(top, flags, prim, args)? {
        return call(prim, params, &args.iter().collect::<SmallVec<[&Tensor; 4]>>());
    }
    let Some(kind) = flags.kind else { return Err(level::escaped(top, "a transform")) };
    if matches!(prim, Prim::Shared(_)) && prim.custom().is_some() {
        return only(prim.name(), interpret_many(prim, params, args, top)?);
    }
    match kind {
        LevelTag::Tape => tape::one(top, flags, prim, params, args),
        LevelTag::Dual => dual_one(top, false, prim, params, args),
        LevelTag::ForwardAd => dual_one(top, true, prim, params, args),
        LevelTag::Batch if flags.forbidden && shared::any() => shared::one(top, prim, params, args),
        LevelTag::Batch => batch::one(top, prim, params, args),
        LevelTag::Trace => only(prim.name(), trace::interpret(&*level::recorder(top)?, top, prim, params, args)?),
        LevelTag::Abstract => meta::one(prim, params, args),
    }
}

#[inline(never)]
fn interpret_many(prim: Prim<'_>, params: &Params, args: &[&Tensor], top: LevelId) -> Result<Outputs> {
    let flags = LevelFlags::at(top);
    if flags.forbidden && top == LevelId::AMBIENT && method_scope::are_known(args) {
        return call_many(prim, params, &stripped(top, args));
    }
    if let Some(args) = instead(top, flags, prim, args)? {
        return call_many(prim, params, &args.iter().collect::<SmallVec<[&Tensor; 4]>>());
    }
    let Some(kind) = flags.kind else { return Err(level::escaped(top, "a transform")) };
    if let Some(custom) = prim.custom() {
        return Ok(custom::interpret(custom, kind, prim, args, top)?.outputs);
    }
    match kind {
        LevelTag::Tape => tape::many(top, flags, prim, params, args),
        LevelTag::Dual => dual_many(top, false, prim, params, args),
        LevelTag::ForwardAd => dual_many(top, true, prim, params, args),
        LevelTag::Batch if flags.forbidden && shared::any() => shared::many(top, prim, params, args),
        LevelTag::Batch => {
            let outs = batch::interpret(top, prim, params, args)?;
            Ok(outs.into_iter().map(|o| batch::rewrap(top, o)).collect())
        }
        LevelTag::Trace => trace::interpret(&*level::recorder(top)?, top, prim, params, args),
        LevelTag::Abstract => meta::many(prim, params, args),
    }
}

pub(super) fn tangent_at(level: LevelId, t: &Tensor) -> Option<&Tensor> {
    match t.payload_at(level) {
        Some(Payload::Dual { tangent, .. }) => Some(tangent),
        _ => None,
    }
}

pub(super) type Duals<'a> = (SmallVec<[&'a Tensor; 4]>, SmallVec<[Option<&'a Tensor>; 4]>);

pub(super) fn unwrap_dual<'a>(level: LevelId, args: &[&'a Tensor]) -> Duals<'a> {
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
    let out = if ambient { call(prim, params, &primals)? } else { prim.primal(prim, params, &primals)? };
    if prim.is_constant_in_forward() || !out.dtype().is_differentiable() || !level::propagates(level) {
        return Ok(out);
    }
    let inputs = primals.iter().map(|p| Some(*p)).collect::<SmallVec<[_; 4]>>();
    let point = Point { inputs: &inputs, outputs: &[Some(&out)], node: None, residuals: &[], recording: false };
    let tangent = prim.jvp(prim, params, &point, &tangents)?.into_iter().next().flatten();
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
    if prim.is_constant_in_forward() || !outs.iter().any(|o| o.dtype().is_differentiable()) || !level::propagates(level)
    {
        return Ok(outs);
    }
    let inputs = primals.iter().map(|p| Some(*p)).collect::<SmallVec<[_; 4]>>();
    let outputs = outs.iter().map(Some).collect::<SmallVec<[_; 2]>>();
    let point = Point { inputs: &inputs, outputs: &outputs, node: None, residuals: &[], recording: false };
    let results = prim.jvp(prim, params, &point, &tangents)?;
    drop(outputs);
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
