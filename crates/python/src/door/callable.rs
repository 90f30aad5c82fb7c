//! The place that every call from Python passes which may be somebody else's to answer: functions and methods of the table,
//! slots, methods and attributes written by hand, transforms, custom functions. It knows the callable and its arguments.
//!
//! Arguments that are plain tensors and numbers pass by [`is_ordinary`]: one comparison of type pointers each. What is left
//! comes to [`overridden`], which asks modes, and classes that define `__torch_function__`.

use super::{modes, overrides};
use crate::tensor::{self, PyTensor};
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use pullback::base::Error;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

type Object = *mut ffi::PyObject;

/// How a callable is reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// `pullback.name(…)`
    Function,
    /// `pullback.name_(…)`, where the name stands without its underscore.
    InplaceFunction,
    /// `x.name(…)`
    Method,
    /// `x.name_(…)`, where the name stands without its underscore.
    Inplace,
    /// What syntax or a function of Python calls, such as `len(x)`.
    Slot,
    /// A slot of two operands, which may leave the call to the other one.
    Operator,
    /// `x.name`
    Getter,
    /// `x.name = value`
    Setter,
    /// `del x.name`
    Deleter,
    /// `pullback.name(…)` that makes a tensor of what is none, where only modes are asked.
    Maker,
    /// A transformed function, or a transform of a function at a point.
    Transform,
    /// `Function.apply`
    Apply,
}

/// What is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Callable {
    pub kind: Access,
    /// The dotted name of a function below `pullback`, or the name of an attribute of `Tensor`.
    pub name: &'static str,
}

/// The arguments of a call as the interpreter passes them.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// `self`, or null.
    pub slf: Object,
    pub positional: &'a [Object],
    pub named: &'a [Object],
    /// The tuple of the names, or null.
    pub names: Object,
}

impl<'a> Given<'a> {
    /// The arguments of a slot or an attribute.
    pub fn all(positional: &'a [Object]) -> Given<'a> {
        Given { slf: null_mut(), positional, named: &[], names: null_mut() }
    }

    /// # Safety
    /// `args` points to `n` live objects followed by the values of the tuple `names`, which may be null; they outlive the
    /// result.
    #[inline(always)]
    pub unsafe fn of_call(slf: Object, args: *const Object, n: usize, names: Object) -> Given<'a> {
        // SAFETY: by the contract; `args` may be null where there are none.
        unsafe {
            let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) as usize };
            let all: &[Object] = if n + named == 0 { &[] } else { std::slice::from_raw_parts(args, n + named) };
            let (positional, named) = all.split_at(n);
            Given { slf, positional, named, names }
        }
    }

    /// All objects, `self` first.
    #[inline(always)]
    pub fn objects(&self) -> impl Iterator<Item = Object> + use<'a> {
        let slf = (!self.slf.is_null()).then_some(self.slf);
        slf.into_iter().chain(self.positional.iter().copied()).chain(self.named.iter().copied())
    }

    /// The positional arguments as a tuple, `self` first.
    pub fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let slf = (!self.slf.is_null()).then_some(self.slf);
        let objects = slf.into_iter().chain(self.positional.iter().copied());
        // SAFETY: live objects of the caller's frame.
        let objects: Vec<_> = objects.map(|o| unsafe { Borrowed::<PyAny>::from_ptr(py, o) }).collect();
        Ok(PyTuple::new(py, objects)?)
    }

    /// The arguments by name, if there are any.
    pub fn kwargs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.named.is_empty() {
            return Ok(None);
        }
        let kwargs = PyDict::new(py);
        for (i, &value) in self.named.iter().enumerate() {
            // SAFETY: a tuple of as many names as values; live objects of the caller's frame.
            unsafe {
                let name = Borrowed::<PyAny>::from_ptr(py, ffi::PyTuple_GET_ITEM(self.names, i as ffi::Py_ssize_t));
                kwargs.set_item(name, Borrowed::<PyAny>::from_ptr(py, value))?;
            }
        }
        Ok(Some(kwargs))
    }
}

/// The class whose objects pass without a question: `Tensor`, or nothing while somebody watches all calls.
static PLAIN: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());
/// `Tensor`.
static TENSOR: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());
/// A subclass of `Tensor` that has no say, whose objects pass as those of `Tensor` do: `nn.Parameter`.
static SILENT: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

