//! The `Tensor` class: an object around a cell.

pub mod gc;
pub mod gradient;
pub mod history;
pub mod standing;
pub mod upward;
pub mod views;

use crate::process::{gil, object};
use crate::tensor::gc::Visitor;
use crate::tensor::gradient::{Accumulator, GradBox};
use crate::types::errors::PyResult;
use pullback::base::Result;
use pullback::core::level::Birth;
use pullback::core::{LevelId, Tensor, level};
use pullback::dense::region::Region;
use pullback::skin::cell::Delayed;
use pullback::skin::{Cell, Slot, slot, write};
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A multi-dimensional array of one dtype that function transforms can follow.
#[pyclass(frozen, subclass, dict, weakref, name = "Tensor", module = "pullback")]
pub struct PyTensor {
    slot: UnsafeCell<Slot>,
    /// The caller's object, if this one is an argument under `vmap` or `jvp` that nobody has written to or viewed yet.
    lifted: UnsafeCell<Option<Py<PyTensor>>>,
    /// Where `.grad` is, for tensors that ever had one.
    gradient: UnsafeCell<Option<Arc<GradBox>>>,
    /// Made in inference mode.
    inference: bool,
    /// True. An object of a subclass is zeros while the interpreter makes its dict, when the collector may look at it.
    made: bool,
}

// SAFETY: the fields are only touched with the GIL held (`gil_used = true`), and never across a call that may run
// Python or release the GIL.
unsafe impl Send for PyTensor {}
// SAFETY: as above.
unsafe impl Sync for PyTensor {}

impl PyTensor {
    /// For the garbage collector.
    pub fn traverse(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        if !self.made {
            return Ok(());
        }
        let mut visitor = Visitor::new(visit);
        // SAFETY: the collector runs with the GIL held, outside of `with`.
        let (slot, lifted, gradient) = unsafe { (&*self.slot.get(), &*self.lifted.get(), &*self.gradient.get()) };
        if let Some(caller) = lifted {
            visitor.object(caller);
        }
        if let Some(held) = gradient.as_ref().filter(|g| Arc::strong_count(g) == 1) {
            held.visit(&mut visitor);
        }
        if !slot.is_plain() {
            visitor.walk(|reach| slot.reach(reach));
        }
        visitor.finish()
    }

    /// Lets go of everything: the tensor belongs to a cycle that nobody reaches.
    pub fn clear(&self) {
        // SAFETY: as for `with`; what is taken out is dropped afterwards.
        let (lifted, gradient) = unsafe { ((*self.lifted.get()).take(), (*self.gradient.get()).take()) };
        let dtype = self.with(|s| s.quick().map_or(pullback::DType::F32, Tensor::dtype));
        let slot = self.with(|s| s.set(Tensor::scalar(dtype, 0.0)));
        drop((lifted, gradient, slot));
    }
}

static CLASS: object::Class = object::Class::unknown();

impl object::Pooled for PyTensor {
    fn class() -> &'static object::Class {
        &CLASS
    }
    #[inline]
    fn is_plain(&self) -> bool {
        // SAFETY: as for `with`.
        let alone = unsafe { (*self.lifted.get()).is_none() && (*self.gradient.get()).is_none() };
        alone && self.with(|s| s.is_plain())
    }
}

impl Drop for PyTensor {
    fn drop(&mut self) {
        if let Some(held) = self.gradient.get_mut().take() {
            Python::try_attach(|py| Accumulator::orphan(py, &self.value(), &held));
        }
        if let Some(cell) = self.shared_cell() {
            standing::stand_down(&cell, self);
        }
    }
}

static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

impl PyTensor {
    #[inline]
    pub fn new(value: Tensor) -> PyTensor {
        let birth = Birth::now();
        PyTensor::of_slot(Slot::new(value, birth.level), birth.inference)
    }

    #[inline]
    fn of_slot(slot: Slot, inference: bool) -> PyTensor {
        let (lifted, gradient) = (UnsafeCell::new(None), UnsafeCell::new(None));
        PyTensor { slot: UnsafeCell::new(slot), lifted, gradient, inference, made: true }
    }

    pub fn of_cell(cell: Arc<Cell>, inference: bool) -> PyTensor {
        PyTensor::of_slot(Slot::Shared(cell), inference)
    }

    /// Whether the tensor was made in inference mode.
    pub fn is_inference(&self) -> bool {
        self.inference
    }

