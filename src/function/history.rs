//! How what a backward reads hangs on the tape that is swept: values are stored without their nodes, and a program that
//! differentiates saved values itself wants these back.

use super::Setup;
use crate::core::node::Link;
use crate::core::saved_context::Places;
use crate::core::{Edge, LevelId, Node, Set, Tensor};
use std::sync::Arc;

/// The places of the saved values of one node.
#[derive(Clone)]
pub struct History {
    of: Of,
    batched: bool,
}

#[derive(Clone)]
enum Of {
    /// A backward that runs for the sake of its own node.
    Swept(Arc<Node>),
    /// One that runs for the sake of another rule, which its result must be followed for.
    Derived(Arc<Places>),
}

impl History {
    pub(super) fn swept(node: &Arc<Node>) -> History {
        History { of: Of::Swept(node.clone()), batched: false }
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
        History { of: Of::Derived(Arc::new(setup.saved.iter().map(link).collect())), batched: false }
    }

    fn places(&self) -> &Places {
        match &self.of {
            Of::Swept(node) => node.saved_context().map_or(&Places::None, |kept| &kept.places),
            Of::Derived(places) => places,
        }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        match &self.of {
            Of::Swept(node) => Some(node),
            Of::Derived(_) => None,
        }
    }

    /// The same where the values are lifted to a batch: their places are below it, out of reach.
    pub(super) fn in_batch(&self) -> History {
        History { of: self.of.clone(), batched: true }
    }

    /// Whether the saved values are those directly below the ambient tape, and that is being swept.
    pub fn is_ambient(&self) -> bool {
        !self.batched && self.node().is_some_and(|n| n.level == LevelId::AMBIENT)
    }

    /// Whether a jvp is derived from what the backward does.
    pub fn is_derived(&self) -> bool {
        self.node().is_none()
    }

    /// Whether saved value `i` is differentiated.
    pub fn follows(&self, i: usize) -> bool {
        match self.places().get(i) {
            Some(Some(Link::Input(k))) => {
                self.node().is_none_or(|n| n.edges.get(*k as usize).is_some_and(Option::is_some))
            }
            Some(link) => link.is_some(),
            None => false,
        }
    }

    /// Whether saved value `i` is an argument.
    pub fn is_argument(&self, i: usize) -> bool {
        matches!(self.places().get(i), Some(Some(Link::Input(_))))
    }

    /// The saved value that is this argument.
    pub fn place_of(&self, argument: usize) -> Option<usize> {
        self.places().iter().position(|l| matches!(l, Some(Link::Input(k)) if *k as usize == argument))
    }

    /// Where saved value `i` hangs, if it is differentiated.
    pub fn edge(&self, i: usize) -> Option<Edge> {
        let node = self.node()?;
        match self.places().get(i)?.as_ref()? {
            Link::Input(k) => node.edges.get(*k as usize)?.clone(),
            Link::Output(k) => Some(Edge { node: node.clone(), slot: *k }),
            Link::Other(e) => e.as_deref().cloned(),
        }
    }

    /// Whether another argument hangs where this one does: each has a gradient of its own.
    pub fn is_shared(&self, i: usize) -> bool {
        let Some(Some(Link::Input(k))) = self.places().get(i) else { return false };
        let Some(node) = self.node() else { return false };
        let Some(Some(e)) = node.edges.get(*k as usize) else { return false };
        let same = |o: &Edge| Arc::ptr_eq(&o.node, &e.node) && o.slot == e.slot;
        node.edges.iter().flatten().filter(|o| same(o)).count() > 1
    }
}
