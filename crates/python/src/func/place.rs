//! Names of functions, and where in the user's program a transform was applied.

use super::transform::Transform;
use crate::types::class;
use crate::types::errors::{PyResult, Spot};
use crate::types::{errors, raised};
use pullback::core::origin::Origin;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// What a function is called in messages and in the representation of its transforms.
///
/// # Errors
/// What the function's own attributes raise.
pub fn name_of(func: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(t) = func.cast::<Transform>() {
        return t.get().label(func.py());
    }
    if let Some(name) = own_name(func)? {
        return Ok(raised::text(&name));
    }
    let class = class::type_name(func);
    match class == "partial" {
        true => match func.getattr_opt(intern!(func.py(), "func"))? {
            Some(inner) => Ok(format!("functools.partial({}, ...)", name_of(&inner)?)),
            None => Ok(class),
        },
        false => Ok(class),
    }
}

fn own_name<'py>(func: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    Ok(func.getattr_opt(intern!(func.py(), "__name__"))?.and_then(|n| n.cast_into::<PyString>().ok()))
}

/// Identity of a function for the table of places.
#[derive(PartialEq, Eq, Hash)]
enum Who {
    /// The address of its name or class, which the table keeps alive.
    Object(usize),
    Transform(Origin),
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    transform: &'static str,
    code: usize,
    at: Spot,
    who: Who,
}

struct Known {
    origin: Origin,
    _code: Py<PyAny>,
    _who: Py<PyAny>,
}

/// Number of places beyond which the table is emptied: programs have few, generated ones may have many.
const MOST: usize = 4096;
static PLACES: Mutex<Option<FxHashMap<Key, Known>>> = Mutex::new(None);

/// The interned text `vmap(loss) at model.py:12` for a transform that the running Python code applies. Making it costs
/// a walk over frames, so that each line does it once.
///
/// # Errors
/// What the function's own attributes raise.
pub fn origin(transform: &'static str, func: &Bound<'_, PyAny>) -> PyResult<Origin> {
    let py = func.py();
    let Some((code, at)) = running(py) else {
        return Ok(Origin::intern(format!("{transform}({})", name_of(func)?)));
    };
    let (who, object) = identity(func)?;
    let key = Key { transform, code: code.as_ptr() as usize, at, who };
    let known = |k: &Key| PLACES.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(k).map(|p| p.origin);
    if let Some(origin) = known(&key) {
        return Ok(origin);
    }
    let label = format!("{transform}({})", name_of(func)?);
    let origin = Origin::intern(match errors::locator() {
        Some(place) => format!("{label} at {place}"),
        None => label,
    });
    // A line of the package itself stands for as many places as it has callers.
    if errors::runs_user_code(py) {
        remember(key, Known { origin, _code: code.unbind(), _who: object.unbind() });
    }
    Ok(origin)
}

fn remember(key: Key, known: Known) {
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let table = places.get_or_insert_default();
    let old = if table.len() >= MOST { std::mem::take(table) } else { FxHashMap::default() };
    let before = table.insert(key, known);
    drop(places);
    // Python objects are released outside of the lock.
    drop((old, before));
}

/// Code of the innermost Python frame, where it is there, and the place in it.
fn running(py: Python<'_>) -> Option<(Bound<'_, PyAny>, Spot)> {
    // SAFETY: attached; the frame is borrowed from this thread, or null outside of Python.
    unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return None;
        }
        let code = Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame).cast());
        Some((code, Spot::of(frame)))
    }
}

fn identity<'py>(func: &Bound<'py, PyAny>) -> PyResult<(Who, Bound<'py, PyAny>)> {
    if let Ok(t) = func.cast::<Transform>() {
        return Ok((Who::Transform(t.get().origin), func.get_type().into_any()));
    }
    let object = own_name(func)?.map_or_else(|| func.get_type().into_any(), Bound::into_any);
    Ok((Who::Object(object.as_ptr() as usize), object))
}
