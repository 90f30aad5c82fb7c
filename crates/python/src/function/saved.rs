//! What a ctx was given: saved tensors and adopted attributes, for each level that needs a rule.

use super::call::{Call, Changes, Noted, Ran, python};
use super::captured;
use super::ctx::{Ctx, Needs, Shown, Taken};
use super::inputs::{Leaf, has, untaped};
use super::outputs::{Parsed, Structure};
use super::{Objects, value_of};
use crate::door::vectorcall::invoke;
use crate::process::{gil, object};
use crate::tensor::{self, PyTensor};
use crate::types::errors::PyResult;
use pullback::base::{Error, Result};
use pullback::core::{Forward, Node, Outputs, Set, Tensor};
use pullback::function::{self, Setup, Values};
use pullback::ops::rewind::Rewind;
use pullback::transforms::task;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;

/// What a saved tensor of a classic forward was.
#[derive(Clone)]
pub enum Origin {
    None,
    Input(usize),
    /// Hidden outputs too.
    Output(usize),
    Constant(Tensor),
}

/// The place of a hidden output among what a ctx was given.
#[derive(Clone, Copy)]
pub enum SavedPlace {
    Backward(usize),
    Forward(usize),
    Adopted(usize),
}

/// A classic forward's ctx, and what each saved tensor was.
pub struct Classic {
    pub ctx: Py<Ctx>,
    pub backward: Option<Vec<Origin>>,
    pub forward: Option<Vec<Origin>>,
    pub adopted: Vec<Origin>,
    pub hidden: Vec<SavedPlace>,
    /// Whether some of it is what the forward recorded itself, under `enable_grad`.
    pub recorded: bool,
    pub constant: Set,
    /// See [`kept`].
    pub kept: Vec<Py<PyAny>>,
}

/// Saved objects that `backward` gets again, since another would not be the same to a program: those with a class or
/// attributes of their own. Arguments are asked first, and results have nodes by then.
pub fn kept<'a, 'py>(
    py: Python<'py>,
    saved: impl Iterator<Item = &'a Option<Py<PyAny>>>,
    others: [&[Bound<'py, PyAny>]; 2],
) -> Vec<Py<PyAny>> {
    let is_plain = |o: &Bound<'py, PyAny>| match o.cast::<PyTensor>() {
        Ok(t) => t.get_type().as_ptr() == tensor::type_object().cast() && !object::has_dict(t),
        Err(_) => true,
    };
    let known = |o: &Bound<'py, PyAny>| others.iter().any(|list| list.iter().any(|x| x.is(o)));
    saved.flatten().filter(|o| !is_plain(o.bind(py)) && !known(o.bind(py))).map(|o| o.clone_ref(py)).collect()
}

/// What the rules of one level read.
pub struct Context {
    pub ctx: Py<Ctx>,
    /// What the forward left.
    pub state: Option<function::Context>,
    /// Which saved entries are tensors; the adopted ones follow.
    present: SmallVec<[bool; 8]>,
    /// See [`kept`].
    kept: Vec<Py<PyAny>>,
}

impl Context {
    pub(super) fn ran(&self) -> Option<&Ran> {
        Ran::of(&self.state)
    }

    /// The saved object of this value, if it is kept and nobody has written to it since; where a tape follows the value,
    /// another of the same class.
    pub(super) fn kept<'py>(&self, py: Python<'py>, value: &Tensor) -> Option<Bound<'py, PyAny>> {
        let of_forward = self.ran().and_then(|r| r.classic.as_ref()).map_or(&[][..], |c| &c.kept);
        if self.kept.is_empty() && of_forward.is_empty() {
            return None;
        }
        let plain = untaped(value)?;
        let is_it =
            |o: &&Bound<'py, PyAny>| value_of(o).is_some_and(|now| untaped(&now).is_some_and(|t| t.same(plain)));
        let found = self.kept.iter().chain(of_forward).map(|o| o.bind(py)).find(is_it)?;
        if has(found, value, true) {
            return Some(found.clone());
        }
        let made = super::optional(py, Some(value.clone())).ok()?.cast_into().ok()?;
        Some(tensor::as_class(made, &found.get_type()).ok()?.into_any())
    }

    /// What it keeps, for the collector.
    pub(super) fn objects(&self) -> &[Py<PyAny>] {
        &self.kept
    }

    /// For values that are all saved tensors.
    pub(super) fn of(ctx: &Bound<'_, Ctx>, saved: usize) -> Context {
        Context { ctx: ctx.clone().unbind(), state: None, present: SmallVec::from_elem(true, saved), kept: Vec::new() }
    }

    pub(super) fn shown(&self, setup: &Setup) -> Shown {
        let mut values = setup.saved.iter().cloned();
        let saved = self.present.iter().map(|&p| if p { values.next() } else { None }).collect();
        Shown::new(saved, values.collect())
    }
}

