//! Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Counters in a group.
pub const LANES: usize = 16;
/// The words of a group: word `r` of the counter in lane `l` is `[r][l]`.
pub type Words = [[u32; LANES]; 4];

/// The four words of one counter.
#[inline(always)]
pub fn block(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let a = u64::from(MULTIPLIERS[0]) * u64::from(c[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(c[2]);
        c = [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c
}

/// The words of the 16 counters of group `index`.
#[inline(always)]
pub fn group(key: [u32; 2], index: u64) -> Words {
    let first = index.wrapping_mul(LANES as u64);
    let (low, high) = (first as u32, (first >> 32) as u32);
    let mut out = [[0; LANES]; 4];
    let [o0, o1, o2, o3] = &mut out;
    for l in 0..LANES {
        // The low four bits of `first` are zero: no carry.
        let w = block([low | l as u32, high, 0, 0], key);
        (o0[l], o1[l], o2[l], o3[l]) = (w[0], w[1], w[2], w[3]);
    }
    out
}

/// An endless sequence of 64-bit words that belongs to one element: for methods that reject.
pub struct Sequence {
    key: [u32; 2],
    counter: [u32; 4],
    words: [u32; 4],
    used: bool,
}

impl Sequence {
    /// The sequence of the counter `element`; the third word of the counter tells its blocks apart.
    pub fn new(key: [u32; 2], element: u64) -> Sequence {
        let counter = [element as u32, (element >> 32) as u32, 0, 0];
        Sequence { key, counter, words: [0; 4], used: true }
    }

    pub fn word(&mut self) -> u64 {
        self.used = !self.used;
        if self.used {
            return u64::from(self.words[2]) | u64::from(self.words[3]) << 32;
        }
        self.words = block(self.counter, self.key);
        self.counter[2] = self.counter[2].wrapping_add(1);
        u64::from(self.words[0]) | u64::from(self.words[1]) << 32
    }

    /// Uniform in the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) * f64::from_bits((1023 - 52) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Random123's `kat_vectors`.
    #[test]
    fn known_answers() {
        let f = u32::MAX;
        assert_eq!(block([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(block([f; 4], [f; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            block([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn groups_and_sequences_are_made_of_blocks() {
        let (key, index) = ([7, 8], 0x0031_2345_6789_u64);
        let words = group(key, index);
        for l in 0..LANES {
            let c = index * 16 + l as u64;
            let b = block([c as u32, (c >> 32) as u32, 0, 0], key);
            assert_eq!(words.map(|row| row[l]), b);
        }
        let mut s = Sequence::new(key, 5);
        let b: Vec<u32> = [0, 1].iter().flat_map(|&i| block([5, 0, i, 0], key)).collect();
        for pair in b.chunks(2) {
            assert_eq!(s.word(), u64::from(pair[0]) | u64::from(pair[1]) << 32);
        }
    }
}
