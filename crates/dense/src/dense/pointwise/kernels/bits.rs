//! Logic and bits.

kernels! {
    LOGICAL_AND(a, b) -> bool {
        float => !a.is_zero() & !b.is_zero(), complex_serial => !a.is_zero() & !b.is_zero(), int_serial => !a.is_zero() & !b.is_zero(), bool => a & b
    }
    LOGICAL_OR(a, b) -> bool {
        float => !a.is_zero() | !b.is_zero(), complex_serial => !a.is_zero() | !b.is_zero(), int_serial => !a.is_zero() | !b.is_zero(), bool => a | b
    }
    LOGICAL_XOR(a, b) -> bool {
        float => a.is_zero() ^ b.is_zero(), complex_serial => a.is_zero() ^ b.is_zero(), int_serial => a.is_zero() ^ b.is_zero(), bool => a ^ b
    }
    LOGICAL_NOT(x) -> bool { float => x.is_zero(), complex_serial => x.is_zero(), int_serial => x.is_zero(), bool => !x }
    BITWISE_AND(a, b) { int => a & b, bool => a & b }
    BITWISE_OR(a, b) { int => a | b, bool => a | b }
    BITWISE_XOR(a, b) { int => a ^ b, bool => a ^ b }
    BITWISE_NOT(x) { int => !x, bool => !x }
    BITWISE_LEFT_SHIFT(a, b) { int_serial => a << b }
    BITWISE_RIGHT_SHIFT(a, b) { int_serial => a >> b }
}