/// Whether the arguments are plain tensors, numbers and None alone, and nobody watches.
#[inline(always)]
pub fn is_ordinary(objects: impl IntoIterator<Item = Object>) -> bool {
    let plain = PLAIN.load(Relaxed);
    !plain.is_null()
        && objects.into_iter().all(|o| {
            // SAFETY: live objects of the caller's frame.
            let class = unsafe { ffi::Py_TYPE(o) };
            class == plain || is_basic(class) || class == SILENT.load(Relaxed)
        })
}

/// `Tensor`.
#[inline(always)]
pub fn tensor_class() -> *mut ffi::PyTypeObject {
    TENSOR.load(Relaxed)
}

/// Whether a class of the interpreter holds no tensors.
#[inline(always)]
pub fn is_basic(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: None is immortal.
    let none = unsafe { ffi::Py_TYPE(ffi::Py_None()) };
    class == &raw mut ffi::PyFloat_Type
        || class == &raw mut ffi::PyLong_Type
        || class == none
        || class == &raw mut ffi::PyBool_Type
        || class == &raw mut ffi::PyUnicode_Type
        || class == &raw mut ffi::PySlice_Type
}

/// What a call gives instead of its own answer; None if it is for this library to answer.
#[cold]
#[inline(never)]
pub fn overridden<'py>(py: Python<'py>, callable: Callable, given: Given<'_>) -> Option<PyResult<Bound<'py, PyAny>>> {
    overridden_slot(py, callable, given, None)
}

/// [`overridden`] for an operator, with the name of its slot.
#[cold]
#[inline(never)]
pub fn overridden_slot<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    slot: Option<&'static str>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if PLAIN.load(Relaxed).is_null()
        && let Err(e) = tell(py, callable)
    {
        return Some(Err(e));
    }
    // A transform calls a function of the user, whose operators come here one by one.
    if matches!(callable.kind, Access::Transform | Access::Apply) {
        return None;
    }
    overrides::call(py, callable, given, slot)
}

/// [`overridden`] for arguments that are not ordinary.
#[inline(always)]
pub fn asked<'py>(
    py: Python<'py>,
    kind: Access,
    name: &'static str,
    args: &[Object],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if is_ordinary(args.iter().copied()) {
        return None;
    }
    overridden(py, Callable { kind, name }, Given::all(args))
}

/// [`asked`] for a function below `pullback` that pyo3 takes apart: arguments, and options by name, of which None stands
/// for those that were not given. `other` is one of these that may be a tensor.
#[inline(always)]
pub fn asked_with<'py, const N: usize>(
    py: Python<'py>,
    name: &'static str,
    args: &[&Bound<'py, PyAny>],
    other: Option<&Bound<'py, PyAny>>,
    options: impl FnOnce() -> PyResult<[(&'static str, Bound<'py, PyAny>); N]>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if is_ordinary(args.iter().copied().chain(other).map(|a| a.as_ptr())) {
        return None;
    }
    let args: SmallVec<[Object; 4]> = args.iter().copied().map(Bound::as_ptr).collect();
    let others: SmallVec<[Object; 1]> = other.into_iter().map(Bound::as_ptr).collect();
    let given = |(name, value)| (PyString::new(py, name).into_any(), value);
    let options = || Ok(options()?.into_iter().filter(|o| !o.1.is_none()).map(given).collect());
    overridden_with(py, Callable { kind: Access::Function, name }, &args, &others, options)
}

/// What `ask` says of a tensor, unless somebody else answers.
pub fn asked_of<'py>(
    input: &Bound<'py, PyAny>,
    name: &'static str,
    ask: impl FnOnce(&PyTensor) -> bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    if let Some(out) = asked_with(py, name, &[input], None, || Ok([])) {
        return out;
    }
    match tensor::cell(input) {
        Some(t) => Ok(PyBool::new(py, ask(t)).to_owned().into_any()),
        None => {
            let got = type_name(input);
            Err(Error::type_(format!("{name}(): argument 'input' must be Tensor, got {got}")).into())
        }
    }
}

