//! `custom_vjp` and `custom_jvp`: what their users write, as rules of the core. Python takes arguments and results apart.

use super::call::{Call, Changes, python};
use super::captured::Active;
use super::ctx::Ctx;
use super::inputs::{Inputs, Leaf, tangent};
use super::method::{self, Method};
use super::methods::Methods;
use super::outputs::Parsed;
use super::saved::Context;
use super::{Objects, optional, reach, value_of};
use crate::tensor;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::Result;
use pullback::core::method_scope::{self, LevelSet};
use pullback::core::origin::{Origin, at_here};
use pullback::core::reach::Reach;
use pullback::core::{Forward, Set, Tangents, Tensor};
use pullback::function::rules::{At, Part, Primal, ResidualPlace, Rules, Turn, apply_rules, state_of};
use pullback::function::{self, Followers, Rule};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;

/// A function with rules, whose calls are told by its name.
#[pyclass(frozen, name = "_Ruled", module = "pullback._core")]
pub struct Ruled {
    methods: Arc<Methods>,
}

/// What Python says of a call. The tensors of its arguments are the leaves behind the first one, which is the object that
/// takes arguments and results apart.
struct Given {
    call: Call,
    backward: bool,
    jvp: bool,
    symbolic: bool,
    /// Tensors that must not be differentiated.
    fixed: Vec<usize>,
}

/// What a run leaves for the rules.
struct RulesState {
    /// How results and residuals were put together.
    ran: Py<PyAny>,
    changes: Option<Box<Changes>>,
}

#[pymethods]
impl Ruled {
    #[new]
    fn new(py: Python<'_>, name: String) -> Ruled {
        Ruled { methods: Arc::new(Methods::named(py, name)) }
    }

    /// The tensors of the results, and how to put them together; None if nobody differentiates and nothing is traced.
    /// `rules`: whether there is a rule for reverse mode, one for forward mode, and whether zeros stay None.
    fn apply<'py>(
        &self,
        call: &Bound<'py, PyAny>,
        tensors: Vec<Bound<'py, PyAny>>,
        rules: (bool, bool, bool),
        fixed: Vec<usize>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
        let py = call.py();
        let mut args = vec![call.clone()];
        args.extend(tensors);
        let (inputs, values) = Inputs::of_leaves(&args);
        let followers = Followers::of(&values);
        let call = Call::new(self.methods.clone(), inputs, &values);
        let given = Given { call, backward: rules.0, jvp: rules.1, symbolic: rules.2, fixed };
        let (f, run) = apply_rules(given, &values, followers)?;
        let Some(state) = state_of(&run).and_then(|s| s.downcast_ref::<RulesState>()) else {
            return Err(f.rules.call.error("its forward has not run").into());
        };
        if let Some(changes) = &state.changes
            && !changes.written.is_empty()
        {
            f.rules.call.write_back(py, &run, &changes.written)?;
        }
        let results = PyList::empty(py);
        for y in &run.outputs[..run.results() - run.unseen] {
            results.append(tensor::wrap(py, y.clone())?)?;
        }
        Ok((results, state.ran.bind(py).clone()))
    }
}

/// Whether a level differentiates one of these tensors, or operators are traced.
#[pyfunction]
#[pyo3(signature = (*tensors))]
pub fn _is_followed(tensors: &Bound<'_, PyTuple>) -> bool {
    let values: SmallVec<[Tensor; 4]> = tensors.iter_borrowed().filter_map(|t| value_of(&t)).collect();
    !Followers::of(&values).is_nobody()
}

