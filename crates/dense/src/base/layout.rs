//! How a strided array lies in its buffer, and the index algebra of views: no data is touched.
//!
//! Layouts that users name pass [`Layout::strided`]; what is made of them here stays inside, and saturates where a stride
//! leads to no element.

#![deny(clippy::arithmetic_side_effects)]

use super::error::{Error, Result};
use super::shape::{Shape, Strides};
use super::size::{LARGEST, Whole};
use smallvec::SmallVec;

/// Shape, element strides, and the offset of the first element in elements.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub shape: Shape,
    pub strides: Strides,
    pub offset: usize,
}

impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        Layout { shape: self.shape.clone(), strides: Strides::from_slice(&self.strides), offset: self.offset }
    }
}

impl Layout {
    pub fn contiguous(shape: Shape) -> Layout {
        let strides = shape.contiguous_strides();
        Layout { shape, strides, offset: 0 }
    }

    /// The layout that a user or another library names: the door for all of them.
    ///
    /// # Errors
    /// `Runtime` if there are too many elements, not one stride for each dimension, or elements before the first place
    /// of the memory or behind the last one that can be addressed.
    pub fn strided(op: &str, shape: Shape, strides: &[i64], offset: impl Into<Whole>) -> Result<Layout> {
        let (offset, shape) = (offset.into(), shape.checked(op)?);
        if strides.len() != shape.rank() {
            let text = format!("{op}(): mismatch in length of strides {strides:?} and shape {shape}");
            return Err(Error::runtime(text));
        }
        let start = offset.size();
        let layout =
            Layout { strides: strides.iter().map(|&s| s as isize).collect(), offset: start.unwrap_or(0), shape };
        let fits = layout.reach().is_none_or(|(lo, hi)| !lo.is_negative() && hi.plus(1i64).size().is_some());
        if start.is_none() || !fits {
            return Err(Error::runtime(format!(
                "{op}(): sizes {}, strides {strides:?} and storage offset {offset} name elements outside of memory",
                layout.shape
            )));
        }
        Ok(layout)
    }

    /// Refuses elements behind the first `room` of the memory, which starts at element `before` of what users see.
    ///
    /// # Errors
    /// `Runtime` if there are some.
    pub fn require_room(&self, op: &str, room: usize, before: usize) -> Result<()> {
        let needed = self.needed().unwrap_or(usize::MAX);
        if needed <= room {
            return Ok(());
        }
        Err(Error::runtime(format!(
            "{op}(): sizes {}, strides {:?} and storage offset {} are out of bounds for storage of {} elements: they \
             need {}. Make the sizes, strides or offset smaller.",
            self.shape,
            self.strides.as_slice(),
            Whole::from(self.offset).plus(before),
            Whole::from(room).plus(before),
            Whole::from(needed).plus(before),
        )))
    }

    /// Lowest and highest offset of an element, exactly; `None` when empty.
    pub fn reach(&self) -> Option<(Whole, Whole)> {
        if self.shape.contains(&0) {
            return None;
        }
        let start = Whole::from(self.offset);
        Some(self.shape.iter().zip(&self.strides).fold((start, start), |(lo, hi), (&d, &s)| {
            let reach = Whole::from(d).minus(1i64).times(s);
            if s < 0 { (lo.plus(reach), hi) } else { (lo, hi.plus(reach)) }
        }))
    }

