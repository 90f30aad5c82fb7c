//! Where the elements of a region lie in memory, whatever order its array has there.

use super::{Region, positions};
use crate::bail;
use crate::base::{Layout, Result, Shape, Strides};
use crate::dense::Array;

/// The base split into leading dimensions, over which the region repeats, and the rest.
pub(super) struct Split {
    lead: Layout,
    /// The elements of one index of the leading dimensions, counted from the first.
    pub inner: Layout,
}

/// Elements in memory, counted from the first of the base.
pub(super) enum Places<'a> {
    Strided(Layout),
    /// In row-major order.
    Listed(Box<dyn Iterator<Item = isize> + 'a>),
}

impl Split {
    pub fn of(base: &Array, region: &Region, lead: usize) -> Result<Split> {
        let strides = base.strides();
        let part = |shape: &[usize], strides: &[isize]| Layout {
            shape: shape.into(),
            strides: Strides::from_slice(strides),
            offset: 0,
        };
        let (outer, inner) = base.shape().split_at(lead);
        let split = Split { lead: part(outer, &strides[..lead]), inner: part(inner, &strides[lead..]) };
        if !region.fits(&split.inner.shape) {
            bail!(Internal, "a region {region:?} leaves its array of shape {}", base.shape());
        }
        Ok(split)
    }

    /// The number of leading dimensions.
    pub fn lead(&self) -> usize {
        self.lead.shape.rank()
    }

    /// The shape of the region's elements in all rows.
    pub fn shape(&self, region: &Region) -> Shape {
        if self.lead.shape.rank() == 0 {
            return region.shape().clone();
        }
        self.lead.shape.iter().chain(region.shape().iter()).copied().collect()
    }

    /// Where they lie.
    ///
    /// # Errors
    /// `Runtime` if they must be listed, and are more than memory can hold.
    pub fn places<'a>(&'a self, region: &'a Region) -> Result<Places<'a>> {
        if let Some(part) = region.in_layout(&self.inner) {
            let strides = self.lead.strides.iter().chain(&part.strides).copied().collect();
            return Ok(Places::Strided(Layout { shape: self.shape(region), strides, offset: part.offset }));
        }
        let (inner, listed) = (&self.inner, region.positions()?);
        let at: Vec<isize> = match inner.is_contiguous() {
            true => listed.into_iter().map(|i| i as isize).collect(),
            false => listed.into_iter().map(|i| inner.place(i as usize)).collect(),
        };
        let rows: Vec<isize> = positions(&self.lead).map(|row| row as isize).collect();
        Ok(Places::Listed(Box::new(rows.into_iter().flat_map(move |row| {
            let at = at.clone();
            at.into_iter().map(move |i| row + i)
        }))))
    }
}

impl Region {
    /// Where the region's elements are of those in `whole`, if strides can say it.
    pub fn in_layout(&self, whole: &Layout) -> Option<Layout> {
        match self {
            Region::Strided(l) => in_layout(l, whole),
            Region::Ordered { base, order, part } if *base == whole.shape => in_layout(part, &whole.permute(order)),
            Region::Ordered { .. } => None,
            Region::Listed { .. } => None,
        }
    }
}

/// Where the elements are that `l` names of those in `whole`, in row-major order, if strides can say it.
fn in_layout(l: &Layout, whole: &Layout) -> Option<Layout> {
    if whole.is_contiguous() {
        return Some(Layout { offset: l.offset.saturating_add(whole.offset), ..l.clone() });
    }
    let rows = whole.shape.contiguous_strides();
    let dims = || (0..rows.len()).filter(|&d| whole.shape[d] > 1);
    // The first element's index, and how far along each dimension the last one is.
    let (mut first, mut rest, mut last) = (whole.offset as isize, l.offset as isize, vec![0isize; rows.len()]);
    for d in dims() {
        last[d] = rest / rows[d];
        rest %= rows[d];
        first += last[d] * whole.strides[d];
    }
    let mut strides = l.strides.clone();
    for (s, &n) in strides.iter_mut().zip(l.shape.iter()) {
        if *s == 0 || n <= 1 {
            continue;
        }
        let d = dims().find(|&d| *s % rows[d] == 0)?;
        last[d] += *s / rows[d] * (n as isize - 1);
        *s = *s / rows[d] * whole.strides[d];
    }
    let fits = dims().all(|d| (0..whole.shape[d] as isize).contains(&last[d]));
    // Of a reversed array whose first element is counted as 0, the others lie before that.
    let offset = usize::try_from(first).ok().filter(|_| fits && rest == 0)?;
    Some(Layout { shape: l.shape.clone(), strides, offset })
}
