//! `nn.functional`: activations, losses, normalisation, windows, attention. Composites, with few exceptions.

pub mod activation;
pub mod loss;
pub mod norm;
pub mod pad;
pub mod conv;
pub mod convolution;
pub mod sizes;
