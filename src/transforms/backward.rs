//! The reverse sweep over a tape. It knows no operator: it needs to add cotangents and to cast them.

use crate::bail;
use crate::base::Result;
use crate::core::level::GradMode;
use crate::core::node::{Node, NodeKind};
use crate::core::{Edge, Point, Tangents, Tensor};
use crate::rules::basis;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Cotangents that wait for their nodes, by sequence number: every consumer of a node has a larger one, so the largest
/// waiting node is complete.
#[derive(Default)]
struct Front {
    waiting: BTreeMap<u64, Pending>,
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
        let pending = self.waiting.entry(edge.node.seq).or_insert_with(|| Pending {
            grads: SmallVec::from_elem(None, edge.node.metas.len()),
            node: edge.node.clone(),
        });
        let slot = &mut pending.grads[edge.slot as usize];
        *slot = Some(match slot.take() {
            None => grad,
            Some(sum) => basis::add(&sum, &grad)?,
        });
        Ok(())
    }
}

/// Runs the sweep from `roots` (outputs with their cotangents). `visit` gets each node that a cotangent reached, with
/// the cotangents of its outputs, consumers before producers; it returns whether to go on below the node.
pub fn sweep(
    roots: impl IntoIterator<Item = (Edge, Tensor)>,
    options: Options,
    visit: &mut dyn FnMut(&Arc<Node>, &Tangents) -> Result<bool>,
) -> Result<()> {
    let _mode = GradMode::set(options.create_graph && crate::core::level::grad_enabled());
    let mut front = Front::default();
    for (edge, grad) in roots {
        front.give(&edge, grad)?;
    }
    while let Some((_, mut p)) = front.waiting.pop_last() {
        run_hooks(&p.node, &mut p.grads)?;
        if !visit(&p.node, &p.grads)? || p.node.is_leaf() {
            continue;
        }
        let grads = node_vjp(&p.node, &p.grads, options)?;
        for (edge, grad) in p.node.edges.iter().zip(grads) {
            if let (Some(edge), Some(grad)) = (edge, grad) {
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
fn node_vjp(node: &Arc<Node>, cotangents: &Tangents, options: Options) -> Result<Tangents> {
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
        if options.retain || options.create_graph {
            saved.residuals.clone()
        } else {
            // A custom function's context is freed by its own rule, which still needs it.
            saved.freed = true;
            std::mem::take(&mut saved.residuals)
        }
    };
    let values: SmallVec<[(crate::core::node::Link, Tensor); 3]> = residuals
        .into_iter()
        .map(|r| if options.create_graph { (r.link.clone(), node.relink(&r)) } else { (r.link, r.value) })
        .collect();
    let mut point = Point {
        inputs: SmallVec::from_elem(None, node.edges.len()),
        outputs: SmallVec::from_elem(None, node.metas.len()),
        node: Some(node),
        residuals: &values,
        recording: options.create_graph,
    };
    for (link, value) in &values {
        match link {
            crate::core::node::Link::Input(i) => point.inputs[*i as usize] = Some(value),
            crate::core::node::Link::Output(i) => point.outputs[*i as usize] = Some(value),
            crate::core::node::Link::Other(_) => {}
        }
    }
    let prim = prim.as_prim();
    let grads = prim.vjp(prim, params, &point, cotangents, node.needs())?;
    drop(point);
    if !(options.retain || options.create_graph) {
        node.saved().context = None;
    }
    Ok(grads)
}
