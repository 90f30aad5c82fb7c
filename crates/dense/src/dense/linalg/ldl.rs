//! Factors of symmetric and Hermitian matrices that need not be definite: `P L D Lᵀ Pᵀ` with blocks of one or two in D.
//!
//! Pivots are chosen as by J. Bunch and L. Kaufman, "Some stable methods for calculating inertia and solving symmetric
//! linear systems" (1977), and packed as LAPACK's `sytrf` and `hetrf` pack those of a lower triangle. `faer` has another
//! format.

use super::batch::{self, MatrixBatch, match_scalar};
use super::scalar::{RealScalar, Scalar};
use crate::bail;
use crate::base::{Element, Result, Shape};
use crate::dense::Array;

/// The packed factors of the lower triangles of `a` [..., n, n], with zeros above; `pivots` [..., n] (int32) and `info`
/// [...] (int32; 0, or the 1-based index of the first block of D that is zero).
///
/// Where `pivots[k]` is positive, D has a block of one at k, and row k was exchanged with row `pivots[k] - 1` of those that
/// were left. Two equal negative ones stand for a block of two at k, k + 1, and for the exchange of row k + 1 with row
/// `-pivots[k] - 1`.
pub fn ldl(a: &Array, hermitian: bool) -> Result<(Array, Array, Array)> {
    batch::check_square("linalg.ldl_factor", a.form())?;
    match_scalar!(a.dtype(), T => factors::<T>(a, hermitian && T::COMPLEX))
}

fn factors<T: Scalar>(a: &Array, hermitian: bool) -> Result<(Array, Array, Array)> {
    let input = MatrixBatch::<T>::new(a);
    let (n, lead) = (input.rows, batch::lead(a));
    let mut packed = batch::new_array::<T>(a.shape().clone())?;
    let mut pivots = batch::new_array::<i32>(batch::with(&lead, &[n]))?;
    let mut info = batch::new_array::<i32>(lead)?;
    let out = batch::output::<T>(&mut packed, 2);
    let out_pivots = batch::output::<i32>(&mut pivots, 1);
    let out_info = batch::output::<i32>(&mut info, 0);
    batch::for_each(batch::count(a), n * n * n / 3, |i| {
        // SAFETY: each item is written by one task.
        unsafe {
            let x = out.at(i);
            batch::copy_in(n, n, input.at(i), x);
            for r in 0..n {
                x[r * n + r + 1..(r + 1) * n].fill(T::zero());
                if hermitian {
                    x[r * n + r] = T::of_real(x[r * n + r].re());
                }
            }
            out_info.at(i)[0] = Factoring { a: x, n, hermitian }.run(out_pivots.at(i));
        }
    });
    Ok((packed, pivots, info))
}

/// The lower triangle of a row-major matrix that is being factored.
struct Factoring<'a, T> {
    a: &'a mut [T],
    n: usize,
    hermitian: bool,
}

