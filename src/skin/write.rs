//! The rules of writing: what may be written where, and what becomes of the history.

use super::history::{self, carry, has_history, without_closed};
use super::read::innermost;
use crate::bail;
use crate::base::{Error, Layout, Result};
use crate::core::level;
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, origin};
use crate::dense::pointwise::LARGE;
use crate::dense::region::{self, Region};
use crate::dense::{Array, donation};
use crate::ops::value::{IndexItem, Value};
use crate::ops::{Cost, Flags};
use crate::rules::{abstracted, basis, part};
use std::sync::Arc;

/// The result of an in-place operator in the shape and dtype of what it is written to.
pub fn fit(op: &str, old: &Tensor, new: &Tensor) -> Result<Tensor> {
    if new.shape() != old.shape() {
        bail!(
            Runtime,
            "{op}(): output with shape {} doesn't match the broadcast shape {}; a tensor that is written to keeps its \
             shape: call the form without '_', which gives a new tensor",
            old.shape(),
            new.shape()
        );
    }
    if new.dtype().category() > old.dtype().category() {
        bail!(
            Runtime,
            "{op}(): result type {} can't be cast to the desired output type {}; write to a tensor of that dtype",
            new.dtype(),
            old.dtype()
        );
    }
    basis::cast(new, old.dtype())
}

/// An error if the value is a leaf of a tape that records now: its gradient belongs to the value that it has.
pub fn check_leaf(op: &str, value: &Tensor, is_view: bool) -> Result<()> {
    let mut t = value;
    loop {
        if let Some(Payload::Taped { node, .. }) = t.payload()
            && node.is_leaf()
            && level::is_live(t.level())
            && level::records(t.level())
        {
            let what = if is_view { "a view of a leaf Variable" } else { "a leaf Variable" };
            let whose =
                if t.level() == LevelId::AMBIENT { "that requires grad" } else { "of a function under grad or vjp" };
            bail!(
                Runtime,
                "{op}(): {what} {whose} is being used in an in-place operation{}; write to a clone(), or under no_grad()",
                origin::at_here()
            );
        }
        match t.below() {
            Some(below) => t = below,
            None => return Ok(()),
        }
    }
}

/// An error if two elements of what is written to are the same place.
pub fn check_overlap(op: &str, region: &Region) -> Result<()> {
    if region.overlaps() {
        bail!(
            Runtime,
            "{op}(): unsupported operation: more than one element of the written-to tensor refers to a single memory \
             location. Please clone() the tensor before performing the operation."
        );
    }
    Ok(())
}

/// Whether values of this level may be written into any cell: those of levels that are no transform of a function.
fn is_free(id: LevelId) -> bool {
    id <= LevelId::AMBIENT || level::is_forward_ad(id) || level::is_method_tape(id)
}

/// An error if `new` belongs to a transform that began after the cell was made: it would keep a value of that
/// transform when the transform is gone.
pub fn check_capture(op: &str, old: &Tensor, birth: LevelId, new: &Tensor) -> Result<()> {
    let birth = if level::is_live(birth) { birth } else { LevelId::DENSE };
    let allowed = birth.max(if level::is_live(old.level()) { old.level() } else { LevelId::DENSE });
    let mut t = Some(new);
    while let Some(x) = t {
        let id = x.level();
        if id > allowed && !is_free(id) {
            return Err(captured(op, id));
        }
        t = x.below();
    }
    Ok(())
}

#[cold]
fn captured(op: &str, id: LevelId) -> Error {
    let (transform, place) = level::with(id, |l| (l.transform(), l.origin.describe())).unwrap_or(("a transform", None));
    let place = place.unwrap_or_else(|| transform.to_string());
    let entry = crate::ops::find(op.trim_end_matches('_'))
        .or_else(|| crate::ops::find(&format!("Tensor.{}", op.trim_end_matches('_'))));
    let which = match transform {
        _ if entry.is_some_and(|e| e.flags.has(Flags::RANDOM)) && transform == "vmap" => {
            "you asked for different inplace randomness on an unbatched tensor: "
        }
        "vmap" => "",
        _ => "it would mutate a captured Tensor: ",
    };
    Error::runtime(format!(
        "{transform}: inplace arithmetic {op}() is not possible here{}: {which}the tensor was made outside {place}, and \
         cannot keep a value of it after it has returned; make the tensor inside the function, or return the value",
        origin::at_here()
    ))
}

