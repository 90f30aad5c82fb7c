//! Arithmetic of sizes, strides, offsets and counts. Integers from users pass through here once; nothing wraps.
//!
//! NOTE. Two rules keep the rest of the crate free of checks:
//! - A shape that exists has a *volume*, the product of its sizes with 1 for 0, of at most `isize::MAX`: every product
//!   of some of its sizes fits, and so do its contiguous strides.
//! - A layout that exists reaches only offsets between 0 and `isize::MAX`; strides along dimensions of one element or
//!   none are never multiplied.

#![deny(clippy::arithmetic_side_effects)]

use super::error::{Error, Result};
use std::fmt;

/// The largest number of elements, and the largest offset.
pub const LARGEST: usize = isize::MAX as usize;

/// A whole number on its way to a size: exact, or *too large* for good once a step leaves 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole(Option<i128>);

impl From<i64> for Whole {
    fn from(x: i64) -> Whole {
        Whole(Some(i128::from(x)))
    }
}
impl From<usize> for Whole {
    fn from(x: usize) -> Whole {
        Whole(i128::try_from(x).ok())
    }
}
impl From<isize> for Whole {
    fn from(x: isize) -> Whole {
        Whole(i128::try_from(x).ok())
    }
}

impl Whole {
    fn with(self, other: Whole, f: impl FnOnce(i128, i128) -> Option<i128>) -> Whole {
        Whole(self.0.zip(other.0).and_then(|(a, b)| f(a, b)))
    }
    #[must_use]
    pub fn plus(self, other: impl Into<Whole>) -> Whole {
        self.with(other.into(), i128::checked_add)
    }
    #[must_use]
    pub fn minus(self, other: impl Into<Whole>) -> Whole {
        self.with(other.into(), i128::checked_sub)
    }
    #[must_use]
    pub fn times(self, other: impl Into<Whole>) -> Whole {
        self.with(other.into(), i128::checked_mul)
    }
    /// The quotient rounded towards minus infinity, for a positive divisor; too large for any other.
    #[must_use]
    pub fn div_floor(self, by: impl Into<Whole>) -> Whole {
        self.with(by.into(), |a, b| if b > 0 { a.checked_div_euclid(b) } else { None })
    }
    /// The quotient rounded towards infinity.
    #[must_use]
    pub fn div_ceil(self, by: impl Into<Whole>) -> Whole {
        let by = by.into();
        self.plus(by).minus(1i64).div_floor(by)
    }
    /// The number, if it can be a size or an offset.
    pub fn size(self) -> Option<usize> {
        self.0.and_then(|x| usize::try_from(x).ok()).filter(|x| *x <= LARGEST)
    }
    /// The number, if it can be a stride or a shift.
    pub fn signed(self) -> Option<isize> {
        self.0.and_then(|x| isize::try_from(x).ok())
    }
    /// Whether it is below 0; what is too large is not.
    pub fn is_negative(self) -> bool {
        self.0.is_some_and(|x| x < 0)
    }
    /// The number as a size.
    ///
    /// # Errors
    /// `Runtime` if it is negative or too large.
    pub fn size_of(self, op: &str, what: &str) -> Result<usize> {
        self.size().ok_or_else(|| {
            Error::runtime(format!("{op}(): {what} would be {self}, expected a number between 0 and {LARGEST}"))
        })
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(x) => write!(f, "{x}"),
            None => f.write_str("more than 2^127"),
        }
    }
}

/// The product of the sizes with 1 for 0, if it is at most [`LARGEST`]: then every product of some of them is.
#[inline]
pub fn volume(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1))).filter(|&n| n <= LARGEST)
}

/// The number of elements of a shape whose [`volume`] exists.
#[inline]
pub fn elements(sizes: &[usize]) -> Option<usize> {
    let (mut n, mut any) = (1usize, 1);
    for &d in sizes {
        n = n.checked_mul(d.max(1))?;
        any = d.min(any);
    }
    if n <= LARGEST { Some(if any == 0 { 0 } else { n }) } else { None }
}

/// The sum of sizes.
///
/// # Errors
/// `Runtime` if it is too large for a size.
pub fn total(op: &str, what: &str, sizes: impl IntoIterator<Item = usize>) -> Result<usize> {
    sizes.into_iter().fold(Whole::from(0usize), |sum, n| sum.plus(n)).size_of(op, what)
}

/// The error for an index that names no element of a dimension; `wrap` if negative ones count from the end.
#[cold]
pub fn out_of_bounds(index: i64, dim: usize, size: usize, wrap: bool) -> Error {
    let valid = match (size, wrap) {
        (0, _) => "it has no elements to index".to_string(),
        (n, true) => format!("valid indices are -{n} to {}", n.saturating_sub(1)),
        (n, false) => format!("valid indices are 0 to {}", n.saturating_sub(1)),
    };
    Error::index(format!("index {index} is out of bounds for dimension {dim} with size {size}; {valid}"))
}