/// [`asked_with`] for a function that makes a tensor of what is none.
#[inline(always)]
pub fn asked_to_make<'py, const N: usize>(
    py: Python<'py>,
    name: &'static str,
    args: &[&Bound<'py, PyAny>],
    options: impl FnOnce() -> PyResult<[(&'static str, Bound<'py, PyAny>); N]>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if !PLAIN.load(Relaxed).is_null() {
        return None;
    }
    let args: SmallVec<[Object; 4]> = args.iter().copied().map(Bound::as_ptr).collect();
    let given = |(name, value)| (PyString::new(py, name).into_any(), value);
    let options = || Ok(options()?.into_iter().filter(|o| !o.1.is_none()).map(given).collect());
    overridden_with(py, Callable { kind: Access::Maker, name }, &args, &[], options)
}

/// Whether somebody else may answer a call with these arguments.
#[inline(always)]
pub fn is_asked(py: Python<'_>, args: &[&Bound<'_, PyAny>]) -> bool {
    let objects = || args.iter().map(|a| a.as_ptr());
    !is_ordinary(objects()) && overrides::is_asked(py, objects())
}

/// [`overridden`] for arguments, and options by name, which are built if one of the arguments or of `others` has a say.
#[cold]
#[inline(never)]
pub fn overridden_with<'py>(
    py: Python<'py>,
    callable: Callable,
    args: &[Object],
    others: &[Object],
    options: impl FnOnce() -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let objects = args.iter().chain(others).copied();
    if !PLAIN.load(Relaxed).is_null() && !overrides::is_asked(py, objects) {
        return None;
    }
    let named = || {
        let options = options()?;
        let names = PyTuple::new(py, options.iter().map(|(name, _)| name))?;
        PyResult::Ok((options, names))
    };
    let (options, names) = match named() {
        Ok(named) => named,
        Err(e) => return Some(Err(e)),
    };
    let values: SmallVec<[Object; 8]> = options.iter().map(|(_, value)| value.as_ptr()).collect();
    let names = if options.is_empty() { null_mut() } else { names.as_ptr() };
    overridden(py, callable, Given { slf: null_mut(), positional: args, named: &values, names })
}

impl Callable {
    /// The public object, such as `pullback.add`, `Tensor.add` or `Tensor.shape.__get__`.
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let raw = self.raw(py)?;
        match self.kind {
            Access::Getter => Ok(raw.getattr("__get__")?),
            Access::Setter => Ok(raw.getattr("__set__")?),
            Access::Deleter => Ok(raw.getattr("__delete__")?),
            _ => Ok(raw),
        }
    }

    /// A function, or what the class has under the name.
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let known = RAW.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.as_ref().and_then(|k| k.get(self)) {
            return Ok(found.clone_ref(py).into_bound(py));
        }
        drop(known);
        let found = self.find(py)?;
        let mut known = RAW.lock().unwrap_or_else(PoisonError::into_inner);
        let old = known.get_or_insert_default().insert(*self, found.clone().unbind());
        drop(known);
        drop(old);
        Ok(found)
    }

    fn find<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let of_class = |name: &str| -> PyResult<Bound<'py, PyAny>> {
            // SAFETY: the class lives as long as the module.
            let class = unsafe { PyType::from_borrowed_type_ptr(py, TENSOR.load(Relaxed)) };
            Ok(class.getattr("__dict__")?.get_item(name)?)
        };
        let of_table = |name: &str| {
            let table = py.import("pullback._core")?.getattr("functions")?;
            if table.contains(name)? {
                return Ok(table.get_item(name)?);
            }
            let (module, last) = name
                .rsplit_once('.')
                .map_or(("pullback".into(), name), |(module, last)| (format!("pullback.{module}"), last));
            Ok(py.import(module)?.getattr(last)?)
        };
        match self.kind {
            Access::Function | Access::Maker => of_table(self.name),
            Access::InplaceFunction => of_table(&format!("{}_", self.name)),
            Access::Inplace => of_class(&format!("{}_", self.name)),
            Access::Transform | Access::Apply => Ok(PyString::new(py, self.name).into_any()),
            _ => of_class(self.name),
        }
    }

    /// Calls it.
    pub fn run<'py>(&self, py: Python<'py>, given: Given<'_>) -> PyResult<Bound<'py, PyAny>> {
        let raw = self.raw(py)?;
        let mut args: SmallVec<[Object; 8]> = SmallVec::new();
        args.push(null_mut());
        args.extend(given.objects());
        // SAFETY: a spare slot, then live objects of the caller's frame, as many of them named as there are names; what
        // is found under the name of an attribute is a descriptor.
        unsafe {
            let class = ffi::Py_TYPE(raw.as_ptr());
            let out = match (self.kind, (*class).tp_descr_get, (*class).tp_descr_set) {
                (Access::Getter, Some(get), _) => get(raw.as_ptr(), args[1], ffi::Py_TYPE(args[1]).cast()),
                (Access::Setter | Access::Deleter, _, Some(set)) => {
                    let value = args.get(2).copied().unwrap_or(null_mut());
                    if set(raw.as_ptr(), args[1], value) == 0 { py.None().into_ptr() } else { null_mut() }
                }
                _ => {
                    let positional = args.len() - 1 - given.named.len();
                    let n = positional | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
                    ffi::PyObject_Vectorcall(raw.as_ptr(), args.as_ptr().add(1), n, given.names)
                }
            };
            Ok(Bound::from_owned_ptr_or_err(py, out)?)
        }
    }

    /// `pullback.add`, `pullback.Tensor.add`
    pub fn path(&self) -> String {
        let name = self.name;
        match self.kind {
            Access::Function | Access::Maker => format!("pullback.{name}"),
            Access::InplaceFunction => format!("pullback.{name}_"),
            Access::Getter => format!("pullback.Tensor.{name}.__get__"),
            Access::Setter => format!("pullback.Tensor.{name}.__set__"),
            Access::Deleter => format!("pullback.Tensor.{name}.__delete__"),
            Access::Transform => format!("pullback.func.{name}"),
            Access::Apply => format!("{name}.apply"),
            Access::Inplace => format!("pullback.Tensor.{name}_"),
            Access::Method | Access::Slot | Access::Operator => format!("pullback.Tensor.{name}"),
        }
    }
}

