//! Numbers and nested sequences of numbers as arrays.

use super::convert::{self, type_name};
use crate::base::promote::{default_float, promote};
use crate::base::{DType, Element, Error, Result, Scalar, Shape};
use crate::dense::copy::{self, Convert};
use crate::dense::{Array, memory};
use crate::match_dtype;
use crate::skin::read::{self, Reading};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyIterator, PyString};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Object = *mut ffi::PyObject;

/// A number, and the dtype that it has by itself: NumPy scalars bring their own.
pub fn number(o: Any<'_, '_>) -> Option<(Scalar, DType)> {
    let plain = o.is_exact_instance_of::<PyFloat>()
        || o.is_exact_instance_of::<PyInt>()
        || o.is_exact_instance_of::<PyBool>()
        || o.is_exact_instance_of::<PyComplex>();
    let n = convert::number(o)?;
    let own = if plain { None } else { numpy_dtype(o) };
    Some((n, own.unwrap_or_else(|| n.dtype(default_float()))))
}

#[cold]
fn numpy_dtype(o: Any<'_, '_>) -> Option<DType> {
    let d = o.getattr_opt("dtype").ok()??;
    let kind: char = d.getattr("kind").ok()?.extract().ok()?;
    super::dtype::dtype_from_kind(kind, d.getattr("itemsize").ok()?.extract().ok()?)
}

/// The dtype, if it can hold the number.
pub fn checked_dtype(op: &str, n: Scalar, dtype: DType) -> Result<DType> {
    unpacked(op, n, dtype)?;
    match n {
        Scalar::Complex(_) if !dtype.is_complex() && dtype != DType::Bool => {
            Err(Error::type_(format!("{op}(): a complex number cannot be converted to {dtype}")))
        }
        n if dtype.is_integer() && !n.fits(dtype) => Err(n.overflow(&format!("{op}()"), dtype)),
        _ => Ok(dtype),
    }
}

/// Integers of data need 64 bits or a float that is near; anything is true or false.
pub fn unpacked(op: &str, n: Scalar, dtype: DType) -> Result<()> {
    match n {
        Scalar::Huge(x) if dtype.is_differentiable() && x.is_infinite() => {
            Err(Error::overflow(format!("{op}(): int too large to convert to float")))
        }
        Scalar::Huge(_) | Scalar::Unsigned(_) if dtype.is_integer() => Err(too_large(op, dtype)),
        _ => Ok(()),
    }
}

#[cold]
fn too_large(op: &str, dtype: DType) -> Error {
    Error::value(format!("{op}(): Overflow: an integer beyond 64 bits does not fit into {dtype}"))
}

/// The category of an exact Python number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Bool,
    Int,
    Float,
    Complex,
}

/// Leaves of lists and tuples in row-major order, as borrowed objects: no Python code runs while they are held.
struct Leaves {
    shape: Shape,
    objects: Vec<Object>,
    class: Class,
}

/// Sequences nested deeper than this are taken for ones that contain themselves.
const MAX_DEPTH: usize = 128;

/// An error for sequences that are nested too deep to be data.
pub fn check_depth(op: &str, o: Any<'_, '_>, depth: usize) -> Result<()> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(too_deep(op, &type_name(o))) }
}

#[cold]
fn too_deep(op: &str, class: &str) -> Error {
    Error::value(format!(
        "{op}(): too many dimensions '{class}': expected sequences nested at most {MAX_DEPTH} deep, got deeper ones; do \
         they contain themselves?"
    ))
}

/// An error if there is no memory for what the first branch promises: sequences that hold one sequence several times
/// may stand for more elements than anything could hold.
fn check_size(op: &str, shape: &Shape) -> Result<()> {
    let count = shape.iter().fold(1usize, |n, &d| n.saturating_mul(d.max(1)));
    memory::check_available(count.saturating_mul(size_of::<Object>()))
        .map_err(|_| Error::runtime(format!("{op}(): not enough memory for nested sequences of {count} elements")))
}

