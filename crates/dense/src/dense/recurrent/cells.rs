//! What one unit of a recurrent cell computes in one step, and its derivative.

use crate::dense::math::Fp;
use crate::dense::math::fp::pick;
use crate::dense::math::hyperbolic::{sigmoid, tanh};

/// The most values that a unit reads, and gives.
pub const INS: usize = 14;
pub const OUTS: usize = 6;

/// Units that are computed at a time.
pub const TILE: usize = 32;
pub type Tile<T> = [T; TILE];

/// A function of the values of one unit, in three parts: loops over few values each become vectors, one over all does not.
pub trait Unit {
    /// How many of the values it reads, and of those that it gives.
    const INS: usize;
    const OUTS: usize;
    /// What changes values of the first `n` units before.
    #[inline(always)]
    fn prepare<T: Fp, const F: bool>(_x: &mut [Tile<T>; INS], _n: usize) {}
    /// What takes sums and products only.
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS];
    /// What changes results after.
    #[inline(always)]
    fn finish<T: Fp, const F: bool>(_x: &[Tile<T>; INS], _y: &mut [Tile<T>; OUTS], _n: usize) {}
}

#[inline(always)]
fn sigmoids<T: Fp, const F: bool>(x: &mut Tile<T>, n: usize) {
    for x in &mut x[..n] {
        *x = sigmoid::<T, F>(*x);
    }
}

#[inline(always)]
fn tanhs<T: Fp, const F: bool>(x: &mut Tile<T>, n: usize) {
    for x in &mut x[..n] {
        *x = tanh::<T, F>(*x);
    }
}

#[inline(always)]
fn given<T: Fp, const N: usize>(values: [T; N]) -> [T; OUTS] {
    let mut out = [T::of(0.0); OUTS];
    out[..N].copy_from_slice(&values);
    out
}

/// 1 - y², the slope of tanh where it is y.
#[inline(always)]
fn tanh_slope<T: Fp, const F: bool>(y: T) -> T {
    (-y).fma::<F>(y, T::of(1.0))
}

/// y (1 - y), the slope of the logistic function where it is y.
#[inline(always)]
fn sigmoid_slope<T: Fp, const F: bool>(y: T) -> T {
    y * (T::of(1.0) - y)
}

/// i, f, g, o before their activations, and c; gives them after, the new c and h.
pub struct Lstm;
impl Unit for Lstm {
    const INS: usize = 5;
    const OUTS: usize = 6;
    #[inline(always)]
    fn prepare<T: Fp, const F: bool>(x: &mut [Tile<T>; INS], n: usize) {
        let [i, f, g, o, ..] = x;
        sigmoids::<T, F>(i, n);
        sigmoids::<T, F>(f, n);
        tanhs::<T, F>(g, n);
        sigmoids::<T, F>(o, n);
    }
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let [i, f, g, o, c, ..] = x;
        let c = f.fma::<F>(c, i * g);
        given([i, f, g, o, c, c])
    }
    #[inline(always)]
    fn finish<T: Fp, const F: bool>(x: &[Tile<T>; INS], y: &mut [Tile<T>; OUTS], n: usize) {
        tanhs::<T, F>(&mut y[5], n);
        for (h, &o) in y[5][..n].iter_mut().zip(&x[3]) {
            *h = *h * o;
        }
    }
}

/// i, f, g, o, the old c, the new one, two cotangents of h, two of c, and those of i, f, g, o. Gives those of the gates
/// before their activations and of the old c.
pub struct LstmSlope;
impl Unit for LstmSlope {
    const INS: usize = 14;
    const OUTS: usize = 5;
    #[inline(always)]
    fn prepare<T: Fp, const F: bool>(x: &mut [Tile<T>; INS], n: usize) {
        tanhs::<T, F>(&mut x[5], n);
    }
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let [i, f, g, o, before, t, ..] = x;
        let dh = x[6] + x[7];
        let dc = (dh * o).fma::<F>(tanh_slope::<T, F>(t), x[8] + x[9]);
        let di = dc.fma::<F>(g, x[10]) * sigmoid_slope::<T, F>(i);
        let df = dc.fma::<F>(before, x[11]) * sigmoid_slope::<T, F>(f);
        let dg = dc.fma::<F>(i, x[12]) * tanh_slope::<T, F>(g);
        let d_o = dh.fma::<F>(t, x[13]) * sigmoid_slope::<T, F>(o);
        given([di, df, dg, d_o, dc * f])
    }
}

/// r and z before their activations, the input's and the state's part of n, and h. Gives r, z, n, the state's part of n,
/// and the new h.
pub struct Gru;
impl Unit for Gru {
    const INS: usize = 5;
    const OUTS: usize = 5;
    #[inline(always)]
    fn prepare<T: Fp, const F: bool>(x: &mut [Tile<T>; INS], n: usize) {
        let [r, z, new, m, ..] = x;
        sigmoids::<T, F>(r, n);
        sigmoids::<T, F>(z, n);
        for ((new, &r), &m) in new[..n].iter_mut().zip(&*r).zip(&*m) {
            *new = r.fma::<F>(m, *new);
        }
        tanhs::<T, F>(new, n);
    }
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let [r, z, n, m, h, ..] = x;
        given([r, z, n, m, z.fma::<F>(h - n, n)])
    }
}

/// r, z, n, the state's part m of n, the old h, two cotangents of the new one, and those of r, z, n, m. Gives those of r, z
/// and m before their activations, of the input's part of n, and of the old h where it goes on as it is.
pub struct GruSlope;
impl Unit for GruSlope {
    const INS: usize = 11;
    const OUTS: usize = 5;
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let [r, z, n, m, h, ..] = x;
        let dh = x[5] + x[6];
        let dn = dh.fma::<F>(T::of(1.0) - z, x[9]) * tanh_slope::<T, F>(n);
        let dz = dh.fma::<F>(h - n, x[8]) * sigmoid_slope::<T, F>(z);
        let dr = dn.fma::<F>(m, x[7]) * sigmoid_slope::<T, F>(r);
        given([dr, dz, dn.fma::<F>(r, x[10]), dn, dh * z])
    }
}

/// h before its activation, tanh or ReLU.
pub struct Plain<const RELU: bool>;
impl<const RELU: bool> Unit for Plain<RELU> {
    const INS: usize = 1;
    const OUTS: usize = 1;
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let zero = T::of(0.0);
        // In this order NaN stays.
        given([if RELU { pick(x[0] < zero, zero, x[0]) } else { x[0] }])
    }
    #[inline(always)]
    fn finish<T: Fp, const F: bool>(_: &[Tile<T>; INS], y: &mut [Tile<T>; OUTS], n: usize) {
        if !RELU {
            tanhs::<T, F>(&mut y[0], n);
        }
    }
}

/// h, and two cotangents of it. Gives that before the activation.
pub struct PlainSlope<const RELU: bool>;
impl<const RELU: bool> Unit for PlainSlope<RELU> {
    const INS: usize = 3;
    const OUTS: usize = 1;
    #[inline(always)]
    fn compute<T: Fp, const F: bool>(x: [T; INS]) -> [T; OUTS] {
        let (zero, dh) = (T::of(0.0), x[1] + x[2]);
        given([if RELU { pick(x[0] > zero, dh, zero) } else { dh * tanh_slope::<T, F>(x[0]) }])
    }
}
