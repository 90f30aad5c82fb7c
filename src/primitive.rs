//! Operators of your own that are like those of the library: a name that passes find them by, a kernel, a shape rule, and
//! rules for derivatives and batches.
//!
//! Implement [`Primitive`] for a type, make a `static` of it, [`register`] it once, and run it with [`call()`]. Rules are
//! written in operators, on the values that they are given, so that they work under every transform. Where a kernel of your
//! own is not needed, [`custom_vjp`](crate::custom_vjp) is shorter.
//!
//! ```
//! use pullback::prelude::*;
//! use pullback::primitive::{self, *};
//!
//! /// `x³`, element by element.
//! struct Cube;
//! static CUBE: Cube = Cube;
//!
//! impl Primitive for Cube {
//!     fn name(&self) -> &str {
//!         "example:cube"
//!     }
//!     fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
//!         Ok([args[0].clone()].into_iter().collect())
//!     }
//!     fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
//!         let cubes: Vec<f64> = args[0].to_vec::<f64>()?.iter().map(|x| x * x * x).collect();
//!         Tensor::from_slice(args[0].shape().clone(), &cubes)
//!     }
//!     fn saves(&self, _: &Params, _needs: Mask) -> Saves {
//!         Saves { inputs: 1, outputs: 0 } // a bit for each
//!     }
//!     fn jvp(&self, _: Prim<'_>, _: &Params, at: &Point<'_>, t: &[Option<&Tensor>]) -> Result<Tangents> {
//!         let slope = at.input(0)?.square()?.mul(3.0)?;
//!         Ok([t[0].map(|t| t.mul(&slope)).transpose()?].into_iter().collect())
//!     }
//!     fn vjp(&self, _: Prim<'_>, _: &Params, at: &Point<'_>, g: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
//!         let slope = at.input(0)?.square()?.mul(3.0)?;
//!         Ok([g[0].as_ref().map(|g| g.mul(&slope)).transpose()?].into_iter().collect())
//!     }
//!     fn batch(&self, me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
//!         Ok([(call(me, p, &[args[0].value])?, args[0].dim)].into_iter().collect())
//!     }
//! }
//!
//! primitive::register(&CUBE)?;
//! let cube = |x: &Tensor| call(Prim::Static(&CUBE), &Params::None, &[x]);
//! let x = Tensor::from([1.0, 2.0]);
//! assert_eq!(vmap(|x| grad(cube, x), &x)?.to_vec::<f64>()?, [3.0, 12.0]);
//! # Ok::<(), pullback::Error>(())
//! ```

pub use crate::core::call::{call, call_many};
pub use crate::core::params::Params;
pub use crate::core::primitive::{
    BatchArg, BatchInfo, BatchOut, Mask, Outputs, Point, Prim, Primitive, Saves, Tangents,
};
pub use crate::core::{Inferred, Meta};
pub use crate::ops::primitives::register;
