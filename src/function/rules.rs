//! Functions with rules of their own that know nothing of levels: `fwd` and `bwd` for reverse mode, a rule for forward
//! mode, or one of both.
//!
//! NOTE what a call computes. Where a tape follows, the forward is the one that also gives residuals. Those that are
//! arguments or results are saved as such; those that it computed become further outputs, so that each level has its own
//! value of them. Their derivatives are those of the forward as ordinary code, run again for second derivatives. The mode
//! without a rule is the transpose of the other.

use super::draws::Draws;
use super::followers::Followers;
use super::{Context, Forward, Function, Rule, Setup, Source, agree, apply_all, is_tried, transposed};
use crate::base::{Error, Result};
use crate::core::level::GradMode;
use crate::core::method_scope::{self, LevelSet};
use crate::core::node::{Meta, Metas};
use crate::core::origin::{Origin, at_here};
use crate::core::reach::Reach;
use crate::core::{Edge, Outputs, Set, Tangents, Tensor};
use crate::rules::basis;
use crate::transforms::jvp::Duals;
use crate::transforms::reverse::{Tape, pull};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The parts that the user of such a function writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The function itself.
    Function,
    /// What gives results and residuals.
    Fwd,
    /// The rule for reverse mode.
    Bwd,
    /// The rule for forward mode.
    Jvp,
}

/// What a residual is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResidualPlace {
    Input(usize),
    /// A result, or an output of its own.
    Output(usize),
}

/// Why a function runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// For the caller.
    First,
    /// Another function is transposed, and this one is tried: the caller's objects must not be touched.
    Trial,
    /// For the derivative of something that it computed.
    Again,
}

/// What the function gives, or its `fwd`.
pub struct Primal {
    /// The results; behind them what else the residuals are, as unseen outputs. The state is for the rules.
    pub forward: Forward,
    pub residuals: SmallVec<[ResidualPlace; 4]>,
    /// Arguments that were written to, each with the output that is its new value.
    pub written: Vec<(usize, usize)>,
}

/// One call of a function with rules: what its user wrote.
pub trait Rules: Send + Sync + 'static {
    fn name(&self) -> &str;
    /// The name, where it must be quick to pass on.
    fn origin(&self) -> Origin;
    /// What error messages call a part; it has a space in it.
    fn title(&self, part: Part) -> &'static str;
    /// What to write for the mode that has no rule, if the other rule cannot be transposed.
    fn remedy(&self, missing: Rule) -> &'static str;
    fn has(&self, rule: Rule) -> bool;

    /// Whether missing (co)tangents stay missing; otherwise the rules get zeros.
    fn symbolic(&self) -> bool {
        false
    }
    /// An error if one of these arguments must not be differentiated.
    fn check(&self, _needs: &Set) -> Result<()> {
        Ok(())
    }
    /// Whether the rule for reverse mode gets argument `i`, too.
    fn keeps(&self, _i: usize) -> bool {
        false
    }
    /// What error messages call argument `i`.
    fn argument(&self, i: usize) -> String {
        format!("argument {i}")
    }

    /// The function, or its `fwd`.
    fn run(&self, part: Part, args: &[Tensor], turn: Turn) -> Result<Primal>;
    /// Cotangents of the arguments.
    fn backward(&self, at: &At<'_>, cotangents: &[Option<Tensor>]) -> Result<Tangents>;
    /// Tangents of the results.
    fn jvp(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents>;

    /// An error if what was saved must not be read.
    fn check_saved(&self, _at: &At<'_>) -> Result<()> {
        Ok(())
    }
    /// Runs `f` as a part of the call, which must not use values of these levels behind its arguments.
    fn within(&self, part: Part, levels: LevelSet, f: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let _running = method_scope::enter(self.origin(), self.title(part), levels);
        f()
    }
    /// Runs `f` as the rule for reverse mode of a sweep that gives these cotangents.
    fn sweep(
        &self,
        _at: &At<'_>,
        _cotangents: &[Option<Tensor>],
        f: &mut dyn FnMut() -> Result<Tangents>,
    ) -> Result<Tangents> {
        let _running = method_scope::enter(self.origin(), self.title(Part::Bwd), LevelSet::NONE);
        f()
    }

    /// Shows a walk what the call holds of the host language.
    fn reach(&self, _: &mut Reach<'_>) {}
    /// Shows a walk what the state of one of its runs holds.
    fn reach_state(&self, _: &Context, _: &mut Reach<'_>) {}
}

/// What a run leaves.
struct Ran {
    residuals: SmallVec<[ResidualPlace; 4]>,
    written: Vec<(usize, usize)>,
    /// Where the generators stood, if the run drew from one.
    draws: Option<Draws>,
    /// The results, and the outputs that are residuals.
    metas: Metas,
    /// How many results there are.
    count: usize,
    state: Option<Context>,
}

/// What the setup of one level leaves.
struct RuleContext {
    ran: Context,
    /// For each argument which of the saved tensors it is.
    inputs: SmallVec<[Option<usize>; 4]>,
    /// The same for the residuals.
    residuals: SmallVec<[usize; 4]>,
}

/// What the rules of a call read.
pub struct At<'a> {
    pub setup: &'a Setup,
    kept: &'a RuleContext,
    ran: &'a Ran,
}

impl<'a> At<'a> {
    /// Which of the saved tensors each argument is; `None` for those that no rule asks for.
    pub fn inputs(&self) -> &'a [Option<usize>] {
        &self.kept.inputs
    }
    /// Which of the saved tensors each residual is.
    pub fn residuals(&self) -> &'a [usize] {
        &self.kept.residuals
    }
    pub fn saved(&self) -> &'a [Tensor] {
        &self.setup.saved
    }
    /// What the rules' own run left.
    pub fn state(&self) -> Option<&'a Context> {
        self.ran.state.as_ref()
    }
    /// The results.
    pub fn outputs(&self) -> &'a [Meta] {
        &self.ran.metas[..self.ran.count]
    }
    fn input(&self, i: usize) -> Option<&'a Tensor> {
        self.kept.inputs[i].map(|k| &self.setup.saved[k])
    }
    /// The arguments among these, with their numbers, that have derivatives.
    fn differentiable(&self, among: impl Fn(usize) -> bool) -> Varied<'a> {
        let inputs = (0..self.kept.inputs.len()).filter(|&i| among(i)).filter_map(|i| Some((i, self.input(i)?)));
        inputs.filter(|(_, x)| x.dtype().is_differentiable()).collect()
    }
}