impl Call {
    /// The results of a forward that ran again, with the hidden outputs behind them.
    pub(super) fn with_hidden(
        &self,
        py: Python<'_>,
        ran: Option<&Ran>,
        mut tensors: Outputs,
        taken: &Taken,
    ) -> PyResult<Outputs> {
        let places = ran.and_then(|r| r.classic.as_ref()).map_or(&[][..], |c| &c.hidden);
        let entry =
            |list: &Option<Vec<Option<Py<PyAny>>>>, k: usize| list.as_ref()?.get(k)?.as_ref().map(|o| o.clone_ref(py));
        for place in places {
            let object = match *place {
                SavedPlace::Backward(k) => entry(&taken.backward, k),
                SavedPlace::Forward(k) => entry(&taken.forward, k),
                SavedPlace::Adopted(k) => taken.adopted.get(k).map(|o| o.clone_ref(py)),
            };
            let value = object.and_then(|o| value_of(o.bind(py)));
            tensors.push(value.ok_or_else(|| self.error("its forward saved something else the second time"))?);
        }
        Ok(tensors)
    }

    pub fn setup_separate(&self, py: Python<'_>, ins: &[Tensor], run: &mut Forward, needs: &Set) -> PyResult<Setup> {
        let ctx = Ctx::make(py, self.inputs.needs(needs))?;
        let mut inputs = self.inputs.objects(py, ins, false)?;
        let mut outputs = Objects::new();
        let state = run.state.clone();
        let ran = Ran::of(&state);
        for (i, v) in run.outputs.iter().enumerate() {
            outputs.push(Ran::wrap(ran, py, i, v.clone())?);
        }
        let changes = Ran::changes(ran);
        for w in changes.iter().flat_map(|c| &c.written) {
            inputs[w.leaf] = outputs[w.output].clone();
        }
        for &(i, o) in &run.dirty {
            if let Some(leaf) = self.inputs.leaf(i) {
                inputs[leaf] = outputs[o].clone();
            }
        }
        let output = Ran::structure(ran).build(py, &outputs)?;
        if let Some(f) = &self.methods.setup_context {
            let arguments = self.inputs.tuple(py, &inputs)?.into_any();
            invoke(f.bind(py), &[ctx.clone().into_any(), arguments, output])?;
        }
        let taken = Ctx::take(&ctx)?;
        let constant = taken.constants(&outputs);
        let own = kept(py, taken.backward.iter().chain(&taken.forward).flatten(), [&inputs, &outputs]);
        let mut shown = outputs.into_iter().map(Bound::unbind).collect();
        if !taken.dirty.is_empty() {
            run.dirty = self.marked(changes, &taken, &inputs)?;
        }
        if let Some(changes) = changes
            && let Some(i) = (0..inputs.len()).find(|&i| Call::spoilt(changes, i) && taken.has(&inputs[i]))
        {
            ctx.get().spoil(self.why_spoilt(i));
        }
        if let Some(old) = &mut *self.shown.lock().unwrap_or_else(|e| e.into_inner()) {
            std::mem::swap(old, &mut shown);
        }
        drop(shown);
        let list = self.chosen(needs, taken.backward, taken.forward).unwrap_or_default();
        let saved = list.iter().map(|o| o.as_ref().and_then(|o| value_of(o.bind(py))));
        let adopted = taken.adopted.iter().filter_map(|o| value_of(o.bind(py)));
        let source = Source { ctx: &ctx, state, kept: own };
        Ok(setup_from(source, saved, adopted, constant, taken.materialize))
    }

