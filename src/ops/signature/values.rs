//! Kinds of numbers, words and objects.

use super::{ArgumentPlace, Declared, KindOf, kinds, refused};
use crate::base::{ErrorKind, Result, Scalar};
use crate::core::params::Parameters;
use crate::dense::random::Generator;
use std::fmt::Write;
use std::sync::Arc;

kinds! {
    Count Dropped Factor GivenGenerator Inplace NonZero Positive Probability RequiresGrad Truth
}
impl<T> KindOf for Chosen<T> {
    const NAME: &'static str = "Chosen";
}
impl<const RANK: usize, const LEAST: i64> KindOf for Spatial<RANK, LEAST> {
    const NAME: &'static str = "Spatial";
}
impl<const RANK: usize> KindOf for Strides<RANK> {
    const NAME: &'static str = "Spatial";
}

/// The words that a parameter knows, and what each stands for.
pub trait Words: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// PyTorch's error for another word.
    const ERROR: ErrorKind = ErrorKind::Runtime;
}

/// One of the words of `T`.
pub struct Chosen<T>(std::marker::PhantomData<T>);
impl<T: Words> Declared<&str> for Chosen<T> {
    type Checked = T;
    #[inline]
    fn check(word: &str, at: ArgumentPlace<'_>) -> Result<T> {
        match T::WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => Ok(*meaning),
            None => Err(not_a_word(T::ERROR, at.name, word, T::WORDS.iter().map(|(known, _)| *known))),
        }
    }
}

#[cold]
fn not_a_word(
    kind: ErrorKind,
    name: &str,
    word: &str,
    known: impl ExactSizeIterator<Item = &'static str>,
) -> crate::Error {
    let last = known.len().saturating_sub(1);
    let list = known.enumerate().fold(String::new(), |mut list, (i, word)| {
        let comma = if i == 0 {
            ""
        } else if i == last {
            " or "
        } else {
            ", "
        };
        let _ = write!(list, "{comma}'{word}'");
        list
    });
    refused(kind, format_args!("'{word}' is not a valid value for {name}; use {list}"))
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
    pub fn or_flags(self, size_average: Option<bool>, reduce: Option<bool>) -> Result<ReductionMode> {
        let (mode, word) = match (size_average, reduce) {
            (None, None) => return Ok(self),
            (_, Some(false)) => (ReductionMode::None, "none"),
            (Some(false), _) => (ReductionMode::Sum, "sum"),
            _ => (ReductionMode::Mean, "mean"),
        };
        crate::core::host::warn(&format!(
            "size_average and reduce args will be deprecated, please use reduction='{word}' instead."
        ))?;
        Ok(mode)
    }
}
impl Words for ReductionMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", ReductionMode::None), ("mean", ReductionMode::Mean), ("sum", ReductionMode::Sum)];
    const ERROR: ErrorKind = ErrorKind::Value;
}

/// A [`ReductionMode`], or the mean over the members of a batch.
#[derive(Clone, Copy)]
pub struct OrBatchMean(pub ReductionMode);
impl Words for OrBatchMean {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", OrBatchMean(ReductionMode::None)),
        ("mean", OrBatchMean(ReductionMode::Mean)),
        ("batchmean", OrBatchMean(ReductionMode::BatchMean)),
        ("sum", OrBatchMean(ReductionMode::Sum)),
    ];
    const ERROR: ErrorKind = ErrorKind::Value;
}

/// A chance: between 0 and 1.
pub enum Probability {}
impl Declared<f64> for Probability {
    type Checked = f64;
    #[inline]
    fn check(p: f64, at: ArgumentPlace<'_>) -> Result<f64> {
        probability(at.name, p)
    }
}
/// The number, if it is a chance.
#[inline]
pub fn probability(name: &str, p: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(no_probability(ErrorKind::Runtime, name, p)) }
}
#[cold]
fn no_probability(kind: ErrorKind, name: &str, p: f64) -> crate::Error {
    refused(
        kind,
        format_args!(
            "expects {name} to be in [0, 1], but got {name}={p}; it is a probability: {name} must be between 0.0 and 1.0"
        ),
    )
}

/// The chance of an element to be dropped, where PyTorch's error is another.
pub enum Dropped {}
impl Declared<f64> for Dropped {
    type Checked = f64;
    #[inline]
    fn check(p: f64, at: ArgumentPlace<'_>) -> Result<f64> {
        if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(no_probability(ErrorKind::Value, at.name, p)) }
    }
}

#[cold]
fn too_small(name: &str, least: i64, n: i64) -> crate::Error {
    refused(ErrorKind::Runtime, format_args!("argument '{name}' must be {least} or larger, but got {name}={n}"))
}

/// How many: 0 or more.
pub enum Count {}
impl Declared<i64> for Count {
    type Checked = usize;
    #[inline]
    fn check(n: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        if n < 0 { Err(too_small(at.name, 0, n)) } else { Ok(n as usize) }
    }
}

