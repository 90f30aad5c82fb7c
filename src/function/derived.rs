//! Rules that a function does not give, derived from those that it gives. Both rules are linear, so each is the
//! transpose of the other: it is taped at zero and swept. That it is linear is checked on the way.

use super::linearity::{self, is_zero, vanishes};
use super::{Function, Rule, Setup, Values, fitted};
use crate::base::{Error, Result};
use crate::core::level::{self, Guard};
use crate::core::node::Meta;
use crate::core::origin::{Origin, at_here};
use crate::core::tensor::Payload;
use crate::core::trace::Recorder;
use crate::core::{Edge, Node, Set, Tangents, Tensor};
use crate::rules::basis;
use crate::transforms::reverse::{Tape, pull};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The rule that is transposed, for errors.
pub enum Source<'a> {
    /// That of a function which has none for this mode.
    Function(&'a dyn Function, Rule),
    /// One that has a name of its own; `fix` says what to write for the other mode.
    #[doc(hidden)]
    Named { function: &'a str, rule: &'a str, derived: Rule, fix: &'a str },
}

impl Source<'_> {
    fn derived(&self) -> Rule {
        match *self {
            Source::Function(_, rule) => rule,
            Source::Named { derived, .. } => derived,
        }
    }

    /// The error for a rule that is neither given nor can be derived.
    #[cold]
    fn underivable(&self, why: &str) -> Error {
        let here = at_here();
        match *self {
            Source::Named { function, rule, fix, .. } => {
                Error::not_implemented(format!("{function}: {rule} cannot be transposed: {why}; {fix}{here}"))
            }
            Source::Function(f, rule) => {
                let (name, method) = (f.name(), method(rule));
                let (rule, from) = names(rule);
                Error::not_implemented(format!(
                    "{name}: has no {rule} staticmethod, and it cannot be derived from {from}: {why}. {method}{here}"
                ))
            }
        }
    }

    /// The error for a rule that is not linear.
    #[cold]
    fn not_linear(&self, why: &str) -> Error {
        let here = at_here();
        let vectors = match self.derived() {
            Rule::Jvp => "gradients",
            Rule::Backward => "tangents",
        };
        Error::runtime(match *self {
            Source::Named { function, rule, fix, .. } => format!(
                "{function}: {rule} is not linear in the {vectors}, so that its transpose is no derivative: {why}; \
                 {fix}{here}"
            ),
            Source::Function(f, rule) => format!(
                "{}: has no {} staticmethod, and it cannot be derived from {}, which is not linear in the {vectors}: \
                 {why}. {}{here}",
                f.name(),
                names(rule).0,
                names(rule).1,
                method(rule)
            ),
        })
    }

    /// Result `i` of the rule in the shape of what it goes along with.
    fn fit<'r>(&self, i: usize, result: &'r Tensor, along: &Tensor) -> Result<Cow<'r, Tensor>> {
        if result.shape() == along.shape() {
            return Ok(Cow::Borrowed(result));
        }
        let wrong = |of: &str| {
            Error::runtime(format!(
                "{of}: result {i} is invalid - got {} but expected shape compatible with {}{}",
                result.shape(),
                along.shape(),
                at_here()
            ))
        };
        match self {
            Source::Function(f, Rule::Jvp) => {
                Ok(fitted(*f, i, result, &Meta::of(along))?.map_or(Cow::Borrowed(result), Cow::Owned))
            }
            Source::Function(f, Rule::Backward) => Err(Error::runtime(format!(
                "{}.jvp: tangent {i} has dtype {} and shape {}, expected those of output {i}: {} and {}{}",
                f.name(),
                result.dtype(),
                result.shape(),
                along.dtype(),
                along.shape(),
                at_here()
            ))),
            Source::Named { derived: Rule::Jvp, .. } if super::repeats(along.shape(), result.shape()) => {
                basis::unbroadcast(result.clone(), along.shape()).map(Cow::Owned)
            }
            Source::Named { function, rule, .. } => Err(wrong(&format!("{function}: {rule}"))),
        }
    }
}

fn names(rule: Rule) -> (&'static str, &'static str) {
    match rule {
        Rule::Jvp => ("jvp", "backward"),
        Rule::Backward => ("backward", "jvp"),
    }
}