    /// The arguments that were changed, which setup_context has to say, and the outputs that they are.
    fn marked(
        &self,
        changes: Option<&Changes>,
        taken: &Taken,
        inputs: &[Bound<'_, PyAny>],
    ) -> PyResult<Vec<(usize, usize)>> {
        let returned = changes.map_or(&[][..], |c| &c.returned);
        let mut marked = Vec::new();
        for leaf in taken.dirty.iter().filter_map(|d| inputs.iter().position(|i| i.is(d))) {
            let Leaf::Tensor { index, .. } = &self.inputs.leaves[leaf] else { continue };
            let Some((_, output)) = returned.iter().find(|(r, _)| *r == leaf) else {
                return Err(self.not_returned().into());
            };
            marked.push((*index, *output));
        }
        Ok(marked)
    }

    pub fn setup_classic(&self, py: Python<'_>, ins: &[Tensor], run: &Forward, needs: &Set) -> PyResult<Setup> {
        let outs = &run.outputs;
        let Some(classic) = Ran::of(&run.state).and_then(|r| r.classic.as_ref()) else {
            return self.setup_by_forward(py, ins, run, needs);
        };
        let value = |o: &Origin| match o {
            Origin::None => None,
            Origin::Input(i) => Some(ins[*i].clone()),
            Origin::Output(i) => Some(outs[*i].clone()),
            Origin::Constant(t) => Some(t.clone()),
        };
        let list = self.chosen(needs, classic.backward.as_ref(), classic.forward.as_ref());
        let saved = list.into_iter().flatten().map(value);
        // What the forward recorded for itself does not lead to the arguments: whoever differentiates it must be told.
        let beside = classic.recorded.then_some(ins).into_iter().flatten().cloned();
        let adopted = classic.adopted.iter().filter_map(value).chain(beside);
        let ctx = classic.ctx.bind(py);
        let source = Source { ctx, state: run.state.clone(), kept: Vec::new() };
        Ok(setup_from(source, saved, adopted, classic.constant.clone(), ctx.get().materialize()))
    }

    /// The setup of a classic function whose results came from its vmap staticmethod, which fills no ctx: its forward
    /// runs once more, on the values of this level, and what it computes and saves is recorded there.
    fn setup_by_forward(&self, py: Python<'_>, ins: &[Tensor], run: &Forward, needs: &Set) -> PyResult<Setup> {
        let outs = &run.outputs;
        let why = |what: &str| {
            self.error(&format!(
                "its derivative needs the ctx, which the vmap staticmethod does not fill, so that forward runs once \
                 more, and {what}: write setup_context(ctx, inputs, output), and forward without ctx"
            ))
        };
        let draws = Rewind::open();
        let ctx = Ctx::make(py, self.inputs.needs(needs))?;
        let objects = self.inputs.objects(py, ins, false)?;
        let out = self.inputs.call(self.methods.forward.bind(py), &[ctx.clone().into_any()], &objects);
        let out = out.map_err(|e| why(&format!("it ended with {e}")))?;
        if draws.has_drawn() {
            return Err(why("it draws random numbers, which would not be the same").into());
        }
        let parsed = Structure::parse(&out)?;
        let taken = Ctx::take(&ctx)?;
        if parsed.tensors.len() != outs.len() || !taken.dirty.is_empty() {
            return Err(why("it gives other results, or changes its arguments").into());
        }
        for (first, again) in outs.iter().zip(&parsed.tensors) {
            if !function::agree(first, again)? {
                return Err(why("it gives other values than the vmap staticmethod").into());
            }
        }
        let constant = taken.constants(&parsed.objects);
        let value = |o: &Py<PyAny>| {
            let o = o.bind(py);
            if let Some(leaf) = objects.iter().position(|x| x.is(o)).map(|i| &self.inputs.leaves[i])
                && let Leaf::Tensor { index, .. } = leaf
            {
                return Some(ins[*index].clone());
            }
            let output = parsed.objects.iter().position(|x| x.is(o));
            output.map(|i| outs[i].clone()).or_else(|| value_of(o))
        };
        let list = self.chosen(needs, taken.backward, taken.forward).unwrap_or_default();
        let saved = list.iter().map(|o| o.as_ref().and_then(value));
        let source = Source { ctx: &ctx, state: run.state.clone(), kept: Vec::new() };
        Ok(setup_from(source, saved, taken.adopted.iter().filter_map(value), constant, taken.materialize))
    }

    /// Which list of saved tensors the rules of a level read: that for jvp where its own jvp runs, if there is one.
    fn chosen<T>(&self, needs: &Set, backward: Option<T>, forward: Option<T>) -> Option<T> {
        let jvp = if needs.is_empty() { self.methods.jvp.is_some() } else { self.methods.backward.is_none() };
        if jvp { forward.or(backward) } else { backward.or(forward) }
    }

    /// The context of a setup of this call.
    pub fn context<'a>(&self, setup: &'a Setup) -> Result<&'a Context> {
        let foreign = || Error::internal(format!("{}: foreign context", self.methods.name));
        setup.context.downcast_ref::<Context>().ok_or_else(foreign)
    }

    /// Calls a rule with the saved tensors in place.
    pub fn with_saved<R>(
        &self,
        setup: &Setup,
        needs: Option<Needs>,
        f: impl FnOnce(Python<'_>, &Bound<'_, Ctx>) -> PyResult<R>,
    ) -> Result<R> {
        let context = self.context(setup)?;
        python(|py| {
            let ctx = context.ctx.bind(py);
            // SAFETY: the context holds the ctx.
            let handles = || unsafe { gil::references(py, ctx.as_ptr()) };
            let before = handles();
            let mut shown = Some(context.shown(setup));
            ctx.get().exchange(needs, &mut shown);
            let out = f(py, ctx);
            ctx.get().exchange(None, &mut shown);
            if handles() > before
                && task::retains()
                && let Some(values) = shown
            {
                ctx.get().leave(values);
            }
            out
        })
    }
}

