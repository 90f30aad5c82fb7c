//! `autograd.Function`: Python staticmethods as a [`Function`] of the core.

mod call;
mod captured;
mod ctx;
mod inputs;
mod method;
mod methods;
mod operator;
mod outputs;
mod reach;
mod rules;
mod saved;
mod written;

use crate::door::callable as door;
use crate::door::vectorcall;
use crate::door::vectorcall::{Call as Given, Callable};
use crate::tensor;
use crate::tensor::gc::Visitor;
use crate::tensor::gradient::Accumulator;
use crate::tensor::upward;
use crate::types::errors::PyResult;
use crate::types::submodule;
use call::Call;
pub use ctx::Ctx;
use ctx::{Needs, VmapInfo};
use inputs::Inputs;
pub use method::{check_reach, computed, is_derived, open_tape};
use methods::{Bindings, Methods};
use pullback::core::level::GradMode;
use pullback::core::method_scope::{self, LevelSet};
use pullback::core::{LevelId, Tensor, level};
use pullback::function::{self, Function};
use pullback::skin::cell::MadeBy;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use pyo3::{ffi, intern};
pub use saved::attribute;
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tensor::PyTensor;

/// The value of a tensor object.
#[inline]
fn value_of(o: &Bound<'_, PyAny>) -> Option<Tensor> {
    tensor::cell(o).map(|c| c.value())
}

fn optional(py: Python<'_>, t: Option<Tensor>) -> PyResult<Bound<'_, PyAny>> {
    match t {
        Some(t) => Ok(tensor::wrap(py, t)?.into_any()),
        None => Ok(py.None().into_bound(py)),
    }
}

/// A rule's result as a list: a tuple or list as it is, anything else alone.
fn as_list<'py>(out: &Bound<'py, PyAny>) -> Objects<'py> {
    if let Ok(t) = out.cast::<PyTuple>() {
        return t.iter().collect();
    }
    match out.cast::<PyList>() {
        Ok(l) => l.iter().collect(),
        Err(_) => smallvec![out.clone()],
    }
}

/// `Function.apply` of one class.
#[pyclass(frozen, name = "FunctionApply", module = "pullback.autograd.function")]
pub struct Apply {
    /// Where the interpreter looks for the entry point.
    vectorcall: ffi::vectorcallfunc,
    methods: Arc<Methods>,
}

/// Objects, most often few.
type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

impl Callable for Apply {
    fn callable(&self) -> door::Callable {
        door::Callable { kind: door::Access::Apply, name: "Function" }
    }
    fn called<'py>(&self, given: &Given<'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        if self.methods.unverified.load(Relaxed) {
            self.verify(given)?;
        }
        let open = level::tracing() == LevelId::DENSE;
        if !self.methods.must_bind(given.positional(), given.keywords() != 0) {
            if open && !inputs::any_followed(given.iter())? {
                return self.plain(py, given.positional(), |f, ctx| given.forward(f, ctx));
            }
            let args: Objects<'py> = given.iter().map(|a| a.to_owned()).collect();
            return self.followed(py, &args, None);
        }
        let (args, kwargs) = given.arguments()?;
        let Bindings { args, keywords } = self.methods.bind(&args, Some(&kwargs))?;
        if open && !inputs::any_followed(args.iter().map(|a| a.as_borrowed()))? {
            return self
                .plain(py, args.len(), |f, ctx| vectorcall::invoke_named(f, ctx.as_slice(), &args, keywords.as_ref()));
        }
        self.followed(py, &args, keywords)
    }
}

#[pymethods]
impl Apply {
    #[new]
    fn new(class: &Bound<'_, PyType>) -> PyResult<Apply> {
        let methods = Methods::of(class)?;
        let own = class.getattr(intern!(class.py(), "__module__"))?.extract::<String>().unwrap_or_default();
        let wanted =
            own != "pullback.autograd.function" && std::env::var_os("PULLBACK_VERIFY").is_some_and(|v| v == "first");
        methods.unverified.store(wanted, Relaxed);
        Ok(Apply { vectorcall: vectorcall::entry::<Apply>, methods: Arc::new(methods) })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: `register` has given the class its entry point.
        unsafe { vectorcall::call_by_entry(slf, args, kwargs) }
    }

    /// For each rule: "written", "derived from …", "generated", "missing".
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let m = &self.methods;
        let out = PyDict::new(py);
        let (backward, jvp) = (m.backward.is_some(), m.jvp.is_some());
        let setup = if m.setup_context.is_some() { "written" } else { "in forward" };
        let reverse = if backward {
            "written"
        } else if jvp {
            "derived from jvp"
        } else {
            "missing"
        };
        let forward = match (jvp, backward && !m.once) {
            (true, _) => "written",
            (false, true) => "derived from backward",
            (false, false) => "missing",
        };
        out.set_item("forward", "written")?;
        out.set_item("setup_context", setup)?;
        out.set_item("backward", reverse)?;
        out.set_item("jvp", forward)?;
        out.set_item("vmap", if m.vmap.is_some() { "written" } else { "generated" })?;
        Ok(out)
    }

    fn __repr__(&self) -> String {
        format!("<apply of {}>", self.methods.name)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Calls that are still on a tape own the methods too: then these are no garbage.
        if Arc::strong_count(&self.methods) > 1 {
            return Ok(());
        }
        let m = &self.methods;
        visit.call(&m.class)?;
        visit.call(&m.forward)?;
        for f in [&m.setup_context, &m.backward, &m.jvp, &m.vmap].into_iter().flatten() {
            visit.call(f)?;
        }
        Ok(())
    }
}

