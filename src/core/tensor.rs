//! The immutable value: a dense array, or a value of a level wrapped around a value of the levels below.

use super::deferred::Deferred;
use super::level::LevelId;
use super::meta::Meta;
use super::nest::{Nest, NestRef, Nested};
use super::node::Node;
use super::symbolic::Symbolic;
use crate::bail;
use crate::base::{DType, Element, Result, Scalar, Shape, Strides};
use crate::dense::memory::counted;
use crate::dense::{Array, pointwise};
use std::sync::Arc;

/// An immutable tensor. Cloning shares it.
#[derive(Clone)]
pub struct Tensor(Arc<Repr>);

/// Two kinds only: every operator asks its arguments for level, dtype and shape several times.
enum Repr {
    Dense(Array),
    Other(Other),
}

/// A value of a level, or a dense one that is not in memory. Shape and dtype are the logical ones, so that reading them
/// walks nowhere.
struct Other {
    level: LevelId,
    dtype: DType,
    shape: Shape,
    content: Content,
}

/// A value of nested batch levels is held once for all of them; most operators never look at the levels one by one.
enum Content {
    One(Payload),
    Nest(Nested),
    /// A value of [`LevelId::DENSE`].
    Constant(Box<Symbolic>),
    /// A value of [`LevelId::DENSE`] that is computed when it is read.
    Deferred(Box<Deferred>),
    /// A value of [`LevelId::ABSTRACT`].
    Abstract,
}

/// What an interpreter keeps for one of its values.
pub enum Payload {
    /// One member per index of dimension `dim` of `value`, which the logical shape leaves out.
    Batched { value: Tensor, dim: usize },
    /// A dual number.
    Dual { primal: Tensor, tangent: Tensor },
    /// Output `slot` of a recorded node.
    Taped { value: Tensor, node: Arc<Node>, slot: u32 },
    /// A variable of the program under construction, with the value that it has in this run.
    Traced { value: Tensor, var: u32 },
}

impl Content {
    /// Looks `depth` levels deep: the parts of nested dual numbers may be shared, so that there are more ways than parts.
    fn is_bare(&self, depth: u32) -> bool {
        match self {
            Content::Constant(_) | Content::Deferred(_) | Content::Abstract => true,
            _ if depth == 0 => false,
            Content::Nest(n) => n.base().is_bare_within(depth),
            Content::One(Payload::Batched { value, .. }) => value.is_bare_within(depth - 1),
            Content::One(Payload::Dual { primal, tangent }) => {
                primal.is_bare_within(depth - 1) && tangent.is_bare_within(depth - 1)
            }
            Content::One(Payload::Taped { .. } | Payload::Traced { .. }) => false,
        }
    }
}