/// The member of a dimension of size `n` that an index names; negative ones count from the end.
#[inline]
pub fn index(i: i64, n: usize) -> Option<usize> {
    let (n, at) = (n as u64, i.unsigned_abs());
    match i {
        0.. if at < n => Some(at as usize),
        ..0 if at <= n => Some(n.wrapping_sub(at) as usize),
        _ => None,
    }
}

/// The elements `start`, `start + step`, … of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub start: usize,
    pub len: usize,
    pub step: isize,
}

/// The slice `start:stop:step` of a dimension of size `n`, as Python reads it.
///
/// # Errors
/// `Value` for a step that is not positive.
pub fn slice(start: Option<i64>, stop: Option<i64>, step: Option<i64>, n: usize) -> Result<Slice> {
    let (n, step) = (n as i64, step.unwrap_or(1));
    if step <= 0 {
        let text = format!("slice step must be positive, got {step}; use flip() to reverse a dimension");
        return Err(Error::value(text));
    }
    let clamp = |x: i64| (if x < 0 { x.saturating_add(n) } else { x }).clamp(0, n);
    let (from, to) = (start.map_or(0, clamp), stop.map_or(n, clamp));
    // Both are between 0 and n, and the step is positive.
    let len = to.saturating_sub(from).max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    Ok(Slice { start: from as usize, len: len as usize, step: step as isize })
}

/// How many windows of `size` elements, `step` apart, a dimension of size `n` holds.
pub fn windows(n: usize, size: usize, step: usize) -> usize {
    match n.checked_sub(size).and_then(|room| room.checked_div(step)) {
        Some(last) => last.saturating_add(1),
        None => 0,
    }
}

/// The size of a dimension with elements put before and after it; negative numbers crop. `None` if it is no size.
pub fn padded(n: usize, before: i64, after: i64) -> Option<usize> {
    Whole::from(n).plus(before).plus(after).size()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extreme() -> impl Strategy<Value = i64> {
        let edge = |x: i64| (-2i64..=2).prop_map(move |d| x.saturating_add(d));
        prop_oneof![
            -9i64..9,
            edge(1 << 31),
            edge(1 << 32),
            edge(1 << 53),
            edge(1 << 62),
            edge(-(1 << 62)),
            edge(i64::MAX),
            edge(i64::MIN),
            any::<i64>()
        ]
    }

    proptest! {
        #[test]
        fn whole_numbers_are_exact_or_too_large(a in extreme(), b in extreme(), c in extreme()) {
            let exact = i128::from(a) * i128::from(b) - i128::from(c);
            prop_assert_eq!(Whole::from(a).times(b).minus(c), Whole(Some(exact)));
            let size = usize::try_from(exact).ok().filter(|n| *n <= LARGEST);
            prop_assert_eq!(Whole::from(a).times(b).minus(c).size(), size);
            let far = Whole::from(a).times(b).times(c).times(a).times(b);
            prop_assert!(far.minus(far).0.is_none_or(|x| x == 0));
        }

        #[test]
        fn slices_are_python_s(start in extreme(), stop in extreme(), step in extreme(), n in 0usize..9) {
            let Ok(s) = slice(Some(start), Some(stop), Some(step), n) else {
                prop_assert!(step <= 0);
                return Ok(());
            };
            let bound = |x: i64| if x < 0 { (i128::from(x) + n as i128).max(0) } else { i128::from(x).min(n as i128) };
            let want: Vec<i128> = (0..n as i128)
                .filter(|&i| i >= bound(start) && i < bound(stop) && (i - bound(start)) % i128::from(step) == 0)
                .collect();
            let got: Vec<i128> = (0..s.len as i128).map(|i| s.start as i128 + i * s.step as i128).collect();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn indices_are_python_s(i in extreme(), n in 0usize..9) {
            let want = if i < 0 { i128::from(i) + n as i128 } else { i128::from(i) };
            let want = usize::try_from(want).ok().filter(|&at| at < n);
            prop_assert_eq!(index(i, n), want);
        }

        #[test]
        fn volumes_bound_every_product(sizes in prop::collection::vec(extreme().prop_map(|x| x.unsigned_abs() as usize), 0..4)) {
            let exact = sizes.iter().try_fold(1u128, |n, &d| n.checked_mul(d.max(1) as u128));
            let fits = exact.filter(|n| *n <= LARGEST as u128).map(|n| n as usize);
            prop_assert_eq!(volume(&sizes), fits);
        }
    }

    #[test]
    fn what_left_128_bits_stays_too_large() {
        let far = Whole::from(i64::MAX).times(i64::MAX).times(i64::MAX);
        assert_eq!((far.minus(far).size(), far.div_floor(i64::MAX).size()), (None, None));
        assert!(far.size_of("f", "size").unwrap_err().message().contains("more than 2^127"));
    }

    #[test]
    fn windows_and_pads_are_counted() {
        assert_eq!((windows(5, 3, 2), windows(5, 6, 1), windows(5, 0, LARGEST), windows(0, 0, 1)), (2, 0, 1, 1));
        assert_eq!((padded(3, -1, 2), padded(3, -4, 0), padded(3, i64::MAX, 0)), (Some(4), None, None));
    }
}
