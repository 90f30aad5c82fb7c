//! Where the seed and the position live.

use super::math::SampleFloat;
use super::mersenne::{Mersenne, N};
use crate::bail;
use crate::base::Result;
use crate::dense::memory::lock::Locked;
use std::cell::UnsafeCell;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, OnceLock};

/// A source of random numbers: a seed, and the position in its sequence. Shared freely between threads.
///
/// Draws that race take different words, in no particular order; seeding while another thread draws gives that thread
/// words of the old or of the new seed.
pub struct Generator(UnsafeCell<Engine>);

// SAFETY: the engine is reached in `Generator::with` only, by one thread at a time.
unsafe impl Sync for Generator {}

/// Held while a generator moves, by all of them: a fork then waits for one moment only. No critical section is long.
static TURN: Locked<()> = Locked::new(());

/// Sequence, seed and the second of the last pair of normal numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Engine {
    seed: u64,
    words: Mersenne,
    other: Option<f64>,
}

/// Where a generator stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Position(Box<Engine>);

impl Engine {
    fn new(seed: u64) -> Engine {
        Engine { seed, words: Mersenne::new(seed as u32), other: None }
    }

    fn pair(&mut self) -> [u32; 2] {
        let mut pair = [0; 2];
        self.words.fill(&mut pair);
        pair
    }

    /// Uniform in [0, 1), in steps of `2^-53`.
    pub fn uniform(&mut self) -> f64 {
        f64::unit(&self.pair())
    }

    /// Standard normal, by Box and Muller: every other number is the second of a pair.
    pub fn normal(&mut self) -> f64 {
        if let Some(other) = self.other.take() {
            return other;
        }
        let (turn, share) = (self.uniform(), self.uniform());
        let radius = (-2.0 * SampleFloat::ln(1.0 - share)).sqrt();
        let (s, c) = turn.turn();
        self.other = Some(radius * s);
        radius * c
    }
}

/// The seed of a generator made without one, as in PyTorch.
const DEFAULT_SEED: u64 = 67_280_421_310_721;

impl Generator {
    pub fn new(seed: u64) -> Generator {
        watch_forks();
        Generator(UnsafeCell::new(Engine::new(seed)))
    }

    /// Alone with the engine, for some microseconds. `f` must not panic.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Engine) -> R) -> R {
        // SAFETY: it is this thread's turn, and nothing is kept of the reference.
        TURN.with(|()| f(unsafe { &mut *self.0.get() }))
    }

    /// The next words of the sequence.
    pub(super) fn fill(&self, out: &mut [u32]) {
        self.with(|e| e.words.fill(out));
    }

    /// Starts again with this seed.
    pub fn manual_seed(&self, seed: u64) {
        let engine = Engine::new(seed);
        self.with(|e| *e = engine);
    }

    /// Starts again with a seed that nobody can foresee, and returns it.
    pub fn seed(&self) -> u64 {
        let seed = entropy();
        self.manual_seed(seed);
        seed
    }

    /// The seed in use.
    pub fn initial_seed(&self) -> u64 {
        self.with(|e| e.seed)
    }

    /// Where it stands, for [`Generator::restore`].
    pub fn position(&self) -> Position {
        Position(Box::new(self.engine()))
    }

    /// Draws from now on repeat what followed this position.
    pub fn restore(&self, position: &Position) {
        self.with(|e| e.clone_from(&position.0));
    }

    /// Seed and position, in the bytes of PyTorch's generator.
    pub fn get_state(&self) -> Vec<u8> {
        bytes_of(&self.engine())
    }

    /// Takes what [`Generator::get_state`] gave.
    ///
    /// # Errors
    /// `Runtime` if the length is wrong, or if it is no position.
    pub fn set_state(&self, state: &[u8]) -> Result<()> {
        let engine = engine_of(state)?;
        self.with(|e| *e = engine);
        Ok(())
    }

    /// The same seed and position, from here on independent.
    pub fn clone_state(&self) -> Generator {
        Generator(UnsafeCell::new(self.engine()))
    }

    fn engine(&self) -> Engine {
        self.with(|e| e.clone())
    }
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Generator(seed {})", self.initial_seed())
    }
}

impl Default for Generator {
    fn default() -> Self {
        Generator::new(DEFAULT_SEED)
    }
}

/// PyTorch's layout: the seed, the words left and whether there was a seed (32 bits each), the next word, all words in 64
/// bits each, three numbers of which the second is a kept normal one, whether it is there, and a kept float.
const STATE_BYTES: usize = 8 + 4 + 4 + 8 + 8 * N + 3 * 8 + 8 + 8;
const NORMAL: usize = 24 + 8 * N + 8;
const HAS_NORMAL: usize = NORMAL + 16;

fn bytes_of(e: &Engine) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(STATE_BYTES);
    bytes.extend(e.seed.to_le_bytes());
    bytes.extend((e.words.left as u32).to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((e.words.next as u64).to_le_bytes());
    bytes.extend(e.words.state.iter().flat_map(|&w| u64::from(w).to_le_bytes()));
    bytes.resize(NORMAL, 0);
    bytes.extend(e.other.unwrap_or(0.0).to_le_bytes());
    bytes.resize(HAS_NORMAL, 0);
    bytes.push(u8::from(e.other.is_some()));
    bytes.resize(STATE_BYTES, 0);
    bytes
}

fn engine_of(state: &[u8]) -> Result<Engine> {
    if state.len() != STATE_BYTES {
        bail!(Runtime, "set_state(): RNG state is wrong size: expected {STATE_BYTES} bytes, got {}", state.len());
    }
    let long = |at: usize| state[at..at + 8].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    let (left, next) = (long(8) as u32 as usize, long(16));
    let mut words = Mersenne::new(0);
    for (i, w) in words.state.iter_mut().enumerate() {
        *w = long(24 + 8 * i) as u32;
    }
    let fits = (1..=N).contains(&left) && next <= (N + 1 - left) as u64;
    if !fits || words.state.iter().all(|&w| w == 0) {
        bail!(
            Runtime,
            "set_state(): RNG state is invalid: these bytes are no state of a generator, got left={left}, next={next}"
        );
    }
    (words.left, words.next) = (left, next as usize);
    let other = (state[HAS_NORMAL] != 0).then(|| f64::from_bits(long(NORMAL)));
    Ok(Engine { seed: long(0), words, other })
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

/// Arranges that a process forks while no generator moves: a child's copy of the lock is free.
#[cfg(all(unix, not(miri)))]
fn watch_forks() {
    extern "C" fn before() {
        TURN.acquire();
    }
    extern "C" fn after() {
        TURN.release();
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the handlers only set and clear a flag.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(after), Some(after));
    });
}

#[cfg(not(all(unix, not(miri))))]
fn watch_forks() {}
