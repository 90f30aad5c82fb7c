//! Where a cell's elements are, and which ones of its root a view shows.

use super::super::lens::{Lens, positions};
use super::super::read;
use super::{Cell, Face};
use crate::bail;
use crate::base::{DType, Layout, Result};
use crate::core::{Tensor, level};
use crate::dense::Array;
use crate::dense::region::Region;
use std::sync::Arc;

/// Where a cell's elements are.
#[derive(Clone)]
pub(super) enum ViewLink {
    /// Here.
    Root,
    View(View),
    /// In the parent, whose history is not this cell's.
    Alias {
        parent: Arc<Cell>,
        region: Option<Region>,
    },
    /// In the parent, which this is another face of.
    Lift {
        parent: Arc<Cell>,
        face: Face,
    },
}

#[derive(Clone)]
pub(super) struct View {
    pub parent: Arc<Cell>,
    pub root: Arc<Cell>,
    pub lens: Lens,
    /// The elements of the root that it shows, when known.
    pub region: Option<Region>,
    /// Grad mode when it was made, under which it is made again.
    pub recorded: bool,
    /// Whether it was made in inference mode.
    pub inference: bool,
    pub dtype: DType,
    pub depth: u32,
}

impl View {
    /// Whether it, and what it is a view of, was made where gradients are enabled.
    pub fn is_recorded(&self) -> bool {
        self.recorded
            && match &self.parent.state().link {
                ViewLink::View(v) => v.is_recorded(),
                _ => true,
            }
    }
}

/// Views of views deeper than this refer to their root directly.
pub(super) const MAX_DEPTH: u32 = 8;

impl Cell {
    /// The elements of the root that a view shows.
    pub fn region(self: &Arc<Cell>) -> Result<Region> {
        let view = match &self.state().link {
            ViewLink::View(v) => v.clone(),
            _ => bail!(Internal, "only views have a region"),
        };
        let region = region_of(&view)?;
        if let ViewLink::View(v) = &mut self.state().link {
            v.region = Some(region.clone());
        }
        Ok(region)
    }

    /// What this view shows of `base`, as a view of `other`; `None` if it is no view of `base`.
    pub fn same_view(self: &Arc<Cell>, base: &Arc<Cell>, other: &Arc<Cell>) -> Result<Option<Arc<Cell>>> {
        if Arc::ptr_eq(self, base) {
            return Ok(Some(other.clone()));
        }
        let view = match &self.state().link {
            ViewLink::View(v) => v.clone(),
            _ => return Ok(None),
        };
        let Some(parent) = view.parent.same_view(base, other)? else { return Ok(None) };
        let shown = view.lens.apply(&parent.read()?)?;
        parent.view(view.lens, shown).map(Some)
    }

    /// The elements that a view, or another handle on one, shows of the cell that holds them.
    pub fn shown(self: &Arc<Cell>) -> Result<Option<Region>> {
        let link = self.state().link.clone();
        match link {
            ViewLink::View(_) => self.region().map(Some),
            ViewLink::Alias { region, .. } => Ok(region),
            _ => Ok(None),
        }
    }
}

/// The elements of the root that a view shows.
pub(super) fn region_of(v: &View) -> Result<Region> {
    if let Some(region) = &v.region {
        return Ok(region.clone());
    }
    let parent = match &v.parent.state().link {
        ViewLink::View(p) => Some(p.clone()),
        _ => None,
    };
    let base = match &parent {
        Some(p) => region_of(p)?,
        None => whole(&v.root.read()?),
    };
    if let (Some(l), Some(part)) = (base.evenly(), v.lens.part()) {
        return Ok(base.with(part(l)?));
    }
    // Nothing of this belongs into a program that is being recorded.
    let _outside = level::Below::all();
    if let Some(l) = base.evenly() {
        // What the view does to a layout, found by doing it: the elements do not matter.
        let place = Tensor::from(in_memory(l)?);
        let seen = v.lens.apply(&place)?;
        if let (Some(a), Some(b)) = (place.dense().and_then(Array::buffer), seen.dense().and_then(Array::buffer))
            && Arc::ptr_eq(a, b)
        {
            return Ok(base.with(seen.array()?.layout()));
        }
    }
    let at = v.lens.apply(&positions(&base)?)?;
    let list = at.to_vec::<i64>()?;
    Ok(Region::of_positions(at.shape(), &list))
}

/// All elements of a value, counted as they lie in memory.
pub(super) fn whole(value: &Tensor) -> Region {
    match value.innermost() {
        Some(a) if !a.is_contiguous() => {
            let (strides, offset) = read::layout(value);
            Region::of_memory(&Layout { shape: value.shape().clone(), strides, offset })
        }
        _ => Region::whole(value.shape()),
    }
}

/// An array of this layout whose elements mean nothing.
pub(super) fn in_memory(l: &Layout) -> Result<Array> {
    let n = l.needed().unwrap_or(0);
    Array::places(n)?.view(|_| l.clone())
}

/// The same view, of the root itself.
pub(super) fn flattened(v: View) -> Result<View> {
    let region = region_of(&v)?;
    if region.overlaps() || v.dtype != v.root.read()?.dtype() {
        return Ok(v);
    }
    let root = v.root;
    let lens = Lens::region(region.clone());
    Ok(View {
        parent: root.clone(),
        root,
        lens,
        region: Some(region),
        recorded: v.recorded,
        inference: v.inference,
        dtype: v.dtype,
        depth: 0,
    })
}
