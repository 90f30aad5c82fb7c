//! Parts of an array: read as an array of their own, and replaced. What views are made of when they are written to.

mod places;

use super::array::{Array, Written};
use super::copy;
use super::memory::list;
use super::order::{self, Dims};
use crate::bail;
use crate::base::size::LARGEST;
use crate::base::{Layout, Result, Shape, Strides};
use places::{Places, Split};
use std::sync::Arc;

/// Elements of an array, by their positions in its row-major order, or in another.
#[derive(Debug, Clone)]
pub enum Region {
    /// Evenly spaced.
    Strided(Layout),
    /// Any; one position per element of `shape`.
    Listed { shape: Shape, at: Arc<[usize]> },
    /// Evenly spaced in the order that an array of shape `base` has if its dimensions are put in `order`: in that of its
    /// memory, mostly.
    Ordered { base: Shape, order: Dims, part: Layout },
}

impl Region {
    /// All elements of an array of this shape.
    pub fn whole(shape: &Shape) -> Region {
        Region::Strided(Layout::contiguous(shape.clone()))
    }

    /// All elements of an array that lies so, counted as they lie if they do without gaps.
    pub fn of_memory(layout: &Layout) -> Region {
        let whole = |order: &Dims| Layout {
            shape: layout.shape.clone(),
            strides: order::dense_strides(&layout.shape, order),
            offset: 0,
        };
        match order::of_dense(layout) {
            Some(order) => Region::Ordered { base: layout.shape.clone(), part: whole(&order), order },
            None => Region::whole(&layout.shape),
        }
    }

    /// A part of the memory of an array that lies so, if that is without gaps.
    pub fn in_memory(layout: &Layout, part: Layout) -> Region {
        match order::of_dense(layout) {
            Some(order) => Region::Ordered { base: layout.shape.clone(), order, part },
            None => Region::Strided(part),
        }
    }

    /// How its elements lie among those that it counts, if they are evenly spaced.
    pub fn evenly(&self) -> Option<&Layout> {
        match self {
            Region::Strided(l) | Region::Ordered { part: l, .. } => Some(l),
            Region::Listed { .. } => None,
        }
    }

    /// Other elements that are evenly spaced among those that this one counts.
    pub fn with(&self, part: Layout) -> Region {
        match self {
            Region::Ordered { base, order, .. } => Region::Ordered { base: base.clone(), order: order.clone(), part },
            _ => Region::Strided(part),
        }
    }

    /// The region that lists these positions, strided if they are evenly spaced.
    pub fn of_positions(shape: &Shape, at: &[i64]) -> Region {
        let at: Vec<usize> = at.iter().map(|&i| i as usize).collect();
        let mut strides = shape.contiguous_strides();
        let first = at.first().copied().unwrap_or(0);
        let step = shape.contiguous_strides();
        for (d, s) in strides.iter_mut().enumerate() {
            if shape[d] > 1 && !at.is_empty() {
                *s = at[step[d] as usize] as isize - first as isize;
            }
        }
        let layout = Layout { shape: shape.clone(), strides, offset: first };
        if positions(&layout).eq(at.iter().copied()) {
            return Region::Strided(layout);
        }
        Region::Listed { shape: shape.clone(), at: at.into() }
    }

    pub fn shape(&self) -> &Shape {
        match self {
            Region::Strided(l) | Region::Ordered { part: l, .. } => &l.shape,
            Region::Listed { shape, .. } => shape,
        }
    }

    /// Whether two elements of the region are the same element of the array.
    pub fn overlaps(&self) -> bool {
        match self {
            Region::Strided(l) | Region::Ordered { part: l, .. } => l.may_overlap(),
            Region::Listed { at, .. } => {
                let mut sorted = at.to_vec();
                sorted.sort_unstable();
                sorted.windows(2).any(|w| w[0] == w[1])
            }
        }
    }

    /// The positions, in row-major order of the shape.
    ///
    /// Error: `Runtime` if there are more than memory can hold.
    pub fn positions(&self) -> Result<Vec<i64>> {
        let n = self.shape().numel();
        match self {
            Region::Strided(l) => list("view", n, positions(l).map(|i| i as i64)),
            Region::Listed { at, .. } => list("view", n, at.iter().map(|&i| i as i64)),
            Region::Ordered { base, order, part } => {
                let rows = Layout::contiguous(base.clone()).permute(order);
                list("view", n, positions(part).map(|i| rows.place(i) as i64))
            }
        }
    }

