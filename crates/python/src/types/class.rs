//! What classes are called in messages.

use crate::types::raised;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The name of an object's class.
pub fn type_name(o: &Bound<'_, PyAny>) -> String {
    class_name(&o.get_type())
}

/// The name of a class.
pub fn class_name(class: &Bound<'_, PyType>) -> String {
    // Reading it runs no code of the program.
    class.name().map_or_else(|_| "object".into(), |n| raised::text(&n))
}
