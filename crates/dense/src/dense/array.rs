//! A dense strided array: a dtype, a shape, and where the elements are.

mod views;

use super::buffer::Buffer;
use super::parallel::Shared;
use super::strided::by_width;
use super::{copy, fill, threads};
use crate::base::{DType, Element, Layout, Result, Scalar, Shape, Strides, TypedShape};
use crate::{bail, match_dtype};
use std::ops::ControlFlow;
use std::ops::Range;
use std::sync::Arc;

/// Payloads up to this many bytes live inside the array itself.
pub const INLINE_BYTES: usize = 64;

/// Dimensions of arrays that do.
const INLINE_RANK: usize = 6;

/// Bytes from which filling is shared by threads, and may be given up.
const LONG: usize = 64 << 20;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Inline([u64; 8]);

/// Where the elements are.
#[derive(Clone)]
enum Data {
    /// Contiguous, inside the array.
    Inline(Inline),
    /// Contiguous in a buffer, from this byte on.
    Contiguous { buffer: Arc<Buffer>, byte_offset: usize },
    /// As `Inline`, with other strides along dimensions of size 1, which lead nowhere.
    InlineLoose { inline: Inline, strides: [u8; INLINE_RANK] },
    /// As `Contiguous`, with such strides.
    Loose { buffer: Arc<Buffer>, byte_offset: usize, strides: Strides },
    /// Inside the array, side by side in another order: these are the strides.
    Permuted { inline: Inline, strides: [u8; INLINE_RANK] },
    /// Strided in a buffer; the first element is at this byte.
    Strided { buffer: Arc<Buffer>, byte_offset: usize, strides: Strides },
}

/// Says that a new block has been written: what a closure that fills it returns.
#[must_use]
pub struct Written(());

impl Written {
    /// # Safety
    /// The closure that was given the block returns this value, and all elements have been written by then, or are
    /// before anybody reads the array.
    #[inline(always)]
    pub const unsafe fn all() -> Written {
        Written(())
    }
}

/// An immutable array. Cloning is cheap and shares the elements.
#[derive(Clone)]
pub struct Array {
    dtype: DType,
    shape: Shape,
    data: Data,
}

impl Array {
    /// A new contiguous array whose elements, zeros at first, `fill` sets.
    ///
    /// Sizes that overflow or exceed memory are a `Runtime` error before anything is touched.
    #[inline]
    pub fn build<T: Element>(shape: Shape, fill: impl FnOnce(&mut [T])) -> Result<Array> {
        Array::build_bytes(T::DTYPE, shape, |ptr, n| {
            // SAFETY: the block holds `n` elements, is aligned to 16 at least and ours alone; zero bytes are zero in
            // every dtype, so that all are written whatever `fill` does.
            unsafe {
                std::ptr::write_bytes(ptr, 0, n * T::DTYPE.size());
                fill(std::slice::from_raw_parts_mut(ptr.cast::<T>(), n));
                Written::all()
            }
        })
    }

    /// As [`Array::build`] without the zeros, for kernels whose time it is to write each element once:
    /// `fill(first element, number of elements)` writes the elements and says so.
    #[inline]
    pub fn build_typed<T: Element>(shape: Shape, fill: impl FnOnce(*mut T, usize) -> Written) -> Result<Array> {
        Array::build_bytes(T::DTYPE, shape, |ptr, n| fill(ptr.cast(), n))
    }

    /// A new array of any dtype: `fill(first byte, number of elements)` writes the elements and says so.
    #[inline]
    pub fn build_bytes(dtype: DType, shape: Shape, fill: impl FnOnce(*mut u8, usize) -> Written) -> Result<Array> {
        Array::try_build_bytes(dtype, shape, |ptr, n| Ok(fill(ptr, n)))
    }

    /// As [`Array::build_bytes`] with a `fill` that may fail.
    #[inline]
    pub fn try_build_bytes(
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(*mut u8, usize) -> Result<Written>,
    ) -> Result<Array> {
        let (n, largest) = shape.iter().fold((1usize, 0), |(n, largest), &d| (n.wrapping_mul(d), d.max(largest)));
        // So few and small sizes do not wrap.
        if largest <= INLINE_BYTES && shape.rank() <= INLINE_RANK && n * dtype.size() <= INLINE_BYTES {
            let mut inline = Inline([0; 8]);
            let Written(()) = fill(inline.0.as_mut_ptr().cast(), n)?;
            return Ok(Array { dtype, shape, data: Data::Inline(inline) });
        }
        Array::try_build_buffer(dtype, shape, fill)
    }

