//! Other spellings of parameter names that PyTorch accepts.

use crate::types::raised;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// What a keyword may stand for; the first that the callee has, and that was not given, is meant.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("axis", &["dim", "dims"]),
    ("axes", &["dims"]),
    ("axis0", &["dim0"]),
    ("axis1", &["dim1"]),
    ("keepdims", &["keepdim"]),
    ("x", &["input"]),
    ("a", &["input"]),
    ("x1", &["input"]),
    ("x2", &["other"]),
    ("self", &["input"]),
    // Functions whose documentation and whose parser differ in the name.
    ("input", &["A", "x", "tensor"]),
    ("A", &["input"]),
    ("tensor", &["tensor1", "tensor2"]),
    ("scalar", &["tensor1", "tensor2"]),
    ("scalar1", &["tensor1"]),
    ("scalar2", &["tensor2"]),
    ("other", &["tensor2", "src"]),
    ("size", &["shape"]),
    ("dtype", &["shape"]),
    ("split_size", &["split_size_or_sections"]),
    ("split_sizes", &["split_size_or_sections"]),
    ("split_size_or_sections", &["indices_or_sections"]),
    ("indices", &["indices_or_sections"]),
    ("sections", &["indices_or_sections"]),
    ("tensor_indices_or_sections", &["indices_or_sections"]),
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
