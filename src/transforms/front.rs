//! The cotangents of a reverse sweep that wait for their nodes.

use crate::bail;
use crate::base::Result;
use crate::core::{Edge, Node, Tangents, Tensor};
use crate::rules::basis;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node that waits, with what arrived for its outputs.
pub struct Pending {
    pub node: Arc<Node>,
    /// The cotangent of the first output, which for most nodes is the only one.
    pub first: Option<Tensor>,
    /// Those of the others.
    pub rest: Option<Box<Tangents>>,
}

/// Waiting nodes in ascending order, and where each is. The parts of a place are written and read one by one: what is
/// read back in larger pieces than it was written a moment ago makes the processor wait.
#[derive(Default)]
struct Near {
    seqs: Few<u64>,
    places: Few<u32>,
    at: Few<Place>,
    free: Few<u32>,
}
type Few<T> = SmallVec<[T; 8]>;

#[derive(Default)]
struct Place {
    node: Option<Arc<Node>>,
    first: Option<Tensor>,
    rest: Option<Box<Tangents>>,
}

/// How far from the end of the sorted list a node is put into it; what belongs further down goes into the tree.
const NEAR: usize = 64;

/// Waiting nodes by sequence number: every consumer of a node has a larger one, so the largest waiting node is complete.
/// Most nodes are waited for by the ones just before them, so a list with the largest at its end serves nearly all.
#[derive(Default)]
pub struct Front {
    near: Near,
    far: BTreeMap<u64, Pending>,
}

fn rest_of(node: &Node) -> Option<Box<Tangents>> {
    (node.metas.len() > 1).then(|| Box::new(Tangents::from_elem(None, node.metas.len() - 1)))
}

impl Near {
    #[inline]
    fn insert(&mut self, i: usize, node: Arc<Node>) {
        let seq = node.seq;
        let rest = if node.metas.len() == 1 { None } else { rest_of(&node) };
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.at.push(Place::default());
                self.at.len() as u32 - 1
            }
        };
        let p = &mut self.at[place as usize];
        (p.node, p.rest) = (Some(node), rest);
        if i == self.seqs.len() {
            self.seqs.push(seq);
            self.places.push(place);
        } else {
            self.seqs.insert(i, seq);
            self.places.insert(i, place);
        }
    }
    #[inline]
    fn pop(&mut self) -> Option<Pending> {
        self.seqs.pop()?;
        let place = self.places.pop()?;
        self.free.push(place);
        let p = &mut self.at[place as usize];
        Some(Pending { node: p.node.take()?, first: p.first.take(), rest: p.rest.take() })
    }
    #[inline]
    fn grad(&mut self, i: usize, slot: usize) -> Option<&mut Option<Tensor>> {
        let p = &mut self.at[self.places[i] as usize];
        match slot {
            0 => Some(&mut p.first),
            _ => p.rest.as_deref_mut()?.get_mut(slot - 1),
        }
    }
}

impl Front {
    /// Adds a cotangent of what the edge comes from.
    #[inline]
    pub fn give(&mut self, edge: Edge, grad: Tensor) -> Result<()> {
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
        let Some(slot) = self.slot(edge) else { bail!(Internal, "a node has no output of this number") };
        match slot {
            None => *slot = Some(grad),
            Some(sum) => *sum = basis::add(sum, &grad)?,
        }
        Ok(())
    }

    /// Where the cotangent of an output is collected.
    #[inline]
    fn slot(&mut self, edge: Edge) -> Option<&mut Option<Tensor>> {
        let (node, slot) = (edge.node, edge.slot as usize);
        let seqs = &self.near.seqs[..];
        let mut at = seqs.len();
        let stop = at.saturating_sub(NEAR);
        while at > stop && seqs[at - 1] > node.seq {
            at -= 1;
        }
        if at > 0 && seqs[at - 1] == node.seq {
            return self.near.grad(at - 1, slot);
        }
        let near = at > stop || at == 0;
        if near && self.far.is_empty() {
            self.near.insert(at, node);
            return self.near.grad(at, slot);
        }
        self.slot_far(node, slot, at, near)
    }

    /// The same where the place is far down, or the tree is in use.
    #[inline(never)]
    fn slot_far(&mut self, node: Arc<Node>, slot: usize, at: usize, near: bool) -> Option<&mut Option<Tensor>> {
        if near && !self.far.contains_key(&node.seq) {
            self.near.insert(at, node);
            return self.near.grad(at, slot);
        }
        if !near && let Ok(i) = self.near.seqs[..at].binary_search(&node.seq) {
            return self.near.grad(i, slot);
        }
        let seq = node.seq;
        let new = || Pending { first: None, rest: rest_of(&node), node };
        let pending = self.far.entry(seq).or_insert_with(new);
        match slot {
            0 => Some(&mut pending.first),
            _ => pending.rest.as_deref_mut()?.get_mut(slot - 1),
        }
    }

    /// The node with the largest number.
    #[inline]
    pub fn pop(&mut self) -> Option<Pending> {
        if !self.far.is_empty() {
            return self.pop_far();
        }
        self.near.pop()
    }

    #[inline(never)]
    fn pop_far(&mut self) -> Option<Pending> {
        match (self.near.seqs.last(), self.far.last_key_value()) {
            (Some(near), Some((far, _))) if near > far => self.near.pop(),
            _ => self.far.pop_last().map(|(_, p)| p),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::LevelId;
    use crate::core::node::Meta;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn leaf() -> Arc<Node> {
        Node::leaf(LevelId::AMBIENT, Meta::of(&Tensor::scalar(crate::DType::F64, 0.0)), None)
    }

    proptest! {
        /// Whatever the order of arrival, the largest node leaves first, with the sum of what arrived for it. `None`
        /// takes a node out in between.
        #[test]
        fn the_largest_node_leaves_with_all_that_arrived(
            steps in prop::collection::vec(prop::option::weighted(0.8, 0..400usize), 0..1500)
        ) {
            let nodes: Vec<_> = (0..400).map(|_| leaf()).collect();
            let (mut front, mut expected) = (Front::default(), BTreeMap::<u64, f64>::new());
            let end = std::iter::repeat_n(None, 401);
            for (k, step) in steps.into_iter().chain(end).enumerate() {
                if let Some(i) = step {
                    let edge = Edge { node: nodes[i].clone(), slot: 0 };
                    front.give(edge, Tensor::scalar(crate::DType::F64, k as f64)).unwrap();
                    *expected.entry(nodes[i].seq).or_default() += k as f64;
                    continue;
                }
                let left = front.pop().map(|p| (p.node.seq, p.first.unwrap().to_vec::<f64>().unwrap()[0]));
                prop_assert_eq!(left, expected.pop_last());
            }
        }
    }
}
