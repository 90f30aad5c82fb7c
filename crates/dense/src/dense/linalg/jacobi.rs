//! The singular value decomposition by one-sided Jacobi rotations: slow for large matrices, accurate, and always
//! convergent. For small matrices, for complex ones, and where the bidiagonal routine fails.

use super::qr::Reflections;
use super::scalar::{RealScalar, Scalar};
use super::svd::SvdFactors;
use super::triangular::transpose;
use crate::base::Element;
use crate::dense::matmul::simd::per_isa;
use crate::dense::sort::sort_places;

/// Rounds over all pairs of columns; 6 to 10 are usual.
const MAX_ROUNDS: usize = 60;

/// Decomposes a row-major m × n matrix with elements of size about 1. False if the rotations do not come to rest.
pub fn svd<T: Scalar>(m: usize, n: usize, a: &[T], out: &mut SvdFactors<T>) -> bool {
    assert!(a.len() == m * n);
    if m.min(n) == 0 {
        identity(m, out.u_cols, out.u);
        identity(out.v_rows, n, out.vh);
        return true;
    }
    if m >= n {
        let (ok, mut v) = tall(m, n, a, out.u, out.u_cols, out.s);
        transpose(n, n, &v, out.vh);
        v.clear();
        out.vh.iter_mut().for_each(|x| *x = x.conj());
        return ok;
    }
    // aᴴ = v·diag(s)·uᴴ
    let mut flipped = vec![T::zero(); m * n];
    transpose(m, n, a, &mut flipped);
    flipped.iter_mut().for_each(|x| *x = x.conj());
    let mut v = vec![T::zero(); n * out.v_rows];
    let (ok, u) = tall(n, m, &flipped, &mut v, out.v_rows, out.s);
    out.u.copy_from_slice(&u);
    transpose(n, out.v_rows, &v, out.vh);
    out.vh.iter_mut().for_each(|x| *x = x.conj());
    ok
}

fn identity<T: Scalar>(m: usize, n: usize, a: &mut [T]) {
    a.fill(T::zero());
    (0..m.min(n)).for_each(|i| a[i * n + i] = T::one());
}

/// For m >= n: u (m × `u_cols`), the singular values, and v (n × n) as result.
fn tall<T: Scalar>(m: usize, n: usize, a: &[T], u: &mut [T], u_cols: usize, s: &mut [T::Real]) -> (bool, Vec<T>) {
    if m >= 2 * n {
        // Work on the triangle: a = q·r.
        let mut work = a.to_vec();
        let q = Reflections::factor(m, n, &mut work);
        let r: Vec<T> = (0..n * n).map(|x| if x % n >= x / n { work[x / n * n + x % n] } else { T::zero() }).collect();
        let mut small = vec![T::zero(); n * n];
        let (ok, v) = tall(n, n, &r, &mut small, n, s);
        u.fill(T::zero());
        for i in 0..n {
            u[i * u_cols..i * u_cols + n].copy_from_slice(&small[i * n..(i + 1) * n]);
        }
        (n..u_cols).for_each(|i| u[i * u_cols + i] = T::one());
        q.apply(u_cols, u);
        return (ok, v);
    }
    // Row j of g is column j of a, row j of w is column j of v.
    let (mut g, mut w) = (vec![T::zero(); n * m], vec![T::zero(); n * n]);
    transpose(m, n, a, &mut g);
    identity(n, n, &mut w);
    let mut ok = false;
    // SAFETY: the vectors hold the matrices.
    unsafe { rotate_all(m, n, &mut g, &mut w, &mut ok) };
    let norms: Vec<T::Real> = g.chunks_exact(m).map(|row| norm(row)).collect();
    let mut order: Vec<usize> = (0..n).collect();
    sort_places(&mut order, &|i, j| norms[j].partial_cmp(&norms[i]).unwrap_or(std::cmp::Ordering::Equal));
    let mut v = vec![T::zero(); n * n];
    for (j, &from) in order.iter().enumerate() {
        s[j] = norms[from];
        for i in 0..n {
            v[i * n + j] = w[from * n + i];
        }
    }
    left_vectors(m, &g, &order, &norms, u, u_cols);
    (ok, v)
}

