//! Nested lists and tuples of Python's own numbers as arrays: the quick way for plain data.

use crate::data::nested::{MAX_DEPTH, ROUND, check_size, checked_dtype, heard, ragged, too_deep, too_large};
use pullback::base::promote::default_float;
use pullback::base::{DType, Element, Error, Result, Scalar, Shape};
use pullback::dense::Array;
use pullback::dense::copy::Convert;
use pullback::dense::threads::TURN;
use pullback::match_dtype;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::time::Instant;

type Object = *mut ffi::PyObject;

/// The category of an exact Python number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NumberClass {
    Bool,
    Int,
    Float,
    Complex,
}

/// Leaves of lists and tuples in row-major order, as borrowed objects. Before signal handlers run, which may change the
/// lists, it takes references to them.
struct Leaves<'py> {
    py: Python<'py>,
    shape: Shape,
    objects: Vec<Object>,
    class: NumberClass,
    /// How many of the first objects it has references to.
    held: usize,
    /// Items that were looked at since the clock was asked.
    seen: usize,
    /// When handlers last ran, or reading began to take long.
    last: Option<Instant>,
    /// Whether handlers have run.
    listened: bool,
}

/// A list or tuple that is being read, and those around it.
struct Open<'a> {
    object: Object,
    held: Cell<bool>,
    outer: Option<&'a Open<'a>>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.held.get() {
            // SAFETY: reading needs the interpreter, so the thread is attached; `listen` took this reference.
            unsafe { ffi::Py_DECREF(self.object) };
        }
    }
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        for &o in &self.objects[..self.held] {
            // SAFETY: attached, as `py` tells; `listen` took this reference.
            unsafe { ffi::Py_DECREF(o) };
        }
    }
}

/// What a scan of nested lists came to.
enum Scan {
    Done,
    /// As `Done`, but handlers may have changed the lists since reading began.
    Moved,
    /// Something that only the slow path knows.
    Unusual,
    Refused(Error),
}

impl Leaves<'_> {
    /// Lets signal handlers run if the last time was a while ago.
    #[cold]
    #[inline(never)]
    fn listen(&mut self, mut open: Option<&Open<'_>>) -> Result<()> {
        self.seen = 0;
        let last = *self.last.get_or_insert_with(Instant::now);
        if last.elapsed() < TURN {
            return Ok(());
        }
        for &o in &self.objects[self.held..] {
            // SAFETY: attached, and alive: no handler has run since the object was found in a list that was alive.
            unsafe { ffi::Py_INCREF(o) };
        }
        self.held = self.objects.len();
        while let Some(list) = open {
            if !list.held.replace(true) {
                // SAFETY: as above.
                unsafe { ffi::Py_INCREF(list.object) };
            }
            open = list.outer;
        }
        self.listened = true;
        self.last = Some(Instant::now());
        heard(self.py)
    }

    /// Scans `o`; only exact lists, tuples and Python numbers are known here.
    ///
    /// # Safety
    /// `o` is alive, and the interpreter attached.
    unsafe fn scan(&mut self, op: &str, o: Object, depth: usize, outer: Option<&Open<'_>>) -> Scan {
        // SAFETY: by the contract; items of lists and tuples are alive while these are.
        unsafe {
            let t = ffi::Py_TYPE(o);
            let class = if t == &raw mut ffi::PyFloat_Type {
                NumberClass::Float
            } else if t == &raw mut ffi::PyLong_Type {
                NumberClass::Int
            } else if t == &raw mut ffi::PyBool_Type {
                NumberClass::Bool
            } else if t == &raw mut ffi::PyComplex_Type {
                NumberClass::Complex
            } else if t == &raw mut ffi::PyList_Type || t == &raw mut ffi::PyTuple_Type {
                return self.scan_items(op, o, depth, outer);
            } else {
                return Scan::Unusual;
            };
            if self.shape.rank() > depth {
                return Scan::Refused(ragged(op, depth, Some(self.shape[depth]), "a number"));
            }
            self.class = self.class.max(class);
            self.objects.push(o);
            Scan::Done
        }
    }

    /// # Safety
    /// As for `scan`; `o` is a list or a tuple.
    unsafe fn scan_items(&mut self, op: &str, o: Object, depth: usize, outer: Option<&Open<'_>>) -> Scan {
        // SAFETY: by the contract; where handlers have run, `open` keeps the list, and its length is looked at again.
        unsafe {
            let is_list = ffi::Py_TYPE(o) == &raw mut ffi::PyList_Type;
            let len = || if is_list { ffi::PyList_GET_SIZE(o) as usize } else { ffi::PyTuple_GET_SIZE(o) as usize };
            let n = len();
            if self.objects.is_empty() && self.shape.rank() == depth {
                if depth == MAX_DEPTH {
                    return Scan::Refused(too_deep(op, if is_list { "list" } else { "tuple" }));
                }
                self.shape.push(n);
                if let Err(e) = check_size(op, &self.shape) {
                    return Scan::Refused(e);
                }
            } else if self.shape.rank() <= depth || self.shape[depth] != n {
                let expected = self.shape.get(depth).copied();
                return Scan::Refused(ragged(op, depth, expected, &n.to_string()));
            }
            self.objects.reserve(n);
            let open = Open { object: o, held: Cell::new(false), outer };
            let mut next = 0;
            loop {
                // Not more at once than takes a moment.
                let end = n.min(next + ROUND);
                for i in next as isize..end as isize {
                    let item = if is_list { ffi::PyList_GET_ITEM(o, i) } else { ffi::PyTuple_GET_ITEM(o, i) };
                    match self.scan(op, item, depth + 1, Some(&open)) {
                        Scan::Done => {}
                        Scan::Moved if len() == n => {}
                        Scan::Moved => return Scan::Refused(changed(op)),
                        other => return other,
                    }
                }
                self.seen += end - next + 1;
                next = end;
                if self.seen >= ROUND
                    && let Err(e) = self.listen(Some(&open))
                {
                    return Scan::Refused(e);
                }
                if next == n {
                    return if self.listened { Scan::Moved } else { Scan::Done };
                }
                if len() != n {
                    return Scan::Refused(changed(op));
                }
            }
        }
    }

    fn natural(&self) -> DType {
        match self.class {
            _ if self.objects.is_empty() => default_float(),
            NumberClass::Bool => DType::Bool,
            NumberClass::Int => DType::I64,
            NumberClass::Float => default_float(),
            NumberClass::Complex => Scalar::Complex(Default::default()).dtype(default_float()),
        }
    }
}

