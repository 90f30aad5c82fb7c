//! Elementary functions of one argument.

use crate::rules::basis::{mul, neg, number, sub};

unary! { TABLE:
    /// Sine of each element, in radians. Integers are computed in the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.sin(pullback.tensor([0.0]))
    /// tensor([0.])
    sin = "sin" (x) { float => x.sin() } [METHOD, INPLACE] d[x] cos(x);

    /// Cosine of each element, in radians. Integers are computed in the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.cos(pullback.tensor([0.0]))
    /// tensor([1.])
    cos = "cos" (x) { float => x.cos() } [METHOD, INPLACE] d[x] neg(&sin(x)?);

    /// Exponential of each element. Integers are computed in the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.exp(pullback.tensor([0.0]))
    /// tensor([1.])
    exp = "exp" (x) { float => x.exp() } [METHOD, INPLACE] d[y] y;

    /// Hyperbolic tangent of each element. Integers are computed in the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.tanh(pullback.tensor([0.0]))
    /// tensor([0.])
    tanh = "tanh" (x) { float => x.tanh() } [METHOD, INPLACE] d[y] sub(&number(y, 1.0), &mul(y, y)?);
}
