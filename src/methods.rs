//! Operators as methods of [`Tensor`]. The functions in [`crate::ops`] take all parameters; these take the usual ones.
//!
//! ```
//! use pullback::Tensor;
//! let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let centred = x.sub(&x.mean(&[1], true)?)?;
//! assert_eq!(centred.square()?.sum(&[1], false)?.to_vec::<f64>()?, [2.0, 2.0]);
//! assert_eq!(x.add(0.5)?.amax(&[], false)?.to_scalar()?.as_f64(), 6.5);
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::base::{DType, Element, Result, Scalar, Shape};
use crate::core::Tensor;
use crate::dense::Array;
use crate::ops;
use crate::ops::value::Operand;
use crate::rules::basis;

/// `fn name(&self) -> Result<Tensor>` for functions of one tensor.
macro_rules! unary_methods {
    ($($module:ident { $($name:ident)* })*) => {
        impl Tensor {$($(
            #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($name), "`] of this tensor.")]
            #[inline]
            pub fn $name(&self) -> Result<Tensor> {
                ops::$module::$name(self)
            }
        )*)*}
    };
}

unary_methods! {
    unary {
        abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log
        log10 log1p log2 log_sigmoid reciprocal relu rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc
    }
    compare { isfinite isinf isnan logical_not }
    diagonal { trace }
    shape { detach ravel t }
}

/// `fn name(&self, other) -> Result<Tensor>` for functions of two operands, which broadcast; the other one may be a
/// number.
macro_rules! binary_methods {
    ($($module:ident { $($name:ident)* })*) => {
        impl Tensor {$($(
            #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($name),
                "`] of this tensor and a tensor or number; both broadcast.")]
            #[inline]
            pub fn $name<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                ops::$module::$name(Operand::Tensor(self), other.into())
            }
        )*)*}
    };
}

binary_methods! {
    arith { atan2 floor_divide fmod hypot logaddexp maximum minimum mul pow remainder true_divide }
    compare { eq ge gt le logical_and logical_or logical_xor lt ne }
}

