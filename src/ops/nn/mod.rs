//! `nn.functional`: activations, losses, normalisation, windows, attention. Composites, with few exceptions.

pub mod activation;
pub mod attention;
pub mod conv;
pub mod convolution;
pub mod ctc;
pub mod formats;
pub mod fractional;
pub mod grid_sample;
pub mod interpolate;
pub mod loss;
pub mod norm;
pub mod pad;
pub mod patches;
pub mod pool;
pub mod recurrent;
pub mod sizes;
pub mod unpool;

/// As [`super::FILES`].
pub(super) static FILES: &[super::Family] = &[
    activation::FAMILY,
    attention::FAMILY,
    conv::FAMILY,
    convolution::FAMILY,
    fractional::FAMILY,
    ctc::FAMILY,
    loss::FAMILY,
    norm::FAMILY,
    pad::FAMILY,
    patches::FAMILY,
    pool::FAMILY,
    recurrent::FAMILY,
    grid_sample::FAMILY,
    interpolate::FAMILY,
    unpool::FAMILY,
];
