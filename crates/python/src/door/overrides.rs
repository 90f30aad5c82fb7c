//! `__torch_function__`: classes, of tensors or of others, that answer calls themselves.

use super::callable::{Access, Callable, Given, is_basic, tensor_class};
use super::modes::{self, Asking, Before};
use crate::tensor::{self, PyTensor};
use crate::types::errors::PyResult;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyList, PySet, PyTuple, PyType};
use smallvec::SmallVec;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

type Object = *mut ffi::PyObject;
type Class = *mut ffi::PyTypeObject;
/// Arguments with a say, one of each class.
pub type Found<'py> = SmallVec<[Bound<'py, PyAny>; 2]>;

unsafe extern "C" {
    /// What a class or its bases have under a name, borrowed, or null without an exception.
    fn _PyType_Lookup(class: Class, name: Object) -> Object;
}

/// What a class says to calls with its objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Say {
    Nothing,
    /// Nothing of its own: results become objects of the class.
    Inherits,
    Own,
}

thread_local! {
    /// What is known of some classes, at the version that they had.
    static KNOWN: [Cell<(Class, u32, Say)>; 16] = const { [const { Cell::new((null_mut(), 0, Say::Nothing)) }; 16] };
}

/// `Tensor.__dict__["__torch_function__"]`, which lives as long as the class.
static DEFAULT: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());
/// `_disabled_torch_function_impl`, kept for good.
static DISABLED: AtomicPtr<ffi::PyObject> = AtomicPtr::new(null_mut());

/// The version of a class, which the interpreter changes with whatever the class or its bases define; 0 is none.
fn version(class: Class) -> u32 {
    // SAFETY: a live class.
    unsafe { (*class).tp_version_tag }
}

fn place(class: Class) -> usize {
    class as usize / 64 % 16
}

/// What a class says. Asked of the class alone, as the interpreter asks for its own protocols.
fn say(py: Python<'_>, class: Class) -> Say {
    let (at, tag, says) = KNOWN.with(|k| k[place(class)].get());
    if at == class && tag != 0 && tag == version(class) {
        return says;
    }
    // SAFETY: a live class and a string; what is found is only compared. The look-up gives the class a version.
    let found = unsafe { _PyType_Lookup(class, intern!(py, "__torch_function__").as_ptr()) };
    let says = if found.is_null() || found == DISABLED.load(Relaxed) || found == py.None().as_ptr() {
        Say::Nothing
    } else if found == DEFAULT.load(Relaxed) {
        Say::Inherits
    } else {
        Say::Own
    };
    KNOWN.with(|k| k[place(class)].set((class, version(class), says)));
    says
}

/// Whether objects of the class have a say.
pub fn has_say(py: Python<'_>, class: Class) -> bool {
    class != tensor_class() && !is_basic(class) && say(py, class) != Say::Nothing
}

/// What a mode or a class answers that is above all others among the arguments; None if none has a say. `slot` is the
/// name of the slot of an operator, whose public name is another one.
pub fn call<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    slot: Option<&'static str>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if callable.kind == Access::Method && callable.name == CHOOSES {
        return None;
    }
    let mut found = Found::new();
    if modes::are_classes_asked() && callable.kind != Access::Maker {
        // SAFETY: live objects of the caller's frame.
        given.objects().for_each(|o| unsafe { collect(py, o, &mut found) });
    }
    if modes::is_active() {
        return Some(asked(py, callable, given, &found));
    }
    if found.is_empty() {
        return None;
    }
    if found.iter().all(|o| say(py, o.get_type_ptr()) == Say::Inherits) {
        return Some(inherited(py, callable, given, slot, &found));
    }
    Some(asked(py, callable, given, &found))
}

/// Whether a mode, or one of these, has a say.
pub fn is_asked(py: Python<'_>, objects: impl Iterator<Item = Object>) -> bool {
    if modes::is_active() {
        return true;
    }
    let mut found = Found::new();
    if modes::are_classes_asked() {
        // SAFETY: live objects of the caller's frame.
        objects.for_each(|o| unsafe { collect(py, o, &mut found) });
    }
    !found.is_empty()
}

/// Adds an argument that has a say, or the items of a list that have.
///
/// # Safety
/// A live object.
unsafe fn collect<'py>(py: Python<'py>, o: Object, found: &mut Found<'py>) {
    // SAFETY: by the contract; the items of a tuple or a list live as long as it, and nothing here runs Python.
    unsafe {
        let class = ffi::Py_TYPE(o);
        if class == tensor_class() {
        } else if class == &raw mut ffi::PyTuple_Type {
            (0..ffi::PyTuple_GET_SIZE(o)).for_each(|i| item(py, ffi::PyTuple_GET_ITEM(o, i), found));
        } else if class == &raw mut ffi::PyList_Type {
            (0..ffi::PyList_GET_SIZE(o)).for_each(|i| item(py, ffi::PyList_GET_ITEM(o, i), found));
        } else {
            item(py, o, found);
        }
    }
}

