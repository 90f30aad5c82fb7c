//! L6: the transforms. What each does on its level is a file, over lists of tensors; what users call is `functions`.

pub mod backward;
pub mod forward_ad;
pub mod functions;
pub mod jacobian;
pub mod jvp;
pub mod linearize;
mod options;
pub mod reverse;
mod reverse_queue;
pub mod run;
pub mod task;
pub mod vmap;

#[cfg(test)]
mod tests;

pub use functions::{
    LinearFunction, eval_shape, grad, grad_and_value, hessian, jacfwd, jacfwd_with, jacrev, jacrev_with, jvp,
    linearize, vjp, vmap, vmap_with,
};
pub use jacobian::JacobianOptions;
pub use options::VmapOptions;
