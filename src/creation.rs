//! Tensors out of nothing: from values of Rust, and of random numbers.

use crate::base::{DType, Element, Error, Result, Scalar, Shape};
use crate::core::{Meta, Tensor};
use crate::dense::Array;
use crate::ops::creation;
use crate::ops::random;
use crate::ops::value::Value;
use crate::ops::value::setting::{Device, Layout, PinMemory};
use num_complex::Complex;

impl Tensor {
    /// Zeros.
    pub fn zeros(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        Array::zeros(dtype, shape.into()).map(Tensor::from)
    }
    /// Ones.
    pub fn ones(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 1.0, dtype)
    }
    /// One value everywhere.
    pub fn full(shape: impl Into<Shape>, value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        Array::full(dtype, shape.into(), value.into()).map(Tensor::from)
    }
    /// The identity matrix.
    pub fn eye(n: usize, dtype: DType) -> Result<Tensor> {
        Array::unit_rows(dtype, n, n, 0, 0, n).map(Tensor::from)
    }
    /// A tensor that has a shape and a dtype, and no data (PyTorch's device `meta`): operators and transforms give the
    /// shapes and dtypes of their results.
    pub fn meta(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        Tensor::without_data(Meta::new(dtype, shape))
    }
    /// `start`, `start + step`, … up to and without `end`: integers of `I64` if all three are, else `F64`.
    ///
    /// # Errors
    /// `Runtime` if `step` is 0 or leads away from `end`.
    pub fn arange(start: impl Into<Scalar>, end: impl Into<Scalar>, step: impl Into<Scalar>) -> Result<Tensor> {
        let (start, end, step) = (start.into(), end.into(), step.into());
        let integers = [start, end, step].iter().all(|s| s.dtype(DType::F64).is_integer());
        let dtype = Some(if integers { DType::I64 } else { DType::F64 });
        creation::arange(start, Some(end), step, dtype, Layout::None, Device::None, false, PinMemory::None)
    }
    /// `steps` numbers of `F64` from `start` to `end`, both included, at equal distances.
    pub fn linspace(start: f64, end: f64, steps: usize) -> Result<Tensor> {
        let (dtype, steps) = (Some(DType::F64), i64::try_from(steps).unwrap_or(i64::MAX));
        let (layout, device, pin) = (Layout::None, Device::None, PinMemory::None);
        creation::linspace(start.into(), end.into(), steps, dtype, layout, device, false, pin)
    }
    /// Random numbers from the uniform distribution on [0, 1), from the default generator ([`manual_seed`]). Under
    /// [`vmap`](crate::vmap()) they need a [`Randomness`](crate::Randomness).
    ///
    /// [`manual_seed`]: crate::manual_seed
    pub fn rand(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        let (size, dtype) = (sizes(&shape.into()), Some(dtype));
        random::rand(&size, None, dtype, Layout::None, Device::None, false, PinMemory::None)
    }
    /// Random numbers from the normal distribution of mean 0 and variance 1; see [`Tensor::rand`].
    pub fn randn(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        let (size, dtype) = (sizes(&shape.into()), Some(dtype));
        random::randn(&size, None, dtype, Layout::None, Device::None, false, PinMemory::None)
    }
    /// Random integers of `I64` from `low` up to and without `high`; see [`Tensor::rand`].
    pub fn randint(low: i64, high: i64, shape: impl Into<Shape>) -> Result<Tensor> {
        let (low, high, size) = (Value::Int(low), Value::Int(high), Value::Ints(sizes(&shape.into()).into()));
        random::randint(&low, &high, &size, None, None, Layout::None, Device::None, false, PinMemory::None)
    }
    /// The integers from 0 up to and without `n` in random order; see [`Tensor::rand`].
    pub fn randperm(n: usize) -> Result<Tensor> {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        random::randperm(n, None, None, Layout::None, Device::None, false, PinMemory::None)
    }
}

fn sizes(shape: &Shape) -> Vec<i64> {
    shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
}

impl<T: Element> TryFrom<&[T]> for Tensor {
    type Error = Error;
    /// A vector.
    fn try_from(elements: &[T]) -> Result<Tensor> {
        Tensor::from_slice([elements.len()], elements)
    }
}

/// A tensor of values that Rust holds already, so that there is memory for them.
#[track_caller]
fn held<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Tensor {
    match Tensor::from_slice(shape, values) {
        Ok(t) => t,
        Err(e) => panic!("{e}"),
    }
}

macro_rules! from_values {
    ($($t:ty),*) => {$(
        impl From<$t> for Tensor {
            /// A 0-d tensor.
            fn from(value: $t) -> Tensor {
                held([] as [usize; 0], &[value])
            }
        }
        impl<const N: usize> From<[$t; N]> for Tensor {
            /// A vector.
            fn from(values: [$t; N]) -> Tensor {
                held([N], &values)
            }
        }
        impl<const N: usize, const M: usize> From<[[$t; M]; N]> for Tensor {
            /// A matrix, by its rows.
            fn from(rows: [[$t; M]; N]) -> Tensor {
                held([N, M], rows.as_flattened())
            }
        }
    )*};
}
from_values!(f64, f32, i64, i32, i16, i8, u8, bool, half::f16, half::bf16, Complex<f64>, Complex<f32>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_rust_are_tensors_of_their_dtype() {
        let cases = [
            (Tensor::from(2.5), DType::F64, vec![]),
            (Tensor::from([1_i32, 2]), DType::I32, vec![2]),
            (Tensor::from([[true], [false]]), DType::Bool, vec![2, 1]),
            (Tensor::from([[1.0_f32; 3]; 0]), DType::F32, vec![0, 3]),
        ];
        for (t, dtype, shape) in cases {
            assert_eq!((t.dtype(), t.shape().to_vec()), (dtype, shape));
        }
        assert_eq!(Tensor::from([[1, 2], [3, 4]]).to_vec::<i64>().unwrap(), [1, 2, 3, 4]);
    }

    #[test]
    fn ranges_have_the_dtype_of_their_bounds() {
        assert_eq!(Tensor::arange(0, 6, 2).unwrap().to_vec::<i64>().unwrap(), [0, 2, 4]);
        let halves = Tensor::arange(0, 1.0, 0.5).unwrap();
        assert_eq!((halves.dtype(), halves.to_vec::<f64>().unwrap()), (DType::F64, vec![0.0, 0.5]));
        assert_eq!(Tensor::linspace(0.0, 1.0, 3).unwrap().to_vec::<f64>().unwrap(), [0.0, 0.5, 1.0]);
        assert!(Tensor::arange(0, 1, 0).is_err());
    }

    #[test]
    fn draws_follow_vmap() {
        let x = Tensor::zeros([3], DType::F64).unwrap();
        let draw = |_: &Tensor| Tensor::rand([2], DType::F64);
        assert!(crate::vmap(draw, &x).unwrap_err().message().contains("randomness"));
        let options = crate::VmapOptions::default().randomness(crate::Randomness::Different);
        let rows = crate::vmap_with(draw, &x, &options).unwrap().to_vec::<f64>().unwrap();
        assert!(rows.len() == 6 && rows[..2] != rows[2..4]);
        let mut order = Tensor::randperm(5).unwrap().to_vec::<i64>().unwrap();
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        let dice = Tensor::randint(1, 7, [20]).unwrap().to_vec::<i64>().unwrap();
        assert!(dice.iter().all(|d| (1..7).contains(d)));
    }
}
