//! Layers of neural networks as functions.

pub mod functional;
mod options;
#[cfg(test)]
mod tests;
mod windows;

pub use options::{
    AttentionOptions, BatchNormOptions, ConvOptions, Interpolation, LossOptions, Outside, PadMode, Reduction, Window,
};
