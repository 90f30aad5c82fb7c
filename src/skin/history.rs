//! What follows a value: taking tapes and tangents off it, and putting them on another value.
//!
//! NOTE. A cell's value may be wrapped by several levels, `tape 2 (batch 1 (tape 0 (array)))`. A write computes a new
//! value; what becomes of each wrapper depends on its level's mode. Where the level recorded the write, the new value
//! brings its own node. Where it did not, the old node stays around the new elements:
//! ```text
//! w = leaf(array);  with no_grad: w -= g   gives   leaf(array - g), not (array - g)
//! ```

use crate::base::Result;
use crate::core::stop::ALIAS;
use crate::core::tensor::Payload;
use crate::core::{Params, Prim, Tensor, call, level, shared};
use crate::dense::Array;
use crate::rules::basis;

/// Whether a tape or a tangent follows the value, at any level that is live here.
pub fn has_history(t: &Tensor) -> bool {
    let mut t = t;
    while let Some(below) = t.below() {
        if matches!(t.payload(), Some(Payload::Taped { .. } | Payload::Dual { .. })) && level::is_live(t.level()) {
            return true;
        }
        t = below;
    }
    false
}

/// Whether a tape that records now follows the value.
pub fn is_recorded(t: &Tensor) -> bool {
    let mut t = t;
    while let Some(below) = t.below() {
        if matches!(t.payload(), Some(Payload::Taped { .. })) && level::is_live(t.level()) && level::records(t.level())
        {
            return true;
        }
        t = below;
    }
    false
}

/// Whether a tape follows the value at a level that is live here.
fn is_taped(t: &Tensor) -> bool {
    let mut t = t;
    while let Some(below) = t.below() {
        if matches!(t.payload(), Some(Payload::Taped { .. })) && level::is_live(t.level()) {
            return true;
        }
        t = below;
    }
    false
}

/// What an operator gave for `base` as the value of another tensor. The same value becomes the result of an operator to
/// tapes that record, so that it is no leaf; to no tape where none records.
pub fn as_result(value: Tensor, base: &Tensor) -> Result<Tensor> {
    if value.payload().is_none() || (level::grad_enabled() && !value.same(base)) || !is_taped(&value) {
        return Ok(value);
    }
    call(Prim::Static(&ALIAS), &Params::None, &[&value])
}

/// The value without wrappers of tapes and dual levels that are gone. Batches and traces that are gone are an error.
pub fn without_closed(t: Tensor) -> Result<Tensor> {
    let mut t = t;
    loop {
        let below = match t.payload() {
            None => return Ok(t),
            Some(_) if level::is_live(t.level()) => return Ok(t),
            Some(Payload::Taped { value, .. } | Payload::Dual { primal: value, .. }) => value.clone(),
            Some(Payload::Batched { .. }) => return Err(level::escaped(t.level(), "vmap")),
            Some(Payload::Traced { .. }) => return Err(level::escaped(t.level(), "trace")),
        };
        t = below;
    }
}

/// The value without tapes and tangents at every level; batches stay.
pub fn strip(t: &Tensor) -> Result<Tensor> {
    match t.payload() {
        None => Ok(t.clone()),
        Some(Payload::Taped { value, .. } | Payload::Dual { primal: value, .. }) => strip(value),
        Some(Payload::Batched { value, dim }) => {
            let inner = strip(value)?;
            Ok(match inner.same(value) {
                true => t.clone(),
                false => shared::alike(&[t], Tensor::batched(t.level(), inner, *dim)),
            })
        }
        // A program must know that the derivative ends here.
        Some(Payload::Traced { .. }) => crate::ops::shape::detach(t),
    }
}

/// The value below a batch of `data` at the level of `like`, its batch moved to `dim`.
fn unbatched(like: &Tensor, below: &Tensor, dim: usize, data: &Tensor) -> Result<Tensor> {
    match data.payload_at(like.level()) {
        Some(Payload::Batched { value, dim: from }) => basis::move_dim(value, *from, dim),
        _ => {
            let stacked = basis::expand(data, &data.shape().prepend(below.shape()[dim]))?;
            basis::move_dim(&stacked, 0, dim)
        }
    }
}

/// The tapes and tangents of `shell` around other data, which has none.
pub fn rewrap(shell: &Tensor, data: &Tensor) -> Result<Tensor> {
    let id = shell.level();
    Ok(match shell.payload() {
        None | Some(Payload::Traced { .. }) => data.clone(),
        Some(Payload::Taped { value, .. } | Payload::Dual { primal: value, .. }) if !level::is_live(id) => {
            rewrap(value, data)?
        }
        Some(Payload::Taped { value, node, slot }) => Tensor::taped(id, rewrap(value, data)?, node.clone(), *slot),
        Some(Payload::Dual { primal, tangent }) => Tensor::dual(id, rewrap(primal, data)?, tangent.clone()),
        Some(Payload::Batched { value, .. }) if !has_history(value) => data.clone(),
        Some(Payload::Batched { value, dim }) => {
            let inner = rewrap(value, &unbatched(shell, value, *dim, data)?)?;
            shared::alike(&[shell, data], Tensor::batched(id, inner, *dim))
        }
    })
}

