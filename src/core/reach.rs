//! Which objects of the host language a value alone keeps alive: what its garbage collector must know to find cycles.
//!
//! NOTE. Values, nodes and cells are counted references that the collector cannot see. What a tensor object reaches
//! through them is its own only if nobody else holds a reference on the way: a walk counts the references that it meets,
//! and goes on below what it has met as often as there are references to it. So it never claims what another owner also
//! holds, and it stops at the first node that another tensor shares:
//! ```text
//! y ── node ── hook ── y      the walk from y meets the node once, it has one owner: the hook is y's
//! y, z ── node ── hook ── y   the node has two owners: a walk from y stops there, until z is gone
//! ```

use super::level::LevelId;
use super::node::{Link, Node, NodeKind};
use super::primitive::PrimBuf;
use super::tensor::{Payload, Tensor};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::sync::Arc;

/// A walk over what only its start holds.
pub struct Reach<'a> {
    /// References met so far, of what has several.
    met: FxHashMap<usize, usize>,
    todo: Vec<Found>,
    visit: &'a mut dyn FnMut(&dyn Any),
}

enum Found {
    Value(Tensor),
    Node(Arc<Node>),
}

impl<'a> Reach<'a> {
    /// `visit` gets what the host language keeps here.
    pub fn new(visit: &'a mut dyn FnMut(&dyn Any)) -> Reach<'a> {
        Reach { met: FxHashMap::default(), todo: Vec::new(), visit }
    }

    /// Whether this was the last reference to the thing at this address, which has so many.
    pub fn completes(&mut self, address: usize, references: usize) -> bool {
        if references == 1 {
            return true;
        }
        let met = self.met.entry(address).or_insert(0);
        *met += 1;
        *met == references
    }

    /// The same for a shared pointer.
    pub fn owns<T: ?Sized>(&mut self, shared: &Arc<T>) -> bool {
        self.completes(Arc::as_ptr(shared).cast::<()>() as usize, Arc::strong_count(shared))
    }

    pub fn host(&mut self, object: &dyn Any) {
        (self.visit)(object);
    }

    /// A reference to a value.
    pub fn value(&mut self, t: &Tensor) {
        if t.level() != LevelId::DENSE && self.completes(t.address(), t.references()) {
            self.todo.push(Found::Value(t.clone()));
        }
    }

    /// A reference to a node.
    pub fn node(&mut self, n: &Arc<Node>) {
        if self.owns(n) {
            self.todo.push(Found::Node(n.clone()));
        }
    }

    /// Walks.
    pub fn run(&mut self) {
        while let Some(found) = self.todo.pop() {
            match found {
                Found::Value(t) => self.payload(&t),
                Found::Node(n) => self.inside(&n),
            }
        }
    }

    fn payload(&mut self, t: &Tensor) {
        let (base, payload) = t.held();
        if let Some(base) = base {
            self.value(base);
        }
        match payload {
            None => {}
            Some(Payload::Batched { value, .. } | Payload::Traced { value, .. }) => self.value(value),
            Some(Payload::Dual { primal, tangent }) => {
                self.value(primal);
                self.value(tangent);
            }
            Some(Payload::Taped { value, node, .. }) => {
                self.value(value);
                self.node(node);
            }
        }
    }

    fn inside(&mut self, n: &Arc<Node>) {
        for e in n.edges.iter().flatten() {
            self.node(&e.node);
        }
        // A lock that is held belongs to a thread that uses the node: then it is not ours alone.
        let Some(saved) = n.try_saved() else { return };
        for r in saved.residuals.iter() {
            let (value, packed) = r.stored();
            self.value(value);
            if let Link::Other(Some(e)) = r.link() {
                self.node(&e.node);
            }
            if let Some(packed) = packed.filter(|p| Arc::strong_count(p) == 1) {
                self.host(packed.as_any());
            }
        }
        match &n.kind {
            NodeKind::Leaf(Some(sink)) if Arc::strong_count(sink) == 1 => self.host(sink.as_any()),
            NodeKind::Op { prim: PrimBuf::Shared(prim), .. } => {
                if let Some(kept) = n.saved_context() {
                    for link in kept.places.iter().flatten() {
                        if let Link::Other(Some(e)) = link {
                            self.node(&e.node);
                        }
                    }
                    if Arc::strong_count(&kept.context) == 1 {
                        prim.reach_context(&kept.context, self);
                    }
                }
                if self.owns(prim) {
                    prim.reach(self);
                }
            }
            _ => {}
        }
        drop(saved);
        let Some(extra) = n.extra_if_any() else { return };
        if let Ok(hooks) = extra.hooks.try_lock() {
            for (_, _, hook) in hooks.iter().filter(|h| Arc::strong_count(&h.2) == 1) {
                self.host(hook.as_any());
            }
        }
        for hooks in [&extra.before, &extra.after] {
            if let Ok(hooks) = hooks.try_lock() {
                for (_, hook) in hooks.iter().filter(|h| Arc::strong_count(&h.1) == 1) {
                    self.host(hook.as_any());
                }
            }
        }
        if let Some(host) = extra.host.get() {
            self.host(&**host);
        }
    }
}