/// What callables were found to be.
static RAW: Mutex<Option<FxHashMap<Callable, Py<PyAny>>>> = Mutex::new(None);

/// Who is told of every call.
static WATCHER: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

fn tell(py: Python<'_>, callable: Callable) -> PyResult<()> {
    let watcher = WATCHER.lock().ok().and_then(|w| w.as_ref().map(|w| w.clone_ref(py)));
    if let Some(watcher) = watcher {
        watcher.bind(py).call1((format!("{:?}", callable.kind).to_lowercase(), callable.path()))?;
    }
    Ok(())
}

/// Calls `watcher(kind, path)` at every call from Python on any thread, until None is set.
#[pyfunction]
fn _watch_calls(watcher: Option<Py<PyAny>>) {
    let old = WATCHER.lock().map(|mut w| std::mem::replace(&mut *w, watcher));
    refresh();
    drop(old);
}

/// Lets plain tensors pass unasked if nobody watches and no mode is entered.
pub fn refresh() {
    let is_watched = WATCHER.lock().is_ok_and(|w| w.is_some()) || modes::anywhere();
    PLAIN.store(if is_watched { null_mut() } else { TENSOR.load(Relaxed) }, Relaxed);
}

/// Lets objects of a subclass of `Tensor` that has no say pass as plain ones; None takes that back.
#[pyfunction]
fn _pass_unasked(class: Option<&Bound<'_, PyType>>) -> PyResult<()> {
    if let Some(class) = class
        && overrides::has_say(class.py(), class.as_type_ptr())
    {
        return Err(Error::type_("_pass_unasked(): the class answers calls by __torch_function__").into());
    }
    // One class for the life of the process.
    let class = class.map_or(null_mut(), |c| c.clone().into_ptr().cast());
    SILENT.store(class, Relaxed);
    Ok(())
}

/// `class` is `Tensor`.
pub fn open(class: &Bound<'_, PyType>) {
    TENSOR.store(class.as_type_ptr(), Relaxed);
    PLAIN.store(class.as_type_ptr(), Relaxed);
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.setattr("_pass_unasked", wrap_pyfunction!(_pass_unasked, m)?)?;
    m.setattr("_watch_calls", wrap_pyfunction!(_watch_calls, m)?)?;
    super::modules::register(m)?;
    overrides::register(m)
}