fn norm<T: Scalar>(row: &[T]) -> T::Real {
    let mut sum = <T::Real as Element>::zero();
    for x in row {
        sum += x.norm_sqr();
    }
    sum.sqrt()
}

/// u = columns / norms; columns that have vanished, and those beyond n, are completed to an orthonormal set.
fn left_vectors<T: Scalar>(m: usize, g: &[T], order: &[usize], norms: &[T::Real], u: &mut [T], u_cols: usize) {
    let floor = T::Real::TINY.sqrt() / T::Real::EPS;
    let kept = order.iter().take_while(|&&i| norms[i] > floor).count();
    for (j, &from) in order[..kept].iter().enumerate() {
        for i in 0..m {
            u[i * u_cols + j] = g[from * m + i].over_real(norms[from]);
        }
    }
    if kept == u_cols {
        return;
    }
    let mut known = vec![T::zero(); m * kept];
    for i in 0..m {
        known[i * kept..(i + 1) * kept].copy_from_slice(&u[i * u_cols..i * u_cols + kept]);
    }
    let mut q = vec![T::zero(); m * u_cols];
    Reflections::factor(m, kept, &mut known).form(u_cols, &mut q);
    for i in 0..m {
        u[i * u_cols + kept..(i + 1) * u_cols].copy_from_slice(&q[i * u_cols + kept..(i + 1) * u_cols]);
    }
}

per_isa! {
    /// Rotates pairs of rows of g (length m) until all are orthogonal; w (n × n) follows.
    unsafe fn rotate_all<T: Scalar>(m: usize, n: usize, g: &mut [T], w: &mut [T], ok: &mut bool)
        = scalar rotate_all_body
}

#[inline(always)]
unsafe fn rotate_all_body<T: Scalar>(m: usize, n: usize, g: &mut [T], w: &mut [T], ok: &mut bool) {
    let tolerance = T::Real::EPS * T::Real::of_f64((m as f64).sqrt());
    for _ in 0..MAX_ROUNDS {
        let mut quiet = true;
        for p in 0..n {
            for q in p + 1..n {
                let (head, tail) = g.split_at_mut(q * m);
                let (gp, gq) = (&mut head[p * m..(p + 1) * m], &mut tail[..m]);
                let Some((c, s, phase)) = rotation(gp, gq, tolerance) else {
                    continue;
                };
                quiet = false;
                rotate(gp, gq, c, s, phase);
                let (head, tail) = w.split_at_mut(q * n);
                rotate(&mut head[p * n..(p + 1) * n], &mut tail[..n], c, s, phase);
            }
        }
        if quiet {
            *ok = true;
            return;
        }
    }
}

/// The rotation (c, s, phase) that makes two rows orthogonal; `None` if they are.
#[inline(always)]
fn rotation<T: Scalar>(x: &[T], y: &[T], tolerance: T::Real) -> Option<(T::Real, T::Real, T)> {
    let (zero, one) = (<T::Real as Element>::zero(), <T::Real as Element>::one());
    let (mut alpha, mut beta, mut gamma) = (zero, zero, T::zero());
    for (&x, &y) in x.iter().zip(y) {
        alpha += x.norm_sqr();
        beta += y.norm_sqr();
        gamma += x.conj() * y;
    }
    let size = gamma.modulus();
    // Squares of shorter rows have left the range; such rows end as zero singular values.
    let floor = T::Real::TINY.sqrt();
    if size <= T::Real::TINY / T::Real::EPS || size <= tolerance * alpha.sqrt().max(floor) * beta.sqrt().max(floor) {
        return None;
    }
    let zeta = (beta - alpha) / (size + size);
    let root = zeta.hypot(one);
    let t = if zeta >= zero { one / (zeta + root) } else { -one / (root - zeta) };
    let c = one / t.hypot(one);
    Some((c, c * t, gamma.conj().over_real(size)))
}

/// x' = c·x − s·ȳ, y' = s·x + c·ȳ for ȳ = phase·y.
#[inline(always)]
fn rotate<T: Scalar>(x: &mut [T], y: &mut [T], c: T::Real, s: T::Real, phase: T) {
    for (x, y) in x.iter_mut().zip(y) {
        let (u, v) = (*x, *y * phase);
        *x = u.scale(c) - v.scale(s);
        *y = u.scale(s) + v.scale(c);
    }
}