impl Other {
    #[inline]
    fn payload(&self) -> Option<&Payload> {
        match &self.content {
            Content::One(payload) => Some(payload),
            Content::Nest(n) => Some(n.top()),
            Content::Constant(_) | Content::Deferred(_) | Content::Abstract => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn array(&self) -> Result<&Array> {
        match &self.content {
            Content::Constant(s) => s.array(),
            Content::Deferred(d) => d.array(),
            Content::Abstract => Err(super::meta::no_data()),
            _ => bail!(Internal, "a kernel was given a value of {}", self.level),
        }
    }
}

impl Tensor {
    #[inline]
    #[doc(hidden)]
    pub fn wrap(level: LevelId, dtype: DType, shape: Shape, payload: Payload) -> Tensor {
        Tensor(counted(|| Repr::Other(Other { level, dtype, shape, content: Content::One(payload) })))
    }

    /// A batched value; dimension `dim` of `value` is the batch.
    #[inline]
    #[doc(hidden)]
    pub fn batched(level: LevelId, value: Tensor, dim: usize) -> Tensor {
        if dim == 0
            && let Some((nest, base)) = value.nest()
        {
            return Tensor::nested(Nest::above(nest, level), base.clone());
        }
        Tensor::wrap(level, value.dtype(), value.shape().without(dim), Payload::Batched { value, dim })
    }

    /// A value of all levels of a nest; the leading dimensions of `base` are the batches, the outermost first.
    #[inline]
    #[doc(hidden)]
    pub fn nested(nest: Arc<Nest>, base: Tensor) -> Tensor {
        let (level, dtype) = (nest.level(), base.dtype());
        let shape = Shape::new(&base.shape()[nest.depth()..]);
        let content = Content::Nest(Nested::new(nest, base));
        Tensor(counted(|| Repr::Other(Other { level, dtype, shape, content })))
    }

    /// The nest of batch levels that this is a value of, each with its batch in front, and the value below all of them.
    #[inline]
    #[doc(hidden)]
    pub fn nest(&self) -> Option<(NestRef<'_>, &Tensor)> {
        match &*self.0 {
            Repr::Other(Other { content: Content::Nest(n), .. }) => Some((NestRef::Nest(n.nest()), n.base())),
            Repr::Other(Other { level, content: Content::One(Payload::Batched { value, dim: 0 }), .. }) => {
                Some((NestRef::One(*level), value))
            }
            _ => None,
        }
    }

    #[inline]
    #[doc(hidden)]
    pub fn dual(level: LevelId, primal: Tensor, tangent: Tensor) -> Tensor {
        Tensor::wrap(level, primal.dtype(), primal.shape().clone(), Payload::Dual { primal, tangent })
    }

    #[inline]
    #[doc(hidden)]
    pub fn taped(level: LevelId, value: Tensor, node: Arc<Node>, slot: u32) -> Tensor {
        Tensor::wrap(level, value.dtype(), value.shape().clone(), Payload::Taped { value, node, slot })
    }

    #[doc(hidden)]
    pub fn traced(level: LevelId, value: Tensor, var: u32) -> Tensor {
        Tensor::wrap(level, value.dtype(), value.shape().clone(), Payload::Traced { value, var })
    }

    /// A tensor that has a dtype and a shape, and no data: operators tell the dtypes and shapes of their results.
    #[doc(hidden)]
    pub fn without_data(meta: Meta) -> Tensor {
        let Meta { dtype, shape } = meta;
        Tensor(counted(|| Repr::Other(Other { level: LevelId::ABSTRACT, dtype, shape, content: Content::Abstract })))
    }

    /// Whether there is no data, at whatever level: a `meta` tensor.
    pub fn is_abstract(&self) -> bool {
        self.bottom().level() == LevelId::ABSTRACT
    }

    /// The value below all wrappers.
    fn bottom(&self) -> &Tensor {
        let mut t = self;
        while let Some(below) = t.nest().map(|n| n.1).or_else(|| t.below()) {
            t = below;
        }
        t
    }

    /// A tensor of this shape with these elements, in row-major order.
    ///
    /// # Errors
    /// `Runtime` unless there are as many elements as the shape has.
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Result<Tensor> {
        Array::from_slice(shape, values).map(Tensor::from)
    }

    /// A 0-d tensor.
    #[inline]
    pub fn scalar(dtype: DType, value: impl Into<Scalar>) -> Tensor {
        Array::scalar(dtype, value.into()).into()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        match &*self.0 {
            Repr::Dense(a) => a.dtype(),
            Repr::Other(o) => o.dtype,
        }
    }
    /// The sizes of the dimensions.
    #[inline]
    pub fn shape(&self) -> &Shape {
        match &*self.0 {
            Repr::Dense(a) => a.shape(),
            Repr::Other(o) => &o.shape,
        }
    }
    /// How many dimensions there are.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }
    /// How many elements there are.
    #[inline]
    pub fn numel(&self) -> usize {
        self.shape().numel()
    }
    /// The level that this value belongs to; `LevelId::DENSE` for arrays.
    #[inline]
    #[doc(hidden)]
    pub fn level(&self) -> LevelId {
        match &*self.0 {
            Repr::Dense(_) => LevelId::DENSE,
            Repr::Other(o) => o.level,
        }
    }
    /// The wrapper's payload, `None` for dense tensors.
    #[inline]
    #[doc(hidden)]
    pub fn payload(&self) -> Option<&Payload> {
        match &*self.0 {
            Repr::Dense(_) => None,
            Repr::Other(o) => o.payload(),
        }
    }
    /// The payload if this is a value of `level`.
    #[inline]
    #[doc(hidden)]
    pub fn payload_at(&self, level: LevelId) -> Option<&Payload> {
        match &*self.0 {
            Repr::Other(o) if o.level == level => o.payload(),
            _ => None,
        }
    }
    /// The array of a dense tensor.
    #[inline]
    #[doc(hidden)]
    pub fn dense(&self) -> Option<&Array> {
        match &*self.0 {
            Repr::Dense(a) => Some(a),
            Repr::Other(o) => match &o.content {
                Content::Constant(s) => s.array().ok(),
                Content::Deferred(d) => d.array().ok(),
                _ => None,
            },
        }
    }
    /// The constant, if its elements need not be in memory.
    #[inline]
    #[doc(hidden)]
    pub fn symbolic(&self) -> Option<&Symbolic> {
        match &*self.0 {
            Repr::Other(Other { content: Content::Constant(s), .. }) => Some(s),
            _ => None,
        }
    }
    /// The array; an internal error for wrapped values, whose data no rule may read.
    #[inline]
    #[doc(hidden)]
    pub fn array(&self) -> Result<&Array> {
        match &*self.0 {
            Repr::Dense(a) => Ok(a),
            Repr::Other(o) => o.array(),
        }
    }
    /// The array for changing it, if this handle is the only one.
    #[doc(hidden)]
    pub fn array_mut(&mut self) -> Option<&mut Array> {
        match Arc::get_mut(&mut self.0)? {
            Repr::Dense(a) => Some(a),
            Repr::Other(_) => None,
        }
    }
    /// The array for changing it where no transform follows the value, if this handle is the only one on it and on what it
    /// wraps.
    #[inline]
    #[doc(hidden)]
    pub fn plain_mut(&mut self) -> Option<&mut Array> {
        match Arc::get_mut(&mut self.0)? {
            Repr::Dense(a) => Some(a),
            Repr::Other(Other {
                level: LevelId::AMBIENT, content: Content::One(Payload::Taped { value, .. }), ..
            }) => value.array_mut(),
            Repr::Other(_) => None,
        }
    }
    /// The array of a dense tensor in memory that nobody else holds; otherwise the tensor.
    pub fn into_array(self) -> std::result::Result<Array, Tensor> {
        if self.in_memory().is_none() {
            return Err(self);
        }
        match Arc::try_unwrap(self.0) {
            Ok(Repr::Dense(array)) => Ok(array),
            Ok(other) => Err(Tensor(counted(|| other))),
            Err(shared) => Err(Tensor(shared)),
        }
    }

    /// Whether it is an array of so many elements in memory that its memory is worth using again.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.in_memory().is_some_and(|a| a.numel() >= pointwise::LARGE / a.dtype().size())
    }

    /// The value one level below this wrapper (the batch of a batched value, the primal of a dual number).
    #[inline]
    #[doc(hidden)]
    pub fn below(&self) -> Option<&Tensor> {
        match self.payload()? {
            Payload::Batched { value, .. } | Payload::Taped { value, .. } | Payload::Traced { value, .. } => {
                Some(value)
            }
            Payload::Dual { primal, .. } => Some(primal),
        }
    }

    /// The array below all wrappers.
    #[inline]
    #[doc(hidden)]
    pub fn innermost(&self) -> Option<&Array> {
        self.bottom().dense()
    }

    /// Element strides of the logical value, and where its first element is in its memory.
    #[doc(hidden)]
    pub fn lies(&self) -> (Strides, usize) {
        match self.payload() {
            Some(Payload::Batched { value, dim }) => {
                let (mut strides, offset) = value.lies();
                strides.remove(*dim);
                (strides, offset)
            }
            Some(_) => self.below().map_or_else(Default::default, Tensor::lies),
            // What has no data counts as contiguous.
            None => match self.dense() {
                Some(a) => (a.strides(), a.storage_offset()),
                None => (self.shape().contiguous_strides(), 0),
            },
        }
    }

    /// Whether code outside the library can see the memory of the array below all wrappers. What is in no memory stays so.
    #[inline]
    #[doc(hidden)]
    pub fn is_exported(&self) -> bool {
        self.bottom().in_memory().is_some_and(Array::is_exported)
    }

    /// The array of a dense tensor that is in memory already.
    #[inline(always)]
    #[doc(hidden)]
    pub fn in_memory(&self) -> Option<&Array> {
        match &*self.0 {
            Repr::Dense(a) => Some(a),
            _ => None,
        }
    }

    /// How many elements there are in memory: those of all members of a batch.
    #[inline(always)]
    #[doc(hidden)]
    pub fn stored(&self) -> usize {
        self.in_memory().map_or_else(|| self.stored_elsewhere(), Array::numel)
    }

    #[inline(never)]
    fn stored_elsewhere(&self) -> usize {
        match &*self.0 {
            Repr::Other(o) if matches!(o.content, Content::Constant(_) | Content::Deferred(_)) => o.shape.numel(),
            _ => self.innermost().map_or(0, Array::numel),
        }
    }

    /// Whether both handles are the same value.
    #[inline]
    #[doc(hidden)]
    pub fn same(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where the value is, and how many handles there are: for finding who holds what.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
    pub(crate) fn references(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether this handle is the only one, down to the arrays: nobody else can see what happens to the memory. Never
    /// true of values under a trace, whose program holds them.
    #[doc(hidden)]
    pub fn is_exclusive(&self) -> bool {
        self.has_only(1, 0)
    }

    /// As [`Tensor::is_exclusive`], with so many handles on the value itself.
    pub(crate) fn is_held_by(&self, handles: usize) -> bool {
        self.has_only(handles, 0)
    }

    /// Whether there are only so many handles, and below only those of the wrappers; `nests` above hold the base too.
    fn has_only(&self, handles: usize, nests: usize) -> bool {
        Arc::strong_count(&self.0) == handles
            && match &*self.0 {
                Repr::Dense(_) | Repr::Other(Other { content: Content::Abstract, .. }) => true,
                Repr::Other(Other { content: Content::Constant(_) | Content::Deferred(_), .. }) => false,
                Repr::Other(Other { content: Content::Nest(n), .. }) => match n.made() {
                    Some(Payload::Batched { value, .. }) => value.has_only(1, nests + 1),
                    _ => n.base().has_only(nests + 1, 0),
                },
                Repr::Other(Other { content: Content::One(payload), .. }) => match payload {
                    Payload::Batched { value, .. } => value.has_only(nests + 1, 0),
                    Payload::Taped { value, .. } => value.has_only(1, 0),
                    Payload::Dual { primal, tangent } => primal.has_only(1, 0) && tangent.has_only(1, 0),
                    Payload::Traced { .. } => false,
                },
            }
    }

    /// What the wrapper holds: the base of a nest, and the payload if there is one already.
    pub(super) fn held(&self) -> (Option<&Tensor>, Option<&Payload>) {
        match &*self.0 {
            Repr::Dense(_)
            | Repr::Other(Other { content: Content::Constant(_) | Content::Deferred(_) | Content::Abstract, .. }) => {
                (None, None)
            }
            Repr::Other(Other { content: Content::One(payload), .. }) => (None, Some(payload)),
            Repr::Other(Other { content: Content::Nest(n), .. }) => (Some(n.base()), n.made()),
        }
    }

    /// Whether there is no node and no program in it at any level, so that dropping it frees memory and nothing else.
    /// Says no where that takes long to find out.
    #[inline]
    #[doc(hidden)]
    pub fn is_bare(&self) -> bool {
        self.is_bare_within(8)
    }

    #[inline]
    fn is_bare_within(&self, depth: u32) -> bool {
        match &*self.0 {
            Repr::Dense(_) => true,
            Repr::Other(o) => o.content.is_bare(depth),
        }
    }

    /// Whether neither a derivative nor a program passes through it: an array, perhaps under batches.
    #[doc(hidden)]
    pub fn is_constant(&self) -> bool {
        let mut t = self;
        while let Some(payload) = t.payload() {
            let Payload::Batched { value, .. } = payload else { return false };
            t = value;
        }
        true
    }

    /// The node that recorded this value at `level`.
    #[doc(hidden)]
    pub fn node_at(&self, level: LevelId) -> Option<(&Arc<Node>, u32)> {
        match self.payload_at(level)? {
            Payload::Taped { node, slot, .. } => Some((node, *slot)),
            _ => None,
        }
    }
}

/// Whether any value of `level` is wrapped in `t`, at any depth.
pub fn has_level(t: &Tensor, level: LevelId) -> bool {
    let mut t = Some(t);
    while let Some(x) = t {
        if x.level() == level {
            return true;
        }
        t = x.below();
    }
    false
}

impl From<Symbolic> for Tensor {
    fn from(s: Symbolic) -> Tensor {
        let (level, dtype, shape) = (LevelId::DENSE, s.dtype(), s.shape().clone());
        Tensor(counted(|| Repr::Other(Other { level, dtype, shape, content: Content::Constant(Box::new(s)) })))
    }
}

impl From<Deferred> for Tensor {
    fn from(d: Deferred) -> Tensor {
        let (level, dtype, shape) = (LevelId::DENSE, d.dtype(), d.shape().clone());
        Tensor(counted(|| Repr::Other(Other { level, dtype, shape, content: Content::Deferred(Box::new(d)) })))
    }
}

impl From<Array> for Tensor {
    #[inline]
    fn from(a: Array) -> Tensor {
        Tensor(counted(|| Repr::Dense(a)))
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&*self.0, self.payload()) {
            (Repr::Dense(a), _) => a.fmt(f),
            (_, Some(Payload::Batched { value, dim })) => write!(f, "Batched({}, dim={dim}, {value:?})", self.level()),
            (_, Some(Payload::Dual { primal, tangent })) => {
                write!(f, "Dual({}, {primal:?}, tangent={tangent:?})", self.level())
            }
            (_, Some(Payload::Taped { value, .. })) => write!(f, "Taped({}, {value:?})", self.level()),
            (_, Some(Payload::Traced { value, var })) => write!(f, "Traced({}, %{var}, {value:?})", self.level()),
            (Repr::Other(o), None) if o.level == LevelId::ABSTRACT => write!(f, "abstract {}", Meta::of(self)),
            (Repr::Other(_), None) => write!(f, "not in memory {}", Meta::of(self)),
        }
    }
}
