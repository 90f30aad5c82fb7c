//! Adam and what was made of it: two running means, of the gradient and of its square.

use super::{Algorithm, Rule, Step, gradient, larger, lerp, sign};
use crate::dense::math::Fp;
use crate::dense::math::fp::pick;

/// What the algorithms of this family do alike.
struct Means {
    sign: f64,
    /// Weight decay that goes by way of the gradient.
    decay: f64,
    /// What decoupled weight decay leaves of the parameter.
    shrink: f64,
    beta1: f64,
    beta2: f64,
}

impl Means {
    fn new(rate: f64, beta1: f64, beta2: f64, decay: f64, decoupled: f64, maximize: f64) -> Means {
        let apart = decoupled != 0.0;
        let shrink = if apart { 1.0 - rate * decay } else { 1.0 };
        Means { sign: sign(maximize), decay: if apart { 0.0 } else { decay }, shrink, beta1, beta2 }
    }
    /// The gradient, the decayed parameter and the means.
    #[inline(always)]
    fn next<T: Fp, const F: bool>(&self, p: T, g: T, m: T, v: T) -> (T, T, T, T) {
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        let m = lerp::<T, F>(m, g, 1.0 - self.beta1);
        let v = (g * T::of(1.0 - self.beta2)).fma::<F>(g, v * T::of(self.beta2));
        (g, p * T::of(self.shrink), m, v)
    }
}

pub static ADAM: Algorithm = Algorithm {
    name: "adam",
    options: &["lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "amsgrad", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, beta1, beta2, eps, decay, decoupled, amsgrad, maximize] = super::options(h)?;
        let t = scalars.count();
        let means = Means::new(rate, beta1, beta2, decay, decoupled, maximize);
        let rate = rate / (1.0 - beta1.powf(t));
        let root = 1.0 / (1.0 - beta2.powf(t)).sqrt();
        let step: Box<dyn Step> = if amsgrad == 0.0 {
            Box::new(Adam::<2> { means, rate, root, eps })
        } else {
            Box::new(Adam::<3> { means, rate, root, eps })
        };
        Ok(step)
    },
};

/// With three states the last one is the largest mean of squares (AMSGrad).
struct Adam<const STATES: usize> {
    means: Means,
    rate: f64,
    /// What the root of the squares' mean is multiplied by.
    root: f64,
    eps: f64,
}

impl<const STATES: usize> Rule for Adam<STATES> {
    const STATES: usize = STATES;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [m, v, most]: [T; 3]) -> (T, [T; 3]) {
        let (_, p, m, v) = self.means.next::<T, F>(p, g, m, v);
        let most = if STATES == 3 { larger(most, v) } else { v };
        let under = most.sqrt().fma::<F>(T::of(self.root), T::of(self.eps));
        ((m / under).fma::<F>(T::of(-self.rate), p), [m, v, most])
    }
}

pub static ADAMAX: Algorithm = Algorithm {
    name: "adamax",
    options: &["lr", "betas", "eps", "weight_decay", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, beta1, beta2, eps, decay, maximize] = super::options(h)?;
        let t = scalars.count();
        let rate = rate / (1.0 - beta1.powf(t));
        Ok(Box::new(Adamax { sign: sign(maximize), decay, beta1, beta2, eps, rate }))
    },
};

struct Adamax {
    sign: f64,
    decay: f64,
    beta1: f64,
    beta2: f64,
    eps: f64,
    rate: f64,
}

impl Rule for Adamax {
    const STATES: usize = 2;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [m, u, _]: [T; 3]) -> (T, [T; 3]) {
        let g = gradient::<T, F>(p, g, self.sign, self.decay);
        let m = lerp::<T, F>(m, g, 1.0 - self.beta1);
        let u = larger(u * T::of(self.beta2), g.abs() + T::of(self.eps));
        ((m / u).fma::<F>(T::of(-self.rate), p), [m, u, u])
    }
}

pub static NADAM: Algorithm = Algorithm {
    name: "nadam",
    options: &["lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize"],
    scalars: &["step", "mu_product"],
    prepare: |h, scalars| {
        let [rate, beta1, beta2, eps, decay, slower, decoupled, maximize] = super::options(h)?;
        let t = scalars.count();
        let momentum = |t: f64| beta1 * (1.0 - 0.5 * 0.96_f64.powf(t * slower));
        let (now, next) = (momentum(t), momentum(t + 1.0));
        let factor = scalars.rounded(1, now);
        let product = scalars.set(1, scalars.values[1] * factor);
        Ok(Box::new(Nadam {
            means: Means::new(rate, beta1, beta2, decay, decoupled, maximize),
            of_gradient: rate * (1.0 - now) / (1.0 - product),
            of_mean: rate * next / (1.0 - product * next),
            square: 1.0 / (1.0 - beta2.powf(t)),
            eps,
        }))
    },
};

struct Nadam {
    means: Means,
    of_gradient: f64,
    of_mean: f64,
    square: f64,
    eps: f64,
}

impl Rule for Nadam {
    const STATES: usize = 2;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [m, v, _]: [T; 3]) -> (T, [T; 3]) {
        let (g, p, m, v) = self.means.next::<T, F>(p, g, m, v);
        let under = (v * T::of(self.square)).sqrt() + T::of(self.eps);
        let p = (g / under).fma::<F>(T::of(-self.of_gradient), p);
        ((m / under).fma::<F>(T::of(-self.of_mean), p), [m, v, v])
    }
}

pub static RADAM: Algorithm = Algorithm {
    name: "radam",
    options: &["lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [rate, beta1, beta2, eps, decay, decoupled, maximize] = super::options(h)?;
        let t = scalars.count();
        let correction2 = 1.0 - beta2.powf(t);
        let most = 2.0 / (1.0 - beta2) - 1.0;
        let rho = most - 2.0 * t * beta2.powf(t) / correction2;
        let rectified = rho > 5.0;
        let factor = if rectified {
            ((rho - 4.0) * (rho - 2.0) * most / ((most - 4.0) * (most - 2.0) * rho)).sqrt() * correction2.sqrt()
        } else {
            1.0
        };
        Ok(Box::new(Radam {
            means: Means::new(rate, beta1, beta2, decay, decoupled, maximize),
            rate: rate * factor / (1.0 - beta1.powf(t)),
            rectified,
            eps,
        }))
    },
};

struct Radam {
    means: Means,
    rate: f64,
    /// Whether the squares' mean is known well enough to be divided by.
    rectified: bool,
    eps: f64,
}

impl Rule for Radam {
    const STATES: usize = 2;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [m, v, _]: [T; 3]) -> (T, [T; 3]) {
        let (_, p, m, v) = self.means.next::<T, F>(p, g, m, v);
        let way = pick(self.rectified, m / (v.sqrt() + T::of(self.eps)), m);
        (way.fma::<F>(T::of(-self.rate), p), [m, v, v])
    }
}