    /// A region of this region's elements, as a region of the array.
    ///
    /// Error: as [`Region::positions`].
    pub fn compose(&self, inner: &Region) -> Result<Region> {
        if let Some(mut part) = self.evenly().and_then(|outer| inner.in_layout(outer)) {
            // Of a region without elements the offset means nothing, and may be as large as can be.
            part.offset = part.offset.min(LARGEST);
            return Ok(self.with(part));
        }
        let outer = self.positions()?;
        let at: Vec<i64> = inner.positions()?.iter().map(|&i| outer[i as usize]).collect();
        Ok(Region::of_positions(inner.shape(), &at))
    }

    /// Whether the region is all `n` elements in their order.
    pub fn is_whole(&self, n: usize) -> bool {
        matches!(self, Region::Strided(l) if l.offset == 0 && l.is_contiguous() && l.shape.numel() == n)
    }

    /// Whether it names elements of an array of this shape.
    fn fits(&self, shape: &Shape) -> bool {
        let n = shape.numel();
        let lies_in = |l: &Layout| l.needed().is_some_and(|needed| needed <= n);
        match self {
            Region::Strided(l) => lies_in(l),
            Region::Listed { at, .. } => at.iter().all(|&i| i < n),
            Region::Ordered { base, order, part } => {
                base == shape && order::is_permutation(order, shape.rank()) && lies_in(part)
            }
        }
    }
}

/// Positions of a layout's elements in row-major order.
fn positions(l: &Layout) -> impl Iterator<Item = usize> + '_ {
    let mut index = vec![0usize; l.shape.rank()];
    (0..l.shape.numel()).map(move |_| {
        let at: isize = index.iter().zip(&l.strides).map(|(&i, &s)| i as isize * s).sum();
        for d in (0..index.len()).rev() {
            index[d] += 1;
            if index[d] < l.shape[d] {
                break;
            }
            index[d] = 0;
        }
        (l.offset as isize + at) as usize
    })
}

/// The region's elements, for each index of the first `lead` dimensions. Strided ones share memory where they can.
pub fn read(base: &Array, region: &Region, lead: usize) -> Result<Array> {
    let split = Split::of(base, region, lead)?;
    let places = match split.places(region)? {
        Places::Strided(mut l) => {
            settle_single_places(&mut l, lead);
            return base.view(|b| Layout { offset: b.offset.saturating_add(l.offset), ..l });
        }
        Places::Listed(places) => places,
    };
    let size = base.dtype().size();
    Array::build_bytes(base.dtype(), split.shape(region), |out, _| {
        for (k, at) in places.enumerate() {
            // SAFETY: `Split::of` checked every position, and the output has one place for each.
            unsafe {
                let from = base.ptr().offset(at * size as isize);
                std::ptr::copy_nonoverlapping(from, out.add(k * size), size);
            }
        }
        // SAFETY: each place was written above.
        unsafe { Written::all() }
    })
}

/// Takes the strides of dimensions of size 1 away where they do not decide how results of a member lie: beside those of
/// the leading dimensions they could put these inside of the members.
fn settle_single_places(l: &mut Layout, lead: usize) {
    if lead == 0 || !l.shape[lead..].contains(&1) {
        return;
    }
    let shape = Shape::new(&l.shape[lead..]);
    let own = Strides::from_slice(&l.strides[lead..]);
    let bare: Strides = own.iter().zip(shape.iter()).map(|(&s, &n)| if n == 1 { 0 } else { s }).collect();
    let of = |strides: &Strides| order::of_strides(&shape, std::slice::from_ref(strides));
    if of(&bare) == of(&own) {
        l.strides[lead..].copy_from_slice(&bare);
    }
}

/// `base` with the region's elements replaced by those of `value`, whose shape is the leading dimensions and the
/// region's. With `donate` the caller gives up `base`: its memory is reused if no one else holds it. The result lies as
/// `base` does, where that has no gaps.
pub fn write(base: &Array, region: &Region, lead: usize, value: &Array, donate: bool) -> Result<Array> {
    if donate && lead == 0 && write_rows(base, region, value)? {
        return Ok(base.clone());
    }
    let split = Split::of(base, region, lead)?;
    if *value.shape() != split.shape(region) || value.dtype() != base.dtype() {
        bail!(Internal, "a value of shape {} was put into a region of shape {}", value.shape(), split.shape(region));
    }
    if region.is_whole(split.inner.shape.numel()) {
        let value = value.reshape(base.shape())?.laid_as(&base.layout())?;
        return if value.buffer().is_some_and(|b| b.is_exported()) { copy::gather_in_place(&value) } else { Ok(value) };
    }
    change(base, split, region, donate, |own, places| match places {
        // SAFETY: what is given has the base's elements and belongs to us, and the value fills the region.
        Places::Strided(l) => unsafe { copy::scatter_array(own, &l, value) },
        Places::Listed(places) => {
            let (value, size) = (value.contiguous()?, value.dtype().size());
            for (k, at) in places.enumerate() {
                // SAFETY: as above.
                unsafe {
                    let to = own.offset(at * size as isize);
                    std::ptr::copy_nonoverlapping(value.ptr().add(k * size), to, size);
                }
            }
            Ok(())
        }
    })
}