/// Whether some level that records now follows `old` and not `new`.
fn loses_history(old: &Tensor, new: &Tensor) -> bool {
    let mut t = Some(old);
    while let Some(x) = t {
        if matches!(x.payload(), Some(Payload::Taped { .. }))
            && level::is_live(x.level())
            && level::records(x.level())
            && !super::read::has_level(new, x.level())
        {
            return true;
        }
        t = x.below();
    }
    false
}

/// The value of a cell after a write: `new` with the history that it must have, its elements in the memory of `old`
/// where others see that, or know its address and only `handles` handles hold the value. Shape and dtype fit already.
pub fn merge(op: &str, old: &Tensor, birth: LevelId, new: Tensor, handles: usize) -> Result<Tensor> {
    let stays = handles > 0 && old.is_held_by(handles) && innermost(old).is_some_and(is_apart);
    if let (Some(from), Some(to)) = (old.dense(), new.dense())
        && !(stays || from.is_exported() || to.is_exported())
    {
        return if is_in_order(from, to) { Ok(new) } else { Ok(to.laid_as(&from.layout())?.into()) };
    }
    let new = without_mixing(op, old, without_closed(new)?)?;
    check_capture(op, old, birth, &new)?;
    // A write that does not depend on the old value is recorded all the same: the tensor still requires grad.
    let new = if loses_history(old, &new) { part::write(old, &Region::whole(old.shape()), &new, false)? } else { new };
    let new = place(old, carry(old, &new)?, stays)?;
    match (innermost(old), innermost(&new)) {
        (Some(from), Some(to)) if from.shape() == to.shape() && !is_in_order(from, to) => {
            Ok(history::with_array(&new, &to.laid_as(&from.layout())?))
        }
        _ => Ok(new),
    }
}

/// Whether a tensor with the elements of `old` keeps its strides with those of `new`.
fn is_in_order(old: &Array, new: &Array) -> bool {
    (old.is_plain() && new.is_plain()) || old.strides() == new.strides()
}

/// A value for a tensor without data loses its own; one that has none cannot be put where data is.
fn without_mixing(op: &str, old: &Tensor, new: Tensor) -> Result<Tensor> {
    match (old.is_abstract(), new.is_abstract()) {
        (true, false) => abstracted::without_data(&new),
        _ => check_data(op, old, &new).map(|()| new),
    }
}

/// An error where a value without data would take the place of one that has data.
pub fn check_data(op: &str, old: &Tensor, new: &Tensor) -> Result<()> {
    if old.is_abstract() || !new.is_abstract() {
        return Ok(());
    }
    Err(Error::not_implemented(format!(
        "{op}(): Cannot copy out of meta tensor; no data! The tensor that is written to has data, and what is written has \
         none{}; make the tensor inside of the function, or with device='meta'",
        origin::at_here()
    )))
}

/// Whether no other array lies in the memory of this one.
fn is_apart(array: &Array) -> bool {
    array.buffer().is_some_and(|b| Arc::strong_count(b) == 1)
}

/// The value with its elements in the memory of `old`, if that is visible outside, or to stay; otherwise in memory that is
/// not visible.
fn place(old: &Tensor, new: Tensor, stays: bool) -> Result<Tensor> {
    let (Some(from), Some(to)) = (innermost(&new), innermost(old)) else { return Ok(new) };
    if (stays || to.is_exported()) && to.shape() == from.shape() {
        region::overwrite(to, from)?;
        return Ok(history::with_array(&new, to));
    }
    if from.is_exported() {
        let own = crate::dense::copy::gather(from)?;
        return Ok(history::with_array(&new, &own));
    }
    Ok(new)
}

/// Runs `f`, which gives `own` with some elements changed: where they are, if only `handles` handles hold the value, and no
/// level follows anything. The caller uses `own` for nothing afterwards.
pub fn in_memory_of<R>(own: &Tensor, handles: usize, f: impl FnOnce() -> R) -> R {
    match own.dense() {
        Some(array) if own.references() == handles && level::tracing() == LevelId::DENSE => donation::give_up(array, f),
        _ => f(),
    }
}

/// Elements that are written one by one in milliseconds, and bytes that are read and written in as many.
const FEW: usize = 1 << 20;
const MODERATE: usize = 1 << 26;

/// Whether an operator on elements of `own` takes milliseconds at most, and gains if it changes them where they are.
pub fn is_brief(cost: Cost, own: &Tensor, others: &[Value]) -> bool {
    let count = |v: &Value| match v {
        Value::Tensor(t) => t.stored(),
        Value::Tuple(parts) | Value::List(parts) => {
            parts.iter().map(|p| if let Value::Tensor(t) = p { t.stored() } else { 0 }).sum()
        }
        _ => 0,
    };
    match cost {
        Cost::Scattered => others.iter().map(count).sum::<usize>() <= FEW,
        _ => is_moderate(own),
    }
}