impl Given {
    /// The object that takes arguments and results apart.
    fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self.call.inputs.leaves.first() {
            Some(Leaf::Other(o)) => o.bind(py).clone(),
            _ => py.None().into_bound(py),
        }
    }

    /// The objects of saved tensors: those that the running method may differentiate itself, where it is this call's.
    fn saved<'py>(&self, py: Python<'py>, at: &At<'_>) -> PyResult<Objects<'py>> {
        if let Some(tuple) = method::saved_objects(py, at.saved()) {
            return Ok(tuple?.iter().collect());
        }
        let mut out = Objects::new();
        for v in at.saved() {
            out.push(tensor::wrap(py, v.clone())?.into_any());
        }
        Ok(out)
    }

    fn ran<'py>(&self, py: Python<'py>, at: &At<'_>) -> PyResult<Bound<'py, PyAny>> {
        let state = at.state().and_then(|s| s.downcast_ref::<RulesState>());
        Ok(state.map(|s| s.ran.bind(py).clone()).ok_or_else(|| self.call.error("its forward has not run"))?)
    }

    /// The arguments as far as they were kept, None for the others.
    fn inputs<'py>(py: Python<'py>, at: &At<'_>, saved: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyList>> {
        let none = py.None().into_bound(py);
        Ok(PyList::new(py, at.inputs().iter().map(|k| k.map_or(&none, |k| &saved[k])))?)
    }

    fn list<'py>(py: Python<'py>, values: &[Option<Tensor>]) -> PyResult<Bound<'py, PyList>> {
        let objects = values.iter().map(|v| optional(py, v.clone())).collect::<PyResult<Objects<'py>>>()?;
        Ok(PyList::new(py, objects)?)
    }

    fn run_parts(&self, py: Python<'_>, part: Part, args: &[Tensor], turn: Turn) -> PyResult<Primal> {
        let objects = self.call.inputs.objects(py, args, turn == Turn::First)?;
        let before = Call::writes(&objects);
        let tensors = PyList::new(py, &objects[1..])?;
        let found = self.object(py).call_method1(intern!(py, "evaluate"), (part == Part::Fwd, tensors))?;
        let (results, further, ran): (Vec<Bound<'_, PyAny>>, Vec<Bound<'_, PyAny>>, Bound<'_, PyAny>) =
            found.extract()?;
        let mut parsed =
            Parsed { structure: None, tensors: Default::default(), objects: results.into_iter().collect() };
        let count = parsed.objects.len();
        let mut residuals = SmallVec::new();
        for r in further {
            let place = match objects[1..].iter().position(|o| o.is(&r)) {
                Some(i) => ResidualPlace::Input(i),
                None => ResidualPlace::Output(parsed.place(&r).unwrap_or_else(|| {
                    parsed.objects.push(r);
                    parsed.objects.len() - 1
                })),
            };
            residuals.push(place);
        }
        parsed.tensors = parsed.objects.iter().filter_map(value_of).collect();
        let unseen = parsed.tensors.len() - count;
        if turn != Turn::Again {
            Call::lower(&mut parsed.tensors)?;
        }
        let noted = self.call.note(&objects, args, &mut parsed, &[], &before)?;
        let hidden = noted.hidden();
        let written = noted.changes.iter().flat_map(|c| &c.written).map(|w| (w.leaf - 1, w.output)).collect();
        let state: function::Context = Arc::new(RulesState { ran: ran.unbind(), changes: noted.changes });
        let forward = Forward { unseen, hidden, state: Some(state), ..Forward::of(parsed.tensors) };
        Ok(Primal { forward, residuals, written })
    }
}

impl Rules for Given {
    fn name(&self) -> &str {
        &self.call.methods.name
    }

    fn origin(&self) -> Origin {
        self.call.methods.origin
    }

