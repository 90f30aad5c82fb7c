//! Steps of composed kernels, such as softmax and variance.

kernels! {
    EXP_OF_DIFFERENCE(a, b) { float => (a - b).exp() }
    SQUARED_DIFFERENCE(a, b) { float => (a - b) * (a - b) }
    ADD_LOG(m, s) { float => m + s.log() }
    SUBTRACT_LOG(a, s) { float => a - s.log() }
    /// The value, `v` if it is NaN; of complex numbers, each part.
    REPLACE_NAN(x, v) {
        float => x.select(x.is_nan(), v, x),
        complex => {
            let part = |p, v| select(Real::is_nan(p), v, p);
            Cplx::new(part(x.re(), v.re()), part(x.im(), v.re()))
        },
    }
    /// The value, `high` or `low` if it is an infinity; of complex numbers, each part.
    REPLACE_INF(x, high, low) {
        float => {
            let low = x.select(x.eq(x.lit(f64::NEG_INFINITY)), low, x);
            x.select(x.eq(x.lit(f64::INFINITY)), high, low)
        },
        complex => {
            let part = |p, high, low| {
                let low = select(Real::is_inf(p) & Real::is_negative(p), low, p);
                select(Real::is_inf(p) & !Real::is_negative(p), high, low)
            };
            Cplx::new(part(x.re(), high.re(), low.re()), part(x.im(), high.re(), low.re()))
        },
    }
    /// `m` with `x = m 2ᵉ` and `|m|` in [1/2, 1); 0, infinities and NaN are their own.
    MANTISSA(x) { float => x.wide(|x| split(x).0) }
    /// `e` of the same.
    EXPONENT(x) { float => x.wide(|x| split(x).1) }
    /// The value, 0 if it is infinite.
    FINITE_OR_ZERO(x) { float => x.select(x.is_inf(), x.lit(0.0), x) }
}

/// Mantissa in [1/2, 1) and exponent of a number.
fn split(x: f64) -> (f64, f64) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0.0);
    }
    // Numbers below the normal range are brought into it.
    let (y, shift) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(54), 54) } else { (x, 0) };
    let exponent = ((y.to_bits() >> 52) & 0x7ff) as i64 - 1022;
    let mantissa = f64::from_bits(y.to_bits() & !(0x7ff << 52) | (1022 << 52));
    (mantissa, (exponent - shift) as f64)
}
