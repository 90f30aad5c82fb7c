//! Size classes: a handful of sizes per power of two, so that freed blocks fit again.
//!
//! Up to 64 bytes in steps of 16, then four classes per power of two up to 1 MiB (at most 25 % is lost), then eight
//! (12.5 %). Every multiple of 64 falls into a class whose size is a multiple of 64, so buffers stay aligned.

/// Classes of blocks carved from slabs, up to [`SMALL_MAX`] bytes.
pub const SMALL: usize = 28;
pub const SMALL_MAX: usize = 4096;
/// Classes of blocks that threads keep in lists of their own, up to [`LOCAL_MAX`] bytes.
pub const LOCAL: usize = 60;
pub const LOCAL_MAX: usize = 1 << 20;
/// All classes.
pub const ALL: usize = LOCAL + (LARGE_BITS - 20) * 8;
/// Blocks are smaller than two to this power: more than any machine can map.
const LARGE_BITS: usize = 47;

/// The class of `n` bytes, for `1 <= n <= LOCAL_MAX`.
#[inline]
pub const fn local_class(n: usize) -> usize {
    let m = n - 1;
    if n <= 64 {
        return m / 16;
    }
    // m has its highest bit at k >= 6; the two bits below it select the quarter.
    let k = m.ilog2() as usize;
    (k - 6) * 4 + (m >> (k - 2))
}

/// The class of `n > LOCAL_MAX` bytes, if there is one.
#[inline]
pub const fn large_class(n: usize) -> Option<usize> {
    let m = n - 1;
    let k = m.ilog2() as usize;
    if k >= LARGE_BITS { None } else { Some(LOCAL + (k - 20) * 8 + (m >> (k - 3)) - 8) }
}

/// Bytes of the blocks of a class.
#[inline]
pub const fn class_size(class: usize) -> usize {
    if class < 4 {
        (class + 1) * 16
    } else if class < LOCAL {
        (class % 4 + 5) << (class / 4 + 3)
    } else {
        let c = class - LOCAL;
        (c % 8 + 9) << (c / 8 + 17)
    }
}

/// How many blocks of a local class a thread keeps at most.
pub const fn local_limit(class: usize) -> u32 {
    let size = class_size(class);
    let bytes = if class < SMALL { 64 << 10 } else { 512 << 10 };
    let wanted = bytes / size;
    let most = if class < SMALL { 512 } else { 32 };
    if wanted < 2 {
        2
    } else if wanted > most {
        most as u32
    } else {
        wanted as u32
    }
}

const _: () = assert!(class_size(SMALL - 1) == SMALL_MAX && class_size(LOCAL - 1) == LOCAL_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn class(n: usize) -> usize {
        if n <= LOCAL_MAX { local_class(n) } else { large_class(n).unwrap() }
    }

    #[test]
    fn classes_are_tight_and_in_order() {
        assert_eq!((local_class(SMALL_MAX), local_class(SMALL_MAX + 1)), (SMALL - 1, SMALL));
        assert_eq!((local_class(LOCAL_MAX), large_class(LOCAL_MAX + 1)), (LOCAL - 1, Some(LOCAL)));
        assert_eq!(large_class(1 << LARGE_BITS), Some(ALL - 1));
        assert_eq!(large_class((1 << LARGE_BITS) + 1), None);
        let mut previous = 0;
        for c in 0..ALL {
            let size = class_size(c);
            assert!(size > previous);
            assert_eq!((class(size), class(previous + 1)), (c, c));
            previous = size;
        }
    }

    #[test]
    fn multiples_of_64_stay_aligned_and_waste_is_bounded() {
        for n in (64..300_000).step_by(64) {
            let size = class_size(class(n));
            assert!(size >= n && size.is_multiple_of(64) && size * 4 <= n * 5 + 64 * 4, "{n} {size}");
        }
        for n in [(1 << 20) + 1, 40 << 20, (40 << 20) + 1, 123_456_789] {
            let size = class_size(class(n));
            assert!(size >= n && size.is_multiple_of(4096) && size * 8 <= n * 9 + 8, "{n} {size}");
        }
    }
}
