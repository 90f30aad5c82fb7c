//! `autograd.Function`: Python staticmethods as a [`Function`] of the core.

mod reach;

use super::ctx::{Ctx, VmapInfo};
use super::staticmethods::{Methods, missing};
use super::{errors, tensor};
use crate::base::{Error, Result};
use crate::core::level::GradMode;
use crate::core::reach::Reach;
use crate::core::{BatchInfo, LevelId, Mask, Outputs, Tangents, Tensor, level};
use crate::function::{self, BatchedOutputs, Function, Setup};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use std::sync::{Arc, Mutex};

/// One argument of a call.
enum Argument {
    Tensor { index: usize, object: Py<PyAny>, value: Tensor },
    Other(Py<PyAny>),
}

/// What the forward returned besides its tensors.
enum Structure {
    One,
    /// Constants at the places that hold no tensor.
    Many {
        constants: Vec<Option<Py<PyAny>>>,
        list: bool,
    },
}

/// A classic forward's ctx, and what each saved tensor was.
struct Classic {
    ctx: Py<Ctx>,
    saved: Vec<Origin>,
}

#[derive(Clone)]
enum Origin {
    None,
    Input(usize),
    Output(usize),
    Constant(Tensor),
}

/// One call of a Function class.
struct Call {
    methods: Arc<Methods>,
    args: Vec<Argument>,
    structure: Mutex<Option<Structure>>,
    classic: Mutex<Option<Classic>>,
    dirty: Mutex<Vec<(usize, usize)>>,
}

fn locked<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

