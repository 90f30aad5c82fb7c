//! Forward mode around the tape: what a residual's tangent is while a `forward_ad` level lives.
//!
//! NOTE. Under `forward_ad` a dual number stands outside of the tape, `dual (tape (array))`, and the tape records the
//! primals. A sweep that runs while the level lives must give dual gradients, so its residuals need their tangents:
//! ```text
//! d = dual(p, t); y = d ** 3      node of y: residual p, tangent t beside it
//! grad(y, p) = 3 * dual(p, t)²    = dual(3p², 6p·t)
//! ```
//! The tangent of an output may depend on the node itself (`exp`), which is a cycle; so tangents leave their nodes when
//! the level ends.

use super::level::{self, LevelId};
use super::node::{Extra, Link, Node};
use super::tensor::{Payload, Tensor};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// The tangent of a residual at a level.
pub struct ResidualTangent {
    level: LevelId,
    residual: usize,
    tangent: Tensor,
}

thread_local! {
    /// Nodes that hold tangents.
    static HOLDERS: RefCell<Vec<(LevelId, Weak<Node>)>> = const { RefCell::new(Vec::new()) };
}

/// The node that gave a value, below its tangents at other levels.
fn taped(t: &Tensor) -> Option<&Arc<Node>> {
    match t.payload()? {
        Payload::Taped { node, .. } => Some(node),
        Payload::Dual { primal, .. } => taped(primal),
        _ => None,
    }
}

/// The node that gave these values, if it saved others than them and its inputs.
pub fn saved_elsewhere(outs: &[&Tensor]) -> Option<Arc<Node>> {
    let node = outs.iter().find_map(|o| taped(o))?;
    let other = node.saved().residuals.iter().any(|r| matches!(r.link(), Link::Other(Some(_))));
    other.then(|| node.clone())
}

/// Whether a tape recorded one of these values.
pub fn is_recorded(outs: &[Tensor]) -> bool {
    outs.iter().any(|o| taped(o).is_some())
}

/// Puts the tangents of inputs and outputs beside the residuals of the node that gave the outputs, if one did. `others` has
/// those of residuals that are neither, by residual.
pub fn attach(
    level: LevelId,
    inputs: &[Option<&Tensor>],
    outs: &[&Tensor],
    outputs: &[Option<&Tensor>],
    others: &[Option<Tensor>],
) {
    let Some(node) = outs.iter().find_map(|o| taped(o)) else { return };
    let residuals = node.saved();
    let found = residuals.residuals.iter().enumerate().filter_map(|(i, r)| {
        let tangent = match r.link() {
            Link::Input(k) => inputs.get(*k as usize).copied().flatten(),
            Link::Output(k) => outputs.get(*k as usize).copied().flatten(),
            Link::Other(Some(_)) => others.get(i).and_then(Option::as_ref),
            Link::Other(None) => None,
        };
        let tangent = tangent?.clone();
        Some(ResidualTangent { level, residual: i, tangent })
    });
    let found: Vec<_> = found.collect();
    drop(residuals);
    if found.is_empty() {
        return;
    }
    node.extra().tangents.lock().unwrap_or_else(|e| e.into_inner()).extend(found);
    HOLDERS.with_borrow_mut(|h| {
        if h.len() == h.capacity() {
            h.retain(|(_, n)| n.strong_count() > 0);
        }
        h.push((level, Arc::downgrade(node)));
    });
}

/// A residual's value as a dual number of each live level that it has a tangent at.
pub fn with_tangents(extra: &Extra, residual: usize, value: Tensor) -> Tensor {
    let mut out = value;
    for t in extra.tangents.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        if t.residual != residual || !level::is_live(t.level) {
            continue;
        }
        out = Tensor::dual(t.level, out, t.tangent.clone());
    }
    out
}

/// Takes the tangents of a level that has ended off all nodes.
pub fn release(level: LevelId) {
    let mut ended = Vec::new();
    HOLDERS.with_borrow_mut(|h| {
        h.retain(|(l, node)| {
            if *l == level {
                ended.push(node.clone());
            }
            *l != level
        });
    });
    for node in ended.iter().filter_map(Weak::upgrade) {
        forget(&node, |t| t.level == level);
    }
}

/// Takes tangents off a node, and drops them when its lock is free.
pub fn forget(node: &Node, which: impl Fn(&ResidualTangent) -> bool) {
    let Some(extra) = node.extra_if_any() else { return };
    let mut tangents = extra.tangents.lock().unwrap_or_else(|e| e.into_inner());
    let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut *tangents).into_iter().partition(which);
    *tangents = kept;
    drop(tangents);
    drop(gone);
}
