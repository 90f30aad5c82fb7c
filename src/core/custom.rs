//! Custom functions at the interpreters: what a run gives is handed up from level to level as one value.

use super::call::{instead, stripped, tangent_at, top_level, unwrap_dual};
use super::level::{self, LevelFlags, LevelId, LevelTag};
use super::node::Node;
use super::params::Params;
use super::primitive::{Outputs, Prim};
use super::saved_context::Context;
use super::set::Set;
use super::tensor::Tensor;
use super::{forward, method_scope, shared, trace};
use crate::base::Result;
use smallvec::SmallVec;
use std::any::Any;

/// What a run of a custom function gives: values of one level, and what is true of them at each.
#[derive(Default)]
pub struct Forward {
    /// The results, and behind them the hidden outputs.
    pub outputs: Outputs,
    /// How many of the last outputs are no results, but other values of the forward that the setup saves. Nobody gives a
    /// rule for these: differentiating through one runs the forward again.
    pub hidden: usize,
    /// How many of the results, the last ones before the hidden outputs, only the setup sees. The rules take them as they
    /// take results, but nobody uses them otherwise.
    pub unseen: usize,
    /// Arguments that were changed in place, each with the output that is its new value.
    pub dirty: Vec<(usize, usize)>,
    /// Outputs that carry no derivative.
    pub constant: Set,
    /// What else the setup needs to know of the run; `None` if nothing.
    pub state: Option<Context>,
}

impl Forward {
    /// A run that gives these results and nothing else.
    pub fn of(outputs: impl IntoIterator<Item = Tensor>) -> Forward {
        Forward { outputs: outputs.into_iter().collect(), ..Forward::default() }
    }

    /// How many of the outputs the rules know.
    #[inline]
    pub fn results(&self) -> usize {
        self.outputs.len() - self.hidden.min(self.outputs.len())
    }

    /// The same run with other outputs.
    #[inline]
    #[must_use]
    pub fn with(self, outputs: Outputs) -> Forward {
        Forward { outputs, ..self }
    }
}

/// What a custom function does in place of the interpreters' steps for table operators. Each method gets values of
/// `level` and gives values of `level`.
pub trait Custom: Send + Sync {
    /// On plain arrays.
    fn forward(&self, args: &[&Tensor]) -> Result<Forward>;
    fn tape(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor], needs: &Set) -> Result<Forward>;
    fn dual(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Forward>;
    fn batch(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Forward>;
    /// For each value that `node` saved, its tangent at the level of `forward_ad` of these arguments and results.
    fn saved_tangents(
        &self,
        level: LevelId,
        args: &[&Tensor],
        run: &mut Forward,
        node: &Node,
    ) -> Result<Vec<Option<Tensor>>>;
    fn as_any(&self) -> &dyn Any;
}

/// Runs a custom function, which `me` is.
#[inline]
pub fn call_custom(custom: &dyn Custom, me: Prim<'_>, args: &[&Tensor]) -> Result<Forward> {
    let top = top_level(args);
    if top == LevelId::DENSE {
        return custom.forward(args);
    }
    let flags = LevelFlags::at(top);
    if let Some(args) = instead(top, flags, me, args)? {
        return call_custom(custom, me, &args.iter().collect::<SmallVec<[&Tensor; 4]>>());
    }
    let Some(kind) = flags.kind else { return Err(level::escaped(top, "a transform")) };
    interpret(custom, kind, me, args, top)
}

pub(super) fn interpret(
    custom: &dyn Custom,
    kind: LevelTag,
    me: Prim<'_>,
    args: &[&Tensor],
    top: LevelId,
) -> Result<Forward> {
    match kind {
        LevelTag::Tape => {
            if !level::records(top) {
                return call_custom(custom, me, &stripped(top, args));
            }
            let differentiated = |a: &Tensor| a.level() == top && a.dtype().is_differentiable();
            let needs = args.iter().enumerate().filter(|(_, a)| differentiated(a)).map(|(i, _)| i).collect();
            custom.tape(top, me, args, &needs)
        }
        LevelTag::Dual | LevelTag::ForwardAd if !level::propagates(top) => {
            call_custom(custom, me, &stripped(top, args))
        }
        LevelTag::Dual => custom.dual(top, me, args),
        LevelTag::ForwardAd => {
            let mut run = custom.dual(top, me, args)?;
            attach(custom, top, args, &mut run)?;
            Ok(run)
        }
        LevelTag::Batch if method_scope::forbids(top) => shared::custom(top, custom, me, args),
        LevelTag::Batch => custom.batch(top, me, args),
        LevelTag::Trace => {
            let mut run = Forward::default();
            let outputs = trace::record(&*level::recorder(top)?, top, me, &Params::None, args, |args| {
                run = call_custom(custom, me, args)?;
                Ok(std::mem::take(&mut run.outputs))
            })?;
            Ok(run.with(outputs))
        }
        // Its forward is ordinary code, or knows what to do with values without data.
        LevelTag::Abstract => custom.forward(args),
    }
}

/// Gives what recorded the results below the tangents of what it saved.
fn attach(custom: &dyn Custom, top: LevelId, args: &[&Tensor], run: &mut Forward) -> Result<()> {
    let outs = run.outputs.clone();
    let tangents: SmallVec<[Option<&Tensor>; 2]> = outs.iter().map(|o| tangent_at(top, o)).collect();
    let primals: SmallVec<[&Tensor; 2]> =
        outs.iter().map(|o| if o.level() == top { o.below().unwrap_or(o) } else { o }).collect();
    let others = match forward::saved_elsewhere(&primals) {
        Some(node) => custom.saved_tangents(top, args, run, &node)?,
        None => Vec::new(),
    };
    forward::attach(top, &unwrap_dual(top, args).1, &primals, &tangents, &others);
    Ok(())
}