    /// Runs `f` on the slot. `f` must not run Python code, nor drop a value: what it takes out it returns.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut Slot) -> R) -> R {
        // SAFETY: the GIL is held and `f` neither releases it nor runs Python, so nobody else is inside.
        f(unsafe { &mut *self.slot.get() })
    }

    /// The present value. Inside a trace, a tensor that was made outside of it is a variable of the program.
    #[inline]
    pub fn value(&self) -> Tensor {
        match self.with(|s| s.quick().cloned()) {
            Some(value) => value,
            None => self.shared_value(),
        }
    }

    #[inline(never)]
    fn shared_value(&self) -> Tensor {
        let cell = self.cell();
        let value = cell.read_or_stale();
        match level::tracing() {
            LevelId::DENSE | LevelId::ABSTRACT => value,
            trace => cell.captured(trace, value),
        }
    }

    /// The cell, shared from now on.
    pub fn cell(&self) -> Arc<Cell> {
        // SAFETY: as for `with`; taking the option drops nothing.
        match unsafe { (*self.lifted.get()).take() } {
            None => self.with(Slot::share),
            Some(caller) => {
                let base = caller.get().cell();
                standing::stands_for(&base, caller.as_ptr() as usize, caller.get());
                self.with(|s| match s.owned() {
                    Some((value, _)) => {
                        let cell = base.lifted(value);
                        let old = s.refer(cell.clone());
                        (cell, Some(old))
                    }
                    None => (s.share(), None),
                })
                .0
            }
        }
    }

    /// The value and birth of a cell that nobody else refers to.
    pub fn alone(&self) -> Option<(Tensor, LevelId)> {
        // SAFETY: as for `with`.
        if unsafe { (*self.lifted.get()).is_some() } { None } else { self.with(|s| s.owned()) }
    }

    /// Whether it is an argument under `vmap` or `jvp` whose writes are to reach the caller's tensor.
    pub fn is_lifted(&self) -> bool {
        // SAFETY: as for `with`.
        unsafe { (*self.lifted.get()).is_some() }
    }

    /// Lets go of a shared cell that nobody else refers to any more: the object holds its value by itself again.
    pub fn unshare(&self) {
        let Some(cell) = self.shared_cell() else { return };
        // One handle is in the slot, the other one here.
        if let Some(sole) = cell.sole(2) {
            let old = self.with(|s| s.unshare(sole));
            self.leave(old);
        }
    }

    /// An error if an in-place operator may not write to this tensor now.
    pub fn check_writable(&self, op: &str) -> Result<()> {
        match self.alone() {
            Some((value, _)) => write::check_leaf(op, &value, false),
            None => self.cell().check_writable(op),
        }
    }

    /// Writes the result of an in-place operator.
    pub fn write(&self, op: &str, new: &Tensor) -> Result<()> {
        let Some(sink) = self.known_gradient_box() else { return self.write_value(op, new) };
        let old = pullback::skin::tape::edge(&self.value());
        self.write_value(op, new)?;
        history::keep_retaining(&sink, old, &self.value());
        Ok(())
    }

    fn write_value(&self, op: &str, new: &Tensor) -> Result<()> {
        if new.level() > LevelId::AMBIENT {
            upward::admit(self, new);
        }
        match self.alone() {
            Some((old, birth)) => {
                // The slot holds the value, and this function does.
                let handles = if self.with(|s| s.writes().1) { 2 } else { 0 };
                let new = write::merge(op, &old, birth, write::fit(op, &old, new)?, handles)?;
                let replaced = self.with(|s| s.put(new, true));
                drop((old, replaced));
                Ok(())
            }
            None => {
                let cell = self.cell();
                let new = write::fit(op, &cell.read()?, new)?;
                cell.write(op, new)
            }
        }
    }

    /// Whether all its elements are worth to be changed where they are; see [`write::is_moderate`].
    #[inline]
    pub fn is_moderate(&self) -> bool {
        self.with(|s| s.quick().map(write::is_moderate)).unwrap_or_else(|| write::is_moderate(&self.value()))
    }

    /// Whether its memory may be changed in place as far as its views go: their values are dropped, to be read again.
    pub fn gives_up_memory(&self) -> bool {
        match self.shared_cell() {
            None => !self.is_lifted(),
            Some(cell) => {
                cell.is_root() && {
                    cell.drop_dependents();
                    true
                }
            }
        }
    }

    /// Writes to a region of a tensor that is no view.
    pub fn write_region(&self, op: &str, region: &Region, value: &Tensor) -> Result<()> {
        if value.level() > LevelId::AMBIENT {
            upward::admit(self, value);
        }
        if self.alone().is_none() {
            return self.cell().write_region(op, region, value);
        }
        let Some((old, birth)) = self.with(Slot::take) else { return Ok(()) };
        let (value, written) = match write::merge_region(op, old, birth, region, value) {
            Ok(new) => (new, Ok(())),
            Err((old, e)) => (old, Err(e)),
        };
        drop(self.with(|s| s.put(value, written.is_ok())));
        written
    }

    /// How often the elements were written to.
    pub fn version(&self) -> u32 {
        match self.with(|s| s.version()) {
            Some(v) => v,
            None => self.cell().version(),
        }
    }

    /// Whether this is a view of another tensor.
    pub fn is_view(&self) -> bool {
        self.alone().is_none() && self.cell().is_view()
    }

    /// The cell, if it is a shared one already.
    pub fn shared_cell(&self) -> Option<Arc<Cell>> {
        self.with(|s| match s {
            Slot::Shared(cell) => Some(cell.clone()),
            Slot::Owned(_) => None,
        })
    }

    /// Sizes, strides and offset of the elements in their memory.
    pub fn layout(&self) -> Result<pullback::base::Layout> {
        if let Some(cell) = self.shared_cell() {
            return cell.layout();
        }
        Ok(pullback::skin::cell::own_layout(&self.value()))
    }

    /// What a cell hears that this object stood for.
    fn leave(&self, old: Slot) {
        if let Slot::Shared(cell) = &old {
            standing::stand_down(cell, self);
        }
    }

    /// The elements that it shows of the cell that holds them, if it is not that cell.
    pub fn shown(&self) -> pullback::base::Result<Option<pullback::dense::region::Region>> {
        if self.alone().is_some() { Ok(None) } else { self.cell().shown() }
    }

    /// Makes the object stand for another cell.
    pub fn refer(&self, cell: Arc<Cell>) {
        self.leave(self.with(|s| s.refer(cell)));
    }

    /// Makes the object stand for a new value, without a write to the old one.
    pub fn reset(&self, value: Tensor) {
        // SAFETY: as for `with`.
        let lifted = unsafe { (*self.lifted.get()).take() };
        let old = self.with(|s| s.set(value));
        self.leave(old);
        drop(lifted);
    }

    /// Gives the elements another history, `value`'s: no write.
    pub fn adopt(&self, value: Tensor) -> Result<()> {
        if self.alone().is_some() {
            drop(self.with(|s| s.put(value, false)));
            return Ok(());
        }
        if let Some(other) = self.cell().adopt(value)? {
            self.refer(other);
        }
        Ok(())
    }

    /// Where `.grad` is, if this object ever had one.
    pub fn known_gradient_box(&self) -> Option<Arc<GradBox>> {
        // SAFETY: as for `with`.
        unsafe { (*self.gradient.get()).clone() }
    }

    /// Where `.grad` is from now on.
    pub fn gradient_box(&self) -> Arc<GradBox> {
        // SAFETY: as for `with`; nothing is dropped.
        unsafe { (*self.gradient.get()).get_or_insert_with(GradBox::new).clone() }
    }

    /// How the elements follow from what is in memory.
    pub fn delayed(&self) -> Delayed {
        self.shared_cell().map_or_else(Delayed::default, |cell| cell.delayed())
    }

    /// The array of a plain value, in memory that others may see and write to.
    ///
    /// # Errors
    /// `Runtime` if the elements are nowhere in memory.
    pub fn export(&self, op: &str) -> Result<Tensor> {
        self.delayed().check(op)?;
        self.export_memory()
    }

    /// As [`PyTensor::export`], with what is in memory where conjugation or negation is delayed.
    pub fn export_memory(&self) -> Result<Tensor> {
        if self.alone().is_none() {
            return self.cell().export_memory();
        }
        let Some((mut value, _)) = self.with(Slot::take) else { return Ok(self.value()) };
        let made = slot::make_exportable(&mut value);
        drop(self.with(|s| s.put(value.clone(), false)));
        self.with(Slot::show);
        made.map(|()| value)
    }
}

