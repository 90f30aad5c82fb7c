//! L4: categories. An entry gives its kernel and its derivative once; its category turns them into the forward rule,
//! the reverse rule and the batching rule.

pub mod abstracted;
pub mod affine;
pub mod basis;
pub mod batching;
pub mod bilinear;
pub mod constant;
pub mod general;
pub mod index;
pub mod joint;
pub mod linear;
pub mod matrix;
pub mod opaque;
pub mod part;
pub mod pointwise;
pub mod reduction;
pub mod shapes;
pub mod solve;
mod transpose;
pub mod view;

pub use affine::Affine;
pub use bilinear::Bilinear;
pub use constant::Constant;
pub use general::General;
pub use index::Choosing;
pub use joint::Joint;
pub use linear::{Batching, Linear};
pub use matrix::Matrix;
pub use opaque::{Opaque, OpaqueBatch};
pub use pointwise::{IntoPartial, Partial, PartialRule, Pointwise};
pub use reduction::{Reduction, Weight};
pub use shapes::Infer;
pub use solve::Solve;
pub use view::View;