/// Runs Python code and carries its exception.
fn python<R>(f: impl FnOnce(Python<'_>) -> PyResult<R>) -> Result<R> {
    Python::attach(f).map_err(errors::to_error)
}

fn value_of(py: Python<'_>, o: &Bound<'_, PyAny>) -> Option<Tensor> {
    tensor::cell(py, o.as_ptr()).map(|c| c.value())
}

impl Call {
    /// Python arguments for these values. The caller's own objects where the values are theirs.
    fn objects<'py>(&self, py: Python<'py>, values: &[Tensor], own: bool) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.args
            .iter()
            .map(|a| match a {
                Argument::Other(o) => Ok(o.bind(py).clone()),
                Argument::Tensor { index, object, value } => {
                    if own && value.same(&values[*index]) {
                        return Ok(object.bind(py).clone());
                    }
                    Ok(tensor::wrap(py, values[*index].clone())?.into_any())
                }
            })
            .collect()
    }

    /// One entry per argument, `None` where it is no tensor.
    fn spread<'py>(&self, py: Python<'py>, values: &[Option<Tensor>]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.args
            .iter()
            .map(|a| match a {
                Argument::Tensor { index, .. } => optional(py, values.get(*index).cloned().flatten()),
                Argument::Other(_) => Ok(py.None().into_bound(py)),
            })
            .collect()
    }

    fn needs(&self, mask: Mask) -> Vec<bool> {
        self.args
            .iter()
            .map(|a| match a {
                Argument::Tensor { index, .. } => mask >> (*index).min(63) & 1 == 1,
                Argument::Other(_) => false,
            })
            .collect()
    }

    /// Splits an output into tensors and the rest.
    fn parse_output(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<(Outputs, Vec<Py<PyAny>>)> {
        if let Some(t) = value_of(py, out) {
            *locked(&self.structure) = Some(Structure::One);
            return Ok(([t].into_iter().collect(), vec![out.clone().unbind()]));
        }
        let items: Vec<Bound<'_, PyAny>> = if let Ok(t) = out.cast::<PyTuple>() {
            t.iter().collect()
        } else if let Ok(l) = out.cast::<PyList>() {
            l.iter().collect()
        } else {
            return Err(PyTypeError::new_err(format!(
                "{}.forward: expected to return a Tensor or a tuple of Tensors, but got {}",
                self.methods.name,
                super::convert::type_name(out)
            )));
        };
        let mut constants = Vec::new();
        let (mut tensors, mut objects) = (Outputs::new(), Vec::new());
        for o in items {
            match value_of(py, &o) {
                Some(t) => {
                    tensors.push(t);
                    objects.push(o.unbind());
                    constants.push(None);
                }
                None => constants.push(Some(o.unbind())),
            }
        }
        *locked(&self.structure) = Some(Structure::Many { constants, list: out.is_instance_of::<PyList>() });
        Ok((tensors, objects))
    }

    /// Tensors as the forward's output.
    fn build_output<'py>(&self, py: Python<'py>, objects: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let structure = locked(&self.structure);
        let mut objects = objects.into_iter();
        match &*structure {
            Some(Structure::Many { constants, list }) => {
                let all: Vec<Bound<'py, PyAny>> = constants
                    .iter()
                    .map(|c| match c {
                        Some(c) => c.bind(py).clone(),
                        None => objects.next().unwrap_or_else(|| py.None().into_bound(py)),
                    })
                    .collect();
                if *list { Ok(PyList::new(py, all)?.into_any()) } else { Ok(PyTuple::new(py, all)?.into_any()) }
            }
            _ => Ok(objects.next().unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    fn wrap_all<'py>(&self, py: Python<'py>, values: &[Tensor]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        values.iter().map(|v| Ok(tensor::wrap(py, v.clone())?.into_any())).collect()
    }

    /// Dirty inputs by (argument, output): the output that is the changed input.
    fn note_dirty(&self, py: Python<'_>, ctx: &Ctx, inputs: &[Bound<'_, PyAny>], outputs: &[Py<PyAny>]) {
        let mut pairs = Vec::new();
        for d in ctx.dirty(py) {
            let input = inputs.iter().position(|i| i.is(&d));
            let output = outputs.iter().position(|o| o.is(&d));
            if let (Some(i), Some(o)) = (input, output) {
                pairs.push((i, o));
            }
        }
        if !pairs.is_empty() {
            *locked(&self.dirty) = pairs;
        }
    }

    fn forward_classic(&self, py: Python<'_>, values: &[Tensor]) -> PyResult<Outputs> {
        let ctx = Bound::new(py, Ctx::default())?;
        ctx.get().set_needs(self.needs(Mask::MAX));
        let objects = self.objects(py, values, true)?;
        let call: Vec<Bound<'_, PyAny>> =
            std::iter::once(ctx.clone().into_any()).chain(objects.iter().cloned()).collect();
        let out = self.methods.forward.bind(py).call1(PyTuple::new(py, call)?)?;
        let (tensors, outs) = self.parse_output(py, &out)?;
        self.note_dirty(py, ctx.get(), &objects, &outs);
        // By object where there is one: two arguments may be the same value.
        let kept = ctx.get().saved_objects(py);
        let by_object = |k: usize| {
            let o = kept.get(k)?.as_ref()?;
            let argument = objects.iter().position(|i| i.is(o)).and_then(|i| match &self.args[i] {
                Argument::Tensor { index, .. } => Some(Origin::Input(*index)),
                Argument::Other(_) => None,
            });
            argument.or_else(|| outs.iter().position(|out| out.is(o)).map(Origin::Output))
        };
        let by_value = |t: Tensor| {
            let input = values.iter().position(|v| v.same(&t)).map(Origin::Input);
            let output = || tensors.iter().position(|o| o.same(&t)).map(Origin::Output);
            input.or_else(output).unwrap_or_else(|| Origin::Constant(t.clone()))
        };
        let saved = Ctx::take_saved(&ctx)?
            .into_iter()
            .enumerate()
            .map(|(k, s)| match s {
                None => Origin::None,
                Some(t) => by_object(k).unwrap_or_else(|| by_value(t)),
            })
            .collect();
        *locked(&self.classic) = Some(Classic { ctx: ctx.unbind(), saved });
        Ok(tensors)
    }

    fn setup_separate(&self, py: Python<'_>, ins: &[Tensor], outs: &[Tensor], needs: Mask) -> PyResult<Setup> {
        let ctx = Bound::new(py, Ctx::default())?;
        ctx.get().set_needs(self.needs(needs));
        let inputs = self.objects(py, ins, false)?;
        let outputs = self.wrap_all(py, outs)?;
        let output = self.build_output(py, outputs.clone())?;
        if let Some(f) = &self.methods.setup_context {
            f.bind(py).call1((&ctx, PyTuple::new(py, &inputs)?, output))?;
        }
        let unbound: Vec<Py<PyAny>> = outputs.iter().map(|o| o.clone().unbind()).collect();
        let dirty: Vec<_> = ctx.get().dirty(py);
        if !dirty.is_empty() {
            // setup_context sees fresh objects: pair by position of the marked input.
            let marked = dirty.iter().filter_map(|d| inputs.iter().position(|i| i.is(d)));
            *locked(&self.dirty) = marked.enumerate().map(|(o, i)| (i, o)).collect();
        }
        let marked = ctx.get().non_differentiable(py);
        self.finish_setup(py, &ctx, &unbound, &marked)
    }

    fn finish_setup(
        &self,
        _: Python<'_>,
        ctx: &Bound<'_, Ctx>,
        outputs: &[Py<PyAny>],
        marked: &[Py<PyAny>],
    ) -> PyResult<Setup> {
        let constant = outputs
            .iter()
            .enumerate()
            .fold(0, |m, (i, o)| if marked.iter().any(|d| d.is(o)) { m | 1 << i.min(63) } else { m });
        let values = Ctx::take_saved(ctx)?;
        Ok(self.setup_from(ctx, values, constant))
    }

    fn setup_from(&self, ctx: &Bound<'_, Ctx>, values: Vec<Option<Tensor>>, constant: Mask) -> Setup {
        let present = values.iter().map(Option::is_some).collect();
        Setup {
            context: Arc::new(Context { ctx: ctx.clone().unbind(), present }),
            saved: values.into_iter().flatten().collect(),
            non_differentiable: constant,
            materialize: ctx.get().materialize(),
        }
    }

    fn setup_classic(&self, py: Python<'_>, ins: &[Tensor], outs: &[Tensor]) -> PyResult<Setup> {
        let classic = locked(&self.classic);
        let Some(c) = &*classic else {
            return Err(PyRuntimeError::new_err(format!("{}: its forward has not run", self.methods.name)));
        };
        let values = c
            .saved
            .iter()
            .map(|o| match o {
                Origin::None => None,
                Origin::Input(i) => Some(ins[*i].clone()),
                Origin::Output(i) => Some(outs[*i].clone()),
                Origin::Constant(t) => Some(t.clone()),
            })
            .collect();
        Ok(self.setup_from(c.ctx.bind(py), values, 0))
    }

    /// Calls a rule with the saved tensors in place.
    fn with_saved<R>(&self, setup: &Setup, f: impl FnOnce(Python<'_>, &Bound<'_, Ctx>) -> PyResult<R>) -> Result<R> {
        let Some(context) = setup.context.downcast_ref::<Context>() else {
            return Err(Error::internal(format!("{}: foreign context", self.methods.name)));
        };
        python(|py| {
            let ctx = context.ctx.bind(py);
            let mut saved = setup.saved.iter().cloned();
            ctx.get().show(context.present.iter().map(|&p| if p { saved.next() } else { None }).collect());
            let out = f(py, ctx);
            ctx.get().hide();
            out
        })
    }
}

