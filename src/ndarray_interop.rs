//! Tensors from and to arrays of the crate `ndarray`. All conversions copy.
//!
//! ```
//! use ndarray::{ArrayD, array};
//! use pullback::Tensor;
//! let t = Tensor::try_from(&array![[1.0, 2.0], [3.0, 4.0]])?;
//! let a: ArrayD<f64> = (&t.mul(2.0)?).try_into()?;
//! assert_eq!(a, array![[2.0, 4.0], [6.0, 8.0]].into_dyn());
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::base::{Element, Error, Result, Shape};
use crate::core::Tensor;
use ndarray::{ArrayD, ArrayRef, Dimension, IxDyn};

impl Tensor {
    /// The elements of an array or a view, of any memory order.
    pub fn from_ndarray<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Result<Tensor> {
        let shape: Shape = array.shape().iter().copied().collect();
        match array.as_slice() {
            Some(elements) => Tensor::from_slice(shape, elements),
            None => Tensor::from_slice(shape, &array.iter().copied().collect::<Vec<T>>()),
        }
    }

    /// The elements as an array in row-major order, converted to `T`.
    ///
    /// # Errors
    /// `Internal` for a value of a live transform, which has no elements of its own.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        ArrayD::from_shape_vec(IxDyn(&self.shape()[..]), self.to_vec()?).map_err(|e| Error::internal(e.to_string()))
    }
}

impl<T: Element, S: ndarray::Data<Elem = T>, D: Dimension> TryFrom<&ndarray::ArrayBase<S, D>> for Tensor {
    type Error = Error;
    fn try_from(array: &ndarray::ArrayBase<S, D>) -> Result<Tensor> {
        Tensor::from_ndarray(array)
    }
}

impl<T: Element> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;
    fn try_from(t: &Tensor) -> Result<ArrayD<T>> {
        t.to_ndarray()
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tensor};
    use ndarray::{Array, ArrayD, Axis, Slice, array};

    #[test]
    fn any_memory_order_goes_in_and_rows_come_out() {
        let a = Array::from_iter(0..24).into_shape_with_order((2, 3, 4)).unwrap();
        let mut part = a.view();
        part.invert_axis(Axis(1));
        part.slice_axis_inplace(Axis(2), Slice::from(1..3));
        let view = part.permuted_axes([2, 0, 1]);
        let t = Tensor::from_ndarray(&view).unwrap();
        assert_eq!((&t.shape()[..], t.dtype()), (&[2, 2, 3][..], DType::I32));
        assert_eq!(t.to_ndarray::<i32>().unwrap(), view.to_owned().into_dyn());
    }

    #[test]
    fn no_dimensions_and_no_elements() {
        let zero: Tensor = (&ndarray::arr0(2.5)).try_into().unwrap();
        assert_eq!((zero.rank(), zero.to_vec::<f64>().unwrap()), (0, vec![2.5]));
        let empty = Tensor::try_from(&Array::<f32, _>::zeros((0, 3))).unwrap();
        assert_eq!(empty.to_ndarray::<f32>().unwrap().shape(), [0, 3]);
        assert_eq!(empty.to_ndarray::<f32>().unwrap().sum_axis(Axis(0)), ArrayD::<f32>::zeros(vec![3]));
    }

    #[test]
    fn elements_are_converted() {
        let t = Tensor::try_from(&array![1.5, -2.0]).unwrap();
        assert_eq!(t.to_ndarray::<i64>().unwrap(), array![1, -2].into_dyn());
    }
}