    /// Whether elements lie in row-major order without gaps; dimensions of size 1 do not matter, and no elements do.
    pub fn is_contiguous(&self) -> bool {
        let mut acc = 1isize;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            if d != 1 {
                if s != acc {
                    return self.shape.contains(&0);
                }
                // A part of the number of elements, which was counted.
                acc = acc.wrapping_mul(d as isize);
            }
        }
        true
    }

    /// Whether the strides are those of row-major order, along dimensions of size 1 too.
    pub fn is_plain(&self) -> bool {
        let mut acc = 1isize;
        self.shape.iter().zip(&self.strides).rev().all(|(&d, &s)| {
            let fits = s == acc;
            acc = acc.wrapping_mul(d.max(1) as isize);
            fits
        })
    }

    /// Whether the elements of batches of images or volumes lie with their channels behind the other dimensions, without
    /// gaps; dimensions of size 1 do not matter.
    pub fn is_channels_last(&self) -> bool {
        let rank = self.shape.rank();
        if !(4..=5).contains(&rank) {
            return false;
        }
        let mut acc = 1isize;
        std::iter::once(1).chain((2..rank).rev()).chain([0]).all(|d| {
            let fits = self.shape[d] == 1 || self.strides[d] == acc;
            acc = acc.wrapping_mul(self.shape[d] as isize);
            fits
        })
    }

    /// As [`Layout::is_channels_last`], with gaps between the elements: a part of an array that lies so.
    pub fn has_channels_behind(&self) -> bool {
        self.is_channels_last() && self.strides[1] > 0 && !self.shape.contains(&0) || self.suggests_channels_last()
    }

    /// Whether the strides alone say that the channels lie behind, those of dimensions of size 1 too: then layers give
    /// results that lie so. A batch made by `x[None]` of one image says nothing.
    pub fn suggests_channels_last(&self) -> bool {
        let rank = self.shape.rank();
        if !(4..=5).contains(&rank) || self.strides[1] <= 0 || self.shape.contains(&0) {
            return false;
        }
        let mut least = 0isize;
        std::iter::once(1).chain((2..rank).rev()).chain([0]).all(|d| {
            let fits = self.strides[d] >= least && !(d == 0 && least == self.strides[1]);
            least = self.strides[d].saturating_mul(self.shape[d] as isize);
            fits
        })
    }

    pub fn permute(&self, order: &[usize]) -> Layout {
        Layout {
            shape: order.iter().map(|&d| self.shape[d]).collect(),
            strides: order.iter().map(|&d| self.strides[d]).collect(),
            offset: self.offset,
        }
    }

    /// With a dimension of size 1 at `d`, whose stride is that of all that follows.
    pub fn unsqueeze(mut self, d: usize) -> Layout {
        let whole = |n: usize| self.strides[d].saturating_mul(n.min(LARGEST) as isize);
        let stride = self.shape.get(d).map_or(1, |&n| whole(n));
        self.shape.insert(d, 1);
        self.strides.insert(d, stride);
        self
    }

    /// Broadcast to `shape`; new and stretched dimensions get stride 0, new ones of size 1 that of a whole. The shapes must
    /// be compatible.
    pub fn expand(&self, shape: &Shape) -> Layout {
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut own = self.shape.iter().zip(&self.strides).rev();
        let mut whole = 1isize;
        for (out, &wide) in strides.iter_mut().zip(shape.iter()).rev() {
            let (d, s) = own.next().map_or((1, whole), |(&d, &s)| (d, s));
            *out = if d == 1 && wide != 1 { 0 } else { s };
            whole = out.saturating_mul(wide as isize);
        }
        Layout { shape: shape.clone(), strides, offset: self.offset }
    }

    /// `start + step * i` for `i in 0..len` along `dim`; the result must lie inside.
    pub fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Layout {
        let mut out = self.clone();
        if len > 0 {
            out.offset = self.moved(start, self.strides[dim]);
        }
        out.strides[dim] = self.strides[dim].saturating_mul(step);
        out.shape[dim] = len;
        out
    }

    /// The offset of the element `n` steps behind the first. Only an empty layout's saturates: it has no element there.
    pub fn moved(&self, n: usize, stride: isize) -> usize {
        let way = stride.saturating_mul(n.min(LARGEST) as isize);
        self.offset.saturating_add_signed(way).min(LARGEST)
    }

    /// The same elements in another shape without moving data, if the strides allow it. Dimensions of size 1 get the strides
    /// that PyTorch gives them (`computeStride`).
    pub fn reshape(&self, shape: &Shape) -> Option<Layout> {
        let with = |strides| Some(Layout { strides, shape: shape.clone(), offset: self.offset });
        if self.shape.contains(&0) {
            return with(if *shape == self.shape { self.strides.clone() } else { shape.contiguous_strides() });
        }
        if let Some(strides) = self.squeezed(shape) {
            return with(strides);
        }
        let Some(&innermost) = self.strides.last() else { return with(SmallVec::from_elem(1, shape.rank())) };
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut left = shape.rank();
        // Runs of dimensions that step evenly, from the inside, and as many dimensions of the shape for each.
        let (mut step, mut run, mut filled) = (innermost, 1usize, 1usize);
        for d in (0..self.shape.rank()).rev() {
            run = run.saturating_mul(self.shape[d]);
            let next = d.checked_sub(1);
            let goes_on =
                |d: usize| self.shape[d] == 1 || Some(self.strides[d]) == step.checked_mul(run.min(LARGEST) as isize);
            if next.is_some_and(goes_on) {
                continue;
            }
            while let Some(v) = left.checked_sub(1).filter(|&v| filled < run || shape[v] == 1) {
                strides[v] = step.saturating_mul(filled.min(LARGEST) as isize);
                filled = filled.saturating_mul(shape[v]);
                left = v;
            }
            if filled != run {
                return None;
            }
            if let Some(outer) = next {
                (step, run, filled) = (self.strides[outer], 1, 1);
            }
        }
        if left == 0 { with(strides) } else { None }
    }

    /// The strides of a shape that is this one without some dimensions of size 1, the first ones if that does not say which.
    fn squeezed(&self, shape: &Shape) -> Option<Strides> {
        if shape.rank() >= self.shape.rank() {
            return None;
        }
        let mut left = shape.iter().rev().peekable();
        let mut strides = Strides::new();
        for (&n, &s) in self.shape.iter().zip(&self.strides).rev() {
            if left.next_if(|m| **m == n).is_some() {
                strides.push(s);
            } else if n != 1 {
                return None;
            }
        }
        strides.reverse();
        (strides.len() == shape.rank()).then_some(strides)
    }

    /// Runs of dimensions that step evenly, as (size, stride) from outer to inner; size-1 dims vanish.
    pub fn collapse(&self) -> SmallVec<[(usize, isize); 6]> {
        let mut out: SmallVec<[(usize, isize); 6]> = SmallVec::new();
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            if d == 1 {
                continue;
            }
            match out.last_mut() {
                Some((n, t)) if Some(*t) == s.checked_mul(d as isize) => {
                    *n = n.saturating_mul(d);
                    *t = s;
                }
                _ => out.push((d, s)),
            }
        }
        out
    }

    /// Lowest and highest element offset that any index reaches, `None` when empty.
    ///
    /// What cannot be addressed, which no layout that went through the door has, is given as the farthest offset.
    pub fn extent(&self) -> Option<(isize, isize)> {
        if self.shape.contains(&0) {
            return None;
        }
        let (mut lo, mut hi) = (self.offset as isize, self.offset as isize);
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            let reach = s.saturating_mul(d.saturating_sub(1) as isize);
            if reach < 0 { lo = lo.saturating_add(reach) } else { hi = hi.saturating_add(reach) }
        }
        Some((lo, hi))
    }

    /// The offset of an element by its number in row-major order, which must be one of the layout's.
    pub fn place(&self, mut number: usize) -> isize {
        let mut at = self.offset as isize;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            at = at.wrapping_add(s.wrapping_mul(number.checked_rem(d).unwrap_or(0) as isize));
            number = number.checked_div(d).unwrap_or(0);
        }
        at
    }

    /// How many elements memory must have for the layout to lie in it; `None` if one lies before its first.
    pub fn needed(&self) -> Option<usize> {
        match self.extent() {
            None => Some(0),
            Some((lo, hi)) => (lo >= 0).then(|| hi.unsigned_abs().saturating_add(1)),
        }
    }

    /// Whether the elements lie side by side in memory, in whatever order of the dimensions.
    pub fn is_dense(&self) -> bool {
        let mut dims: SmallVec<[(isize, usize); 6]> =
            self.strides.iter().zip(self.shape.iter()).filter(|(_, d)| **d != 1).map(|(&s, &d)| (s, d)).collect();
        dims.sort_unstable();
        let mut next = 1isize;
        self.shape.contains(&0)
            || dims.into_iter().all(|(s, d)| {
                let fits = s == next;
                next = next.wrapping_mul(d as isize);
                fits
            })
    }

    /// Whether two indices name the same element, as where a stride is zero. Of layouts whose dimensions interleave it is
    /// said as well if they have too many elements to be counted.
    pub fn may_overlap(&self) -> bool {
        if self.is_contiguous() || self.shape.contains(&0) {
            return false;
        }
        let mut dims: SmallVec<[(usize, usize); 6]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|(d, _)| **d > 1)
            .map(|(&d, &s)| (s.unsigned_abs(), d))
            .collect();
        dims.sort_unstable();
        let (mut extent, mut interleaves) = (0usize, false);
        for &(s, d) in &dims {
            interleaves |= s <= extent;
            extent = extent.saturating_add(s.saturating_mul(d.saturating_sub(1)));
        }
        interleaves && meet(&dims, extent)
    }
}

