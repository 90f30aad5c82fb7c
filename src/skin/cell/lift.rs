//! Faces of a cell: its value as that of a level, a part of a dual number, the same bits under another dtype.

use super::super::numbers::Numbers;
use super::Cell;
use crate::base::{Error, Result};
use crate::core::level::{self, GradMode, LevelKind};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor};
use crate::ops::bits::view_dtype;
use crate::rules::basis;
use crate::transforms::forward_ad::{pack, unpack};
use std::any::Any;
use std::sync::Arc;

/// How a cell's value follows from its parent's.
#[derive(Clone)]
pub enum Face {
    /// A batch: the members of the parent along `dim`.
    Batch { level: LevelId, dim: usize },
    /// A dual number: the parent's value with a tangent, which belongs to the companion or to this cell.
    Dual { level: LevelId, tangent: Option<Companion> },
    /// The primal of the parent's value.
    Primal { level: LevelId },
    /// The tangent of the parent's value.
    Tangent { level: LevelId },
    /// The parent's bits as elements of another dtype.
    Bits,
    /// Other numbers, which follow from the parent's; recorded or not, as when the face was made.
    Numbers { numbers: Numbers, recorded: bool },
}

/// The tensor that a dual tensor has its tangent from, and goes on to share it with.
#[derive(Clone)]
pub struct Companion {
    pub cell: Arc<Cell>,
    /// The object of the host language that stands for it.
    pub object: Arc<dyn Any + Send + Sync>,
}

impl Face {
    /// Changes with each write to the companion.
    pub(super) fn stamp(&self) -> u32 {
        match self {
            Face::Dual { tangent: Some(t), .. } => t.cell.stamp(),
            _ => 0,
        }
    }

    /// Whether it shows the memory of the parent, so that the two are a view and its base.
    pub(super) fn shares_memory(&self) -> bool {
        matches!(self, Face::Dual { tangent: Some(_), .. } | Face::Primal { .. } | Face::Bits | Face::Numbers { .. })
    }

    /// Whether the value can no longer change, because its level is gone.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Face::Batch { level, .. } | Face::Tangent { level } => !level::is_live(*level),
            Face::Dual { .. } | Face::Primal { .. } | Face::Bits | Face::Numbers { .. } => false,
        }
    }

    /// The value here, from the parent's. `around` is the last value, or its shell.
    pub(super) fn lift(&self, base: &Tensor, around: Option<&Tensor>) -> Result<Tensor> {
        match self {
            Face::Batch { level, dim } => Ok(Tensor::batched(*level, base.clone(), *dim)),
            Face::Dual { level, .. } if !level::is_live(*level) => Ok(base.clone()),
            Face::Dual { level, tangent } => {
                let own = || around.and_then(|a| unpack(*level, a).ok()).and_then(|(_, t)| t);
                let tangent = tangent.as_ref().map_or_else(|| Ok(own()), |c| c.cell.read().map(Some))?;
                tangent.map_or_else(|| Ok(base.clone()), |t| pack(*level, base, &t))
            }
            Face::Primal { level } => Ok(unpack(*level, base)?.0),
            Face::Tangent { level } => unpack(*level, base)?.1.map_or_else(|| basis::zeros_like(base), Ok),
            Face::Bits => match around {
                Some(like) => view_dtype(base, like.dtype()),
                None => Err(Error::internal("bits without a dtype")),
            },
            Face::Numbers { numbers, recorded } => {
                let _mode = GradMode::set(*recorded);
                numbers.of(base)
            }
        }
    }

    /// The parent's value after a write of `new` here.
    pub(super) fn lower(&self, new: &Tensor, parent: &Arc<Cell>) -> Result<Tensor> {
        match self {
            Face::Batch { level, dim } => unbatch(new, *level, *dim),
            Face::Dual { level, .. } if level::is_live(*level) => Ok(unpack(*level, new)?.0),
            Face::Dual { .. } => Ok(new.clone()),
            Face::Primal { level } => match unpack(*level, &parent.read()?)?.1 {
                Some(tangent) => pack(*level, &unpack(*level, new)?.0, &tangent),
                None => Ok(new.clone()),
            },
            Face::Tangent { level } => {
                if !level::is_live(*level) {
                    return parent.read();
                }
                pack(*level, &unpack(*level, &parent.read()?)?.0, new)
            }
            Face::Bits => view_dtype(new, parent.read()?.dtype()),
            Face::Numbers { numbers, .. } => numbers.back(new),
        }
    }

    /// An error if the companion may not be written to now.
    pub(super) fn check_beside(&self, op: &str) -> Result<()> {
        match self {
            Face::Dual { level, tangent: Some(companion) } if level::is_live(*level) => {
                companion.cell.check_writable(op)
            }
            _ => Ok(()),
        }
    }

    /// Gives the companion the tangent of what was written.
    pub(super) fn write_beside(&self, op: &str, new: &Tensor) -> Result<()> {
        let Face::Dual { level, tangent: Some(companion) } = self else { return Ok(()) };
        if !level::is_live(*level) {
            return Ok(());
        }
        let tangent = unpack(*level, new)?.1.map_or_else(|| basis::zeros_like(new), Ok)?;
        companion.cell.write(op, tangent)
    }
}

/// The value below a batch of `new`, with the batch at dimension `to`.
fn unbatch(new: &Tensor, level: LevelId, to: usize) -> Result<Tensor> {
    if let Some(Payload::Batched { value, dim }) = new.payload_at(level) {
        return basis::move_dim(value, *dim, to);
    }
    // Written with a value that is the same for all members.
    let size = level::with(level, |l| match l.kind {
        LevelKind::Batch { size, .. } => size,
        _ => 1,
    });
    let stacked = basis::expand(new, &new.shape().prepend(size.unwrap_or(1)))?;
    basis::move_dim(&stacked, 0, to)
}
