//! RMSprop: a running mean of squares, with or without that of the gradient, and momentum.

use super::{Algorithm, Rule, Step, gradient, lerp, sign};
use crate::dense::math::Fp;

pub static RMSPROP: Algorithm = Algorithm {
    name: "rmsprop",
    options: &["lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, alpha, eps, decay, momentum, centered, maximize] = super::options(h)?;
        scalars.count();
        let common = Common { sign: sign(maximize), decay, rate, alpha, eps, momentum };
        let step: Box<dyn Step> = match (momentum > 0.0, centered != 0.0) {
            (false, false) => Box::new(RmsProp::<false, false>(common)),
            (false, true) => Box::new(RmsProp::<false, true>(common)),
            (true, false) => Box::new(RmsProp::<true, false>(common)),
            (true, true) => Box::new(RmsProp::<true, true>(common)),
        };
        Ok(step)
    },
};

struct Common {
    sign: f64,
    decay: f64,
    rate: f64,
    alpha: f64,
    eps: f64,
    momentum: f64,
}

/// The states: the mean of squares, then the momentum's buffer, then the gradient's mean, as far as there are such.
struct RmsProp<const MOMENTUM: bool, const CENTERED: bool>(Common);

impl<const MOMENTUM: bool, const CENTERED: bool> Rule for RmsProp<MOMENTUM, CENTERED> {
    const STATES: usize = 1 + MOMENTUM as usize + CENTERED as usize;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, s: [T; 3]) -> (T, [T; 3]) {
        let h = &self.0;
        let mean_at = if MOMENTUM { 2 } else { 1 };
        let g = gradient::<T, F>(p, g, h.sign, h.decay);
        let v = (g * T::of(1.0 - h.alpha)).fma::<F>(g, s[0] * T::of(h.alpha));
        let mut next = [v; 3];
        let spread = if CENTERED {
            let mean = lerp::<T, F>(s[mean_at], g, 1.0 - h.alpha);
            next[mean_at] = mean;
            (-mean).fma::<F>(mean, v)
        } else {
            v
        };
        let mut way = g / (spread.sqrt() + T::of(h.eps));
        if MOMENTUM {
            way = s[1].fma::<F>(T::of(h.momentum), way);
            next[1] = way;
        }
        (way.fma::<F>(T::of(-h.rate), p), next)
    }
}
