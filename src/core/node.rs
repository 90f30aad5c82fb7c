//! The reverse tape: one node per recorded operator.
//!
//! NOTE ownership. A node holds its residuals without their nodes: a saved input's node is the edge, a saved output's
//! node is this one, and both are linked again when the residual is read. So nothing points back at a node and dropping
//! a graph recurses nowhere: a node that reaches zero while another is being dropped waits in a queue.

use super::level::LevelId;
use super::params::Params;
use super::primitive::{Mask, PrimBuf};
use super::tensor::Tensor;
use crate::base::{DType, Error, Result, Shape};
use crate::dense::Array;
use smallvec::SmallVec;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Dtype and shape of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    pub dtype: DType,
    pub shape: Shape,
}

impl Meta {
    pub fn of(t: &Tensor) -> Meta {
        Meta { dtype: t.dtype(), shape: t.shape().clone() }
    }
}

impl std::fmt::Display for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.dtype, self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// Output `slot` of `node`, as an input of another node.
#[derive(Clone)]
pub struct Edge {
    pub node: Arc<Node>,
    pub slot: u32,
}

/// Where a leaf's gradient goes in `.backward()`.
pub trait Sink: Send + Sync {
    fn accumulate(&self, gradient: &Tensor) -> Result<()>;
    fn as_any(&self) -> &dyn Any;
}

/// A residual: a value of the levels below, and how it hangs on the tape.
#[derive(Clone)]
pub struct Residual {
    pub value: Tensor,
    pub link: Link,
    /// Of memory that others may write to: what it was when the residual was saved.
    seal: Option<Box<Seal>>,
}

#[derive(Clone, PartialEq)]
struct Seal {
    version: u32,
    checksum: u64,
}

impl Residual {
    #[inline]
    pub fn new(value: Tensor, link: Link) -> Residual {
        let seal = match value.innermost() {
            Some(a) if a.is_exported() => Some(Box::new(Seal::of(a))),
            _ => None,
        };
        Residual { value, link, seal }
    }

    /// An error if the memory was written to since the residual was saved, by us or by who shares it.
    pub fn check(&self, op: &str) -> Result<()> {
        match (&self.seal, self.value.innermost()) {
            (Some(seal), Some(a)) if **seal != Seal::of(a) => Err(Error::runtime(format!(
                "backward(): one of the variables needed for gradient computation has been modified by an inplace \
                 operation: the derivative of {op}() needs a {} tensor of shape {} whose memory, shared with NumPy or \
                 another library, was written to since; clone() it before",
                self.value.dtype(),
                self.value.shape()
            ))),
            _ => Ok(()),
        }
    }
}

impl Seal {
    #[cold]
    fn of(a: &Array) -> Seal {
        Seal { version: a.buffer().map_or(0, |b| b.version()), checksum: a.checksum() }
    }
}

/// What a residual was.
#[derive(Clone)]
pub enum Link {
    Input(u32),
    Output(u32),
    /// Another value of this tape, or a constant (`None`).
    Other(Option<Edge>),
}

/// What a node needs for its reverse rule.
#[derive(Default)]
pub struct Saved {
    pub residuals: SmallVec<[Residual; 2]>,
    /// State of a custom function.
    pub context: Option<Arc<dyn Any + Send + Sync>>,
    pub freed: bool,
}

pub enum NodeKind {
    /// An input of the differentiated function.
    Leaf(Option<Arc<dyn Sink>>),
    Op {
        prim: PrimBuf,
        params: Params,
    },
}

/// A gradient hook: may replace the gradient of an output.
pub type Hook = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>;

/// Rare things.
#[derive(Default)]
pub struct Extra {
    /// Hooks by output slot, with an id for removal.
    pub hooks: Mutex<Vec<(u64, u32, Hook)>>,
    /// Where gradients of outputs go although they are no leaves, by output slot.
    pub retained: Mutex<Vec<(u32, Arc<dyn Sink>)>>,
    /// The user's line, in anomaly mode.
    pub line: OnceLock<String>,
    /// Tangents of residuals, while a `forward_ad` level lives.
    pub tangents: Mutex<Vec<super::forward::ResidualTangent>>,
}

/// A recorded operator or a leaf.
pub struct Node {
    /// Grows with time: a node's inputs have smaller numbers.
    pub seq: u64,
    pub level: LevelId,
    pub kind: NodeKind,
    /// Of the outputs.
    pub metas: SmallVec<[Meta; 1]>,
    /// One per input; `None` where the input is not differentiated.
    pub edges: SmallVec<[Option<Edge>; 2]>,
    saved: Mutex<Saved>,
    extra: OnceLock<Box<Extra>>,
}

static SEQ: AtomicU64 = AtomicU64::new(1);
fn next_seq() -> u64 {
    SEQ.fetch_add(1, Relaxed)
}

impl Node {
    pub fn leaf(level: LevelId, meta: Meta, sink: Option<Arc<dyn Sink>>) -> Arc<Node> {
        Arc::new(Node {
            seq: next_seq(),
            level,
            kind: NodeKind::Leaf(sink),
            metas: SmallVec::from_elem(meta, 1),
            edges: SmallVec::new(),
            saved: Mutex::new(Saved::default()),
            extra: OnceLock::new(),
        })
    }

    #[inline]
    pub fn op(
        level: LevelId,
        prim: PrimBuf,
        params: Params,
        metas: SmallVec<[Meta; 1]>,
        edges: SmallVec<[Option<Edge>; 2]>,
        saved: Saved,
    ) -> Arc<Node> {
        Arc::new(Node {
            seq: next_seq(),
            level,
            kind: NodeKind::Op { prim, params },
            metas,
            edges,
            saved: Mutex::new(saved),
            extra: OnceLock::new(),
        })
    }

    pub fn name(&self) -> &str {
        match &self.kind {
            NodeKind::Leaf(_) => "leaf",
            NodeKind::Op { prim: PrimBuf::Static(p), .. } => p.name(),
            NodeKind::Op { prim: PrimBuf::Shared(p), .. } => p.name(),
        }
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
    pub fn extra(&self) -> &Extra {
        self.extra.get_or_init(Box::default)
    }
    pub fn extra_if_any(&self) -> Option<&Extra> {
        self.extra.get().map(|b| &**b)
    }

    /// What the reverse rule reads for residual `i`: the value, with its tangents, and for a sweep that records as a
    /// value of this tape again.
    pub fn read(self: &Arc<Node>, i: usize, r: &Residual, record: bool) -> Result<Tensor> {
        let value = if record { self.relink(r) } else { r.value.clone() };
        match self.extra_if_any() {
            Some(extra) => super::forward::with_tangents(self, extra, i, value),
            None => Ok(value),
        }
    }

    fn relink(self: &Arc<Node>, r: &Residual) -> Tensor {
        let value = r.value.clone();
        let (node, slot) = match &r.link {
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

type Waiting = (SmallVec<[Option<Edge>; 2]>, Saved, NodeKind, Option<Box<Extra>>);

thread_local! {
    static DRAINING: Cell<bool> = const { Cell::new(false) };
    static QUEUE: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.edges.is_empty() {
            return;
        }
        let edges = std::mem::take(&mut self.edges);
        let saved = std::mem::take(self.saved.get_mut().unwrap_or_else(|e| e.into_inner()));
        let kind = std::mem::replace(&mut self.kind, NodeKind::Leaf(None));
        let parts: Waiting = (edges, saved, kind, self.extra.take());
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
