//! Arrays for property tests: every dtype, every kind of layout, and plain ways to read them.

use super::array::Array;
use super::copy::from_scalar;
use crate::base::{DType, Scalar, Shape};
use crate::match_dtype;
use num_complex::Complex;

/// A small random generator, so that failures shrink by seed.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
    /// A number that every dtype holds exactly; often repeated.
    pub fn small(&mut self, dtype: DType) -> Scalar {
        let x = self.below(7) as i64 - if dtype.is_signed() { 3 } else { 0 };
        match dtype {
            d if d.is_complex() => Scalar::Complex(Complex::new(x as f64, self.below(5) as f64 - 2.0)),
            DType::Bool => Scalar::Bool(x % 2 != 0),
            _ => Scalar::Int(x),
        }
    }
    /// As [`Rng::small`], and for floats sometimes NaN, infinities and -0.
    pub fn special(&mut self, dtype: DType) -> Scalar {
        if dtype.is_float() && self.below(3) == 0 {
            return Scalar::Float(self.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]));
        }
        self.small(dtype)
    }
}

/// A contiguous array of what `value` gives.
pub fn filled(dtype: DType, shape: &[usize], mut value: impl FnMut() -> Scalar) -> Array {
    match_dtype!(dtype, T => Array::build::<T>(shape.into(), |out| {
        out.iter_mut().for_each(|x| *x = from_scalar(value()));
    }))
    .unwrap()
}

/// An array of the given shape in a random layout: permuted, stepped, reversed, repeated or plain.
pub fn strided(rng: &mut Rng, dtype: DType, shape: &[usize], value: fn(&mut Rng, DType) -> Scalar) -> Array {
    let rank = shape.len();
    let plain = rng.below(3) == 0;
    let order = if plain { (0..rank).collect() } else { rng.order(rank) };
    let steps: Vec<isize> = (0..rank).map(|_| if plain { 1 } else { rng.pick(&[1, 1, 1, 2, -1, -2, 0]) }).collect();
    let base: Vec<usize> =
        order.iter().map(|&d| if steps[d] == 0 { 1 } else { shape[d] * steps[d].unsigned_abs() }).collect();
    let a = filled(dtype, &base, || value(rng, dtype));
    let mut inverse = vec![0; rank];
    order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
    a.to_buffer()
        .unwrap()
        .view(|l| {
            let mut l = l.permute(&inverse);
            for d in 0..rank {
                l = match steps[d] {
                    0 => l.expand(&l.shape.with(d, shape[d])),
                    s if s < 0 => l.slice(d, (shape[d] * s.unsigned_abs()).max(1) - 1, shape[d], s),
                    s => l.slice(d, 0, shape[d], s),
                };
            }
            l
        })
        .unwrap()
}

/// All multi-indices of a shape, in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &n in shape {
        all = all.into_iter().flat_map(|i| (0..n).map(move |k| [&i[..], &[k]].concat())).collect();
    }
    all
}

/// The element at a multi-index, read by its strides.
pub fn at(a: &Array, index: &[usize]) -> Scalar {
    let offset: isize = index.iter().zip(a.strides()).map(|(&i, s)| i as isize * s).sum();
    match_dtype!(a.dtype(), T => {
        // SAFETY: the tests give indices inside the shape.
        super::copy::to_scalar(unsafe { *a.ptr().cast::<T>().offset(offset) })
    })
}

/// The same value, where NaN equals NaN; -0 equals 0.
pub fn same(a: Scalar, b: Scalar) -> bool {
    let close = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan());
    match (a, b) {
        (Scalar::Int(x), Scalar::Int(y)) => x == y,
        _ => {
            let (x, y) = (a.as_complex(), b.as_complex());
            close(x.re, y.re) && close(x.im, y.im)
        }
    }
}

/// Panics unless `got` has this dtype, shape and `want(index)` everywhere.
pub fn check(got: &Array, dtype: DType, shape: &Shape, want: impl Fn(&[usize]) -> Scalar) {
    assert_eq!((got.dtype(), got.shape()), (dtype, shape));
    for i in indices(shape) {
        let (g, w) = (at(got, &i), want(&i));
        assert!(same(g, w), "at {i:?}: got {g:?}, want {w:?}");
    }
}
