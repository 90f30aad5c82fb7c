//! Arithmetic of two and three arguments, and selection.

kernels! {
    ADD(a, b) { float => a + b, int => a + b, bool => a | b, complex => a + b }
    SUB(a, b) { float => a - b, int => a - b, complex => a - b }
    MUL(a, b) { float => a * b, int => a * b, bool => a & b, complex => a * b }
    PLUS_PRODUCT(a, b, c) { float => a + b * c, int_serial => a + b * c, bool => a | b & c, complex_serial => a + b * c }
    DIV(a, b) { float => a / b, complex => a / b }
    FLOOR_DIVIDE(a, b) { float => a.floor_div(b), int_serial => a.floor_div(b) }
    TRUNC_DIVIDE(a, b) { float => a.trunc_div(b), int_serial => a.trunc_div(b) }
    REMAINDER(a, b) { float => a.remainder(b), int_serial => a.remainder(b) }
    FMOD(a, b) { float => a.fmod(b), int_serial => a.fmod(b) }
    POW(a, b) { float => a.pow(b), int_serial => a.pow(b), complex_serial => a.pow(b) }
    ATAN2(a, b) { float => a.atan2(b) }
    HYPOT(a, b) { float => a.hypot(b) }
    LOGADDEXP(a, b) { float => a.logaddexp(b), complex_serial => a.logaddexp(b) }
    POLYGAMMA(n, x) { float_serial => n.polygamma(x) }
    /// `log2(2ᵃ + 2ᵇ)`; of equal infinities, themselves.
    LOGADDEXP2(a, b) { float => {
        let sum = a.max(b) + (-(a - b).abs()).exp2().log1p() * std::f64::consts::LOG2_E;
        a.select(a.is_inf() & a.eq(b), a, sum)
    } }
    COPYSIGN(a, b) { float => a.copysign(b) }
    NEXTAFTER(a, b) { float => a.nextafter(b) }
    /// `b`, as a step from `a`.
    STEPPED(a, b) { float => { let _ = a; b } }
    GCD(a, b) { int_serial => a.gcd(b) }
    LCM(a, b) { int_serial => a.lcm(b) }
    FMAX(a, b) { float => a.fmax(b), int_serial => a.max(b), bool => a | b }
    FMIN(a, b) { float => a.fmin(b), int_serial => a.min(b), bool => a & b }
    /// 0 below 0 and for NaN, 1 above, `b` at 0.
    HEAVISIDE(a, b) {
        float => a.select(a.is_zero(), b, a.select(a.gt(a.lit(0.0)), a.lit(1.0), a.lit(0.0))),
        int_serial => if a.is_zero() { b } else if a.gt(a.lit(0)) { a.lit(1) } else { a.lit(0) },
        bool => a | b,
    }
    MAXIMUM(a, b) { float => a.max(b), int => a.max(b), bool => a | b }
    MINIMUM(a, b) { float => a.min(b), int => a.min(b), bool => a & b }
    CLAMP_MIN(a, b) { float => a.max(b), int_serial => a.max(b) }
    CLAMP_MAX(a, b) { float => a.min(b), int_serial => a.min(b) }
    CLAMP(a, low, high) { float => a.max(low).min(high), int_serial => a.max(low).min(high) }
    /// `a + w (b - a)`, counted from the nearer end, so that both ends are exact.
    LERP(a, b, w) {
        float => {
            let span = b - a;
            a.select(w.abs().lt(a.lit(0.5)), a + span * w, b + span * (w - a.lit(1.0)))
        },
        complex => {
            let span = b - a;
            let (near, far) = (a + span * w, b + span * (w - a.lit(1.0)));
            let is_near = w.abs().lt(w.re().lit(0.5));
            let part = |near: _, far: _| w.re().select(is_near, near, far);
            crate::dense::math::Cplx::new(part(near.re(), far.re()), part(near.im(), far.im()))
        },
    }
    WHERE(c: bool, a, b) { any => if c { a } else { b } }
    /// `x` where the condition holds, 0 elsewhere.
    WHERE_KEEP(c: bool, x) { any => if c { x } else { x.blank() } }
    /// 0 where the condition holds, `x` elsewhere.
    WHERE_CLEAR(c: bool, x) { any => if c { x.blank() } else { x } }
    /// `x * y` where the condition holds, 0 elsewhere.
    WHERE_PRODUCT(c: bool, x, y) {
        float => if c { x * y } else { x.lit(0.0) },
        complex => if c { x * y } else { x.lit(0.0) },
    }
}