fn method(rule: Rule) -> String {
    let signature = match rule {
        Rule::Jvp => "jvp(ctx, *grad_inputs)",
        Rule::Backward => "backward(ctx, *grad_outputs)",
    };
    format!("Write\n    @staticmethod\n    def {signature}: ...")
}

/// The error for a rule that nobody gives.
#[cold]
fn missing(f: &dyn Function, rule: Rule) -> Error {
    let (name, here) = (f.name(), at_here());
    if let Some(words) = f.wording() {
        let mode = match rule {
            Rule::Backward => "backward",
            Rule::Jvp => "use forward mode",
        };
        return Error::runtime(format!("Trying to {mode} through {name}{}{here}", words.none));
    }
    Error::not_implemented(match rule {
        Rule::Backward => format!(
            "{name}: has no backward staticmethod. You must implement either the backward or vjp method to use it with \
             reverse mode; write\n    @staticmethod\n    def backward(ctx, *grad_outputs): ...{here}"
        ),
        Rule::Jvp => format!(
            "{name}: has no jvp staticmethod. You must implement the jvp function to use it with forward mode AD; \
             write\n    @staticmethod\n    def jvp(ctx, *grad_inputs): ...{here}"
        ),
    })
}

/// A taped linear map: leaves, and where its results hang. Below its tape a trace writes down what depends on the leaves.
struct Map {
    tape: Tape,
    trace: Guard,
    recorder: Arc<Recorder>,
    leaves: SmallVec<[Option<Tensor>; 4]>,
}

impl Map {
    /// Leaves of these shapes where `wanted`. They are zeros, at which a linear map is zero.
    fn open(metas: impl Iterator<Item = (Meta, bool)>) -> Result<Map> {
        let recorder = Arc::new(Recorder::noting(linearity::is_notable));
        let trace = level::push_trace(recorder.clone(), Origin::UNKNOWN);
        let mut tape = Tape::open(Origin::UNKNOWN)?;
        let mut leaves = SmallVec::new();
        for (m, wanted) in metas {
            leaves.push(match wanted {
                true => {
                    let zeros = basis::full(&m.shape, m.dtype, 0.0)?;
                    Some(tape.leaf(&Tensor::traced(trace.id(), zeros, recorder.new_var(m))))
                }
                false => None,
            });
        }
        Ok(Map { tape, trace, recorder, leaves })
    }

    /// Pulls `along` back from the map's results, one for each leaf.
    fn transpose(self, source: &Source<'_>, results: Tangents, along: &[Option<Tensor>]) -> Result<Tangents> {
        let Map { tape, trace, recorder, leaves } = self;
        let mut roots: SmallVec<[(Edge, Tensor); 4]> = SmallVec::new();
        let (mut vars, mut values): (SmallVec<[u32; 4]>, Values) = (SmallVec::new(), Values::new());
        let mut cut = false;
        for (i, (r, a)) in results.iter().zip(along).enumerate() {
            let (Some(r), Some(a)) = (r, a) else { continue };
            let (value, edge) = tape.detach(&*source.fit(i, r, a)?)?;
            let Some(Payload::Traced { value, var }) = value.payload_at(trace.id()) else {
                if is_zero(&value) {
                    continue;
                }
                let why = format!("result {i} does not depend on them by operators, and is not zero");
                return Err(source.not_linear(&why));
            };
            vars.push(*var);
            values.push(value.clone());
            match edge {
                Some(edge) => roots
                    .push((edge, if a.dtype() == value.dtype() { a.clone() } else { basis::cast(a, value.dtype())? })),
                None => cut = true,
            }
        }
        let found = linearity::inspect(&recorder.take(), &vars)?;
        if let Some(fault) = found.fault {
            return Err(source.not_linear(&fault.to_string()));
        }
        if !values.iter().all(|v| vanishes(v, found.added.is_none())) {
            let added = found.added.map(|a| a.to_string());
            return Err(source.not_linear(&added.unwrap_or_else(|| "it is not zero where they are".into())));
        }
        if cut {
            return Err(source.underivable("its result does not depend on its arguments by operators"));
        }
        let places: SmallVec<[bool; 4]> = leaves.iter().map(Option::is_some).collect();
        drop((leaves, results, values));
        let nodes: SmallVec<[Arc<Node>; 2]> = tape.close();
        let pulled = pull(&nodes, roots, false)?;
        // What a custom function among the steps saved counts as following the vectors; what is linear has a transpose that
        // does not depend on them.
        let untraced = |t: Tensor| if t.level() == trace.id() { t.below().cloned().unwrap_or(t) } else { t };
        let pulled: Tangents = pulled.into_iter().map(|t| t.map(untraced)).collect();
        drop(trace);
        let mut pulled = pulled.into_iter();
        Ok(places.into_iter().map(|p| if p { pulled.next().flatten() } else { None }).collect())
    }
}

