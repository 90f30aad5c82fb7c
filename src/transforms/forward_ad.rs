//! Forward mode step by step: levels that are entered and left by hand, dual numbers made and taken apart.

use crate::bail;
use crate::base::{Error, Result};
use crate::core::level::{self, Guard, LevelKind};
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::{Payload, has_level};
use crate::core::{LevelId, Tensor, forward};
use crate::rules::basis;
use std::cell::RefCell;
use std::mem::ManuallyDrop;

thread_local! {
    /// The levels that were entered on this thread, innermost last. One that is never left stays open.
    static ENTERED: RefCell<Vec<ManuallyDrop<Guard>>> = const { RefCell::new(Vec::new()) };
}

/// Opens a level and returns its number on this thread.
///
/// # Errors
/// `Recursion` if too many levels are open.
pub fn enter(origin: Origin) -> Result<usize> {
    level::check_room()?;
    let guard = ManuallyDrop::new(level::push_forward_ad(origin));
    Ok(ENTERED.with_borrow_mut(|e| {
        e.push(guard);
        e.len() - 1
    }))
}

/// How many levels are open on this thread.
pub fn depth() -> usize {
    ENTERED.with_borrow(Vec::len)
}

/// The level with this number.
pub fn numbered(number: usize) -> Option<LevelId> {
    ENTERED.with_borrow(|e| e.get(number).map(|g| g.id()))
}

/// Closes the innermost level, whose number must be given. Its dual numbers are their primals from now on.
///
/// # Errors
/// `Runtime` if that is not the innermost level.
pub fn exit(number: usize) -> Result<()> {
    let open = depth();
    if number + 1 != open {
        bail!(
            Runtime,
            "exit_dual_level(): Trying to exit a forward AD level that was not the last one that was created: level \
             {number}, while {open} are open{}; leave them in reverse order",
            at_here()
        );
    }
    if let Some(guard) = ENTERED.with_borrow_mut(Vec::pop) {
        let id = guard.id();
        drop(ManuallyDrop::into_inner(guard));
        forward::release(id);
    }
    Ok(())
}

/// The error for a value whose transform began after the level, where the parts are not to be had.
fn beyond(op: &str, t: &Tensor) -> Error {
    let place = level::find(t.level()).map(|l| l.origin.describe().unwrap_or_else(|| l.transform().into()));
    let place = place.unwrap_or_else(|| t.level().to_string());
    Error::runtime(format!(
        "{op}(): the tensor belongs to {place}, which began after the dual level was entered{}; enter the dual level \
         inside of the transformed function",
        at_here()
    ))
}

/// The value without wrappers that are gone.
fn live_value(t: &Tensor) -> &Tensor {
    let mut t = t;
    while !level::is_live(t.level()) {
        match t.payload() {
            Some(Payload::Dual { primal: value, .. } | Payload::Taped { value, .. }) => t = value,
            _ => break,
        }
    }
    t
}

/// The value with its batch of `level` in front, expanded if it has none.
fn in_front(t: &Tensor, level: LevelId, size: usize) -> Result<Tensor> {
    match t.payload_at(level) {
        Some(Payload::Batched { value, dim }) => basis::move_dim(value, *dim, 0),
        _ => basis::expand(t, &t.shape().prepend(size)),
    }
}

/// A dual number of level `id`. Values of `forward_ad` levels and batches above it go around it.
///
/// # Errors
/// `Runtime` if `primal` has a tangent at the level, or belongs to another transform above it.
pub fn pack(id: LevelId, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
    let (primal, tangent) = (live_value(primal), live_value(tangent));
    let top = primal.level().max(tangent.level());
    if top < id {
        return Ok(Tensor::dual(id, primal.clone(), tangent.clone()));
    }
    match level::with(top, |l| l.kind.clone()) {
        Some(LevelKind::Dual { .. }) if top == id => bail!(
            Runtime,
            "make_dual(): Making a dual Tensor based on a Tensor that already has a forward gradient at the same level \
             is not supported{}; unpack it first",
            at_here()
        ),
        Some(LevelKind::Dual { ambient: true, .. }) => {
            let ((p, dp), (t, dt)) = (unpack(top, primal)?, unpack(top, tangent)?);
            let inner = pack(id, &p, &t)?;
            Ok(match (dp, dt) {
                (None, None) => inner,
                (Some(dp), None) => Tensor::dual(top, inner, dp),
                (dp, Some(dt)) => {
                    let dp = dp.map_or_else(|| basis::zeros_like(&p), Ok)?;
                    Tensor::dual(top, inner, pack(id, &dp, &dt)?)
                }
            })
        }
        Some(LevelKind::Batch { size, .. }) => {
            let inner = pack(id, &in_front(primal, top, size)?, &in_front(tangent, top, size)?)?;
            Ok(Tensor::batched(top, inner, 0))
        }
        _ => Err(beyond("make_dual", if primal.level() == top { primal } else { tangent })),
    }
}

