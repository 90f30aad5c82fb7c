//! The reverse tape: one node per recorded operator.
//!
//! NOTE ownership. A node holds its residuals without their nodes: a saved input's node is the edge, a saved output's
//! node is this one, and both are linked again when the residual is read. So nothing points back at a node and dropping
//! a graph recurses nowhere: a node that reaches zero while another is being dropped waits in a queue.

use super::host::{self, Anomaly, Trace};
use super::inline_list::{InlineList, OneOrMany};
use super::level::LevelId;
use super::node_name;
use super::params::Params;
use super::primitive::{Mask, Prim, PrimBuf, Tangents};
use super::saved_context::SavedContext;
use super::tensor::Tensor;
use crate::base::{Error, Result};
use crate::dense::memory::counted;
use once_cell::race::{OnceBox, OnceRef};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

pub use super::meta::Meta;
pub use super::residual::{Link, Residual};

/// Output `slot` of `node`, as an input of another node.
#[derive(Clone)]
pub struct Edge {
    pub node: Arc<Node>,
    pub slot: u32,
}

/// Where a leaf's gradient goes in `.backward()`.
pub trait Sink: Send + Sync {
    fn accumulate(&self, node: &Arc<Node>, gradient: &Tensor) -> Result<()>;
    fn as_any(&self) -> &dyn Any;
}

/// One per input of a node; `None` where the input is not differentiated.
pub type Edges = InlineList<Option<Edge>>;
pub type Residuals = InlineList<Residual>;
/// One per output of a node.
pub type Metas = OneOrMany<Meta>;

/// What a node needs for its reverse rule.
#[derive(Default)]
pub struct Saved {
    pub residuals: Residuals,
    pub freed: bool,
}

impl Saved {
    /// Puts the residuals into `out`; gives whether they are freed now, or `None` if they were already.
    #[inline(always)]
    fn give(&mut self, keep: bool, out: &mut Residuals) -> Option<bool> {
        if self.freed {
            return None;
        }
        if keep {
            *out = self.residuals.clone();
            return Some(false);
        }
        // The attributes of a custom function's ctx stay readable.
        self.freed = !self.residuals.is_empty();
        std::mem::swap(&mut self.residuals, out);
        Some(self.freed)
    }
}

pub enum NodeKind {
    /// An input of the differentiated function.
    Leaf(Option<Arc<dyn Sink>>),
    Op {
        prim: PrimBuf,
        /// `None` stands for [`Params::None`], which most operators have.
        params: Option<Box<Params>>,
    },
}

/// A hook of a value's gradient, which it may replace.
pub trait GradHook: Send + Sync {
    fn call(&self, gradient: &Tensor) -> Result<Option<Tensor>>;
    fn as_any(&self) -> &dyn Any;
}

/// A hook of a node: before its rule runs it gets the cotangents of the outputs, and may replace them; afterwards also
/// those of the inputs, and may replace these.
pub trait NodeHook: Send + Sync {
    fn before(&self, outputs: &[Option<Tensor>]) -> Result<Option<Tangents>>;
    fn after(&self, inputs: &[Option<Tensor>], outputs: &[Option<Tensor>]) -> Result<Option<Tangents>>;
    fn as_any(&self) -> &dyn Any;
}

/// Rare things.
#[derive(Default)]
pub struct Extra {
    /// Hooks by output slot, with an id for removal.
    pub hooks: Mutex<Vec<(u64, u32, Arc<dyn GradHook>)>>,
    pub before: Mutex<Vec<(u64, Arc<dyn NodeHook>)>>,
    pub after: Mutex<Vec<(u64, Arc<dyn NodeHook>)>>,
    /// Where gradients of outputs go although they are no leaves, by output slot. Who can see a gradient owns the sink.
    pub retained: Mutex<Vec<(u32, Weak<dyn Sink>)>>,
    /// In anomaly mode, where the node was made.
    pub trace: OnceLock<Arc<Trace>>,
    /// What the host language keeps with the node.
    pub host: OnceLock<Box<dyn Any + Send + Sync>>,
    /// Tangents of residuals, while a `forward_ad` level lives.
    pub tangents: Mutex<Vec<super::forward::ResidualTangent>>,
}

impl Extra {
    /// Removes the hooks with this id. What is returned is dropped by the caller, without a lock.
    pub fn remove(&self, id: u64) -> impl Sized + use<> {
        let hooks: Vec<_> = locked(&self.hooks).extract_if(.., |h| h.0 == id).collect();
        let before: Vec<_> = locked(&self.before).extract_if(.., |h| h.0 == id).collect();
        let after: Vec<_> = locked(&self.after).extract_if(.., |h| h.0 == id).collect();
        (hooks, before, after)
    }
}