/// How many: 1 or more.
pub enum Positive {}
impl Declared<i64> for Positive {
    type Checked = usize;
    #[inline]
    fn check(n: i64, at: ArgumentPlace<'_>) -> Result<usize> {
        positive(at.name, n)
    }
}
/// The number, if it is 1 or more.
#[inline]
pub fn positive(name: &str, n: i64) -> Result<usize> {
    if n < 1 { Err(too_small(name, 1, n)) } else { Ok(n as usize) }
}

/// Any number but 0.
pub enum NonZero {}
#[cold]
fn zero(name: &str) -> crate::Error {
    refused(ErrorKind::Runtime, format_args!("argument '{name}' must not be 0; give another number, such as {name}=1"))
}
impl Declared<i64> for NonZero {
    type Checked = i64;
    #[inline]
    fn check(n: i64, at: ArgumentPlace<'_>) -> Result<i64> {
        if n == 0 { Err(zero(at.name)) } else { Ok(n) }
    }
}
impl Declared<Scalar> for NonZero {
    type Checked = Scalar;
    #[inline]
    fn check(n: Scalar, at: ArgumentPlace<'_>) -> Result<Scalar> {
        if n.is_zero() { Err(zero(at.name)) } else { Ok(n) }
    }
}

/// A number for each of `RANK` spatial dimensions, or one for all of them; none below `LEAST`.
pub enum Spatial<const RANK: usize, const LEAST: i64> {}
impl<const RANK: usize, const LEAST: i64> Declared<&[i64]> for Spatial<RANK, LEAST> {
    type Checked = Vec<i64>;
    fn check(values: &[i64], at: ArgumentPlace<'_>) -> Result<Vec<i64>> {
        spatial(at.name, values, RANK, LEAST)
    }
}
/// The same for the distance of windows; one that is empty counts as not given.
pub enum Strides<const RANK: usize> {}
impl<const RANK: usize> Declared<Option<&[i64]>> for Strides<RANK> {
    type Checked = Option<Vec<i64>>;
    fn check(values: Option<&[i64]>, at: ArgumentPlace<'_>) -> Result<Option<Vec<i64>>> {
        values.filter(|v| !v.is_empty()).map(|v| spatial(at.name, v, RANK, 1)).transpose()
    }
}
/// The same for ranks that are not known to the compiler.
pub fn spatial(name: &str, values: &[i64], rank: usize, least: i64) -> Result<Vec<i64>> {
    let all = match values {
        _ if values.iter().any(|&v| v < least) => None,
        [one] => Some(vec![*one; rank]),
        v if v.len() == rank => Some(v.to_vec()),
        _ => None,
    };
    match all {
        Some(all) => Ok(all),
        None => refuse!(
            Runtime,
            "{}argument '{name}' must be one int for all {rank} spatial dimension(s) or one for each, {least} or larger, \
             but got {name}={values:?}",
            unsupported_sizes(name, values.iter().any(|&v| v < least))
        ),
    }
}

/// What is not supported, in short.
#[cold]
fn unsupported_sizes(name: &str, is_too_small: bool) -> &'static str {
    match name {
        "stride" if is_too_small => "non-positive stride is not supported, stride must be greater than zero: ",
        "padding" if is_too_small => "negative padding is not supported, pad must be non-negative: ",
        "dilation" if is_too_small => "dilation should be greater than zero: ",
        "kernel_size" if is_too_small => "kernel size should be greater than zero: ",
        _ => "",
    }
}

/// What the host language does with the result: makes it a leaf that requires grad, or writes it into the first argument.
pub enum RequiresGrad {}
pub enum Inplace {}
impl Declared<bool> for RequiresGrad {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: ArgumentPlace<'_>) -> Result<bool> {
        Ok(asked)
    }
}
impl Declared<bool> for Inplace {
    type Checked = bool;
    #[inline]
    fn check(asked: bool, _: ArgumentPlace<'_>) -> Result<bool> {
        Ok(asked)
    }
}

/// Whether something is true, whatever it is: where PyTorch's Python asks `if flag:`.
pub enum Truth {}
impl<T> Declared<T> for Truth {
    type Checked = T;
    #[inline]
    fn check(asked: T, _: ArgumentPlace<'_>) -> Result<T> {
        Ok(asked)
    }
}

/// A number by which an operand is multiplied. Old programs put it by position in front of that operand: `x.add(2, y)`.
pub enum Factor {}
impl Declared<Scalar> for Factor {
    type Checked = Scalar;
    #[inline]
    fn check(given: Scalar, _: ArgumentPlace<'_>) -> Result<Scalar> {
        Ok(given)
    }
}

/// The generator of a draw; the default one if none is given.
pub enum GivenGenerator {}
impl<'a> Declared<Option<&'a Arc<dyn Parameters>>> for GivenGenerator {
    type Checked = Option<&'a Arc<dyn Parameters>>;
    #[inline]
    fn check(given: Option<&'a Arc<dyn Parameters>>, at: ArgumentPlace<'_>) -> Result<Self::Checked> {
        if given.is_some_and(|g| !g.as_any().is::<Generator>()) {
            refuse!(Type, "argument '{}' must be a Generator; make one with pullback.Generator()", at.name);
        }
        Ok(given)
    }
}