/// Exchanges what two objects stand for: values, views, gradients.
pub fn swap(a: &Bound<'_, PyTensor>, b: &Bound<'_, PyTensor>) -> PyResult<()> {
    let (x, y) = (a.get(), b.get());
    if x.inference != y.inference {
        return Err(pullback::Error::runtime("swap_tensors(): one of the tensors was made in inference mode").into());
    }
    for t in [x, y] {
        if let Some(cell) = t.shared_cell() {
            standing::stand_down(&cell, t);
        }
    }
    // SAFETY: as for `with`; nothing is dropped. The two are different objects, for else the swap changes nothing.
    unsafe {
        std::ptr::swap(x.slot.get(), y.slot.get());
        std::ptr::swap(x.lifted.get(), y.lifted.get());
        std::ptr::swap(x.gradient.get(), y.gradient.get());
    }
    for t in [a, b] {
        Accumulator::moved(t)?;
        if let Some(cell) = t.get().shared_cell() {
            standing::stand_for(&cell, t);
        }
    }
    Ok(())
}

/// Whether the object is a `Tensor` (or an instance of a subclass), by type pointer.
#[inline(always)]
pub fn is_tensor(o: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a bound object is alive.
    unsafe { is_tensor_at(o.as_ptr()) }
}

/// As [`is_tensor`], by address.
///
/// # Safety
/// `o` is a live object.
#[inline(always)]
unsafe fn is_tensor_at(o: *mut ffi::PyObject) -> bool {
    // SAFETY: by the contract; types are alive as long as their objects.
    unsafe {
        let t = ffi::Py_TYPE(o);
        t == TYPE.load(Relaxed) || ffi::PyType_IsSubtype(t, TYPE.load(Relaxed)) != 0
    }
}

