//! Averaged gradient descent.

use super::{Algorithm, Rule, gradient, sign};
use crate::dense::math::Fp;
use crate::dense::math::fp::pick;

pub static ASGD: Algorithm = Algorithm {
    name: "asgd",
    options: &["lr", "lambd", "alpha", "t0", "weight_decay", "maximize"],
    scalars: &["step", "eta", "mu"],
    prepare: |h, scalars| {
        let [rate, lambd, alpha, start, decay, maximize] = super::options(h)?;
        let (eta, mu) = (scalars.values[1], scalars.values[2]);
        let t = scalars.count();
        // New numbers are as exact as the count of steps, also where loaded ones have the parameter's dtype.
        let new = |x: f64| scalars.rounded(0, x);
        let next = [new(rate / (1.0 + lambd * rate * t).powf(alpha)), new(1.0 / (t - start).max(1.0))];
        scalars.set(1, next[0]);
        scalars.set(2, next[1]);
        Ok(Box::new(Asgd { sign: sign(maximize), decay, shrink: 1.0 - lambd * eta, eta, mu }))
    },
};

struct Asgd {
    sign: f64,
    decay: f64,
    shrink: f64,
    eta: f64,
    mu: f64,
}

impl Rule for Asgd {
    const STATES: usize = 1;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [mean, ..]: [T; 3]) -> (T, [T; 3]) {
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        let p = g.fma::<F>(T::of(-self.eta), p * T::of(self.shrink));
        // While nothing is averaged the mean is the parameter, whatever it was.
        let mean = pick(self.mu == 1.0, p, (p - mean).fma::<F>(T::of(self.mu), mean));
        (p, [mean; 3])
    }
}