/// The transpose of a rule that takes vectors of these shapes, at `along`; one result for each vector.
pub fn transposed(
    source: &Source<'_>,
    vectors: &[Meta],
    along: &[Option<Tensor>],
    rule: impl FnOnce(&[Option<Tensor>]) -> Result<Tangents>,
) -> Result<Tangents> {
    let map = Map::open(vectors.iter().map(|m| (m.clone(), true)))?;
    let given = map.leaves.clone();
    let results = rule(&given)?;
    drop(given);
    map.transpose(source, results, along)
}

/// Those that are there.
pub fn present(tangents: &[Option<Tensor>]) -> Set {
    tangents.iter().enumerate().filter(|(_, t)| t.is_some()).map(|(i, _)| i).collect()
}

/// The tangents of the outputs from the function's backward.
pub fn jvp(f: &dyn Function, setup: &Setup, outs: &[Tensor], tangents: &[Option<Tensor>]) -> Result<Tangents> {
    if !f.has(Rule::Backward) || f.once() {
        return Err(missing(f, Rule::Jvp));
    }
    let source = match f.wording() {
        Some(w) => Source::Named { function: f.name(), rule: w.backward, derived: Rule::Jvp, fix: w.instead },
        None => Source::Function(f, Rule::Jvp),
    };
    let needs = present(tangents);
    let wanted = |i: usize, o: &Tensor| o.dtype().is_differentiable() && !setup.non_differentiable.has(i);
    let map = Map::open(outs.iter().enumerate().map(|(i, o)| (Meta::of(o), wanted(i, o))))?;
    let mut cotangents: SmallVec<[Option<Tensor>; 4]> = map.leaves.clone();
    for (c, o) in cotangents.iter_mut().zip(outs) {
        if c.is_none() && setup.materialize && o.dtype().is_differentiable() {
            *c = Some(basis::zeros_like(o)?);
        }
    }
    let grads = f.backward(setup, &cotangents, &needs).map_err(|e| e.quoted(|why| source.underivable(why)))?;
    drop(cotangents);
    let mut out = map.transpose(&source, grads, tangents)?;
    for (t, o) in out.iter_mut().zip(outs) {
        if t.is_none() && o.dtype().is_differentiable() && setup.materialize {
            *t = Some(basis::zeros_like(o)?);
        }
    }
    Ok(out)
}

/// The cotangents of the inputs in `needs` from the function's jvp.
pub fn backward(
    f: &dyn Function,
    setup: &Setup,
    inputs: &[Meta],
    cotangents: &[Option<Tensor>],
    needs: &Set,
) -> Result<Tangents> {
    if !f.has(Rule::Jvp) {
        return Err(missing(f, Rule::Backward));
    }
    let source = Source::Function(f, Rule::Backward);
    let map = Map::open(inputs.iter().enumerate().map(|(i, m)| (m.clone(), needs.has(i))))?;
    let mut given: SmallVec<[Option<Tensor>; 4]> = map.leaves.clone();
    for (t, m) in given.iter_mut().zip(inputs) {
        if t.is_none() && setup.materialize && m.dtype.is_differentiable() {
            *t = Some(basis::full(&m.shape, m.dtype, 0.0)?);
        }
    }
    let results = f.jvp(setup, &given).map_err(|e| e.quoted(|why| source.underivable(why)))?;
    drop(given);
    map.transpose(&source, results, cotangents)
}
