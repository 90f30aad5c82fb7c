//! One call of a Function class, as a function of the core.

use super::captured::{self, Active, Runs};
use super::ctx::{Ctx, VmapInfo};
use super::inputs::{Inputs, Leaf};
use super::method::Method;
use super::methods::Methods;
use super::outputs::{Parsed, Structure, TENSOR, pair};
use super::saved::{Classic, SavedPlace, Sorter, kept};
use super::written::{Writes, Written};
use super::{Objects, optional, reach};
use crate::door::overrides;
use crate::door::vectorcall::invoke_named;
use crate::process::gil;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors;
use crate::types::errors::PyResult;
use pullback::base::{Error, Result};
use pullback::core::level::GradMode;
use pullback::core::method_scope::{self, LevelSet};
use pullback::core::origin::at_here;
use pullback::core::reach::Reach;
use pullback::core::tensor::Payload;
use pullback::core::{BatchInfo, LevelId, Outputs, Randomness, Set, Tangents, Tensor, level};
use pullback::function::{Context, Forward, Function, Mapped, Rule, Setup, is_tried, pass_on};
use pullback::skin::cell::MadeBy;
use pullback::skin::history;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};

/// Places of arguments, and of outputs. Most calls have none, and a vector without elements is the least to carry.
pub(super) type Pairs = Vec<(usize, usize)>;

/// What a forward leaves for the setup and the rules; nothing where it gave a tensor and did nothing else.
pub(super) struct Ran {
    /// `None`: a tensor and nothing else.
    structure: Option<Structure>,
    pub(super) classic: Option<Classic>,
    /// `None` where no argument was returned or changed, as in most calls.
    pub(super) changes: Option<Box<Changes>>,
    /// The classes of tensors that results had; `None` where none had one of its own.
    classes: Option<Box<[Option<Py<PyType>>]>>,
}

/// What the forward did to its arguments.
#[derive(Default)]
pub(super) struct Changes {
    /// Leaves that were returned as they are, and the outputs that they are.
    pub(super) returned: Pairs,
    /// What was changed and not declared.
    pub(super) written: Vec<Written>,
    /// The leaves among them whose values are the first hidden outputs.
    pub(super) extra: Vec<usize>,
    /// Outputs that show elements of other tensors.
    views: Vec<usize>,
}

impl Ran {
    pub(super) fn of(state: &Option<Context>) -> Option<&Ran> {
        state.as_ref()?.downcast_ref()
    }

    pub(super) fn changes(ran: Option<&Ran>) -> Option<&Changes> {
        ran?.changes.as_deref()
    }

    /// The object of a result, in the class that the forward gave it.
    pub(super) fn wrap<'py>(
        ran: Option<&Ran>,
        py: Python<'py>,
        i: usize,
        value: Tensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = ran.and_then(|r| r.classes.as_ref()?.get(i)?.as_ref());
        Ok(match class {
            Some(class) => tensor::wrap_as(class.bind(py), value)?.into_any(),
            None => tensor::wrap(py, value)?.into_any(),
        })
    }

    pub(super) fn structure(ran: Option<&Ran>) -> &Structure {
        ran.and_then(|r| r.structure.as_ref()).unwrap_or(&TENSOR)
    }

    fn into_state(self) -> Option<Context> {
        let any =
            self.structure.is_some() || self.classic.is_some() || self.changes.is_some() || self.classes.is_some();
        any.then(|| Arc::new(self) as Context)
    }
}

/// What was found of the arguments after a forward.
pub(super) struct Noted {
    pub(super) changes: Option<Box<Changes>>,
    /// Tensors that the forward says it changed, and the outputs that are their new values.
    pub(super) dirty: Pairs,
}

impl Noted {
    pub(super) fn hidden(&self) -> usize {
        self.changes.as_ref().map_or(0, |c| c.extra.len())
    }
}

pub struct Call {
    pub(super) methods: Arc<Methods>,
    pub(super) inputs: Inputs,
    /// Levels that were live at the call.
    pub(super) levels: LevelSet,
    pub(super) needs: Set,
    /// The outputs as the last setup saw them: objects for the caller, until it has got its result.
    pub(super) shown: Mutex<Option<SmallVec<[Py<PyAny>; 2]>>>,
}

