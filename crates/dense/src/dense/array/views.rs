//! Views of an array: other layouts of the same elements, without copying where they lie in a buffer.

use super::{Array, Data, INLINE_BYTES, INLINE_RANK, Inline, Written};
use crate::bail;
use crate::base::{Error, Layout, Result, Shape, Strides};
use crate::dense::{copy, order};

/// Strides that fit beside elements inside the array.
fn inline_strides(strides: &Strides) -> Option<[u8; INLINE_RANK]> {
    let mut out = [0; INLINE_RANK];
    for (d, &s) in strides.iter().enumerate() {
        *out.get_mut(d)? = u8::try_from(s).ok()?;
    }
    Some(out)
}

impl Array {
    /// A view with another layout of the same elements, to which `relayout` maps the present one. Inline arrays are moved
    /// to a buffer if needed.
    ///
    /// # Errors
    /// `Internal` if the layout leaves the memory of the array, or has more elements than can be counted.
    pub fn view(&self, relayout: impl FnOnce(&Layout) -> Layout) -> Result<Array> {
        let layout = relayout(&self.layout());
        let room = self.buffer().map_or_else(|| self.numel() * self.dtype.size(), |b| b.bytes());
        if !Array::holds(room, self.dtype, &layout) {
            return Err(Array::outside(&layout, room));
        }
        // SAFETY: just checked.
        unsafe { self.view_unchecked(layout) }
    }

    /// As [`Array::view`] where it is known that the layout stays inside.
    ///
    /// # Safety
    /// The elements that the layout names lie in the buffer (or are elements of an inline array), and can be counted.
    unsafe fn view_unchecked(&self, layout: Layout) -> Result<Array> {
        match &self.data {
            Data::Inline(x) | Data::InlineLoose { inline: x, .. } | Data::Permuted { inline: x, .. } => {
                if layout.is_contiguous() && layout.offset == 0 {
                    return Array { dtype: self.dtype, shape: layout.shape, data: Data::Inline(*x) }
                        .loosened(layout.strides);
                }
                if layout.shape.checked_bytes(self.dtype.size()).is_some_and(|n| n <= INLINE_BYTES) {
                    // SAFETY: by the contract the layout names elements of this array.
                    return unsafe { self.gather_inline(x, layout) };
                }
                let moved = self.to_buffer()?;
                match moved.buffer() {
                    Some(b) => Array::from_buffer(b.clone(), self.dtype, layout),
                    None => bail!(Internal, "to_buffer() left the elements inline"),
                }
            }
            Data::Contiguous { buffer, .. } | Data::Loose { buffer, .. } | Data::Strided { buffer, .. } => {
                debug_assert!(Array::holds(buffer.bytes(), self.dtype, &layout), "{layout:?}");
                Ok(Array::of_buffer(buffer.clone(), self.dtype, layout))
            }
        }
    }

    /// The elements of an inline array that a layout names, so few that they are inline too, in the order of their memory.
    ///
    /// # Safety
    /// They are elements of this array, in `inline`.
    unsafe fn gather_inline(&self, inline: &Inline, layout: Layout) -> Result<Array> {
        let order =
            if layout.is_contiguous() { None } else { order::of_strides(&layout.shape, &[layout.strides.clone()]) };
        let Some(order) = order else {
            // SAFETY: by the contract.
            let rows = unsafe { copy::gather_from(self.ptr(), self.dtype, &layout) }?;
            return if layout.is_contiguous() { rows.loosened(layout.strides) } else { Ok(rows) };
        };
        let dense = order::dense_strides(&layout.shape, &order);
        let inline = if layout.offset == 0 && layout.strides == dense {
            *inline
        } else {
            // SAFETY: by the contract; the order of the dimensions does not matter.
            let gathered = unsafe { copy::gather_from(self.ptr(), self.dtype, &layout.permute(&order)) }?;
            match gathered.data {
                Data::Inline(x) => x,
                // Of more dimensions than fit.
                _ => return gathered.permute_back(&order),
            }
        };
        if layout.shape.rank() > INLINE_RANK {
            return Array {
                dtype: self.dtype,
                shape: order::permuted(&layout.shape, &order),
                data: Data::Inline(inline),
            }
            .to_buffer()?
            .permute_back(&order);
        }
        let kept = if layout.is_dense() { inline_strides(&layout.strides) } else { None };
        let Some(strides) = kept.or_else(|| inline_strides(&dense)) else {
            bail!(Internal, "strides {dense:?} of an inline array");
        };
        Ok(Array { dtype: self.dtype, shape: layout.shape, data: Data::Permuted { inline, strides } })
    }

    /// A row-major array with these strides, which differ from its own where they lead nowhere.
    fn loosened(self, strides: Strides) -> Result<Array> {
        let layout = Layout { shape: self.shape.clone(), strides, offset: self.storage_offset() };
        if layout.is_plain() {
            return Ok(self);
        }
        let Data::Inline(inline) = self.data else { return self.view(|_| layout) };
        if let Some(strides) = inline_strides(&layout.strides) {
            return Ok(Array { data: Data::InlineLoose { inline, strides }, ..self });
        }
        match self.to_buffer()?.buffer() {
            Some(b) => Array::from_buffer(b.clone(), self.dtype, layout),
            None => bail!(Internal, "to_buffer() left the elements inline"),
        }
    }

