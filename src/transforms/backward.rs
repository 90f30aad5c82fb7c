//! The reverse sweep over a tape. It knows no operator: it needs to add cotangents and to cast them.

use super::reverse_queue::ReverseQueue;
use super::task::{self, RunningTask};
use crate::base::Result;
use crate::core::forward;
use crate::core::host::{self, Anomaly};
use crate::core::level::{Below, GradMode};
use crate::core::node::{Extra, Link, Node, NodeHook, NodeKind, Residual, Residuals as Saved, locked};
use crate::core::{Edge, Mask, Params, Point, Prim, Tangents, Tensor};
use crate::ops::cost::is_long_rule;
use crate::ops::{compare, reduce};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Gets each node that the sweep reached, with the cotangents of its outputs, consumers before producers; returns
/// whether to go on below the node.
pub type Visit<'a> = &'a mut dyn FnMut(&Arc<Node>, &[Option<Tensor>]) -> Result<bool>;

/// How a sweep runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Keep residuals for another sweep.
    pub retain: bool,
    /// Record the sweep itself, so that its results can be differentiated on the same tape.
    pub create_graph: bool,
}

/// The nodes that a sweep goes to, by number.
pub type Within = Rc<FxHashSet<u64>>;

/// How a sweep treats the residuals of the nodes that it passes.
#[derive(Clone, Copy)]
struct Residuals {
    keep: bool,
    /// Give them their nodes back, because their level still records.
    relink: bool,
}

/// After how many nodes a sweep asks whether to stop.
const POLL: usize = 1024;

/// Runs the sweep from `roots` (outputs with their cotangents) over a tape that is still open, to the nodes of `within`
/// only, if given; the others keep their residuals.
pub fn sweep(
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    options: Options,
    within: Option<Within>,
    visit: Visit<'_>,
) -> Result<()> {
    let _mode = GradMode::set(options.create_graph && crate::core::level::grad_enabled());
    run(roots, Residuals { keep: options.retain, relink: options.create_graph }, within, visit)
}

/// Runs the sweep over a tape whose level is closed: nothing records there any more, and the levels below record by the
/// present grad mode.
pub fn sweep_closed(roots: impl IntoIterator<Item = (Edge, Tensor)>, retain: bool, visit: Visit<'_>) -> Result<()> {
    run(roots, Residuals { keep: retain, relink: false }, None, visit)
}

fn run(
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    residuals: Residuals,
    within: Option<Within>,
    visit: Visit<'_>,
) -> Result<()> {
    let mut queue = ReverseQueue::new();
    let mut starts = SmallVec::new();
    let asked = task::may_be_asked();
    for (edge, grad) in roots {
        if asked {
            starts.push(edge.node.clone());
        }
        queue.give(edge, grad)?;
    }
    let task = RunningTask::start(starts, within.clone(), residuals.keep);
    let mut passed = 0usize;
    while let Some(mut p) = queue.pop() {
        passed += 1;
        if passed.is_multiple_of(POLL) {
            host::poll()?;
        }
        let mut grads = match p.rest.take() {
            None => pass(&mut p.node, std::slice::from_mut(&mut p.first), residuals, within.as_ref(), &mut *visit)?,
            Some(rest) => {
                let mut all: Tangents = std::iter::once(p.first.take()).chain(*rest).collect();
                pass(&mut p.node, &mut all, residuals, within.as_ref(), &mut *visit)?
            }
        };
        let wanted = |e: &Edge| within.as_ref().is_none_or(|w| w.contains(&e.node.seq));
        if !residuals.keep
            && let Some(node) = Arc::get_mut(&mut p.node)
        {
            // Nobody comes back to this node: its edges move on.
            for (edge, grad) in node.edges.iter_mut().zip(&mut grads) {
                match (edge.take_if(|e| wanted(e)), grad.take()) {
                    (Some(edge), Some(grad)) => queue.give(edge, grad)?,
                    (Some(edge), None) => queue.reach(edge)?,
                    (None, _) => {}
                }
            }
            continue;
        }
        for (edge, grad) in p.node.edges.iter().zip(&mut grads) {
            match (edge.as_ref().filter(|e| wanted(e)), grad.take()) {
                (Some(edge), Some(grad)) => queue.give(edge.clone(), grad)?,
                (Some(edge), None) => queue.reach(edge.clone())?,
                (None, _) => {}
            }
        }
    }
    queue.close();
    task.finish()
}