/// Runs Python code and carries its exception.
#[inline(always)]
pub(super) fn python<R>(f: impl FnOnce(Python<'_>) -> PyResult<R>) -> Result<R> {
    gil::with(f).map_err(errors::to_error)
}

/// Tensors that a tape records now; with `duals`, also those with a tangent.
fn followed(values: &[Tensor], duals: bool) -> Set {
    let follows = |t: &Tensor| match t.payload() {
        Some(Payload::Taped { .. }) => level::is_live(t.level()) && level::records(t.level()),
        Some(Payload::Dual { .. }) => duals && level::is_live(t.level()),
        _ => false,
    };
    let mut set = Set::NONE;
    for (i, v) in values.iter().enumerate() {
        let mut t = Some(v);
        while let Some(x) = t {
            if follows(x) {
                set.add(i);
                break;
            }
            t = x.below();
        }
    }
    set
}

/// Whether an object has this value.
fn is_object_of(py: Python<'_>, o: &Py<PyAny>, value: &Tensor) -> bool {
    let Some(cell) = tensor::cell(o.bind(py)) else { return false };
    cell.with(|s| s.quick().map(|x| x.same(value))).unwrap_or_else(|| cell.value().same(value))
}

/// Whether `backward` gets zeros for outputs without a derivative, as it does unless the ctx says otherwise.
#[cold]
fn materializes_constants(ctx: &Bound<'_, PyAny>) -> PyResult<bool> {
    match ctx.getattr_opt(intern!(ctx.py(), "_materialize_non_diff_grads"))? {
        Some(wish) => Ok(wish.is_truthy()?),
        None => Ok(true),
    }
}

impl Call {
    pub fn new(methods: Arc<Methods>, inputs: Inputs, values: &[Tensor]) -> Call {
        let needs = followed(values, methods.jvp.is_none());
        Call { methods, inputs, levels: LevelSet::live(), needs, shown: Mutex::new(Some(SmallVec::new())) }
    }

    /// The objects that the last setup saw, once.
    pub(super) fn take_shown(&self) -> Option<SmallVec<[Py<PyAny>; 2]>> {
        self.shown.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    #[cold]
    pub(super) fn error(&self, text: &str) -> PyErr {
        PyRuntimeError::new_err(short!("{}: {text}{}", self.methods.name, at_here()))
    }

    /// Begins a method, in a place that it keeps.
    #[inline]
    fn run<'a>(&self, active: &'a Active<'a>, method: &'static str, levels: LevelSet) -> Runs<'a> {
        active.run(method_scope::enter(self.methods.origin, method, levels))
    }

    /// The outputs of a forward, of which nothing may depend that nobody passed.
    pub(super) fn lower(tensors: &mut Outputs) -> PyResult<()> {
        for (i, t) in tensors.iter_mut().enumerate() {
            if t.level() != LevelId::DENSE && method_scope::has_forbidden(t) {
                *t = captured::lowered(i, t)?;
            }
        }
        Ok(())
    }

    /// The result of the call as Python objects; changed arguments get their new values.
    pub fn finish<'py>(&self, py: Python<'py>, run: &Forward) -> PyResult<Bound<'py, PyAny>> {
        let (shown, ran) = (self.take_shown(), Ran::of(&run.state));
        if let Some(changes) = Ran::changes(ran)
            && !changes.written.is_empty()
        {
            self.write_back(py, run, &changes.written)?;
        }
        let outs = &run.outputs[..run.results()];
        let mut shown = shown.unwrap_or_default().into_iter();
        let mut objects = Objects::new();
        for (i, v) in outs.iter().enumerate() {
            objects.push(match shown.next() {
                Some(o) if is_object_of(py, &o, v) => o.into_bound(py),
                Some(o) => overrides::wrap_like(o.bind(py), v.clone())?,
                None => Ran::wrap(ran, py, i, v.clone())?,
            });
        }
        for &(index, out) in &run.dirty {
            let (Some(object), Some(value)) = (self.inputs.object(index), outs.get(out)) else { continue };
            let object = object.bind(py);
            if let Some(c) = tensor::cell(object) {
                c.check_writable(&self.methods.name)?;
                c.write("mark_dirty", value)?;
                objects[out] = object.clone();
            }
        }
        if let Some(changes) = Ran::changes(ran) {
            self.mark_views(run, changes, &objects);
        }
        Ran::structure(ran).build(py, &objects)
    }

    /// Results that show elements of other tensors say so: a write to them would not be what the function's rules are of.
    #[cold]
    fn mark_views(&self, run: &Forward, changes: &Changes, objects: &[Bound<'_, PyAny>]) {
        let as_is = changes.returned.iter().map(|r| r.1).filter(|o| run.dirty.iter().all(|d| d.1 != *o));
        for output in changes.views.iter().copied().chain(as_is) {
            let Some(cell) = objects.get(output).and_then(tensor::cell) else { continue };
            let value = cell.value();
            let is_own = cell.shared_cell().is_some_and(|c| c.is_unrecorded_view());
            if level::grad_enabled() && (is_own || history::is_recorded(&value)) {
                let function = self.methods.name.to_string();
                cell.cell().set_made_by(MadeBy { function, output, several: run.results() > 1 });
            }
        }
    }

    /// Notes which arguments come back, and which were changed. `declared`: the leaves that the forward itself says it
    /// changed.
    pub(super) fn note(
        &self,
        objects: &[Bound<'_, PyAny>],
        values: &[Tensor],
        p: &mut Parsed<'_>,
        declared: &[usize],
        before: &Writes,
    ) -> PyResult<Noted> {
        let mut changes = Changes::default();
        let mut dirty = Pairs::new();
        for (i, leaf) in self.inputs.leaves.iter().enumerate() {
            if let (Leaf::Tensor { index, .. }, Some(o)) = (leaf, p.place(&objects[i])) {
                changes.returned.push((i, o));
                if declared.contains(&i) {
                    dirty.push((*index, o));
                }
            }
        }
        if declared.iter().any(|i| changes.returned.iter().all(|r| r.0 != *i)) {
            return Err(self.not_returned().into());
        }
        let mut changed = self.changed(objects, values, before);
        changed.retain(|(i, _)| !declared.contains(i));
        if !changed.is_empty() {
            (changes.written, changes.extra) = self.note_written(objects, p, changed);
        }
        for (i, o) in p.objects.iter().enumerate() {
            if tensor::cell(o).and_then(PyTensor::shared_cell).is_some_and(|c| c.is_view()) {
                changes.views.push(i);
            }
        }
        let any = !(changes.returned.is_empty() && changes.written.is_empty() && changes.views.is_empty());
        Ok(Noted { changes: any.then(|| Box::new(changes)), dirty })
    }

    /// The same for a vmap staticmethod, which has no ctx to declare anything with: what it returns it may change.
    fn note_batched(&self, objects: &[Bound<'_, PyAny>], values: &[Tensor], p: &mut Parsed<'_>) -> PyResult<Noted> {
        let changed: Vec<usize> = self.changed(objects, values, &Writes::new()).into_iter().map(|(i, _)| i).collect();
        if let Some(i) = changed.iter().find(|i| p.place(&objects[**i]).is_none()) {
            return Err(self.error(&format!(
                "its vmap staticmethod changed {} in place, which is part of a derivative or a batch, and did not return \
                 it: change a clone() of it",
                self.methods.argument(*i)
            )).into());
        }
        self.note(objects, values, p, &changed, &Writes::new())
    }

    #[cold]
    pub(super) fn not_returned(&self) -> PyErr {
        self.error(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are \
             modified inplace must all be outputs of the Function",
        )
    }

    /// What `forward`, which gets no ctx, makes of these values.
    pub(super) fn forward_by(
        &self,
        py: Python<'_>,
        forward: &Bound<'_, PyAny>,
        values: &[Tensor],
        own: bool,
    ) -> PyResult<Forward> {
        let objects = self.inputs.objects(py, values, own)?;
        let before = Call::writes(&objects);
        let _followed = self.inputs.followed(self, &objects);
        let out = self.inputs.call(forward, &[], &objects)?;
        let mut parsed = Structure::parse(&out)?;
        Call::lower(&mut parsed.tensors)?;
        let noted = self.note(&objects, values, &mut parsed, &[], &before)?;
        Ok(Call::ran(parsed, noted, None))
    }

    /// What a forward gave.
    fn ran(parsed: Parsed<'_>, noted: Noted, classic: Option<Classic>) -> Forward {
        let own = |o: &Bound<'_, PyAny>| overrides::has_say(o.py(), o.get_type_ptr()).then(|| o.get_type().unbind());
        let any = parsed.objects.iter().any(|o| overrides::has_say(o.py(), o.get_type_ptr()));
        let classes = any.then(|| parsed.objects.iter().map(own).collect());
        Forward {
            hidden: noted.hidden() + classic.as_ref().map_or(0, |c| c.hidden.len()),
            outputs: parsed.tensors,
            unseen: 0,
            dirty: noted.dirty,
            constant: Set::NONE,
            state: Ran { structure: parsed.structure, classic, changes: noted.changes, classes }.into_state(),
        }
    }

    fn forward_classic(&self, py: Python<'_>, values: &[Tensor], own: bool) -> PyResult<Forward> {
        let ctx = Ctx::make(py, self.inputs.needs(&self.needs))?;
        let objects = self.inputs.objects(py, values, own)?;
        let before = Call::writes(&objects);
        let first = [ctx.clone().into_any()];
        let followed = self.inputs.followed(self, &objects);
        let out = self.inputs.call(self.methods.forward.bind(py), &first, &objects)?;
        drop(followed);
        let mut parsed = Structure::parse(&out)?;
        let taken = Ctx::take(&ctx)?;
        Call::lower(&mut parsed.tensors)?;
        let dirty: Vec<usize> = taken.dirty.iter().filter_map(|d| objects.iter().position(|o| o.is(d))).collect();
        let noted = self.note(&objects, values, &mut parsed, &dirty, &before)?;
        let lists = taken.backward.iter().chain(&taken.forward).flatten().flatten();
        let held = lists.chain(&taken.adopted).map(Py::as_ptr).chain(parsed.objects.iter().map(Bound::as_ptr));
        captured::link_kept(&self.inputs, &self.needs, &objects, &held.collect::<Vec<_>>())?;
        let constant = taken.constants(&parsed.objects);
        let mut sorter = Sorter::new(self, values, &objects, &mut parsed, &noted);
        let backward = sorter.list(py, taken.backward.as_deref(), SavedPlace::Backward);
        let forward = sorter.list(py, taken.forward.as_deref(), SavedPlace::Forward);
        let adopted = taken.adopted.iter().enumerate();
        let adopted = adopted.map(|(k, o)| sorter.origin(o.bind(py), SavedPlace::Adopted(k))).collect();
        let spoilt = sorter.spoilt;
        let (recorded, hidden) = (sorter.recorded, sorter.hidden);
        let saved = taken.backward.iter().chain(&taken.forward).flatten();
        let classic = Classic {
            kept: kept(py, saved, [&objects, &parsed.objects]),
            backward,
            forward,
            adopted,
            recorded,
            hidden,
            constant,
            ctx: ctx.unbind(),
        };
        if let Some(i) = spoilt {
            classic.ctx.get().spoil(self.why_spoilt(i));
        }
        Ok(Call::ran(parsed, noted, Some(classic)))
    }

    /// The outputs once more. `ran`: what the first run left.
    fn outputs_again(&self, py: Python<'_>, values: &[Tensor], ran: Option<&Ran>) -> PyResult<Outputs> {
        let ctx = match self.methods.setup_context {
            Some(_) => None,
            None => Some(Ctx::make(py, self.inputs.needs(&self.needs))?),
        };
        let objects = self.inputs.objects(py, values, false)?;
        let first: SmallVec<[Bound<'_, PyAny>; 1]> = ctx.iter().map(|c| c.clone().into_any()).collect();
        let _followed = self.inputs.followed(self, &objects);
        let out = self.inputs.call(self.methods.forward.bind(py), &first, &objects)?;
        let mut tensors = Structure::parse(&out)?.tensors;
        let taken = ctx.map(|ctx| Ctx::take(&ctx)).transpose()?;
        Call::append_written(ran, &objects, &mut tensors);
        match taken {
            Some(taken) => self.with_hidden(py, ran, tensors, &taken),
            None => Ok(tensors),
        }
    }
}

impl Function for Call {
    fn name(&self) -> &str {
        &self.methods.name
    }

    fn reach(&self, walk: &mut Reach<'_>) {
        reach::call(self, walk);
    }
    fn reach_context(&self, context: &Context, walk: &mut Reach<'_>) {
        reach::context(context, walk);
    }

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        let _mode = GradMode::set(false);
        let active = Active::new(self);
        let mut running = self.run(&active, "forward", self.levels.tapes_and_hidden());
        running.running.know(self.inputs.given());
        // A function that is tried must not touch the caller's objects.
        let own = !is_tried();
        python(|py| match self.methods.setup_context {
            Some(_) => self.forward_by(py, self.methods.forward.bind(py), args, own),
            None => self.forward_classic(py, args, own),
        })
    }

    fn signature(&self) -> Option<String> {
        python(|py| Ok(self.inputs.constants(py))).ok().flatten().map(|c| format!("{} {c} ", self.methods.serial))
    }

    fn rerun(&self, setup: &Setup, args: &[Tensor]) -> Result<Outputs> {
        let ran = self.context(setup)?.ran();
        let active = Active::new(self);
        let _running = self.run(&active, "forward", LevelSet::NONE);
        python(|py| self.outputs_again(py, args, ran))
    }

    fn has(&self, rule: Rule) -> bool {
        match rule {
            Rule::Backward => self.methods.backward.is_some(),
            Rule::Jvp => self.methods.jvp.is_some(),
        }
    }

    fn once(&self) -> bool {
        self.methods.once
    }

    fn argument(&self, i: usize) -> String {
        self.inputs.name(&self.methods, i)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        let active = Active::new(self);
        let mut running = self.run(&active, "setup_context", LevelSet::NONE);
        if level::hidden() != 0 {
            running.running.soften(self.levels.hidden());
        }
        python(|py| match self.methods.setup_context {
            Some(_) => self.setup_separate(py, inputs, run, needs),
            None => self.setup_classic(py, inputs, run, needs),
        })
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        let active = Active::new(self);
        let _running = self.run(&active, "backward", LevelSet::NONE);
        let context = self.context(setup)?;
        let method = Method::new(self, context, setup, cotangents);
        if context.ran().and_then(|r| r.classic.as_ref()).is_some_and(|c| c.recorded) {
            method.reads_recorded();
        }
        let grads = method.run(|| {
            self.with_saved(setup, Some(self.inputs.needs(needs)), |py, ctx| {
                let Some(f) = &self.methods.backward else { return Err(self.error("has no backward").into()) };
                let keeps = setup.non_differentiable.is_empty() || materializes_constants(ctx)?;
                let dropped = |i: usize| setup.non_differentiable.has(i) && !keeps;
                let grads = cotangents.iter().enumerate();
                let grads = grads.map(|(i, c)| optional(py, c.clone().filter(|_| !dropped(i))));
                let grads = Ran::structure(context.ran()).gradients(py, grads)?;
                let out = invoke_named(f.bind(py), &[ctx.clone().into_any()], &grads, None)?;
                self.inputs.gradients(&self.methods, &out)
            })
        })?;
        method.close(&self.methods, grads)
    }

    fn jvp(&self, setup: &Setup, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let active = Active::new(self);
        let _running = self.run(&active, "jvp", self.levels.hidden());
        let ran = self.context(setup)?.ran();
        self.with_saved(setup, None, |py, ctx| {
            let Some(f) = &self.methods.jvp else { return Err(self.error("has no jvp").into()) };
            let leaves = self.inputs.spread(py, tangents)?;
            let tangents = self.inputs.arguments(py, &leaves)?;
            let out = invoke_named(f.bind(py), &[ctx.clone().into_any()], &tangents, None)?;
            let found = Ran::structure(ran).tangents(&self.methods, &out)?;
            if let Some(i) = (0..found.len()).find(|&i| found[i].is_some() && setup.non_differentiable.has(i)) {
                return Err(self.error(&format!(
                    "its jvp returned a tangent for output {i}, which is marked as non-differentiable. You should return \
                     None at that position instead"
                )).into());
            }
            Ok(found)
        })
    }

    fn vmap(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<Mapped>> {
        if self.methods.ambiguous {
            return Err(Error::runtime(format!(
                "{}: it has both generate_vmap_rule=True and an overridden vmap staticmethod; keep one of them: set \
                 generate_vmap_rule=False or delete the vmap staticmethod{}",
                self.methods.name,
                at_here()
            )));
        }
        let Some(f) = &self.methods.vmap else { return Ok(None) };
        pass_on();
        let active = Active::new(self);
        let mut running = self.run(&active, "vmap", self.levels.hidden());
        if info.randomness == Randomness::Error {
            running.running.forbid_random();
        }
        python(|py| {
            let dim = |leaf: &Leaf| match leaf {
                Leaf::Tensor { index, .. } => in_dims[*index].into_pyobject(py).map(Bound::into_any),
                Leaf::Other(_) => Ok(py.None().into_bound(py)),
            };
            let dims = self.inputs.leaves.iter().map(dim).collect::<std::result::Result<Vec<_>, _>>()?;
            let dims = self.inputs.tuple(py, &dims)?.into_any();
            let objects = self.inputs.objects(py, args, false)?;
            let first = [Bound::new(py, VmapInfo::new(info))?.into_any(), dims];
            let result = self.inputs.call(f.bind(py), &first, &objects)?;
            let (out, out_dims) = pair(&self.methods, &result)?;
            let mut parsed = Structure::parse(&out)?;
            let noted = self.note_batched(&objects, args, &mut parsed)?;
            let structure = parsed.structure.as_ref().unwrap_or(&TENSOR);
            let dims = structure.batched(&self.methods, &parsed.tensors, &out_dims, info.size)?;
            Ok(Some(Mapped { forward: Call::ran(parsed, noted, None), dims }))
        })
    }
}