/// Methods with parameters: the expression is the call.
macro_rules! methods {
    ($($(#[$meta:meta])* $name:ident($me:ident $(, $p:ident: $t:ty)*) = $call:expr;)*) => {
        impl Tensor {$(
            $(#[$meta])*
            #[inline]
            pub fn $name(&self $(, $p: $t)*) -> Result<Tensor> {
                let $me = self;
                $call
            }
        )*}
    };
}

methods! {
    /// The sum of all elements, 0-d.
    sum_all(x) = ops::reduce::sum(x, None, false, None);
    /// The sum over `dims` (all if empty), which stay with size 1 if `keepdim`.
    sum(x, dims: &[i64], keepdim: bool) = ops::reduce::sum(x, some(dims), keepdim, None);
    /// The mean of all elements, 0-d.
    mean_all(x) = ops::reduce::mean(x, None, false, None);
    /// The mean over `dims` (all if empty), which stay with size 1 if `keepdim`.
    mean(x, dims: &[i64], keepdim: bool) = ops::reduce::mean(x, some(dims), keepdim, None);
    /// The product over `dim`, or of all elements.
    prod(x, dim: Option<i64>, keepdim: bool) = ops::reduce::prod(x, dim, keepdim, None);
    /// The largest elements over `dims` (all if empty).
    amax(x, dims: &[i64], keepdim: bool) = ops::reduce::amax(x, dims, keepdim);
    /// The smallest elements over `dims` (all if empty).
    amin(x, dims: &[i64], keepdim: bool) = ops::reduce::amin(x, dims, keepdim);
    /// `log(sum(exp(x)))` over `dims`, without overflow.
    logsumexp(x, dims: &[i64], keepdim: bool) = ops::reduce::logsumexp(x, dims, keepdim);
    /// Whether all elements over `dims` (all if empty) are true.
    all(x, dims: &[i64], keepdim: bool) = ops::reduce::all(x, some(dims), keepdim);
    /// Whether any element over `dims` (all if empty) is true.
    any(x, dims: &[i64], keepdim: bool) = ops::reduce::any(x, some(dims), keepdim);
    /// Positions of the largest elements along `dim`, or of the largest of all in row-major order.
    argmax(x, dim: Option<i64>, keepdim: bool) = ops::sorting::argmax(x, dim, keepdim);
    /// Positions of the smallest elements along `dim`, or of the smallest of all in row-major order.
    argmin(x, dim: Option<i64>, keepdim: bool) = ops::sorting::argmin(x, dim, keepdim);
    /// Sums of the elements up to each one along `dim`.
    cumsum(x, dim: i64) = ops::sorting::cumsum(x, dim, None);
    /// `exp(x) / sum(exp(x))` along `dim`.
    softmax(x, dim: i64) = ops::softmax::softmax(x, dim, None);
    /// `log(softmax(x))` along `dim`, without overflow.
    log_softmax(x, dim: i64) = ops::softmax::log_softmax(x, dim, None);

    /// `-x`
    neg(x) = ops::unary::negative(x);
    /// The matrix product; leading dimensions broadcast, vectors are rows on the left and columns on the right.
    matmul(x, other: &Tensor) = ops::matmul::matmul(x, other);
    /// The matrix of products of the elements of two vectors.
    outer(x, other: &Tensor) = ops::matmul::outer(x, other);
    /// The inner product of two vectors, 0-d.
    dot(x, other: &Tensor) = ops::matmul::dot(x, other);

    /// The same elements in row-major order in another shape; one size may be -1, which is then inferred.
    reshape(x, shape: &[i64]) = ops::shape::reshape(x, shape);
    /// Dimensions `start ..= end` merged into one.
    flatten(x, start: i64, end: i64) = ops::shape::flatten(x, start, end);
    /// Dimensions of size 1 repeated to this shape; -1 keeps a size.
    expand(x, shape: &[i64]) = ops::shape::expand(x, shape, false);
    /// Dimension i of the result is dimension `order[i]`.
    permute(x, order: &[i64]) = ops::shape::permute(x, order);
    /// Two dimensions exchanged.
    transpose(x, dim0: i64, dim1: i64) = ops::shape::transpose(x, dim0, dim1);
    /// Dimensions moved to other places, the rest in order.
    movedim(x, from: &[i64], to: &[i64]) = ops::shape::movedim(x, from, to);
    /// Without the dimensions of size 1 among `dims` (all if empty).
    squeeze(x, dims: &[i64]) = ops::shape::squeeze(x, some(dims));
    /// With a dimension of size 1 at `dim`.
    unsqueeze(x, dim: i64) = ops::shape::unsqueeze(x, dim);
    /// Elements `start .. start + length` along `dim`.
    narrow(x, dim: i64, start: i64, length: i64) = ops::shape::narrow(x, dim, start, length);
    /// Element `index` along `dim`, without that dimension.
    select(x, dim: i64, index: i64) = ops::shape::select(x, dim, index);
    /// Elements in reverse order along `dims`.
    flip(x, dims: &[i64]) = ops::sorting::flip(x, dims);
    /// The diagonal of a matrix, or a matrix with this diagonal.
    diag(x, offset: i64) = ops::diagonal::diag(x, offset);
    /// Zeros above the diagonal `offset` of the trailing matrices.
    tril(x, offset: i64) = ops::diagonal::tril(x, offset);
    /// Zeros below the diagonal `offset` of the trailing matrices.
    triu(x, offset: i64) = ops::diagonal::triu(x, offset);

    /// `out[i][j] = x[index[i][j]][j]` for `dim` 0, and likewise for other dimensions.
    gather(x, dim: i64, index: &Tensor) = ops::gather::gather(x, dim, index, false);
    /// `x` with `src` added at the places that `index` names along `dim`.
    scatter_add(x, dim: i64, index: &Tensor, src: &Tensor) = ops::gather::scatter_add(x, dim, index, src);
    /// The members along `dim` that `index` names.
    index_select(x, dim: i64, index: &Tensor) = ops::gather::index_select(x, dim, index);
    /// The elements converted to another dtype.
    to_dtype(x, dtype: DType) = basis::cast(x, dtype);
}

fn some(dims: &[i64]) -> Option<&[i64]> {
    (!dims.is_empty()).then_some(dims)
}

impl Tensor {
    /// `self + other`, broadcasting.
    #[inline]
    pub fn add<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        ops::arith::add(Operand::Tensor(self), other.into(), None)
    }
    /// `self - other`, broadcasting.
    #[inline]
    pub fn sub<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        ops::arith::sub(Operand::Tensor(self), other.into(), None)
    }
    /// `self / other`, broadcasting; of integers too this is the true quotient.
    #[inline]
    pub fn div<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        ops::arith::div(Operand::Tensor(self), other.into(), None)
    }
    /// The elements limited to `min ..= max`, of which either may be missing.
    pub fn clamp<'a>(&'a self, min: Option<Operand<'a>>, max: Option<Operand<'a>>) -> Result<Tensor> {
        ops::arith::clamp(self, min, max)
    }
    /// `a` where this tensor of bools is true, `b` elsewhere; all broadcast.
    pub fn where_<'a>(&'a self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
        let (a, b) = (a.into(), b.into());
        match ops::arith::where_else(self, Some(a), Some(b))? {
            ops::Value::Tensor(t) => Ok(t),
            other => Err(crate::Error::internal(format!("where(): gave {}", other.type_name()))),
        }
    }
    /// `self` with `value` where `mask` is true.
    pub fn masked_fill<'a>(&'a self, mask: &'a Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
        ops::gather::masked_fill(self, mask, value.into())
    }

    /// The elements in row-major order, converted to `T`. Dense tensors only: values of a live transform have none.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.array()?.to_vec()
    }
    /// The only element.
    ///
    /// # Errors
    /// `Runtime` if there is more than one, or the tensor is a value of a live transform.
    pub fn to_scalar(&self) -> Result<Scalar> {
        self.array()?.item()
    }

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
    /// Zeros of this tensor's shape and dtype.
    pub fn zeros_like(&self) -> Result<Tensor> {
        basis::zeros_like(self)
    }
    /// Ones of this tensor's shape and dtype.
    pub fn ones_like(&self) -> Result<Tensor> {
        basis::ones_like(self)
    }
    /// The identity matrix.
    pub fn eye(n: usize, dtype: DType) -> Result<Tensor> {
        Array::unit_rows(dtype, n, n, 0, 0, n).map(Tensor::from)
    }
    /// Tensors of equal rank joined along `dim`.
    pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        ops::join::cat(tensors.to_vec(), dim)
    }
    /// Tensors of equal shape along a new dimension `dim`.
    pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        ops::join::stack(tensors.to_vec(), dim)
    }
    /// Sums of products by an equation such as `"ij,jk->ik"`.
    pub fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
        ops::einsum::einsum(equation, operands.to_vec())
    }
}
