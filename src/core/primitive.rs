//! What an interpreter needs of an operator.

use super::level::{LevelId, Randomness};
use super::meta::{Inferred, Meta};
use super::node::Node;
use super::params::Params;
use super::tensor::Tensor;
use crate::bail;
use crate::base::{DType, Error, Result, Shape};
use crate::dense::pointwise::Elementwise;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// A set of arguments or outputs, by bit. Positions from 63 on share the last bit: rules of operators with more arguments
/// look at the edges of their node. Custom functions have [`Set`](super::Set)s.
pub type Mask = u64;
/// The outputs of an operator.
pub type Outputs = SmallVec<[Tensor; 2]>;
/// Tangents or cotangents; `None` is zero and stays symbolic.
pub type Tangents = SmallVec<[Option<Tensor>; 2]>;

/// Which values a rule reads: bits of inputs and of outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saves {
    /// A bit for each input.
    pub inputs: Mask,
    /// A bit for each output.
    pub outputs: Mask,
}

/// An operator of the table, or one made at run time.
#[derive(Clone, Copy)]
pub enum Prim<'a> {
    /// One of the table, or registered.
    Static(&'static dyn Primitive),
    /// One that was made at run time.
    Shared(&'a Arc<dyn Primitive>),
}

impl std::ops::Deref for Prim<'_> {
    type Target = dyn Primitive;
    #[inline]
    fn deref(&self) -> &dyn Primitive {
        match self {
            Prim::Static(p) => *p,
            Prim::Shared(p) => &***p,
        }
    }
}

/// The operator that messages and nodes speak of. The unique name of a static primitive says behind a colon which part of
/// an operator it computes, such as `gelu:slope`.
pub fn operator_of(name: &str) -> &str {
    name.split_once(':').map_or(name, |(operator, _)| operator)
}

impl Prim<'_> {
    /// The operator that messages speak of.
    pub fn operator(&self) -> &str {
        match self {
            Prim::Static(p) => operator_of(p.name()),
            Prim::Shared(p) => p.name(),
        }
    }
    #[doc(hidden)]
    pub fn to_owned(self) -> PrimBuf {
        match self {
            Prim::Static(p) => PrimBuf::Static(p),
            Prim::Shared(p) => PrimBuf::Shared(p.clone()),
        }
    }
}

/// An owned [`Prim`].
#[derive(Clone)]
pub enum PrimBuf {
    Static(&'static dyn Primitive),
    Shared(Arc<dyn Primitive>),
}

impl PrimBuf {
    /// Whether it is the call of a custom function.
    pub fn is_custom(&self) -> bool {
        matches!(self, PrimBuf::Shared(p) if p.custom().is_some())
    }
    /// The operator that messages speak of.
    pub fn operator(&self) -> &str {
        match self {
            PrimBuf::Static(p) => operator_of(p.name()),
            PrimBuf::Shared(p) => p.name(),
        }
    }
    pub fn name(&self) -> &str {
        match self {
            PrimBuf::Static(p) => p.name(),
            PrimBuf::Shared(p) => p.name(),
        }
    }
    #[inline]
    pub fn as_prim(&self) -> Prim<'_> {
        match self {
            PrimBuf::Static(p) => Prim::Static(*p),
            PrimBuf::Shared(p) => Prim::Shared(p),
        }
    }
}

/// An argument of a batching rule: the value below the level, and where its batch dimension is.
pub struct BatchArg<'a> {
    /// The value of all members.
    pub value: &'a Tensor,
    /// Its batch dimension; `None` if all members have the same value.
    pub dim: Option<usize>,
}

impl BatchArg<'_> {
    /// Rank of one member.
    pub fn logical_rank(&self) -> usize {
        self.value.rank() - usize::from(self.dim.is_some())
    }
    /// Shape of one member.
    pub fn logical_shape(&self) -> Shape {
        match self.dim {
            Some(d) => self.value.shape().without(d),
            None => self.value.shape().clone(),
        }
    }
}

/// What a batching rule knows of its level.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BatchInfo {
    #[doc(hidden)]
    pub level: LevelId,
    /// How many members there are.
    pub size: usize,
    /// What random operators do.
    pub randomness: Randomness,
}

/// Outputs of a batching rule with their batch dimensions; `None` is an output without one.
pub type BatchOut = SmallVec<[(Tensor, Option<usize>); 2]>;

/// The point that a derivative is taken at: the values that the rule asked for.
#[non_exhaustive]
pub struct Point<'a> {
    /// The inputs that the rule has declared.
    pub inputs: &'a [Option<&'a Tensor>],
    /// The outputs that the rule has declared.
    pub outputs: &'a [Option<&'a Tensor>],
    #[doc(hidden)]
    pub node: Option<&'a std::sync::Arc<Node>>,
    /// All residuals in the order in which they were saved, opened, for custom functions.
    #[doc(hidden)]
    pub residuals: &'a [super::node::Residual],
    /// Whether a reverse sweep records itself: residuals then carry their nodes.
    pub recording: bool,
}