/// The primal and, if it has one, the tangent of a value at level `id`.
///
/// # Errors
/// `Runtime` if the value belongs to a transform that began after the level.
pub fn unpack(id: LevelId, value: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
    let value = live_value(value);
    let top = value.level();
    if top < id {
        return Ok((value.clone(), None));
    }
    match value.payload() {
        Some(Payload::Dual { primal, tangent }) if top == id => Ok((primal.clone(), Some(tangent.clone()))),
        Some(Payload::Dual { primal, tangent }) if level::is_forward_ad(top) => {
            let ((p, dp), (t, dt)) = (unpack(id, primal)?, unpack(id, tangent)?);
            let tangent = match (dp, dt) {
                (None, None) => None,
                (Some(dp), None) => Some(dp),
                (dp, Some(dt)) => {
                    let dp = dp.map_or_else(|| basis::zeros_like(&p), Ok)?;
                    Some(Tensor::dual(top, dp, dt))
                }
            };
            Ok((Tensor::dual(top, p, t), tangent))
        }
        Some(Payload::Batched { value, dim }) => {
            let (p, t) = unpack(id, value)?;
            Ok((Tensor::batched(top, p, *dim), t.map(|t| Tensor::batched(top, t, *dim))))
        }
        _ if !has_level(value, id) => Ok((value.clone(), None)),
        _ => Err(beyond("unpack_dual", value)),
    }
}

/// `tangent` as one that `primal` can have: of its shape, and of its dtype.
///
/// # Errors
/// `Value` if a dtype is not differentiable; `Runtime` if the shapes differ or the tangent of a real primal is complex.
pub fn fitting(primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
    for (part, x) in [("primal", primal), ("tangent", tangent)] {
        if !x.dtype().is_differentiable() {
            bail!(
                Value,
                "make_dual(): Expected {part} to be floating point or complex, but got: {}{}",
                x.dtype(),
                at_here()
            );
        }
    }
    if primal.shape() != tangent.shape() {
        bail!(
            Runtime,
            "make_dual(): Trying to set a forward gradient that has a different size than that of the original Tensor: \
             the primal has shape {} and the tangent has shape {}{}",
            primal.shape(),
            tangent.shape(),
            at_here()
        );
    }
    if tangent.dtype().is_complex() && !primal.dtype().is_complex() {
        bail!(
            Runtime,
            "make_dual(): the tangent of a primal of dtype {} cannot have dtype {}{}",
            primal.dtype(),
            tangent.dtype(),
            at_here()
        );
    }
    basis::cast(tangent, primal.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(x: f64) -> Tensor {
        Tensor::scalar(crate::DType::F64, x)
    }
    fn item(t: &Tensor) -> f64 {
        t.to_vec::<f64>().unwrap()[0]
    }

    #[test]
    fn duals_of_two_levels_hold_the_second_derivative() {
        let outer = numbered(enter(Origin::UNKNOWN).unwrap()).unwrap();
        let inner = numbered(enter(Origin::UNKNOWN).unwrap()).unwrap();
        let x = pack(inner, &pack(outer, &number(2.0), &number(1.0)).unwrap(), &number(1.0)).unwrap();
        let y = x.mul(&x).unwrap().mul(&x).unwrap();
        let (_, slope) = unpack(inner, &y).unwrap();
        let (slope, curvature) = unpack(outer, &slope.unwrap()).unwrap();
        assert_eq!((item(&slope), item(&curvature.unwrap())), (12.0, 12.0));
        let (_, first) = unpack(outer, &y).unwrap();
        let (first, mixed) = unpack(inner, &first.unwrap()).unwrap();
        assert_eq!((item(&first), item(&mixed.unwrap())), (12.0, 12.0));
        assert!(exit(0).is_err());
        exit(1).unwrap();
        exit(0).unwrap();
        assert_eq!(depth(), 0);
        assert_eq!(item(&live_value(&y).clone()), 8.0);
    }
}