    fn title(&self, part: Part) -> &'static str {
        match part {
            Part::Function => "the function itself",
            Part::Fwd => "the fwd of defvjp()",
            Part::Bwd => "the bwd of defvjp()",
            Part::Jvp => "the rule of defjvp()",
        }
    }

    fn remedy(&self, missing: Rule) -> &'static str {
        match missing {
            Rule::Jvp => "write a rule for forward mode with defjvp()",
            Rule::Backward => "write a rule for reverse mode with defvjp()",
        }
    }

    fn has(&self, rule: Rule) -> bool {
        match rule {
            Rule::Backward => self.backward,
            Rule::Jvp => self.jvp,
        }
    }

    fn symbolic(&self) -> bool {
        self.symbolic
    }

    fn check(&self, needs: &Set) -> Result<()> {
        match self.fixed.iter().find(|&&k| needs.has(k)) {
            Some(&k) => python(|py| {
                self.object(py).call_method1(intern!(py, "refuse"), (k,))?;
                Ok(())
            }),
            None => Ok(()),
        }
    }

    fn keeps(&self, i: usize) -> bool {
        self.fixed.contains(&i)
    }

    fn argument(&self, i: usize) -> String {
        self.call.inputs.name(&self.call.methods, i)
    }

    fn run(&self, part: Part, args: &[Tensor], turn: Turn) -> Result<Primal> {
        python(|py| self.run_parts(py, part, args, turn))
    }

    fn backward(&self, at: &At<'_>, cotangents: &[Option<Tensor>]) -> Result<Tangents> {
        python(|py| {
            let saved = self.saved(py, at)?;
            let residuals = PyList::new(py, at.residuals().iter().map(|&k| &saved[k]))?;
            let given = (self.ran(py, at)?, Given::inputs(py, at, &saved)?, residuals, Given::list(py, cotangents)?);
            let found = self.object(py).call_method1(intern!(py, "backward"), given)?;
            let methods = &self.call.methods;
            let read =
                |(i, o): (usize, PyResult<Bound<'_, PyAny>>)| tangent(methods, "backward", || self.argument(i), &o?);
            raised::items(&found)?.enumerate().map(read).collect()
        })
    }

    fn jvp(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        python(|py| {
            let saved = self.saved(py, at)?;
            let given = (self.ran(py, at)?, Given::inputs(py, at, &saved)?, Given::list(py, tangents)?);
            let found = self.object(py).call_method1(intern!(py, "forward"), given)?;
            let methods = &self.call.methods;
            let read =
                |(i, o): (usize, PyResult<Bound<'_, PyAny>>)| tangent(methods, "jvp", || format!("output {i}"), &o?);
            raised::items(&found)?.enumerate().map(read).collect()
        })
    }

    fn check_saved(&self, at: &At<'_>) -> Result<()> {
        let Some(changes) = at.state().and_then(|s| s.downcast_ref::<RulesState>()).and_then(|s| s.changes.as_ref())
        else {
            return Ok(());
        };
        let kept = (0..at.inputs().len()).filter(|&i| at.inputs()[i].is_some());
        let Some(leaf) = kept.map(|i| i + 1).find(|&leaf| Call::spoilt(changes, leaf)) else { return Ok(()) };
        python(|_| Err(PyRuntimeError::new_err(short!("{}{}", self.call.why_spoilt(leaf), at_here())).into()))
    }

    fn within(&self, part: Part, levels: LevelSet, f: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let active = Active::new(&self.call);
        let _running = active.run(method_scope::enter(self.origin(), self.title(part), levels));
        f()
    }

    fn sweep(
        &self,
        at: &At<'_>,
        cotangents: &[Option<Tensor>],
        f: &mut dyn FnMut() -> Result<Tangents>,
    ) -> Result<Tangents> {
        let active = Active::new(&self.call);
        let _running = active.run(method_scope::enter(self.origin(), self.title(Part::Bwd), LevelSet::NONE));
        let context = python(|py| Ok(Context::of(&Ctx::make(py, Default::default())?, at.saved().len())))?;
        let method = Method::new(&self.call, &context, at.setup, cotangents);
        let mut shown = Some(context.shown(at.setup));
        context.ctx.get().exchange(None, &mut shown);
        let grads = method.run(f);
        context.ctx.get().exchange(None, &mut shown);
        method.close(&self.call.methods, grads?)
    }

    fn reach(&self, walk: &mut Reach<'_>) {
        reach::call(&self.call, walk);
    }

    fn reach_state(&self, state: &function::Context, walk: &mut Reach<'_>) {
        if let Some(state) = state.downcast_ref::<RulesState>() {
            walk.host(&state.ran);
        }
    }
}