/// Cotangents of a node's inputs, none if the sweep ends here.
#[inline]
fn pass(
    node: &mut Arc<Node>,
    grads: &mut [Option<Tensor>],
    how: Residuals,
    within: Option<&Within>,
    visit: Visit<'_>,
) -> Result<Tangents> {
    if node.extra_if_any().is_some() {
        gradient_hooks(node, grads)?;
    }
    if !visit(node, grads)? {
        return Ok(Tangents::new());
    }
    step(node, grads, how, within)
}

#[cold]
fn gradient_hooks(node: &Node, grads: &mut [Option<Tensor>]) -> Result<()> {
    let Some(extra) = node.extra_if_any() else { return Ok(()) };
    let hooks: Vec<_> = locked(&extra.hooks).clone();
    for (_, slot, hook) in hooks {
        if let Some(Some(g)) = grads.get_mut(slot as usize)
            && let Some(new) = hook.call(g)?
        {
            *g = new;
        }
    }
    Ok(())
}

/// Cotangents of a node's inputs, between the node's hooks. At a leaf the gradient goes into its sink.
#[inline]
fn step(
    node: &mut Arc<Node>,
    grads: &mut [Option<Tensor>],
    how: Residuals,
    within: Option<&Within>,
) -> Result<Tangents> {
    if node.extra_if_any().is_none() {
        return bare_step(node, grads, how, within);
    }
    let hooks = |which: fn(&Extra) -> &Mutex<Vec<(u64, Arc<dyn NodeHook>)>>, node: &Node| {
        node.extra_if_any().map(|x| locked(which(x)).clone()).unwrap_or_default()
    };
    for (_, hook) in hooks(|x| &x.before, node) {
        if let Some(new) = hook.before(grads)? {
            grads.iter_mut().zip(new).for_each(|(g, new)| *g = new);
        }
    }
    let mut inputs = bare_step(node, grads, how, within)?;
    if node.is_leaf() && (node.sink().is_none() || grads.first().is_none_or(Option::is_none)) {
        return Ok(inputs);
    }
    for (_, hook) in hooks(|x| &x.after, node) {
        if let Some(new) = hook.after(&inputs, grads)? {
            inputs = new;
        }
    }
    Ok(inputs)
}

/// Without the node's hooks.
#[inline]
fn bare_step(
    node: &mut Arc<Node>,
    grads: &[Option<Tensor>],
    how: Residuals,
    within: Option<&Within>,
) -> Result<Tangents> {
    match (&node.kind, grads.first()) {
        (NodeKind::Leaf(Some(sink)), Some(Some(g))) => {
            sink.accumulate(node, g)?;
            Ok(Tangents::new())
        }
        (NodeKind::Leaf(_), _) => Ok(Tangents::new()),
        (NodeKind::Op { prim, .. }, None | Some(None)) if !prim.is_custom() && grads.iter().all(Option::is_none) => {
            absent(node, how)
        }
        _ if host::anomaly() != Anomaly::Off => watched_vjp(node, grads, how, within),
        _ => node_vjp(node, grads, how, within),
    }
}

/// No cotangent arrived at an operator: none leaves it. Those above are reached all the same, as custom functions among
/// them are called with zeros.
#[cold]
fn absent(node: &mut Arc<Node>, how: Residuals) -> Result<Tangents> {
    node.residuals(how.keep, &mut Saved::None)?;
    Ok(Tangents::from_elem(None, node.edges.len()))
}

/// In anomaly mode: an error says where the node was made.
#[cold]
fn watched_vjp(
    node: &mut Arc<Node>,
    grads: &[Option<Tensor>],
    how: Residuals,
    within: Option<&Within>,
) -> Result<Tangents> {
    let trace = node.extra_if_any().and_then(|x| x.trace.get()).cloned();
    let before = host::running(trace.clone());
    let mut result = node_vjp(node, grads, how, within);
    host::running(before);
    if host::anomaly() == Anomaly::Check
        && let Ok(inputs) = &result
    {
        for (i, g) in inputs.iter().enumerate() {
            if g.as_ref().map_or(Ok(false), has_nan)? {
                let at = trace.as_ref().and_then(|t| t.place.as_ref()).map(|p| format!(" It was recorded at {p}"));
                let at = at.unwrap_or_default();
                let name = node.class();
                result = Err(crate::Error::runtime(format!(
                    "Function '{name}' returned nan values in its {i}th output.{at}"
                )));
                break;
            }
        }
    }
    if result.is_err() {
        let text = match trace {
            Some(trace) => trace.describe(),
            None => format!(
                "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass \
                 for more information.",
                node.class()
            ),
        };
        // A warning that is made an error must not hide the error itself.
        let _ = host::warn(&text);
    }
    result
}

