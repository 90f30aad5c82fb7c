//! Hermitian matrices through tridiagonal ones, by reflections and the implicit QL iteration: for small matrices, for
//! complex ones, and where the divide-and-conquer routine fails.

use super::qr::{column_norm, reflector};
use super::scalar::{RealScalar, Scalar};
use crate::base::Element;
use crate::dense::matmul::Mat;
use crate::dense::matmul::simd::per_isa;
use crate::dense::sort::sort_places;

/// Iterations for one eigenvalue; 2 are usual.
const MAX_ITERATIONS: usize = 80;
/// After so many, what is below the rounding of the whole matrix counts as zero.
const PATIENCE: usize = 30;

/// Eigenvalues (ascending) and eigenvectors of a Hermitian matrix: `a` is row-major n × n with both triangles filled
/// and elements of size about 1; it is overwritten by the eigenvectors as columns. False if the iteration fails.
pub fn eigh<T: Scalar>(n: usize, a: &mut [T], values: &mut [T::Real]) -> bool {
    assert!(a.len() == n * n && values.len() == n);
    let mut off = vec![<T::Real as Element>::zero(); n];
    // Row i of `vt` will be eigenvector i.
    let mut vt = vec![T::zero(); n * n];
    let mut ok = true;
    // SAFETY: the slices hold the matrices.
    unsafe {
        reduce(n, a, values, &mut off, &mut vt);
        iterate(n, values, &mut off, &mut vt, &mut ok);
    }
    let mut order: Vec<usize> = (0..n).collect();
    sort_places(&mut order, &|i, j| values[i].partial_cmp(&values[j]).unwrap_or(std::cmp::Ordering::Equal));
    let sorted: Vec<T::Real> = order.iter().map(|&i| values[i]).collect();
    values.copy_from_slice(&sorted);
    for (j, &from) in order.iter().enumerate() {
        for (i, &x) in vt[from * n..(from + 1) * n].iter().enumerate() {
            a[i * n + j] = x;
        }
    }
    ok
}

per_isa! {
    /// `qᴴ·a·q` is tridiagonal with diagonal `d` and real subdiagonal `e[..n - 1]`; `vt` becomes the transpose of q.
    unsafe fn reduce<T: Scalar>(n: usize, a: &mut [T], d: &mut [T::Real], e: &mut [T::Real], vt: &mut [T])
        = scalar reduce_body
}

#[inline(always)]
unsafe fn reduce_body<T: Scalar>(n: usize, a: &mut [T], d: &mut [T::Real], e: &mut [T::Real], vt: &mut [T]) {
    let mut taus = vec![T::zero(); n];
    let (mut v, mut p) = (vec![T::zero(); n], vec![T::zero(); n]);
    for j in 0..n.saturating_sub(1) {
        let rest = j + 1..n;
        let column = Mat { ptr: a[rest.start * n + j..].as_ptr(), rs: n as isize, cs: 1 };
        // SAFETY: rows j + 2..n of column j.
        let tail = unsafe { column_norm(n - j - 2, column.offset(1, 0)) };
        let (beta, tau, scale) = reflector(a[(j + 1) * n + j], tail);
        (e[j], taus[j]) = (beta, tau);
        v[j + 1] = T::one();
        for i in j + 2..n {
            v[i] = a[i * n + j] * scale;
            a[i * n + j] = v[i];
        }
        if tau == T::zero() {
            continue;
        }
        // p = τ·A·v, w = p − ½·τ·(pᴴ·v)·v, A −= v·wᴴ + w·vᴴ
        let mut dot = T::zero();
        for i in rest.clone() {
            let row = &a[i * n + j + 1..(i + 1) * n];
            let mut sum = T::zero();
            for (&x, &y) in row.iter().zip(&v[rest.clone()]) {
                sum += x * y;
            }
            p[i] = tau * sum;
            dot += p[i].conj() * v[i];
        }
        let half = T::of_real(T::Real::of_f64(0.5)) * tau * dot;
        for i in rest.clone() {
            p[i] -= half * v[i];
        }
        for i in rest.clone() {
            let (vi, pi) = (v[i], p[i]);
            let row = &mut a[i * n + j + 1..(i + 1) * n];
            for ((x, &y), &z) in row.iter_mut().zip(&p[rest.clone()]).zip(&v[rest.clone()]) {
                *x -= vi * y.conj() + pi * z.conj();
            }
        }
    }
    for i in 0..n {
        d[i] = a[i * n + i].re();
        vt[i * n + i] = T::one();
    }
    form(n, a, &taus, &mut v, vt);
}