impl<T: Scalar> Factoring<'_, T> {
    fn at(&self, i: usize, j: usize) -> T {
        self.a[i * self.n + j]
    }
    fn set(&mut self, i: usize, j: usize, x: T) {
        self.a[i * self.n + j] = x;
    }
    fn swap(&mut self, (i, j): (usize, usize), (k, l): (usize, usize)) {
        self.a.swap(i * self.n + j, k * self.n + l);
    }
    /// An element as it stands on the other side of the diagonal.
    fn mirrored(&self, x: T) -> T {
        if self.hermitian { x.conj() } else { x }
    }
    /// The size of a diagonal element.
    fn size(&self, i: usize) -> T::Real {
        if self.hermitian { self.at(i, i).re().abs() } else { self.at(i, i).taxicab() }
    }

    fn run(&mut self, pivots: &mut [i32]) -> i32 {
        let (mut k, mut info) = (0, 0);
        while k < self.n {
            let Some((other, width)) = self.pivot(k) else {
                if info == 0 {
                    info = k as i32 + 1;
                }
                pivots[k] = k as i32 + 1;
                k += 1;
                continue;
            };
            let row = k + width - 1;
            if other != row {
                self.exchange(k, row, other);
            }
            let place = other as i32 + 1;
            if width == 1 {
                self.eliminate_one(k);
                pivots[k] = place;
            } else {
                self.eliminate_two(k);
                (pivots[k], pivots[k + 1]) = (-place, -place);
            }
            k += width;
        }
        info
    }

    /// The row that becomes the last one of the next block, and the size of the block; nothing if the column is zero.
    fn pivot(&self, k: usize) -> Option<(usize, usize)> {
        let zero = <T::Real as Element>::zero();
        let alpha = T::Real::of_f64((1.0 + 17f64.sqrt()) / 8.0);
        let diagonal = self.size(k);
        let (mut largest, mut below) = (k, zero);
        for i in k + 1..self.n {
            let x = self.at(i, k).taxicab();
            if x > below {
                (largest, below) = (i, x);
            }
        }
        let is_nan = diagonal.partial_cmp(&diagonal).is_none();
        if is_nan || diagonal.max(below) == zero {
            return None;
        }
        if diagonal >= alpha * below {
            return Some((k, 1));
        }
        let row = (k..largest).map(|j| self.at(largest, j).taxicab()).fold(zero, RealScalar::max);
        let column = (largest + 1..self.n).map(|i| self.at(i, largest).taxicab()).fold(zero, RealScalar::max);
        let beside = row.max(column);
        Some(if diagonal >= alpha * below * (below / beside) {
            (k, 1)
        } else if self.size(largest) >= alpha * beside {
            (largest, 1)
        } else {
            (largest, 2)
        })
    }

    /// Exchanges rows and columns `row` and `other` below of what is left from k on.
    fn exchange(&mut self, k: usize, row: usize, other: usize) {
        for i in other + 1..self.n {
            self.swap((i, row), (i, other));
        }
        for j in row + 1..other {
            let (x, y) = (self.mirrored(self.at(j, row)), self.mirrored(self.at(other, j)));
            self.set(j, row, y);
            self.set(other, j, x);
        }
        let corner = self.mirrored(self.at(other, row));
        self.set(other, row, corner);
        self.swap((row, row), (other, other));
        if row > k {
            self.swap((row, k), (other, k));
        }
    }

    /// `a[i][j] -= l · w[j]` in row i, from column `start` to the diagonal.
    fn subtract(&mut self, i: usize, start: usize, l: T, w: &[T]) {
        let row = &mut self.a[i * self.n + start..=i * self.n + i];
        for (x, &w) in row.iter_mut().zip(w) {
            *x -= l * w;
        }
        if self.hermitian {
            let diagonal = T::of_real(self.at(i, i).re());
            self.set(i, i, diagonal);
        }
    }

    fn eliminate_one(&mut self, k: usize) {
        let pivot = self.at(k, k);
        let column: Vec<T> = (k + 1..self.n).map(|i| self.mirrored(self.at(i, k))).collect();
        for i in k + 1..self.n {
            let l = if self.hermitian { self.at(i, k).over_real(pivot.re()) } else { self.at(i, k).over(pivot) };
            self.subtract(i, k + 1, l, &column);
            self.set(i, k, l);
        }
    }

    fn eliminate_two(&mut self, k: usize) {
        let beside = self.at(k + 1, k);
        let across = self.mirrored(beside);
        // The inverse of the block, scaled by the element beside its diagonal.
        let (d1, d2) = (self.at(k + 1, k + 1).over(beside), self.at(k, k).over(across));
        let scale = T::one().over(d1 * d2 - T::one());
        let rows = k + 2..self.n;
        let solved = |i: usize| {
            let (x, y) = (self.at(i, k), self.at(i, k + 1));
            ((d1 * x - y).over(across) * scale, (d2 * y - x).over(beside) * scale)
        };
        let pairs: Vec<(T, T)> = rows.clone().map(solved).collect();
        let first: Vec<T> = pairs.iter().map(|p| self.mirrored(p.0)).collect();
        let second: Vec<T> = pairs.iter().map(|p| self.mirrored(p.1)).collect();
        for (i, (l, m)) in rows.zip(pairs) {
            let (x, y) = (self.at(i, k), self.at(i, k + 1));
            self.subtract(i, k + 2, x, &first);
            self.subtract(i, k + 2, y, &second);
            self.set(i, k, l);
            self.set(i, k + 1, m);
        }
    }
}

