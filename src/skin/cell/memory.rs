//! The memory that a cell's elements lie in, shown by another layout and made larger.
//!
//! NOTE growth. Memory that grows is new memory. The cell that held it stays the base of its views and shows the first
//! elements of the new one:
//! ```text
//! x ── root of 2, v ── view of x     x.resize_(5):     x ── alias of M, v ── view of R, R ── alias of M[:2]
//! ```

#![deny(clippy::arithmetic_side_effects)]

use super::link::ViewLink;
use super::{Cell, Face};
use crate::bail;
use crate::base::size::Whole;
use crate::base::{DType, Layout, Result, Shape};
use crate::core::Tensor;
use crate::core::level;
use crate::dense::Array;
use crate::dense::region::{self, Region};
use crate::ops::bits::view_dtype;
use crate::rules::part;
use std::sync::Arc;

impl Cell {
    /// The cell that holds these elements, and all others of their memory, without history.
    pub fn memory(self: &Arc<Cell>) -> Result<Arc<Cell>> {
        Ok(self.data_root()?.0)
    }

    /// As many elements as the shape asks for, from the first of this cell's on. A view stays one where its base has so
    /// many; elements that the memory lacks are zero.
    pub fn resized(self: &Arc<Cell>, op: &str, shape: Shape) -> Result<Arc<Cell>> {
        let (memory, region) = self.data_root()?;
        let offset = match &region {
            None => 0,
            Some(Region::Strided(l) | Region::Ordered { part: l, .. }) => l.offset,
            Some(Region::Listed { at, .. }) => at.first().copied().unwrap_or(0),
        };
        let part = Layout { offset, ..Layout::contiguous(shape.checked(op)?) };
        let base = match &self.state().link {
            ViewLink::View(v) => Some(v.root.clone()),
            _ => None,
        };
        if let Some(base) = base.filter(|b| Arc::ptr_eq(b, &memory)) {
            let (whole, n) = (base.layout()?, base.read()?.numel());
            if whole.is_contiguous() && part.needed().is_some_and(|needed| needed <= n) {
                let strides: Vec<i64> = part.strides.iter().map(|&s| s as i64).collect();
                return base.as_strided(part.shape, &strides, Some(part.offset.saturating_add(whole.offset)));
            }
        }
        memory.laid_out(op, part)
    }

    /// The elements of this memory that a layout names, counted from its first one, as a cell of their own. The memory
    /// grows where it must.
    ///
    /// # Errors
    /// `Runtime` if it cannot grow; `NotImplemented` if its elements are not in row-major order.
    pub fn laid_out(self: &Arc<Cell>, op: &str, part: Layout) -> Result<Arc<Cell>> {
        let whole = self.layout()?;
        if !whole.is_contiguous() {
            bail!(NotImplemented, "{op}(): the memory is not in row-major order; make it contiguous() before");
        }
        let Some(needed) = part.needed() else {
            bail!(Runtime, "{op}(): strides {:?} name elements before the memory begins", part.strides)
        };
        let memory = if needed > whole.shape.numel() { self.grown(op, needed)? } else { self.clone() };
        let region = Region::Strided(part);
        let value = part::show(&memory.read()?, &region)?;
        let seen = memory.stamp();
        let link = ViewLink::Alias { parent: memory.clone(), region: Some(region) };
        let cell = Cell::make(Some(value), link, level::current(), 0, seen);
        cell.depends(&memory);
        Ok(cell)
    }

    /// This memory as elements of another dtype.
    pub fn as_dtype(self: &Arc<Cell>, op: &str, dtype: DType) -> Result<Arc<Cell>> {
        let old = self.read()?;
        if old.dtype() == dtype {
            return Ok(self.clone());
        }
        // What is left over at the end belongs to no element.
        let (from, to) = (old.dtype().size(), dtype.size());
        let whole = Whole::from(old.numel()).times(from).div_floor(to);
        let used = whole.times(to).div_floor(from).size_of(op, "the number of elements")?;
        let flat = self.laid_out(op, Layout::contiguous([used].into()))?;
        let value = view_dtype(&flat.read()?, dtype)?;
        Ok(flat.face(Face::Bits, value))
    }

    /// The memory of this cell with room for `n` elements, the first of which are this cell's.
    fn grown(self: &Arc<Cell>, op: &str, n: usize) -> Result<Arc<Cell>> {
        let old = self.read()?;
        let array = old.array()?;
        let fixed = array.buffer().is_some_and(|b| b.is_foreign());
        if fixed || !matches!(self.state().link, ViewLink::Root) {
            bail!(
                Runtime,
                "{op}(): Trying to resize storage that is not resizable: {n} elements are asked for, and the memory, \
                 which belongs to another library or has another dtype, has {}",
                old.numel()
            );
        }
        let flat = array.contiguous()?.reshape(&[old.numel()].into())?;
        let zeros = Array::zeros(old.dtype(), [n].into())?;
        let larger = region::write(&zeros, &Region::whole(flat.shape()), 0, &flat, true)?;
        let whole = Region::whole(old.shape());
        let memory = {
            let mut s = self.state();
            let memory = Cell::root(Tensor::from(larger), s.birth, s.version);
            s.link = ViewLink::Alias { parent: memory.clone(), region: Some(whole) };
            s.seen = s.version;
            memory
        };
        self.depends(&memory);
        Ok(memory)
    }
}
