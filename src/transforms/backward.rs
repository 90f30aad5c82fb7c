//! The reverse sweep over a tape. It knows no operator: it needs to add cotangents and to cast them.

use crate::bail;
use crate::base::Result;
use crate::core::forward;
use crate::core::level::GradMode;
use crate::core::node::{Node, NodeKind};
use crate::core::{Edge, Point, Tangents, Tensor};
use crate::rules::basis;
use smallvec::SmallVec;
use std::collections::BTreeMap;
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

/// Which nodes a sweep goes to.
pub type Within<'a> = &'a dyn Fn(&Node) -> bool;

/// How a sweep treats the residuals of the nodes that it passes.
#[derive(Clone, Copy)]
struct Residuals {
    keep: bool,
    /// Give them their nodes back, because their level still records.
    relink: bool,
}

/// Runs the sweep from `roots` (outputs with their cotangents) over a tape that is still open.
pub fn sweep(roots: impl IntoIterator<Item = (Edge, Tensor)>, options: Options, visit: Visit<'_>) -> Result<()> {
    let _mode = GradMode::set(options.create_graph && crate::core::level::grad_enabled());
    run(roots, Residuals { keep: options.retain || options.create_graph, relink: options.create_graph }, None, visit)
}

/// As [`sweep`], but only to nodes for which `within` says yes; the others keep their residuals.
pub fn sweep_within(
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    options: Options,
    within: Within<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    let _mode = GradMode::set(options.create_graph && crate::core::level::grad_enabled());
    let residuals = Residuals { keep: options.retain, relink: options.create_graph };
    run(roots, residuals, Some(within), visit)
}

/// Runs the sweep over a tape whose level is closed: nothing records there any more, and the levels below record by the
/// present grad mode.
pub fn sweep_closed(roots: impl IntoIterator<Item = (Edge, Tensor)>, retain: bool, visit: Visit<'_>) -> Result<()> {
    run(roots, Residuals { keep: retain, relink: false }, None, visit)
}

fn run(
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    residuals: Residuals,
    within: Option<Within<'_>>,
    visit: Visit<'_>,
) -> Result<()> {
    let mut front = Front::default();
    for (edge, grad) in roots {
        front.give(&edge, grad)?;
    }
    while let Some(mut p) = front.pop() {
        run_hooks(&p.node, &mut p.grads)?;
        if !visit(&p.node, &p.grads)? || p.node.is_leaf() {
            continue;
        }
        let grads = node_vjp(&p.node, &p.grads, residuals, within)?;
        for (edge, grad) in p.node.edges.iter().zip(grads) {
            if let (Some(edge), Some(grad)) = (edge, grad)
                && within.is_none_or(|f| f(&edge.node))
            {
                front.give(edge, grad)?;
            }
        }
    }
    Ok(())
}

fn run_hooks(node: &Node, grads: &mut Tangents) -> Result<()> {
    let Some(extra) = node.extra_if_any() else { return Ok(()) };
    let hooks: Vec<_> = extra.hooks.lock().unwrap_or_else(|e| e.into_inner()).clone();
    for (_, slot, hook) in hooks {
        if let Some(Some(g)) = grads.get_mut(slot as usize)
            && let Some(new) = hook(g)?
        {
            *g = new;
        }
    }
    Ok(())
}

/// Cotangents of a node's inputs.
fn node_vjp(node: &Arc<Node>, cotangents: &Tangents, how: Residuals, within: Option<Within<'_>>) -> Result<Tangents> {
    let NodeKind::Op { prim, params } = &node.kind else { return Ok(Tangents::new()) };
    let residuals = {
        let mut saved = node.saved();
        if saved.freed {
            bail!(
                Runtime,
                "backward(): Trying to backward through the graph a second time, and the residuals of {}() are freed; \
                 give retain_graph=True to the first call",
                node.name()
            );
        }
        if how.keep {
            saved.residuals.clone()
        } else {
            // A custom function's context is freed by its own rule, which still needs it.
            saved.freed = true;
            std::mem::take(&mut saved.residuals)
        }
    };
    for r in &residuals {
        r.check(node.name())?;
    }
    let values: SmallVec<[(crate::core::node::Link, Tensor); 3]> = residuals
        .into_iter()
        .enumerate()
        .map(|(i, r)| Ok((r.link.clone(), node.read(i, &r, how.relink)?)))
        .collect::<Result<_>>()?;
    let mut point = Point {
        inputs: SmallVec::from_elem(None, node.edges.len()),
        outputs: SmallVec::from_elem(None, node.metas.len()),
        node: Some(node),
        residuals: &values,
        recording: how.relink,
    };
    for (link, value) in &values {
        match link {
            crate::core::node::Link::Input(i) => point.inputs[*i as usize] = Some(value),
            crate::core::node::Link::Output(i) => point.outputs[*i as usize] = Some(value),
            crate::core::node::Link::Other(_) => {}
        }
    }
    let prim = prim.as_prim();
    let needs = match within {
        None => node.needs(),
        Some(f) => {
            let wanted = |e: &Option<Edge>| e.as_ref().is_some_and(|e| f(&e.node));
            node.edges.iter().enumerate().fold(0, |m, (i, e)| if wanted(e) { m | 1 << i.min(63) } else { m })
        }
    };
    let grads = prim.vjp(prim, params, &point, cotangents, needs)?;
    drop(point);
    if !how.keep {
        node.saved().context = None;
        forward::forget(node, |_| true);
    }
    Ok(grads)
}
