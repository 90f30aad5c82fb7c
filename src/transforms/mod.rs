//! L5: the transforms, one file each, over functions of lists of tensors.

pub mod backward;
pub mod jacobian;
pub mod jvp;
pub mod reverse;
pub mod vmap;

pub use jacobian::{hessian, jacfwd, jacrev};
pub use jvp::jvp;
pub use reverse::{grad, grad_and_value, vjp};
pub use vmap::vmap;