struct Context {
    ctx: Py<Ctx>,
    /// Which saved entries are tensors.
    present: Vec<bool>,
}

fn optional<'py>(py: Python<'py>, t: Option<Tensor>) -> PyResult<Bound<'py, PyAny>> {
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

impl Function for Call {
    fn name(&self) -> &str {
        &self.methods.name
    }

    fn reach(&self, walk: &mut Reach<'_>) {
        reach::call(self, walk);
    }
    fn reach_context(&self, context: &function::Context, walk: &mut Reach<'_>) {
        reach::context(context, walk);
    }

    fn forward(&self, args: &[Tensor]) -> Result<Outputs> {
        let _mode = GradMode::set(false);
        python(|py| {
            if self.methods.setup_context.is_none() {
                return self.forward_classic(py, args);
            }
            let objects = self.objects(py, args, true)?;
            let out = self.methods.forward.bind(py).call1(PyTuple::new(py, objects)?)?;
            Ok(self.parse_output(py, &out)?.0)
        })
    }

    fn setup(&self, inputs: &[Tensor], outputs: &[Tensor], needs: Mask) -> Result<Setup> {
        python(|py| {
            if self.methods.setup_context.is_some() {
                self.setup_separate(py, inputs, outputs, needs)
            } else {
                self.setup_classic(py, inputs, outputs)
            }
        })
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: Mask) -> Result<Tangents> {
        self.with_saved(setup, |py, ctx| {
            let name = &self.methods.name;
            let Some(f) = &self.methods.backward else {
                return Err(missing(name, "backward", "backward(ctx, *grad_outputs)"));
            };
            ctx.get().set_needs(self.needs(needs));
            let mut call = vec![ctx.clone().into_any()];
            let mut cts = cotangents.iter().cloned();
            match &*locked(&self.structure) {
                Some(Structure::Many { constants, .. }) => {
                    for c in constants {
                        call.push(optional(py, if c.is_none() { cts.next().flatten() } else { None })?);
                    }
                }
                _ => call.push(optional(py, cts.next().flatten())?),
            }
            let out = f.bind(py).call1(PyTuple::new(py, call)?)?;
            self.gradients(py, &as_list(&out))
        })
    }

