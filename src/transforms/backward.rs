//! The reverse sweep over a tape. It knows no operator: it needs to add cotangents and to cast them.

use super::task::{self, Running};
use crate::bail;
use crate::base::Result;
use crate::core::forward;
use crate::core::host::{self, Anomaly};
use crate::core::level::{Below, GradMode};
use crate::core::node::{Link, Node, NodeKind, locked};
use crate::core::{Edge, Mask, Point, Prim, Tangents, Tensor};
use crate::ops::{compare, reduce};
use crate::rules::basis;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Gets each node that a cotangent reached, with the cotangents of its outputs, consumers before producers; returns
/// whether to go on below the node.
pub type Visit<'a> = &'a mut dyn FnMut(&Arc<Node>, &Tangents) -> Result<bool>;

/// How a sweep runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Keep residuals for another sweep.
    pub retain: bool,
    /// Record the sweep itself, so that its results can be differentiated on the same tape.
    pub create_graph: bool,
}

struct Pending {
    node: Arc<Node>,
    grads: Tangents,
}

/// How many nodes wait in a sorted list; beyond that, in a tree.
const NEAR: usize = 32;

/// Cotangents that wait for their nodes, by sequence number: every consumer of a node has a larger one, so the largest
/// waiting node is complete.
#[derive(Default)]
struct Front {
    near: SmallVec<[Pending; 4]>,
    far: BTreeMap<u64, Pending>,
}

impl Front {
    fn give(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        let meta = &edge.node.metas[edge.slot as usize];
        let grad = if grad.dtype() == meta.dtype { grad } else { basis::cast(&grad, meta.dtype)? };
        if grad.shape() != &meta.shape {
            bail!(
                Internal,
                "{}(): its consumer gave a cotangent of shape {} for a value of shape {}",
                edge.node.name(),
                grad.shape(),
                meta.shape
            );
        }
        let slot = &mut self.pending(&edge.node).grads[edge.slot as usize];
        *slot = Some(match slot.take() {
            None => grad,
            Some(sum) => basis::add(&sum, &grad)?,
        });
        Ok(())
    }

    fn pending(&mut self, node: &Arc<Node>) -> &mut Pending {
        let new = || Pending { grads: SmallVec::from_elem(None, node.metas.len()), node: node.clone() };
        if !self.far.is_empty() {
            return self.far.entry(node.seq).or_insert_with(new);
        }
        match self.near.iter().rposition(|p| p.node.seq <= node.seq) {
            Some(i) if self.near[i].node.seq == node.seq => &mut self.near[i],
            _ if self.near.len() == NEAR => {
                self.far.extend(self.near.drain(..).map(|p| (p.node.seq, p)));
                self.far.entry(node.seq).or_insert_with(new)
            }
            below => {
                let at = below.map_or(0, |i| i + 1);
                self.near.insert(at, new());
                &mut self.near[at]
            }
        }
    }

    fn pop(&mut self) -> Option<Pending> {
        self.near.pop().or_else(|| self.far.pop_last().map(|(_, p)| p))
    }
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
/// Elements from which a rule runs beside other threads of the host language.
const HEAVY: usize = 100_000;

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
    let mut front = Front::default();
    let mut starts = SmallVec::new();
    let asked = task::may_be_asked();
    for (edge, grad) in roots {
        if asked {
            starts.push(edge.node.clone());
        }
        front.give(&edge, grad)?;
    }
    let task = Running::start(starts, within.clone());
    let mut passed = 0usize;
    while let Some(mut p) = front.pop() {
        passed += 1;
        if passed.is_multiple_of(POLL) {
            host::poll()?;
        }
        gradient_hooks(&p.node, &mut p.grads)?;
        if !visit(&p.node, &p.grads)? {
            continue;
        }
        let grads = step(&p.node, &mut p.grads, residuals, within.as_ref())?;
        for (edge, grad) in p.node.edges.iter().zip(grads) {
            if let (Some(edge), Some(grad)) = (edge, grad)
                && within.as_ref().is_none_or(|w| w.contains(&edge.node.seq))
            {
                front.give(edge, grad)?;
            }
        }
    }
    task.finish()
}