fn has_nan(t: &Tensor) -> Result<bool> {
    let Some(array) = t.innermost() else { return Ok(false) };
    if !array.dtype().is_differentiable() {
        return Ok(false);
    }
    let _outside = Below::all();
    let any = reduce::any(&compare::isnan(&array.clone().into())?, None, false)?;
    Ok(any.to_vec::<bool>()?.contains(&true))
}

/// Cotangents of one node's inputs for these of its outputs; a leaf takes its own into its sink. The node keeps its
/// residuals, and the result is recorded if grad mode is on.
///
/// # Errors
/// `Runtime` if an earlier sweep freed the residuals.
pub fn pass_one(node: &Arc<Node>, cotangents: &[Option<Tensor>]) -> Result<Tangents> {
    let how = Residuals { keep: true, relink: crate::core::level::grad_enabled() };
    let mut inputs = bare_step(&mut node.clone(), cotangents, how, None)?;
    inputs.resize(node.edges.len(), None);
    Ok(inputs)
}

/// Cotangents of a node's inputs.
fn node_vjp(
    node: &mut Arc<Node>,
    cotangents: &[Option<Tensor>],
    how: Residuals,
    within: Option<&Within>,
) -> Result<Tangents> {
    let mut residuals = Saved::None;
    let freed = node.residuals(how.keep, &mut residuals)?;
    let NodeKind::Op { prim, params } = &node.kind else { return Ok(Tangents::new()) };
    for (i, r) in residuals.iter_mut().enumerate() {
        node.open(i, r, how.relink)?;
    }
    let needs = match within {
        None => node.needs(),
        Some(w) => {
            let wanted = |e: &Option<Edge>| e.as_ref().is_some_and(|e| w.contains(&e.node.seq));
            node.edges.iter().enumerate().fold(0, |m, (i, e)| if wanted(e) { m | 1 << i.min(63) } else { m })
        }
    };
    let params = params.as_deref().unwrap_or(&Params::None);
    if !freed || node.extra_if_any().is_none() {
        // The result goes straight to the caller.
        return rule(node, prim.as_prim(), params, &residuals, cotangents, needs, how.relink);
    }
    let grads = rule(node, prim.as_prim(), params, &residuals, cotangents, needs, how.relink)?;
    forward::forget(node, |_| true);
    Ok(grads)
}

/// So many absent values, in `few` if they fit.
#[inline(always)]
fn room<'r, 'a>(
    few: &'r mut [Option<&'a Tensor>],
    many: &'r mut Vec<Option<&'a Tensor>>,
    n: usize,
) -> &'r mut [Option<&'a Tensor>] {
    if n <= few.len() {
        return &mut few[..n];
    }
    many.resize(n, None);
    many
}

/// Runs a node's reverse rule at its residuals.
fn rule(
    node: &Arc<Node>,
    prim: Prim<'_>,
    params: &Params,
    residuals: &[Residual],
    cotangents: &[Option<Tensor>],
    needs: Mask,
    recording: bool,
) -> Result<Tangents> {
    // Most nodes have few inputs and one output.
    let (mut few, mut first, mut many, mut all) = ([None; 4], [None; 1], Vec::new(), Vec::new());
    let inputs = room(&mut few, &mut many, node.edges.len());
    let outputs = room(&mut first, &mut all, node.metas.len());
    for r in residuals {
        match r.link() {
            Link::Input(i) => inputs[*i as usize] = Some(r.opened()),
            Link::Output(i) => outputs[*i as usize] = Some(r.opened()),
            Link::Other(_) => {}
        }
    }
    let point = Point { inputs, outputs, node: Some(node), residuals, recording };
    if !is_long_rule(&*prim, residuals.iter().map(Residual::opened).chain(cotangents.iter().flatten())) {
        return prim.vjp(prim, params, &point, cotangents, needs);
    }
    let grads = host::released(|| prim.vjp(prim, params, &point, cotangents, needs))?;
    host::poll()?;
    Ok(grads)
}
