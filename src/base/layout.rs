//! How a strided array lies in its buffer, and the index algebra of views: no data is touched.

use super::shape::{Shape, Strides};
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

    /// Whether elements lie in row-major order without gaps; dimensions of size 1 do not matter.
    pub fn is_contiguous(&self) -> bool {
        let mut acc = 1isize;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            if d == 0 {
                return true;
            }
            if d != 1 {
                if s != acc {
                    return false;
                }
                acc *= d as isize;
            }
        }
        true
    }

    pub fn permute(&self, order: &[usize]) -> Layout {
        Layout {
            shape: order.iter().map(|&d| self.shape[d]).collect(),
            strides: order.iter().map(|&d| self.strides[d]).collect(),
            offset: self.offset,
        }
    }

    /// Broadcast to `shape`; new and stretched dimensions get stride 0. The shapes must be compatible.
    pub fn expand(&self, shape: &Shape) -> Layout {
        let lead = shape.rank() - self.shape.rank();
        let strides = (0..shape.rank())
            .map(|i| if i < lead || (self.shape[i - lead] == 1 && shape[i] != 1) { 0 } else { self.strides[i - lead] })
            .collect();
        Layout { shape: shape.clone(), strides, offset: self.offset }
    }

    /// `start + step * i` for `i in 0..len` along `dim`; the result must lie inside.
    pub fn slice(&self, dim: usize, start: usize, len: usize, step: isize) -> Layout {
        let mut out = self.clone();
        if len > 0 {
            out.offset = (self.offset as isize + start as isize * self.strides[dim]) as usize;
        }
        out.strides[dim] = self.strides[dim] * step;
        out.shape[dim] = len;
        out
    }

    /// The same elements in another shape without moving data, if the strides allow it.
    pub fn reshape(&self, shape: &Shape) -> Option<Layout> {
        if self.shape.numel() == 0 || self.is_contiguous() {
            return Some(Layout { strides: shape.contiguous_strides(), shape: shape.clone(), offset: self.offset });
        }
        let groups = self.collapse();
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut g = groups.len();
        let (mut left, mut stride) = (1usize, 1isize);
        for i in (0..shape.rank()).rev() {
            if shape[i] == 1 {
                strides[i] = stride;
                continue;
            }
            if left == 1 {
                if g == 0 {
                    return None;
                }
                g -= 1;
                (left, stride) = groups[g];
            }
            if !left.is_multiple_of(shape[i]) {
                return None;
            }
            strides[i] = stride;
            stride *= shape[i] as isize;
            left /= shape[i];
        }
        Some(Layout { shape: shape.clone(), strides, offset: self.offset })
    }

    /// Runs of dimensions that step evenly, as (size, stride) from outer to inner; size-1 dims vanish.
    pub fn collapse(&self) -> SmallVec<[(usize, isize); 6]> {
        let mut out: SmallVec<[(usize, isize); 6]> = SmallVec::new();
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            if d == 1 {
                continue;
            }
            match out.last_mut() {
                Some((n, t)) if *t == s * d as isize => {
                    *n *= d;
                    *t = s;
                }
                _ => out.push((d, s)),
            }
        }
        out
    }

    /// Lowest and highest element offset that any index reaches, `None` when empty.
    pub fn extent(&self) -> Option<(isize, isize)> {
        if self.shape.contains(&0) {
            return None;
        }
        let (mut lo, mut hi) = (self.offset as isize, self.offset as isize);
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            let reach = (d as isize - 1) * s;
            if reach < 0 { lo += reach } else { hi += reach }
        }
        Some((lo, hi))
    }

    /// Whether two indices may name the same element (zero or overlapping strides).
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
        let mut extent = 0usize;
        for (s, d) in dims {
            if s <= extent {
                return true;
            }
            extent += s * (d - 1);
        }
        false
    }
}

#[cfg(test)]
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
    fn overlap_is_seen() {
        assert!(Layout::contiguous([1, 3].into()).expand(&[2, 3].into()).may_overlap());
        assert!(!Layout::contiguous([2, 3].into()).permute(&[1, 0]).may_overlap());
    }
}
