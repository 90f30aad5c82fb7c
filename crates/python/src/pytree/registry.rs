//! Types that are taken apart besides tuple, list and dict: found by type, filled by Python programs.

use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A type whose instances are nodes of a pytree.
pub struct Entry {
    pub class: Py<PyType>,
    pub how: How,
}

/// How a node is taken apart and put together.
pub enum How {
    /// A subclass of dict that stands for one: trees that are put together have plain dicts.
    Dict,
    OrderedDict,
    DefaultDict,
    Deque,
    /// `class(*children)`
    NamedTuple,
    /// Other subclasses of tuple: `class(children)`
    TupleLike,
    /// `flatten(x) -> (children, context)`, `unflatten(children, context)`
    Functions {
        flatten: Py<PyAny>,
        unflatten: Py<PyAny>,
        /// The same as `flatten` with each child as `(key, child)`.
        with_keys: Option<Py<PyAny>>,
    },
    /// `flatten(x) -> (children, metadata[, entries])`, `unflatten(metadata, children)`
    Optree {
        flatten: Py<PyAny>,
        unflatten: Py<PyAny>,
    },
    /// `class(**fields)`; fields that are None belong to the structure.
    Dataclass {
        fields: Vec<Py<PyString>>,
    },
}

type Map = FxHashMap<usize, Arc<Entry>>;

// Not `PyOnceLock`: nothing in here runs Python code, and no lock is held while Python code runs.
static REGISTRY: LazyLock<RwLock<Map>> = LazyLock::new(RwLock::default);

/// Classes are kept alive by their entry, so automatic ones are remembered up to a bound.
const MOST_AUTOMATIC: usize = 4096;

fn key(class: &Bound<'_, PyType>) -> usize {
    class.as_ptr() as usize
}

fn stored(class: &Bound<'_, PyType>) -> Option<Arc<Entry>> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner).get(&key(class)).cloned()
}

fn store(class: &Bound<'_, PyType>, how: How) -> Arc<Entry> {
    let entry = Arc::new(Entry { class: class.clone().unbind(), how });
    let old = REGISTRY.write().unwrap_or_else(PoisonError::into_inner).insert(key(class), entry.clone());
    drop(old); // after the lock: dropping may run Python code
    entry
}

fn remember(class: &Bound<'_, PyType>, how: How) -> Arc<Entry> {
    if REGISTRY.read().unwrap_or_else(PoisonError::into_inner).len() < MOST_AUTOMATIC {
        return store(class, how);
    }
    Arc::new(Entry { class: class.clone().unbind(), how })
}

