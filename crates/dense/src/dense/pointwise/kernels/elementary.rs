//! Elementary functions of one argument.

kernels! {
    SIN(x) { float => x.sin(), complex => x.sin() }
    COS(x) { float => x.cos(), complex => x.cos() }
    TAN(x) { float => x.tan(), complex_serial => x.tan() }
    ASIN(x) { float => x.asin(), complex_serial => x.asin() }
    ACOS(x) { float => x.acos(), complex_serial => x.acos() }
    ATAN(x) { float => x.atan(), complex_serial => x.atan() }
    SINH(x) { float => x.sinh(), complex_serial => x.sinh() }
    COSH(x) { float => x.cosh(), complex_serial => x.cosh() }
    TANH(x) { float => x.tanh(), complex => x.tanh() }
    ASINH(x) { float => x.asinh(), complex_serial => x.asinh() }
    ACOSH(x) { float => x.acosh(), complex_serial => x.acosh() }
    ATANH(x) { float => x.atanh(), complex_serial => x.atanh() }
    EXP(x) { float => x.exp(), complex => x.exp() }
    EXP2(x) { float => x.exp2(), complex_serial => x.exp2() }
    EXPM1(x) { float => x.expm1(), complex_serial => x.expm1() }
    LOG(x) { float => x.log(), complex => x.log() }
    LOG1P(x) { float => x.log1p(), complex_serial => x.log1p() }
    LOG2(x) { float => x.log2(), complex_serial => x.log2() }
    LOG10(x) { float => x.log10(), complex_serial => x.log10() }
    SQRT(x) { float => x.sqrt(), complex => x.sqrt() }
    RSQRT(x) { float => x.rsqrt(), complex_serial => x.rsqrt() }
    RECIPROCAL(x) { float => x.recip(), complex => x.recip() }
    SIGMOID(x) { float => x.sigmoid(), complex_serial => x.sigmoid() }
    /// The derivative of the logistic function from its value.
    SIGMOID_SLOPE(y) { float => y * (y.lit(1.0) - y), complex => y * (y.lit(1.0) - y) }
    /// The logistic function as the derivative of its integral.
    SIGMOID_CURVE(x) { float => x.sigmoid() }
    /// The derivative of the logistic function from its argument.
    SIGMOID_BELL(x) { float => x.sigmoid() * (-x).sigmoid() }
    LOG_SIGMOID(x) { float => x.log_sigmoid() }
    ABS(x) -> real { float => x.abs(), int => x.abs(), complex => x.abs() }
    /// The norm of one element.
    NORM_OF_ONE(x) { float => x.abs() }
    NEG(x) { float => -x, int => -x, complex => -x }
    SQUARE(x) { float => x * x, int => x * x, complex => x.square() }
    SIGN(x) { float => x.select(x.is_nan(), x.lit(0.0), x.sign()), int_serial => x.sign(), bool => x }
    SGN(x) {
        float => x.select(x.is_nan(), x.lit(0.0), x.sign()),
        int_serial => x.sign(),
        bool => x,
        complex_serial => x.sgn(),
    }
    ANGLE(x) -> real {
        float => x.select(x.is_nan(), x, x.select(x.lt(x.lit(0.0)), x.lit(std::f64::consts::PI), x.lit(0.0))),
        complex_serial => x.angle(),
    }
    CONJ(x) { complex => x.conj() }
    FLOOR(x) { float => x.floor(), int_serial => x }
    CEIL(x) { float => x.ceil(), int_serial => x }
    TRUNC(x) { float => x.trunc(), int_serial => x }
    /// The nearest integer, halves to even.
    ROUND(x) { float => x.round(), int_serial => x }
}