/// Arguments that a derivative is taken by.
type Varied<'a> = SmallVec<[(usize, &'a Tensor); 4]>;

/// A call of a function with rules, as a function.
pub struct Ruled<R> {
    pub rules: R,
    part: Part,
    /// How many levels differentiate the call.
    levels: usize,
    live: LevelSet,
}

/// Runs a function with rules on values that `followers` follow. Gives all outputs, and the call.
///
/// # Errors
/// Those of the rules, and those of levels that the values belong to.
pub fn apply_rules<R: Rules>(rules: R, args: &[Tensor], followers: Followers) -> Result<(Arc<Ruled<R>>, Forward)> {
    let needed = followers.tapes > 0 || followers.traced || !rules.has(Rule::Jvp);
    let part = if rules.has(Rule::Backward) && needed { Part::Fwd } else { Part::Function };
    // A traced call may run again under any levels.
    let levels = if followers.traced { usize::MAX } else { followers.levels() };
    let call = Arc::new(Ruled { rules, part, levels, live: LevelSet::live() });
    let f: Arc<dyn Function> = call.clone();
    let run = apply_all(&f, args)?;
    Ok((call, run))
}

/// What the rules' own run left behind this one.
pub fn state_of(run: &Forward) -> Option<&Context> {
    run.state.as_ref()?.downcast_ref::<Ran>()?.state.as_ref()
}

fn missing_state(name: &str) -> Error {
    Error::internal(format!("{name}: its forward has not run"))
}