/// Adds an object that has a say: one of each class, subclasses before others, otherwise in the order of the arguments.
///
/// # Safety
/// A live object.
unsafe fn item<'py>(py: Python<'py>, o: Object, found: &mut Found<'py>) {
    // SAFETY: by the contract.
    unsafe {
        let class = ffi::Py_TYPE(o);
        if !has_say(py, class) || found.iter().any(|f| f.get_type_ptr() == class) {
            return;
        }
        let before = |f: &Bound<'_, PyAny>| ffi::PyType_IsSubtype(class, f.get_type_ptr()) != 0;
        let at = found.iter().position(before).unwrap_or(found.len());
        found.insert(at, Bound::from_borrowed_ptr(py, o));
    }
}

/// The answer of the default handler of `Tensor` to a call whose classes have no other.
fn inherited<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    slot: Option<&'static str>,
    found: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let is_below = |class: Class, other: &Bound<'_, PyAny>| {
        // SAFETY: live classes.
        unsafe { ffi::PyType_IsSubtype(class, other.get_type_ptr()) != 0 }
    };
    let above = |o: &Bound<'_, PyAny>| found.iter().all(|f| is_below(o.get_type_ptr(), f));
    let Some(first) = found.iter().find(|o| above(o)) else {
        return refused(py, callable, found, None);
    };
    let runs = slot.map_or(callable, |name| Callable { kind: Access::Slot, name });
    let out = {
        let _before = Before::with_at_most(Asking::Modes);
        runs.run(py, given)?
    };
    let kept = callable.kind == Access::Getter && KEEPS.contains(&callable.name);
    if kept { Ok(out) } else { converted(out, &first.get_type()) }
}

/// Attributes that give what somebody put there, in the class that it has.
const KEEPS: &[&str] = &["grad", "_grad", "_base"];
/// The method that handlers make plain tensors by: nobody else answers it.
const CHOOSES: &str = "as_subclass";

/// What modes and classes answer.
fn asked<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    found: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let func = callable.object(py)?;
    let (args, kwargs) = (given.args(py)?, given.kwargs(py)?);
    match answers(py, &func, found, &args, kwargs.as_ref())? {
        Ok(out) => Ok(out),
        Err(mode) => refused(py, callable, found, mode.as_ref()),
    }
}

/// The first answer that is not NotImplemented, or else the mode that was asked.
type Answer<'py> = std::result::Result<Bound<'py, PyAny>, Option<Bound<'py, PyAny>>>;

fn answers<'py>(
    py: Python<'py>,
    func: &Bound<'py, PyAny>,
    found: &[Bound<'py, PyAny>],
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Answer<'py>> {
    let types = PyTuple::new(py, found.iter().map(|o| o.get_type()))?;
    let ask = |handler: &Bound<'py, PyAny>| match kwargs {
        None => Ok(handler.call1((func, &types, args))?),
        Some(kwargs) => Ok(handler.call1((func, &types, args, kwargs))?),
    };
    let not_implemented = py.NotImplemented().into_bound(py);
    let mut asked = None;
    if modes::is_active() {
        let (out, mode) = modes::ask(py, ask)?;
        if !out.is(&not_implemented) {
            return Ok(Ok(out));
        }
        asked = Some(mode);
    }
    for o in found {
        let handler = o.getattr(intern!(py, "__torch_function__"))?;
        warn_of_plain_method(o, &handler)?;
        let out = ask(&handler)?;
        if !out.is(&not_implemented) {
            return Ok(Ok(out));
        }
    }
    Ok(Err(asked))
}

fn warn_of_plain_method(o: &Bound<'_, PyAny>, handler: &Bound<'_, PyAny>) -> PyResult<()> {
    let owner = handler.getattr_opt(intern!(o.py(), "__self__"))?;
    if owner.is_some_and(|s| s.is(o)) {
        o.py().import("pullback.overrides")?.getattr("_warn_of_plain_method")?.call0()?;
    }
    Ok(())
}

#[cold]
fn refused<'py>(
    py: Python<'py>,
    callable: Callable,
    found: &[Bound<'py, PyAny>],
    mode: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if callable.kind == Access::Operator {
        return Ok(py.NotImplemented().into_bound(py));
    }
    Err(refusal(&callable.path(), found, mode).into())
}

