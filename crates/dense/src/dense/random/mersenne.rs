//! MT19937: Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
//! generator" (1998), with their initialisation of 2002.

/// Words of the state.
pub const N: usize = 624;
const M: usize = 397;
const MATRIX: u32 = 0x9908_b0df;
const UPPER: u32 = 0x8000_0000;

/// A source of 32-bit words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mersenne {
    pub state: [u32; N],
    /// The next word of the state to give.
    pub next: usize,
    /// One more than the words that are left of it.
    pub left: usize,
}

impl Mersenne {
    pub fn new(seed: u32) -> Mersenne {
        let mut state = [seed; N];
        for j in 1..N {
            let before = state[j - 1];
            state[j] = 1_812_433_253_u32.wrapping_mul(before ^ before >> 30).wrapping_add(j as u32);
        }
        Mersenne { state, next: 0, left: 1 }
    }

    /// Fills `out` with the next words.
    pub fn fill(&mut self, mut out: &mut [u32]) {
        while !out.is_empty() {
            if self.left <= 1 {
                self.twist();
            }
            let (now, later) = out.split_at_mut(out.len().min(self.left - 1));
            for (o, &word) in now.iter_mut().zip(&self.state[self.next..]) {
                *o = tempered(word);
            }
            self.next += now.len();
            self.left -= now.len();
            out = later;
        }
    }

    /// The next state, in parts that read nothing which they have just written.
    fn twist(&mut self) {
        const K: usize = N - M;
        let s = &mut self.state;
        for i in 0..K {
            s[i] = s[i + M] ^ mixed(s[i], s[i + 1]);
        }
        for i in K..N - 1 {
            s[i] = s[i - K] ^ mixed(s[i], s[i + 1]);
        }
        s[N - 1] = s[M - 1] ^ mixed(s[N - 1], s[0]);
        (self.next, self.left) = (0, N + 1);
    }
}

#[inline(always)]
fn mixed(a: u32, b: u32) -> u32 {
    let y = a & UPPER | b & !UPPER;
    y >> 1 ^ if b & 1 == 0 { 0 } else { MATRIX }
}

#[inline(always)]
fn tempered(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c_5680;
    y ^= y << 15 & 0xefc6_0000;
    y ^ y >> 18
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the C++ standard says of `std::mt19937`: the 10,000th word from the default seed.
    #[test]
    fn the_ten_thousandth_word_is_that_of_the_standard() {
        let mut words = vec![0; 10_000];
        Mersenne::new(5489).fill(&mut words);
        assert_eq!(words[9_999], 4_123_659_995);
    }

    #[test]
    fn pieces_are_the_whole() {
        let mut whole = vec![0; 3_000];
        Mersenne::new(7).fill(&mut whole);
        let (mut source, mut pieces) = (Mersenne::new(7), Vec::new());
        for n in [1, 0, 2, 620, 1, 1, 623, 624, 625, 503] {
            let mut piece = vec![0; n];
            source.fill(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces, whole);
    }
}