pub fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

/// A recorded operator or a leaf.
pub struct Node {
    /// Grows with time: a node's inputs have smaller numbers.
    pub seq: u64,
    pub level: LevelId,
    pub kind: NodeKind,
    /// Of the outputs.
    pub metas: Metas,
    pub edges: Edges,
    saved: Mutex<Saved>,
    /// Of a custom function.
    kept: OnceBox<SavedContext>,
    extra: OnceBox<Extra>,
    /// The operator that the program called, if it is known: the node is the last of those that it recorded.
    called: OnceRef<'static, &'static str>,
}

static SEQ: AtomicU64 = AtomicU64::new(1);
fn next_seq() -> u64 {
    SEQ.fetch_add(1, Relaxed)
}
/// A number that all nodes made so far are below.
#[inline]
pub fn present_seq() -> u64 {
    SEQ.load(Relaxed)
}

impl Node {
    pub fn leaf(level: LevelId, meta: Meta, sink: Option<Arc<dyn Sink>>) -> Arc<Node> {
        counted(|| Node {
            seq: next_seq(),
            level,
            kind: NodeKind::Leaf(sink),
            metas: Metas::One([meta]),
            edges: Edges::None,
            saved: Mutex::new(Saved::default()),
            kept: OnceBox::new(),
            extra: OnceBox::new(),
            called: OnceRef::new(),
        })
    }

    #[inline(always)]
    pub fn op(
        level: LevelId,
        prim: Prim<'_>,
        params: &Params,
        metas: Metas,
        edges: Edges,
        residuals: Residuals,
    ) -> Arc<Node> {
        let params = if matches!(params, Params::None) { None } else { Some(Box::new(params.clone())) };
        let node = counted(|| Node {
            seq: next_seq(),
            level,
            kind: NodeKind::Op { prim: prim.to_owned(), params },
            metas,
            edges,
            saved: Mutex::new(Saved { residuals, freed: false }),
            kept: OnceBox::new(),
            extra: OnceBox::new(),
            called: OnceRef::new(),
        });
        if host::anomaly() != Anomaly::Off {
            node.trace();
        }
        node
    }

    /// Notes where the node was made.
    #[cold]
    fn trace(&self) {
        self.extra().trace.get_or_init(|| host::trace(self.class()));
    }

