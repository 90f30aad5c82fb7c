//! Users' objects in messages: short, whatever they hold.

use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Levels and items of containers that are shown.
const DEPTH: usize = 3;
const ITEMS: usize = 6;
/// Characters of a name or a number that are shown.
const CHARACTERS: usize = 200;
/// Characters of a message.
const MESSAGE: usize = 8000;

/// What an object looks like. Containers are shown in part, other objects that are read item by item by their class: their
/// own text may be longer than any memory.
///
/// # Errors
/// What the program's own `__repr__` raises.
pub fn brief(o: &Bound<'_, PyAny>) -> PyResult<String> {
    describe(o, 0)
}

fn describe(o: &Bound<'_, PyAny>, depth: usize) -> PyResult<String> {
    if let Ok(list) = o.cast_exact::<PyList>() {
        return joined("[", list.iter(), list.len(), "]", depth);
    }
    if let Ok(tuple) = o.cast_exact::<PyTuple>() {
        return joined("(", tuple.iter(), tuple.len(), if tuple.len() == 1 { ",)" } else { ")" }, depth);
    }
    let plain = o.is_none()
        || o.is_instance_of::<PyBool>()
        || o.is_instance_of::<PyInt>()
        || o.is_instance_of::<PyFloat>()
        || o.is_instance_of::<PyString>();
    if !plain && (o.is_instance_of::<PyDict>() || o.hasattr("__iter__")?) {
        return Ok(format!("a {}", class::type_name(o)));
    }
    Ok(shortened(raised::repr_of(o)?, CHARACTERS))
}

fn joined<'py>(
    open: &str,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    len: usize,
    close: &str,
    depth: usize,
) -> PyResult<String> {
    if depth == DEPTH {
        return Ok(format!("{open}...{close}"));
    }
    let mut parts = items.take(ITEMS).map(|x| describe(&x, depth + 1)).collect::<PyResult<Vec<String>>>()?;
    if len > ITEMS {
        parts.push("...".into());
    }
    Ok(format!("{open}{}{close}", parts.join(", ")))
}

/// A message of a length that can be read, whatever it quotes.
#[cold]
pub fn message(text: String) -> String {
    shortened(text, MESSAGE)
}

/// [`message`] of what `format!` gives: the text of every exception that is made on this side.
macro_rules! short {
    ($($part:tt)*) => {
        $crate::types::brief::message(format!($($part)*))
    };
}

/// [`message`] for exceptions that Python code raises.
#[pyfunction]
#[pyo3(signature = (text, most = MESSAGE))]
fn _short(text: String, most: usize) -> String {
    shortened(text, most)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.add_function(wrap_pyfunction!(_short, m)?)?)
}

fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        let all = text.len();
        let end = (0..=most).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(end);
        text += &format!("... ({} more characters)", all - end);
    }
    text
}