impl Apply {
    /// Checks the rules on the arguments of the first call.
    #[cold]
    fn verify(&self, given: &Given<'_>) -> PyResult<()> {
        let py = given.py();
        self.methods.unverified.store(false, Relaxed);
        let verify = py.import("pullback.autograd._verify")?.getattr("at_first_use")?;
        let (args, kwargs) = given.arguments()?;
        let done = verify.call1((self.methods.class.bind(py), args, kwargs))?.is_truthy()?;
        self.methods.unverified.store(!done, Relaxed);
        Ok(())
    }

    /// Nobody follows: the forward runs on the caller's own objects. `call` gives them to it, the ctx before them.
    fn plain<'py>(
        &self,
        py: Python<'py>,
        arguments: usize,
        call: impl FnOnce(&Bound<'py, PyAny>, Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let levels = LevelSet::live();
        let recording = level::grad_enabled();
        let quiet = level::records(LevelId::AMBIENT);
        let _mode = GradMode::set(false);
        let _running = method_scope::enter(self.methods.origin, "forward", levels.tapes_and_hidden());
        let ctx = match self.methods.setup_context {
            Some(_) => None,
            None => Some(Ctx::make(py, Needs::from_elem(false, arguments))?.into_any()),
        };
        let out = call(self.methods.forward.bind(py), ctx)?;
        if !recording {
            return without_history(out);
        }
        if let Some(cell) = tensor::cell(&out).and_then(PyTensor::shared_cell) {
            self.mark_view(&cell, 0, false);
        } else if let Ok(items) = out.cast_exact::<PyTuple>() {
            for (i, item) in items.iter_borrowed().enumerate() {
                if let Some(cell) = tensor::cell(&item).and_then(PyTensor::shared_cell) {
                    self.mark_view(&cell, i, items.len() > 1);
                }
            }
        }
        if quiet { Ok(out) } else { without_history(out) }
    }

    /// A view that the forward made says so: no derivative of a write to it would be that of the function.
    #[cold]
    fn mark_view(&self, cell: &pullback::skin::Cell, output: usize, several: bool) {
        if cell.is_unrecorded_view() {
            cell.set_made_by(MadeBy { function: self.methods.name.to_string(), output, several });
        }
    }

    /// Levels follow some tensor.
    fn followed<'py>(
        &self,
        py: Python<'py>,
        args: &[Bound<'py, PyAny>],
        keywords: Option<Bound<'py, PyTuple>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (inputs, values) = Inputs::collect(args, keywords)?;
        let call = Arc::new(Call::new(self.methods.clone(), inputs, &values));
        let f: Arc<dyn Function> = call.clone();
        match function::apply_all(&f, &values) {
            Ok(run) => call.finish(py, &run),
            Err(e) => {
                drop(call.take_shown());
                Err(e.into())
            }
        }
    }
}

/// Results of a call that nothing records: an argument that is returned as it is loses its history.
fn without_history(out: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = out.py();
    let detached = |o: &Bound<'_, PyAny>| -> PyResult<Option<Py<PyAny>>> {
        match o.cast::<PyTensor>() {
            Ok(t) if t.get().value().level() == LevelId::AMBIENT => Ok(Some(tensor::views::detached(t)?.unbind())),
            _ => Ok(None),
        }
    };
    if let Some(new) = detached(&out)? {
        return Ok(new.into_bound(py));
    }
    let Ok(items) = out.cast_exact::<PyTuple>() else { return Ok(out) };
    let mut changed = false;
    let mut all: Vec<Bound<'_, PyAny>> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let new = detached(&item)?;
        changed |= new.is_some();
        all.push(new.map_or(item, |n| n.into_bound(py)));
    }
    if changed { Ok(PyTuple::new(py, all)?.into_any()) } else { Ok(out) }
}

/// The program turns grad mode on, or differentiates: perhaps in a method.
#[inline]
pub fn look(py: Python<'_>) -> PyResult<()> {
    method::look(py)?;
    captured::link(py)
}

/// Adds the classes, and tells the interpreter that `apply` is called by its entry point.
/// Shows the collector a ctx.
fn show(held: &dyn Any, visitor: &mut Visitor<'_>) -> bool {
    let ctx = held.downcast_ref::<Py<Ctx>>();
    if let Some(ctx) = ctx {
        visitor.object(ctx);
    }
    ctx.is_some()
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let asked = |py: Python<'_>, changes: bool| if changes { look(py) } else { method::look(py) };
    let _ = (upward::SHOWS[1].set(show), upward::LOOK.set(asked));
    let _ = upward::LEAF.set(|t, value| method::leaf(t.py(), value, || Ok(Accumulator::new(t)?)));
    let py = m.py();
    method_scope::set_arguments(captured::what, captured::leads_out);
    m.add_class::<Apply>()?;
    let sample =
        Bound::new(py, Apply { vectorcall: vectorcall::entry::<Apply>, methods: Arc::new(Methods::none(py)) })?;
    let (contents, offset) = (std::ptr::from_ref(sample.get()) as usize, offset_of!(Apply, vectorcall));
    // SAFETY: the class is new, and each of its objects has an entry point there.
    unsafe { vectorcall::install(&py.get_type::<Apply>(), &sample, contents, offset, 0) };
    ctx::register(m)?;
    let autograd = submodule(m, "autograd")?;
    autograd.add_class::<rules::Ruled>()?;
    autograd.add_class::<operator::Custom>()?;
    autograd.add_function(wrap_pyfunction!(rules::_is_followed, &autograd)?)?;
    Ok(m.add_class::<VmapInfo>()?)
}
