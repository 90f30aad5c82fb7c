//! What values are described by: errors, dtypes, sizes, devices, options. No tensors.

#[macro_use]
pub mod brief;

pub mod class;
pub mod device;
pub mod dtype;
pub mod errors;
pub mod flag;
pub mod library;
pub mod limits;
pub mod named;
pub mod options;
pub mod raised;
pub mod size;
pub mod submodule;

pub use submodule::submodule;
