//! The way in from C.

use crate::types::errors::{self, PyResult};
use pyo3::ffi;
use pyo3::impl_::trampoline::{MethodDef, unaryfunc};
use pyo3::prelude::*;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Object = *mut ffi::PyObject;

/// Enters from C: panics and errors become exceptions. This is pyo3's own way in, which takes the interpreter's word that
/// the thread is attached; asking for it ([`Python::attach`]) would be a tenth of a small operator.
///
/// # Safety
/// The interpreter calls, attached.
#[inline(always)]
pub unsafe fn enter<F: FnOnce(Python<'_>) -> PyResult<Object>>(f: F) -> Object {
    struct Entrance<F>(PhantomData<F>);
    impl<F: FnOnce(Python<'_>) -> PyResult<Object>> MethodDef<unaryfunc::Func> for Entrance<F> {
        const METH: unaryfunc::Func = entered::<F>;
    }
    let mut f = ManuallyDrop::new(f);
    // SAFETY: the pointer goes to `entered` as it is, once; the thread is attached, by the contract.
    unsafe { unaryfunc::<Entrance<F>>((&raw mut f).cast()) }
}

/// # Safety
/// `f` is the function, which nobody uses after this.
#[inline(always)]
unsafe fn entered<F: FnOnce(Python<'_>) -> PyResult<Object>>(py: Python<'_>, f: Object) -> pyo3::PyResult<Object> {
    // SAFETY: by the contract.
    let f = unsafe { f.cast::<F>().read() };
    // The closure only touches values that an unwind drops.
    match catch_unwind(AssertUnwindSafe(|| f(py))) {
        Ok(out) => Ok(out?),
        Err(payload) => Err(errors::internal(&*payload)),
    }
}
