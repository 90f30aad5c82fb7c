//! Activations and their derivatives.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// 1 / √(2π), the density of the normal distribution at 0.
const NORMAL_DENSITY: f64 = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
/// √(2/π), the scale in the tanh form of gelu.
pub const SQRT_2_OVER_PI: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
/// The cubic term in the tanh form of gelu.
pub const CUBIC: f64 = 0.044715;

kernels! {
    RELU(x) { float => x.max(x.lit(0.0)), int_serial => x.max(x.lit(0)) }
    /// x where it is positive, `x * s` elsewhere.
    LEAKY_RELU(x, s) { float => x.select(x.gt(x.lit(0.0)), x, x * s) }
    HARDTANH_MIN(x, low) { float => x.max(low), int_serial => x.max(low) }
    HARDTANH_MAX(x, high) { float => x.min(high), int_serial => x.min(high) }
    SOFTPLUS(x) { float => x.softplus() }
    SILU(x) { float => x * x.sigmoid() }
    /// `exp(x) - 1`
    ELU(x) { float => x.expm1() }
    /// `x Φ(x)` with the normal distribution function Φ.
    GELU(x) { float => x * 0.5 * (x.lit(1.0) + (x * FRAC_1_SQRT_2).erf()) }
    /// Φ(x) + x φ(x)
    GELU_SLOPE(x) { float => {
        (x.lit(1.0) + (x * FRAC_1_SQRT_2).erf()) * 0.5 + x * ((x * x * -0.5).exp() * NORMAL_DENSITY)
    } }
    /// φ(x)
    GELU_DENSITY(x) { float => (x * x * -0.5).exp() * NORMAL_DENSITY }
    /// `x (1 + tanh(u)) / 2`, u = √(2/π) (x + 0.044715 x³)
    GELU_TANH(x) { float => {
        let u = (x + x * x * x * CUBIC) * SQRT_2_OVER_PI;
        x * 0.5 * (x.lit(1.0) + u.tanh())
    } }
    /// `s + 2 x u' s (1 - s)`, s = sigmoid(2 u)
    GELU_TANH_SLOPE(x) { float => {
        let u = (x + x * x * x * CUBIC) * (2.0 * SQRT_2_OVER_PI);
        let bell = u.sigmoid() * (-u).sigmoid();
        let rest = x * (x.lit(1.0) + x * x * (3.0 * CUBIC)) * (2.0 * SQRT_2_OVER_PI) * bell;
        u.sigmoid() + x.select(bell.is_zero(), x.lit(0.0), rest)
    } }
    /// `x tanh(softplus(x))`
    MISH(x) { float => x * x.softplus().tanh() }
    /// `tanh(p) + x sigmoid(x) (1 - tanh(p)²)`, p = softplus(x)
    MISH_SLOPE(x) { float => {
        let p = x.softplus();
        let bell = (p * 2.0).sigmoid() * (p * -2.0).sigmoid() * 4.0;
        p.tanh() + x.select(bell.is_zero(), x.lit(0.0), x * x.sigmoid() * bell)
    } }
}