    /// The operator that made it.
    pub fn name(&self) -> &str {
        match &self.kind {
            NodeKind::Leaf(_) => "leaf",
            NodeKind::Op { prim, .. } => prim.operator(),
        }
    }
    /// The name of the node's class in messages and in `repr`: `MulBackward0`.
    pub fn class(&self) -> String {
        match &self.kind {
            NodeKind::Leaf(_) => "AccumulateGrad".into(),
            NodeKind::Op { prim: PrimBuf::Shared(p), .. } if p.custom().is_some() => {
                let made = if self.level > LevelId::AMBIENT { "Generated" } else { "" };
                format!("{}{made}Backward", p.name())
            }
            NodeKind::Op { .. } => {
                let rank = self.metas.first().map_or(0, |m| m.shape.rank());
                node_name::class_of(self.called().unwrap_or(self.name()), rank)
            }
        }
    }
    /// The path of the operator that the program called, or a class's name that starts with an upper-case letter.
    fn called(&self) -> Option<&'static str> {
        self.called.get().copied()
    }
    /// Tells the node which operator the program called, once.
    #[inline(always)]
    pub(super) fn set_called(&self, name: &'static &'static str) {
        let _ = self.called.set(name);
    }
    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, NodeKind::Leaf(_))
    }
    pub fn sink(&self) -> Option<&Arc<dyn Sink>> {
        match &self.kind {
            NodeKind::Leaf(s) => s.as_ref(),
            NodeKind::Op { .. } => None,
        }
    }
    /// Inputs that have an edge.
    pub fn needs(&self) -> Mask {
        self.edges.iter().enumerate().fold(0, |m, (i, e)| if e.is_some() { m | 1 << i.min(63) } else { m })
    }
    /// Meta of input `i`, known where it has an edge.
    pub fn input_meta(&self, i: usize) -> Option<&Meta> {
        let e = self.edges.get(i)?.as_ref()?;
        e.node.metas.get(e.slot as usize)
    }
    pub fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(|e| e.into_inner())
    }
    pub fn saved_context(&self) -> Option<&SavedContext> {
        self.kept.get()
    }
    /// Keeps this and the residuals, once.
    pub fn save_context(&self, kept: SavedContext, residuals: Residuals) {
        let _ = self.kept.set(Box::new(kept));
        self.saved().residuals = residuals;
    }
    /// Puts the residuals into `out` for a sweep; gives whether the node has lost them, as it does unless `keep`.
    ///
    /// # Errors
    /// `Runtime` if an earlier sweep took them.
    #[inline(always)]
    pub fn residuals(self: &mut Arc<Node>, keep: bool, out: &mut Residuals) -> Result<bool> {
        let given = match Arc::get_mut(self) {
            Some(node) if !keep => node.saved.get_mut().unwrap_or_else(|e| e.into_inner()).give(false, out),
            _ => self.saved().give(keep, out),
        };
        given.ok_or_else(|| self.swept())
    }
    #[cold]
    fn swept(&self) -> Error {
        Error::runtime(format!(
            "backward(): Trying to backward through the graph a second time (or directly access saved tensors after \
             they have already been freed), and the residuals of {}() are freed. Specify retain_graph=True in the \
             first call",
            self.name()
        ))
    }
    /// For the garbage collector, which must not wait.
    pub(super) fn try_saved(&self) -> Option<MutexGuard<'_, Saved>> {
        self.saved.try_lock().ok()
    }
    pub fn extra(&self) -> &Extra {
        self.extra.get_or_init(Box::default)
    }
    pub fn extra_if_any(&self) -> Option<&Extra> {
        self.extra.get()
    }

    /// Makes residual `i` what the reverse rule reads: the value, with its tangents, and for a sweep that records as a
    /// value of this tape again.
    ///
    /// # Errors
    /// Those of [`Residual::value`].
    #[inline]
    pub fn open(self: &Arc<Node>, i: usize, r: &mut Residual, record: bool) -> Result<()> {
        let extra = self.extra_if_any();
        if r.is_plain() && !record && extra.is_none() {
            return Ok(());
        }
        let value = r.value(self.name())?;
        let value = if record { self.relink(r.link(), value) } else { value };
        r.set(match extra {
            Some(extra) => super::forward::with_tangents(extra, i, value),
            None => value,
        });
        Ok(())
    }

    /// A residual's value as one of this tape again, for a sweep that records.
    pub fn relink(self: &Arc<Node>, link: &Link, value: Tensor) -> Tensor {
        let (node, slot) = match link {
            Link::Input(i) => match self.edges.get(*i as usize) {
                Some(Some(e)) => (e.node.clone(), e.slot),
                _ => return value,
            },
            Link::Output(i) => (self.clone(), *i),
            Link::Other(Some(e)) => (e.node.clone(), e.slot),
            Link::Other(None) => return value,
        };
        Tensor::taped(self.level, value, node, slot)
    }
}

impl Node {
    /// Whether nothing that the node holds goes with it but values: then there is nothing to queue. A value of a level
    /// below may take its node along, and that one another, but levels are few.
    fn drops_alone(&mut self) -> bool {
        let plain = matches!(self.kind, NodeKind::Op { prim: PrimBuf::Static(_), .. }) && self.extra.get().is_none();
        let saved = self.saved.get_mut().unwrap_or_else(|e| e.into_inner());
        plain
            && saved.residuals.iter().all(|r| r.stored().1.is_none())
            && self.edges.iter().flatten().all(|e| Arc::strong_count(&e.node) > 1)
    }
}

type Waiting = (Edges, Saved, OnceBox<SavedContext>, NodeKind, OnceBox<Extra>);

thread_local! {
    static DRAINING: Cell<bool> = const { Cell::new(false) };
    static QUEUE: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.edges.is_empty() || self.drops_alone() {
            return;
        }
        let edges = std::mem::take(&mut self.edges);
        let saved = std::mem::take(self.saved.get_mut().unwrap_or_else(|e| e.into_inner()));
        let kind = std::mem::replace(&mut self.kind, NodeKind::Leaf(None));
        let parts: Waiting = (edges, saved, std::mem::take(&mut self.kept), kind, std::mem::take(&mut self.extra));
        // A thread that is ending has no queue any more: its parts drop right here.
        let outermost = DRAINING.try_with(|d| !d.replace(true)).unwrap_or(true);
        if !outermost {
            let _ = QUEUE.try_with(|q| q.borrow_mut().push(parts));
            return;
        }
        drop(parts);
        while let Some(next) = QUEUE.try_with(|q| q.borrow_mut().pop()).ok().flatten() {
            drop(next);
        }
        let _ = DRAINING.try_with(|d| d.set(false));
    }
}
