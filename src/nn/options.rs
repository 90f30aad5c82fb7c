//! How the functions of [`functional`](super::functional) run, where a call says more than its tensors.

use crate::core::Tensor;

/// What a loss makes of the losses of all elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reduction {
    /// All of them.
    None,
    /// Their mean; of weighted classes, the weighted one.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// Their sum by the number of rows: the divergence of distributions, for [`kl_div`](super::functional::kl_div) alone.
    BatchMean,
}

impl Reduction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Reduction::None => "none",
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
            Reduction::BatchMean => "batchmean",
        }
    }
}

/// What stands beside a tensor that is padded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum PadMode {
    /// Zeros.
    #[default]
    Zeros,
    /// This number.
    Constant(f64),
    /// The tensor mirrored at its last elements, which are not repeated.
    Reflect,
    /// Its last elements.
    Replicate,
    /// The tensor from its other end.
    Circular,
}

/// How values between elements follow from those around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interpolation {
    /// Linear along each dimension.
    #[default]
    Linear,
    /// The nearest element.
    Nearest,
    /// A cubic along each of two dimensions.
    Cubic,
}

impl Interpolation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Interpolation::Linear => "bilinear",
            Interpolation::Nearest => "nearest",
            Interpolation::Cubic => "bicubic",
        }
    }
}

/// What is read at points outside of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Outside {
    /// Zeros.
    #[default]
    Zeros,
    /// The element at the border.
    Border,
    /// The element that a mirror at the border shows.
    Reflection,
}

impl Outside {
    pub(super) fn name(self) -> &'static str {
        match self {
            Outside::Zeros => "zeros",
            Outside::Border => "border",
            Outside::Reflection => "reflection",
        }
    }
}

/// Declares options with a method for each: `name: type = default`.
macro_rules! options {
    ($(#[$note:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $given:ty => $kept:ty = $default:expr, |$x:ident| $set:expr;)* }) => {
        $(#[$note])*
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct $name {
            $(pub(super) $field: $kept,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, $x: $given) -> $name {
                self.$field = $set;
                self
            })*
        }
    };
}

options! {
    /// Strides, padding and groups of a convolution; one number stands for all dimensions.
    ConvOptions {
        /// The steps between windows; 1 by default.
        stride: &[i64] => Vec<i64> = vec![1], |x| x.to_vec();
        /// The zeros at both ends; none by default.
        padding: &[i64] => Vec<i64> = vec![0], |x| x.to_vec();
        /// The distances between the elements of a window; 1 by default.
        dilation: &[i64] => Vec<i64> = vec![1], |x| x.to_vec();
        /// Into how many parts the channels fall that do not meet; 1 by default.
        groups: i64 => i64 = 1, |x| x;
        /// What a transposed convolution adds to one end of its result; none by default.
        output_padding: &[i64] => Vec<i64> = vec![0], |x| x.to_vec();
    }
}

options! {
    /// The windows of a pooling operator, [`unfold`](super::functional::unfold) or [`fold`](super::functional::fold).
    Window {
        /// The sizes of a window; one number stands for all dimensions. 1 by default.
        size: &[i64] => Vec<i64> = vec![1], |x| x.to_vec();
        /// The steps between windows: by default their sizes, or 1 where they are unfolded.
        stride: &[i64] => Option<Vec<i64>> = None, |x| Some(x.to_vec());
        /// What is added at both ends; nothing by default.
        padding: &[i64] => Vec<i64> = vec![0], |x| x.to_vec();
        /// The distances between the elements of a window; 1 by default. No mean takes one.
        dilation: &[i64] => Vec<i64> = vec![1], |x| x.to_vec();
        /// Whether windows that reach beyond the end count; by default not.
        ceil_mode: bool => bool = false, |x| x;
        /// Whether means count the zeros that padding adds; by default they do.
        count_include_pad: bool => bool = true, |x| x;
    }
}

impl Window {
    /// Windows of these sizes.
    pub fn of(size: &[i64]) -> Window {
        Window::default().size(size)
    }
}

options! {
    /// What a loss of classes weighs, leaves out and gives.
    LossOptions {
        /// What becomes of the losses of all elements; their mean by default.
        reduction: Reduction => Reduction = Reduction::Mean, |x| x;
        /// A weight for each class, or for each element of a loss of probabilities.
        weight: &Tensor => Option<Tensor> = None, |x| Some(x.clone());
        /// A weight for the positive answers of each class.
        pos_weight: &Tensor => Option<Tensor> = None, |x| Some(x.clone());
        /// The class that does not count; -100 by default.
        ignore_index: i64 => i64 = -100, |x| x;
        /// How much of the certainty is spread over all classes; none by default.
        label_smoothing: f64 => f64 = 0.0, |x| x;
    }
}

options! {
    /// Whether a batch is normalised by its own statistics, and how running ones follow them.
    BatchNormOptions {
        /// Whether the statistics are those of the batch; by default they are the running ones.
        training: bool => bool = false, |x| x;
        /// The share of the batch in new running statistics; 0.1 by default.
        momentum: f64 => f64 = 0.1, |x| x;
        /// What is added to the variance; 1e-5 by default.
        eps: f64 => f64 = 1e-5, |x| x;
    }
}

options! {
    /// Masks and scale of attention.
    AttentionOptions {
        /// What is added to the scores, or true where a key may be attended to.
        mask: &Tensor => Option<Tensor> = None, |x| Some(x.clone());
        /// Whether queries attend to no later key; by default they do.
        causal: bool => bool = false, |x| x;
        /// The probability that a weight is dropped; 0 by default.
        dropout: f64 => f64 = 0.0, |x| x;
        /// What scores are multiplied with; by default one by the square root of the size of a query.
        scale: f64 => Option<f64> = None, |x| Some(x);
        /// Whether several heads of queries share a head of keys and values; by default not.
        grouped: bool => bool = false, |x| x;
    }
}