/// Writes where the elements are, if that is the commonest case: a part of row-major memory that nobody else holds.
fn write_rows(base: &Array, region: &Region, value: &Array) -> Result<bool> {
    let Region::Strided(l) = region else { return Ok(false) };
    let fits = base.is_contiguous()
        && base.dtype() == value.dtype()
        && l.shape == *value.shape()
        && l.needed().is_some_and(|needed| needed <= base.numel())
        && !region.is_whole(base.numel());
    if !fits || !is_sole(base) {
        return Ok(false);
    }
    // SAFETY: the buffer is ours alone and given up; the region lies in it, and the value, which is elsewhere, fills it.
    unsafe { copy::scatter_array(base.ptr().cast_mut(), l, value)? };
    Ok(true)
}

/// Whether this handle is the only one on the memory of an array.
fn is_sole(a: &Array) -> bool {
    a.buffer().is_some_and(|b| Arc::strong_count(b) == 1 && !b.is_exported())
}

/// `base` with zeros, of zero bytes, in place of the region's elements; `donate` as in [`write`].
pub fn clear(base: &Array, region: &Region, lead: usize, donate: bool) -> Result<Array> {
    let split = Split::of(base, region, lead)?;
    if region.is_whole(split.inner.shape.numel()) {
        return Array::zeros(base.dtype(), base.shape().clone())?.laid_as(&base.layout());
    }
    let size = base.dtype().size();
    change(base, split, region, donate, |own, places| {
        match places {
            // SAFETY: what is given has the base's elements and belongs to us; the region's were checked to be among them.
            Places::Strided(l) => unsafe { copy::clear_at(own, &l, size) },
            Places::Listed(places) => places.for_each(|at| {
                // SAFETY: as above.
                unsafe { own.offset(at * size as isize).write_bytes(0, size) }
            }),
        }
        Ok(())
    })
}

