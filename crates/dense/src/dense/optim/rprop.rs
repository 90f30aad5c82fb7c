//! Rprop: step sizes that grow while the gradient keeps its sign.

use super::{Algorithm, Rule, sign};
use crate::dense::math::Fp;
use crate::dense::math::fp::pick;

pub static RPROP: Algorithm = Algorithm {
    name: "rprop",
    options: &["etas", "step_sizes", "maximize"],
    scalars: &["step"],
    prepare: |h, scalars| {
        let [shrink, grow, least, most, maximize] = super::options(h)?;
        scalars.count();
        Ok(Box::new(Rprop { sign: sign(maximize), shrink, grow, least, most }))
    },
};

struct Rprop {
    sign: f64,
    shrink: f64,
    grow: f64,
    least: f64,
    most: f64,
}

impl Rule for Rprop {
    const STATES: usize = 2;
    #[inline(always)]
    fn element<T: Fp, const F: bool>(&self, p: T, g: T, [previous, size, _]: [T; 3]) -> (T, [T; 3]) {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let g = g * T::of(self.sign);
        let same = g * previous;
        let turned = same < zero;
        let factor = pick(same > zero, T::of(self.grow), pick(turned, T::of(self.shrink), one));
        let size = size * factor;
        // NaN stays.
        let size = pick(size < T::of(self.least), T::of(self.least), size);
        let size = pick(size > T::of(self.most), T::of(self.most), size);
        let g = pick(turned, zero, g);
        let way = pick(g > zero, size, pick(g < zero, -size, zero * size));
        (p - way, [g, size, size])
    }
}
