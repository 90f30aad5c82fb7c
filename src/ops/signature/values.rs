//! Kinds of numbers, words and objects.

use super::{Declared, KindOf, Place, kinds};
use crate::base::Result;
use crate::core::params::Parameters;
use crate::dense::random::Generator;
use std::sync::Arc;

kinds! {
    GivenGenerator Inplace OrBatchMean Probability ReductionMode RequiresGrad
}

/// What becomes of the losses of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReductionMode {
    None,
    Mean,
    Sum,
    /// The sum by the size of a batch, which `kl_div` alone knows.
    BatchMean,
}
impl ReductionMode {
    /// With PyTorch's old pair of flags, which win.
    pub fn or_flags(self, size_average: Option<bool>, reduce: Option<bool>) -> ReductionMode {
        match (size_average, reduce) {
            (None, None) => self,
            (_, Some(false)) => ReductionMode::None,
            (Some(false), _) => ReductionMode::Sum,
            _ => ReductionMode::Mean,
        }
    }
}
impl Declared<&str> for ReductionMode {
    type Checked = ReductionMode;
    fn check(mode: &str, _: Place<'_>) -> Result<ReductionMode> {
        Ok(match mode {
            "none" => ReductionMode::None,
            "mean" => ReductionMode::Mean,
            "sum" => ReductionMode::Sum,
            r => refuse!(Value, "'{r}' is not a valid value for reduction; use 'none', 'mean' or 'sum'"),
        })
    }
}

/// A [`ReductionMode`], or the mean over the members of a batch.
pub enum OrBatchMean {}
impl Declared<&str> for OrBatchMean {
    type Checked = ReductionMode;
    fn check(mode: &str, at: Place<'_>) -> Result<ReductionMode> {
        if mode == "batchmean" { Ok(ReductionMode::BatchMean) } else { ReductionMode::check(mode, at) }
    }
}

/// A chance: between 0 and 1.
pub enum Probability {}
impl Declared<f64> for Probability {
    type Checked = f64;
    #[inline]
    fn check(p: f64, at: Place<'_>) -> Result<f64> {
        probability(at.name, p)
    }
}
/// The number, if it is a chance.
pub fn probability(name: &str, p: f64) -> Result<f64> {
    if !(0.0..=1.0).contains(&p) {
        refuse!(Runtime, "expects {name} to be in [0, 1], but got {name}={p}");
    }
    Ok(p)
}

/// What the host language does with the result: makes it a leaf that requires grad, or writes it into the first argument.
pub enum RequiresGrad {}
pub enum Inplace {}
impl Declared<bool> for RequiresGrad {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: Place<'_>) -> Result<bool> {
        Ok(asked)
    }
}
impl Declared<bool> for Inplace {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: Place<'_>) -> Result<bool> {
        Ok(asked)
    }
}

/// The generator of a draw; the default one if none is given.
pub enum GivenGenerator {}
impl<'a> Declared<Option<&'a Arc<dyn Parameters>>> for GivenGenerator {
    type Checked = Option<&'a Arc<dyn Parameters>>;
    #[inline]
    fn check(given: Option<&'a Arc<dyn Parameters>>, at: Place<'_>) -> Result<Self::Checked> {
        if given.is_some_and(|g| !g.as_any().is::<Generator>()) {
            refuse!(Type, "argument '{}' must be a Generator; make one with pullback.Generator()", at.name);
        }
        Ok(given)
    }
}
