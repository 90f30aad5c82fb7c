//! How what a backward reads hangs on the tape that is swept: values are stored without their nodes, and a program that
//! differentiates saved values itself wants these back.

use super::Setup;
use super::kept::Kept;
use crate::core::node::{Link, Residual};
use crate::core::{Edge, LevelId, Node, Set, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// The places of the saved values of one node.
#[derive(Clone)]
pub struct History {
    /// `None` where the backward runs for the sake of another rule, which its result must be followed for.
    node: Option<Arc<Node>>,
    /// One for each saved value; `None` for those that no program may differentiate.
    links: SmallVec<[Option<Link>; 2]>,
    batched: bool,
}

impl History {
    pub(super) fn of(node: &Arc<Node>, residuals: &[Residual], kept: &Kept) -> History {
        let link = |r: &Residual| match r.link() {
            Link::Input(i) => Some(Link::Input(*i)),
            Link::Output(i) => {
                let rule = (*i as usize) < kept.results && !kept.setup.non_differentiable.has(*i as usize);
                rule.then_some(Link::Output(*i))
            }
            // What a forward recorded itself; a setup comes after the node, and what it computes is constant.
            Link::Other(Some(e)) if e.node.seq < node.seq => Some(r.link().clone()),
            Link::Other(_) => None,
        };
        History { node: Some(node.clone()), links: residuals.iter().map(link).collect(), batched: false }
    }

    /// For a backward that a jvp is derived from, at these inputs, those in `needs` of which have tangents.
    pub(super) fn derived(setup: &Setup, inputs: &[Tensor], outs: &[Tensor], needs: &Set) -> History {
        let link = |t: &Tensor| match inputs.iter().position(|x| x.same(t)) {
            Some(i) => needs.has(i).then_some(Link::Input(i as u32)),
            None => {
                let i = outs.iter().position(|x| x.same(t))?;
                (!setup.non_differentiable.has(i)).then_some(Link::Output(i as u32))
            }
        };
        History { node: None, links: setup.saved.iter().map(link).collect(), batched: false }
    }

    /// The same where the values are lifted to a batch: their places are below it, out of reach.
    pub(super) fn in_batch(&self) -> History {
        History { batched: true, ..self.clone() }
    }

    /// Whether the saved values are those directly below the ambient tape, and that is being swept.
    pub fn is_ambient(&self) -> bool {
        !self.batched && self.node.as_ref().is_some_and(|n| n.level == LevelId::AMBIENT)
    }

    /// Whether a jvp is derived from what the backward does.
    pub fn is_derived(&self) -> bool {
        self.node.is_none()
    }

    /// Whether saved value `i` is differentiated.
    pub fn follows(&self, i: usize) -> bool {
        match self.links.get(i) {
            Some(Some(Link::Input(k))) => {
                self.node.as_ref().is_none_or(|n| n.edges.get(*k as usize).is_some_and(Option::is_some))
            }
            Some(link) => link.is_some(),
            None => false,
        }
    }

    /// Whether saved value `i` is an argument.
    pub fn is_argument(&self, i: usize) -> bool {
        matches!(self.links.get(i), Some(Some(Link::Input(_))))
    }

    /// The saved value that is this argument.
    pub fn place_of(&self, argument: usize) -> Option<usize> {
        self.links.iter().position(|l| matches!(l, Some(Link::Input(k)) if *k as usize == argument))
    }

    /// Where saved value `i` hangs, if it is differentiated.
    pub fn edge(&self, i: usize) -> Option<Edge> {
        let node = self.node.as_ref()?;
        match self.links.get(i)?.as_ref()? {
            Link::Input(k) => node.edges.get(*k as usize)?.clone(),
            Link::Output(k) => Some(Edge { node: node.clone(), slot: *k }),
            Link::Other(e) => e.as_deref().cloned(),
        }
    }

    /// Whether another argument hangs where this one does: each has a gradient of its own.
    pub fn is_shared(&self, i: usize) -> bool {
        let Some(Some(Link::Input(k))) = self.links.get(i) else { return false };
        let Some(node) = &self.node else { return false };
        let Some(Some(e)) = node.edges.get(*k as usize) else { return false };
        let same = |o: &Edge| Arc::ptr_eq(&o.node, &e.node) && o.slot == e.slot;
        node.edges.iter().flatten().filter(|o| same(o)).count() > 1
    }
}