/// `vt` = (H₀·H₁·…)ᵀ from the vectors below the subdiagonal of `a`, in a matrix that holds the identity.
#[inline(always)]
fn form<T: Scalar>(n: usize, a: &[T], taus: &[T], v: &mut [T], vt: &mut [T]) {
    for j in (0..n.saturating_sub(1)).rev() {
        v[j + 1] = T::one();
        for i in j + 2..n {
            v[i] = a[i * n + j];
        }
        // Row c of vt is column c of Q: q −= τ·v·(vᴴ·q).
        for c in j + 1..n {
            let row = &mut vt[c * n + j + 1..(c + 1) * n];
            let mut sum = T::zero();
            for (&x, &y) in row.iter().zip(&v[j + 1..n]) {
                sum += y.conj() * x;
            }
            let s = taus[j] * sum;
            for (x, &y) in row.iter_mut().zip(&v[j + 1..n]) {
                *x -= s * y;
            }
        }
    }
}

per_isa! {
    /// The implicit QL iteration on (d, e); the rotations act on the rows of `vt`. `ok` becomes false if it fails.
    unsafe fn iterate<T: Scalar>(n: usize, d: &mut [T::Real], e: &mut [T::Real], vt: &mut [T], ok: &mut bool)
        = scalar iterate_body
}

#[inline(always)]
unsafe fn iterate_body<T: Scalar>(n: usize, d: &mut [T::Real], e: &mut [T::Real], vt: &mut [T], ok: &mut bool) {
    let zero = <T::Real as Element>::zero();
    let norm = d.iter().chain(e.iter()).fold(zero, |m, &x| m.max(x.abs()));
    for l in 0..n {
        let mut turns = 0;
        loop {
            // At first each entry counts beside its neighbours, which keeps small eigenvalues of graded matrices.
            let floor = if turns > PATIENCE { T::Real::EPS * norm } else { T::Real::TINY / T::Real::EPS };
            let small = |i: usize| e[i].abs() <= T::Real::EPS * (d[i].abs() + d[i + 1].abs()) || e[i].abs() <= floor;
            let m = (l..n - 1).find(|&i| small(i)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            turns += 1;
            if turns > MAX_ITERATIONS {
                *ok = false;
                return;
            }
            sweep(n, l, m, d, e, vt);
        }
    }
}

/// One implicit QL step on rows l..=m with Wilkinson's shift.
#[inline(always)]
fn sweep<T: Scalar>(n: usize, l: usize, m: usize, d: &mut [T::Real], e: &mut [T::Real], vt: &mut [T]) {
    let (zero, one) = (<T::Real as Element>::zero(), <T::Real as Element>::one());
    let two = one + one;
    let mut g = (d[l + 1] - d[l]) / (two * e[l]);
    let r = g.hypot(one);
    // The root nearer to d[l]: by a sum, since the difference would cancel.
    g = d[m] - d[l] + e[l] / (g + if g >= zero { r } else { -r });
    let (mut s, mut c, mut p) = (one, one, zero);
    for i in (l..m).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = f.hypot(g);
        e[i + 1] = r;
        if r == zero {
            d[i + 1] -= p;
            e[m] = zero;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        let r = (d[i] - g) * s + two * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        let (upper, lower) = vt.split_at_mut((i + 1) * n);
        for (x, y) in upper[i * n..].iter_mut().zip(&mut lower[..n]) {
            let (u, v) = (*x, *y);
            *y = u.scale(s) + v.scale(c);
            *x = u.scale(c) - v.scale(s);
        }
    }
    d[l] -= p;
    e[l] = g;
    e[m] = zero;
}