impl<R: Rules> Ruled<R> {
    fn at<'a>(&self, setup: &'a Setup) -> Result<At<'a>> {
        let kept = setup.context.downcast_ref::<RuleContext>();
        let ran = kept.and_then(|k| Some((k, k.ran.downcast_ref::<Ran>()?)));
        let (kept, ran) = ran.ok_or_else(|| missing_state(self.rules.name()))?;
        Ok(At { setup, kept, ran })
    }

    fn source(&self, part: Part, missing: Rule) -> Source<'_> {
        let rules = &self.rules;
        let (rule, fix) = (rules.title(part), rules.remedy(missing));
        Source::Named { function: rules.name(), rule, derived: missing, fix }
    }

    fn backward_rule(&self, at: &At<'_>, cotangents: &[Option<Tensor>]) -> Result<Tangents> {
        method_scope::rename(self.rules.title(Part::Bwd));
        if self.rules.symbolic() || cotangents.iter().zip(at.outputs()).all(|(c, m)| !is_missing(c, m)) {
            return self.rules.backward(at, cotangents);
        }
        let dense = |(c, m): (&Option<Tensor>, &Meta)| match is_missing(c, m) {
            true => basis::full(&m.shape, m.dtype, 0.0).map(Some),
            false => Ok(c.clone()),
        };
        let filled = cotangents.iter().zip(at.outputs()).map(dense).collect::<Result<Tangents>>()?;
        self.rules.backward(at, &filled)
    }

    fn forward_rule(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        method_scope::rename(self.rules.title(Part::Jvp));
        let mut given: Tangents = tangents.iter().cloned().collect();
        if !self.rules.symbolic() {
            for (i, t) in given.iter_mut().enumerate().filter(|(_, t)| t.is_none()) {
                if let Some(x) = at.input(i)
                    && x.dtype().is_differentiable()
                {
                    *t = Some(basis::zeros_like(x)?);
                }
            }
        }
        let _again = at.ran.draws.as_ref().map(Draws::again);
        self.rules.jvp(at, &given)
    }

    /// Cotangents by the transpose of the forward rule, which must be linear in the tangents.
    fn transposed_forward(&self, at: &At<'_>, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        let varied = at.differentiable(|i| needs.has(i));
        let metas: SmallVec<[Meta; 4]> = varied.iter().map(|(_, x)| Meta::of(x)).collect();
        let rule = |directions: &[Option<Tensor>]| {
            let mut tangents: Tangents = smallvec![None; at.inputs().len()];
            for ((i, _), t) in varied.iter().zip(directions) {
                tangents[*i].clone_from(t);
            }
            self.forward_rule(at, &tangents)
        };
        let pulled = transposed(&self.source(Part::Jvp, Rule::Backward), &metas, cotangents, rule)?;
        let mut grads: Tangents = smallvec![None; at.inputs().len()];
        for ((i, _), g) in varied.iter().zip(pulled) {
            grads[*i] = g;
        }
        Ok(grads)
    }

    /// Tangents by the transpose of the backward rule, which must be linear in the cotangents.
    fn transposed_backward(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let differentiable = |(_, m): &(usize, &Meta)| m.dtype.is_differentiable();
        let outputs: SmallVec<[(usize, &Meta); 2]> = at.outputs().iter().enumerate().filter(differentiable).collect();
        let metas: SmallVec<[Meta; 2]> = outputs.iter().map(|(_, m)| (*m).clone()).collect();
        let rule = |vectors: &[Option<Tensor>]| {
            let mut cotangents: Tangents = smallvec![None; at.outputs().len()];
            for ((i, _), c) in outputs.iter().zip(vectors) {
                cotangents[*i].clone_from(c);
            }
            self.backward_rule(at, &cotangents)
        };
        let pushed = transposed(&self.source(Part::Bwd, Rule::Jvp), &metas, tangents, rule)?;
        let mut out: Tangents = smallvec![None; at.outputs().len()];
        for ((i, _), t) in outputs.iter().zip(pushed) {
            out[*i] = t;
        }
        Ok(out)
    }

    /// The outputs that are residuals, of another run with some arguments in another form.
    fn residuals_again(&self, at: &At<'_>, varied: &[(usize, Tensor)]) -> Result<Vec<Tensor>> {
        let args = (0..at.inputs().len()).map(|i| match varied.iter().find(|v| v.0 == i) {
            Some((_, x)) => Ok(x.clone()),
            None => at.input(i).cloned().ok_or_else(|| missing_state(self.rules.name())),
        });
        let args = args.collect::<Result<SmallVec<[Tensor; 4]>>>()?;
        method_scope::rename(self.rules.title(self.part));
        let again = {
            let _again = at.ran.draws.as_ref().map(Draws::again);
            self.rules.run(self.part, &args, Turn::Again)?
        };
        let count = again.forward.results() - again.forward.unseen;
        let computed = &again.forward.outputs[count..again.forward.results()];
        let known = |n: usize| {
            let j = at.ran.residuals.iter().position(|p| *p == ResidualPlace::Output(at.ran.count + n))?;
            Some(&at.saved()[at.kept.residuals[j]])
        };
        let mut same =
            again.residuals.len() == at.ran.residuals.len() && computed.len() == at.ran.metas.len() - at.ran.count;
        for (n, value) in computed.iter().enumerate() {
            same = same && known(n).map_or(Ok(true), |first| agree(first, value))?;
        }
        if !same {
            return Err(self.other_residuals());
        }
        Ok(computed.to_vec())
    }

    #[cold]
    fn other_residuals(&self) -> Error {
        Error::runtime(format!(
            "{}: {} runs once more, to differentiate the residuals that it computes, and then gives other residuals than \
             the first time, because it draws random numbers of NumPy, random or a generator, or keeps a state. Draw with \
             pullback, or pass what was drawn as an argument{}",
            self.rules.name(),
            self.rules.title(self.part),
            at_here()
        ))
    }

    /// What the cotangents of residuals add to those of the arguments.
    fn pull_residuals(&self, at: &At<'_>, further: &[Option<Tensor>], needs: &Set, into: &mut Tangents) -> Result<()> {
        let varied = at.differentiable(|i| needs.has(i));
        if varied.is_empty() {
            return Ok(());
        }
        let mut tape = Tape::open(Origin::UNKNOWN)?;
        let leaves: SmallVec<[(usize, Tensor); 4]> = varied.iter().map(|(i, x)| (*i, tape.leaf(x))).collect();
        let outs = self.residuals_again(at, &leaves)?;
        let mut roots: SmallVec<[(Edge, Tensor); 4]> = SmallVec::new();
        for (o, c) in outs.iter().zip(further) {
            if let (Some(c), (_, Some(edge))) = (c, tape.detach(o)?) {
                roots.push((edge, c.clone()));
            }
        }
        drop((leaves, outs));
        let nodes = tape.close();
        for ((i, _), g) in varied.iter().zip(pull(&nodes, roots, false)?) {
            into[*i] = match (into[*i].take(), g) {
                (Some(a), Some(b)) => Some(basis::add(&a, &b)?),
                (a, b) => a.or(b),
            };
        }
        Ok(())
    }

    /// Tangents of the residuals.
    fn push_residuals(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let varied = at.differentiable(|i| tangents[i].is_some());
        let metas = &at.ran.metas[at.ran.count..];
        if varied.is_empty() || !metas.iter().any(|m| m.dtype.is_differentiable()) {
            return Ok(smallvec![None; metas.len()]);
        }
        let duals = Duals::open(Origin::UNKNOWN)?;
        let lift = |(i, x): &(usize, &Tensor)| match &tangents[*i] {
            Some(t) => Ok((*i, duals.lift(x, t)?)),
            None => Ok((*i, (*x).clone())),
        };
        let lifted = varied.iter().map(lift).collect::<Result<SmallVec<[(usize, Tensor); 4]>>>()?;
        let outs = self.residuals_again(at, &lifted)?;
        drop(lifted);
        let lowered = |(o, m): (&Tensor, &Meta)| {
            let (_, tangent) = duals.lower(o)?;
            Ok(tangent.filter(|_| m.dtype.is_differentiable()))
        };
        outs.iter().zip(metas).map(lowered).collect()
    }

    fn pulled(&self, at: &At<'_>, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        self.rules.check_saved(at)?;
        let (own, further) = cotangents.split_at(at.ran.count.min(cotangents.len()));
        let mut grads: Tangents = smallvec![None; at.inputs().len()];
        if own.iter().any(Option::is_some) {
            grads = match self.part {
                Part::Fwd => self.backward_rule(at, own)?,
                _ => self.transposed_forward(at, own, needs)?,
            };
        }
        if further.iter().any(Option::is_some) {
            grads.resize(grads.len().max(at.inputs().len()), None);
            self.pull_residuals(at, further, needs, &mut grads)?;
        }
        for (i, g) in grads.iter_mut().enumerate() {
            if i < at.inputs().len() && !needs.has(i) {
                *g = None;
            }
        }
        Ok(grads)
    }

    fn pushed(&self, at: &At<'_>, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        self.rules.check_saved(at)?;
        let mut found = match self.rules.has(Rule::Jvp) {
            true => self.forward_rule(at, tangents)?,
            false => self.transposed_backward(at, tangents)?,
        };
        let further = at.ran.metas.len() - at.ran.count;
        if further == 0 || found.len() != at.ran.count {
            return Ok(found);
        }
        // Levels above this one may differentiate the residuals; the highest has no use for their tangents.
        let values = at.saved().iter().chain(tangents.iter().flatten());
        let is_highest = Followers::of(values).levels() + 1 >= self.levels;
        found.extend(match is_highest {
            true => smallvec![None; further],
            false => self.push_residuals(at, tangents)?,
        });
        Ok(found)
    }
}