/// The cell of a tensor object.
#[inline(always)]
pub fn cell<'a>(o: &'a Bound<'_, PyAny>) -> Option<&'a PyTensor> {
    // SAFETY: a bound object is alive as long as it is borrowed.
    unsafe { cell_at(o.py(), o.as_ptr()) }
}

/// As [`cell`], by address.
///
/// # Safety
/// `o` is a live object, and somebody holds a reference to it during `'a`.
#[inline(always)]
pub unsafe fn cell_at<'a>(py: Python<'_>, o: *mut ffi::PyObject) -> Option<&'a PyTensor> {
    // SAFETY: by the contract, and the type is checked before the object is taken for a tensor.
    unsafe {
        if !is_tensor_at(o) {
            return None;
        }
        let b = Borrowed::<PyAny>::from_ptr(py, o);
        let r: &PyTensor = b.cast_unchecked::<PyTensor>().get();
        Some(&*std::ptr::from_ref(r))
    }
}

/// A new object around a value. Memory that others see is copied: the object is no view of it.
#[inline]
pub fn wrap(py: Python<'_>, value: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    let exported = value.is_exported();
    object::make(py, PyTensor::new(if exported { slot::owned(value)? } else { value }))
}

/// A new object around a value, in the memory that it has.
pub fn wrap_shared(py: Python<'_>, value: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    object::make(py, PyTensor::new(value))
}

/// A new object for a cell that shares the elements of `base`.
pub fn wrap_cell<'py>(base: &Bound<'py, PyTensor>, cell: Arc<Cell>) -> PyResult<Bound<'py, PyTensor>> {
    object::make(base.py(), PyTensor::of_slot(Slot::Shared(cell), base.get().inference))
}

/// A new object for a cell.
pub fn of_cell(py: Python<'_>, cell: Arc<Cell>) -> PyResult<Bound<'_, PyTensor>> {
    object::make(py, PyTensor::of_slot(Slot::Shared(cell), Birth::now().inference))
}

/// The argument of a function under `vmap` or `jvp`: `value` is `caller`'s value at that level, and writes to the new
/// object reach `caller`.
#[inline]
pub fn wrap_lifted<'py>(caller: &Bound<'py, PyTensor>, value: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    let mut t = PyTensor::new(value);
    *t.lifted.get_mut() = Some(caller.clone().unbind());
    object::make(caller.py(), t)
}

/// A new object of a class of tensors; no method of the class runs.
pub fn wrap_as<'py>(class: &Bound<'py, PyType>, value: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    if class.as_type_ptr() == type_object() {
        return wrap(class.py(), value);
    }
    object::make_as(class, PyTensor::new(value))
}

/// A new object of a class of tensors for a cell that shares the elements of `base`; no method of the class runs.
pub fn wrap_cell_as<'py>(
    class: &Bound<'py, PyType>,
    base: &Bound<'py, PyTensor>,
    cell: Arc<Cell>,
) -> PyResult<Bound<'py, PyTensor>> {
    object::make_as(class, PyTensor::of_slot(Slot::Shared(cell), base.get().inference))
}

/// The tensor as an object of a class of tensors. One that nobody else holds is taken over.
pub fn as_class<'py>(t: Bound<'py, PyTensor>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyTensor>> {
    let inner = t.get();
    // SAFETY: a live object.
    let is_sole = unsafe { gil::references(t.py(), t.as_ptr()) == 1 }
        && object::is_plain_object(&t)
        && !inner.is_lifted()
        && inner.known_gradient_box().is_none()
        && inner.shared_cell().is_none();
    if !is_sole {
        let cell = inner.cell();
        return wrap_cell_as(class, &t, cell);
    }
    let empty = Tensor::scalar(pullback::DType::F32, 0.0);
    let slot = inner.with(|s| std::mem::replace(s, Slot::new(empty, LevelId::DENSE)));
    object::make_as(class, PyTensor::of_slot(slot, inner.inference))
}

pub fn type_object() -> *mut ffi::PyTypeObject {
    TYPE.load(Relaxed)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyTensor>()?;
    let class = m.py().get_type::<PyTensor>();
    TYPE.store(class.as_type_ptr(), Relaxed);
    object::register(object::make_with_dict(m.py(), PyTensor::new(Tensor::scalar(pullback::DType::F32, 0.0)))?);
    Ok(())
}
