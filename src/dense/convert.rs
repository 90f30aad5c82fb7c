//! Rows that convert between dtypes.

use super::copy;
use super::pointwise::Row;
use crate::base::DType;
use crate::match_dtype;

/// The row that converts elements of one dtype to another.
pub fn row(from: DType, to: DType) -> Row {
    match_dtype!(from, S => match_dtype!(to, D => plain::<S, D>))
}

/// # Safety
/// As for [`Row`].
unsafe fn plain<S: copy::Convert, D: copy::Convert>(
    dst: *mut u8,
    a: *const u8,
    _: *const u8,
    _: *const u8,
    n: usize,
    _: u32,
) -> bool {
    // SAFETY: the contract of rows.
    let (dst, a) =
        unsafe { (std::slice::from_raw_parts_mut(dst.cast::<D>(), n), std::slice::from_raw_parts(a.cast::<S>(), n)) };
    for (o, &x) in dst.iter_mut().zip(a) {
        *o = copy::convert(x);
    }
    false
}
