//! L2: values, levels, primitives and the dispatcher. It knows no operator.

pub mod batch;
pub mod call;
pub mod closed;
pub mod custom;
pub mod deferred;
pub mod forward;
mod gradients;
pub mod host;
mod inline_list;
pub mod level;
pub mod meta;
pub mod method_scope;
pub mod modes;
pub mod nest;
pub mod node;
pub mod node_name;
pub mod origin;
pub mod params;
pub mod primitive;
pub mod reach;
pub mod residual;
pub mod saved_context;
pub mod set;
pub mod shared;
pub mod spoilt;
pub mod stop;
pub mod symbolic;
mod tape;
pub mod tensor;
pub mod tensors;
#[cfg(test)]
mod tests;
mod thread;
pub mod trace;

pub use call::{call, call_into, call_many};
pub use custom::Forward;
pub use gradients::Gradients;
pub use level::{LevelId, Randomness};
pub use meta::{Inferred, Meta};
pub use node::{Edge, Node};
pub use params::Params;
pub use primitive::{BatchArg, BatchInfo, BatchOut, Mask, Outputs, Point, Prim, Primitive, Tangents};
pub use set::Set;
pub use tensor::Tensor;
pub use tensors::Tensors;
