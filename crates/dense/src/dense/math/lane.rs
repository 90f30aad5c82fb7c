//! How elements in memory become the variables of a pointwise body, and back.

use super::fp::Fp;

/// A value that a pointwise body computes with.
pub trait Lane: Copy {
    /// What it is loaded from and stored as.
    type Mem: Copy + Default;
    /// The same kind of value in the careful mode that redoes flagged elements one by one.
    type Exact: Lane<Mem = Self::Mem>;
    /// Whether flagged elements are to be redone; otherwise a flag is a fault that the operator reports.
    const HARD: bool;
    fn load(x: Self::Mem) -> Self;
    fn store(self) -> Self::Mem;
    /// Zero of the same kind.
    #[inline(always)]
    fn blank(self) -> Self {
        Self::load(Self::Mem::default())
    }
    /// Whether the fast path could not compute this value.
    fn flag(self) -> bool;
}

/// A float in a body. `F`: fused multiply-add is an instruction. `E`: the careful mode, where functions with a
/// restricted fast path (large arguments of `sin`) call the scalar function instead.
#[derive(Clone, Copy)]
pub struct V<T, const F: bool, const E: bool> {
    pub(super) x: T,
    pub(super) hard: bool,
}

impl<T: Fp, const F: bool, const E: bool> Lane for V<T, F, E> {
    type Mem = T;
    type Exact = V<T, F, true>;
    const HARD: bool = !E;
    #[inline(always)]
    fn load(x: T) -> Self {
        V { x, hard: false }
    }
    #[inline(always)]
    fn store(self) -> T {
        self.x
    }
    #[inline(always)]
    fn flag(self) -> bool {
        self.hard
    }
}

/// Bools are read as bytes, so that a foreign byte other than 0 and 1 is only true.
impl Lane for bool {
    type Mem = u8;
    type Exact = bool;
    const HARD: bool = false;
    #[inline(always)]
    fn load(x: u8) -> bool {
        x != 0
    }
    #[inline(always)]
    fn store(self) -> u8 {
        self as u8
    }
    #[inline(always)]
    fn flag(self) -> bool {
        false
    }
}

/// An element of which only the width is known, for bodies that move values.
#[derive(Clone, Copy)]
pub struct Raw<T>(T);

impl<T: Copy + Default> Lane for Raw<T> {
    type Mem = T;
    type Exact = Self;
    const HARD: bool = false;
    #[inline(always)]
    fn load(x: T) -> Self {
        Raw(x)
    }
    #[inline(always)]
    fn store(self) -> T {
        self.0
    }
    #[inline(always)]
    fn flag(self) -> bool {
        false
    }
}