/// Whether so few elements are written that it takes milliseconds at most.
pub fn are_few(items: &[IndexItem], value: &Tensor) -> bool {
    let count = |i: &IndexItem| if let IndexItem::Tensor(t) = i { t.stored() } else { 0 };
    items.iter().map(count).sum::<usize>().saturating_add(value.stored()) <= FEW
}

/// Whether all elements are worth to be changed where they are, and changed in milliseconds.
pub fn is_moderate(own: &Tensor) -> bool {
    let bytes = own.stored().saturating_mul(own.dtype().size());
    own.dtype().is_differentiable() && (LARGE..=MODERATE).contains(&bytes)
}

/// Whether no level follows any tensor in these values.
pub fn are_dense(values: &[Value]) -> bool {
    values.iter().all(|v| match v {
        Value::Tensor(t) => t.level() == LevelId::DENSE,
        Value::Tuple(parts) | Value::List(parts) => are_dense(parts),
        Value::Index(items) => items_are_dense(items),
        _ => true,
    })
}

/// As [`are_dense`], of an index.
pub fn items_are_dense(items: &[IndexItem]) -> bool {
    items.iter().all(|i| !matches!(i, IndexItem::Tensor(t) if t.level() != LevelId::DENSE))
}

/// Whether the write may reuse the memory of `old`, which this handle gives up.
fn may_donate(old: &Tensor) -> bool {
    level::tracing() == LevelId::DENSE && old.is_exclusive()
}

/// The value of a cell after a write to a region of it. `old` is given up; it comes back with an error.
pub fn merge_region(
    op: &str,
    old: Tensor,
    birth: LevelId,
    region: &Region,
    value: &Tensor,
) -> std::result::Result<Tensor, (Tensor, Error)> {
    if let (Some(array), Some(new)) = (old.dense(), value.dense())
        && !array.is_exported()
        && level::tracing() == LevelId::DENSE
    {
        if is_part(array, region, new) {
            // What `x[i] += 1` writes back.
            return match check_overlap(op, region) {
                Ok(()) => Ok(old),
                Err(e) => Err((old, e)),
            };
        }
        let donate = old.is_exclusive();
        let written = check_overlap(op, region).and_then(|()| region::write(array, region, 0, new, donate));
        return written.map(Tensor::from).map_err(|e| (old, e));
    }
    let check = || -> Result<Tensor> {
        check_overlap(op, region)?;
        let value = without_mixing(op, &old, without_closed(value.clone())?)?;
        check_capture(op, &old, birth, &value)?;
        Ok(value)
    };
    let value = match check() {
        Ok(v) => v,
        Err(e) => return Err((old, e)),
    };
    if let (Some(array), Some(new)) = (old.dense(), value.dense())
        && array.is_exported()
    {
        return match in_memory(array, region, new) {
            Ok(()) => Ok(old),
            Err(e) => Err((old, e)),
        };
    }
    // The history survives the memory: `carry` reads wrappers only.
    let donate = may_donate(&old) && !innermost(&old).is_some_and(|a| a.is_exported());
    let written = part::write(&old, region, &value, donate).and_then(|new| {
        let new = if has_history(&old) { carry(&old, &new)? } else { new };
        place(&old, new, false)
    });
    match written {
        Ok(new) => Ok(new),
        Err(e) => Err((old, e)),
    }
}

/// Whether `value` is that part of the array itself.
fn is_part(array: &Array, region: &Region, value: &Array) -> bool {
    let same_memory = matches!((array.buffer(), value.buffer()), (Some(a), Some(b)) if Arc::ptr_eq(a, b));
    if !same_memory || value.dtype() != array.dtype() {
        return false;
    }
    let Some(l) = region.in_layout(&Layout { offset: 0, ..array.layout() }) else { return false };
    let start = array.ptr().wrapping_add(l.offset.saturating_mul(array.dtype().size()));
    value.ptr() == start && *value.shape() == l.shape && value.strides() == l.strides
}

/// Writes into a part of memory that others see.
fn in_memory(array: &crate::dense::Array, region: &Region, value: &crate::dense::Array) -> Result<()> {
    if let Some(part) = region.in_layout(&array.layout()) {
        return region::overwrite(&array.view(|_| part)?, value);
    }
    region::overwrite(array, &region::write(array, region, 0, value, false)?)
}