fn is_missing(c: &Option<Tensor>, m: &Meta) -> bool {
    c.is_none() && m.dtype.is_differentiable()
}

impl<R: Rules> Function for Ruled<R> {
    fn name(&self) -> &str {
        self.rules.name()
    }

    fn argument(&self, i: usize) -> String {
        self.rules.argument(i)
    }

    fn forward(&self, args: &[Tensor]) -> Result<Forward> {
        let _mode = GradMode::set(false);
        let turn = if is_tried() { Turn::Trial } else { Turn::First };
        let mut found = None;
        let (ran, draws) = Draws::of(|| {
            self.rules.within(self.part, self.live.tapes_and_hidden(), &mut || {
                found = Some(self.rules.run(self.part, args, turn)?);
                Ok(())
            })
        });
        ran?;
        let Primal { mut forward, residuals, written } = found.ok_or_else(|| missing_state(self.name()))?;
        let results = forward.results();
        let (count, metas) = (results - forward.unseen, forward.outputs[..results].iter().map(Meta::of).collect());
        let state = forward.state.take();
        forward.state = Some(Arc::new(Ran { residuals, written, draws, metas, count, state }));
        Ok(forward)
    }

    fn rerun(&self, _: &Setup, args: &[Tensor]) -> Result<Outputs> {
        let mut outputs = Outputs::new();
        self.rules.within(self.part, LevelSet::NONE, &mut || {
            outputs = self.rules.run(self.part, args, Turn::Again)?.forward.outputs;
            Ok(())
        })?;
        Ok(outputs)
    }