    /// As [`Array::build_bytes`], always in a buffer of its own.
    pub fn build_buffer(dtype: DType, shape: Shape, fill: impl FnOnce(*mut u8, usize) -> Written) -> Result<Array> {
        Array::try_build_buffer(dtype, shape, |ptr, n| Ok(fill(ptr, n)))
    }

    fn try_build_buffer(
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(*mut u8, usize) -> Result<Written>,
    ) -> Result<Array> {
        let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let buffer = match n.and_then(|n| n.checked_mul(dtype.size())) {
            Some(bytes) if !super::memory::is_large(bytes) => Buffer::alloc(bytes)?,
            _ => Array::large(dtype, &shape)?,
        };
        let Written(()) = fill(buffer.ptr(), shape.numel())?;
        Ok(Array { dtype, shape, data: Data::Contiguous { buffer: Arc::new(buffer), byte_offset: 0 } })
    }

    #[cold]
    #[inline(never)]
    fn large(dtype: DType, shape: &Shape) -> Result<Buffer> {
        let Some(bytes) = shape.checked_bytes(dtype.size()) else {
            bail!(
                Runtime,
                "Storage size calculation overflowed: a tensor of shape {shape} and dtype {dtype} has more elements than memory can address"
            );
        };
        super::memory::check_available(bytes)?;
        Buffer::alloc(bytes)
    }

    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Result<Array> {
        let shape = shape.into();
        if shape.checked_numel() != Some(values.len()) {
            bail!(Value, "{} values do not fill shape {shape}", values.len());
        }
        Array::build_bytes(T::DTYPE, shape, |out, n| {
            // SAFETY: both hold n elements, as was checked; the block is new.
            unsafe {
                std::ptr::copy_nonoverlapping(values.as_ptr(), out.cast(), n);
                Written::all()
            }
        })
    }

    /// All elements equal to `value`, converted to `dtype`.
    pub fn full(dtype: DType, shape: Shape, value: Scalar) -> Result<Array> {
        if shape.rank() > 0 && copy::is_zero_bits(dtype, value) {
            return Array::zeros(dtype, shape);
        }
        let one = Array::scalar(dtype, value);
        if shape.rank() == 0 {
            return Ok(one);
        }
        Array::build_bytes(dtype, shape, |ptr, n| {
            by_width!(dtype.size(), T => {
                // SAFETY: `one` holds an element of this width.
                let (x, shared) = (unsafe { one.ptr().cast::<T>().read() }, Shared(ptr.cast::<T>()));
                // SAFETY: the ranges are disjoint parts of the block of `n` elements, which nobody else uses meanwhile.
                let all = |part: Range<usize>| unsafe {
                    fill::fill(std::slice::from_raw_parts_mut(shared.at(part.start), part.len()), x);
                };
                if n * dtype.size() < LONG { all(0..n) } else { threads::run_chunks(n, LONG / 64, &all) }
            });
            // SAFETY: the ranges cover the block.
            unsafe { Written::all() }
        })
    }

    pub fn zeros(dtype: DType, shape: Shape) -> Result<Array> {
        Array::build_bytes(dtype, shape, |ptr, n| {
            let (bytes, shared) = (n * dtype.size(), Shared(ptr));
            // SAFETY: the block holds n elements, and the ranges are disjoint; zero bytes are zero in every dtype.
            let zero = |part: Range<usize>| unsafe { std::ptr::write_bytes(shared.at(part.start), 0, part.len()) };
            if bytes < LONG {
                zero(0..bytes)
            } else {
                threads::run_chunks(bytes, LONG / 16, &zero)
            }
            // SAFETY: the ranges cover the block.
            unsafe { Written::all() }
        })
    }

    /// `n` bytes that mean nothing: for who needs places in memory, and looks at none of them. What nobody touches takes no
    /// memory.
    pub fn places(n: usize) -> Result<Array> {
        // SAFETY: bytes are valid whatever they hold, and these are the system's zeros or what an array left behind.
        Array::build_buffer(DType::U8, [n].into(), |_, _| unsafe { Written::all() })
    }

