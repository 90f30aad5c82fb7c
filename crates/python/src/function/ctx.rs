//! The `ctx` of `autograd.Function`.

use super::{Objects, method};
use crate::door::descriptors;
use crate::process::object;
use crate::pytree::{self, Leaves, TreeSpec};
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class::type_name;
use crate::types::errors::{self, Fault, PyResult};
use pullback::core::origin::at_here;
use pullback::core::{BatchInfo, Edge, LevelId, Randomness, Set, Tensor};
use pyo3::exceptions::{PyAttributeError, PyDeprecationWarning, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{ffi, intern};
use smallvec::SmallVec;
use std::sync::Mutex;

/// What a Function's methods share. Any attribute may be set; tensors among them, also in lists, tuples and dicts, are
/// kept as `save_for_backward` keeps its arguments.
///
/// A ctx with such attributes becomes one of a derived class, which alone looks them up: for most there are none, and
/// reading an attribute in vain costs more than all else that a ctx does.
#[pyclass(frozen, subclass, dict, weakref, name = "FunctionCtx", module = "pullback.autograd.function")]
#[derive(Default)]
pub struct Ctx {
    state: Mutex<CtxState>,
}

type List = Option<Vec<Option<Py<PyAny>>>>;
/// For each argument, whether a gradient is asked for.
pub type Needs = SmallVec<[bool; 8]>;

#[derive(Default)]
struct CtxState {
    /// Given to save_for_backward and save_for_forward; `None` entries stay in place.
    backward: List,
    forward: List,
    needs: Needs,
    keep_missing: bool,
    /// Something was saved, and a rule may ask for it while it runs.
    taken: bool,
    /// Values for the rule that runs now.
    shown: Option<Shown>,
    rare: Option<Box<Rare>>,
}

/// What most functions do not use.
#[derive(Default)]
struct Rare {
    dirty: Vec<Py<PyAny>>,
    non_differentiable: Vec<Py<PyAny>>,
    /// Why no rule may read what was saved.
    spoilt: Option<String>,
    adopted: Vec<Adopted>,
    /// Values for a program that kept the ctx when a rule had ended.
    left: Option<Shown>,
}

impl CtxState {
    /// Values that may be read now.
    fn readable(&self) -> Option<&Shown> {
        self.shown.as_ref().or_else(|| self.rare.as_ref()?.left.as_ref())
    }
    fn adopted(&self) -> &[Adopted] {
        self.rare.as_ref().map_or(&[], |r| &r.adopted)
    }
    fn spoilt(&self) -> Option<&str> {
        self.rare.as_ref()?.spoilt.as_deref()
    }
}

/// What was saved; `None` is what is no tensor.
pub type Saved = SmallVec<[Option<Tensor>; 4]>;

/// Values that the rules may read: saved tensors, and the tensors among the attributes.
#[derive(Default)]
pub struct Shown {
    pub saved: Saved,
    pub adopted: Vec<Tensor>,
    /// The objects that were made for the running rule of all saved tensors, the first time and most often the last.
    given: Option<Py<PyTuple>>,
    further: Option<Box<Further>>,
}

/// What else was made for the running rule.
#[derive(Default)]
struct Further {
    given: Vec<Py<PyTuple>>,
    /// Objects with the numbers of their values.
    parts: Vec<(usize, Py<PyTensor>)>,
    /// Attributes that the running rule has deleted: for itself, not for those of other levels.
    hidden: Vec<String>,
}

impl Shown {
    pub fn new(saved: Saved, adopted: Vec<Tensor>) -> Shown {
        Shown { saved, adopted, ..Shown::default() }
    }
    /// All tensors in the order of their numbers.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.saved.iter().flatten().chain(&self.adopted)
    }
    /// Notes the objects of a tuple of all saved tensors.
    fn give(&mut self, tuple: Py<PyTuple>) {
        if let Some(more) = self.given.replace(tuple) {
            self.further.get_or_insert_default().given.push(more);
        }
    }
    fn tuples(&self) -> impl Iterator<Item = &Py<PyTuple>> {
        self.given.iter().chain(self.further.iter().flat_map(|f| &f.given))
    }
    fn parts(&self) -> impl Iterator<Item = &(usize, Py<PyTensor>)> {
        self.further.iter().flat_map(|f| &f.parts)
    }
    fn hides(&self, name: &str) -> bool {
        self.further.as_ref().is_some_and(|f| f.hidden.iter().any(|h| h == name))
    }
}

