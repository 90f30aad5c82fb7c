//! Steps of composed kernels, such as softmax and variance.

kernels! {
    EXP_OF_DIFFERENCE(a, b) { float => (a - b).exp() }
    SQUARED_DIFFERENCE(a, b) { float => (a - b) * (a - b) }
    ADD_LOG(m, s) { float => m + s.log() }
    SUBTRACT_LOG(a, s) { float => a - s.log() }
    /// The value, 0 if it is infinite.
    FINITE_OR_ZERO(x) { float => x.select(x.is_inf(), x.lit(0.0), x) }
}
