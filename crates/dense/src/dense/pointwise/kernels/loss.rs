//! Losses of one element and their derivatives.

/// PyTorch's lower limit of `x (1 - x)` in the derivatives of binary_cross_entropy, which it has in single precision.
const PROBABILITY_LIMIT: f64 = 1e-12f32 as f64;

kernels! {
    /// The loss of one probability; logarithms are limited to -100.
    BINARY_CROSS_ENTROPY(x, t) { float => {
        let (yes, no) = (x.log().max(x.lit(-100.0)), (-x).log1p().max(x.lit(-100.0)));
        -(t * yes + (x.lit(1.0) - t) * no)
    } }
    /// The derivative by the probability, where the denominator has a lower limit.
    BINARY_CROSS_ENTROPY_SLOPE(x, t) { float => {
        (x - t) / (x * (x.lit(1.0) - x)).max(x.lit(PROBABILITY_LIMIT))
    } }
    /// The derivative by the target: `log(1 - x) - log(x)`, both limited.
    BINARY_CROSS_ENTROPY_ODDS(x) { float => {
        (-x).log1p().max(x.lit(-100.0)) - x.log().max(x.lit(-100.0))
    } }
    /// `1 / (x (1 - x))`, where the denominator has a lower limit.
    INVERSE_VARIANCE(x) { float => {
        (x * (x.lit(1.0) - x)).max(x.lit(PROBABILITY_LIMIT)).recip()
    } }
    /// Whether an element is in [0, 1]; NaN is not.
    IS_PROBABILITY(x) -> bool { float => x.ge(x.lit(0.0)) & x.le(x.lit(1.0)) }
    /// `(1 - t) x + log(1 + exp(-x))` without overflow, accurate in both tails.
    LOGITS(x, t) { float => {
        let linear = x.select(x.gt(x.lit(0.0)), (x.lit(1.0) - t) * x, -(t * x));
        linear + (-x.abs()).exp().log1p()
    } }
    /// `sigmoid(x) - t`, accurate in both tails.
    LOGITS_SLOPE(x, t) { float => {
        (x.lit(1.0) - t) * x.sigmoid() - t * (-x).sigmoid()
    } }
    /// `x log(x)`, 0 at 0.
    XLOGX(x) { float => x.select(x.is_zero(), x.lit(0.0), x * x.log()) }
}
