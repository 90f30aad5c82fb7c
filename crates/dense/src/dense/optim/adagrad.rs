//! Rates from all gradients so far: Adagrad and Adadelta.

use super::{Algorithm, Rule, gradient, sign};
use crate::dense::math::Fp;

pub static ADAGRAD: Algorithm = Algorithm {
    name: "adagrad",
    options: &["lr", "lr_decay", "weight_decay", "eps", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, slower, decay, eps, maximize] = super::options(h)?;
        let t = scalars.count();
        Ok(Box::new(Adagrad { sign: sign(maximize), decay, rate: rate / (1.0 + (t - 1.0) * slower), eps }))
    },
};

struct Adagrad {
    sign: f64,
    decay: f64,
    rate: f64,
    eps: f64,
}

impl Rule for Adagrad {
    const STATES: usize = 1;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [sum, ..]: [T; 3]) -> (T, [T; 3]) {
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        let sum = g.fma::<F>(g, sum);
        ((g / (sum.sqrt() + T::of(self.eps))).fma::<F>(T::of(-self.rate), p), [sum; 3])
    }
}

pub static ADADELTA: Algorithm = Algorithm {
    name: "adadelta",
    options: &["lr", "rho", "eps", "weight_decay", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, rho, eps, decay, maximize] = super::options(h)?;
        scalars.count();
        Ok(Box::new(Adadelta { sign: sign(maximize), decay, rate, rho, eps }))
    },
};

struct Adadelta {
    sign: f64,
    decay: f64,
    rate: f64,
    rho: f64,
    eps: f64,
}

impl Rule for Adadelta {
    const STATES: usize = 2;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [v, d, _]: [T; 3]) -> (T, [T; 3]) {
        let (rho, rest, eps) = (T::of(self.rho), T::of(1.0 - self.rho), T::of(self.eps));
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        let v = (g * rest).fma::<F>(g, v * rho);
        let way = (d + eps).sqrt() / (v + eps).sqrt() * g;
        let d = (way * rest).fma::<F>(way, d * rho);
        (way.fma::<F>(T::of(-self.rate), p), [v, d, d])
    }
}
