//! Errors across the border, and the user's line in the Python program.

use pullback::base::{Error, ErrorKind};
use pullback::core::origin::{Line, LineSource};
use pyo3::exceptions::{
    PyBufferError, PyIndexError, PyNotImplementedError, PyOverflowError, PyRecursionError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFrame, PyFrameMethods, PyString};
use pyo3::{CastError, CastIntoError, PyTypeInfo, create_exception, ffi, intern};
use std::convert::Infallible;
use std::ffi::{CString, NulError, c_int};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

create_exception!(
    pullback.linalg,
    LinAlgError,
    PyRuntimeError,
    "A decomposition or a solve failed: the input is singular, or the iteration did not converge."
);
create_exception!(
    pullback,
    InternalError,
    PyRuntimeError,
    "A bug in pullback itself. Please report it with the program that shows it."
);

/// Adds the exception classes.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::types::submodule(m, "linalg")?.add("LinAlgError", m.py().get_type::<LinAlgError>())?;
    Ok(m.add("InternalError", m.py().get_type::<InternalError>())?)
}

/// What functions of this crate fail with: an exception, or an error of the library on its way to become one.
#[derive(Debug)]
pub struct Fault(PyErr);

pub type PyResult<T> = Result<T, Fault>;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Deref for Fault {
    type Target = PyErr;
    fn deref(&self) -> &PyErr {
        &self.0
    }
}

impl From<PyErr> for Fault {
    #[inline]
    fn from(error: PyErr) -> Fault {
        Fault(error)
    }
}

impl From<Fault> for PyErr {
    #[inline]
    fn from(fault: Fault) -> PyErr {
        fault.0
    }
}

/// `?` takes two steps at once from these to an exception.
macro_rules! from_errors {
    ($($error:ty),+) => {$(
        impl From<$error> for Fault {
            #[cold]
            fn from(error: $error) -> Fault {
                Fault(error.into())
            }
        }
    )+};
}
from_errors!(CastError<'_, '_>, CastIntoError<'_>, Infallible, NulError);

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Fault {
        Fault(exception(error))
    }
}

/// The exception that an error of the library is in Python.
#[cold]
pub fn exception(error: Error) -> PyErr {
    let kind = error.kind();
    let error = match error.into_foreign() {
        Ok(payload) => {
            return match payload.downcast::<PyErr>() {
                Ok(python) => *python,
                Err(_) => InternalError::new_err("an exception of an unknown language reached Python"),
            };
        }
        Err(error) => error,
    };
    let message = crate::types::brief::message(error.message().to_owned());
    match kind {
        ErrorKind::Runtime | ErrorKind::Foreign => PyRuntimeError::new_err(message),
        ErrorKind::Value => PyValueError::new_err(message),
        ErrorKind::Type => PyTypeError::new_err(message),
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::NotImplemented => PyNotImplementedError::new_err(message),
        ErrorKind::Overflow => PyOverflowError::new_err(message),
        ErrorKind::LinAlg => LinAlgError::new_err(message),
        ErrorKind::Recursion => PyRecursionError::new_err(message),
        _ => InternalError::new_err(message),
    }
}

/// Wraps a Python exception so that Rust code can carry it; turning it back gives the same object. Ordinary errors show
/// their text, which others may quote; exceptions of other classes have none, and pass through whatever they meet.
#[cold]
pub fn to_error(error: impl Into<PyErr>) -> Error {
    let error = error.into();
    let text = Python::attach(|py| -> PyResult<String> {
        let class = error.get_type(py);
        let ordinary = class.is(py.get_type::<PyRuntimeError>())
            || class.is(py.get_type::<PyNotImplementedError>())
            || class.is(py.get_type::<PyTypeError>())
            || class.is(py.get_type::<PyValueError>())
            || class.is(py.get_type::<PyIndexError>());
        if !ordinary {
            return Ok(String::new());
        }
        let text = crate::types::raised::str_of(error.value(py).as_any())?;
        Ok(format!("{}: {text}", super::class::class_name(&class)))
    });
    match text {
        Ok(text) => Error::foreign(text, Box::new(error)),
        Err(other) => Error::foreign("", Box::new(PyErr::from(other))),
    }
}

/// An error of this package as a BufferError; other exceptions stay what they are.
#[cold]
pub fn as_buffer_error(error: Fault) -> Fault {
    let error = error.0;
    let raised = Python::attach(|py| {
        let class = error.get_type(py);
        let ours = class.is(py.get_type::<PyRuntimeError>()) || class.is(py.get_type::<PyTypeError>());
        match ours.then(|| crate::types::raised::str_of(error.value(py).as_any())) {
            Some(Ok(text)) => PyBufferError::new_err(crate::types::brief::message(text)),
            Some(Err(other)) => other.into(),
            None => error,
        }
    });
    raised.into()
}

