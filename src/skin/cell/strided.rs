//! Views of the elements that sizes, strides and an offset name in the memory behind a tensor.

use super::super::history;
use super::super::lens::Lens;
use super::Cell;
use super::link::ViewLink;
use crate::base::size::Whole;
use crate::base::{Error, Layout, Result, Shape};
use crate::core::Tensor;
use crate::core::level::GradMode;
use crate::dense::region::Region;
use crate::rules::part;
use rustc_hash::FxHashMap;
use std::sync::Arc;

const OP: &str = "as_strided";

impl Cell {
    /// The elements of the memory that sizes, strides and an offset name, as a view. Without an offset, from where this
    /// cell's begin.
    ///
    /// # Errors
    /// `Runtime` if they leave the memory, or are none of this tensor's.
    pub fn as_strided(self: &Arc<Cell>, shape: Shape, strides: &[i64], offset: Option<usize>) -> Result<Arc<Cell>> {
        let root = match &self.state().link {
            ViewLink::View(v) => Some(v.root.clone()),
            _ => None,
        };
        let root = root.unwrap_or_else(|| self.clone());
        let is_part = matches!(&root.state().link, ViewLink::Alias { region: Some(_), .. });
        if is_part && !history::has_history(&root.read()?) {
            // What is detached from a view shows a part of a memory, all of which can be named.
            let offset = offset.map_or_else(|| self.layout().map(|l| l.offset), Ok)?;
            return root.data_root()?.0.as_strided(shape, strides, Some(offset))?.detached();
        }
        let (whole, value) = (root.layout()?, root.read()?);
        if let Some(s) = strides.iter().find(|s| **s < 0) {
            crate::bail!(Runtime, "{OP}(): Negative strides are not supported at the moment, got strides with {s}");
        }
        let offset = offset.map_or_else(|| self.layout().map(|l| l.offset), Ok)?;
        let part = Layout::strided(OP, shape, strides, Whole::from(offset).minus(whole.offset))?;
        if !whole.is_contiguous() && !whole.is_dense() {
            return root.listed(&whole, &part);
        }
        part.require_room(OP, value.numel(), whole.offset).map_err(|e| match value.payload() {
            // A member of a batch has its own elements, not the memory that they lie in.
            Some(_) => {
                Error::new(e.kind(), format!("{} The result can access memory outside of `tensor`.", e.message()))
            }
            None => e,
        })?;
        let region = Region::in_memory(&whole, part);
        let shown = part::show(&root.read()?, &region)?;
        root.view(Lens::region(region), shown)
    }

    /// The elements at places of a memory that also holds others than this cell's, such as those of other members of a
    /// batch.
    fn listed(self: &Arc<Cell>, whole: &Layout, part: &Layout) -> Result<Arc<Cell>> {
        let places = |l: &Layout| Region::Strided(Layout { shape: l.shape.clone(), ..l.clone() }).positions();
        let own = Layout { offset: 0, ..whole.clone() };
        let mut at = FxHashMap::default();
        for (i, place) in (0i64..).zip(places(&own)?) {
            at.entry(place).or_insert(i);
        }
        let found: Option<Vec<i64>> = places(part)?.iter().map(|p| at.get(p).copied()).collect();
        let Some(found) = found else {
            crate::bail!(
                Runtime,
                "{OP}(): sizes {}, strides {:?} and a storage offset of {} name elements that lie between this tensor's, \
                 whose strides are {:?}. The result can access memory outside of `tensor`; make it contiguous() before",
                part.shape,
                part.strides,
                part.offset.saturating_add(whole.offset),
                whole.strides
            );
        };
        let region = Region::of_positions(&part.shape, &found);
        let shown = part::show(&self.read()?, &region)?;
        self.view(Lens::region(region), shown)
    }

    /// What a lens shows of this cell.
    pub(in crate::skin) fn through(self: &Arc<Cell>, lens: Lens) -> Result<Arc<Cell>> {
        let value = lens.apply(&self.read()?)?;
        self.view(lens, value)
    }

    /// As [`Cell::through`], with the history of `like`, which holds the same numbers.
    pub(in crate::skin) fn through_as(self: &Arc<Cell>, lens: Lens, like: &Tensor) -> Result<Arc<Cell>> {
        if history::is_variable(like) {
            // A program has the operators that ran, and no memory.
            return self.view(lens, like.clone());
        }
        let value = {
            let _off = GradMode::set(false);
            lens.apply(&history::strip(&self.read()?)?)?
        };
        self.view(lens, history::rewrap(like, &value)?)
    }
}