    fn jvp(&self, setup: &Setup, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        self.with_saved(setup, |py, ctx| {
            let name = &self.methods.name;
            let Some(f) = &self.methods.jvp else {
                return Err(missing(name, "jvp", "jvp(ctx, *grad_inputs)"));
            };
            let call: Vec<Bound<'_, PyAny>> =
                std::iter::once(ctx.clone().into_any()).chain(self.spread(py, tangents)?).collect();
            let out = f.bind(py).call1(PyTuple::new(py, call)?)?;
            let results = as_list(&out);
            let kept: Vec<Bound<'_, PyAny>> = match &*locked(&self.structure) {
                Some(Structure::Many { constants, .. }) if results.len() == constants.len() => results
                    .into_iter()
                    .zip(constants)
                    .filter_map(|(r, c)| if c.is_none() { Some(r) } else { None })
                    .collect(),
                _ => results,
            };
            kept.iter().map(|o| self.tangent(py, o, "jvp")).collect()
        })
    }

    fn vmap(&self, info: BatchInfo, in_dims: &[Option<usize>], args: &[Tensor]) -> Result<Option<BatchedOutputs>> {
        let name = &self.methods.name;
        if self.methods.ambiguous {
            return Err(Error::runtime(format!(
                "{name}: found both generate_vmap_rule=True and a vmap staticmethod; please keep one of them"
            )));
        }
        if self.methods.setup_context.is_none() && self.methods.vmap.is_none() {
            return Err(Error::runtime(format!(
                "{name}: in order to use an autograd.Function under vmap, it must have the setup_context staticmethod \
                 (forward without ctx), or a vmap staticmethod{}",
                crate::core::origin::at_here()
            )));
        }
        let Some(f) = &self.methods.vmap else { return Ok(None) };
        python(|py| {
            let dims: Vec<Option<usize>> = self
                .args
                .iter()
                .map(|a| match a {
                    Argument::Tensor { index, .. } => in_dims[*index],
                    Argument::Other(_) => None,
                })
                .collect();
            let info = Bound::new(py, VmapInfo::new(info))?.into_any();
            let mut call = vec![info, PyTuple::new(py, dims)?.into_any()];
            call.extend(self.objects(py, args, false)?);
            let result = f.bind(py).call1(PyTuple::new(py, call)?)?;
            self.batched_outputs(py, &result).map(Some)
        })
    }
}

