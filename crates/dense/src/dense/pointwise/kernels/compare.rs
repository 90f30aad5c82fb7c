//! Comparisons and predicates.

kernels! {
    EQ(a, b) -> bool { float => a.eq(b), int => a.eq(b), bool => a == b, complex => a.eq(b) }
    NE(a, b) -> bool { float => a.ne(b), int => a.ne(b), bool => a != b, complex => a.ne(b) }
    LT(a, b) -> bool { float => a.lt(b), int => a.lt(b), bool => !a & b }
    LE(a, b) -> bool { float => a.le(b), int => a.le(b), bool => !a | b }
    GT(a, b) -> bool { float => a.gt(b), int => a.gt(b), bool => a & !b }
    GE(a, b) -> bool { float => a.ge(b), int => a.ge(b), bool => a | !b }
    /// Whether `x` is the extreme `y`. NaN is not equal to itself, yet it is what was chosen.
    TIED(x, y) -> bool { float => x.eq(y) | x.is_nan(), int_serial => x.eq(y), bool => x == y }
    ISNAN(x) -> bool { float => x.is_nan(), complex_serial => x.is_nan(), int_serial => { let _ = x; false }, bool => { let _ = x; false } }
    ISINF(x) -> bool { float => x.is_inf(), complex_serial => x.is_inf(), int_serial => { let _ = x; false }, bool => { let _ = x; false } }
    ISPOSINF(x) -> bool { float => x.eq(x.lit(f64::INFINITY)), int_serial => { let _ = x; false }, bool => { let _ = x; false } }
    ISNEGINF(x) -> bool { float => x.eq(x.lit(f64::NEG_INFINITY)), int_serial => { let _ = x; false }, bool => { let _ = x; false } }
    ISFINITE(x) -> bool { float => x.is_finite(), complex_serial => x.is_finite(), int_serial => { let _ = x; true }, bool => { let _ = x; true } }
    SIGNBIT(x) -> bool { float => x.is_negative(), int_serial => x.lt(x.lit(0)), bool => { let _ = x; false } }
}