    fn setup(&self, inputs: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        self.rules.check(needs)?;
        let missing = || missing_state(self.name());
        let context = run.state.clone().ok_or_else(missing)?;
        let ran = context.downcast_ref::<Ran>().ok_or_else(missing)?;
        // Only the rule for reverse mode reads nothing but the residuals, and only where these need no derivative.
        let sparing = !needs.is_empty()
            && self.part == Part::Fwd
            && !ran.metas[ran.count..].iter().any(|m| m.dtype.is_differentiable());
        let mut setup = Setup::saving([]);
        setup.materialize = false;
        let mut kept =
            RuleContext { ran: context.clone(), inputs: smallvec![None; inputs.len()], residuals: SmallVec::new() };
        for (i, x) in inputs.iter().enumerate() {
            if !sparing || ran.residuals.contains(&ResidualPlace::Input(i)) || self.rules.keeps(i) {
                kept.inputs[i] = Some(setup.saved.len());
                let written = ran.written.iter().find(|w| w.0 == i);
                setup.saved.push(written.map_or(x, |w| &run.outputs[w.1]).clone());
            }
        }
        for (j, place) in ran.residuals.iter().enumerate() {
            let number = match place {
                ResidualPlace::Input(i) => kept.inputs[*i].ok_or_else(missing)?,
                ResidualPlace::Output(_) => match ran.residuals[..j].iter().position(|p| p == place) {
                    Some(before) => kept.residuals[before],
                    None => setup.saved.len(),
                },
            };
            if let (ResidualPlace::Output(n), true) = (place, number == setup.saved.len()) {
                setup.saved.push(run.outputs[*n].clone());
            }
            kept.residuals.push(number);
        }
        setup.context = Arc::new(kept);
        Ok(setup)
    }

    fn backward(&self, setup: &Setup, cotangents: &[Option<Tensor>], needs: &Set) -> Result<Tangents> {
        let at = self.at(setup)?;
        self.rules.sweep(&at, cotangents, &mut || self.pulled(&at, cotangents, needs))
    }

    fn jvp(&self, setup: &Setup, tangents: &[Option<Tensor>]) -> Result<Tangents> {
        let given: Set = tangents.iter().enumerate().filter(|(_, t)| t.is_some()).map(|(i, _)| i).collect();
        self.rules.check(&given)?;
        let at = self.at(setup)?;
        let mut found = Tangents::new();
        self.rules.within(Part::Jvp, self.live.hidden(), &mut || {
            found = self.pushed(&at, tangents)?;
            Ok(())
        })?;
        Ok(found)
    }

    fn reach(&self, reach: &mut Reach<'_>) {
        self.rules.reach(reach);
    }

    fn reach_context(&self, context: &Context, reach: &mut Reach<'_>) {
        if let Some(kept) = context.downcast_ref::<RuleContext>()
            && let Some(ran) = kept.ran.downcast_ref::<Ran>()
            && reach.owns(&kept.ran)
            && let Some(state) = &ran.state
            && Arc::strong_count(state) == 1
        {
            self.rules.reach_state(state, reach);
        }
    }
}