#[cold]
fn changed(op: &str) -> Error {
    Error::runtime(format!("{op}(): a list changed its size while it was read"))
}

/// One Python number as an element.
///
/// # Safety
/// `o` is alive and exactly a float, int, bool or complex.
#[inline(always)]
unsafe fn element<T: Convert>(op: &str, o: Object) -> Result<T> {
    // SAFETY: by the contract.
    unsafe {
        let t = ffi::Py_TYPE(o);
        if t == &raw mut ffi::PyFloat_Type {
            let x = ffi::PyFloat_AS_DOUBLE(o);
            if T::DTYPE.is_integer() {
                checked_dtype(op, Scalar::Float(x), T::DTYPE)?;
            }
            return Ok(T::of_f64(x));
        }
        if t == &raw mut ffi::PyBool_Type {
            return Ok(T::of_i64(i64::from(o == ffi::Py_True())));
        }
        if t == &raw mut ffi::PyComplex_Type {
            if !T::DTYPE.is_complex() && T::DTYPE != DType::Bool {
                return Err(Error::type_(format!("{op}(): a complex number cannot be converted to {}", T::DTYPE)));
            }
            let z = num_complex::Complex::new(ffi::PyComplex_RealAsDouble(o), ffi::PyComplex_ImagAsDouble(o));
            return Ok(T::of_complex(z));
        }
        let mut overflow = 0;
        let i = ffi::PyLong_AsLongLongAndOverflow(o, &mut overflow);
        if overflow != 0 {
            return big_integer(op, o);
        }
        if T::DTYPE.size() < 8 && T::DTYPE.is_integer() {
            checked_dtype(op, Scalar::Int(i), T::DTYPE)?;
        }
        Ok(T::of_i64(i))
    }
}

/// # Safety
/// As for `element`.
#[cold]
unsafe fn big_integer<T: Convert>(op: &str, o: Object) -> Result<T> {
    // SAFETY: by the contract.
    let x = unsafe { ffi::PyLong_AsDouble(o) };
    // SAFETY: attached.
    let failed = unsafe { !ffi::PyErr_Occurred().is_null() };
    if failed {
        // SAFETY: attached; the error is replaced by ours.
        unsafe { ffi::PyErr_Clear() };
    }
    match T::DTYPE {
        DType::Bool => Ok(T::of_i64(1)),
        d if d.is_integer() => Err(too_large(op, d)),
        _ if failed => Err(Error::overflow(format!("{op}(): int too large to convert to float"))),
        _ => Ok(T::of_f64(x)),
    }
}

/// Lists and tuples of Python numbers; `None` if there is anything else in them.
pub fn from_lists(op: &str, o: &Bound<'_, PyAny>, dtype: Option<DType>) -> Result<Option<Array>> {
    let mut leaves = Leaves {
        py: o.py(),
        shape: Shape::scalar(),
        objects: Vec::new(),
        class: NumberClass::Bool,
        held: 0,
        seen: 0,
        last: None,
        listened: false,
    };
    // SAFETY: attached, and `o` is alive.
    match unsafe { leaves.scan(op, o.as_ptr(), 0, None) } {
        Scan::Unusual => return Ok(None),
        Scan::Refused(e) => return Err(e),
        Scan::Done | Scan::Moved => {}
    }
    let dtype = dtype.unwrap_or(leaves.natural());
    let mut failed = None;
    let array = match_dtype!(dtype, T => Array::build::<T>(leaves.shape.clone(), |out| {
        for (k, part) in out.chunks_mut(ROUND).enumerate() {
            for (x, &o) in part.iter_mut().zip(&leaves.objects[k * ROUND..]) {
                // SAFETY: the scan saw exact numbers; they live, since references are taken before Python code runs.
                *x = unsafe { element::<T>(op, o) }.unwrap_or_else(|e| { failed = Some(e); <T as Element>::zero() });
            }
            if part.len() == ROUND && failed.is_none() {
                failed = leaves.listen(None).err();
            }
            if failed.is_some() {
                break;
            }
        }
    }))?;
    failed.map_or(Ok(Some(array)), Err)
}