    /// `rows` × `cols` zeros with `count` ones on the diagonal that starts at (`row`, `col`).
    pub fn unit_rows(dtype: DType, rows: usize, cols: usize, row: isize, col: usize, count: usize) -> Result<Array> {
        let one = Array::scalar(dtype, Scalar::Int(1));
        Array::build_bytes(dtype, [rows, cols].into(), |ptr, n| {
            by_width!(dtype.size(), T => {
                // SAFETY: the block holds `n` elements of this width, `one` holds one; zero bytes are zero in every dtype.
                let (x, out) = unsafe {
                    std::ptr::write_bytes(ptr, 0, n * dtype.size());
                    (one.ptr().cast::<T>().read(), std::slice::from_raw_parts_mut(ptr.cast::<T>(), n))
                };
                for i in 0..count {
                    out[(row + i as isize) as usize * cols + col + i] = x;
                }
            });
            // SAFETY: zeros were written everywhere.
            unsafe { Written::all() }
        })
    }

    /// A 0-d array.
    pub fn scalar(dtype: DType, value: Scalar) -> Array {
        let mut inline = Inline([0; 8]);
        match_dtype!(dtype, T => {
            let x: T = copy::from_scalar(value);
            // SAFETY: 64 bytes hold one element of any dtype, aligned to 16.
            unsafe { inline.0.as_mut_ptr().cast::<T>().write(x) }
        });
        Array { dtype, shape: Shape::scalar(), data: Data::Inline(inline) }
    }

    /// An array over an existing buffer.
    ///
    /// The layout must stay inside the buffer; a layout that does not is an internal error.
    pub fn from_buffer(buffer: Arc<Buffer>, dtype: DType, layout: Layout) -> Result<Array> {
        if !Array::holds(buffer.bytes(), dtype, &layout) {
            return Err(Array::outside(&layout, buffer.bytes()));
        }
        Ok(Array::of_buffer(buffer, dtype, layout))
    }

    /// Whether the elements that a layout names lie in a block of `room` bytes, and can be counted.
    fn holds(room: usize, dtype: DType, layout: &Layout) -> bool {
        let bytes = layout.needed().and_then(|n| n.checked_mul(dtype.size()));
        bytes.is_some_and(|n| n <= room) && layout.shape.checked_numel().is_some()
    }

