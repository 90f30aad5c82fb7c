//! Numbers, and nested sequences of anything that counts as numbers, as arrays.

use crate::data::marshal;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::errors::to_error;
use crate::types::raised;
use pullback::base::promote::{default_float, promote};
use pullback::base::{DType, Error, Result, Scalar, Shape};
use pullback::core::Tensor;
use pullback::dense::copy;
use pullback::dense::{Array, memory};
use pullback::match_dtype;
use pullback::skin::read::{self, Reading};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyString};
use pyo3::{ffi, intern};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A number, and the dtype that it has by itself: NumPy scalars bring their own.
pub fn number(o: Any<'_, '_>) -> Result<Option<(Scalar, DType)>> {
    let plain = o.is_exact_instance_of::<PyFloat>()
        || o.is_exact_instance_of::<PyInt>()
        || o.is_exact_instance_of::<PyBool>()
        || o.is_exact_instance_of::<PyComplex>();
    let Some(n) = marshal::number(o)? else { return Ok(None) };
    let own = if plain { None } else { numpy_dtype(o).map_err(to_error)? };
    Ok(Some((n, own.unwrap_or_else(|| n.dtype(default_float())))))
}

#[cold]
fn numpy_dtype(o: Any<'_, '_>) -> PyResult<Option<DType>> {
    let py = o.py();
    let Some(d) = o.getattr_opt(intern!(py, "dtype"))? else { return Ok(None) };
    let (Some(kind), Some(size)) = (d.getattr_opt(intern!(py, "kind"))?, d.getattr_opt(intern!(py, "itemsize"))?)
    else {
        return Ok(None);
    };
    let (kind, size) = (raised::fitting(py, kind.extract::<char>())?, raised::whole(&size)?);
    Ok(kind.zip(size).and_then(|(kind, size)| crate::types::dtype::dtype_from_kind(kind, usize::try_from(size).ok()?)))
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
pub fn too_large(op: &str, dtype: DType) -> Error {
    Error::value(format!("{op}(): Overflow: an integer beyond 64 bits does not fit into {dtype}"))
}

/// Sequences nested deeper than this are taken for ones that contain themselves.
pub const MAX_DEPTH: usize = 128;

/// An error for sequences that are nested too deep to be data.
pub fn check_depth(op: &str, o: Any<'_, '_>, depth: usize) -> Result<()> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(too_deep(op, &type_name(o))) }
}

#[cold]
pub fn too_deep(op: &str, class: &str) -> Error {
    Error::value(format!(
        "{op}(): too many dimensions '{class}': expected sequences nested at most {MAX_DEPTH} deep, got deeper ones; do \
         they contain themselves?"
    ))
}

/// An error if there is no memory for what the first branch promises: sequences that hold one sequence several times
/// may stand for more elements than anything could hold.
pub fn check_size(op: &str, shape: &Shape) -> Result<()> {
    let count = shape.iter().fold(1usize, |n, &d| n.saturating_mul(d.max(1)));
    memory::check_available(count.saturating_mul(size_of::<*mut ffi::PyObject>()))
        .map_err(|_| Error::runtime(format!("{op}(): not enough memory for nested sequences of {count} elements")))
}

#[cold]
pub fn ragged(op: &str, depth: usize, expected: Option<usize>, got: &str) -> Error {
    Error::value(match expected {
        Some(n) => format!("{op}(): expected sequence of length {n} at dim {depth} (got {got})"),
        None => format!("{op}(): expected numbers at dim {depth} (got a sequence of length {got})"),
    })
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
fn collected<'py>(op: &str, py: Python<'py>, items: raised::Items<'py>) -> Result<Vec<Bound<'py, PyAny>>> {
    let mut all = Vec::new();
    for item in items {
        all.push(item.map_err(to_error)?);
        if all.len().is_multiple_of(ROUND) {
            listen(py, all.len())?;
            check_size(op, &[all.len() * 2].into())?;
        }
    }
    Ok(all)
}

/// Whether a tensor counts as a number: as part of a sequence one of a single element does, whatever its shape.
pub fn is_number(depth: usize, t: &Tensor) -> bool {
    depth > 0 && t.numel() == 1
}

/// Elements between which long loops over Python objects look for signals.
pub const ROUND: usize = 1 << 14;

/// Lets signal handlers run now and then in a loop over Python objects.
#[inline]
pub fn listen(py: Python<'_>, i: usize) -> Result<()> {
    if i.is_multiple_of(ROUND) && i > 0 { heard(py) } else { Ok(()) }
}

#[cold]
#[inline(never)]
pub fn heard(py: Python<'_>) -> Result<()> {
    py.check_signals().map_err(to_error)
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
        if let Some(t) = marshal::tensor(o) {
            let a = read::array(&t, &format!("{}()", self.op), Reading::Item)?;
            let a = if is_number(depth, &t) { a.reshape(&Shape::scalar())? } else { a };
            return self.collect_array(o.py(), &a, depth);
        }
        if let Some((n, dtype)) = number(o)? {
            if self.shape.rank() > depth {
                return Err(ragged(self.op, depth, Some(self.shape[depth]), "a number"));
            }
            self.push(n, dtype);
            return Ok(());
        }
        let items = match o.is_instance_of::<PyString>() || o.is_instance_of::<PyDict>() {
            true => None,
            false => raised::items_if_any(o).map_err(to_error)?,
        };
        let Some(items) = items else {
            return Err(no_number(self.op, o, depth == 0 || !self.numbers.is_empty()));
        };
        check_depth(self.op, o, depth)?;
        let items = collected(self.op, o.py(), items)?;
        self.enter(depth, items.len())?;
        for x in &items {
            self.seen += 1;
            listen(o.py(), self.seen)?;
            self.collect(x, depth + 1)?;
        }
        Ok(())
    }

    fn collect_array(&mut self, py: Python<'_>, a: &Array, depth: usize) -> Result<()> {
        for (i, &n) in a.shape().iter().enumerate() {
            self.enter(depth + i, n)?;
        }
        if self.shape.rank() > depth + a.rank() {
            return Err(ragged(self.op, depth, Some(self.shape[depth + a.rank()]), "a tensor"));
        }
        let flat = a.contiguous()?.reshape(&Shape::new(&[a.numel()]))?;
        for i in 0..a.numel() {
            listen(py, i)?;
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

/// The error for what is neither a number nor a sequence: the first element of its depth counts as a sequence of too many.
#[cold]
pub fn no_number(op: &str, o: Any<'_, '_>, later: bool) -> Error {
    let got = type_name(o);
    match o.is_instance_of::<PyString>() {
        true if later => Error::type_(format!("{op}(): invalid data type '{got}'; give numbers")),
        true => Error::value(format!("{op}(): too many dimensions '{got}': strings are no numbers; convert them")),
        false => Error::runtime(format!("{op}(): Could not infer dtype of {got}")),
    }
}