/// A place in code: an instruction, which a frame knows, or where the interpreter does not tell it, the line, which
/// takes a walk over the code's table of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spot {
    Instruction(c_int),
    Line(c_int),
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

impl Spot {
    /// Where a frame is in its code.
    ///
    /// # Safety
    /// The thread is attached, and the frame is alive.
    #[inline]
    pub unsafe fn of(frame: *mut ffi::PyFrameObject) -> Spot {
        // SAFETY: the caller's promise.
        unsafe {
            match *INSTRUCTION.get_or_init(instruction_of) {
                Some(instruction) => Spot::Instruction(instruction(frame)),
                None => Spot::Line(ffi::PyFrame_GetLineNumber(frame)),
            }
        }
    }

    fn line(self, code: &Bound<'_, PyCode>) -> c_int {
        match self {
            // SAFETY: attached; the code is alive.
            Spot::Instruction(at) => unsafe { ffi::PyCode_Addr2Line(code.as_ptr().cast(), at) },
            Spot::Line(line) => line,
        }
    }
}

/// A line of the user's program; it keeps the code alive.
struct UserLine {
    code: Py<PyCode>,
    at: Spot,
}

impl LineSource for UserLine {
    /// The file relative to the working directory where it lies below it.
    fn text(&self) -> String {
        let text = Python::try_attach(|py| {
            let code = self.code.bind(py);
            let file: String = code.getattr(intern!(py, "co_filename")).ok()?.extract().ok()?;
            let cwd = std::env::current_dir().unwrap_or_default();
            let path = std::path::Path::new(&file);
            Some(format!("{}:{}", path.strip_prefix(cwd).unwrap_or(path).display(), self.at.line(code)))
        });
        text.flatten().unwrap_or_else(|| "an unknown line".into())
    }
}

/// The innermost Python frame, if there is one.
fn running_frame(py: Python<'_>) -> Option<Bound<'_, PyFrame>> {
    // SAFETY: attached; the call gives a borrowed frame of this thread, or null outside Python.
    unsafe {
        let frame = ffi::PyEval_GetFrame().cast::<ffi::PyObject>();
        Some(Bound::from_borrowed_ptr_or_opt(py, frame)?.cast_into_unchecked::<PyFrame>())
    }
}

/// The innermost Python frame that is not part of the package, which the user wrote.
fn user_frame(py: Python<'_>) -> Option<Bound<'_, PyFrame>> {
    let mut frame = running_frame(py)?;
    while is_ours(&frame) {
        frame = frame.outer()?;
    }
    Some(frame)
}

/// Warns at the user's line, through whatever functions of the package lie between.
///
/// # Errors
/// The exception that the program's filters made of the warning.
#[cold]
pub fn warn<W: PyTypeInfo>(py: Python<'_>, text: &str) -> PyResult<()> {
    let mut level = 1;
    let mut frame = running_frame(py);
    while let Some(outer) = frame.filter(is_ours).and_then(|f| f.outer()) {
        frame = Some(outer);
        level += 1;
    }
    Ok(PyErr::warn(py, &py.get_type::<W>(), &CString::new(text)?, level)?)
}

/// Whether the innermost Python frame is one that the user wrote.
pub fn runs_user_code(py: Python<'_>) -> bool {
    running_frame(py).is_some_and(|frame| !is_ours(&frame))
}

/// Whether a frame runs a module of the package. Modules are told by name: a checkout may lie anywhere.
fn is_ours(frame: &Bound<'_, PyFrame>) -> bool {
    let py = frame.py();
    let Ok(globals) = frame.getattr(intern!(py, "f_globals")) else { return false };
    let Ok(name) = globals.get_item(intern!(py, "__name__")) else { return false };
    let Ok(name) = name.cast::<PyString>() else { return false };
    name.to_str().is_ok_and(|n| n == "pullback" || n.starts_with("pullback."))
}

/// The user's line, for [`pullback::core::origin::set_locator`]. It is recorded with each operator of a program.
pub fn locator() -> Option<Line> {
    Python::try_attach(|py| {
        let frame = user_frame(py)?;
        // SAFETY: attached; the frame is held.
        let at = unsafe { Spot::of(frame.as_ptr().cast()) };
        let place = UserLine { at, code: frame.code().unbind() };
        Some(Line(Arc::new(place)))
    })?
}

/// The exception for a panic: a bug of this library.
#[cold]
pub fn internal(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".into());
    InternalError::new_err(short!("internal error of pullback, please report it: {text}"))
}
