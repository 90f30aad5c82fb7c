//! `library.custom_op`: what its users registered, as an operator of the core. Python takes arguments and results apart.

use super::call::{Call, Ran, python};
use super::inputs::Inputs;
use super::methods::Methods;
use crate::tensor;
use crate::types::errors::PyResult;
use pullback::base::Result;
use pullback::core::level::{self, GradMode};
use pullback::core::method_scope::{self, LevelSet};
use pullback::core::reach::Reach;
use pullback::core::{BatchInfo, Forward, LevelId, Outputs, Set, Tangents, Tensor};
use pullback::function::operator::{Operator, Registered, check_aliases};
use pullback::function::{Context, Function, Mapped, Rule, Setup, apply_all};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use smallvec::SmallVec;
use std::sync::Arc;

/// An operator, whose calls are told by its name.
#[pyclass(frozen, name = "_Operator", module = "pullback._core")]
pub struct Custom {
    methods: Arc<Methods>,
}

/// One call of an operator. Its first argument is the Python object that takes arguments and results apart.
struct Operation {
    call: Call,
    object: Py<PyAny>,
    registered: Registry,
    written: Vec<usize>,
}

/// Which rules are registered.
#[derive(FromPyObject)]
struct Registry {
    #[pyo3(item)]
    backward: bool,
    #[pyo3(item)]
    vmap: bool,
    #[pyo3(item)]
    fake: bool,
}

#[pymethods]
impl Custom {
    /// `rules`: the class whose methods run what is registered.
    #[new]
    fn new(rules: &Bound<'_, PyType>) -> PyResult<Custom> {
        Ok(Custom { methods: Arc::new(Methods::of(rules)?) })
    }

    /// The results of a call. `call` is the object that takes arguments and results apart.
    fn call<'py>(&self, call: &Bound<'py, PyAny>, tensors: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.py();
        let is_plain = |t: Bound<'_, PyAny>| tensor::cell(&t).is_none_or(|c| c.value().level() == LevelId::DENSE);
        if level::tracing() == LevelId::DENSE && tensors.iter().all(is_plain) {
            return Ok(call.call_method1(intern!(py, "evaluate"), (tensors,))?);
        }
        let mut args = vec![call.clone()];
        args.extend(tensors.iter());
        let (inputs, values) = Inputs::of_leaves(&args);
        let registered = call.call_method0(intern!(py, "registered"))?.extract::<Registry>()?;
        let written = call.call_method1(intern!(py, "written"), (tensors.len(),))?.extract()?;
        let own = Call::new(self.methods.clone(), inputs, &values);
        let operation = Operation { call: own, object: call.clone().unbind(), registered, written };
        let operator = Arc::new(Registered::new(operation));
        let function: Arc<dyn Function> = operator.clone();
        let own = &operator.operator().call;
        let results = match apply_all(&function, &values) {
            Ok(run) => own.finish(py, &run)?,
            Err(e) => {
                drop(own.take_shown());
                return Err(e.into());
            }
        };
        Ok(call.call_method1(intern!(py, "output"), (results,))?)
    }

    /// Runs a kernel: nothing in it is recorded, and it must not use what it captured and is followed. `check` raises
    /// where its output is not what was declared; `tensors` are those among its arguments.
    fn run<'py>(
        &self,
        kernel: &Bound<'py, PyAny>,
        check: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        tensors: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let levels = LevelSet::live().tapes_and_hidden();
        let output = {
            let _mode = GradMode::set(false);
            let _running = method_scope::enter(self.methods.origin, "the kernel", levels);
            kernel.call(args, Some(kwargs))?
        };
        check.call1((&output,))?;
        let (mut inputs, mut results) = (Places::new(), Places::new());
        places(tensors.as_any(), &mut inputs)?;
        places(&output, &mut results)?;
        check_aliases(&self.methods.name, &inputs, &results)?;
        Ok(output)
    }
}

type Places = SmallVec<[usize; 8]>;

/// Where a tensor lies, or those in lists and tuples, as `check_aliases` asks.
fn places(object: &Bound<'_, PyAny>, found: &mut Places) -> PyResult<()> {
    if let Some(t) = tensor::cell(object) {
        // Nobody may hold the value any more when the next one is shown: it would be moved.
        let element = t.export_memory()?.innermost().filter(|a| a.numel() > 0).map(|a| a.ptr() as usize);
        found.push(element.unwrap_or(object.as_ptr() as usize));
    } else if let Ok(list) = object.cast::<PyList>() {
        list.iter().try_for_each(|o| places(&o, found))?;
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().try_for_each(|o| places(&o, found))?;
    }
    Ok(())
}

impl Operator for Operation {
    fn written(&self) -> &[usize] {
        &self.written
    }

    fn has_shapes(&self) -> bool {
        self.registered.fake
    }

    fn infer(&self, args: &[Tensor]) -> Result<Forward> {
        python(|py| {
            let fake = self.call.methods.class.bind(py).getattr(intern!(py, "fake"))?;
            self.call.forward_by(py, &fake, args, false)
        })
    }

    fn has_batches(&self) -> bool {
        self.registered.vmap
    }

    fn loops(&self, members: usize) -> Result<()> {
        python(|py| {
            self.object.bind(py).call_method1(intern!(py, "loops"), (members,))?;
            Ok(())
        })
    }

    fn is_alike(&self, a: &Forward, b: &Forward) -> Result<bool> {
        python(|py| {
            let last = |run: &Forward| Ran::structure(Ran::of(&run.state)).last(py);
            match (last(a), last(b)) {
                (Some(a), Some(b)) => Ok(a.eq(b)?),
                (a, b) => Ok(a.is_none() && b.is_none()),
            }
        })
    }
}

impl Function for Operation {
    fn name(&self) -> &str {
        self.call.name()
    }

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        self.call.forward(args)
    }

    fn rerun(&self, setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        self.call.rerun(setup, args)
    }

    fn has(&self, rule: Rule) -> bool {
        rule == Rule::Backward && self.registered.backward
    }

    fn argument(&self, i: usize) -> String {
        self.call.argument(i)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        self.call.setup(inputs, run, needs)
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        self.call.backward(setup, cotangents, needs)
    }

    fn vmap(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
        self.call.vmap(info, in_dims, args)
    }

    fn reach(&self, walk: &mut Reach<'_>) {
        walk.host(&self.object);
        self.call.reach(walk);
    }

    fn reach_context(&self, context: &Context, walk: &mut Reach<'_>) {
        self.call.reach_context(context, walk);
    }
}
