//! Sorting packed keys.

use super::key::Packed;

/// Below this many elements comparison sorting wins.
const SMALL: usize = 600;
/// Bits of a digit. Wider ones save passes, but then more places are written to at once than the TLB holds.
const BITS: u32 = 8;

/// Sorts `data`, whose keys have `bits` significant bits. `spare` is scratch of the same length.
pub fn sort<P: Packed>(data: &mut [P], spare: &mut [P], bits: u32) {
    let small = if P::LOW == 32 { SMALL } else { 3 * SMALL };
    if data.len() < small && !(bits <= 8 && data.len() > 64) {
        data.sort_unstable();
    } else {
        by_digits(data, spare, bits);
    }
}

/// Least significant digit first; each pass keeps the order of equal digits, and the indices start in order.
fn by_digits<P: Packed>(data: &mut [P], spare: &mut [P], bits: u32) {
    let radix = 1 << BITS;
    let passes = bits.div_ceil(BITS) as usize;
    let mut counts = vec![0usize; radix * passes];
    for &x in &*data {
        for (pass, count) in counts.chunks_exact_mut(radix).enumerate() {
            count[x.digit(P::LOW + pass as u32 * BITS, BITS)] += 1;
        }
    }
    let (mut from, mut to) = (data, spare);
    let mut moved = false;
    for (pass, count) in counts.chunks_exact_mut(radix).enumerate() {
        // All have the same digit, as the high ones of small integers.
        if count.contains(&from.len()) {
            continue;
        }
        let mut next = 0;
        for c in count.iter_mut() {
            (*c, next) = (next, next + *c);
        }
        for &x in &*from {
            let place = &mut count[x.digit(P::LOW + pass as u32 * BITS, BITS)];
            to[*place] = x;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        moved = !moved;
    }
    if moved {
        to.copy_from_slice(from);
    }
}

/// Puts the `k` smallest of the stream into `best`, in order. `best` keeps at most a few times `k` elements.
pub fn smallest<P: Packed>(stream: impl Iterator<Item = P>, k: usize, best: &mut Vec<P>) {
    best.clear();
    if k == 0 {
        return;
    }
    let room = (4 * k).max(256);
    let mut limit = None;
    for x in stream {
        if limit.is_some_and(|limit| x >= limit) {
            continue;
        }
        best.push(x);
        // Selecting costs as much as it reads, so it waits until there is four times as much as is needed.
        if best.len() == room {
            limit = Some(*best.select_nth_unstable(k - 1).1);
            best.truncate(k);
        }
    }
    if best.len() > k {
        best.select_nth_unstable(k - 1);
        best.truncate(k);
    }
    best.sort_unstable();
}