/// Whether the value is a variable of a program at any level.
pub fn is_variable(t: &Tensor) -> bool {
    matches!(t.payload(), Some(Payload::Traced { .. })) || t.below().is_some_and(is_variable)
}

/// The wrappers of a value around nothing: holds nodes and tangents, and no memory.
pub fn shell(t: &Tensor) -> Tensor {
    let id = t.level();
    match t.payload() {
        None | Some(Payload::Traced { .. }) => Tensor::scalar(t.dtype(), 0.0),
        Some(Payload::Taped { value, node, slot }) => Tensor::taped(id, shell(value), node.clone(), *slot),
        Some(Payload::Dual { primal, tangent }) => Tensor::dual(id, shell(primal), tangent.clone()),
        Some(Payload::Batched { value, .. }) if !has_history(value) => Tensor::scalar(t.dtype(), 0.0),
        Some(Payload::Batched { .. }) => t.clone(),
    }
}

/// The result of a write: `new`, with the nodes of `old` at the levels that did not record it.
pub fn carry(old: &Tensor, new: &Tensor) -> Result<Tensor> {
    let (id, of_new) = (old.level(), new.level());
    let Some(payload) = old.payload() else { return Ok(new.clone()) };
    if !level::is_live(id) {
        return old.below().map_or_else(|| Ok(new.clone()), |below| carry(below, new));
    }
    if of_new > id {
        // Written at a level above: what it wraps was computed there.
        return Ok(new.clone());
    }
    match (payload, new.payload_at(id)) {
        (Payload::Taped { value, .. }, Some(Payload::Taped { value: written, node, slot })) => {
            let inner = carry(value, written)?;
            Ok(if inner.same(written) { new.clone() } else { Tensor::taped(id, inner, node.clone(), *slot) })
        }
        (Payload::Taped { value, .. }, _) if level::records(id) => carry(value, new),
        (Payload::Taped { value, node, slot }, _) => Ok(Tensor::taped(id, carry(value, new)?, node.clone(), *slot)),
        (Payload::Dual { primal, .. }, Some(Payload::Dual { primal: written, tangent })) => {
            Ok(Tensor::dual(id, carry(primal, written)?, tangent.clone()))
        }
        (Payload::Dual { primal, .. }, _) if level::propagates(id) => carry(primal, new),
        (Payload::Dual { primal, tangent }, _) => Ok(Tensor::dual(id, carry(primal, new)?, tangent.clone())),
        (Payload::Batched { value, dim }, _) if has_history(value) => {
            let inner = carry(value, &unbatched(old, value, *dim, new)?)?;
            Ok(shared::alike(&[old, new], Tensor::batched(id, inner, *dim)))
        }
        (Payload::Batched { .. } | Payload::Traced { .. }, _) => Ok(new.clone()),
    }
}

/// The same wrappers with another array of the same shape innermost.
pub fn with_array(t: &Tensor, array: &Array) -> Tensor {
    let id = t.level();
    match t.payload() {
        None => array.clone().into(),
        Some(Payload::Taped { value, node, slot }) => Tensor::taped(id, with_array(value, array), node.clone(), *slot),
        Some(Payload::Dual { primal, tangent }) => Tensor::dual(id, with_array(primal, array), tangent.clone()),
        Some(Payload::Batched { value, dim }) => {
            shared::alike(&[t], Tensor::batched(id, with_array(value, array), *dim))
        }
        Some(Payload::Traced { value, var }) => Tensor::traced(id, with_array(value, array), *var),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::node::{Meta, Node};
    use crate::core::{LevelId, level::GradMode};

    fn leaf(x: &Tensor) -> Tensor {
        Tensor::taped(LevelId::AMBIENT, x.clone(), Node::leaf(LevelId::AMBIENT, Meta::of(x), None), 0)
    }
    fn numbers(v: &[f64]) -> Tensor {
        Tensor::from_slice([v.len()], v).unwrap()
    }

    #[test]
    fn unrecorded_writes_keep_the_node() {
        let w = leaf(&numbers(&[1.0, 2.0]));
        let kept = {
            let _off = GradMode::set(false);
            carry(&w, &numbers(&[3.0, 4.0])).unwrap()
        };
        assert!(kept.node_at(LevelId::AMBIENT).unwrap().0.is_leaf());
        assert_eq!(kept.below().unwrap().to_vec::<f64>().unwrap(), [3.0, 4.0]);
        assert!(carry(&w, &numbers(&[3.0, 4.0])).unwrap().payload().is_none());
    }

    #[test]
    fn stripping_and_wrapping_are_inverse() {
        let x = numbers(&[1.0]);
        let w = leaf(&x);
        assert!(strip(&w).unwrap().same(&x));
        let again = rewrap(&shell(&w), &numbers(&[5.0])).unwrap();
        assert!(std::sync::Arc::ptr_eq(
            again.node_at(LevelId::AMBIENT).unwrap().0,
            w.node_at(LevelId::AMBIENT).unwrap().0
        ));
        assert_eq!(again.below().unwrap().to_vec::<f64>().unwrap(), [5.0]);
    }
}