    /// A row-major array with the strides of a new one.
    pub fn plain(&self) -> Array {
        match &self.data {
            Data::InlineLoose { inline, .. } => {
                Array { data: Data::Inline(*inline), shape: self.shape.clone(), ..*self }
            }
            Data::Loose { buffer, byte_offset, .. } => {
                let data = Data::Contiguous { buffer: buffer.clone(), byte_offset: *byte_offset };
                Array { data, shape: self.shape.clone(), ..*self }
            }
            _ => self.clone(),
        }
    }

    #[cold]
    pub(super) fn outside(layout: &Layout, bytes: usize) -> Error {
        Error::internal(format!("layout {layout:?} leaves its memory of {bytes} bytes"))
    }

    /// The elements at `start + step * i` for `i in 0..len` of a dimension, without copying.
    ///
    /// # Errors
    /// `Internal` if there are no such elements.
    pub fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Result<Array> {
        let size = self.shape.get(dim).copied().unwrap_or(0);
        let way = |steps: isize| start.checked_add_signed(steps.checked_mul(step)?);
        let inside = len == 0 || (start < size && len <= size && way(len as isize - 1).is_some_and(|last| last < size));
        if dim >= self.rank() || !inside {
            bail!(
                Internal,
                "slice(): {len} elements from {start} by {step} of dimension {dim} of shape {}",
                self.shape
            );
        }
        // SAFETY: the first and the last index are below the dimension's size, and fewer elements stay countable.
        unsafe { self.view_unchecked(self.layout().slice(dim, start, len, step)) }
    }

    /// The same array with its elements in a buffer, so that others can refer to the memory.
    pub fn to_buffer(&self) -> Result<Array> {
        let (Data::Inline(x) | Data::InlineLoose { inline: x, .. } | Data::Permuted { inline: x, .. }) = &self.data
        else {
            return Ok(self.clone());
        };
        let moved = Array::build_buffer(self.dtype, self.shape.clone(), |out, n| {
            // SAFETY: both blocks hold n elements.
            unsafe {
                std::ptr::copy_nonoverlapping(x.0.as_ptr().cast(), out, n * self.dtype.size());
                Written::all()
            }
        })?;
        match (&self.data, moved.buffer()) {
            (Data::Permuted { .. } | Data::InlineLoose { .. }, Some(buffer)) => {
                Array::from_buffer(buffer.clone(), self.dtype, self.layout())
            }
            _ => Ok(moved),
        }
    }

    /// The same shape-and-element count under another shape; copies only if the strides force it.
    ///
    /// Error: `Runtime` for a shape without elements whose other sizes are too large.
    pub fn reshape(&self, shape: &Shape) -> Result<Array> {
        self.shape.check_reshape(shape)?;
        if !self.is_plain() {
            return match self.layout().reshape(shape) {
                // SAFETY: the same elements, as many as was checked.
                Some(layout) => unsafe { self.view_unchecked(layout) },
                None => self.contiguous()?.reshape(shape),
            };
        }
        Ok(Array { dtype: self.dtype, shape: shape.clone(), data: self.data.clone() })
    }

    /// With a dimension of size 1 at `dim`.
    ///
    /// # Errors
    /// `Internal` if there is no such place.
    pub fn unsqueeze(&self, dim: usize) -> Result<Array> {
        if dim > self.rank() {
            bail!(Internal, "unsqueeze(): dimension {dim} of shape {}", self.shape);
        }
        if self.is_plain() {
            let mut shape = self.shape.clone();
            shape.insert(dim, 1);
            return Ok(Array { dtype: self.dtype, shape, data: self.data.clone() });
        }
        // SAFETY: the same elements.
        unsafe { self.view_unchecked(self.layout().unsqueeze(dim)) }
    }

    /// Broadcast to `shape` without copying.
    ///
    /// Error: `Runtime` if it does not broadcast to that shape, or the shape has too many elements to be counted.
    pub fn expand(&self, shape: &Shape) -> Result<Array> {
        if self.shape == *shape {
            return Ok(self.clone());
        }
        self.shape.check_expand(shape)?;
        // SAFETY: the same elements, repeated; they can be counted, as was checked.
        unsafe { self.view_unchecked(self.layout().expand(shape)) }
    }

    /// The dimensions in another order, without copying.
    ///
    /// # Errors
    /// `Internal` unless the order names each dimension once.
    pub fn permute(&self, order: &[usize]) -> Result<Array> {
        if !order::is_permutation(order, self.rank()) {
            bail!(Internal, "permute(): {order:?} is no order of the dimensions of shape {}", self.shape);
        }
        // SAFETY: the same elements.
        unsafe { self.view_unchecked(self.layout().permute(order)) }
    }
}
