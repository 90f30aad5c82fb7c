//! Nests of batch levels: a value whose batches all lie in front is held once for all of its levels, so that an operator
//! that works element by element costs the same at any depth of `vmap`.

use super::level::LevelId;
use super::tensor::{Payload, Tensor};
use std::sync::{Arc, OnceLock};

/// Batch levels that wrap one value directly upon each other. The ones below the top are a nest too, or one level.
pub struct Nest {
    level: LevelId,
    below: NestBelow,
    depth: usize,
}

enum NestBelow {
    One(LevelId),
    Nest(Arc<Nest>),
}

/// A nest, or the one level of a value that is batched once.
#[derive(Clone, Copy)]
pub enum NestRef<'a> {
    One(LevelId),
    Nest(&'a Arc<Nest>),
}

impl Nest {
    /// `below` with one more level on top.
    pub(super) fn above(below: NestRef<'_>, level: LevelId) -> Arc<Nest> {
        let (below, depth) = match below {
            NestRef::One(l) => (NestBelow::One(l), 2),
            NestRef::Nest(n) => (NestBelow::Nest(n.clone()), n.depth + 1),
        };
        Arc::new(Nest { level, below, depth })
    }

    #[inline]
    pub(super) fn level(&self) -> LevelId {
        self.level
    }
    /// Number of levels, and of leading dimensions that are batches.
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }
    fn below(&self) -> NestRef<'_> {
        match &self.below {
            NestBelow::One(l) => NestRef::One(*l),
            NestBelow::Nest(n) => NestRef::Nest(n),
        }
    }
}

impl<'a> NestRef<'a> {
    /// The levels from the top down.
    #[inline]
    pub fn levels(self) -> impl Iterator<Item = LevelId> + 'a {
        let mut next = Some(self);
        std::iter::from_fn(move || match next.take()? {
            NestRef::One(l) => Some(l),
            NestRef::Nest(n) => {
                next = Some(n.below());
                Some(n.level)
            }
        })
    }

    /// Whether both have the same levels.
    #[inline]
    pub fn same(self, other: NestRef<'_>) -> bool {
        match (self, other) {
            (NestRef::One(a), NestRef::One(b)) => a == b,
            (NestRef::Nest(a), NestRef::Nest(b)) => Arc::ptr_eq(a, b) || self.levels().eq(other.levels()),
            _ => false,
        }
    }

    /// `base`, with its leading dimensions as the batches of the levels, the outermost first.
    #[inline]
    pub fn wrap(self, base: Tensor) -> Tensor {
        match self {
            NestRef::One(l) => Tensor::batched(l, base, 0),
            NestRef::Nest(n) => Tensor::nested(n.clone(), base),
        }
    }
}

/// A value of a nest. What its topmost level alone sees of it is made when someone looks.
pub(super) struct Nested {
    nest: Arc<Nest>,
    base: Tensor,
    top: OnceLock<Payload>,
}

impl Nested {
    #[inline]
    pub(super) fn new(nest: Arc<Nest>, base: Tensor) -> Nested {
        Nested { nest, base, top: OnceLock::new() }
    }
    #[inline]
    pub(super) fn nest(&self) -> &Arc<Nest> {
        &self.nest
    }
    #[inline]
    pub(super) fn base(&self) -> &Tensor {
        &self.base
    }
    /// The payload at the topmost level.
    pub(super) fn top(&self) -> &Payload {
        self.top.get_or_init(|| Payload::Batched { value: self.nest.below().wrap(self.base.clone()), dim: 0 })
    }
    /// That payload if it was made.
    pub(super) fn made(&self) -> Option<&Payload> {
        self.top.get()
    }
}