    fn of_buffer(buffer: Arc<Buffer>, dtype: DType, layout: Layout) -> Array {
        // Only the offset of an empty layout can be outside, where there is no address to give.
        let byte_offset = layout.offset.checked_mul(dtype.size()).filter(|&at| at <= buffer.bytes()).unwrap_or(0);
        let data = if layout.is_plain() {
            Data::Contiguous { buffer, byte_offset }
        } else if layout.is_contiguous() {
            Data::Loose { buffer, byte_offset, strides: layout.strides }
        } else {
            Data::Strided { buffer, byte_offset, strides: layout.strides }
        };
        Array { dtype, shape: layout.shape, data }
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// What can be said of it without its elements.
    #[inline]
    pub fn form(&self) -> TypedShape<'_> {
        (self.dtype, &self.shape)
    }
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }
    #[inline]
    pub fn numel(&self) -> usize {
        self.shape.numel()
    }
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        !matches!(self.data, Data::Strided { .. } | Data::Permuted { .. })
    }
    /// Whether the strides are those of a new array, along dimensions of size 1 too.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.data, Data::Inline(_) | Data::Contiguous { .. })
    }
    /// The buffer, unless the elements are inline.
    pub fn buffer(&self) -> Option<&Arc<Buffer>> {
        match &self.data {
            Data::Inline(_) | Data::InlineLoose { .. } | Data::Permuted { .. } => None,
            Data::Contiguous { buffer, .. } | Data::Loose { buffer, .. } | Data::Strided { buffer, .. } => Some(buffer),
        }
    }
    /// Whether code outside the library can see the elements.
    #[inline]
    pub fn is_exported(&self) -> bool {
        self.buffer().is_some_and(|b| b.is_exported())
    }
    /// The first element.
    #[inline]
    pub fn ptr(&self) -> *const u8 {
        match &self.data {
            Data::Inline(x) | Data::InlineLoose { inline: x, .. } | Data::Permuted { inline: x, .. } => {
                x.0.as_ptr().cast()
            }
            Data::Contiguous { buffer, byte_offset }
            | Data::Loose { buffer, byte_offset, .. }
            | Data::Strided { buffer, byte_offset, .. } => {
                // SAFETY: the constructors checked that the offset lies inside the buffer.
                unsafe { buffer.ptr().add(*byte_offset) }
            }
        }
    }
    /// Element strides.
    #[inline]
    pub fn strides(&self) -> Strides {
        match &self.data {
            Data::Strided { strides, .. } | Data::Loose { strides, .. } => strides.clone(),
            Data::Permuted { strides, .. } | Data::InlineLoose { strides, .. } => {
                strides[..self.rank()].iter().map(|&s| s as isize).collect()
            }
            Data::Inline(_) | Data::Contiguous { .. } => self.shape.contiguous_strides(),
        }
    }
    /// Offset of the first element in its buffer, in elements.
    pub fn storage_offset(&self) -> usize {
        match &self.data {
            Data::Inline(_) | Data::InlineLoose { .. } | Data::Permuted { .. } => 0,
            Data::Contiguous { byte_offset, .. }
            | Data::Loose { byte_offset, .. }
            | Data::Strided { byte_offset, .. } => byte_offset / self.dtype.size(),
        }
    }
    pub fn layout(&self) -> Layout {
        Layout { shape: self.shape.clone(), strides: self.strides(), offset: self.storage_offset() }
    }

    /// The elements in row-major order, if they lie so and have type `T`.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::DTYPE != self.dtype || !self.is_contiguous() {
            return None;
        }
        // SAFETY: contiguous, of this type, inside the buffer; not written while we borrow it.
        Some(unsafe { std::slice::from_raw_parts(self.ptr().cast(), self.numel()) })
    }

    /// The same values in row-major order; shares the elements if they already are.
    #[inline]
    pub fn contiguous(&self) -> Result<Array> {
        if self.is_contiguous() { Ok(self.clone()) } else { copy::gather(self) }
    }

    /// The elements of a contiguous array as bytes.
    pub fn bytes(&self) -> Result<&[u8]> {
        if !self.is_contiguous() {
            bail!(Internal, "bytes(): the elements are not contiguous");
        }
        // SAFETY: contiguous elements are initialised, without gaps, and not written while we borrow them.
        Ok(unsafe { std::slice::from_raw_parts(self.ptr(), self.numel() * self.dtype.size()) })
    }

    /// The same memory as elements of another dtype, which lie in it as the layout says.
    ///
    /// # Errors
    /// `Internal` if they leave the memory.
    pub fn reinterpreted(&self, to: DType, layout: Layout) -> Result<Array> {
        if self.buffer().is_none() && self.is_contiguous() {
            return Array::from_bytes(to, layout.shape, self.bytes()?);
        }
        match self.to_buffer()?.buffer() {
            Some(buffer) => Array::from_buffer(buffer.clone(), to, layout),
            None => bail!(Internal, "to_buffer() left the elements inline"),
        }
    }

    /// Whether both have the same elements of one dtype, bit by bit.
    pub fn is_identical(&self, other: &Array) -> bool {
        if self.dtype != other.dtype || self.shape != other.shape {
            return false;
        }
        let (Ok(a), Ok(b)) = (self.contiguous(), other.contiguous()) else { return false };
        matches!((a.bytes(), b.bytes()), (Ok(a), Ok(b)) if a == b)
    }

    /// A number that changes when elements change (all but certainly).
    pub fn checksum(&self) -> u64 {
        let Ok(c) = self.contiguous() else { return 0 };
        let Ok(bytes) = c.bytes() else { return 0 };
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let (lines, rest) = bytes.as_chunks::<32>();
        let mut lanes = [1u64, 2, 3, 4];
        for line in lines {
            for (lane, word) in lanes.iter_mut().zip(line.as_chunks::<8>().0) {
                *lane = mix(*lane, u64::from_le_bytes(*word));
            }
        }
        let sum = lanes.into_iter().fold(bytes.len() as u64, mix);
        rest.iter().fold(sum, |sum, b| mix(sum, u64::from(*b)))
    }

    /// The array whose elements have these bytes, in row-major order.
    ///
    /// # Errors
    /// `Value` if the number of bytes is wrong, or a bool is neither 0 nor 1.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Array> {
        if shape.checked_bytes(dtype.size()) != Some(bytes.len()) {
            bail!(Value, "{} bytes do not hold a tensor of shape {shape} and dtype {dtype}", bytes.len());
        }
        if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
            bail!(Value, "a bool is stored as 0 or 1");
        }
        Array::build_bytes(dtype, shape, |out, _| {
            // SAFETY: the output has as many bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), out, bytes.len());
                Written::all()
            }
        })
    }

    /// The elements in row-major order as a vector of `T`, converted if needed.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let a = copy::cast(self, T::DTYPE)?.contiguous()?;
        match a.as_slice::<T>() {
            Some(s) => Ok(s.to_vec()),
            None => bail!(Internal, "cast() gave dtype {} instead of {}", a.dtype, T::DTYPE),
        }
    }

    /// The value of the only element.
    pub fn item(&self) -> Result<Scalar> {
        if self.numel() != 1 {
            bail!(Runtime, "a Tensor with {} elements cannot be converted to Scalar", self.numel());
        }
        // SAFETY: there is one element, of this type.
        Ok(match_dtype!(self.dtype, T => copy::to_scalar::<T>(unsafe { self.ptr().cast::<T>().read() })))
    }

    /// The element at `index`, which has one position per dimension.
    pub fn get(&self, index: &[usize]) -> Result<Scalar> {
        if index.len() != self.rank() || index.iter().zip(self.shape.iter()).any(|(i, n)| i >= n) {
            bail!(Index, "index {index:?} is out of range for an array of shape {}", self.shape);
        }
        let at: isize = index.iter().zip(&self.strides()).map(|(&i, &s)| i as isize * s).sum();
        // SAFETY: the index was checked, so the element is one of this array.
        Ok(match_dtype!(self.dtype, T => copy::to_scalar::<T>(unsafe { self.ptr().cast::<T>().offset(at).read() })))
    }

    /// Whether this handle is the only one on the elements, and nobody outside sees them.
    pub fn is_unique(&mut self) -> bool {
        match &mut self.data {
            Data::Inline(_) | Data::InlineLoose { .. } | Data::Permuted { .. } => true,
            Data::Contiguous { buffer, .. } | Data::Loose { buffer, .. } | Data::Strided { buffer, .. } => {
                Arc::get_mut(buffer).is_some_and(|b| !b.is_exported())
            }
        }
    }

    /// The array with its elements in the memory of this one, if nobody else holds that: `fill` writes them. This array,
    /// untouched, to go on with, if its memory cannot be taken.
    pub(super) fn build_over(
        mut self,
        dtype: DType,
        fill: impl FnOnce(*mut u8, usize) -> Result<Written>,
    ) -> ControlFlow<Result<Array>, Array> {
        let sole = self.is_unique() && self.buffer().is_some_and(|b| !b.is_foreign());
        if !sole || !self.is_plain() || dtype.size() != self.dtype.size() {
            return ControlFlow::Continue(self);
        }
        let written = fill(self.ptr_mut(), self.numel());
        self.dtype = dtype;
        ControlFlow::Break(written.map(|Written(())| self))
    }

    /// First element for writing. The caller must know that it may write: [`Array::is_unique`], or foreign memory
    /// under its owner's lock.
    pub fn ptr_mut(&mut self) -> *mut u8 {
        match &mut self.data {
            Data::Inline(x) | Data::InlineLoose { inline: x, .. } | Data::Permuted { inline: x, .. } => {
                x.0.as_mut_ptr().cast()
            }
            _ => self.ptr().cast_mut(),
        }
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let c = self.contiguous().map_err(|_| std::fmt::Error)?;
        write!(f, "Array({}, {}, ", self.dtype, self.shape)?;
        match_dtype!(self.dtype, T => match c.as_slice::<T>() {
            Some(s) if s.len() <= 64 => write!(f, "{s:?})"),
            _ => write!(f, "…)"),
        })
    }
}

#[cfg(test)]
mod tests;