/// An attribute with tensors in it.
struct Adopted {
    name: String,
    tree: TreeSpec,
    /// Leaves that are no tensors.
    others: Vec<Option<Py<PyAny>>>,
    /// Number of the first tensor.
    first: usize,
}

/// What a ctx was given, with the objects.
#[derive(Default)]
pub struct Taken {
    pub backward: Option<Vec<Option<Py<PyAny>>>>,
    pub forward: Option<Vec<Option<Py<PyAny>>>>,
    pub adopted: Vec<Py<PyAny>>,
    /// The objects that were marked dirty.
    pub dirty: Vec<Py<PyAny>>,
    pub non_differentiable: Vec<Py<PyAny>>,
    pub materialize: bool,
}

impl Taken {
    /// Whether this object was saved.
    pub fn has(&self, object: &Bound<'_, PyAny>) -> bool {
        let lists = self.backward.iter().chain(&self.forward).flatten().flatten();
        lists.chain(&self.adopted).any(|o| o.is(object))
    }

    /// Those of the outputs that were marked as non-differentiable.
    pub fn constants(&self, outputs: &[Bound<'_, PyAny>]) -> Set {
        if self.non_differentiable.is_empty() {
            return Set::NONE;
        }
        let is_marked = |o: &Bound<'_, PyAny>| self.non_differentiable.iter().any(|m| m.is(o));
        outputs.iter().enumerate().filter(|(_, o)| is_marked(o)).map(|(i, _)| i).collect()
    }
}

static CLASS: object::Class = object::Class::unknown();

impl object::Pooled for Ctx {
    fn class() -> &'static object::Class {
        &CLASS
    }
    /// What it was given may be any object.
    fn is_plain(&self) -> bool {
        false
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Ctx>()?;
    object::register(object::make_with_dict(m.py(), Ctx::default())?);
    descriptors::install(&m.py().get_type::<Ctx>(), METHODS, &[])
}

impl Ctx {
    fn state(&self) -> std::sync::MutexGuard<'_, CtxState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A new ctx.
    pub fn make(py: Python<'_>, needs: Needs) -> PyResult<Bound<'_, Ctx>> {
        object::make(py, Ctx { state: Mutex::new(CtxState { needs, ..CtxState::default() }) })
    }
    /// Says why no rule may read what was saved.
    pub fn spoil(&self, why: String) {
        self.state().rare.get_or_insert_default().spoilt = Some(why);
    }
    pub fn materialize(&self) -> bool {
        !self.state().keep_missing
    }

    /// Takes what was saved, and the tensors among the attributes out of these.
    pub fn take(slf: &Bound<'_, Ctx>) -> PyResult<Taken> {
        let py = slf.py();
        let mut adopted: Vec<Adopted> = Vec::new();
        let mut tensors: Vec<Py<PyAny>> = Vec::new();
        let dict = match object::has_dict(slf) {
            true => slf.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?,
            false => return Ok(slf.get().taken(tensors, adopted)),
        };
        for (name, value) in dict.iter() {
            let container = value.is_exact_instance_of::<PyList>()
                || value.is_exact_instance_of::<PyTuple>()
                || value.is_exact_instance_of::<PyDict>();
            if !container && !tensor::is_tensor(&value) {
                continue;
            }
            let (leaves, tree) = pytree::flatten(&value)?;
            let first = tensors.len();
            let mut others = Vec::with_capacity(leaves.len());
            for leaf in leaves {
                others.push(match tensor::is_tensor(&leaf) {
                    true => {
                        tensors.push(leaf.unbind());
                        None
                    }
                    false => Some(leaf.unbind()),
                });
            }
            if tensors.len() > first {
                adopted.push(Adopted { name: name.extract()?, tree, others, first });
            }
        }
        for a in &adopted {
            dict.del_item(&a.name)?;
        }
        if !adopted.is_empty() {
            slf.setattr(intern!(py, "__class__"), adopting(py)?)?;
        }
        Ok(slf.get().taken(tensors, adopted))
    }

    fn taken(&self, tensors: Vec<Py<PyAny>>, adopted: Vec<Adopted>) -> Taken {
        let mut s = self.state();
        if s.rare.is_some() || !adopted.is_empty() {
            s.rare.get_or_insert_default().adopted = adopted;
        }
        s.taken = s.backward.is_some() || s.forward.is_some();
        let (dirty, non_differentiable) = s.rare.as_mut().map_or_else(Default::default, |r| {
            (std::mem::take(&mut r.dirty), std::mem::take(&mut r.non_differentiable))
        });
        Taken {
            backward: s.backward.take(),
            forward: s.forward.take(),
            adopted: tensors,
            dirty,
            non_differentiable,
            materialize: !s.keep_missing,
        }
    }

    /// Shows values to a rule that begins, and is told which gradients are asked for; puts what was shown before in their
    /// place. When the rule has ended, the same call takes them away.
    #[inline]
    pub fn exchange(&self, needs: Option<Needs>, values: &mut Option<Shown>) {
        let mut s = self.state();
        if let Some(needs) = needs {
            s.needs = needs;
        }
        std::mem::swap(&mut s.shown, values);
    }

    /// The rule has ended in a sweep that lets what is saved stay, and the program still has the ctx.
    #[cold]
    pub fn leave(&self, values: Shown) {
        // Nodes may lead to this ctx again, which the collector would not see.
        if values.tensors().any(|t| t.level() > LevelId::ABSTRACT) {
            return;
        }
        let left = Shown::new(values.saved, values.adopted);
        let old = self.state().rare.get_or_insert_default().left.replace(left);
        drop(old);
    }

    /// Gives the values that are shown, and the objects that were made of them, a place on a tape where there is one.
    pub fn link(
        &self,
        py: Python<'_>,
        edges: &[Option<Edge>],
        hang: impl Fn(&Tensor, &Edge) -> Tensor,
    ) -> PyResult<()> {
        let mut objects: Vec<(Edge, Py<PyAny>)> = Vec::new();
        {
            let mut s = self.state();
            let Some(shown) = &mut s.shown else { return Ok(()) };
            let numbers: Vec<Option<usize>> = {
                let mut n = 0..;
                shown.saved.iter().map(|v| v.as_ref().and_then(|_| n.next())).collect()
            };
            let edge = |k: usize| edges.get(k).and_then(Option::as_ref);
            for tuple in shown.tuples() {
                for (o, k) in tuple.bind_borrowed(py).iter_borrowed().zip(&numbers) {
                    objects.extend(k.and_then(edge).map(|e| (e.clone(), o.to_owned().unbind())));
                }
            }
            for (k, o) in shown.parts() {
                objects.extend(edge(*k).map(|e| (e.clone(), o.clone_ref(py).into_any())));
            }
            for (k, value) in shown.saved.iter_mut().flatten().chain(&mut shown.adopted).enumerate() {
                if let Some(e) = edge(k) {
                    *value = hang(value, e);
                }
            }
        }
        for (edge, object) in objects {
            if let Some(cell) = tensor::cell(object.bind(py)) {
                let value = cell.value();
                // The caller's own object is there already.
                if value.node_at(edge.node.level).is_none() {
                    cell.adopt(hang(&value, &edge))?;
                }
            }
        }
        Ok(())
    }

    fn find_adopted<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (tree, first, leaves) = {
            let s = self.state();
            let Some(a) = s.adopted().iter().find(|a| a.name == name) else { return Ok(None) };
            let Some(shown) = s.readable() else { return Err(freed(&format!("ctx.{name}")).into()) };
            if shown.hides(name) {
                return Ok(None);
            }
            if let Some(why) = s.spoilt() {
                return Err(PyRuntimeError::new_err(short!("{why}{}", at_here())).into());
            }
            let mut tensors = shown.adopted.iter().skip(a.first).cloned();
            let mut out: Vec<Result<Py<PyAny>, Tensor>> = Vec::new();
            for o in &a.others {
                match o {
                    Some(o) => out.push(Ok(o.clone_ref(py))),
                    None => out.extend(tensors.next().map(Err)),
                }
            }
            (a.tree.clone(), shown.saved.iter().flatten().count() + a.first, out)
        };
        let mut made: Vec<Py<PyTensor>> = Vec::new();
        let leaves: Leaves<'py> = leaves
            .into_iter()
            .map(|o| match o {
                Ok(o) => Ok(o.into_bound(py)),
                Err(t) => {
                    let object = tensor::wrap(py, t)?;
                    made.push(object.clone().unbind());
                    Ok(object.into_any())
                }
            })
            .collect::<PyResult<_>>()?;
        if let Some(shown) = &mut self.state().shown {
            shown.further.get_or_insert_default().parts.extend((first..).zip(made));
        }
        tree.unflatten(py, leaves).map(Some)
    }
}

/// The class of those that have adopted attributes.
fn adopting(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = || Ok(py.import("pullback.autograd.function")?.getattr("_AdoptingCtx")?.unbind());
    CLASS.get_or_try_init(py, class).map(|c| c.bind(py))
}

fn freed(what: &str) -> PyErr {
    PyRuntimeError::new_err(short!(
        "{what}: Trying to backward through the graph a second time (or directly access saved tensors after they have \
         already been freed). Saved values live until backward() or autograd.grad() has used them. Specify \
         retain_graph=True in the first call{}",
        at_here()
    ))
}

fn check_tensors<'a, 'py: 'a>(
    name: &str,
    args: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
    none: bool,
) -> PyResult<()> {
    for (i, a) in args.enumerate() {
        if tensor::is_tensor(&a) || (none && a.is_none()) {
            continue;
        }
        let (verb, rest) = match none {
            true => ("save variables", "; set other values as attributes of ctx"),
            false => ("accept variables", ""),
        };
        return Err(PyTypeError::new_err(short!(
            "{name} can only {verb}, but argument {i} is of type {}{rest}{}",
            type_name(&a),
            at_here()
        ))
        .into());
    }
    Ok(())
}

