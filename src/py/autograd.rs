//! `requires_grad`, `.grad` and `.backward()`.

use super::native::Slf;
use super::tensor::PyTensor;
use crate::base::Error;
use crate::core::node::{Meta, Node};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, level};
use pyo3::prelude::*;

/// Whether a tape records operators of this value: its outermost live wrapper is one of a tape.
pub fn requires_grad(t: &Tensor) -> bool {
    let mut t = t;
    loop {
        let below = match t.payload() {
            None | Some(Payload::Batched { .. } | Payload::Traced { .. }) => return false,
            Some(Payload::Taped { .. }) if level::is_live(t.level()) => return true,
            Some(Payload::Taped { value, .. }) => value,
            Some(Payload::Dual { .. }) if level::is_live(t.level()) => return false,
            Some(Payload::Dual { primal, .. }) => primal,
        };
        t = below;
    }
}

/// Whether the value is no recorded operator's result.
pub fn is_leaf(t: &Tensor) -> bool {
    match t.payload() {
        Some(Payload::Taped { node, .. }) => node.is_leaf(),
        _ => true,
    }
}

/// A node's class in messages and in `repr`: `MulBackward0`.
pub fn node_name(node: &Node) -> String {
    let mut name = String::new();
    for part in node.name().split(['_', '.']) {
        let mut chars = part.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    format!("{name}Backward0")
}

pub fn set_requires_grad(slf: Slf<'_, '_>, on: bool) -> PyResult<()> {
    let value = slf.get().value();
    if requires_grad(&value) == on {
        return Ok(());
    }
    if on && !value.dtype().is_differentiable() {
        return Err(Error::runtime("only Tensors of floating point and complex dtype can require gradients").into());
    }
    let new = match value.payload() {
        Some(Payload::Taped { value, .. }) if !on => value.clone(),
        _ => {
            let node = Node::leaf(LevelId::AMBIENT, Meta::of(&value), None);
            Tensor::taped(LevelId::AMBIENT, value.clone(), node, 0)
        }
    };
    drop(slf.get().with(|s| s.set(new)));
    Ok(())
}

pub fn gradient(_: &PyTensor) -> Option<Py<PyTensor>> {
    None
}
