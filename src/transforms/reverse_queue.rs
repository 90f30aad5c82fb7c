//! The cotangents of a reverse sweep that wait for their nodes.

use crate::bail;
use crate::base::Result;
use crate::core::{Edge, Node, Tangents, Tensor};
use crate::rules::basis;
use std::cell::Cell;
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

const WORDS: usize = 64;
const SPAN: usize = WORDS * 64;
/// How far below the limit a number may lie. One word less than all, so that the word of the limit holds no numbers of
/// the next round.
const REACH: u64 = SPAN as u64 - 64;

/// The waiting nodes whose numbers lie in reach below a limit, in a ring: a bit for each number.
struct Ring {
    /// No number that waits here is larger, and none that arrives here later.
    limit: u64,
    /// How many wait.
    waiting: usize,
    /// Which words have bits.
    words: u64,
    bits: [u64; WORDS],
    /// Where the node is whose bit is set.
    places: [u16; SPAN],
    at: Vec<Slot>,
    free: Vec<u16>,
}

/// The parts are written and read one by one: what is read back in larger pieces than it was written a moment ago makes
/// the processor wait.
#[derive(Default)]
struct Slot {
    node: Option<Arc<Node>>,
    first: Option<Tensor>,
    rest: Option<Box<Tangents>>,
}

thread_local! {
    /// An empty ring for the next sweep.
    static SPARE: Cell<Option<Box<Ring>>> = const { Cell::new(None) };
}

/// Waiting nodes by sequence number: every consumer of a node has a larger one, so the largest waiting node is complete.
/// Most nodes are waited for by ones made shortly after them, so a ring that moves down with the sweep serves nearly
/// all; what lies outside goes into the tree.
pub struct ReverseQueue {
    near: Box<Ring>,
    far: BTreeMap<u64, Pending>,
}

fn rest_of(node: &Node) -> Option<Box<Tangents>> {
    (node.metas.len() > 1).then(|| Box::new(Tangents::from_elem(None, node.metas.len() - 1)))
}