/// `save_for_backward(*tensors)` and `save_for_forward(*tensors)`, which get their arguments without a tuple.
unsafe extern "C" fn save<const FORWARD: bool>(
    ctx: descriptors::Object,
    args: *const descriptors::Object,
    n: ffi::Py_ssize_t,
    names: descriptors::Object,
) -> descriptors::Object {
    let signature = if FORWARD { &SAVE_FOR_FORWARD } else { &SAVE_FOR_BACKWARD };
    let called = |py: Python<'_>| {
        // SAFETY: the interpreter passes n live objects, and an object of the class, which the method's descriptor checks.
        let (ctx, given) = unsafe {
            let given = (0..n).map(|i| Borrowed::<PyAny>::from_ptr(py, *args.offset(i)));
            (Borrowed::from_ptr(py, ctx).cast_unchecked::<Ctx>(), given)
        };
        if !names.is_null() {
            let rest = "takes no keyword arguments; give the tensors by position";
            return Err(Fault::from(PyTypeError::new_err(short!("{}(): {rest}{}", signature.name, at_here()))));
        }
        check_tensors(signature.name, given.clone(), true)?;
        let list = given.map(|t| if t.is_none() { None } else { Some(t.to_owned().unbind()) }).collect();
        let mut state = ctx.get().state();
        let place = if FORWARD { &mut state.forward } else { &mut state.backward };
        let old = place.replace(list);
        drop(state);
        drop(old);
        Ok(py.None().into_ptr())
    };
    // SAFETY: the interpreter calls.
    unsafe { crate::door::enter::enter(called) }
}

