//! Differentiable array programming on the CPU: tensors with composable function transforms.
//!
//! ```
//! use pullback::prelude::*;
//!
//! let f = |x: &Tensor| x.sin()?.mul(x)?.sum_all();
//! let x = Tensor::from([0.1, 0.2, 0.3]);
//! let g = grad(f, &x)?; // f′(x)
//! let h = hessian(f, &x)?; // f″(x), a matrix
//! let rows = vmap(|row| grad(f, row), &h)?; // the gradient at each row of it
//! assert_eq!(g.shape(), &[3]);
//! assert_eq!(rows.shape(), &[3, 3]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Tensors
//!
//! A [`Tensor`] is an immutable array of one [`DType`]; cloning it shares it. Tensors come from values of Rust (`f64` gives
//! [`DType::F64`], `f32` [`DType::F32`], and so on), from slices with a shape, and from functions that make them:
//!
//! ```
//! use pullback::prelude::*;
//! let number = Tensor::from(2.0); // 0-d
//! let vector = Tensor::from([1.0, 2.0, 3.0]);
//! let matrix = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let cube = Tensor::from_slice([2, 2, 2], &[1_i64, 2, 3, 4, 5, 6, 7, 8])?;
//! let zeros = Tensor::zeros([2, 3], DType::F32)?; // also ones, full, eye, arange, linspace
//! assert_eq!((matrix.shape(), matrix.rank(), matrix.numel()), (&Shape::from([2, 3]), 2, 6));
//! assert_eq!((cube.dtype(), zeros.dtype()), (DType::I64, DType::F32));
//! let values: Vec<f64> = vector.to_vec()?; // row-major
//! let value: f64 = number.item()?; // of a tensor with one element
//! assert_eq!((values, value), (vec![1.0, 2.0, 3.0], 2.0));
//! println!("{matrix}");
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Operators
//!
//! Operators are methods with PyTorch's names, and return a [`Result`], for `?`. They take what PyTorch's function takes by
//! position; where it takes a tensor or a number they take `&Tensor`, `f64` or an integer. Shapes broadcast as in NumPy.
//! Reductions take dimensions (`-1` is the last, `&[]` is all of them) and whether to keep them with size 1. `+ - * / %` work
//! as well, on tensors, references and numbers; they panic where a method would return an error.
//!
//! ```
//! use pullback::prelude::*;
//! let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let w = Tensor::from([1.0, 0.5, 0.25]);
//! let y = x.mul(&w)?.add(1.0)?.exp()?.log1p()?; // (2, 3) with (3,)
//! let centred = x.sub(&x.mean(&[1], true)?)?; // (2, 3) with (2, 1)
//! let total = x.sum_all()?; // 0-d, as mean_all; also sum, mean, amax, argmax, prod, var, …
//! let product = x.matmul(&w)?; // also linalg::solve and others
//! let column = x.index((.., 1))?; // as x[:, 1]; also select, narrow, index_select, gather
//! let positive = centred.gt(0.0)?.where_(&centred, 0.0)?;
//! let joined = Tensor::cat(&[&x, &centred], 0)?; // also Tensor::stack, Tensor::einsum
//! let same = &x * 2.0 - &x;
//! assert_eq!(column.to_vec::<f64>()?, [2.0, 5.0]);
//! assert_eq!(product.to_vec::<f64>()?, [2.75, 8.0]);
//! assert_eq!((y.shape(), joined.shape(), total.item::<f64>()?), (&Shape::from([2, 3]), &Shape::from([4, 3]), 21.0));
//! # let _ = (positive, same);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Errors
//!
//! Every function that can fail returns an [`Error`], which has a [`kind`](Error::kind) to match on and says what was wrong:
//!
//! ```
//! use pullback::prelude::*;
//! let e = Tensor::from([1.0, 2.0]).add(&Tensor::from([1.0, 2.0, 3.0])).unwrap_err();
//! assert_eq!(e.kind(), ErrorKind::Runtime);
//! assert!(e.to_string().contains("add()"));
//! ```
//!
//! # Transforms
//!
//! A transform takes a function and the inputs to run it on. Inputs and outputs are tensors in any arrangement
//! ([`Tensors`]): `&x`, `[&a, &b]`, `(&a, &b)`, `&vec`, structs by [`tensors!`]. The function takes a reference to the same
//! arrangement and returns a `Result`; what it captures is a constant. Results come in the arrangement of what they belong
//! to.
//!
//! | | gives |
//! |---|---|
//! | [`grad`]`(f, x)` | the gradient of a scalar function; [`grad_and_value`] both |
//! | [`vjp`]`(f, x)` | the value, and a function from cotangents of it to those of `x` |
//! | [`jvp`](jvp())`(f, x, t)` | the value, and its derivative along `t` |
//! | [`linearize`](linearize())`(f, x)` | the value, and that derivative as a function of `t` |
//! | [`vmap`](vmap())`(f, x)` | `f` over the members along dimension 0; [`vmap_with`] others |
//! | [`jacrev`]`(f, x)`, [`jacfwd`]`(f, x)` | the Jacobian, by rows or by columns |
//! | [`hessian`]`(f, x)` | the matrix of second derivatives |
//! | [`trace`]`(f, x)` | a [`Program`] of what `f` does |
//! | [`eval_shape`]`(f, x)` | dtypes and shapes of the results, without data |
//!
//! ```
//! use pullback::prelude::*;
//! let (x, t) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 0.0]));
//! let (dx, y) = grad_and_value(|x| x.square()?.sum_all(), &x)?;
//! let (da, db) = grad(|(a, b)| a.mul(b)?.sum_all(), (&x, &t))?;
//! let (y2, pull) = vjp(|x| x.square(), &x)?;
//! let back = pull(&t)?;
//! let (_, dy) = jvp(|x| x.square(), &x, &t)?;
//! let (_, push) = linearize(|x| x.square(), &x)?;
//! let squares = vmap(|row| row.dot(row), &Tensor::stack(&[&x, &t], 0)?)?;
//! let j = jacrev(|x| x.square(), &x)?;
//! let h = hessian(|x| x.square()?.sum_all(), &x)?;
//! let program = trace(|x| x.square()?.sum_all(), &x)?;
//! let slope = grad(|x| program.call(x), &x)?;
//! let shape = eval_shape(|x| x.outer(x), &x)?;
//! assert_eq!(push(&t)?.to_vec::<f64>()?, dy.to_vec::<f64>()?);
//! assert_eq!(shape.shape(), &[2, 2]);
//! # let _ = (dx, y, da, db, y2, back, squares, j, h, slope);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Functions of your own
//!
//! [`custom_vjp`] and [`custom_jvp`] give a function another derivative: closures, of which only the type of the inputs has to
//! be written. [`Function`](function::Function) is the trait behind them, for rules that choose what they save.
//! [`primitive`] registers operators with kernels on raw memory. All of them work under every transform.
//!
//! ```
//! use pullback::prelude::*;
//! // log(1 + exp(x)): the forward gives the result and what the backward needs.
//! let softplus = custom_vjp(|x: &Tensor| Ok((x.exp()?.log1p()?, x.clone())), |x, g| g.mul(&x.sigmoid()?));
//! let h = hessian(|x| softplus(x)?.sum_all(), &Tensor::from([0.0, 1000.0]))?;
//! assert_eq!(h.to_vec::<f64>()?, [0.25, 0.0, 0.0, 0.0]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Threads and random numbers
//!
//! Large operators use several threads ([`set_num_threads`]); the result does not depend on how many. Tensors may be sent to
//! and shared between threads; a value inside of a transform belongs to the thread that runs it. Random numbers come from one
//! generator ([`manual_seed`]); under [`vmap`](vmap()) they need [`VmapOptions::randomness`].
//!
//! ```
//! use pullback::prelude::*;
//! manual_seed(0);
//! let x = Tensor::randn([3], DType::F64)?; // also rand, randint, randperm
//! let noisy = |_: &Tensor| Tensor::rand([2], DType::F64);
//! let y = vmap_with(noisy, &x, &VmapOptions::default().randomness(Randomness::Different))?;
//! let handle = std::thread::spawn(move || grad(|x| x.sin()?.sum_all(), &x));
//! assert_eq!(handle.join().unwrap()?.shape(), &[3]);
//! assert_eq!(y.shape(), &[3, 2]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Features
//!
//! `ndarray` (on by default): conversions from and to arrays of the crate `ndarray`.

