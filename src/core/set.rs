//! Sets of arguments or outputs of custom functions, which may have any number of them.

use super::primitive::Mask;

/// A set of positions: one word for those below 64, and more words only if there are others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    low: u64,
    high: Option<Box<[u64]>>,
}

impl Set {
    /// The empty set.
    pub const NONE: Set = Set { low: 0, high: None };

    /// Whether it holds a position.
    #[inline]
    pub fn has(&self, i: usize) -> bool {
        match i {
            0..64 => self.low >> i & 1 == 1,
            _ => self.high.as_ref().and_then(|h| h.get(i / 64 - 1)).is_some_and(|w| w >> (i % 64) & 1 == 1),
        }
    }

    /// Adds a position.
    #[inline]
    pub fn add(&mut self, i: usize) {
        match i {
            0..64 => self.low |= 1 << i,
            _ => *self.word(i / 64 - 1) |= 1 << (i % 64),
        }
    }

    #[cold]
    fn word(&mut self, k: usize) -> &mut u64 {
        let mut words = self.high.take().unwrap_or_default().into_vec();
        words.resize(words.len().max(k + 1), 0);
        &mut self.high.insert(words.into_boxed_slice())[k]
    }

    /// Whether it holds no position.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_none()
    }

    /// Adds the positions of another set.
    pub fn join(&mut self, other: &Set) {
        self.low |= other.low;
        for (k, w) in other.high.iter().flat_map(|h| h.iter()).enumerate() {
            *self.word(k) |= w;
        }
    }

    /// The positions of a mask, whose last bit stands for all of `0..n` from 63 on: `has` tells these apart.
    #[doc(hidden)]
    #[inline]
    pub fn of_mask(mask: Mask, n: usize, has: impl Fn(usize) -> bool) -> Set {
        if n < 64 {
            return Set { low: mask, high: None };
        }
        (0..n).filter(|&i| if i < 63 { mask >> i & 1 == 1 } else { mask >> 63 == 1 && has(i) }).collect()
    }
}

impl FromIterator<usize> for Set {
    #[inline]
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Set {
        let mut set = Set::NONE;
        positions.into_iter().for_each(|i| set.add(i));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_is_one_of_its_own() {
        for i in [0, 1, 62, 63, 64, 65, 127, 128, 500] {
            let one: Set = [i].into_iter().collect();
            assert!((0..600).all(|k| one.has(k) == (k == i)) && !one.is_empty());
            let mut both: Set = [3].into_iter().collect();
            both.join(&one);
            assert!((0..600).all(|k| both.has(k) == (k == i || k == 3)));
        }
        assert!(Set::NONE.is_empty() && !Set::NONE.has(70));
    }

    #[test]
    fn masks_share_their_last_bit() {
        assert_eq!(Set::of_mask(0b101, 3, |_| false), [0, 2].into_iter().collect());
        let set = Set::of_mask(1 << 63 | 2, 80, |i| i == 63 || i == 70);
        assert!((0..90).all(|i| set.has(i) == [1, 63, 70].contains(&i)));
    }
}
