//! `+ - * / %` and unary `-` of tensors and numbers, by `std::ops`.
//!
//! # Panics
//! Where the methods of [`Tensor`] return an error, these panic with its message: a trait of `std::ops` cannot return
//! a `Result`. Shapes that cannot be broadcast are such an error.
//!
//! ```
//! use pullback::Tensor;
//! let x = Tensor::from_slice([2], &[1.0, 2.0])?;
//! let y = 2.0 * &x * &x - &x / 4.0 + 1.0;
//! assert_eq!((-y).to_vec::<f64>()?, [-2.75, -8.5]);
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::base::Result;
use crate::core::Tensor;
use crate::ops::value::Operand;
use crate::ops::{arith, unary};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

#[track_caller]
fn value(result: Result<Tensor>) -> Tensor {
    match result {
        Ok(t) => t,
        Err(e) => panic!("{e}"),
    }
}

/// One trait for every pair of tensor, reference and number.
macro_rules! operator {
    ($($trait:ident $method:ident = |$a:ident, $b:ident| $call:expr;)*) => {$(
        operator! { @pair $trait $method |$a, $b| $call;
            (Tensor, Tensor), (Tensor, &Tensor), (&Tensor, Tensor), (&Tensor, &Tensor),
            (Tensor, f64), (&Tensor, f64), (f64, Tensor), (f64, &Tensor)
        }
    )*};
    (@pair $trait:ident $method:ident |$a:ident, $b:ident| $call:expr; $(($left:ty, $right:ty)),*) => {$(
        impl $trait<$right> for $left {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: $right) -> Tensor {
                let ($a, $b): (Operand<'_>, Operand<'_>) = (self.operand(), other.operand());
                value($call)
            }
        }
    )*};
}

/// A tensor, a reference to one, or a number, as an operator takes it.
trait AsOperand {
    fn operand(&self) -> Operand<'_>;
}
impl AsOperand for Tensor {
    fn operand(&self) -> Operand<'_> {
        Operand::Tensor(self)
    }
}
impl AsOperand for &Tensor {
    fn operand(&self) -> Operand<'_> {
        Operand::Tensor(self)
    }
}
impl AsOperand for f64 {
    fn operand(&self) -> Operand<'_> {
        Operand::from(*self)
    }
}

operator! {
    Add add = |a, b| arith::add(a, b, None);
    Sub sub = |a, b| arith::sub(a, b, None);
    Mul mul = |a, b| arith::mul(a, b);
    Div div = |a, b| arith::div(a, b, None);
    Rem rem = |a, b| arith::remainder(a, b);
}

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        value(unary::negative(self))
    }
}
impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        -&self
    }
}

#[cfg(test)]
mod tests {
    use crate::Tensor;

    fn vector(values: &[f64]) -> Tensor {
        Tensor::from_slice([values.len()], values).unwrap()
    }

    #[test]
    fn operators_take_tensors_references_and_numbers() {
        let (a, b) = (vector(&[5.0, 7.0]), vector(&[2.0, 4.0]));
        let all = [&a + &b, &a - 1.0, 2.0 * &a, &a / &b, &a % &b, -&a, a.clone() - &b, 1.0 - b.clone()];
        let all: Vec<Vec<f64>> = all.iter().map(|t| t.to_vec().unwrap()).collect();
        let want: [[f64; 2]; 8] =
            [[7.0, 11.0], [4.0, 6.0], [10.0, 14.0], [2.5, 1.75], [1.0, 3.0], [-5.0, -7.0], [3.0, 3.0], [-1.0, -3.0]];
        assert_eq!(all, want);
    }

    #[test]
    #[should_panic(expected = "add()")]
    fn shapes_that_do_not_fit_panic_with_the_message() {
        let _ = vector(&[1.0, 2.0]) + vector(&[1.0, 2.0, 3.0]);
    }
}