#![cfg_attr(not(test), forbid(unsafe_code))]
#![cfg_attr(test, deny(unsafe_code))]
#![deny(missing_docs)]

// The documentation of hidden modules is for those who change them.
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod core;
mod creation;
pub mod function;
mod index;
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod ir;
pub mod linalg;
#[macro_use]
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links, rustdoc::broken_intra_doc_links)] // its examples are in Python
pub mod ops;
mod methods;
#[cfg(feature = "ndarray")]
mod ndarray_interop;
pub mod nn;
mod operators;
pub mod prelude;
pub mod primitive;
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod rules;
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod skin;
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod transforms;

#[doc(hidden)]
pub use pullback_dense::{bail, base, dense, match_dtype, pointwise_kernel};

#[doc(inline)]
pub use base::{DType, Element, Error, ErrorKind, Result, Scalar, Shape};
pub use core::{Gradients, Meta, Randomness, Tensor, Tensors, level::GradMode};
#[doc(inline)]
pub use dense::random::manual_seed;
#[doc(inline)]
pub use dense::threads::{get_num_threads, set_num_threads};
pub use function::{custom_jvp, custom_vjp};
pub use index::{Ellipsis, Index, IndexPart, NewAxis, stepped};
pub use ir::{Program, Traced, trace};
pub use ops::value::Operand;
pub use transforms::functions::{
    LinearFunction, eval_shape, grad, grad_and_value, hessian, jacfwd, jacfwd_with, jacrev, jacrev_with, jvp,
    linearize, vjp, vmap, vmap_with,
};
pub use transforms::{JacobianOptions, VmapOptions};

/// Runs the Rust blocks of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