impl Call {
    fn tangent(&self, py: Python<'_>, o: &Bound<'_, PyAny>, rule: &str) -> PyResult<Option<Tensor>> {
        if o.is_none() {
            return Ok(None);
        }
        value_of(py, o).map(Some).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{}.{rule}: expected Tensors or None, but got {}",
                self.methods.name,
                super::convert::type_name(o)
            ))
        })
    }

    /// Gradients of the tensors among the arguments.
    fn gradients(&self, py: Python<'_>, results: &[Bound<'_, PyAny>]) -> PyResult<Tangents> {
        let n = self.args.len();
        if results.len() < n || results[n..].iter().any(|o| !o.is_none()) {
            return Err(PyRuntimeError::new_err(format!(
                "{}.backward: function returned an incorrect number of gradients (expected {n}, got {})",
                self.methods.name,
                results.len()
            )));
        }
        self.args
            .iter()
            .zip(results)
            .filter_map(|(a, r)| match a {
                Argument::Tensor { .. } => Some(self.tangent(py, r, "backward")),
                Argument::Other(_) if !r.is_none() && tensor::is_tensor(r.as_ptr()) => {
                    Some(Err(PyRuntimeError::new_err(format!(
                        "{}.backward: returned a gradient different from None for an argument that is no Tensor",
                        self.methods.name
                    ))))
                }
                Argument::Other(_) => None,
            })
            .collect()
    }

    /// `(output, out_dims)` of a vmap staticmethod.
    fn batched_outputs(&self, py: Python<'_>, result: &Bound<'_, PyAny>) -> PyResult<BatchedOutputs> {
        let pair = result.cast::<PyTuple>().ok().filter(|t| t.len() == 2);
        let Some(pair) = pair else {
            return Err(PyRuntimeError::new_err(format!(
                "{}.vmap: expected to return (output, out_dims), a tuple of length 2, but got {}",
                self.methods.name,
                super::convert::type_name(result)
            )));
        };
        let (out, dims) = (pair.get_item(0)?, pair.get_item(1)?);
        let (tensors, _) = self.parse_output(py, &out)?;
        let dim = |o: &Bound<'_, PyAny>, t: &Tensor| -> PyResult<Option<usize>> {
            if o.is_none() {
                return Ok(None);
            }
            let d: i64 = o.extract()?;
            Ok(Some(crate::base::shape::wrap_dim("vmap", d, t.rank())?))
        };
        let one = matches!(&*locked(&self.structure), Some(Structure::One));
        let dims: Vec<Bound<'_, PyAny>> = if one || dims.is_none() || dims.extract::<i64>().is_ok() {
            vec![dims; tensors.len()]
        } else {
            let given = as_list(&dims);
            match &*locked(&self.structure) {
                Some(Structure::Many { constants, .. }) if given.len() == constants.len() => {
                    given.into_iter().zip(constants).filter_map(|(d, c)| c.is_none().then_some(d)).collect()
                }
                _ => given,
            }
        };
        if dims.len() != tensors.len() {
            return Err(PyRuntimeError::new_err(format!(
                "{}.vmap: out_dims has {} entries for {} outputs",
                self.methods.name,
                dims.len(),
                tensors.len()
            )));
        }
        tensors.into_iter().zip(&dims).map(|(t, d)| Ok((t.clone(), dim(d, &t)?))).collect()
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
        Ok(Apply { methods: Arc::new(Methods::of(class)?) })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        if kwargs.is_some_and(|k| !k.is_empty()) {
            return Err(PyTypeError::new_err(format!(
                "{}.apply(): takes no keyword arguments; give them by position",
                self.methods.name
            )));
        }
        let mut arguments = Vec::with_capacity(args.len());
        let mut values: Vec<Tensor> = Vec::with_capacity(args.len());
        for a in args.iter() {
            arguments.push(match value_of(py, &a) {
                Some(value) => {
                    values.push(value.clone());
                    Argument::Tensor { index: values.len() - 1, object: a.unbind(), value }
                }
                None => Argument::Other(a.unbind()),
            });
        }
        if values.iter().all(|v| v.level() == LevelId::DENSE) && level::tracing() == LevelId::DENSE {
            return self.plain(py, args);
        }
        let call = Arc::new(Call {
            methods: self.methods.clone(),
            args: arguments,
            structure: Mutex::new(None),
            classic: Mutex::new(None),
            dirty: Mutex::new(Vec::new()),
        });
        let f: Arc<dyn Function> = call.clone();
        let outs = function::apply(&f, &values)?;
        let mut objects = call.wrap_all(py, &outs)?;
        for &(input, output) in locked(&call.dirty).iter() {
            if let (Some(Argument::Tensor { object, .. }), Some(out)) = (call.args.get(input), outs.get(output)) {
                let object = object.bind(py);
                if let Some(c) = tensor::cell(py, object.as_ptr()) {
                    c.write("mark_dirty", out)?;
                    objects[output] = object.clone();
                }
            }
        }
        call.build_output(py, objects)
    }

    fn __repr__(&self) -> String {
        format!("<apply of {}>", self.methods.name)
    }
}

impl Apply {
    /// Nobody follows: the forward runs on the caller's own objects.
    fn plain<'py>(&self, py: Python<'py>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let _mode = GradMode::set(false);
        let forward = self.methods.forward.bind(py);
        if self.methods.setup_context.is_some() {
            return forward.call1(args.clone());
        }
        let ctx = Bound::new(py, Ctx::default())?;
        ctx.get().set_needs(vec![false; args.len()]);
        let call: Vec<Bound<'py, PyAny>> = std::iter::once(ctx.into_any()).chain(args.iter()).collect();
        forward.call1(PyTuple::new(py, call)?)
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Apply>()?;
    m.add_class::<Ctx>()?;
    m.add_class::<VmapInfo>()
}
