//! Other spellings of parameter names that PyTorch accepts.

use crate::types::raised;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// What a keyword may stand for wherever a parameter has such a name; the first that the callee has, and that was not
/// given, is meant. What only some functions accept stands with their parameters.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("axis", &["dim", "dims"]),
    ("axes", &["dims"]),
    ("keepdims", &["keepdim"]),
    ("x", &["input"]),
    ("a", &["input"]),
    ("x1", &["input"]),
    ("x2", &["other"]),
    ("self", &["input"]),
];

/// The names that `keyword` may stand for.
#[cold]
pub fn meanings(keyword: &str) -> &'static [&'static str] {
    SYNONYMS.iter().find(|(from, _)| *from == keyword).map_or(&[], |(_, to)| to)
}

/// The name of a keyword argument.
///
/// # Safety
/// `name` is a live string.
pub unsafe fn keyword(py: Python<'_>, name: *mut ffi::PyObject) -> String {
    // SAFETY: by the contract.
    let name = unsafe { Bound::from_borrowed_ptr(py, name).cast_into_unchecked::<PyString>() };
    raised::text(&name)
}