/// The entry of an object's type; `None` makes the object a leaf.
pub fn find(obj: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Entry>>> {
    let class = obj.get_type();
    if let Some(entry) = stored(&class) {
        return Ok(Some(entry));
    }
    // SAFETY: attached, and the type is alive.
    if unsafe { ffi::PyTuple_Check(obj.as_ptr()) } != 0 {
        if is_named_tuple(&class)? {
            return Ok(Some(remember(&class, How::NamedTuple)));
        }
    } else if crate::tensor::is_tensor(obj) {
        return Ok(None);
    }
    from_optree(&class)
}

/// The entry of a class, as [`find`] gives it for an instance that is no tuple.
pub fn find_class(class: &Bound<'_, PyType>) -> PyResult<Option<Arc<Entry>>> {
    match stored(class) {
        Some(entry) => Ok(Some(entry)),
        None if is_named_tuple(class)? => Ok(Some(remember(class, How::NamedTuple))),
        None => from_optree(class),
    }
}

fn is_named_tuple(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = class.py();
    if !class.is_subclass_of::<PyTuple>()? {
        return Ok(false);
    }
    let Some(fields) = class.getattr_opt(intern!(py, "_fields"))? else { return Ok(false) };
    let Ok(fields) = fields.cast_into::<PyTuple>() else { return Ok(false) };
    Ok(fields.iter().all(|f| f.is_exact_instance_of::<PyString>()) && class.hasattr(intern!(py, "_make"))?)
}

/// What the program registered with `optree`, in any namespace, if that module is loaded.
fn from_optree(class: &Bound<'_, PyType>) -> PyResult<Option<Arc<Entry>>> {
    let py = class.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?;
    let Some(optree) = modules.get_item(intern!(py, "optree"))? else { return Ok(None) };
    let Some(found) = optree_entry(&optree, class)? else { return Ok(None) };
    // Generic entries stand for many types; only an entry of the class itself was meant for it.
    if !found.getattr("type")?.is(class) {
        return Ok(None);
    }
    let flatten = found.getattr("flatten_func")?.unbind();
    let unflatten = found.getattr("unflatten_func")?.unbind();
    Ok(Some(remember(class, How::Optree { flatten, unflatten })))
}

fn optree_entry<'py>(optree: &Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(register) = optree.getattr_opt("register_pytree_node")? else { return Ok(None) };
    let found = register.getattr("get")?.call1((class,))?;
    if !found.is_none() {
        return Ok(Some(found));
    }
    // Namespaces cannot be listed by the public interface.
    let Some(registry) = optree.getattr_opt("registry")? else { return Ok(None) };
    let Some(all) = registry.getattr_opt("_NODETYPE_REGISTRY")? else { return Ok(None) };
    let Ok(all) = all.cast_into::<PyDict>() else { return Ok(None) };
    for (name, entry) in all.copy()?.iter() {
        if name.cast::<PyTuple>().is_ok_and(|n| n.len() == 2 && n.get_item(1).is_ok_and(|c| c.is(class))) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Adds a type.
///
/// # Errors
/// ValueError if the type is one already, or a leaf by nature.
pub fn add(class: &Bound<'_, PyType>, how: How, function: &str) -> PyResult<()> {
    let py = class.py();
    let builtin =
        class.is(py.get_type::<PyTuple>()) || class.is(py.get_type::<PyList>()) || class.is(py.get_type::<PyDict>());
    let automatic = |e: &Entry| matches!(e.how, How::NamedTuple | How::Optree { .. });
    if builtin || stored(class).is_some_and(|e| !automatic(&e)) {
        return Err(PyValueError::new_err(short!(
            "{function}(): {} is already a pytree node",
            raised::repr_of(class)?
        ))
        .into());
    }
    if std::ptr::eq(class.as_type_ptr(), crate::tensor::type_object()) {
        return Err(PyValueError::new_err(short!(
            "{function}(): {} is a leaf of every pytree",
            raised::repr_of(class)?
        ))
        .into());
    }
    store(class, how);
    Ok(())
}

/// Replaces or adds a type of the standard library, at import.
pub fn add_standard(class: &Bound<'_, PyAny>, how: How) -> PyResult<()> {
    store(class.cast::<PyType>()?, how);
    Ok(())
}

/// Takes a type out again.
///
/// # Errors
/// ValueError if it was not added by the program.
pub fn remove(class: &Bound<'_, PyType>) -> PyResult<()> {
    let added = |e: &Entry| matches!(e.how, How::Functions { .. } | How::Dataclass { .. });
    if !stored(class).is_some_and(|e| added(&e)) {
        return Err(
            PyValueError::new_err(short!("{} was not registered as a pytree node", raised::repr_of(class)?)).into()
        );
    }
    let old = REGISTRY.write().unwrap_or_else(PoisonError::into_inner).remove(&key(class));
    drop(old);
    Ok(())
}

/// The class that an argument must be.
pub fn class_argument<'a, 'py>(obj: &'a Bound<'py, PyAny>, function: &str) -> PyResult<&'a Bound<'py, PyType>> {
    Ok(obj.cast::<PyType>().map_err(|_| {
        let got = class::type_name(obj);
        PyTypeError::new_err(short!("{function}(): argument 'cls' expected a class, got {got}"))
    })?)
}