fn refusal(path: &str, found: &[Bound<'_, PyAny>], mode: Option<&Bound<'_, PyAny>>) -> PyErr {
    let classes = found.iter().map(|o| o.get_type().to_string());
    let mode = mode.map(|m| format!("the mode {}", m.get_type()));
    let names: Vec<String> = mode.into_iter().chain(classes).collect();
    PyTypeError::new_err(short!(
        "Multiple dispatch failed for '{path}'; all __torch_function__ handlers returned NotImplemented: {}",
        names.join(", ")
    ))
}

/// `Tensor.__torch_function__`: calls `func` as if no class had a say; tensors of the result become objects of `class`.
pub fn default<'py>(
    class: &Bound<'py, PyType>,
    func: &Bound<'py, PyAny>,
    types: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = func.py();
    for t in types.try_iter()? {
        if !class.is_subclass(&t?)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
    }
    let out = undisturbed(func, args, kwargs)?;
    if keeps(func)? { Ok(out) } else { converted(out, class) }
}

/// `func(*args, **kwargs)`, where no class has a say.
fn undisturbed<'py>(
    func: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _before = Before::with_at_most(Asking::Modes);
    match args {
        Some(args) => Ok(func.call(args, kwargs)?),
        None => Ok(func.call((), kwargs)?),
    }
}

/// Whether a callable reads one of the attributes that keep their class.
fn keeps(func: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = func.py();
    if func.get_type().name()? != "method-wrapper" || !func.getattr(intern!(py, "__name__"))?.eq("__get__")? {
        return Ok(false);
    }
    let Some(name) = func.getattr(intern!(py, "__self__"))?.getattr_opt(intern!(py, "__name__"))? else {
        return Ok(false);
    };
    Ok(KEEPS.contains(&name.extract::<String>()?.as_str()))
}

/// A tensor as an object of the class, unless it is one; others as they are.
pub fn as_class<'py>(o: Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: live classes.
    if unsafe { ffi::PyType_IsSubtype(o.get_type_ptr(), class.as_type_ptr()) } != 0 {
        return Ok(o);
    }
    match o.cast_into::<PyTensor>() {
        Ok(t) => Ok(tensor::as_class(t, class)?.into_any()),
        Err(e) => Ok(e.into_inner()),
    }
}

/// A new tensor in the place of `like`, in its class if that has a say.
pub fn wrap_like<'py>(like: &Bound<'py, PyAny>, value: pullback::core::Tensor) -> PyResult<Bound<'py, PyAny>> {
    let made = tensor::wrap(like.py(), value)?.into_any();
    if has_say(like.py(), like.get_type_ptr()) { as_class(made, &like.get_type()) } else { Ok(made) }
}

/// Tensors, also in tuples and lists, as objects of the class.
fn converted<'py>(out: Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = out.py();
    if tensor::is_tensor(&out) {
        return as_class(out, class);
    }
    if let Ok(list) = out.cast::<PyList>() {
        let items = list.iter().map(|o| converted(o, class)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if let Ok(tuple) = out.cast::<PyTuple>() {
        let items = tuple.iter().map(|o| converted(o, class)).collect::<PyResult<Vec<_>>>()?;
        let items = PyTuple::new(py, items)?;
        return match out.getattr_opt(intern!(py, "_make"))? {
            Some(make) => Ok(make.call1((items,))?),
            None if out.get_type().is(py.get_type::<PyTuple>()) => Ok(items.into_any()),
            None => Ok(out.clone()),
        };
    }
    Ok(out)
}

/// `__torch_function__` of a class whose objects count as plain ones: calls `func` as if no class had a say.
#[pyfunction]
#[pyo3(signature = (func, types, args=None, kwargs=None))]
fn _disabled_torch_function_impl<'py>(
    func: &Bound<'py, PyAny>,
    types: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = types;
    undisturbed(func, args, kwargs)
}

fn relevant<'py>(args: &Bound<'py, PyTuple>) -> Found<'py> {
    let mut found = Found::new();
    if modes::are_classes_asked() {
        // SAFETY: items of a live tuple.
        args.iter_borrowed().for_each(|o| unsafe { item(args.py(), o.as_ptr(), &mut found) });
    }
    found
}

