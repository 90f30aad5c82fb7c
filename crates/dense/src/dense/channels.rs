//! Arrays of images and volumes whose channels lie behind the other dimensions.

use super::{Array, copy};
use crate::base::Result;
use smallvec::SmallVec;

impl Array {
    /// Whether the channels of images or volumes lie behind the other dimensions; not so if they also lie in row-major
    /// order.
    #[inline]
    pub fn is_channels_last(&self) -> bool {
        !self.is_contiguous() && self.rank() >= 4 && self.layout().is_channels_last()
    }

    /// As [`Array::is_channels_last`], with gaps between the elements: what is made of such an array lies as it does.
    #[inline]
    pub fn has_channels_behind(&self) -> bool {
        self.suggests_channels_last()
            || !self.is_contiguous() && self.rank() >= 4 && self.layout().has_channels_behind()
    }

    /// Whether layers give results with their channels behind the other dimensions for this array.
    #[inline]
    pub fn suggests_channels_last(&self) -> bool {
        !self.is_plain() && self.rank() >= 4 && self.layout().suggests_channels_last()
    }

    /// The dimensions with those of channels last, in which order such an array is contiguous.
    pub fn with_channels_behind(&self) -> Result<Array> {
        let order: SmallVec<[usize; 6]> = std::iter::once(0).chain(2..self.rank()).chain([1]).collect();
        self.permute(&order)
    }

    /// The same values, with their channels behind the other dimensions if one of `others` suggests it.
    #[inline]
    pub fn arranged_as(self, others: &[&Array]) -> Result<Array> {
        let behind = |o: &&Array| o.rank() == self.rank() && o.suggests_channels_last();
        if others.iter().any(behind) {
            copy::gather(&self.with_channels_behind()?)?.with_channels_second()
        } else {
            Ok(self)
        }
    }

    /// The inverse of [`Array::with_channels_behind`].
    pub fn with_channels_second(&self) -> Result<Array> {
        let rank = self.rank();
        let order: SmallVec<[usize; 6]> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
        self.permute(&order)
    }
}