fn gradient_hooks(node: &Node, grads: &mut Tangents) -> Result<()> {
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
fn step(node: &Arc<Node>, grads: &mut Tangents, how: Residuals, within: Option<&Within>) -> Result<Tangents> {
    let extra = node.extra_if_any();
    if let Some(extra) = extra {
        let before: Vec<_> = locked(&extra.before).clone();
        for (_, hook) in before {
            if let Some(new) = hook.before(grads)? {
                *grads = new;
            }
        }
    }
    let mut inputs = match (&node.kind, grads.first()) {
        (NodeKind::Leaf(Some(sink)), Some(Some(g))) => {
            sink.accumulate(node, g)?;
            Tangents::new()
        }
        (NodeKind::Leaf(_), _) => return Ok(Tangents::new()),
        _ if host::anomaly() != Anomaly::Off => watched_vjp(node, grads, how, within)?,
        _ => node_vjp(node, grads, how, within)?,
    };
    if let Some(extra) = extra {
        let after: Vec<_> = locked(&extra.after).clone();
        for (_, hook) in after {
            if let Some(new) = hook.after(&inputs, grads)? {
                inputs = new;
            }
        }
    }
    Ok(inputs)
}

/// In anomaly mode: an error says where the node was made.
#[cold]
fn watched_vjp(node: &Arc<Node>, grads: &Tangents, how: Residuals, within: Option<&Within>) -> Result<Tangents> {
    let trace = node.extra_if_any().and_then(|x| x.trace.get());
    let before = host::running(trace.cloned());
    let mut result = node_vjp(node, grads, how, within);
    host::running(before);
    if host::anomaly() == Anomaly::Check
        && let Ok(inputs) = &result
    {
        for (i, g) in inputs.iter().enumerate() {
            if g.as_ref().map_or(Ok(false), has_nan)? {
                let at = trace.and_then(|t| t.place.as_ref()).map(|p| format!(" It was recorded at {p}"));
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

/// Cotangents of a node's inputs.
fn node_vjp(node: &Arc<Node>, cotangents: &Tangents, how: Residuals, within: Option<&Within>) -> Result<Tangents> {
    let NodeKind::Op { prim, params } = &node.kind else { return Ok(Tangents::new()) };
    let (residuals, freed) = {
        let mut saved = node.saved();
        if saved.freed {
            bail!(
                Runtime,
                "backward(): Trying to backward through the graph a second time (or directly access saved tensors \
                 after they have already been freed), and the residuals of {}() are freed. Specify retain_graph=True \
                 in the first call",
                node.name()
            );
        }
        if how.keep || saved.residuals.is_empty() {
            (saved.residuals.clone(), false)
        } else {
            // The attributes of a custom function's ctx stay readable.
            saved.freed = true;
            (std::mem::take(&mut saved.residuals), true)
        }
    };
    let mut values: SmallVec<[(Link, Tensor); 3]> = SmallVec::new();
    for (i, r) in residuals.into_iter().enumerate() {
        let value = node.read(i, &r.link, r.value(node.name())?, how.relink);
        values.push((r.link, value));
    }
    let needs = match within {
        None => node.needs(),
        Some(w) => {
            let wanted = |e: &Option<Edge>| e.as_ref().is_some_and(|e| w.contains(&e.node.seq));
            node.edges.iter().enumerate().fold(0, |m, (i, e)| if wanted(e) { m | 1 << i.min(63) } else { m })
        }
    };
    let grads = rule(node, prim.as_prim(), params, &values, cotangents, needs, how.relink)?;
    if freed {
        forward::forget(node, |_| true);
    }
    Ok(grads)
}

/// Runs a node's reverse rule at its residuals.
fn rule(
    node: &Arc<Node>,
    prim: Prim<'_>,
    params: &crate::core::Params,
    values: &[(Link, Tensor)],
    cotangents: &Tangents,
    needs: Mask,
    recording: bool,
) -> Result<Tangents> {
    let mut point = Point {
        inputs: SmallVec::from_elem(None, node.edges.len()),
        outputs: SmallVec::from_elem(None, node.metas.len()),
        node: Some(node),
        residuals: values,
        recording,
    };
    for (link, value) in values {
        match link {
            Link::Input(i) => point.inputs[*i as usize] = Some(value),
            Link::Output(i) => point.outputs[*i as usize] = Some(value),
            Link::Other(_) => {}
        }
    }
    let sizes = cotangents.iter().flatten().chain(values.iter().map(|(_, v)| v));
    if sizes.map(Tensor::numel).max() < Some(HEAVY) {
        return prim.vjp(prim, params, &point, cotangents, needs);
    }
    let grads = host::released(|| prim.vjp(prim, params, &point, cotangents, needs))?;
    host::poll()?;
    Ok(grads)
}