/// Elements that are counted to find out whether two of them are one.
const COUNTED: usize = 1 << 20;

/// Whether steps of these widths, each up to so many times, lead to one place in two ways, all places being within `extent`.
fn meet(dims: &[(usize, usize)], extent: usize) -> bool {
    let n = dims.iter().fold(1usize, |n, &(_, d)| n.saturating_mul(d));
    if dims.iter().any(|&(s, _)| s == 0)
        || n > extent.saturating_add(1)
        || n > COUNTED
        || extent > COUNTED.saturating_mul(8)
    {
        return true;
    }
    let mut seen = vec![false; extent.saturating_add(1)];
    (0..n).any(|i| {
        let (mut rest, mut at) = (i, 0usize);
        for &(s, d) in dims {
            at = at.saturating_add(s.saturating_mul(rest.checked_rem(d).unwrap_or(0)));
            rest = rest.checked_div(d).unwrap_or(0);
        }
        seen.get_mut(at).is_none_or(|seen| std::mem::replace(seen, true))
    })
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn reshape_splits_and_merges_even_runs_only() {
        let t = Layout::contiguous([4, 6].into()).permute(&[1, 0]);
        assert!(t.reshape(&[24].into()).is_none());
        let r = t.reshape(&[2, 3, 4].into()).unwrap();
        assert_eq!(&r.strides[..], &[3, 1, 6]);
        let s = Layout::contiguous([4, 6].into()).slice(1, 0, 3, 2);
        assert_eq!(&s.reshape(&[12].into()).unwrap().strides[..], &[2]);
    }

    #[test]
    fn slices_reverse() {
        let s = Layout::contiguous([5].into()).slice(0, 4, 5, -1);
        assert_eq!((s.offset, s.strides[0], s.extent()), (4, -1, Some((0, 4))));
    }

    #[test]
    fn users_layouts_stay_inside_memory() {
        let far = i64::MAX;
        let strided = |s: &[usize], t: &[i64], o: i64| Layout::strided("as_strided", s.into(), t, o);
        assert!(strided(&[(1 << 32) + 1], &[1 << 32], 0).is_err());
        assert!(strided(&[3, 2], &[far, far], 0).is_err());
        assert!(
            strided(&[2], &[far], 1).is_err() && strided(&[2], &[-2], 1).is_err() && strided(&[1], &[1], -1).is_err()
        );
        assert!(strided(&[1 << 62, 4], &[0, 0], 0).is_err() && strided(&[2], &[1, 1], 0).is_err());
        assert_eq!(strided(&[2], &[-1], 1).unwrap().extent(), Some((0, 1)));
        // Strides along one element or none lead nowhere.
        for shape in [[1, 1], [0, 1], [1, 0]] {
            let l = strided(&shape, &[far, -far], 5).unwrap();
            let again = l.slice(0, 0, shape[0], 9).permute(&[1, 0]).expand(&[2, shape[1], shape[0]].into());
            assert!(again.needed().is_some_and(|n| n <= 6), "{again:?}");
            assert!(l.is_contiguous() && again.is_contiguous() == again.shape.contains(&0));
            assert!(l.reshape(&[shape[0] * shape[1], 1].into()).is_some() && !l.may_overlap());
        }
    }

    #[test]
    fn overlap_is_seen() {
        assert!(Layout::contiguous([1, 3].into()).expand(&[2, 3].into()).may_overlap());
        assert!(!Layout::contiguous([2, 3].into()).permute(&[1, 0]).may_overlap());
        let of = |shape: [usize; 2], strides: [isize; 2]| {
            Layout { shape: shape.into(), strides: Strides::from_slice(&strides), offset: 20 }.may_overlap()
        };
        assert!(!of([3, 2], [2, 3]) && !of([2, 3], [3, -2]) && of([4, 2], [2, 4]) && of([2, 4], [3, 1]));
        assert!(of([3, 3], [1, 1]) && !of([1, 3], [0, 1]) && of([1 << 20, 3], [2, 3]));
    }
}
