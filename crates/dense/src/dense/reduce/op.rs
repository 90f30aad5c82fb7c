//! What a reduction folds with: an accumulator type, a neutral element and an associative join.

use num_complex::Complex;
use std::marker::PhantomData;

/// A fold over accumulators of one type. `join` is associative up to rounding.
pub trait Op: 'static {
    type A: Copy + Send + Sync + 'static;
    const START: Self::A;
    fn join(a: Self::A, b: Self::A) -> Self::A;
}

pub struct Sum<T>(PhantomData<T>);
pub struct Prod<T>(PhantomData<T>);
/// Greatest element; NaN wins.
pub struct Max<T>(PhantomData<T>);
/// Least element; NaN wins.
pub struct Min<T>(PhantomData<T>);

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Op for Sum<$t> {
            type A = $t;
            const START: $t = 0;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { a.wrapping_add(b) }
        }
        impl Op for Prod<$t> {
            type A = $t;
            const START: $t = 1;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { a.wrapping_mul(b) }
        }
        impl Op for Max<$t> {
            type A = $t;
            const START: $t = <$t>::MIN;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { if b > a { b } else { a } }
        }
        impl Op for Min<$t> {
            type A = $t;
            const START: $t = <$t>::MAX;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { if b < a { b } else { a } }
        }
    )*};
}
integer!(u8, i8, i16, i32, i64);

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Op for Sum<$t> {
            type A = $t;
            const START: $t = 0.0;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { a + b }
        }
        impl Op for Prod<$t> {
            type A = $t;
            const START: $t = 1.0;
            #[inline(always)]
            fn join(a: $t, b: $t) -> $t { a * b }
        }
        impl Op for Max<$t> {
            type A = $t;
            const START: $t = <$t>::NEG_INFINITY;
            // A NaN in `a` stays because no comparison with it holds; one in `b` is taken by `b != b`.
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn join(a: $t, b: $t) -> $t { if (b > a) | (b != b) { b } else { a } }
        }
        impl Op for Min<$t> {
            type A = $t;
            const START: $t = <$t>::INFINITY;
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn join(a: $t, b: $t) -> $t { if (b < a) | (b != b) { b } else { a } }
        }
    )*};
}
float!(f32, f64);

macro_rules! complex {
    ($($t:ty),*) => {$(
        impl Op for Sum<Complex<$t>> {
            type A = Complex<$t>;
            const START: Complex<$t> = Complex::new(0.0, 0.0);
            #[inline(always)]
            fn join(a: Complex<$t>, b: Complex<$t>) -> Complex<$t> { Complex::new(a.re + b.re, a.im + b.im) }
        }
        impl Op for Prod<Complex<$t>> {
            type A = Complex<$t>;
            const START: Complex<$t> = Complex::new(1.0, 0.0);
            #[inline(always)]
            fn join(a: Complex<$t>, b: Complex<$t>) -> Complex<$t> { a * b }
        }
    )*};
}
complex!(f32, f64);

/// Longest run of pushes that [`Pairwise`] can hold, as a power of two.
const DEPTH: usize = 48;

/// Joins a sequence as a balanced tree whose shape depends only on the length of the sequence.
pub struct Pairwise<O: Op> {
    stack: [O::A; DEPTH],
    count: u64,
}

impl<O: Op> Pairwise<O> {
    pub fn new() -> Self {
        Pairwise { stack: [O::START; DEPTH], count: 0 }
    }

    #[inline]
    pub fn push(&mut self, mut x: O::A) {
        let mut height = self.count.count_ones() as usize;
        for _ in 0..self.count.trailing_ones() {
            height -= 1;
            x = O::join(self.stack[height], x);
        }
        self.stack[height] = x;
        self.count += 1;
    }

    pub fn finish(&self) -> O::A {
        let height = self.count.count_ones() as usize;
        self.stack[..height].iter().rev().copied().reduce(|x, left| O::join(left, x)).unwrap_or(O::START)
    }
}

/// As [`Pairwise`] for rows of accumulators.
pub struct PairwiseRows<O: Op> {
    width: usize,
    stack: Vec<O::A>,
    count: u64,
}

impl<O: Op> PairwiseRows<O> {
    pub fn new(width: usize) -> Self {
        PairwiseRows { width, stack: Vec::new(), count: 0 }
    }

    fn join_left(&self, level: usize, row: &mut [O::A]) {
        let left = &self.stack[level * self.width..(level + 1) * self.width];
        for (x, &l) in row.iter_mut().zip(left) {
            *x = O::join(l, *x);
        }
    }

    /// Adds a row; leaves `row` in an unspecified state.
    pub fn push(&mut self, row: &mut [O::A]) {
        let mut height = self.count.count_ones() as usize;
        for _ in 0..self.count.trailing_ones() {
            height -= 1;
            self.join_left(height, row);
        }
        self.stack.truncate(height * self.width);
        self.stack.extend_from_slice(row);
        self.count += 1;
    }

    /// Writes the joined rows to `row`.
    pub fn finish(&mut self, row: &mut [O::A]) {
        row.fill(O::START);
        for level in (0..self.count.count_ones() as usize).rev() {
            self.join_left(level, row);
        }
    }
}
