//! Differentiable array programming on the CPU: tensors with composable function transforms.
//!
//! ```
//! use pullback::{Tensor, grad, hessian, vmap};
//!
//! let f = |x: &Tensor| x.sin()?.mul(x)?.sum_all();
//! let x = Tensor::from_slice([3], &[0.1, 0.2, 0.3])?;
//! let g = grad(f, &x)?;
//! let h = hessian(f, &x)?;
//! let rows = vmap(|row| grad(f, row), &h)?;
//! assert_eq!(&g.shape()[..], &[3]);
//! assert_eq!(&rows.shape()[..], &[3, 3]);
//! # Ok::<(), pullback::Error>(())
//! ```

#![cfg_attr(not(test), forbid(unsafe_code))]
#![cfg_attr(test, deny(unsafe_code))]

pub mod core;
pub mod function;
pub mod ir;
#[macro_use]
pub mod ops;
mod methods;
mod ndarray_interop;
mod operators;
pub mod rules;
pub mod skin;
pub mod transforms;

#[doc(no_inline)]
pub use pullback_dense::{bail, base, dense, match_dtype, pointwise_kernel};

pub use base::{DType, Element, Error, Kind, Result, Scalar, Shape};
pub use core::{Randomness, Tensor, Tensors};
pub use function::{Gradients, custom_jvp, custom_vjp};
pub use ir::{Traced, trace};
pub use transforms::{
    JacobianOptions, LinearFunction, VmapOptions, eval_shape, grad, grad_and_value, hessian, jacfwd, jacfwd_with,
    jacrev, jacrev_with, jvp, linearize, vjp, vmap, vmap_with,
};

/// Runs the Rust blocks of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
