//! Gradient descent with momentum.

use super::{Algorithm, Rule, Step, gradient, sign};
use crate::dense::math::Fp;
use crate::dense::math::fp::pick;

pub static SGD: Algorithm = Algorithm {
    name: "sgd",
    options: &["lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"],
    scalars: &[],
    prepare: |h, _| {
        let [rate, momentum, dampening, decay, nesterov, maximize] = super::options(h)?;
        let (keep, nesterov, sign) = (1.0 - dampening, nesterov != 0.0, sign(maximize));
        let step: Box<dyn Step> = if momentum == 0.0 {
            Box::new(Sgd::<false> { rate, momentum, keep, decay, nesterov, sign })
        } else {
            Box::new(Sgd::<true> { rate, momentum, keep, decay, nesterov, sign })
        };
        Ok(step)
    },
};

struct Sgd<const MOMENTUM: bool> {
    rate: f64,
    momentum: f64,
    keep: f64,
    decay: f64,
    nesterov: bool,
    sign: f64,
}

impl<const MOMENTUM: bool> Rule for Sgd<MOMENTUM> {
    const STATES: usize = MOMENTUM as usize;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [b, ..]: [T; 3]) -> (T, [T; 3]) {
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        if !MOMENTUM {
            return (g.fma::<F>(T::of(-self.rate), p), [b; 3]);
        }
        let momentum = T::of(self.momentum);
        let b = g.fma::<F>(T::of(self.keep), b * momentum);
        let way = pick(self.nesterov, b.fma::<F>(momentum, g), b);
        (way.fma::<F>(T::of(-self.rate), p), [b; 3])
    }
}