/// What the ctx of a call has under this name, read through the call's node; the values of saved tensors have their
/// history again.
pub fn attribute<'py>(py: Python<'py>, node: &Arc<Node>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((setup, whole)) = function::setup_of(node)? else { return Ok(None) };
    let Some(context) = setup.context.downcast_ref::<Context>() else { return Ok(None) };
    let ctx = context.ctx.bind(py);
    let mut shown = whole.then(|| context.shown(&setup));
    ctx.get().exchange(None, &mut shown);
    let found = ctx.getattr_opt(name);
    ctx.get().exchange(None, &mut shown);
    Ok(found?)
}

/// What a context is made of.
struct Source<'a, 'py> {
    ctx: &'a Bound<'py, Ctx>,
    state: Option<function::Context>,
    kept: Vec<Py<PyAny>>,
}

fn setup_from(
    source: Source<'_, '_>,
    given: impl Iterator<Item = Option<Tensor>>,
    adopted: impl Iterator<Item = Tensor>,
    non_differentiable: Set,
    materialize: bool,
) -> Setup {
    let (mut present, mut saved) = (SmallVec::new(), Values::new());
    for value in given {
        present.push(value.is_some());
        if let Some(value) = value {
            saved.push(value);
        }
    }
    saved.extend(adopted);
    let Source { ctx, state, kept } = source;
    let context = Arc::new(Context { ctx: ctx.clone().unbind(), state, present, kept });
    Setup { context, saved, non_differentiable, materialize, history: None }
}

/// Finds out what each saved tensor of a classic forward is. By object where it is one of the call's: two arguments may
/// have the same value.
pub struct Sorter<'a, 'py> {
    call: &'a Call,
    values: &'a [Tensor],
    objects: &'a [Bound<'py, PyAny>],
    parsed: &'a mut Parsed<'py>,
    noted: &'a Noted,
    pub hidden: Vec<SavedPlace>,
    /// Whether the forward recorded some of it itself.
    pub recorded: bool,
    /// A changed argument among it that a backward must not read.
    pub spoilt: Option<usize>,
}

impl<'a, 'py> Sorter<'a, 'py> {
    pub fn new(
        call: &'a Call,
        values: &'a [Tensor],
        objects: &'a [Bound<'py, PyAny>],
        parsed: &'a mut Parsed<'py>,
        noted: &'a Noted,
    ) -> Sorter<'a, 'py> {
        Sorter { call, values, objects, parsed, noted, hidden: Vec::new(), recorded: false, spoilt: None }
    }

    pub fn list(
        &mut self,
        py: Python<'_>,
        objects: Option<&[Option<Py<PyAny>>]>,
        place: impl Fn(usize) -> SavedPlace,
    ) -> Option<Vec<Origin>> {
        let origin = |(k, o): (usize, &Option<Py<PyAny>>)| match o {
            None => Origin::None,
            Some(o) => self.origin(o.bind(py), place(k)),
        };
        Some(objects?.iter().enumerate().map(origin).collect())
    }

    pub fn origin(&mut self, o: &Bound<'_, PyAny>, place: SavedPlace) -> Origin {
        let output = self.parsed.objects.iter().position(|x| x.is(o));
        if let Some(i) = self.objects.iter().position(|x| x.is(o))
            && let Leaf::Tensor { index, .. } = self.call.inputs.leaves[i]
        {
            let Some(changes) = &self.noted.changes else { return Origin::Input(index) };
            if let Some(w) = changes.written.iter().find(|w| w.leaf == i) {
                if Call::spoilt(changes, i) {
                    self.spoilt = Some(i);
                }
                return Origin::Output(w.output);
            }
            let dirty = self.noted.dirty.iter().any(|d| d.0 == index);
            return output.filter(|_| dirty).map_or(Origin::Input(index), Origin::Output);
        }
        if let Some(i) = output {
            return Origin::Output(i);
        }
        let Some(value) = value_of(o) else { return Origin::None };
        if let Some(i) = self.values.iter().position(|v| v.same(&value)) {
            return Origin::Input(i);
        }
        if let Some(i) = self.parsed.tensors.iter().position(|v| v.same(&value)) {
            return Origin::Output(i);
        }
        if self.call.levels.touch(&value) {
            self.recorded |= captured::is_recorded(&value);
            return Origin::Constant(value);
        }
        self.hidden.push(place);
        self.parsed.tensors.push(value);
        Origin::Output(self.parsed.tensors.len() - 1)
    }
}
