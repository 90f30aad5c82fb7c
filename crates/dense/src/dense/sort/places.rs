//! Places of things in order.

use std::cmp::Ordering;

/// Sorts places by what is at them; equal things keep their order. The comparison is called and not compiled in: of a sort
/// that is, there would be one in the library for each type of what is compared, some 7 KB each.
pub fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|&i, &j| compare(i, j));
}