impl Ring {
    fn new() -> Ring {
        let (bits, places) = ([0; WORDS], [0; SPAN]);
        Ring { limit: 0, waiting: 0, words: 0, bits, places, at: Vec::new(), free: Vec::new() }
    }
    /// Where a number has its bit and its place, if it is in reach.
    #[inline]
    fn find(&self, seq: u64) -> Option<usize> {
        (self.limit.wrapping_sub(seq) < REACH).then_some(seq as usize % SPAN)
    }
    #[inline]
    fn has(&self, i: usize) -> bool {
        self.bits[i / 64] & 1 << (i % 64) != 0
    }
    /// Moves down to a number that is out of reach; nothing waits.
    fn move_to(&mut self, seq: u64) -> usize {
        self.limit = if self.limit < seq { seq } else { self.limit.min(seq + REACH / 2) };
        seq as usize % SPAN
    }
    #[inline]
    fn insert(&mut self, i: usize, node: Arc<Node>) {
        let rest = if node.metas.len() == 1 { None } else { rest_of(&node) };
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.at.push(Slot::default());
                (self.at.len() - 1) as u16
            }
        };
        let p = &mut self.at[place as usize];
        (p.node, p.rest) = (Some(node), rest);
        self.places[i] = place;
        self.bits[i / 64] |= 1 << (i % 64);
        self.words |= 1 << (i / 64);
        self.waiting += 1;
    }
    /// The largest number.
    #[inline]
    fn last(&self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let top = self.limit as usize % SPAN;
        // The word of the limit comes first, then those below it, round the ring.
        let turn = (top / 64 + 1) % WORDS;
        let back = 63 - self.words.rotate_right(turn as u32).leading_zeros() as usize;
        let word = (back + turn) % WORDS;
        let i = word * 64 + 63 - self.bits[word].leading_zeros() as usize;
        Some(self.limit - (top.wrapping_sub(i) % SPAN) as u64)
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<Pending> {
        let seq = self.last()?;
        self.limit = seq;
        self.waiting -= 1;
        let i = seq as usize % SPAN;
        self.bits[i / 64] ^= 1 << (i % 64);
        if self.bits[i / 64] == 0 {
            self.words ^= 1 << (i / 64);
        }
        let place = self.places[i];
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

impl ReverseQueue {
    pub fn new() -> ReverseQueue {
        let near = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_else(|| Box::new(Ring::new()));
        ReverseQueue { near, far: BTreeMap::new() }
    }

    /// Keeps the empty ring for the next sweep of this thread.
    pub fn close(mut self) {
        if self.near.waiting == 0 {
            self.near.limit = 0;
            let _ = SPARE.try_with(|s| s.set(Some(self.near)));
        }
    }

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
            Some(sum) if !sum.is_large() => *sum = basis::add(sum, &grad)?,
            // The sum is the sweep's alone, unless a hook holds it.
            sum => *sum = sum.take().map(|own| basis::add_into(own, &grad)).transpose()?,
        }
        Ok(())
    }

    /// What the edge comes from waits without a cotangent, until one arrives.
    #[cold]
    pub fn reach(&mut self, edge: Edge) -> Result<()> {
        let Some(_) = self.slot(edge) else { bail!(Internal, "a node has no output of this number") };
        Ok(())
    }

    /// Where the cotangent of an output is collected.
    #[inline]
    fn slot(&mut self, edge: Edge) -> Option<&mut Option<Tensor>> {
        let (node, slot) = (edge.node, edge.slot as usize);
        let Some(i) = self.near.find(node.seq).filter(|i| self.far.is_empty() || self.near.has(*i)) else {
            return self.slot_far(node, slot);
        };
        if !self.near.has(i) {
            self.near.insert(i, node);
        }
        self.near.grad(i, slot)
    }

    /// The same where the node is out of reach, or may be in the tree.
    #[inline(never)]
    fn slot_far(&mut self, node: Arc<Node>, slot: usize) -> Option<&mut Option<Tensor>> {
        let seq = node.seq;
        if !self.far.contains_key(&seq) {
            let near = self.near.find(seq).or_else(|| (self.near.waiting == 0).then(|| self.near.move_to(seq)));
            if let Some(i) = near {
                self.near.insert(i, node);
                return self.near.grad(i, slot);
            }
        }
        let new = || Pending { first: None, rest: rest_of(&node), node };
        let pending = self.far.entry(seq).or_insert_with(new);
        match slot {
            0 => Some(&mut pending.first),
            _ => pending.rest.as_deref_mut()?.get_mut(slot - 1),
        }
    }

    /// The node with the largest number. Inlined, since its parts would be read back from memory in larger pieces.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Pending> {
        if self.far.is_empty() { self.near.pop() } else { self.pop_far() }
    }

    #[inline(never)]
    fn pop_far(&mut self) -> Option<Pending> {
        match (self.near.last(), self.far.last_key_value()) {
            (Some(near), Some((far, _))) if near > *far => self.near.pop(),
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
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

        /// Whatever the order of arrival, the largest node leaves first, with the sum of what arrived for it. `None`
        /// takes a node out in between. Nodes arrive all over the place, or within the reach of a ring.
        #[test]
        fn the_largest_node_leaves_with_all_that_arrived(
            steps in prop::collection::vec(prop::option::weighted(0.8, (0..20_000usize, 0..4usize)), 0..3000)
        ) {
            let nodes: Vec<_> = (0..20_000).map(|_| leaf()).collect();
            let (mut queue, mut expected) = (ReverseQueue::new(), BTreeMap::<u64, f64>::new());
            let end = std::iter::repeat_n(None, 3001);
            let mut last = 10_000usize;
            for (k, step) in steps.into_iter().chain(end).enumerate() {
                if let Some((i, spread)) = step {
                    let i = if spread == 0 { i } else { (last + i % 100 * spread).saturating_sub(150) % 20_000 };
                    last = i;
                    let edge = Edge { node: nodes[i].clone(), slot: 0 };
                    queue.give(edge, Tensor::scalar(crate::DType::F64, k as f64)).unwrap();
                    *expected.entry(nodes[i].seq).or_default() += k as f64;
                    continue;
                }
                let left = queue.pop().map(|p| (p.node.seq, p.first.unwrap().to_vec::<f64>().unwrap()[0]));
                prop_assert_eq!(left, expected.pop_last());
            }
            queue.close();
        }
    }
}
