//! What may be read from a value without following it: its data, its memory, and whether a gradient follows it.

use crate::base::{Error, Result, Strides};
use crate::core::level::{self, LevelKind};
use crate::core::meta::no_data;
use crate::core::tensor::Payload;
pub use crate::core::tensor::has_level;

use crate::core::{LevelId, Tensor, origin, shared};
use crate::dense::Array;
use crate::rules::basis;

/// Why a program wants the data, which decides what the error suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// One number, by `.item()` or a conversion.
    Item,
    /// A truth value: the program branches on it.
    Truth,
    /// All elements: `tolist()`, `numpy()`, pickling.
    Elements,
}

/// The plain value behind a value: tapes and tangents are taken off.
///
/// # Errors
/// `Runtime` where there is no single array behind it: under a live `vmap` or trace, or after one.
pub fn plain(t: &Tensor, what: &str, reading: Reading) -> Result<Tensor> {
    let mut t = t;
    loop {
        t = match t.payload() {
            None => return Ok(t.clone()),
            Some(Payload::Batched { value, dim }) if shared::is_shared(t.level(), t) => {
                let _off = level::GradMode::set(false);
                return plain(&basis::select(value, *dim, 0)?, what, reading);
            }
            Some(Payload::Taped { value, .. }) => value,
            Some(Payload::Dual { primal, .. }) => primal,
            Some(Payload::Batched { .. }) => return Err(refuse(t.level(), "vmap", what, reading)),
            Some(Payload::Traced { .. }) => return Err(refuse(t.level(), "trace", what, reading)),
        }
    }
}

/// The array behind a value; see [`plain`].
pub fn array(t: &Tensor, what: &str, reading: Reading) -> Result<Array> {
    let plain = plain(t, what, reading)?;
    if plain.is_abstract() { Err(nothing(what, reading)) } else { plain.array().cloned() }
}

/// The error for a value that has no data.
#[cold]
fn nothing(what: &str, reading: Reading) -> Error {
    let text = match (reading, what) {
        (Reading::Item | Reading::Truth, _) => "Tensor.item() cannot be called on meta tensors",
        (_, "numpy()" | "__array__()") => {
            let (rule, line) = (crate::core::method_scope::without_data(), origin::at_here());
            return Error::type_(format!(
                "can't convert meta device type tensor to numpy: it has no data.{rule}{line}"
            ));
        }
        _ => return no_data(),
    };
    let (rule, line) = (crate::core::method_scope::without_data(), origin::at_here());
    Error::runtime(format!("{text}: {what} reads data, and there is none.{rule}{line}"))
}

#[cold]
fn refuse(id: LevelId, transform: &str, what: &str, reading: Reading) -> Error {
    let Some(level) = level::find(id) else { return level::escaped(id, transform) };
    let origin = level.origin.describe().unwrap_or_else(|| transform.into());
    let rewrite = match (reading, &level.kind) {
        (Reading::Truth, LevelKind::Trace(_)) => {
            "use where() to choose between values, or decide with `if` and `while` outside of the traced function, on \
             tensors that are known there"
        }
        (Reading::Truth, _) => {
            "use where() or a mask to choose between values, repeat a fixed number of times, or decide with `if` and \
             `while` outside of the function"
        }
        (Reading::Item, _) => "keep the 0-d tensor and compute with it; choose values with where()",
        (Reading::Elements, _) => "return the tensor from the function and convert it outside",
    };
    if transform == "trace"
        && let LevelKind::Trace(recorder) = &level.kind
        && recorder.is_noting()
    {
        let (place, rule) =
            (origin::at_here(), crate::core::method_scope::running().unwrap_or_else(|| "the rule".into()));
        return Error::runtime(format!(
            "{rule} is being transposed, so it must be linear, and {what} looks at the data of what it is given{place}; \
             {rewrite}, or write a rule for the other mode"
        ));
    }
    let problem = match (reading, transform) {
        (Reading::Truth, "vmap") => {
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow; \
             each member of the batch has its own value"
        }
        (Reading::Item, "vmap") => {
            "vmap: It looks like you're calling .item() on a Tensor; it differs between members of the batch, so there is \
             no single number to read"
        }
        (_, "vmap") => "vmap: the value differs between members of the batch, so there is no single one to read",
        _ => "trace: the value is not known while a program is being recorded",
    };
    let place = origin::here().map(|p| format!(" at {p}")).unwrap_or_default();
    let advice = if transform == "vmap" { crate::core::method_scope::advice() } else { String::new() };
    Error::runtime(format!("{what} was called{place} on a value of {origin}. {problem}; {rewrite}{advice}"))
}

/// The innermost array, whatever wraps it.
#[inline]
pub fn innermost(t: &Tensor) -> Option<&Array> {
    t.innermost()
}

/// As [`Tensor::lies`].
pub fn layout(t: &Tensor) -> (Strides, usize) {
    t.lies()
}
