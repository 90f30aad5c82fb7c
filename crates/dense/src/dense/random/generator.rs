//! Where the seed and the position live.

use super::philox::LANES;
use crate::bail;
use crate::base::Result;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A source of random numbers: a seed, and how many groups of words were used. Shared freely between threads.
///
/// Draws that race take different words, in no particular order; seeding while another thread draws gives that
/// thread words of the old or of the new seed. Nothing here waits, so a fork finds it usable.
#[derive(Debug)]
pub struct Generator {
    seed: AtomicU64,
    offset: AtomicU64,
}

/// The words that a draw has for itself: from group `first` on.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    pub key: [u32; 2],
    pub first: u64,
}

impl Stream {
    /// The counter of element `i`, for methods that use a sequence of words per element.
    pub fn element(self, i: usize) -> u64 {
        self.first.wrapping_mul(LANES as u64).wrapping_add(i as u64)
    }
}

/// The seed of a generator made without one, as in PyTorch.
const DEFAULT_SEED: u64 = 67_280_421_310_721;
const STATE_BYTES: usize = 16;

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { seed: seed.into(), offset: 0.into() }
    }

    /// Starts again with this seed.
    pub fn manual_seed(&self, seed: u64) {
        self.seed.store(seed, Relaxed);
        self.offset.store(0, Relaxed);
    }

    /// Starts again with a seed that nobody can foresee, and returns it.
    pub fn seed(&self) -> u64 {
        let seed = entropy();
        self.manual_seed(seed);
        seed
    }

    /// The seed in use.
    pub fn initial_seed(&self) -> u64 {
        self.seed.load(Relaxed)
    }

    /// How many groups of 64 words were used since the seeding.
    pub fn offset(&self) -> u64 {
        self.offset.load(Relaxed)
    }

    /// Moves to this position: draws repeat what followed it before.
    pub fn set_offset(&self, offset: u64) {
        self.offset.store(offset, Relaxed);
    }

    /// Seed and position, as bytes.
    pub fn get_state(&self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        bytes[..8].copy_from_slice(&self.initial_seed().to_le_bytes());
        bytes[8..].copy_from_slice(&self.offset().to_le_bytes());
        bytes
    }

    /// Takes what [`Generator::get_state`] gave.
    ///
    /// # Errors
    /// `Runtime` if the length is wrong.
    pub fn set_state(&self, state: &[u8]) -> Result<()> {
        let (seed, offset) = match state.split_first_chunk::<8>() {
            Some((seed, rest)) if rest.len() == 8 => (seed, rest),
            _ => bail!(
                Runtime,
                "set_state(): RNG state is wrong size: expected {STATE_BYTES} bytes, got {}",
                state.len()
            ),
        };
        let offset = offset.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
        self.seed.store(u64::from_le_bytes(*seed), Relaxed);
        self.offset.store(offset, Relaxed);
        Ok(())
    }

    /// The same seed and position, from here on independent.
    pub fn clone_state(&self) -> Generator {
        Generator { seed: self.initial_seed().into(), offset: self.offset().into() }
    }

    /// Takes the next `groups` groups of words.
    pub(super) fn reserve(&self, groups: u64) -> Stream {
        let first = self.offset.fetch_add(groups, Relaxed);
        Stream { key: self.key(), first }
    }

    /// The words from the present position on, without moving it.
    pub(super) fn peek(&self) -> Stream {
        Stream { key: self.key(), first: self.offset() }
    }

    fn key(&self) -> [u32; 2] {
        let seed = self.initial_seed();
        [seed as u32, (seed >> 32) as u32]
    }
}

impl Default for Generator {
    fn default() -> Self {
        Generator::new(DEFAULT_SEED)
    }
}

/// The generator that operators use when they are given none. Seeded with an unforeseeable number.
pub fn default_generator() -> &'static Arc<Generator> {
    static DEFAULT: OnceLock<Arc<Generator>> = OnceLock::new();
    DEFAULT.get_or_init(|| Arc::new(Generator::new(entropy())))
}

/// Seeds the default generator.
pub fn manual_seed(seed: u64) {
    default_generator().manual_seed(seed);
}

/// 53 random bits, so that the seed survives a trip through a float; from the system's source that also keys hash
/// maps, from the clock and from the process number.
fn entropy() -> u64 {
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    if let Ok(t) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        hasher.write_u128(t.as_nanos());
    }
    hasher.write_u32(std::process::id());
    hasher.finish() >> 11
}
