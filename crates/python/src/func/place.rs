//! Names of functions, and where in the user's program a transform was applied.

use super::callable::Transform;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::{errors, raised};
use pullback::core::origin::Origin;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;
use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

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

/// A place in code: an instruction, which a frame knows, or where the interpreter does not tell it, the line, which
/// takes a walk over the code's table of lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Spot {
    Instruction(c_int),
    Line(c_int),
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
    let Some((code, at, frame)) = running(py) else {
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
    // SAFETY: attached; the frame is running.
    let line = unsafe { ffi::PyFrame_GetLineNumber(frame) };
    let user = errors::user_location(py).is_some_and(|l| l.line as i64 == i64::from(line) && is_file(&code, &l.file));
    if user {
        remember(key, Known { origin, _code: code.unbind(), _who: object.unbind() });
    }
    Ok(origin)
}

fn is_file(code: &Bound<'_, PyAny>, file: &str) -> bool {
    let name = code.getattr(intern!(code.py(), "co_filename"));
    name.is_ok_and(|n| n.cast::<PyString>().is_ok_and(|n| n.to_str().is_ok_and(|n| n == file)))
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

/// Code of the innermost Python frame, where it is there, and the frame, which lives as long as it runs.
fn running(py: Python<'_>) -> Option<(Bound<'_, PyAny>, Spot, *mut ffi::PyFrameObject)> {
    // SAFETY: attached; the frame is borrowed from this thread, or null outside of Python.
    unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return None;
        }
        let code = Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame).cast());
        let at = match *INSTRUCTION.get_or_init(instruction_of) {
            Some(instruction) => Spot::Instruction(instruction(frame)),
            None => Spot::Line(ffi::PyFrame_GetLineNumber(frame)),
        };
        Some((code, at, frame))
    }
}

type InstructionOf = unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int;

static INSTRUCTION: OnceLock<Option<InstructionOf>> = OnceLock::new();

/// `PyFrame_GetLasti` of the running interpreter, which has it from 3.11 on.
fn instruction_of() -> Option<InstructionOf> {
    #[cfg(unix)]
    // SAFETY: the symbol has this type wherever the interpreter has it.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetLasti".as_ptr());
        if !found.is_null() {
            return Some(std::mem::transmute::<*mut libc::c_void, InstructionOf>(found));
        }
    }
    None
}

fn identity<'py>(func: &Bound<'py, PyAny>) -> PyResult<(Who, Bound<'py, PyAny>)> {
    if let Ok(t) = func.cast::<Transform>() {
        return Ok((Who::Transform(t.get().origin), func.get_type().into_any()));
    }
    let object = own_name(func)?.map_or_else(|| func.get_type().into_any(), Bound::into_any);
    Ok((Who::Object(object.as_ptr() as usize), object))
}