impl<'a> Point<'a> {
    /// Input `i`, which the rule must have declared.
    pub fn input(&self, i: usize) -> Result<&'a Tensor> {
        self.inputs.get(i).copied().flatten().ok_or_else(|| Error::internal(format!("input {i} was not saved")))
    }
    /// Output `i`, which the rule must have declared.
    pub fn output(&self, i: usize) -> Result<&'a Tensor> {
        self.outputs.get(i).copied().flatten().ok_or_else(|| Error::internal(format!("output {i} was not saved")))
    }
    fn meta(&self, i: usize) -> Option<(DType, &Shape)> {
        if let Some(Some(x)) = self.inputs.get(i) {
            return Some((x.dtype(), x.shape()));
        }
        self.node.and_then(|n| n.input_meta(i)).map(|m: &Meta| (m.dtype, &m.shape))
    }
    /// Shape of input `i`; known for differentiated and for saved inputs.
    #[inline]
    pub fn in_shape(&self, i: usize) -> Result<&Shape> {
        self.meta(i).map(|m| m.1).ok_or_else(|| Error::internal(format!("shape of input {i} is not known")))
    }
    /// Dtype of input `i`; known for differentiated and for saved inputs.
    #[inline]
    pub fn in_dtype(&self, i: usize) -> Result<DType> {
        self.meta(i).map(|m| m.0).ok_or_else(|| Error::internal(format!("dtype of input {i} is not known")))
    }
}

/// An operator as the interpreters see it. Rules are written in operators, never on raw data, and run on values of the
/// levels below the interpreter's.
pub trait Primitive: Send + Sync + 'static {
    /// Its name, by which a static primitive is known: no other has the same.
    fn name(&self) -> &str;

    /// The only output, from dense arguments.
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor>;

    /// As [`eval`](Primitive::eval), where the caller gives up `own`, argument number `at` among the `others`: its memory
    /// may become the result's if nobody else holds it.
    fn eval_into(&self, params: &Params, own: Tensor, at: usize, others: &[&Tensor]) -> Result<Tensor> {
        let mut args: SmallVec<[&Tensor; 4]> = SmallVec::from_slice(others);
        args.insert(at, &own);
        self.eval(params, &args)
    }

    /// All outputs, from dense arguments.
    fn eval_many(&self, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        Ok(smallvec![self.eval(params, args)?])
    }

    /// Dtypes and shapes of all outputs, from those of the arguments and without data.
    ///
    /// # Errors
    /// Those of [`eval_many`](Primitive::eval_many) that do not depend on data; `NotImplemented` if the shapes do.
    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred>;

    /// Whether the outputs are constants for every derivative, whatever their dtype.
    fn is_constant(&self) -> bool {
        false
    }

    /// The same for the derivatives of tapes alone.
    fn is_constant_in_reverse(&self) -> bool {
        self.is_constant()
    }

    /// The same for tangents alone.
    fn is_constant_in_forward(&self) -> bool {
        self.is_constant()
    }

    /// Whether each output element depends on the elements of the arguments at its place alone (they broadcast), so that
    /// any number of leading batches makes no difference.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// What computes each element of the result from the elements of the arguments at its place, for programs of the
    /// tile engine; `None` for operators that are not pointwise.
    #[doc(hidden)]
    fn elementwise(&self, _params: &Params) -> Option<Elementwise<'_>> {
        None
    }

    /// Whether the outputs are affine in these arguments together, whatever these are, while the others stay as they
    /// are. They are if no partial depends on any of these, unless the operator jumps.
    fn is_affine(&self, params: &Params, args: Mask) -> bool {
        let reads = self.saves(params, args);
        !self.is_constant() && reads.outputs == 0 && reads.inputs & args == 0
    }

    /// Whether a call does more than compute its results from its arguments: it draws numbers, runs users' code, or is
    /// there to refuse values. No pass over programs leaves it out.
    fn has_effect(&self) -> bool {
        false
    }

    /// The call as a step of a recorded program.
    #[doc(hidden)]
    fn replay(&self, me: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        super::call::call_many(me, params, args)
    }

    /// Which values the reverse rule reads when the inputs in `needs` are differentiated.
    fn saves(&self, _params: &Params, _needs: Mask) -> Saves {
        Saves::default()
    }

    /// The only output for the primals of dual numbers, which may be one that waits until it is read.
    #[doc(hidden)]
    fn primal(&self, me: Prim<'_>, params: &Params, primals: &[&Tensor]) -> Result<Tensor> {
        super::call::call(me, params, primals)
    }

    /// Tangents of the outputs.
    fn jvp(&self, me: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents>;

    /// Cotangents of the inputs in `needs`, given those of the outputs. The caller gives these up: a rule may reuse the
    /// memory of one that nobody else holds.
    fn vjp(
        &self,
        me: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents>;

    /// The operator over a batch.
    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut>;

    /// Shows a walk what the primitive holds of the host language.
    #[doc(hidden)]
    fn reach(&self, _: &mut super::reach::Reach<'_>) {}

    /// Shows a walk what the context of one of its nodes holds.
    #[doc(hidden)]
    fn reach_context(&self, _: &super::saved_context::Context, _: &mut super::reach::Reach<'_>) {}

    /// Custom functions take over what the interpreters do for table operators.
    #[doc(hidden)]
    fn custom(&self) -> Option<&dyn super::custom::Custom> {
        None
    }
}

/// The only output of an operator.
///
/// # Errors
/// `Internal` if it has none or several.
pub fn only(name: &str, mut outs: Outputs) -> Result<Tensor> {
    match outs.pop() {
        Some(out) if outs.is_empty() => Ok(out),
        _ => bail!(Internal, "{name}(): expected one output"),
    }
}

/// The error for an operator without a rule, raised when the rule is asked for.
#[cold]
pub fn no_rule(name: &str, rule: &str) -> Error {
    Error::not_implemented(format!("{name}(): has no {rule} rule{}", super::origin::at_here()))
}