/// What a scan of nested lists came to.
enum Scan {
    Done,
    /// Something that only the slow path knows.
    Unusual,
    Refused(Error),
}

impl Leaves {
    /// Scans `o`; only exact lists, tuples and Python numbers are known here.
    ///
    /// # Safety
    /// `o` is alive, and the interpreter attached.
    unsafe fn scan(&mut self, op: &str, o: Object, depth: usize) -> Scan {
        // SAFETY: by the contract; items of lists and tuples are alive while these are.
        unsafe {
            let t = ffi::Py_TYPE(o);
            let class = if t == &raw mut ffi::PyFloat_Type {
                Class::Float
            } else if t == &raw mut ffi::PyLong_Type {
                Class::Int
            } else if t == &raw mut ffi::PyBool_Type {
                Class::Bool
            } else if t == &raw mut ffi::PyComplex_Type {
                Class::Complex
            } else if t == &raw mut ffi::PyList_Type || t == &raw mut ffi::PyTuple_Type {
                return self.scan_items(op, o, depth);
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
    unsafe fn scan_items(&mut self, op: &str, o: Object, depth: usize) -> Scan {
        // SAFETY: by the contract.
        unsafe {
            let is_list = ffi::Py_TYPE(o) == &raw mut ffi::PyList_Type;
            let n = if is_list { ffi::PyList_GET_SIZE(o) } else { ffi::PyTuple_GET_SIZE(o) } as usize;
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
            for i in 0..n as isize {
                let item = if is_list { ffi::PyList_GET_ITEM(o, i) } else { ffi::PyTuple_GET_ITEM(o, i) };
                match self.scan(op, item, depth + 1) {
                    Scan::Done => {}
                    other => return other,
                }
            }
            Scan::Done
        }
    }

    fn natural(&self) -> DType {
        match self.class {
            _ if self.objects.is_empty() => default_float(),
            Class::Bool => DType::Bool,
            Class::Int => DType::I64,
            Class::Float => default_float(),
            Class::Complex => Scalar::Complex(Default::default()).dtype(default_float()),
        }
    }
}

#[cold]
fn ragged(op: &str, depth: usize, expected: Option<usize>, got: &str) -> Error {
    Error::value(match expected {
        Some(n) => format!("{op}(): expected sequence of length {n} at dim {depth} (got {got})"),
        None => format!("{op}(): expected numbers at dim {depth} (got a sequence of length {got})"),
    })
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
pub fn from_lists(op: &str, o: Any<'_, '_>, dtype: Option<DType>) -> Result<Option<Array>> {
    let mut leaves = Leaves { shape: Shape::scalar(), objects: Vec::new(), class: Class::Bool };
    // SAFETY: attached, and `o` is alive.
    match unsafe { leaves.scan(op, o.as_ptr(), 0) } {
        Scan::Unusual => return Ok(None),
        Scan::Refused(e) => return Err(e),
        Scan::Done => {}
    }
    let dtype = dtype.unwrap_or(leaves.natural());
    let mut failed = None;
    let array = match_dtype!(dtype, T => Array::build::<T>(leaves.shape.clone(), |out| {
        for (x, &o) in out.iter_mut().zip(&leaves.objects) {
            // SAFETY: the scan saw exact numbers, and no Python code has run since.
            *x = unsafe { element::<T>(op, o) }.unwrap_or_else(|e| { failed = Some(e); <T as Element>::zero() });
        }
    }))?;
    failed.map_or(Ok(Some(array)), Err)
}

/// Any other iterables of numbers and of tensors with one array behind them.
pub fn from_sequence(op: &str, o: Any<'_, '_>, dtype: Option<DType>) -> Result<Array> {
    let mut s = Slow { op, shape: Shape::scalar(), numbers: Vec::new(), dtype: None, seen: 0 };
    s.collect(o, 0)?;
    let dtype = dtype.or(s.dtype).unwrap_or(default_float());
    for n in &s.numbers {
        checked_dtype(op, *n, dtype)?;
    }
    match_dtype!(dtype, T => Array::build::<T>(s.shape, |out| {
        for (x, &n) in out.iter_mut().zip(&s.numbers) {
            *x = copy::from_scalar(n);
        }
    }))
}

/// All that an iterator gives, as long as there is memory for it.
fn collected<'py>(op: &str, items: Bound<'py, PyIterator>) -> Result<Vec<Bound<'py, PyAny>>> {
    let py = items.py();
    let mut all = Vec::new();
    for item in items {
        all.push(item.map_err(super::errors::to_error)?);
        if all.len().is_multiple_of(ROUND) {
            listen(py, all.len())?;
            check_size(op, &[all.len() * 2].into())?;
        }
    }
    Ok(all)
}

/// Elements between which long loops over Python objects look for signals.
const ROUND: usize = 1 << 14;

/// Lets signal handlers run now and then in a loop over Python objects.
#[inline]
pub fn listen(py: Python<'_>, i: usize) -> Result<()> {
    if i.is_multiple_of(ROUND) && i > 0 { heard(py) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn heard(py: Python<'_>) -> Result<()> {
    py.check_signals().map_err(super::errors::to_error)
}

struct Slow<'a> {
    op: &'a str,
    shape: Shape,
    numbers: Vec<Scalar>,
    dtype: Option<DType>,
    /// Objects that were looked at.
    seen: usize,
}

impl Slow<'_> {
    fn collect(&mut self, o: Any<'_, '_>, depth: usize) -> Result<()> {
        if let Some(t) = convert::tensor(o) {
            let a = read::array(&t, &format!("{}()", self.op), Reading::Item)?;
            return self.collect_array(&a, depth);
        }
        if let Some((n, dtype)) = number(o) {
            if self.shape.rank() > depth {
                return Err(ragged(self.op, depth, Some(self.shape[depth]), "a number"));
            }
            self.push(n, dtype);
            return Ok(());
        }
        let items = match o.try_iter() {
            Ok(it) if !o.is_instance_of::<PyString>() && !o.is_instance_of::<PyDict>() => it,
            _ => return Err(Error::runtime(format!("{}(): Could not infer dtype of {}", self.op, type_name(o)))),
        };
        check_depth(self.op, o, depth)?;
        let items = collected(self.op, items)?;
        self.enter(depth, items.len())?;
        for x in &items {
            self.seen += 1;
            listen(o.py(), self.seen)?;
            self.collect(x, depth + 1)?;
        }
        Ok(())
    }

    fn collect_array(&mut self, a: &Array, depth: usize) -> Result<()> {
        for (i, &n) in a.shape().iter().enumerate() {
            self.enter(depth + i, n)?;
        }
        if self.shape.rank() > depth + a.rank() {
            return Err(ragged(self.op, depth, Some(self.shape[depth + a.rank()]), "a tensor"));
        }
        let flat = a.contiguous()?.reshape(&Shape::new(&[a.numel()]))?;
        for i in 0..a.numel() {
            self.push(flat.get(&[i])?, a.dtype());
        }
        Ok(())
    }

    /// The first branch decides the shape.
    fn enter(&mut self, depth: usize, n: usize) -> Result<()> {
        if self.numbers.is_empty() && self.shape.rank() == depth {
            self.shape.push(n);
            check_size(self.op, &self.shape)?;
        } else if self.shape.get(depth) != Some(&n) {
            return Err(ragged(self.op, depth, self.shape.get(depth).copied(), &n.to_string()));
        }
        Ok(())
    }

    fn push(&mut self, n: Scalar, dtype: DType) {
        self.numbers.push(n);
        self.dtype = Some(self.dtype.map_or(dtype, |d| promote(d, dtype)));
    }
}
