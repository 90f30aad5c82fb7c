//! Reading a cell: its value is made again when what it was made from has moved.

use super::super::history::{as_result, rewrap, strip};
use super::super::read::innermost;
use super::link::{View, ViewLink};
use super::{Cell, Face, distinct};
use crate::base::{DType, Error, Result};
use crate::core::Tensor;
use crate::core::level::GradMode;
use crate::dense::{Array, stack};
use crate::rules::part;
use std::sync::Arc;

impl Cell {
    /// The present value; if it can no longer be made, because a transform has returned, one that says so when used.
    pub fn read_or_stale(self: &Arc<Cell>) -> Tensor {
        self.read().unwrap_or_else(|_| {
            let (value, root) = {
                let s = self.state();
                let root = match &s.link {
                    ViewLink::View(v) => Some(v.root.clone()),
                    ViewLink::Alias { parent, .. } | ViewLink::Lift { parent, .. } => Some(parent.clone()),
                    ViewLink::Root => None,
                };
                (s.value.clone(), root)
            };
            match (value, root) {
                (Some(value), _) => value,
                (None, Some(root)) => root.read_or_stale(),
                (None, None) => Tensor::scalar(DType::F32, f64::NAN),
            }
        })
    }

    /// The present value.
    pub fn read(self: &Arc<Cell>) -> Result<Tensor> {
        let (source, seen, value) = {
            let s = self.state();
            let source = match &s.link {
                ViewLink::Root => return s.value.clone().ok_or_else(|| Error::internal("a cell has lost its value")),
                ViewLink::View(v) => Some(v.root.clone()),
                ViewLink::Alias { parent, .. } => Some(parent.clone()),
                ViewLink::Lift { .. } => None,
            };
            (source, s.seen, s.value.clone())
        };
        match (source, value) {
            (Some(source), Some(value)) if source.is_root_at(seen) => Ok(value),
            (_, value) => self.read_through(seen, value),
        }
    }

    /// Whether the elements are here, and were written to so often.
    fn is_root_at(&self, version: u32) -> bool {
        let s = self.state();
        matches!(s.link, ViewLink::Root) && s.version == version
    }

    fn read_through(self: &Arc<Cell>, seen: u32, value: Option<Tensor>) -> Result<Tensor> {
        stack::check()?;
        let link = self.state().link.clone();
        match link {
            ViewLink::Root => value.ok_or_else(|| Error::internal("a cell has lost its value")),
            ViewLink::View(v) => {
                v.root.refresh()?;
                let version = v.root.state().version;
                match value {
                    Some(value) if seen == version => Ok(value),
                    _ => self.reread(&v, version),
                }
            }
            ViewLink::Alias { parent, region } => {
                parent.refresh()?;
                let version = parent.state().version;
                match value {
                    Some(value) if seen == version => Ok(value),
                    value => {
                        let data = strip(&parent.read()?)?;
                        let data = region.map_or_else(|| Ok(distinct(data.clone())), |r| part::read(&data, &r))?;
                        let around = value.or_else(|| self.state().shell.take());
                        let value = around.map_or_else(|| Ok(data.clone()), |shell| rewrap(&shell, &data))?;
                        Ok(self.remember(&parent, value, version))
                    }
                }
            }
            ViewLink::Lift { parent, face } => {
                parent.refresh()?;
                let version = parent.stamp().wrapping_add(face.stamp());
                match value {
                    Some(value) if face.is_final() => Ok(value),
                    Some(value) if seen == version => self.as_shown_outside(&parent, &face, value),
                    value => {
                        let around = value.or_else(|| self.state().shell.take());
                        let value = face.lift(&parent.read()?, around.as_ref())?;
                        Ok(self.remember(&parent, value, version))
                    }
                }
            }
        }
    }

    /// The value of a face; where it is made of copies of elements that others may write to, as those are now.
    fn as_shown_outside(self: &Arc<Cell>, parent: &Arc<Cell>, face: &Face, value: Tensor) -> Result<Tensor> {
        let Face::Numbers { numbers, .. } = face else { return Ok(value) };
        if !numbers.is_elementwise() {
            return Ok(value);
        }
        let base = parent.read()?;
        if !innermost(&base).is_some_and(Array::is_exported) {
            return Ok(value);
        }
        let data = {
            let _off = GradMode::set(false);
            numbers.of(&strip(&base)?)?
        };
        let bytes =
            |t: &Tensor| -> Result<_> { innermost(t).map(|a| a.contiguous()?.bytes().map(<[u8]>::to_vec)).transpose() };
        if bytes(&data)? == bytes(&value)? {
            return Ok(value);
        }
        let value = rewrap(&value, &data)?;
        self.replace(Some(value.clone()), |s| s.version = s.version.wrapping_add(1));
        Ok(value)
    }

    fn reread(self: &Arc<Cell>, v: &View, version: u32) -> Result<Tensor> {
        let base = v.parent.read()?;
        let _mode = GradMode::set(v.recorded);
        let value = as_result(v.lens.apply(&base)?, &base)?;
        self.replace(Some(value.clone()), |s| s.seen = version);
        self.depends(&v.root);
        Ok(value)
    }

    /// Keeps a value made from `version` of the parent. Views of this cell see that it moved.
    fn remember(self: &Arc<Cell>, parent: &Arc<Cell>, value: Tensor, version: u32) -> Tensor {
        self.replace(Some(value.clone()), |s| {
            let moved = u32::from(s.seen != version);
            s.version = s.version.wrapping_add(moved);
            s.moves = s.moves.wrapping_add(moved);
            s.seen = version;
        });
        self.depends(parent);
        value
    }

    /// Brings the version up to date with what lies below.
    pub(super) fn refresh(self: &Arc<Cell>) -> Result<()> {
        if matches!(self.state().link, ViewLink::Root) { Ok(()) } else { self.read().map(drop) }
    }
}