/// What pivots stand for, for `a` = `P L D Lᵀ Pᵀ` of n rows: each [..., n] or [..., n, n] of dtype int64.
pub struct Order {
    /// Row i of `Pᵀ a` is row `order[i]` of a.
    pub order: Array,
    /// The inverse.
    pub back: Array,
    /// The other row of a block of two, or the row itself.
    pub partner: Array,
    /// Element (i, j) of L stands in row `rows[i][j]` of the packed column j.
    pub rows: Array,
    /// The inverse, column by column.
    pub places: Array,
}

/// What `pivots` [..., n] of [`ldl`] stand for.
///
/// # Errors
/// `Runtime` if they are not what [`ldl`] gives.
pub fn ldl_order(pivots: &Array) -> Result<Order> {
    let n = pivots.shape()[pivots.rank() - 1];
    let list = pivots.to_vec::<i32>()?;
    let (vectors, matrices) = (pivots.shape().clone(), pivots.shape().append(n));
    let mut steps = Vec::with_capacity(list.len());
    for pivots in list.chunks(n.max(1)) {
        exchanges(pivots, &mut steps)?;
    }
    let each = |shape: &Shape, f: &dyn Fn(&[Step], &mut [i64])| {
        let size = shape.numel().checked_div(steps.len() / n.max(1)).unwrap_or(0);
        Array::build::<i64>(shape.clone(), |out| {
            for (steps, out) in steps.chunks(n.max(1)).zip(out.chunks_mut(size.max(1))) {
                f(steps, out);
            }
        })
    };
    Ok(Order {
        order: each(&vectors, &|steps, out| out.copy_from_slice(&order(steps)))?,
        back: each(&vectors, &|steps, out| {
            order(steps).iter().enumerate().for_each(|(i, &o)| out[o as usize] = i as i64)
        })?,
        partner: each(&vectors, &|steps, out| steps.iter().zip(out).for_each(|(s, o)| *o = s.partner as i64))?,
        rows: each(&matrices, &rows)?,
        places: each(&matrices, &|steps, out| {
            let mut from = vec![0; out.len()];
            rows(steps, &mut from);
            for (at, &to) in from.iter().enumerate() {
                out[to as usize * n + at % n] = (at / n) as i64;
            }
        })?,
    })
}

/// A row of D: the other row of its block, and which row it was exchanged with at its turn.
#[derive(Clone, Copy)]
struct Step {
    partner: usize,
    other: usize,
    /// Where its block starts.
    start: usize,
}

fn exchanges(pivots: &[i32], steps: &mut Vec<Step>) -> Result<()> {
    let n = pivots.len();
    let mut k = 0;
    while k < n {
        let (p, place) = (pivots[k], pivots[k].unsigned_abs() as usize);
        let width = if p < 0 { 2 } else { 1 };
        let twice = width == 1 || pivots.get(k + 1) == Some(&p);
        if place < k + width || place > n || !twice {
            bail!(
                Runtime,
                "linalg.ldl_solve: Pivots given to ldl_solve must be those of ldl_factor, but row {k} has {p}, which \
                 does not stand for an exchange with a later one of {n} rows"
            );
        }
        if width == 2 {
            steps.push(Step { partner: k + 1, other: k, start: k });
        }
        let row = k + width - 1;
        steps.push(Step { partner: k, other: place - 1, start: k });
        k = row + 1;
    }
    Ok(())
}

fn order(steps: &[Step]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..steps.len() as i64).collect();
    steps.iter().enumerate().for_each(|(row, s)| order.swap(row, s.other));
    order
}

fn rows(steps: &[Step], out: &mut [i64]) {
    let n = steps.len();
    out.iter_mut().enumerate().for_each(|(at, x)| *x = (at / n) as i64);
    for (row, s) in steps.iter().enumerate() {
        // Columns that were done before this block did not take part.
        for j in 0..s.start {
            out.swap(row * n + j, s.other * n + j);
        }
    }
}