const fn saving(name: &'static str) -> descriptors::Signature {
    const PARAMS: &[descriptors::Param] = &[descriptors::Param { name: "tensors", default: None, aliases: &[] }];
    descriptors::Signature { name, params: PARAMS, positional: 1, rest: true }
}
static SAVE_FOR_BACKWARD: descriptors::Signature = saving("save_for_backward");
static SAVE_FOR_FORWARD: descriptors::Signature = saving("save_for_forward");
static METHODS: &[descriptors::Method] = &[
    descriptors::Method {
        signature: &SAVE_FOR_BACKWARD,
        doc: "Keeps tensors (or None) for `backward`. A second call replaces the first.",
        call: save::<false>,
    },
    descriptors::Method {
        signature: &SAVE_FOR_FORWARD,
        doc: "Keeps tensors (or None) for `jvp`. A second call replaces the first.",
        call: save::<true>,
    },
];

#[pymethods]
impl Ctx {
    /// What was saved, in `backward` and `jvp`.
    #[getter]
    pub fn saved_tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (values, objects) = {
            let s = self.state();
            let objects = s.backward.as_ref().or(s.forward.as_ref());
            let objects = objects.map(|l| l.iter().map(|o| o.as_ref().map(|o| o.clone_ref(py))).collect::<Vec<_>>());
            if let (Some(why), Some(_)) = (s.spoilt(), &s.shown) {
                return Err(PyRuntimeError::new_err(short!("{why}{}", at_here())).into());
            }
            match s.readable() {
                Some(shown) => (shown.saved.clone(), objects),
                None if objects.is_some() || !s.taken => (Saved::new(), Some(objects.unwrap_or_default())),
                None => return Err(freed("saved_tensors").into()),
            }
        };
        if let Some(objects) = objects {
            return Ok(PyTuple::new(py, objects)?);
        }
        let mut wrapped = Objects::new();
        for v in values {
            let own = v.as_ref().and_then(|v| method::argument(py, self, v));
            wrapped.push(own.map_or_else(|| super::optional(py, v), Ok)?);
        }
        let tuple = PyTuple::new(py, wrapped)?;
        if let Some(shown) = &mut self.state().shown {
            shown.give(tuple.clone().unbind());
        }
        Ok(tuple)
    }
    /// The old name of `saved_tensors`; it warns.
    #[getter]
    fn saved_variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        errors::warn::<PyDeprecationWarning>(py, "'saved_variables' is deprecated; use 'saved_tensors'")?;
        self.saved_tensors(py)
    }
    /// For each argument of the function, whether a gradient is asked for.
    #[getter]
    fn needs_input_grad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Ok(PyTuple::new(py, self.state().needs.clone())?)
    }
    /// All tensors that the running rule can read.
    #[getter]
    fn _history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all: Vec<Tensor> = self.state().shown.iter().flat_map(Shown::tensors).cloned().collect();
        let wrapped: Vec<Bound<'py, PyAny>> =
            all.into_iter().map(|v| super::optional(py, Some(v))).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, wrapped)?)
    }
    /// Declares inputs that the forward changed in place; it must return them.
    #[pyo3(signature = (*args))]
    fn mark_dirty(&self, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("mark_dirty", args.iter_borrowed(), false)?;
        let dirty = args.iter().map(Bound::unbind).collect();
        let old = std::mem::replace(&mut self.state().rare.get_or_insert_default().dirty, dirty);
        drop(old);
        Ok(())
    }
    /// Declares outputs that carry no derivative.
    #[pyo3(signature = (*args))]
    fn mark_non_differentiable(&self, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("mark_non_differentiable", args.iter_borrowed(), false)?;
        let marked = args.iter().map(Bound::unbind).collect();
        let old = std::mem::replace(&mut self.state().rare.get_or_insert_default().non_differentiable, marked);
        drop(old);
        Ok(())
    }
    /// Whether missing gradients are given to `backward` and `jvp` as zeros (the default) or as None.
    fn set_materialize_grads(&self, value: bool) {
        self.state().keep_missing = !value;
    }
    /// An attribute that holds saved tensors.
    fn _adopted<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find_adopted(py, name)? {
            Some(found) => Ok(found),
            None => Err(PyAttributeError::new_err(short!("'FunctionCtx' object has no attribute '{name}'")).into()),
        }
    }
    /// Takes away an attribute that holds saved tensors; False if there is none of this name. A rule that runs loses it for
    /// itself: other levels, whose rules have the same ctx, keep it.
    fn _forget(&self, name: &str) -> bool {
        let mut s = self.state();
        let s = &mut *s;
        let mut adopted = s.rare.iter_mut().flat_map(|r| &mut r.adopted);
        let Some(found) = adopted.find(|a| a.name == name) else { return false };
        match &mut s.shown {
            Some(shown) if shown.hides(name) => return false,
            Some(shown) => shown.further.get_or_insert_default().hidden.push(name.to_owned()),
            // The tensors behind it keep their numbers.
            None => found.name.clear(),
        }
        true
    }
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(s) = self.state.try_lock() else { return Ok(()) };
        let lists = s.backward.iter().chain(&s.forward).flatten().flatten();
        let rare = s.rare.iter().flat_map(|r| {
            r.dirty.iter().chain(&r.non_differentiable).chain(r.adopted.iter().flat_map(|a| a.others.iter().flatten()))
        });
        for o in lists.chain(rare) {
            visit.call(o)?;
        }
        Ok(())
    }
    fn __clear__(&self) {
        let taken = self.state.try_lock().map(|mut s| std::mem::take(&mut *s));
        drop(taken);
    }
}

/// What a vmap staticmethod is told of the batch.
#[pyclass(frozen, name = "VmapInfo", module = "pullback.autograd.function")]
pub struct VmapInfo {
    #[pyo3(get)]
    batch_size: usize,
    #[pyo3(get)]
    randomness: &'static str,
}

impl VmapInfo {
    pub fn new(info: BatchInfo) -> VmapInfo {
        let randomness = match info.randomness {
            Randomness::Error => "error",
            Randomness::Different => "different",
            Randomness::Same => "same",
        };
        VmapInfo { batch_size: info.size, randomness }
    }
}