/// What `change` makes of the base's elements, given the first of them and where the region's are: in its own memory if it
/// is given up and nobody else holds it, or in a copy.
fn change(
    base: &Array,
    split: Split,
    region: &Region,
    donate: bool,
    change: impl FnOnce(*mut u8, Places<'_>) -> Result<()>,
) -> Result<Array> {
    let order = if base.is_contiguous() { None } else { order::of_dense(&base.layout()) };
    let lies_dense = base.is_contiguous() || order.is_some();
    if donate && lies_dense && is_sole(base) {
        // The buffer is ours alone: this handle is the only one, and its owner gives it up.
        change(base.ptr().cast_mut(), split.places(region)?)?;
        return Ok(base.clone());
    }
    let (base, split) = match lies_dense {
        true => (base.clone(), split),
        false => {
            let rows = base.contiguous()?;
            let split = Split::of(&rows, region, split.lead())?;
            (rows, split)
        }
    };
    let places = split.places(region)?;
    let in_memory = match &order {
        Some(order) => base.permute(order)?,
        None => base.clone(),
    };
    let own = Array::try_build_bytes(base.dtype(), in_memory.shape().clone(), |out, n| {
        // SAFETY: both hold n elements side by side, and `change` leaves all of them written.
        unsafe {
            std::ptr::copy_nonoverlapping(in_memory.ptr(), out, n * base.dtype().size());
            change(out, places)?;
            Ok(Written::all())
        }
    })?;
    match &order {
        Some(order) => own.permute_back(order)?.with_strides_of(&base.layout()),
        None if base.is_plain() => Ok(own),
        None => own.with_strides_of(&base.layout()),
    }
}

/// Writes into memory that others see, or that `dst` alone holds: `dst` keeps its place and gets the elements of `src`.
pub fn overwrite(dst: &Array, src: &Array) -> Result<()> {
    let Some(buffer) = dst.buffer() else { bail!(Internal, "an array without a buffer has no memory in common") };
    if !buffer.is_exported() && Arc::strong_count(buffer) != 1 {
        bail!(Internal, "memory that other values hold is not written in place");
    }
    if !buffer.is_writable() {
        bail!(Runtime, "the memory of this tensor is read-only; clone() it before writing to it");
    }
    if dst.shape() != src.shape() || dst.dtype() != src.dtype() {
        bail!(Internal, "elements of shape {} were written over shape {}", src.shape(), dst.shape());
    }
    let shares = src.buffer().is_some_and(|b| Arc::ptr_eq(b, buffer));
    let src = if shares { copy::gather(src)? } else { src.clone() };
    let mut layout = dst.layout();
    layout.offset = 0;
    // SAFETY: `dst` lies in its buffer, which may be written; its owner expects writes by us at any time, or it is ours
    // alone and given up, and `src` is elsewhere.
    unsafe { copy::scatter_array(dst.ptr().cast_mut(), &layout, &src)? };
    buffer.bump_version();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;

    fn numbers(n: usize) -> Array {
        let v: Vec<f32> = (0..n).map(|i| i as f32).collect();
        Array::from_slice([n], &v).unwrap()
    }

    fn column(rows: usize, cols: usize, at: usize) -> Region {
        let l = Layout::contiguous([rows, cols].into()).slice(1, at, 1, 1);
        Region::Strided(l.reshape(&[rows].into()).unwrap())
    }

    #[test]
    fn positions_are_recognised_as_strides() {
        let r = Region::of_positions(&[2, 2].into(), &[1, 3, 7, 9]);
        assert!(matches!(&r, Region::Strided(l) if l.offset == 1 && l.strides[..] == [6, 2]));
        assert!(matches!(Region::of_positions(&[3].into(), &[0, 1, 3]), Region::Listed { .. }));
        assert!(Region::of_positions(&[2].into(), &[4, 4]).overlaps());
        assert!(!r.overlaps());
    }

    #[test]
    fn writing_replaces_the_region_only() {
        for n in [4usize, 40] {
            let a = numbers(3 * n).reshape(&[3, n].into()).unwrap();
            let r = column(3, n, 1);
            let v = Array::from_slice([3], &[-1.0_f32, -2.0, -3.0]).unwrap();
            let b = write(&a, &r, 0, &v, false).unwrap();
            assert_eq!(read(&b, &r, 0).unwrap().to_vec::<f32>().unwrap(), [-1.0, -2.0, -3.0]);
            assert_eq!(a.get(&[1, 1]).unwrap().as_f64(), n as f64 + 1.0);
            assert_eq!(b.get(&[1, 2]).unwrap().as_f64(), n as f64 + 2.0);
        }
    }

    #[test]
    fn donated_memory_is_reused() {
        let a = numbers(100);
        let at = a.ptr();
        let r = Region::of_positions(&[2].into(), &[5, 50]);
        let v = Array::from_slice([2], &[7.0_f32, 8.0]).unwrap();
        let kept = a.clone();
        assert_ne!(write(&a, &r, 0, &v, true).unwrap().ptr(), at);
        drop(kept);
        let b = write(&a, &r, 0, &v, true).unwrap();
        assert_eq!(b.ptr(), at);
        assert_eq!(b.get(&[50]).unwrap().as_f64(), 8.0);
    }

    #[test]
    fn clearing_is_writing_zeros() {
        let a = numbers(24).reshape(&[2, 12].into()).unwrap();
        let listed = Region::of_positions(&[3].into(), &[0, 1, 5]);
        let block = Layout::contiguous([3, 4].into()).slice(1, 1, 2, 1);
        let reversed = Layout::contiguous([12].into()).slice(0, 10, 4, -2);
        let empty = Layout::contiguous([12].into()).slice(0, 3, 0, 1);
        let strided = [block, reversed, empty, Layout::contiguous([12].into())].map(Region::Strided);
        for dtype in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128, DType::I8] {
            for region in strided.iter().chain([&listed]) {
                for donate in [false, true] {
                    let base = copy::cast(&a, dtype).unwrap().contiguous().unwrap();
                    let base = if donate { copy::gather(&base).unwrap() } else { base };
                    let shape: Shape = [2].iter().chain(region.shape().iter()).copied().collect();
                    let want = write(&base, region, 1, &Array::zeros(dtype, shape).unwrap(), false).unwrap();
                    let got = clear(&base, region, 1, donate).unwrap();
                    let elements = |a: &Array| copy::cast(a, DType::F64).unwrap().to_vec::<f64>().unwrap();
                    assert_eq!(elements(&got), elements(&want), "{dtype} {region:?}");
                }
            }
        }
    }

    #[test]
    fn rows_repeat_the_region() {
        let a = numbers(12).reshape(&[2, 6].into()).unwrap();
        let r = Region::of_positions(&[3].into(), &[0, 1, 5]);
        assert_eq!(read(&a, &r, 1).unwrap().to_vec::<f32>().unwrap(), [0., 1., 5., 6., 7., 11.]);
        let v = numbers(6).reshape(&[2, 3].into()).unwrap();
        let b = write(&a, &r, 1, &v, false).unwrap();
        assert_eq!(b.to_vec::<f32>().unwrap(), [0., 1., 2., 3., 4., 2., 3., 4., 8., 9., 10., 5.]);
    }
}
