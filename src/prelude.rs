//! What most programs use: `use pullback::prelude::*;`.

pub use crate::{
    DType, Ellipsis, Error, ErrorKind, GradMode, JacobianOptions, NewAxis, Program, Randomness, Result, Scalar, Shape,
    Tensor, Tensors, Traced, VmapOptions, custom_jvp, custom_vjp, eval_shape, grad, grad_and_value, hessian, jacfwd,
    jacfwd_with, jacrev, jacrev_with, jvp, linalg, linearize, manual_seed, nn, set_num_threads, stepped, tensors,
    trace, vjp, vmap, vmap_with,
};
