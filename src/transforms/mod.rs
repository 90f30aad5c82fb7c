//! L6: the transforms, one file each, over functions of lists of tensors.

pub mod backward;
pub mod eval_shape;
pub mod forward_ad;
mod front;
pub mod jacobian;
pub mod jvp;
pub mod linearize;
pub mod reverse;
pub mod task;
pub mod vmap;

#[cfg(test)]
mod tests;

pub use eval_shape::eval_shape;
pub use jacobian::{hessian, jacfwd, jacrev};
pub use jvp::jvp;
pub use linearize::linearize;
pub use reverse::{grad, grad_and_value, grad_many, vjp};
pub use vmap::{vmap, vmap_many};