/// Whether a class of one of the arguments, or a mode, answers calls by `__torch_function__`.
///
/// Raises TypeError if the arguments are no sequence.
///
/// >>> import pullback
/// >>> pullback.overrides.has_torch_function((pullback.ones(1), 2.0))
/// False
#[pyfunction]
fn has_torch_function(relevant_args: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = relevant_args.py();
    // SAFETY: a live object.
    if unsafe { ffi::PySequence_Check(relevant_args.as_ptr()) } == 0 {
        let got = crate::types::class::type_name(relevant_args);
        return Err(PyTypeError::new_err(short!("has_torch_function(): expected a sequence, got {got}")).into());
    }
    // SAFETY: as above; a new tuple or an exception.
    let args = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PySequence_Tuple(relevant_args.as_ptr()))? };
    Ok(has_torch_function_variadic(&args.cast_into()?))
}

/// `has_torch_function` of one argument.
#[pyfunction]
fn has_torch_function_unary(obj: &Bound<'_, PyAny>) -> bool {
    modes::is_active() || (modes::are_classes_asked() && has_say(obj.py(), obj.get_type_ptr()))
}

/// `has_torch_function` of the arguments that it is given.
#[pyfunction]
#[pyo3(signature = (*args))]
fn has_torch_function_variadic(args: &Bound<'_, PyTuple>) -> bool {
    let says = |o: Borrowed<'_, '_, PyAny>| has_say(args.py(), o.get_type_ptr());
    modes::is_active() || (modes::are_classes_asked() && args.iter_borrowed().any(says))
}

/// What a mode or a class of `relevant_args` answers to a call of `public_api` with these arguments.
///
/// A function that takes objects with `__torch_function__` begins by asking `has_torch_function`, and gives what this
/// gives if there are some. Raises TypeError if all of them return NotImplemented.
#[pyfunction]
#[pyo3(signature = (public_api, relevant_args, *args, **kwargs))]
fn handle_torch_function<'py>(
    public_api: &Bound<'py, PyAny>,
    relevant_args: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = public_api.py();
    // SAFETY: a live object; a new tuple or an exception.
    let all = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PySequence_Tuple(relevant_args.as_ptr()))? };
    let found = relevant(&all.cast_into()?);
    let empty = PyDict::new(py);
    match answers(py, public_api, &found, args, Some(kwargs.unwrap_or(&empty)))? {
        Ok(out) => Ok(out),
        Err(mode) => {
            let part = |name| public_api.getattr_opt(name);
            let module = part("__module__")?.map_or_else(String::new, |m| format!("{m}."));
            let name = part("__name__")?.map_or_else(|| public_api.to_string(), |n| n.to_string());
            Err(refusal(&format!("{module}{name}"), &found, mode.as_ref()).into())
        }
    }
}

/// The objects with a say among these: one of each class, in the order in which they are asked.
#[pyfunction]
fn _get_overloaded_args<'py>(relevant_args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
    Ok(PyList::new(relevant_args.py(), relevant(relevant_args))?)
}

/// The functions of the library that are in no table and ask: for those who list them.
static ASKING: PyOnceLock<Py<PySet>> = PyOnceLock::new();

/// Adds a function that asks before it looks at its arguments, as [`super::callable::asked_with`] does.
pub fn add_asking<'py>(m: &Bound<'py, PyModule>, function: Bound<'py, PyCFunction>) -> PyResult<()> {
    if let Some(all) = ASKING.get(m.py()) {
        all.bind(m.py()).add(&function)?;
    }
    Ok(m.add_function(function)?)
}

/// `class` is `Tensor`, whose methods are all there.
pub fn open(class: &Bound<'_, PyType>) -> PyResult<()> {
    let found = class.getattr("__dict__")?.get_item("__torch_function__")?;
    DEFAULT.store(found.as_ptr(), Relaxed);
    Ok(())
}

pub fn register(core: &Bound<'_, PyModule>) -> PyResult<()> {
    let m = crate::types::submodule(core, "overrides")?;
    modes::register(&m)?;
    let disabled: Bound<'_, PyCFunction> = wrap_pyfunction!(_disabled_torch_function_impl, &m)?;
    m.add_function(disabled.clone())?;
    DISABLED.store(disabled.into_ptr(), Relaxed);
    m.add_function(wrap_pyfunction!(has_torch_function, &m)?)?;
    m.add_function(wrap_pyfunction!(has_torch_function_unary, &m)?)?;
    m.add_function(wrap_pyfunction!(has_torch_function_variadic, &m)?)?;
    m.add_function(wrap_pyfunction!(handle_torch_function, &m)?)?;
    m.add_function(wrap_pyfunction!(_get_overloaded_args, &m)?)?;
    let all = ASKING.get_or_try_init(core.py(), || PySet::empty(core.py()).map(Bound::unbind))?;
    Ok(m.setattr("_announced", all.bind(core.py()))?)
}
