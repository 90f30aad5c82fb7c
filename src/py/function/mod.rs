//! `autograd.Function`: Python staticmethods as a [`Function`] of the core.

mod call;
mod ctx;
mod inputs;
mod methods;
mod outputs;
mod reach;
mod saved;

use crate::core::level::GradMode;
use crate::core::watch::{self, Levels};
use crate::core::{LevelId, Tensor, level};
use crate::function::{self, Function};
use crate::py::{tensor, views};
use call::Call;
pub use ctx::Ctx;
use ctx::VmapInfo;
use inputs::Inputs;
use methods::{Bindings, Methods};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
pub use saved::attribute;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tensor::PyTensor;

/// The value of a tensor object.
#[inline]
fn value_of(o: &Bound<'_, PyAny>) -> Option<Tensor> {
    tensor::cell(o.py(), o.as_ptr()).map(|c| c.value())
}

fn optional(py: Python<'_>, t: Option<Tensor>) -> PyResult<Bound<'_, PyAny>> {
    match t {
        Some(t) => Ok(tensor::wrap(py, t)?.into_any()),
        None => Ok(py.None().into_bound(py)),
    }
}

/// A rule's result as a list: a tuple or list as it is, anything else alone.
fn as_list<'py>(out: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    if let Ok(t) = out.cast::<PyTuple>() {
        return t.iter().collect();
    }
    match out.cast::<PyList>() {
        Ok(l) => l.iter().collect(),
        Err(_) => vec![out.clone()],
    }
}

/// `Function.apply` of one class.
#[pyclass(frozen, name = "FunctionApply", module = "pullback.autograd.function")]
pub struct Apply {
    methods: Arc<Methods>,
}

#[pymethods]
impl Apply {
    #[new]
    fn new(class: &Bound<'_, PyType>) -> PyResult<Apply> {
        let methods = Methods::of(class)?;
        let own = class.getattr(intern!(class.py(), "__module__"))?.extract::<String>().unwrap_or_default();
        let verify = std::env::var_os("PULLBACK_VERIFY").is_some_and(|v| v == "first");
        methods.unverified.store(verify && own != "pullback.autograd.function", Relaxed);
        Ok(Apply { methods: Arc::new(methods) })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        if self.methods.unverified.load(Relaxed) && level::height() == 0 {
            self.methods.unverified.store(false, Relaxed);
            let verify = py.import("pullback.autograd._verify")?.getattr("at_first_use")?;
            verify.call1((self.methods.class.bind(py), args, kwargs))?;
        }
        if !self.methods.must_bind(args.len(), kwargs.is_some_and(|k| !k.is_empty())) {
            if level::tracing() == LevelId::DENSE && !inputs::any_followed(args.iter())? {
                return self.plain(py, args, None);
            }
            return self.followed(py, &args.iter().collect::<Vec<_>>(), None);
        }
        let Bindings { args, keywords } = self.methods.bind(args, kwargs)?;
        if level::tracing() == LevelId::DENSE && !inputs::any_followed(args.iter().cloned())? {
            return self.plain(py, &PyTuple::new(py, args)?, keywords);
        }
        self.followed(py, &args, keywords)
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
    /// Nobody follows: the forward runs on the caller's own objects.
    fn plain<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyTuple>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let levels = Levels::live();
        let quiet = level::height() == 0 && level::grad_enabled();
        let _mode = GradMode::set(false);
        let _running = watch::enter(self.methods.origin, "forward", levels.tapes_and_hidden());
        let forward = self.methods.forward.bind(py);
        let out = if let Some(names) = keywords {
            let ctx = self.methods.setup_context.is_none().then(|| ctx_of(py, args.len())).transpose()?;
            let args: Vec<_> = args.iter().collect();
            inputs::call_with(forward, ctx.as_slice(), &args, &names)?
        } else if self.methods.setup_context.is_some() {
            forward.call1(args.clone())?
        } else {
            let all = std::iter::once(ctx_of(py, args.len())?).chain(args.iter()).collect::<Vec<_>>();
            forward.call1(PyTuple::new(py, all)?)?
        };
        if quiet { Ok(out) } else { without_history(out) }
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
        let outs = function::apply(&f, &values)?;
        call.finish(py, &outs)
    }
}

fn ctx_of(py: Python<'_>, arguments: usize) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, Ctx::with_needs(vec![false; arguments]))?.into_any())
}

/// Results of a call that nothing records: an argument that is returned as it is loses its history.
fn without_history(out: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = out.py();
    let detached = |o: &Bound<'_, PyAny>| -> PyResult<Option<Py<PyAny>>> {
        match o.cast::<PyTensor>() {
            Ok(t) if t.get().value().level() == LevelId::AMBIENT => Ok(Some(views::detached(t)?.unbind())),
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

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Apply>()?;
    m.add_class::<Ctx>()?;
    m.add_class::<VmapInfo>()
}
